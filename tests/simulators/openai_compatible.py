"""A stand-in for a server that speaks OpenAI's HTTP API, on loopback: ``/v1/models``,
``/v1/chat/completions`` (streamed or not) and ``/v1/embeddings``, and switches that make it misbehave.

    async with OpenAiStandIn(answer="Paris is the capital of France.") as server:
        server.url, server.requests, server.prompts

``url`` ends in ``/v1``. ``python -m tests.simulators.openai_compatible --port 0`` serves until interrupted.
The contract suites run over it and over a real server (Ollama's ``/v1``) alike, so that it cannot lie."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.simulators.ollama import Answerer, Calls, ModelServer, Seen, StandInModel, sensible, unit
from tests.simulators.vendor import by_hand

CHAT_MODEL = "stand-in-chat"
EMBED_MODEL = "stand-in-embed"
CREATED = 1_767_225_600


@dataclass
class OpenAiStandIn(ModelServer):
    """Switches may be turned while it runs. ``answer``: a text, or a callable over the whole prompt.

    ``key``: the only key that is taken; empty takes all. ``models``: what is listed; None: no list (404).
    ``refuses``: parameters that it does not know and refuses with 400, by name. ``streams``: False for a
    server that answers whole whatever is asked. ``usage``: what it sends as such, None for nothing.
    ``says_end``: False for a stream without ``finish_reason``.

    ``hang``: take the request, send nothing until released. ``stall_after``: send so many pieces, then
    nothing. ``stall_at_end``: after the last word, nothing more, not even the end. ``status`` with ``error``
    (a message, bytes of a page, or any JSON body) and ``headers``: answer everything but the list so.
    ``failures``: only so many times. ``html``: a web page instead. ``raw_body``: exactly these bytes.
    ``event``: one more event in the stream, before the words. ``cut_connection``: close in the middle.
    ``endless``: never stop sending comments. ``redirect_to``: send away. ``bend``: what becomes of an
    embedding answer before it leaves. ``base64``: vectors in that form, whatever was asked for. ``version``:
    another one makes other vectors."""

    answer: str | Answerer = sensible
    key: str = ""
    models: Sequence[str | Mapping[str, Any]] | None = (CHAT_MODEL, EMBED_MODEL)
    refuses: tuple[str, ...] = ()
    streams: bool = True
    usage: Callable[[dict[str, Any]], Any] | None = None
    calls: Calls | None = None
    """The tools that it calls in answer to a request, as (name, arguments as JSON text); none: it answers."""
    says_end: bool = True
    reasoning: str = ""
    hang: bool = False
    hang_models: bool = False
    stall_after: int | None = None
    stall_at_end: bool = False
    status: int = 200
    error: Any = "something broke"
    headers: Mapping[str, str] = field(default_factory=dict)
    failures: int | None = None
    html: bool = False
    raw_body: bytes | None = None
    raw_kind: str = ""
    """Its content type; empty: the right one."""
    event: bytes | None = None
    cut_connection: bool = False
    endless: bool = False
    redirect_to: str = ""
    bend: Callable[[dict[str, Any]], Any] | None = None
    base64: bool = False
    version: str = ""
    calls_itself: str | None = None
    """The name that an embedding answer bears; None: the one asked for."""
    dim: int = 128
    port: int = 0
    requests: list[Seen] = field(default_factory=list)
    running: int = 0
    running_max: int = 0
    url: str = ""

    CHAT = "/v1/chat/completions"

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.url += "/v1"
        return self

    def routes(self) -> web.Application:
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post(self.CHAT, self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        return app

    @property
    def embedded(self) -> list[str]:
        """Every text of an embedding request, in order."""
        return [
            text
            for seen in self.requests
            if seen.path == "/v1/embeddings"
            for text in _texts(seen.body.get("input", []))
        ]

    def vector(self, text: str) -> list[float]:
        return unit(StandInModel(dim=self.dim, version=self.version).vector(text))

    # --- what every path shares -------------------------------------------------------------------

    def _known(self) -> list[str]:
        listed = self.models if self.models is not None else (CHAT_MODEL, EMBED_MODEL)
        return [entry if isinstance(entry, str) else str(entry["id"]) for entry in listed]

    def _keyless(self, seen: Seen) -> web.Response | None:
        given = seen.headers.get("authorization", "").removeprefix("Bearer ")
        if not self.key or given == self.key:
            return None
        # As OpenAI does, it repeats the key, here whole.
        message = f"Incorrect API key provided: {given}. You can find your API key in your account."
        return _failed(401, message, code="invalid_api_key")

    async def _refusal(self, seen: Seen) -> web.Response | None:
        """What is answered instead of the good answer; None when all goes well."""
        self.arrived.set()
        if (refusal := self._keyless(seen)) is not None:
            return refusal
        if self.hang:
            await self._released.wait()
        if self.redirect_to:
            return web.Response(status=307, headers={"Location": self.redirect_to})
        if self.html:
            return web.Response(text="<html><body>Sign in</body></html>", content_type="text/html")
        if self.raw_body is not None:
            streams = self.streams and seen.body.get("stream")
            kind = self.raw_kind or ("text/event-stream" if streams else "application/json")
            return web.Response(body=self.raw_body, content_type=kind)
        if self.status != 200 and self.failures != 0:
            if self.failures is not None:
                self.failures -= 1
            return _failed(self.status, self.error, headers=self.headers)
        model = seen.body.get("model", "")
        if model not in self._known():
            message = f"The model `{model}` does not exist or you do not have access to it."
            return _failed(404, message, code="model_not_found")
        for name in self.refuses:
            if name in seen.body:
                message = f"Unsupported parameter: '{name}' is not supported with this model."
                return _failed(400, message, code="unsupported_parameter")
        return None

    async def _models(self, request: web.Request) -> web.StreamResponse:
        seen = await self._note(request)
        self.listed.set()
        if self.hang_models:
            await self._released.wait()
        if (refusal := self._keyless(seen)) is not None:
            return refusal
        if self.redirect_to:
            return web.Response(status=307, headers={"Location": self.redirect_to})
        if self.html:
            return web.Response(text="<html><body>Sign in</body></html>", content_type="text/html")
        if self.raw_body is not None:
            return web.Response(body=self.raw_body, content_type="application/json")
        if self.models is None:
            return _failed(404, "Not Found")
        entries = [{"id": entry} if isinstance(entry, str) else dict(entry) for entry in self.models]
        data = [{"object": "model", "created": CREATED, "owned_by": "tests", **entry} for entry in entries]
        return web.json_response({"object": "list", "data": data})

    # --- chat -------------------------------------------------------------------------------------

    async def _answer(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        if (refusal := await self._refusal(seen)) is not None:
            return refusal
        text = self.answer if isinstance(self.answer, str) else self.answer(seen.prompt)
        stop = seen.body.get("stop") or []
        if len(stop) > 4:
            return _failed(400, "Invalid 'stop': array too long. Expected at most 4.")
        for mark in [stop] if isinstance(stop, str) else stop:
            if mark in text:
                text = text[: text.index(mark)]
        tokens = text.split(" ")
        pieces = [token if place == 0 else f" {token}" for place, token in enumerate(tokens)]
        limit = seen.body.get("max_completion_tokens", seen.body.get("max_tokens", len(pieces)))
        reason = "length" if limit < len(pieces) else "stop"
        pieces = pieces[:limit]
        usage: Any = {
            "prompt_tokens": max(1, len(seen.prompt) // 4),
            "completion_tokens": len(pieces),
            "total_tokens": max(1, len(seen.prompt) // 4) + len(pieces),
        }
        if self.usage is not None:
            usage = self.usage(usage)
        base = {"id": "chatcmpl-1", "created": CREATED, "model": seen.body["model"]}
        called = list(self.calls(seen.body)) if self.calls is not None else []
        if called:
            pieces, reason = [], "tool_calls"
        if not seen.body.get("stream") or not self.streams:
            message: dict[str, Any] = {"role": "assistant", "content": "".join(pieces)}
            if called:
                message["tool_calls"] = [_call(at, *one) for at, one in enumerate(called)]
            choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reason}
            if seen.body.get("logprobs"):
                choice["logprobs"] = {"content": [{"token": piece, "logprob": -0.25} for piece in pieces]}
            return web.json_response(
                {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            )
        base["object"] = "chat.completion.chunk"
        wants_usage = (seen.body.get("stream_options") or {}).get("include_usage")
        usage = usage if wants_usage else None
        return await self._stream(request, seen, base, pieces, reason, usage, called)

    async def _stream(
        self,
        request: web.Request,
        seen: Seen,
        base: dict[str, Any],
        pieces: list[str],
        reason: str,
        usage: Any,
        called: Sequence[tuple[str, str]] = (),
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        logprobs = seen.body.get("logprobs", False)

        async def send(delta: dict[str, Any], finish_reason: str | None = None) -> None:
            choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            if logprobs and delta.get("content"):
                choice["logprobs"] = {
                    "content": [{"token": delta["content"], "logprob": -0.25, "bytes": None}]
                }
            await response.write(b"data: " + json.dumps({**base, "choices": [choice]}).encode() + b"\n\n")

        await send({"role": "assistant", "content": ""})
        if self.event is not None:
            await response.write(self.event)
        if self.reasoning:
            await send({"reasoning_content": self.reasoning})
        for place, piece in enumerate(pieces):
            if self.stall_after is not None and place >= self.stall_after:
                self.stalled.set()
                await self._released.wait()
                break
            await send({"content": piece})
        for at, (name, arguments) in enumerate(called):
            half = len(arguments) // 2  # the name comes once, the arguments in pieces
            begun = _call(at, name, arguments[:half])
            await send({"tool_calls": [{"index": at, **begun}]})
            await send({"tool_calls": [{"index": at, "function": {"arguments": arguments[half:]}}]})
        if self.cut_connection:
            assert request.transport is not None
            request.transport.abort()
            return response
        while self.endless:
            await response.write(b":" + b" " * 65_536 + b"\n")
        if self.says_end:
            await send({}, reason)
        if self.stall_at_end:
            self.stalled.set()
            await self._released.wait()
        if usage is not None:
            last = {**base, "choices": [], "usage": usage}
            await response.write(b"data: " + json.dumps(last).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    # --- embeddings -------------------------------------------------------------------------------

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        seen = await self._note(request)
        if (refusal := await self._refusal(seen)) is not None:
            return refusal
        texts = _texts(seen.body.get("input", []))
        if any(not text for text in texts):
            return _failed(400, "Invalid 'input': an empty string")
        packed = self.base64 or seen.body.get("encoding_format") == "base64"
        vectors = [self.vector(text) for text in texts]
        body: dict[str, Any] = {
            "object": "list",
            "model": self.calls_itself or seen.body["model"],
            "data": [
                {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else vector}
                for index, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": len(texts), "total_tokens": len(texts)},
        }
        return web.json_response(body if self.bend is None else self.bend(body))


def _call(at: int, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _texts(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _failed(
    status: int, error: Any, *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> web.Response:
    body = error
    if isinstance(error, str):
        body = {"error": {"message": error, "type": "invalid_request_error", "param": None, "code": code}}
    if isinstance(error, bytes):
        return web.Response(body=error, status=status, content_type="text/html", headers=headers)
    return web.json_response(body, status=status, headers=headers)


if __name__ == "__main__":
    by_hand(lambda port: OpenAiStandIn(port=port))
