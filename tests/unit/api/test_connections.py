"""Connections: who gives way, what ends the idle and the slow, what a malformed request leaves in the log."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from node.api.connections import UNREAD_MAX_BYTES, UNREAD_MAX_S, serving, working
from node.api.received import read_body
from node.core.errors import BadInput
from node.core.metrics import Metrics
from node.core.server_settings import Server

PATIENCE_S = 15.0
PLACES = 3


@dataclass
class Served:
    """An application with few places. ``at_work``: requests that have been taken up and are not done."""

    port: int = 0
    metrics: Metrics = field(default_factory=Metrics)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    at_work: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    wires: list[Wire] = field(default_factory=list)

    async def connect(self, source: str = "127.0.0.1") -> Wire:
        self.wires.append(
            Wire(*await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0)))
        )
        return self.wires[-1]

    def counted(self, series: str) -> float:
        lines = self.metrics.text().decode().splitlines()
        return next(
            (float(line.split()[-1]) for line in lines if line.startswith(f"neuroswarm_{series} ")), 0.0
        )


@dataclass
class Wire:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def say(self, text: str) -> None:
        self.writer.write(text.encode())

    def get(self, path: str) -> None:
        self.say(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")

    async def status(self) -> int:
        """Of the reply that comes next, read to its end."""
        async with asyncio.timeout(PATIENCE_S):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            await self.reader.readexactly(int(length.split(b":")[1]))
        return int(head.split()[1])

    async def is_cut(self) -> bool:
        """Waits for the end; whatever comes before it is a failure."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True


@asynccontextmanager
async def served(**limits: float) -> AsyncIterator[Served]:
    """The door's connections over loopback, without the node."""
    one = Served()

    async def at_once(_: web.Request) -> web.Response:
        return web.Response(text="here")

    async def slowly(request: web.Request) -> web.Response:
        with working(request):
            one.at_work.release()
            await one.done.wait()
        return web.Response(text="done")

    async def body(request: web.Request) -> web.Response:
        with working(request):
            one.at_work.release()
            try:
                await read_body(request, 100)
            except BadInput:
                return web.Response(status=400)
        return web.Response(text="read")

    async def options(request: web.Request) -> web.Response:
        own = request.get_extra_info("socket")
        names = (socket.TCP_USER_TIMEOUT, socket.TCP_NOTSENT_LOWAT)
        return web.json_response([own.getsockopt(socket.IPPROTO_TCP, name) for name in names])

    app = web.Application()
    routes: dict[str, Callable[[web.Request], Awaitable[web.Response]]] = {
        "/": at_once,
        "/slowly": slowly,
        "/options": options,
    }
    for path, handler in routes.items():
        app.router.add_get(path, handler)
    app.router.add_post("/body", body)
    listener = socket.create_server(("127.0.0.1", 0))
    one.port = listener.getsockname()[1]
    # Fewer places than the setting allows, so that a test needs few connections.
    settings = Server(**{"connections_max": PLACES, "shutdown_timeout_s": 1.0, **limits})
    async with serving(app, [listener], settings, one.metrics):
        yield one
        one.done.set()
    for wire in one.wires:
        wire.writer.close()


async def answered(wire: Wire) -> None:
    wire.get("/")
    assert await wire.status() == 200


async def test_a_newcomer_gets_the_place_of_the_oldest_that_waits() -> None:
    async with served() as door:
        crowd = [await door.connect() for _ in range(PLACES)]
        for one in crowd:
            await answered(one)
        newcomer = await door.connect()
        await answered(newcomer)
        assert await crowd[0].is_cut()
        for one in crowd[1:]:
            await answered(one)
        assert door.counted('connections_closed_total{reason="made_room"}') == 1
        assert door.counted("connections") == PLACES


async def test_a_silent_crowd_does_not_keep_anybody_out() -> None:
    async with served() as door:
        crowd = [await door.connect() for _ in range(20 * PLACES)]
        await answered(await door.connect())
        gone = await asyncio.gather(*(one.is_cut() for one in crowd[: -PLACES - 1]))
        assert all(gone)


async def test_who_gives_way_is_of_the_address_that_holds_most() -> None:
    async with served() as door:
        first = await door.connect("127.0.0.2")
        await answered(first)
        crowd = [await door.connect() for _ in range(PLACES - 1)]
        for one in crowd:
            await answered(one)
        await answered(await door.connect())
        assert await crowd[0].is_cut()
        await answered(first)  # the oldest of all, and alone at its address


async def test_nobody_is_cut_off_at_work() -> None:
    async with served() as door:
        workers = [await door.connect() for _ in range(PLACES)]
        for one in workers:
            one.get("/slowly")
            await door.at_work.acquire()
        refused = await door.connect()
        assert await refused.is_cut()
        assert door.counted('connections_closed_total{reason="no_room"}') == 1
        door.done.set()
        for one in workers:
            assert await one.status() == 200


async def test_a_body_that_is_waited_for_gives_way() -> None:
    async with served() as door:
        slow = await door.connect()
        slow.say(
            "POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        await door.at_work.acquire()
        others = [await door.connect() for _ in range(PLACES - 1)]
        for one in others:
            await answered(one)
        await answered(await door.connect())
        assert await slow.is_cut()


async def test_a_reply_that_nobody_reads_gives_way() -> None:
    async with served() as door:
        unread = await door.connect()
        unread.get("/slowly")
        await door.at_work.acquire()
        unread.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
        door.done.set()
        assert await unread.status() == 200
        others = [await door.connect() for _ in range(PLACES)]
        for one in others:
            await answered(one)
        assert door.counted('connections_closed_total{reason="made_room"}') == 1


@pytest.mark.parametrize("sent", ["", "GET / HTTP/1.1\r\nHo"])
async def test_who_sends_no_whole_head_in_time_is_cut(sent: str) -> None:
    async with served(idle_timeout_s=0.2) as door:
        slow = await door.connect()
        slow.say(sent)
        assert await slow.is_cut()


async def test_a_connection_that_asks_nothing_more_is_cut() -> None:
    async with served(idle_timeout_s=0.2) as door:
        kept = await door.connect()
        await answered(kept)
        assert await kept.is_cut()


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the kernel bounds it on Linux only")
async def test_the_kernel_bounds_what_is_not_read() -> None:
    async with served() as door:
        wire = await door.connect()
        wire.say("GET /options HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            reply = await wire.reader.read()
        assert reply.endswith(f"[{UNREAD_MAX_S * 1_000}, {UNREAD_MAX_BYTES}]".encode())


@pytest.mark.parametrize(
    "request_",
    [b"GET / HTTP/1.1\r\nno colon here\r\n\r\n", b"GET /\x00%s HTTP/1.1\r\n\r\n", b"\x16\x03 x\r\n\r\n"],
)
async def test_a_malformed_request_leaves_at_most_one_line(
    request_: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as door:
        wire = await door.connect()
        wire.writer.write(request_)
        assert await wire.status() == 400
    for record in caplog.records:
        assert record.name == "neuroswarm.http"
        assert record.levelno <= logging.WARNING
        assert record.exc_info is None
        assert "\n" not in record.getMessage()
    if b"colon" in request_:
        [record] = caplog.records
        assert record.getMessage().startswith("event=malformed_request address=127.0.0.1: ")
