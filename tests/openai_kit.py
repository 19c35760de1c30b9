"""What tests of OpenAI's API share: a node in front of a stand-in for an upstream, and how its streams
read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.faults.node_kit import Client, start
from tests.simulators.openai_compatible import CHAT_MODEL, OpenAiStandIn

UPSTREAM = f"neuroswarm/{CHAT_MODEL}"
CHAT = "/v1/chat/completions"


def asking(content: str, model: str = UPSTREAM, **more: Any) -> dict[str, Any]:
    """A request with a lone user message."""
    return {"model": model, "messages": [{"role": "user", "content": content}], **more}


@asynccontextmanager
async def front(folder: Path, upstream: OpenAiStandIn | None = None, **more: Any) -> AsyncIterator[Client]:
    """A node whose upstream, and whose language model, is ``upstream``."""
    models = {} if upstream is None else {"openai_base_url": upstream.url}
    cache = {"confidence_min": 0.5, **more.pop("cache", {})}  # what a stand-in says passes the bar
    async with start(folder, models=models, cache=cache, **more) as node:
        yield node


def chats(server: OpenAiStandIn) -> int:
    """How often a completion was asked for."""
    return sum(seen.path == OpenAiStandIn.CHAT for seen in server.requests)


async def said(
    node: Client, body: dict[str, Any], *, path: str = CHAT, **headers: str
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, body and headers of one request that is not streamed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with node.http.post(node.url + path, json=body, headers=named) as response:
        return response.status, await response.json(), dict(response.headers)


def events(raw: str) -> list[dict[str, Any] | str]:
    """The data of each event of a stream. Fails where one is not well formed."""
    found: list[dict[str, Any] | str] = []
    assert raw.endswith("\n\n"), "the last event is whole"
    for block in raw.removesuffix("\n\n").split("\n\n"):
        lines = [line for line in block.split("\n") if not line.startswith(":")]
        if not lines or lines == [""]:
            continue
        assert all(line.startswith(("data: ", "event: ")) for line in lines), block
        [data] = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        found.append(data if data == "[DONE]" else json.loads(data))
        if lines[0].startswith("event: "):
            assert json.loads(data)["type"] == lines[0].removeprefix("event: ")
    return found


def checked_chat(raw: str, *, usage: bool) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
    """The text of a stream of chunks, its ``neuroswarm`` object and its usage, in the order that the vendor's
    documents give."""
    *chunks, done = events(raw)
    assert done == "[DONE]"
    counted = None
    if usage:
        last = chunks.pop()
        assert isinstance(last, dict)
        assert last["choices"] == []
        counted = last["usage"]
    assert all(isinstance(chunk, dict) for chunk in chunks)
    choices = [chunk["choices"][0] for chunk in chunks if isinstance(chunk, dict)]
    assert choices[0]["delta"]["role"] == "assistant"
    assert [choice["finish_reason"] for choice in choices[:-1]] == [None] * (len(choices) - 1)
    assert choices[-1]["finish_reason"] == "stop"
    assert not choices[-1]["delta"].get("content")
    ids = {chunk["id"] for chunk in chunks if isinstance(chunk, dict)}
    assert len(ids) == 1
    own = chunks[-1]
    assert isinstance(own, dict)
    return "".join(choice["delta"].get("content") or "" for choice in choices), own["neuroswarm"], counted


async def streamed(node: Client, body: dict[str, Any], *, path: str = CHAT) -> tuple[str, dict[str, str]]:
    """The whole of one stream, and its headers."""
    async with node.http.post(node.url + path, json={**body, "stream": True}) as response:
        assert response.status == 200, await response.text()
        assert response.headers["Content-Type"] == "text/event-stream"
        return await response.text(), dict(response.headers)
