"""The common part of the vendor stand-ins: a loopback server that answers in a vendor's wire format and, when
told, misbehaves as the vendors (or an attacker in their place) do.

A stand-in is a subclass that gives ``answer``: a path, a query and a body to (status, JSON value or bytes).

    class FrankfurterStandIn(VendorStandIn):
        def answer(self, asked: Seen) -> Answered: ...

    async with FrankfurterStandIn() as source:
        source.misbehave("hang", times=1)
        ...  # ask at source.url
        assert source.count("/v2/rates") == 1
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.bombs import gzip_bomb

MISBEHAVIOURS = frozenset(
    (
        "delay",  # a good answer after ``seconds``
        "hang",  # never answers
        "refuse",  # the connection is reset
        "cut",  # the body breaks off
        "drip",  # a byte of the body now and then, for ever
        "drip_head",  # header bytes for ever
        "status",  # ``status`` with ``text`` (default empty) and ``headers``
        "throttle",  # 429 with Retry-After ``retry_after`` (None for none) and ``body``
        "html",  # a page instead of data, with ``status`` (default 200)
        "plain",  # plain ``text`` instead of data, with ``status`` (default 200)
        "body",  # exactly ``text`` (or ``data`` bytes) as JSON, status 200
        "oversized",  # ``size`` bytes (default 50 MB), ``declared`` true or false
        "gzip_bomb",  # a small compressed body that becomes ``size`` bytes
        "nested_json",  # brackets without end
        "redirect",  # to the address ``to``
        "change",  # the good answer after ``change(value) -> value``: nulls, text, NaN, missing keys …
    )
)


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a well-behaved vendor sends: a JSON value, or bytes with their ``content_type``."""

    value: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


@dataclass(slots=True)
class Mischief:
    kind: str
    times: int | None
    path: str | None
    options: dict[str, Any]


class VendorStandIn(ABC):
    """The server. ``requests`` holds everything asked; ``wait_for`` waits until so much was asked."""

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self.requests: list[Seen] = []
        self.url = ""
        self._mischief: list[Mischief] = []
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._transports: set[asyncio.BaseTransport] = set()

    @abstractmethod
    def answer(self, asked: Seen) -> Answered:
        """The vendor's good answer."""

    # --- for tests --------------------------------------------------------------------------------

    def misbehave(self, kind: str, times: int | None = 1, path: str | None = None, **options: Any) -> None:
        """From now on, ``times`` requests (None: all) whose path ends in ``path`` meet ``kind``."""
        if kind not in MISBEHAVIOURS:
            raise ValueError(f"a stand-in cannot {kind}")
        self._mischief.append(Mischief(kind, times, path, options))

    def behave(self) -> None:
        """End all misbehaviour, for requests to come."""
        self._mischief.clear()

    def count(self, path: str = "") -> int:
        """How many requests ended in ``path``."""
        return sum(seen.path.endswith(path) for seen in self.requests)

    async def wait_for(self, count: int, path: str = "") -> None:
        """Return when so many requests have arrived."""
        while self.count(path) < count:
            self._changed.clear()
            await self._changed.wait()

    # --- server -----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**20)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._runner is not None:
            await stop(self._runner)
        await hang_up(self._transports)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            self._transports.add(request.transport)
        seen = Seen(request.path, dict(request.query), dict(request.headers), await request.read())
        self.requests.append(seen)
        self._changed.set()
        mischief = self.take(self._mischief, seen.path)
        if mischief is None:
            return _respond(self.answer(seen))
        return await self._bend(mischief, seen, request)

    @staticmethod
    def take(among: list[Mischief], path: str) -> Mischief | None:
        """What meets a request: the first that is meant for its path, which is used up by it."""
        for mischief in among:
            if mischief.path is not None and not path.endswith(mischief.path):
                continue
            if mischief.times is not None:
                mischief.times -= 1
                if mischief.times <= 0:
                    among.remove(mischief)
            return mischief
        return None

    async def _bend(self, mischief: Mischief, seen: Seen, request: web.Request) -> web.StreamResponse:
        kind, options = mischief.kind, mischief.options
        if kind == "delay":
            await asyncio.sleep(options.get("seconds", 0.1))
            return _respond(self.answer(seen))
        if kind == "hang":
            await self._closing.wait()
            return web.Response()
        if kind in ("drip", "drip_head", "cut"):
            return await self._trickle(kind, request)
        if kind == "refuse":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if kind == "change":
            good = self.answer(seen)
            change: Callable[[Any], Any] = options["change"]
            # A copy: the change must not reach what is answered later.
            value = good.value if isinstance(good.value, bytes) else json.loads(json.dumps(good.value))
            return _respond(Answered(change(value), good.status, good.headers, good.content_type))
        return _plain_mischief(kind, options)

    async def _trickle(self, kind: str, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        assert transport is not None
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        if kind == "cut":
            transport.write(head + b'Content-Length: 500\r\n\r\n{"a": {"b": 7')
            await asyncio.sleep(0.02)
            transport.close()
            return web.Response()
        transport.write(head + (b"X-Slow: " if kind == "drip_head" else b"Content-Length: 100000\r\n\r\n"))
        while not self._closing.is_set() and not transport.is_closing():
            transport.write(b" " if kind == "drip" else b"x")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), 0.02)
        return web.Response()


