"""Requests whose heads were read before: answered where their bytes arrive, or left to aiohttp."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from node.api.connections import Connection, serving
from node.api.heads import HEAD_BYTES_MAX, HEADS_MAX, Heads
from node.core.metrics import Metrics
from node.core.server_settings import Server

PATIENCE_S = 20.0
AT_ONCE = "at once"
WALKED = "walked"
BEGUN = "begun"
WHOSE = object()
HERE, ELSEWHERE = "127.0.0.1", "192.0.2.7"


@dataclass
class Door:
    """``asked``: the bodies that ``at_once`` was asked for; ``walked``: those that reached the handler, and
    what had been begun of them; ``last``: the connection of the last of those."""

    port: int = 0
    last: Connection | None = None
    wires: list[Wire] = field(default_factory=list)
    asked: list[bytes] = field(default_factory=list)
    walked: list[tuple[bytes, object]] = field(default_factory=list)


def reply(said: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode()


@asynccontextmanager
async def opened() -> AsyncIterator[Door]:
    """A door whose handler learns the heads of what comes whole; bodies that begin with "a" are answered at
    once, of those with "b" something is begun."""
    door = Door()

    async def handle(request: web.Request) -> web.Response:
        connection, begun = request.protocol, None
        assert isinstance(connection, Connection)
        door.last = connection
        is_whole = request.content.is_eof()
        body = await request.read()
        if is_whole:
            connection.learn(request, body, WHOSE)
            begun = connection.left() if body[:1] == b"n" else connection.taken(body)
        door.walked.append((body, begun))
        return web.Response(text=WALKED)

    def at_once(body: bytes, whose: object) -> bytes | str | None:
        assert whose is WHOSE
        door.asked.append(body)
        return {b"a": reply(AT_ONCE), b"b": BEGUN, b"n": BEGUN}.get(body[:1])

    app = web.Application()
    app.router.add_post("/", handle)
    listener = socket.create_server(("127.0.0.1", 0))
    door.port = listener.getsockname()[1]
    async with serving(app, [listener], Server(shutdown_timeout_s=1.0), Metrics(), at_once):
        yield door
        for wire in door.wires:
            wire.writer.close()
            await wire.writer.wait_closed()


def request(body: bytes, *more: str, version: str = "1.1") -> bytes:
    lines = [f"POST / HTTP/{version}", "Host: here", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Wire:
    """A client on one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, door: Door) -> Wire:
        wire = cls(*await asyncio.open_connection("127.0.0.1", door.port))
        door.wires.append(wire)
        return wire

    async def said(self) -> str:
        """The body of the reply that comes next."""
        async with asyncio.timeout(PATIENCE_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
            return (await self.reader.readexactly(int(head.split("content-length: ")[1].split()[0]))).decode()

    async def asks(self, data: bytes) -> str:
        self.writer.write(data)
        return await self.said()


async def test_a_head_that_was_read_is_not_read_again() -> None:
    async with opened() as door:
        one, other = await Wire.to(door), await Wire.to(door)
        assert await one.asks(request(b"a1")) == WALKED
        assert [await one.asks(request(b"a2")), await other.asks(request(b"a3"))] == [AT_ONCE, AT_ONCE]
        assert await one.asks(request(b"a23")) == WALKED, "a body of another length has another head"
        assert await one.asks(request(b"a45")) == AT_ONCE
        assert [body for body, _ in door.walked] == [b"a1", b"a23"]


async def test_what_cannot_be_answered_at_once_goes_on_with_what_was_begun() -> None:
    async with opened() as door:
        wire = await Wire.to(door)
        for body in (b"c0", b"b1", b"c2", b"a3"):
            assert await wire.asks(request(body)) == (AT_ONCE if body == b"a3" else WALKED)
        assert door.walked == [(b"c0", None), (b"b1", BEGUN), (b"c2", None)]


OWN = (
    "X-Request-Id: my-own-id",
    "x-request-id: my-own-id",
    "Connection: close",
    "Expect: 100-continue",
    "Upgrade: h2c",
)


@pytest.mark.parametrize("line", OWN)
async def test_a_head_that_speaks_of_one_request_is_read_each_time(line: str) -> None:
    async with opened() as door:
        for _ in range(2):
            wire = await Wire.to(door)
            wire.writer.write(request(b"a1", line))
            if line.startswith("Expect"):
                async with asyncio.timeout(PATIENCE_S):
                    await wire.reader.readuntil(b"\r\n\r\n")
            assert await wire.said() == WALKED
        assert not door.asked


async def test_an_older_version_and_a_chunked_body_are_read_each_time() -> None:
    async with opened() as door:
        chunked = b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na1\r\n0\r\n\r\n"
        for data in (request(b"a1", version="1.0"), chunked) * 2:
            assert await (await Wire.to(door)).asks(data) == WALKED
        assert not door.asked


async def test_pieces_and_rows_of_requests_are_read_by_aiohttp_in_their_order() -> None:
    one, two = request(b"a1"), request(b"c22")
    async with opened() as door:
        wire = await Wire.to(door)
        assert await wire.asks(one) == WALKED
        wire.writer.write(one + two + one)  # one segment, three requests
        assert [await wire.said() for _ in range(3)] == [WALKED] * 3
        pieces = await Wire.to(door)
        assert await pieces.asks(two) == WALKED
        assert door.last is not None
        for at in (7, len(one) - 2):  # as the event loop would, one after the other
            door.last.data_received(one[:at])
            door.last.data_received(one[at:])
            assert await pieces.said() == WALKED
        assert not door.asked
        assert await (await Wire.to(door)).asks(one) == AT_ONCE


async def test_a_body_that_looks_like_a_request_is_a_body() -> None:
    inner = request(b"a1")
    async with opened() as door:
        wire = await Wire.to(door)
        assert await wire.asks(inner) == WALKED
        outer = request(b"c" + inner)
        for _ in range(2):
            assert await wire.asks(outer) == WALKED
            assert door.walked[-1][0] == b"c" + inner
        assert await wire.asks(inner) == AT_ONCE
        assert door.asked[-1] == b"a1"


async def test_a_client_that_does_not_read_is_not_answered_at_once() -> None:
    """Replies are held for it no longer than aiohttp's flow control allows."""
    async with opened() as door:
        wire = await Wire.to(door)
        assert await wire.asks(request(b"a1")) == WALKED
        connection = door.last
        assert connection is not None
        connection.pause_writing()
        connection.data_received(request(b"a2"))
        connection.resume_writing()
        assert await wire.said() == WALKED
        assert not door.asked


async def test_a_connection_that_is_answered_at_once_is_not_idle() -> None:
    async with opened() as door:
        wire = await Wire.to(door)
        assert await wire.asks(request(b"a1")) == WALKED
        assert door.last is not None
        was = door.last._next_keepalive_close_time
        assert await wire.asks(request(b"a2")) == AT_ONCE
        assert door.last._next_keepalive_close_time > was


def test_heads_are_bounded() -> None:
    heads = Heads()
    for number in range(HEADS_MAX + 5):
        line = {"Host": "here", "Content-Length": "2", "X": str(number)}
        one = make_mocked_request("POST", "/", headers=line)
        heads.learn(b"head %d\r\n\r\nab" % number, HERE, one, b"ab", number)
    assert heads.body_of(b"head 0\r\n\r\nab", HERE) is None
    assert heads.body_of(b"head %d\r\n\r\nab" % HEADS_MAX, HERE) == (b"ab", HEADS_MAX)
    long = b"x" * HEAD_BYTES_MAX + b"\r\n\r\n"
    heads.learn(long + b"ab", HERE, one, b"ab", WHOSE)
    assert heads.body_of(long + b"ab", HERE) is None


def test_a_head_belongs_to_whom_it_came_from_last() -> None:
    """The same bytes from another address may be somebody else's: a proxy's, or a stranger's."""
    heads, data = Heads(), b"head\r\n\r\nab"
    one = make_mocked_request("POST", "/", headers={"Host": "here", "Content-Length": "2"})
    heads.learn(data, HERE, one, b"ab", "the first")
    assert heads.body_of(data, ELSEWHERE) is None
    heads.learn(data, HERE, one, b"ab", "the second")
    assert heads.body_of(data, HERE) == (b"ab", "the second")
    page = make_mocked_request("POST", "/", headers={"Origin": "http://here", "Content-Length": "2"})
    heads.learn(b"page\r\n\r\nab", HERE, page, b"ab", WHOSE)
    assert heads.body_of(b"page\r\n\r\nab", HERE) is None


async def test_what_was_begun_for_a_request_that_is_refused_is_left() -> None:
    async with opened() as door:
        wire = await Wire.to(door)
        assert [await wire.asks(request(b"n%d" % number)) for number in range(2)] == [WALKED, WALKED]
        assert door.walked == [(b"n0", None), (b"n1", BEGUN)]
        assert door.last is not None
        assert door.last.left() is None
