"""A stand-in for an Ollama server on loopback: the wire of ``/api/tags``, ``/api/version``, ``/api/show``,
``/api/chat`` (streaming or not), ``/api/embed`` and the older ``/api/embeddings``, and switches that make it
misbehave. Its vectors are sums of pseudo-random word vectors: texts with common words are near each other.

    async with OllamaStandIn(answer=lambda prompt: "Paris is the capital of France.") as ollama:
        ollama.url, ollama.requests, ollama.prompts

``python -m tests.simulators.ollama --port 0`` serves until interrupted. The contract suite runs over it and
over a real server alike, so that it cannot lie."""

from __future__ import annotations

import asyncio
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar, Self

import numpy as np
from aiohttp import web

from tests.simulators.vendor import Door, by_hand

CREATED = "2026-01-01T00:00:00.000000000Z"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived. ``prompt`` is what the model would read: all messages in order."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def messages(self) -> list[tuple[str, str]]:
        return [(str(item.get("role")), str(item.get("content"))) for item in self.body.get("messages", [])]

    @property
    def prompt(self) -> str:
        return "\n".join(content for _, content in self.messages)


@dataclass(frozen=True, slots=True)
class StandInModel:
    """An installed model as ``/api/tags`` lists it."""

    name: str = "llama3.2:latest"
    family: str = "llama"
    capabilities: tuple[str, ...] = ("completion",)
    template: str = "{{ range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>{{ end }}"
    modelfile: str = ""
    parameters: str = ""
    context_length: int = 256
    """In words, which are its tokens, two special ones among them."""
    embeds: bool = True
    dim: int = 128
    version: str = ""
    """Pulled again: another digest and other vectors behind the same name."""

    @property
    def digest(self) -> str:
        return sha256(f"{self.name}{self.version}".encode()).hexdigest()

    def vector(self, text: str) -> list[float]:
        """Not of unit length, as the older endpoint's are not."""
        words = re.findall(r"\w+", text.lower()) or [text]
        seeds = [sha256(f"{self.version} {word}".encode()).digest() for word in words]
        numbers = [int.from_bytes(seed, "big") for seed in seeds]
        noise = [np.random.default_rng(number).standard_normal(self.dim) for number in numbers]
        return [float(number) for number in np.sum(noise, axis=0)]


MINILM = StandInModel("all-minilm:latest", "bert", ("embedding",), template="{{ .Prompt }}")


def unit(vector: list[float]) -> list[float]:
    length = float(np.linalg.norm(vector))
    return [number / length for number in vector]


Answerer = Callable[[str], str]
Calls = Callable[[dict[str, Any]], Sequence[tuple[str, str]]]


def sensible(prompt: str) -> str:
    """A default model: repeats the first block of context with its number, else explains at some length."""
    lines = prompt.split("\n")
    begins = next((place for place, line in enumerate(lines) if line.startswith("<<<DATA")), len(lines))
    for place, line in enumerate(lines):  # what stands before are examples
        if place > begins and line.startswith("[1] ") and place + 1 < len(lines):
            return f"{lines[place + 1]} [1]"
    question = next(
        (line for line in reversed(lines) if line.startswith("QUESTION:")), "QUESTION: it"
    ).partition(":")[2]
    return (
        f"Here is a short explanation of this question: {question.strip()}. It has three parts. "
        f"First, the idea was worked "
        "out over many years by people in several countries. Second, it rests on a few simple "
        "principles that "
        "anyone can learn with some patience. Third, it is used today in research, in industry "
        "and in teaching."
    )


class ModelServer(Door):
    """What both stand-ins for servers of models have in common."""

    CHAT: ClassVar[str]
    requests: list[Seen]
    running: int
    running_max: int

    async def __aenter__(self) -> Self:
        self.arrived = asyncio.Event()
        self.listed = asyncio.Event()
        self.stalled = asyncio.Event()
        return await super().__aenter__()

    def how(self) -> dict[str, Any]:
        return {"shutdown_timeout": 0.2}

    @property
    def chats(self) -> list[Seen]:
        return [seen for seen in self.requests if seen.path == self.CHAT]

    @property
    def prompts(self) -> list[str]:
        """What each chat request would have made the model read."""
        return [seen.prompt for seen in self.chats]

    async def _note(self, request: web.Request) -> Seen:
        self.came(request)
        body = await request.json() if request.can_read_body else {}
        seen = Seen(request.path, body, {name.lower(): value for name, value in request.headers.items()})
        self.requests.append(seen)
        return seen

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        seen = await self._note(request)
        self.running += 1
        self.running_max = max(self.running_max, self.running)
        try:
            return await self._answer(request, seen)
        finally:
            self.running -= 1

    @abstractmethod
    async def _answer(self, request: web.Request, seen: Seen) -> web.StreamResponse: ...


