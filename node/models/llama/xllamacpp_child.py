"""The child process over xllamacpp: ``python -m node.models.llama.xllamacpp_child``. It is llama.cpp's own
server, which works on several requests at once, comes prebuilt, and lays out chat prompts itself.

Promises, beside those of ``child``:
- up to ``--slots`` requests are under way at a time;
- the library's HTTP server listens on a Unix socket that nobody can open: its name is gone before the first
  request;
- "stop" is heard before each token and each piece of a prompt that is read;
- turn marks in texts are taken out before the library sees them;
- of a request each slot keeps one thing, for speed: the model's state after the tokens it read and wrote
  last. The next request there reads only what follows the tokens that both begin with, and the rest of that
  state is dropped. Its answer hangs on its own tokens alone; probabilities may differ in their last digits.
  Temperature, seed and stop marks come with each request, and no other prompt is kept.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from node.language.orders import CHAT_TOKEN
from node.models.llama.child import REASON_CHARS, SEED, Request, Send, Stopped, done, run, threads_for_reading
from node.models.llama.gguf_file import metadata
from node.models.llama.prompts import Refused, is_instructed

BATCH = 32
"""Tokens of a prompt that are read in one go; in between "stop" is heard. Measured with a model of 1.5B and a
prompt of 491 tokens: 512 at once took 24 s of processor time, 32 took 27 s, 16 took 30 s."""


class Model:
    """One loaded GGUF. Its calls block and may come from several threads."""

    dim = 0
    errors: tuple[type[Exception], ...] = (RuntimeError, ValueError, KeyError, TypeError, MemoryError)

    def __init__(self, path: Path, *, threads: int, window: int, slots: int) -> None:
        """Raises ``Refused``."""
        try:
            library: Any = import_module("xllamacpp")
        except ImportError as exc:
            raise Refused(f"xllamacpp cannot be imported: {exc}") from exc
        told = metadata(path)
        # A base model continues texts; the library would take one without a template for a chat model.
        has_template = bool(told.get("tokenizer.chat_template", "").strip())
        self._chats = has_template or is_instructed(path.stem, told)
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
            raise Refused(f"the model does not load: {str(exc)[:REASON_CHARS]}") from exc
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def answer(self, request: Request, send: Send, stopped: Stopped) -> None:
        if request["op"] != "generate":
            raise Refused("this engine only generates")
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
            if schema := request.get("schema"):
                named = {"name": "answer", "schema": json.loads(schema)}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
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

    def __init__(self, request: Request, send: Send, stopped: Stopped) -> None:
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
            reason = str(error.get("message", ""))[:REASON_CHARS] or "the library failed"
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
            self._send(done(self._request, "stopped"))
            return
        if self._error is not None:
            raise self._error
        reason = "length" if self._reason == "length" else "stop"
        self._send(done(self._request, reason, self._counts[0], self._counts[1], self._logprobs, self._first))


def _load(arguments: argparse.Namespace) -> Model:
    if arguments.purpose != "generate":
        raise Refused("this engine only generates")
    wanted = {name: getattr(arguments, name) for name in ("threads", "window", "slots")}
    return Model(arguments.model, **wanted)


if __name__ == "__main__":
    run(_load, at_once=True)
