"""The child process that holds one GGUF model, by xllamacpp: ``python -m node.models.xllama_child``.

It is ``llama_child`` over another library: llama.cpp's own server, which works on several requests at once,
comes prebuilt, and lays out chat prompts itself.

Promises:
- speaks ``llama_wire`` with up to ``--slots`` requests under way at a time; everything else about the process
  is as in ``llama_child``: it ends with its parent, is niced, has no network where the kernel allows that;
- the library's HTTP server listens on a Unix socket that nobody can open: its name is gone before the first
  request;
- "stop" is heard before each token and each piece of a prompt that is read;
- turn marks in texts are taken out before the library sees them;
- of a request each slot keeps one thing, for speed: the model's state after the tokens it read and wrote
  last. The next request there reads only what follows the tokens that both begin with, and the rest of that
  state is dropped. Its answer hangs on its own tokens alone; probabilities may differ in their last digits.
  Temperature, seed and stop marks come with each request, and no other prompt is kept.

It must not know who asks, or why."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from node.language.orders import CHAT_TOKEN
from node.models.gguf_file import metadata
from node.models.llama_child import (
    INSTRUCTED,
    SEED,
    Inbox,
    Refused,
    Send,
    Stopped,
    die_with,
    done,
    last_words,
    leave_the_network,
    protocol_out,
    stay_small,
    threads_for_reading,
)
from node.models.llama_wire import encode

BATCH = 32
"""Tokens of a prompt that are read in one go; in between "stop" is heard. Measured with a model of 1.5B and a
prompt of 491 tokens: 512 at once took 24 s of processor time, 32 took 27 s, 16 took 30 s."""
_REASON_CHARS = 200


class Model:
    """One loaded GGUF. Its calls block and may come from several threads."""

    def __init__(self, path: Path, *, threads: int, window: int, slots: int) -> None:
        """Raises ``Refused``."""
        try:
            library: Any = import_module("xllamacpp")
        except ImportError as exc:
            raise Refused(f"xllamacpp cannot be imported: {exc}") from exc
        told = metadata(path)
        # A base model continues texts; the library would take one without a template for a chat model.
        self._chats = (
            bool(told.get("tokenizer.chat_template", "").strip())
            or any(
                INSTRUCTED.search(told.get(f"general.{key}", "")) for key in ("finetune", "name", "basename")
            )
            or INSTRUCTED.search(path.stem) is not None
        )
        self.window = window
        folder = tempfile.mkdtemp(prefix="xllama")
        try:
            params = library.CommonParams()
            params.model.path = str(path)
            params.hostnames = [f"{folder}/s.sock"]
            params.port = 8080  # names no port: the host is a socket
            params.n_parallel = slots
            params.n_ctx = window * slots
            params.n_batch = params.n_ubatch = BATCH
            params.cpuparams.n_threads = threads
            params.cpuparams_batch.n_threads = threads_for_reading(threads)
            params.n_threads_http = 1
            params.n_gpu_layers = 0
            params.cache_ram_mib = 0
            params.fit_params = params.warmup = params.ui = False
            params.verbosity = 0
            self._server = library.Server(params)
        except (RuntimeError, ValueError, TypeError, AttributeError, OSError) as exc:
            raise Refused(f"the model does not load: {str(exc)[:_REASON_CHARS]}") from exc
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def generate(self, request: dict[str, Any], send: Send, stopped: Stopped) -> None:
        """Answer a ``generate`` request. Raises ``Refused``, ``RuntimeError``."""
        answer = _Answer(request, send, stopped)
        body: dict[str, Any] = {
            "max_tokens": int(request["tokens_max"]),
            "temperature": float(request.get("temperature", 0.0)),
            "seed": int(request.get("seed", 0)) or SEED,
            "stop": list(request["stop"]),
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
            "cache_prompt": True,
        }
        system, user = (CHAT_TOKEN.sub(" ", str(request[name])) for name in ("system", "user"))
        continuation = CHAT_TOKEN.sub(" ", str(request["continuation"]))
        ask: Callable[[str, Callable[[str], bool]], None] = self._server.handle_completions
        if self._chats:
            ask = self._server.handle_chat_completions
            roles = [("system", system)] if system else []
            for asked, answered in request.get("turns", ()):
                roles += [("user", CHAT_TOKEN.sub(" ", asked)), ("assistant", CHAT_TOKEN.sub(" ", answered))]
            roles.append(("user", user))
            body["messages"] = [{"role": role, "content": text} for role, text in roles]
            body["chat_template_kwargs"] = {"enable_thinking": False}
            body |= {"logprobs": True, "top_logprobs": max(1, int(request.get("alternatives", 0)))}
        else:
            body["prompt"] = continuation or (f"{system}\n\n{user}" if system else user)
            body["logprobs"] = 1
            if continuation:
                body["stop"] = [*request["continuation_stop"], *body["stop"]]
        ask(json.dumps(body), answer.hear)
        answer.end()


class _Answer:
    """What the library says to one request."""

    def __init__(self, request: dict[str, Any], send: Send, stopped: Stopped) -> None:
        self._request = request
        self._send = send
        self._stopped = stopped
        self._logprobs: list[float] = []
        self._first: list[tuple[str, float]] = []
        self._counts = [0, 0]
        self._reason = ""
        self._error: Exception | None = None

    def hear(self, said: str) -> bool:
        """One event of the library's stream; True ends it."""
        try:
            self._take(json.loads(said))
        except (ValueError, TypeError, LookupError, AttributeError) as exc:
            self._error = self._error or RuntimeError(f"the library said what is not its protocol: {exc}")
        return self._error is not None or self._stopped()

    def _take(self, event: dict[str, Any]) -> None:
        if "error" in event or "message" in event:
            error = event.get("error", event)
            reason = str(error.get("message", ""))[:_REASON_CHARS] or "the library failed"
            refused = 400 <= int(error.get("code", 500)) < 500
            self._error = Refused(reason) if refused else RuntimeError(reason)
            return
        if usage := event.get("usage"):
            self._counts = [int(usage["prompt_tokens"]), int(usage["completion_tokens"])]
        for choice in event.get("choices") or ():
            said = choice.get("delta") or {}
            text = said.get("content") if "delta" in choice else choice.get("text")
            if text:
                self._send({"event": "piece", "id": self._request["id"], "text": text})
            for token in (choice.get("logprobs") or {}).get("content") or ():
                self._logprobs.append(float(token["logprob"]))
                self._first = self._first or [
                    (str(top["token"]), float(top["logprob"])) for top in token.get("top_logprobs") or ()
                ]
            self._reason = choice.get("finish_reason") or self._reason

    def end(self) -> None:
        """The stream is over."""
        if self._stopped():
            self._send(done(self._request, "stopped", 0, 0))
            return
        if self._error is not None:
            raise self._error
        reason = "length" if self._reason == "length" else "stop"
        self._send(done(self._request, reason, self._counts[0], self._counts[1], self._logprobs, self._first))


