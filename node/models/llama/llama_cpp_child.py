"""The child process over llama-cpp-python: ``python -m node.models.llama.llama_cpp_child``.

Promises, beside those of ``child``:
- the model's state is cleared before each request; temperature 0; a prompt that does not fit the window with
  its answer is refused, never cut;
- texts never become control tokens; the system message reaches the model whatever the template does with it.
"""

from __future__ import annotations

import argparse
import array
import base64
import codecs
import contextlib
import ctypes
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from node.models.llama.child import (
    REASON_CHARS,
    SEED,
    Request,
    Send,
    Stopped,
    done,
    never,
    run,
    threads_for_reading,
)
from node.models.llama.prompts import Messages, Refused, Render, chatml, is_instructed, lay_out
from node.models.stops import Stops

EMBED_WINDOW_MAX = 512
"""Questions are short; memory of a text grows with its square."""
_ALTERNATIVES_MAX = 20
_PIECE_BYTES = 512


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
        self.errors: tuple[type[Exception], ...] = (
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
        elif is_instructed(path.stem, metadata):
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
        except self.errors as exc:
            raise Refused(
                f"the model does not load: {str(exc)[:REASON_CHARS] or type(exc).__name__}"
            ) from exc
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

        def render(messages: Messages) -> str:
            rendered: str = formatter(
                messages=[{"role": role, "content": content} for role, content in messages],
                enable_thinking=False,  # thinking would use up the tokens of the answer
            ).prompt
            return rendered

        return render

    def _tokens(self, text: str, *, special: bool, bos: bool = False) -> list[int]:
        tokens: list[int] = self._llama.tokenize(text.encode("utf-8"), add_bos=bos, special=special)
        return tokens

    def prompt_tokens(self, request: Request) -> tuple[list[int], list[str], int]:
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
        parts = lay_out(self._render, system, user, self.errors, turns)
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
        except self.errors:
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

    def generate(self, request: Request, send: Send) -> None:
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
        for token in self._llama.generate(prompt, temp=temperature):
            if self._lib.llama_vocab_is_eog(self._vocabulary, token):
                yield None
                return
            logprobs.append(float(self._logprobs()[token]))
            yield decoder.decode(self._piece(token))

    def _piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        size = self._lib.llama_token_to_piece(self._vocabulary, token, buffer, _PIECE_BYTES, 0, True)
        return buffer.raw[: max(0, size)]

    def _logprobs(self) -> Any:
        """How likely the model held each token to be the one that it has just said: from the scores of the
        last step, which are there until the next one."""
        scores = self._numpy.ctypeslib.as_array(
            self._lib.llama_get_logits_ith(self._llama.ctx, -1), shape=(self._words,)
        )
        top = scores.max()
        return scores - top - self._numpy.log(self._numpy.exp(scores - top).sum())

    def _likeliest(self, count: int) -> list[tuple[str, float]]:
        """The likeliest tokens of the last step."""
        scores = self._logprobs()
        return [
            (self._piece(int(token)).decode("utf-8", "replace"), float(scores[token]))
            for token in self._numpy.argsort(scores)[::-1][:count]
        ]

    def embed(self, request: Request, send: Send) -> None:
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
        send(done(request, "stop", counted))

    def answer(self, request: Request, send: Send, stopped: Stopped) -> None:
        self._stopped = stopped
        try:
            if request["op"] == "embed":
                self.embed(request, send)
            else:
                self.generate(request, send)
        except self.errors:
            self._read_before = []
            raise
        finally:
            self._stopped = never


def _load(arguments: argparse.Namespace) -> Model:
    wanted = {name: getattr(arguments, name) for name in ("purpose", "threads", "window")}
    return Model(arguments.model, **wanted)


if __name__ == "__main__":
    run(_load, at_once=False)
