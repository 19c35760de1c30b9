"""The child process that holds one GGUF model, by llama-cpp-python: ``python -m node.models.llama_child``.

Promises:
- speaks ``llama_wire`` on the descriptors it was started with; whatever the library prints goes to stderr;
- ends with its parent, also in the middle of a token; is the first to go when memory runs out, and leaves no
  core file; has no network where the kernel lets a process give it up;
- the model's state is cleared before each request; temperature 0; a prompt that does not fit the window with
  its answer is refused, never cut;
- texts never become control tokens; the system message reaches the model whatever the template does with it.

It must not know who asks, or why. Its only clock is the parent's patience."""

from __future__ import annotations

import argparse
import array
import base64
import codecs
import contextlib
import ctypes
import os
import queue
import re
import resource
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from node.models.llama_wire import LINE_BYTES_MAX, decode, encode

SEED = 1
EMBED_WINDOW_MAX = 512
"""Questions are short; memory of a text grows with its square."""
_REQUESTS_MAX = 4
_STOPS_KEPT = 1_024
_OOM_SCORE = 800
_ALTERNATIVES_MAX = 20
_PIECE_BYTES = 512
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
INSTRUCTED = re.compile(r"(?<![a-z])(?:instruct\w{0,8}|chat|it|assistant)(?![a-z])", re.IGNORECASE)

Send = Callable[[dict[str, Any]], None]
Stopped = Callable[[], bool]


def never() -> bool:
    """Nobody has said stop."""
    return False


class Refused(Exception):
    """The request cannot be served as it is; the message says why."""


# --- the process ----------------------------------------------------------------------------------


def protocol_out() -> BinaryIO:
    """The real standard output; from now on whatever is printed goes to standard error."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def stay_small(nice: int) -> None:
    """Polite to the processor, first to go when memory runs out, no core file of gigabytes."""
    if nice:
        os.nice(nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE), encoding="ascii")


def leave_the_network() -> None:
    """An empty network namespace, where the kernel allows it: as root, or in a user namespace of its own."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNET) != 0:
            libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)


def die_with(parent: int) -> None:
    """Be killed when ``parent`` ends (Linux); elsewhere the end of standard input does it."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def threads_for_reading(threads: int) -> int:
    """How many read a prompt where so many write. On two cores both read: it takes half the time, and is
    over before it disturbs. If both wrote, a hit beside it would take 57 ms in place of 15 (p50)."""
    return max(threads, min(2, os.cpu_count() or 1))


class Inbox:
    """Reads standard input in a thread of its own, so that "stop" and the end are heard at any time."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        self._requests: queue.Queue[dict[str, Any]] = queue.Queue(_REQUESTS_MAX)
        self._stopped: set[int] = set()
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    def _read(self) -> None:
        while True:
            line = self._stdin.readline(LINE_BYTES_MAX + 1)
            if not line.endswith(b"\n"):
                os._exit(0)  # the parent is gone, or does not speak this protocol
            try:
                message = decode(line)
                op, request_id = message["op"], int(message["id"])
            except (ValueError, KeyError, TypeError):
                os._exit(2)  # whoever writes this is not the node
            if op == "stop":
                self._stopped = {one for one in self._stopped if one > request_id - _STOPS_KEPT} | {
                    request_id
                }
            else:
                self._requests.put(message)

    def next(self) -> dict[str, Any]:
        """Wait for the next request."""
        return self._requests.get()

    def stopped(self, request_id: int) -> bool:
        """Whether the parent has given that request up."""
        return request_id in self._stopped


# --- words ----------------------------------------------------------------------------------------