class Door(ABC):
    """A server on loopback whose port stays: left and entered again it is the same server restarted."""

    port: int
    url: str

    @abstractmethod
    def routes(self) -> web.Application:
        """What it serves."""

    async def __aenter__(self) -> Self:
        self._transports: set[asyncio.BaseTransport] = set()
        self._released = asyncio.Event()
        self._runner = web.AppRunner(self.routes(), access_log=None, **self.how())
        await self._runner.setup()
        self.port = await listen(self._runner, self.port)
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()
        await stop(self._runner)
        await hang_up(self._transports)

    def how(self) -> dict[str, Any]:
        """How a request ends when the server does."""
        return {"shutdown_timeout": 0.1, "handler_cancellation": True}

    def release(self) -> None:
        """Let everything that hangs go on."""
        self._released.set()

    def came(self, request: web.Request) -> None:
        """Remember the connection, to cut it at the end."""
        if request.transport is not None:
            self._transports.add(request.transport)


def by_hand(make: Callable[[int], Any]) -> None:
    """Serve at ``--port`` until interrupted."""
    parser = argparse.ArgumentParser(description="a stand-in on loopback")
    parser.add_argument("--port", type=int, default=0)

    async def serve(port: int) -> None:
        async with make(port) as stand_in:
            print(f"listening on {stand_in.url}", flush=True)
            await asyncio.Event().wait()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args().port))


async def listen(runner: web.AppRunner, port: int) -> int:
    """Listen on loopback; the port. 0 takes one below those that the system gives to outgoing connections, so
    that a stand-in which comes back finds its place free. A port that is taken is tried again for a while."""
    tries = 100
    for left in reversed(range(tries)):
        chosen = port or 15_000 + int.from_bytes(os.urandom(2), "big") % 16_000
        try:
            await web.TCPSite(runner, "127.0.0.1", chosen).start()
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE or not left:
                raise
            await asyncio.sleep(0.05)
        else:
            return chosen
    raise AssertionError("unreachable")


async def stop(runner: web.AppRunner) -> None:
    """Close the door, then end the server. A connection accepted in the turn in which a server closes is
    forgotten with its socket open (seen in CPython 3.11), so whoever has come is let in first."""
    loop = asyncio.get_running_loop()
    for site in runner.sites:
        server = site._server  # nothing public leads from a site to its socket; None: its port was taken
        for door in server.sockets if isinstance(server, asyncio.Server) else ():
            loop.remove_reader(door.fileno())
    for _ in range(3):  # whoever was let in is at home in the next turns of the loop
        await asyncio.sleep(0)
    await runner.cleanup()


async def hang_up(transports: set[asyncio.BaseTransport]) -> None:
    """Cut what is still open. A transport that is closing waits for its peer to read the rest, which a peer
    that has had enough never does; its socket would outlive the test."""
    for transport in transports:
        if isinstance(transport, asyncio.WriteTransport):
            # One that closed after writing out its buffer has forgotten its loop, and nothing public tells.
            with contextlib.suppress(AttributeError):
                transport.abort()
    for _ in range(3):  # connections end in the next turns of the loop
        await asyncio.sleep(0)


def _plain_mischief(kind: str, options: Mapping[str, Any]) -> web.Response:
    status = int(options.get("status", 200))
    if kind == "throttle":
        wait = options.get("retry_after", 1)
        headers = {} if wait is None else {"Retry-After": str(wait)}
        return _respond(Answered(options.get("body", {"message": "Too many requests"}), 429, headers))
    if kind == "html":
        page = "<!DOCTYPE html><html><body>One moment please: 76975</body></html>"
        return web.Response(text=page, status=status, content_type="text/html")
    if kind == "plain":
        return web.Response(text=str(options["text"]), status=status, content_type="text/plain")
    if kind == "status":
        return web.Response(
            text=str(options.get("text", "")), status=status, headers=options.get("headers", {})
        )
    if kind == "redirect":
        return web.Response(status=302, headers={"Location": str(options["to"])})
    if kind == "nested_json":
        return web.Response(text="[" * 200_000, content_type="application/json")
    if kind == "gzip_bomb":
        packed = gzip_bomb(int(options.get("size", 50_000_000)), b" ")
        return web.Response(
            body=packed, content_type="application/json", headers={"Content-Encoding": "gzip"}
        )
    if kind == "oversized":
        response = web.Response(
            body=b'{"x": "' + b"x" * int(options.get("size", 50_000_000)) + b'"}',
            content_type="application/json",
        )
        if not options.get("declared", True):
            response.enable_chunked_encoding()
        return response
    if "data" in options:
        return web.Response(body=options["data"], content_type="application/json")
    return web.Response(text=str(options.get("text", "")), content_type="application/json")


def _respond(good: Answered) -> web.Response:
    if isinstance(good.value, bytes):
        return web.Response(
            body=good.value, status=good.status, headers=good.headers, content_type=good.content_type
        )
    # json.dumps writes NaN as NaN, as a careless server would.
    return web.Response(
        text=json.dumps(good.value), status=good.status, headers=good.headers, content_type=good.content_type
    )