@dataclass
class OllamaStandIn(ModelServer):
    """Switches may be turned while it runs. ``answer``: a text, or a callable over the whole prompt.

    ``hang``: take the request, send nothing until released. ``stall_after``: send so many pieces, then
    nothing. ``delay``: awaited before an answer. ``status``: answer every chat with this HTTP status.
    ``error``: its message, or with ``status`` 200 an error line inside the stream. ``malformed``: not JSON.
    ``raw_body``: exactly these bytes. ``truncated``: ``done_reason`` length. ``cut_connection``: close in
    the middle. ``endless``: never stop sending.

    For embeddings also: ``is_old``: no ``/api/embed`` yet, and ``/api/show`` tells less. ``bend``: what
    becomes of the vectors before they leave. ``failures``: so many embedding requests fail with 500, then all
    goes well."""

    answer: str | Answerer = sensible
    calls: Calls | None = None
    """The tools that it calls in answer to a request, as (name, arguments as JSON text); none: it answers."""
    models: Sequence[StandInModel] = (StandInModel(),)
    hang: bool = False
    hang_tags: bool = False
    stall_after: int | None = None
    delay: Callable[[], Any] | None = None
    status: int = 200
    error: str = ""
    malformed: bool = False
    raw_body: bytes | None = None
    truncated: bool = False
    thinking: str = ""
    cut_connection: bool = False
    endless: bool = False
    redirect_to: str = ""
    is_old: bool = False
    bend: Callable[[list[list[float]]], Any] | None = None
    failures: int = 0
    port: int = 0
    requests: list[Seen] = field(default_factory=list)
    running: int = 0
    running_max: int = 0
    url: str = ""

    CHAT = "/api/chat"

    def routes(self) -> web.Application:
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_get("/api/tags", self._tags)
        app.router.add_get("/api/version", self._version)
        app.router.add_post("/api/show", self._show)
        app.router.add_post(self.CHAT, self._chat)
        app.router.add_post("/api/embed", self._embed)
        app.router.add_post("/api/embeddings", self._embeddings)
        return app

    @property
    def embedded(self) -> list[str]:
        """Every text of an embedding request, in order."""
        texts: list[str] = []
        for seen in self.requests:
            if seen.path == "/api/embed":
                given = seen.body.get("input", [])
                texts += [given] if isinstance(given, str) else given
            elif seen.path == "/api/embeddings":
                texts.append(seen.body.get("prompt", ""))
        return texts

    async def _version(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        return web.json_response({"version": "0.17.4"})

    async def _tags(self, request: web.Request) -> web.StreamResponse:
        await self._note(request)
        self.listed.set()
        if self.hang_tags:
            await self._released.wait()
        if self.redirect_to:
            return web.Response(status=302, headers={"Location": self.redirect_to})
        if self.raw_body is not None:
            return web.Response(body=self.raw_body, content_type="application/json")
        return web.json_response(
            {
                "models": [
                    {
                        "name": model.name, "model": model.name, "modified_at": "2026-01-01T00:00:00Z",
                        "size": 1_000_000, "digest": model.digest,
                        "details": {
                            "parent_model": "", "format": "gguf", "family": model.family,
                            "families": [model.family], "parameter_size": "1B",
                            "quantization_level": "Q4_K_M",
                        },
                    }
                    for model in self.models
                ]
            }
        )  # fmt: skip

    def _find(self, name: str) -> StandInModel | None:
        wanted = name if ":" in name else f"{name}:latest"
        return next((model for model in self.models if model.name == wanted), None)

    @staticmethod
    def _not_found(name: str) -> web.Response:
        return web.json_response({"error": f"model '{name}' not found"}, status=404)

    async def _show(self, request: web.Request) -> web.StreamResponse:
        name = (await self._note(request)).body.get("model", "")
        model = self._find(name)
        if model is None:
            return self._not_found(name)
        return web.json_response(
            {
                "modelfile": model.modelfile,
                "parameters": model.parameters,
                "template": model.template,
                "details": {"family": model.family},
                **({} if self.is_old else self._newer(model)),
            }
        )

    @staticmethod
    def _newer(model: StandInModel) -> dict[str, Any]:
        return {
            "model_info": {
                "general.architecture": model.family,
                f"{model.family}.context_length": model.context_length,
            },
            "capabilities": list(model.capabilities),
        }

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        if self.is_old:
            await self._note(request)
            return web.Response(text="404 page not found", status=404)
        seen = await self._note(request)
        given = seen.body.get("input", [])
        texts = [given] if isinstance(given, str) else given
        refusal = await self._refuses(seen)
        model = self._find(seen.body.get("model", ""))
        if refusal is not None or model is None:
            return refusal or self._not_found(seen.body.get("model", ""))
        window = min(model.context_length, seen.body.get("options", {}).get("num_ctx", model.context_length))
        if not seen.body.get("truncate", True) and any(len(text.split()) + 2 > window for text in texts):
            return web.json_response({"error": "the input length exceeds the context length"}, status=400)
        vectors = [unit(model.vector(" ".join(text.split()[: window - 2]))) for text in texts]
        return web.json_response(
            {
                "model": model.name,
                "embeddings": vectors if self.bend is None else self.bend(vectors),
                "total_duration": 1_000_000,
                "load_duration": 1_000,
                "prompt_eval_count": sum(len(text.split()) + 2 for text in texts),
            }
        )

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        seen = await self._note(request)
        refusal = await self._refuses(seen)
        model = self._find(seen.body.get("model", ""))
        if refusal is not None or model is None:
            return refusal or self._not_found(seen.body.get("model", ""))
        words = seen.body.get("prompt", "").split()[: model.context_length - 2]  # cut without a word
        vectors = [model.vector(" ".join(words))]
        return web.json_response({"embedding": (vectors if self.bend is None else self.bend(vectors))[0]})

    async def _refuses(self, seen: Seen) -> web.Response | None:
        """The misbehaviour that is switched on, for an embedding request."""
        self.arrived.set()
        if self.hang:
            await self._released.wait()
        if self.delay is not None:
            await self.delay()
        if self.malformed:
            return web.Response(text="<html>this is not JSON</html>", content_type="text/html")
        if self.raw_body is not None:
            return web.Response(body=self.raw_body, content_type="application/json")
        if self.failures > 0:
            self.failures -= 1
            return web.json_response({"error": self.error or "something broke"}, status=500)
        if self.status != 200:
            return web.json_response({"error": self.error or "something broke"}, status=self.status)
        model = self._find(seen.body.get("model", ""))
        if model is not None and not model.embeds:
            return web.json_response({"error": "this model does not support embeddings"}, status=501)
        return None

    async def _answer(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        name = seen.body.get("model", "")
        self.arrived.set()
        if self.hang:
            await self._released.wait()
        if self.delay is not None:
            await self.delay()
        if self.malformed:
            return web.Response(text="<html>this is not JSON</html>", content_type="text/html")
        if self.raw_body is not None:
            return web.Response(body=self.raw_body, content_type="application/x-ndjson")
        if self.status != 200:
            return web.json_response({"error": self.error or "something broke"}, status=self.status)
        model = self._find(name)
        if model is None:
            return self._not_found(name)
        text = self.answer if isinstance(self.answer, str) else self.answer(seen.prompt)
        stopped = False
        for mark in seen.body.get("options", {}).get("stop", []):
            if mark in text:
                text, stopped = text[: text.index(mark)], True
        tokens = text.split(" ")
        pieces = [token if place == 0 else f" {token}" for place, token in enumerate(tokens)]
        limit = seen.body.get("options", {}).get("num_predict", -1)
        cut = 0 < limit < len(pieces) and not stopped
        pieces = pieces[:limit] if cut else pieces
        done = {
            "done": True, "done_reason": "length" if cut or self.truncated else "stop",
            "total_duration": 1_000_000, "load_duration": 1_000,
            "prompt_eval_count": max(1, len(seen.prompt) // 4), "prompt_eval_duration": 1_000,
            "eval_count": len(pieces), "eval_duration": 1_000,
        }  # fmt: skip
        base = {"model": name, "created_at": CREATED}
        if seen.body.get("tools") and "tools" not in model.capabilities:
            return web.json_response({"error": f"{name} does not support tools"}, status=400)
        called = self.calls(seen.body) if self.calls is not None else ()
        pieces = [] if called else pieces
        if not seen.body.get("stream", True):
            message = {"role": "assistant", "content": "".join(pieces)}
            return web.json_response({**base, "message": message, **done})
        return await self._stream(request, seen, base, pieces, done, called)

    def tells_logprobs(self, seen: Seen) -> bool:
        """Servers before 0.12.11 do not, whatever is asked."""
        return bool(seen.body.get("logprobs")) and not self.is_old

    async def _stream(
        self,
        request: web.Request,
        seen: Seen,
        base: dict[str, Any],
        pieces: list[str],
        done: dict[str, Any],
        called: Sequence[tuple[str, str]] = (),
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)

        async def send(message: dict[str, Any], **more: Any) -> None:
            line = {**base, "message": {"role": "assistant", **message}, "done": False, **more}
            await response.write(json.dumps(line).encode() + b"\n")

        if self.thinking:
            await send({"content": "", "thinking": self.thinking})
        for place, piece in enumerate(pieces):
            if self.stall_after is not None and place >= self.stall_after:
                self.stalled.set()
                await self._released.wait()
                break
            told = {"logprobs": [{"token": piece, "logprob": -0.25}]} if self.tells_logprobs(seen) else {}
            await send({"content": piece}, **told)
        for tool, arguments in called:
            function = {"name": tool, "arguments": json.loads(arguments)}
            await send({"content": "", "tool_calls": [{"function": function}]})
        if self.cut_connection:
            assert request.transport is not None
            request.transport.abort()
            return response
        if self.error:
            await response.write(json.dumps({"error": self.error}).encode() + b"\n")
            return response
        while self.endless:
            await response.write(b" " * 65_536)
        await send({"content": ""}, **done)
        await response.write_eof()
        return response


if __name__ == "__main__":
    by_hand(lambda port: OllamaStandIn(port=port))