class Stops:
    """Lets text through up to the first stop mark; holds back what may become one."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._marks = [mark for mark in marks if mark]
        self._held = ""
        self.hit = False

    def push(self, text: str) -> str:
        """What may be said now."""
        text = self._held + text
        self._held = ""
        at = min((place for mark in self._marks if (place := text.find(mark)) >= 0), default=-1)
        if at >= 0:
            self.hit = True
            return text[:at]
        keep = 0
        for mark in self._marks:
            for size in range(min(len(mark) - 1, len(text)), keep, -1):
                if text.endswith(mark[:size]):
                    keep = size
                    break
        if keep:
            text, self._held = text[:-keep], text[-keep:]
        return text

    def rest(self) -> str:
        """What was held back and became no mark."""
        return "" if self.hit else self._held


def chatml(messages: Sequence[tuple[str, str]]) -> str:
    """The turns as most instruct models were taught them when their file does not say."""
    turns = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages)
    return f"{turns}<|im_start|>assistant\n"


Render = Callable[[Sequence[tuple[str, str]]], str]


def lay_out(
    render: Render,
    system: str,
    user: str,
    errors: tuple[type[Exception], ...],
    turns: Sequence[tuple[str, str]] = (),
) -> list[tuple[str, bool]]:
    """The prompt as (text, is it the template's) in order. Where the template drops or refuses the system
    message, it goes in front of the user's. Raises ``Refused`` for a template that drops the user's too.

    The template is rendered over placeholders: no text of others can pass for markup, or reach the template's
    own logic."""
    marks: dict[str, str] = {}

    def mark(text: str) -> str:
        name = f"m{secrets.token_hex(12)}"
        marks[name] = text
        return name

    before = [
        (role, mark(text)) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    first, last = mark(system) if system else "", mark(user)
    attempts = [[*before, ("user", last)]]
    if system:
        attempts = [
            [("system", first), *before, ("user", last)],
            [*before, ("user", f"{first}\n\n{last}")],
        ]
    reason = "it drops messages"
    for messages in attempts:
        try:
            rendered = render(messages)
        except errors as exc:
            reason = str(exc)[:200]
            continue
        if all(mark in rendered for mark in marks):
            parts = re.split("(" + "|".join(marks) + ")", rendered)
            return [(marks.get(part, part), part not in marks) for part in parts if marks.get(part, part)]
    raise Refused(f"the model's chat template cannot be used: {reason}")


# --- the model ------------------------------------------------------------------------------------


def done(
    request: dict[str, Any],
    reason: str,
    prompt_tokens: int,
    completion_tokens: int,
    logprobs: Sequence[float] = (),
    first: Sequence[tuple[str, float]] = (),
) -> dict[str, Any]:
    return {
        "event": "done",
        "id": request["id"],
        "reason": reason,
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "logprobs": [round(one, 5) for one in logprobs],
        "first": [[text, round(logprob, 5)] for text, logprob in first],
    }


class Model:
    """One loaded GGUF. Blocking, one request at a time."""

    def __init__(self, path: Path, *, purpose: str, threads: int, window: int) -> None:
        """Raises ``Refused``."""
        try:
            llama_cpp: Any = import_module("llama_cpp")
            formats: Any = import_module("llama_cpp.llama_chat_format")
            self._numpy: Any = import_module("numpy")
        except ImportError as exc:
            raise Refused(f"llama-cpp-python cannot be imported: {exc}; type: make model") from exc
        self._errors: tuple[type[Exception], ...] = (
            ValueError,
            RuntimeError,
            AssertionError,
            OSError,
            MemoryError,
            TypeError,
            formats.jinja2.TemplateError,
        )
        self._lib = llama_cpp
        embeds = purpose == "embed"
        if embeds:
            window = min(window, EMBED_WINDOW_MAX)
        self._stopped: Stopped = never
        self._read_before: list[int] = []
        self._load = partial(self._opened, path, embeds=embeds, threads=threads, window=window)
        self._load()
        metadata: dict[str, str] = self._llama.metadata
        self._words = int(llama_cpp.llama_vocab_n_tokens(self._vocabulary))
        self._bos = llama_cpp.llama_vocab_bos(self._vocabulary)
        self._bos_text = self._token_text(self._bos)
        self._adds_bos = bool(llama_cpp.llama_vocab_get_add_bos(self._vocabulary))
        trained = int(llama_cpp.llama_model_n_ctx_train(self._model))
        self.window = min(int(self._llama.n_ctx()), trained) if trained > 0 else int(self._llama.n_ctx())
        if embeds:
            self.window = min(self.window, window)
            self._check_pooling()
        self.dim = int(self._llama.n_embd())
        self._idle_tokens = self._not_words(metadata)
        self._render: Render | None = None
        template = metadata.get("tokenizer.chat_template", "")
        if template.strip():
            self._render = self._own_template(formats.Jinja2ChatFormatter, template)
        elif self._is_instructed(path, metadata):
            self._render = chatml

    def _opened(self, path: Path, *, embeds: bool, threads: int, window: int) -> None:
        """Load the model, anew where one is loaded. Raises ``Refused``."""
        llama_cpp = self._lib
        try:
            self._llama = llama_cpp.Llama(
                model_path=str(path),
                n_ctx=window,
                n_batch=window if embeds else 512,
                n_ubatch=window if embeds else 512,
                n_threads=threads,
                n_threads_batch=threads_for_reading(threads),
                n_gpu_layers=0,
                embedding=embeds,
                seed=SEED,
                verbose=False,
            )
        except self._errors as exc:
            raise Refused(f"the model does not load: {str(exc)[:200] or type(exc).__name__}") from exc
        # Asked before each of the thousand or so steps of a computation: "stop" is heard within milliseconds,
        # also while a long prompt is read. The library keeps the pointer, so we keep the object.
        self._abort = llama_cpp.ggml_abort_callback(lambda _: self._stopped())
        llama_cpp.llama_set_abort_callback(self._llama.ctx, self._abort, None)
        self._model = self._llama.model
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)

    def _token_text(self, token: int) -> str:
        if token < 0:
            return ""
        text: bytes = self._lib.llama_vocab_get_text(self._vocabulary, token) or b""
        return text.decode("utf-8", "replace")

    def _check_pooling(self) -> None:
        lib = self._lib
        known = (lib.LLAMA_POOLING_TYPE_MEAN, lib.LLAMA_POOLING_TYPE_CLS, lib.LLAMA_POOLING_TYPE_LAST)
        if int(lib.llama_pooling_type(self._llama.ctx)) not in known:
            raise Refused(
                "the model is not an embedding model: its file names no pooling of tokens to one vector"
            )

    def _not_words(self, metadata: dict[str, str]) -> frozenset[int]:
        """Tokens that say nothing about a text: begin, end, unknown."""
        lib, vocabulary = self._lib, self._vocabulary
        tokens = {self._bos, lib.llama_vocab_eos(vocabulary), lib.llama_vocab_sep(vocabulary)}
        for key in ("unknown_token_id", "cls_token_id", "seperator_token_id", "bos_token_id", "eos_token_id"):
            with contextlib.suppress(KeyError, ValueError):
                tokens.add(int(metadata[f"tokenizer.ggml.{key}"]))
        return frozenset(token for token in tokens if token >= 0)

    def _own_template(self, formatter_type: Any, template: str) -> Render:
        eos = self._lib.llama_vocab_eos(self._vocabulary)
        formatter = formatter_type(template, eos_token=self._token_text(eos), bos_token=self._bos_text)

        def render(messages: Sequence[tuple[str, str]]) -> str:
            rendered: str = formatter(
                messages=[{"role": role, "content": content} for role, content in messages],
                enable_thinking=False,  # thinking would use up the tokens of the answer
            ).prompt
            return rendered

        return render

    @staticmethod
    def _is_instructed(path: Path, metadata: dict[str, str]) -> bool:
        """Whether the names in the file, or else its own, say that it was taught turns."""
        names = [metadata.get(f"general.{key}", "") for key in ("finetune", "name", "basename")]
        return any(INSTRUCTED.search(name) for name in (*names, path.stem))

    def _tokens(self, text: str, *, special: bool, bos: bool = False) -> list[int]:
        tokens: list[int] = self._llama.tokenize(text.encode("utf-8"), add_bos=bos, special=special)
        return tokens

    def prompt_tokens(self, request: dict[str, Any]) -> tuple[list[int], list[str], int]:
        """The tokens of a request in the form that this model knows, where its answer ends, and how many of
        the tokens stand up to the end of the system message. Raises ``Refused``."""
        stops = list(request["stop"])
        system, user = str(request["system"]), str(request["user"])
        if self._render is None:
            text = str(request["continuation"])
            if text:
                stops = [*request["continuation_stop"], *stops]
            else:
                text = f"{system}\n\n{user}" if system else user
            return self._tokens(text, special=False, bos=self._adds_bos), stops, 0
        tokens: list[int] = []
        same = 0
        turns = [(str(asked), str(answered)) for asked, answered in request.get("turns", ())]
        parts = lay_out(self._render, system, user, self._errors, turns)
        if self._adds_bos and not (self._bos_text and parts[0][0].startswith(self._bos_text)):
            tokens.append(self._bos)
        for text, is_templates in parts:
            tokens += self._tokens(text, special=is_templates)
            if system and not same and text == system and not is_templates:
                same = len(tokens)
        return tokens, [*stops, "<|im_end|>"] if self._render is chatml else stops, same

    def _clear(self, same: list[int]) -> None:
        """Nothing of an earlier request is left but its system message, where that is ``same``: where the
        state cannot be cleared, the model is dropped and loaded anew, once. Raises ``Refused``."""
        try:
            self._reset(same)
        except self._errors:
            self._llama.close()
            self._read_before = []
            self._load()

    def _reset(self, same: list[int]) -> None:
        memory = self._lib.llama_get_memory(self._llama.ctx)
        kept = len(same) if same == self._read_before else 0
        if memory and not (kept and self._lib.llama_memory_seq_rm(memory, -1, kept, -1)):
            self._lib.llama_memory_clear(memory, True)
            kept = 0
        self._read_before = same[:kept]
        self._llama.reset()
        self._llama.n_tokens = kept

    def generate(self, request: dict[str, Any], send: Send) -> None:
        """Answer a ``generate`` request. Raises ``Refused``, and what the library raises."""
        tokens, marks, same = self.prompt_tokens(request)
        room = int(request["tokens_max"])
        if len(tokens) + room > self.window:
            raise Refused(
                f"the prompt of {len(tokens)} tokens and an answer of {room} do not fit the model's window "
                f"of {self.window}"
            )
        if not tokens:
            raise Refused("the prompt is empty")
        said = 0
        reason = "length"
        stops = Stops(marks)
        logprobs: list[float] = []
        first: list[tuple[str, float]] = []
        wanted = min(int(request.get("alternatives", 0)), _ALTERNATIVES_MAX)
        temperature = float(request.get("temperature", 0.0))
        self._llama.set_seed(int(request.get("seed", 0)) or SEED)
        for piece in self._pieces(tokens, same, temperature, logprobs):
            if piece is None:
                reason = "stop"
                break
            if not said and wanted:
                first = self._likeliest(wanted)
            said += 1
            if text := stops.push(piece):
                send({"event": "piece", "id": request["id"], "text": text})
            if stops.hit:
                reason = "stop"
            if stops.hit or said >= room:
                break
        if rest := stops.rest():
            send({"event": "piece", "id": request["id"], "text": rest})
        send(done(request, reason, len(tokens), said, logprobs, first))

    def _pieces(
        self, prompt: list[int], same: int, temperature: float, logprobs: list[float]
    ) -> Iterator[str | None]:
        """What the model says, token by token, None at its end; the log probability of each is appended to
        ``logprobs``. The first ``same`` tokens are read apart from the others, and not again where the
        request before had them too: the answer is the same bit for bit. Raises ``RuntimeError`` when
        stopped."""
        first = prompt[:same]
        self._clear(first)
        if self._read_before != first:
            self._llama.eval(first)
            self._read_before = first
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        for token in self._llama.generate(prompt, temp=temperature):
            if self._lib.llama_vocab_is_eog(self._vocabulary, token):
                yield None
                return
            logprobs.append(self._logprob(token))
            size = self._lib.llama_token_to_piece(self._vocabulary, token, buffer, _PIECE_BYTES, 0, True)
            yield decoder.decode(buffer.raw[: max(0, size)])

    def _logprob(self, token: int) -> float:
        """How likely the model held the token that it has just said: from the scores of the last step, which
        are there until the next one."""
        return float(self._logprobs()[token])

    def _logprobs(self) -> Any:
        scores = self._numpy.ctypeslib.as_array(
            self._lib.llama_get_logits_ith(self._llama.ctx, -1), shape=(self._words,)
        )
        top = scores.max()
        return scores - top - self._numpy.log(self._numpy.exp(scores - top).sum())

    def _likeliest(self, count: int) -> list[tuple[str, float]]:
        """The likeliest tokens of the last step."""
        scores = self._logprobs()
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        found = []
        for token in self._numpy.argsort(scores)[::-1][:count]:
            size = self._lib.llama_token_to_piece(self._vocabulary, int(token), buffer, _PIECE_BYTES, 0, True)
            found.append((buffer.raw[: max(0, size)].decode("utf-8", "replace"), float(scores[token])))
        return found

    def embed(self, request: dict[str, Any], send: Send) -> None:
        """Answer an ``embed`` request, one text at a time: in company the last digits of a vector would
        differ. Raises what the library raises."""
        counted = 0
        for text in request["texts"]:
            tokens = self._tokens(text, special=False, bos=True)
            data = None
            if len(tokens) <= self.window and any(token not in self._idle_tokens for token in tokens):
                counted += len(tokens)
                data = base64.b64encode(array.array("f", self._llama.embed(text)).tobytes()).decode("ascii")
            send({"event": "vector", "id": request["id"], "data": data})
        send(done(request, "stop", counted, 0))

    def serve(self, request: dict[str, Any], send: Send, stopped: Stopped) -> None:
        """Answer one request, come what may."""
        self._stopped = stopped
        try:
            if request["op"] == "embed":
                self.embed(request, send)
            else:
                self.generate(request, send)
        except Refused as exc:
            send({"event": "failed", "id": request["id"], "kind": "rejected", "reason": str(exc)})
        except self._errors as exc:
            self._read_before = []
            if stopped():
                send(done(request, "stopped", 0, 0))
                return
            reason = str(exc)[:200] or type(exc).__name__
            send({"event": "failed", "id": request["id"], "kind": "unavailable", "reason": reason})
        finally:
            self._stopped = never


def last_words(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """End at once, the reason in stderr's last line: the interpreter's own end would wait for ``Inbox``."""
    sys.__excepthook__(kind, exc, trace)
    sys.stderr.flush()
    os._exit(70)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until the parent is gone."""
    sys.excepthook = last_words
    parser = argparse.ArgumentParser(prog="llama_child")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--purpose", choices=("generate", "embed"), required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--nice", type=int, required=True)
    parser.add_argument("--window", type=int, required=True)
    parser.add_argument("model", type=Path)
    arguments = parser.parse_args(argv)
    stay_small(arguments.nice)
    leave_the_network()
    die_with(arguments.parent)
    out = protocol_out()

    def send(message: dict[str, Any]) -> None:
        try:
            out.write(encode(message))
            out.flush()
        except OSError:
            os._exit(0)  # nobody listens any more

    inbox = Inbox(sys.stdin.buffer)
    try:
        model = Model(
            arguments.model,
            purpose=arguments.purpose,
            threads=arguments.threads,
            window=arguments.window,
        )
    except Refused as exc:
        send({"event": "failed", "reason": str(exc)})
        os._exit(1)
    send({"event": "ready", "window": model.window, "dim": model.dim})
    while True:
        request = inbox.next()
        request_id = int(request["id"])
        model.serve(request, send, partial(inbox.stopped, request_id))


if __name__ == "__main__":
    main()
