"""A witness of somebody else on loopback, by C2SP tlog-witness and nothing of ours (``rfc6962``).

    async with WitnessStandIn("witness.example/w1", logs=[vkey]) as witness:
        witness.url, witness.vkey, witness.held, witness.asked

``mood`` says how it behaves: ``right``; ``lying`` (its signature does not hold), ``silent`` (200 without a
line), ``timeless`` (a cosignature of time 0), ``hang``, ``cut``, ``nonsense`` (409 without a number),
``huge``, ``redirect``, ``busy`` (429), ``failing`` (500), ``refuse`` (403). ``ahead`` makes it claim that
size by 409; ``is_stubborn`` answers 422 whatever comes. With ``shows`` off it has no monitoring prefix here.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

from tests.simulators import rfc6962
from tests.simulators.vendor import Door

TIME_S = 1_790_000_000


@dataclass
class WitnessStandIn(Door):
    name: str
    logs: Sequence[str]
    mood: str = "right"
    ahead: int | None = None
    is_stubborn: bool = False
    shows: bool = True
    held: dict[str, bytes] = field(default_factory=dict)
    """Origin → the last note cosigned."""
    asked: list[tuple[str, bytes]] = field(default_factory=list)
    url: str = ""
    redirect_to: str = ""
    port: int = 0

    @property
    def key(self) -> rfc6962.Key:
        return rfc6962.Key(self.name, kind=4)

    @property
    def vkey(self) -> str:
        return self.key.vkey

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.url += "/prefix"
        return self

    def routes(self) -> web.Application:
        self._changed = asyncio.Condition()
        app = web.Application(client_max_size=2**20)
        app.router.add_post("/prefix/add-checkpoint", self._add)
        app.router.add_get("/prefix/{origin}/checkpoint", self._show)
        return app

    async def wait_asked(self, count: int) -> None:
        """Return when so many submissions have arrived."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.asked) >= count)

    def size(self, origin: str) -> int:
        return rfc6962.read_note(self.held[origin])[1] if origin in self.held else 0

    async def _add(self, request: web.Request) -> web.StreamResponse:
        self.came(request)
        body = await request.read()
        async with self._changed:
            self.asked.append((request.path, body))
            self._changed.notify_all()
        match self.mood:
            case "hang":
                await self._released.wait()
                return web.Response(status=500)
            case "cut":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case "nonsense":
                return web.Response(status=409, text="later\n", content_type="text/x.tlog.size")
            case "huge":
                return web.Response(body=b"\xe2" * 10**6)
            case "redirect":
                return web.Response(status=307, headers={"Location": self.redirect_to})
            case "busy":
                return web.Response(status=429)
            case "failing":
                return web.Response(status=500)
            case "refuse":
                return web.Response(status=403)
        return self._judge(body)

    def _judge(self, body: bytes) -> web.Response:
        head, _, signed = body.partition(b"\n\n")
        first, *lines = head.decode().split("\n")
        old = int(first.removeprefix("old "))
        proof = [base64.b64decode(line, validate=True) for line in lines]
        origin, size, root, _, text = rfc6962.read_note(signed)
        keys = [vkey for vkey in self.logs if vkey.split("+")[0] == origin]
        if not keys:
            return web.Response(status=404)
        if all(rfc6962.verify(vkey, signed) is None for vkey in keys):
            return web.Response(status=403)
        held = self.size(origin) if self.ahead is None else self.ahead
        if old > size:
            return web.Response(status=400)
        if old != held:
            return web.Response(status=409, body=b"%d\n" % held, content_type="text/x.tlog.size")
        held_root = rfc6962.read_note(self.held[origin])[2] if origin in self.held else rfc6962.tree_hash([])
        if self.is_stubborn or not rfc6962.is_consistent(old, held_root, size, root, proof):
            return web.Response(status=422)
        line = self.key.line(text, 0 if self.mood == "timeless" else TIME_S)
        if self.mood == "lying":
            line = self.key.line(text + b"!", TIME_S)
        if self.mood == "silent":
            line = b""
        if self.mood == "right":
            self.held[origin] = signed + line
        return web.Response(body=line, headers={"Content-Type": "text/plain; charset=utf-8"})

    async def _show(self, request: web.Request) -> web.Response:
        self.came(request)
        for origin, data in self.held.items():
            if self.shows and hashlib.sha256(origin.encode()).hexdigest() == request.match_info["origin"]:
                return web.Response(body=data, headers={"Content-Type": "text/plain; charset=utf-8"})
        return web.Response(status=404)
