"""A running node as ``neuroswarm mcp`` asks it: the key, the stream, and what is no answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from node.cli.mcp_node import HttpNode
from node.core.errors import NodeError, NotFound, Rejected, Unavailable
from tests.unit.api.door import listening

KEY = "ns_a-secret-key"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def asked(handler: Handler) -> AsyncIterator[HttpNode]:
    """A node that answers everything so."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    async with listening(app) as url:
        node = HttpNode(url, KEY, 30)
        try:
            yield node
        finally:
            await node.close()


async def test_the_key_goes_into_the_header_and_events_are_told_in_order() -> None:
    seen: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Authorization"])
        assert (await request.json())["stream"] is True
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in (
            b"event: del",
            b'ta\ndata: {"text": "f\xc3',
            b'\xb6"}\n',
            b'\nevent: done\ndata: {"a": 1}\n\n',
        ):
            await response.write(piece)
        return response

    told: list[tuple[str, Mapping[str, object]]] = []
    async with asked(handle) as node:
        assert await node.ask({"query": "a"}, lambda name, facts: told.append((name, facts))) == {"a": 1}
    assert told == [("delta", {"text": "fö"})]
    assert seen == [f"Bearer {KEY}"]


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (
            400,
            b'{"detail": "bad", "field": "ttl_s", "limit": "1 to 9"}',
            Rejected,
            "field ttl_s, limit 1 to 9",
        ),
        (401, b'{"detail": "no such key"}', Rejected, "NEUROSWARM_API_KEY"),
        (404, b'{"detail": "no such entry"}', NotFound, "no such entry"),
        (429, b'{"title": "Too many requests"}', Rejected, "Too many requests"),
        (500, b"<html>", Unavailable, "no node"),
        (200, b"[]", Unavailable, "no node"),
        (200, b'event: delta\ndata: {"text": "half"}\n\n', Unavailable, "broke off"),
        (200, b'event: error\ndata: {"status": 503, "detail": "busy"}\n\n', Rejected, "busy"),
        (302, b"{}", Rejected, "302"),
    ],
)
async def test_what_is_no_answer_is_said(status: int, body: bytes, kind: type[NodeError], said: str) -> None:
    async def handle(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body, headers={"Location": "http://127.0.0.1:9/"})

    is_stream = body.startswith(b"event")
    async with asked(handle) as node:
        with pytest.raises(kind) as caught:
            await (node.ask({"query": "a"}, lambda *_: None) if is_stream else node.search({"query": "a"}))
    assert said in str(caught.value)
    assert KEY not in str(caught.value)


async def test_a_reply_without_end_is_cut() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 2**20)

    async with asked(handle) as node:
        for call in (lambda: node.search({}), lambda: node.ask({}, lambda *_: None)):
            with pytest.raises(Unavailable, match="over 16777216 bytes"):
                await call()


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "nonsense", "http://[", "ftp://127.0.0.1"])
async def test_nobody_there_is_said(address: str) -> None:
    node = HttpNode(address, "", 5)
    with pytest.raises(Unavailable, match="neuroswarm serve"):
        await node.alive()
    await node.close()