def serve(model: Model, request: dict[str, Any], send: Send, stopped: Stopped) -> None:
    """Answer one request, come what may."""
    try:
        if request["op"] != "generate":
            raise Refused("this engine only generates")
        model.generate(request, send, stopped)
    except Refused as exc:
        send({"event": "failed", "id": request["id"], "kind": "rejected", "reason": str(exc)})
    except (RuntimeError, ValueError, KeyError, TypeError, MemoryError) as exc:
        reason = str(exc)[:_REASON_CHARS] or type(exc).__name__
        send({"event": "failed", "id": request["id"], "kind": "unavailable", "reason": reason})


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until the parent is gone."""
    sys.excepthook = last_words
    parser = argparse.ArgumentParser(prog="xllama_child")
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--purpose", choices=("generate",), required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--nice", type=int, required=True)
    parser.add_argument("--window", type=int, required=True)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("model", type=Path)
    arguments = parser.parse_args(argv)
    stay_small(arguments.nice)
    leave_the_network()
    die_with(arguments.parent)
    out, lock = protocol_out(), threading.Lock()

    def send(message: dict[str, Any]) -> None:
        try:
            with lock:
                out.write(encode(message))
                out.flush()
        except OSError:
            os._exit(0)  # nobody listens any more

    inbox = Inbox(sys.stdin.buffer)
    try:
        model = Model(
            arguments.model, threads=arguments.threads, window=arguments.window, slots=arguments.slots
        )
    except Refused as exc:
        send({"event": "failed", "reason": str(exc)})
        os._exit(1)
    send({"event": "ready", "window": model.window, "dim": 0})
    while True:
        request = inbox.next()
        stopped = partial(inbox.stopped, int(request["id"]))
        threading.Thread(target=serve, args=(model, request, send, stopped), daemon=True).start()


if __name__ == "__main__":
    main()
