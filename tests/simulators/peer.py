"""A peer that publishes, for tests: its keys, its log in memory, its blocks; behind a ``PeerLink`` without a
network (``MemoryLink``), or on loopback (``PeerStandIn``), where it can lie.

    peer = Publishing(1)
    cid = peer.publish("What is IPFS?")
    async with PeerStandIn(peer) as server:
        server.url, server.asked

``PeerStandIn.mood``: ``right``; ``forged`` (a signature that does not hold), ``huge`` (a checkpoint without
an end), ``redirect``, ``gzip`` (a bomb), ``drip`` (one byte of each body, then nothing), ``cut`` (half a
body), ``endless`` (bundles without an end), ``hang``, ``busy`` (429), ``failing`` (500), ``wrong_blocks``
(other bytes for every CID), ``nonsense`` (JSON that says nothing). What a log shows is bent by ``Publishing``
itself: ``fork``, ``shown``, ``bend``.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.tlog.leaf import compose
from node.audit.tlog.tiles import Tile
from node.core.caller import SCOPE_PUBLIC
from node.core.errors import NotFound
from node.core.ipld import car
from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, KeyRecord, Record, block_of, did_key, time_us
from node.core.signed_note import Ed25519Signer
from node.peers.rules.entry import Key, PublicationEntry, Publish, Retract, Validate, encode
from node.peers.rules.reconcile import Item, SortedSet, answer
from tests.bombs import gzip_bomb
from tests.record_builders import START, Author
from tests.simulators.vendor import Door
from tests.tlog_memory import MemoryLog

BOMB_BYTES = 64 * 2**20
Bend = Callable[[str, bytes], bytes]


class Publishing:
    """A root with a node key and a publications log. The same seed is the same peer."""

    def __init__(self, seed: int = 1, *, epoch: int = 1) -> None:
        self.seed = seed
        self.author = Author(seed)
        self.node = Author(seed + 64)
        self.log_key = Author(seed + 128).private
        suffix = "" if epoch == 1 else f"/{epoch}"
        self.origin = f"{self.root.removeprefix('did:key:')}.neuroswarm/publications{suffix}"
        self.log = MemoryLog(signer=self.signer())
        self.shown: MemoryLog = self.log
        self.shown_size: int | None = None
        self.bend: Bend | None = None
        self.blocks: dict[Cid, bytes] = {}
        self.certificates: list[bytes] = []
        self.live: dict[Cid, int] = {}
        self.named: list[str] = []
        self.certify(self.node.did, "node")
        self.certify(self.log_did, "publications")

    @property
    def root(self) -> str:
        return self.author.did

    @property
    def log_did(self) -> str:
        """The log's key."""
        return did_key(self.log_key.public_key().public_bytes_raw())

    @property
    def publications_key(self) -> str:
        return did_key(self.log_key.public_key().public_bytes_raw())

    def signer(self, key: Ed25519PrivateKey | None = None) -> Ed25519Signer:
        return Ed25519Signer(self.origin, key or self.log_key)

    # --- what it says -----------------------------------------------------------------------------------

    def certify(self, subject: str, use: str, *, is_entered: bool = False, **changes: Any) -> KeyRecord:
        """The root's word on a key, shown with its identity; entered in the log too where asked for."""
        record = self.author.key_record(subject, use=use, **changes)
        cid, data = block_of(record)
        self.certificates.append(data)
        if is_entered:
            self.blocks[cid] = data
            self.enter(Key(cid, subject, use))
        return record

    def revoke(self, subject: str, use: str, at: datetime, *, is_entered: bool = True) -> None:
        record = self.author.key_record(subject, use=use, timestamp=at, not_before=START, not_after=at)
        cid, data = block_of(record)
        self.blocks[cid] = data
        if is_entered:
            self.enter(Key(cid, subject, use))
        else:
            self.certificates.append(data)

    def answer(self, query: str, **changes: Any) -> AnswerRecord:
        """A record of this peer, signed with its node key."""
        return self.node.answer(query, **({"issuer": self.root, "scope": SCOPE_PUBLIC} | changes))

    def publish(self, query: str, **changes: Any) -> Cid:
        return self.publish_record(self.answer(query, **changes))

    def publish_record(self, record: AnswerRecord) -> Cid:
        cid, data = block_of(record)
        self.blocks[cid] = data
        self.live[cid] = time_us(record.timestamp) // 1_000_000
        self.enter(Publish(cid, "generative", record.query_hash, record.expires))
        return cid

    def retract(self, target: Cid, *, with_tombstone: bool = True) -> Cid | None:
        self.live.pop(target, None)
        if not with_tombstone:
            self.enter(Retract(target, "withdrawn", None))
            return None
        stone = self.node.tombstone(target, issuer=self.root, scope=SCOPE_PUBLIC)
        cid, data = block_of(stone)
        self.blocks[cid] = data
        self.enter(Retract(target, "erased", cid))
        return cid

    def validate(self, target: Cid, verdict: str = "invalid") -> Cid:
        record: Record = self.node.validation(target, verdict, issuer=self.root, scope=SCOPE_PUBLIC)
        cid, data = block_of(record)
        self.blocks[cid] = data
        self.enter(Validate(cid, target, verdict))
        return cid

    def enter(self, entry: PublicationEntry) -> None:
        self.enter_raw(encode(entry))

    def enter_raw(self, body: bytes) -> None:
        """Anything in the place of an entry."""
        self.log.append(compose(body, len(self.log.entries), 1_700_000_000_000_000 + len(self.log.entries)))

    # --- what its log shows -----------------------------------------------------------------------------

    def fork(self, keeps: int, more: int) -> MemoryLog:
        """Another history: the first ``keeps`` entries, then ``more`` others, signed with the same key."""
        other = MemoryLog(self.log.entries[:keeps], self.signer())
        for number in range(more):
            body = encode(Publish(Cid.of(b"fork %d" % number), "generative", "ab" * 32, None))
            other.append(compose(body, len(other.entries), 1_800_000_000_000_000 + number))
        return other

    @property
    def size(self) -> int:
        return len(self.shown.entries) if self.shown_size is None else self.shown_size

    def file(self, path: str) -> bytes:
        """A file of the log as it is shown. Raises ``NotFound``."""
        if path == "checkpoint":
            data = self.shown.note(self.size)
        else:
            tile = Tile.parse(path)
            try:
                whole = tile.index * 256 + tile.width <= self.size >> (8 * max(tile.level, 0))
                data = self.shown.tile_bytes(tile) if whole else b""
            except (KeyError, AssertionError):
                data = b""
            if not data:
                raise NotFound(f"there is no {path}")
        return data if self.bend is None else self.bend(path, data)

    def published(self) -> SortedSet:
        found = SortedSet()
        for cid, time_s in self.live.items():
            found.add(Item(time_s, cid.digest))
        return found


@dataclass
class MemoryLink:
    """``PeerLink`` to a ``Publishing`` without a network. ``hook`` is called with (what is asked, its
    argument) and may raise or wait."""

    peer: Publishing
    address: str
    asked: list[str] = field(default_factory=list)
    hook: Callable[[str, object], None] | None = None

    def _ask(self, what: str, of: object = None) -> None:
        self.asked.append(what)
        if self.hook is not None:
            self.hook(what, of)

    async def certificates(self) -> tuple[str, list[bytes]]:
        self._ask("certificates")
        return self.peer.root, list(self.peer.certificates)

    async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
        self._ask("checkpoint", etag)
        note = self.peer.file("checkpoint")
        now = Cid.of(note).digest.hex()
        return (None, etag) if etag == now else (note, now)

    async def read(self, path: str, bytes_max: int) -> bytes:
        self._ask("read", path)
        return self.peer.file(path)

    async def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncIterator[tuple[Cid, bytes]]:
        self._ask("blocks", tuple(cids))
        for cid in cids:
            if cid in self.peer.blocks:
                self._ask("block", cid)
                yield cid, self.peer.blocks[cid]

    async def reconcile(self, message: bytes) -> bytes:
        self._ask("reconcile")
        return answer(self.peer.published(), message)

    async def peers(self) -> list[str]:
        self._ask("peers")
        return list(self.peer.named)


class PeerStandIn(Door):
    """A ``Publishing`` behind HTTP on loopback."""

    def __init__(self, peer: Publishing, mood: str = "right", *, has_bulk: bool = True) -> None:
        self.peer = peer
        self.mood = mood
        self.has_bulk = has_bulk
        self.asked: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.redirect_to = ""
        self.instead: bytes | None = None
        """Said in the place of any body."""
        self.url = ""
        self.port = 0

    def routes(self) -> web.Application:
        self._changed = asyncio.Condition()
        app = web.Application(client_max_size=2**20)
        app.router.add_get("/peers/identity", self._identity)
        app.router.add_get("/peers", self._peers)
        app.router.add_post("/peers/blocks", self._blocks)
        app.router.add_post("/peers/reconcile", self._reconcile)
        app.router.add_get("/ipfs/{cid}", self._block)
        app.router.add_get("/logs/publications/{path:.+}", self._file)
        return app

    def count(self, path: str) -> int:
        """How often this path was asked for."""
        return sum(one.partition("?")[0] == path for _, one in self.asked)

    async def wait_asked(self, count: int) -> None:
        """Return when so many requests have come."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.asked) >= count)

    # --- routes -----------------------------------------------------------------------------------------

    async def _identity(self, request: web.Request) -> web.StreamResponse:
        value = {
            "root": self.peer.root,
            "node": self.peer.node.did,
            "ipns_name": "k51",
            "publications_vkey": self.peer.signer().verifier.vkey,
            "certificates": [base64.b64encode(data).decode() for data in self.peer.certificates],
        }
        return await self._say(request, web.json_response(value).body, "application/json")

    async def _peers(self, request: web.Request) -> web.StreamResponse:
        body = web.json_response({"peers": [{"address": one} for one in self.peer.named]}).body
        return await self._say(request, body, "application/json")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        try:
            data = self.peer.file(path)
        except NotFound:
            return await self._say(request, b"", status=404)
        etag = f'"{Cid.of(data)}"'
        if path == "checkpoint":
            if self.mood == "forged":
                lines = data.rstrip(b"\n").split(b" ")
                raw = bytearray(base64.b64decode(lines[-1]))
                raw[-1] ^= 1
                data = b" ".join([*lines[:-1], base64.b64encode(bytes(raw))]) + b"\n"
            if self.mood == "right" and request.headers.get("If-None-Match") == etag:
                return await self._say(request, b"", status=304, etag=etag)
            is_endless = self.mood == "huge"
        else:
            is_endless = self.mood == "endless" and path.startswith("tile/entries/")
        return await self._say(request, data, "text/plain", etag=etag, is_endless=is_endless)

    async def _blocks(self, request: web.Request) -> web.StreamResponse:
        if not self.has_bulk:
            return await self._say(request, b"", status=405)
        wanted = [Cid.parse(text) for text in (await request.json())["cids"]]
        found = [(cid, self._bytes_of(cid)) for cid in wanted if cid in self.peer.blocks]
        body = car.header([]) + b"".join(car.section(cid, data) for cid, data in found)
        return await self._say(request, body, "application/vnd.ipld.car")

    async def _block(self, request: web.Request) -> web.StreamResponse:
        cid = Cid.parse(request.match_info["cid"])
        if cid not in self.peer.blocks:
            return await self._say(request, b"", status=404)
        return await self._say(request, self._bytes_of(cid), "application/vnd.ipld.raw")

    def _bytes_of(self, cid: Cid) -> bytes:
        data = self.peer.blocks[cid]
        return data[:-1] + bytes([data[-1] ^ 1]) if self.mood == "wrong_blocks" else data

    async def _reconcile(self, request: web.Request) -> web.StreamResponse:
        body = answer(self.peer.published(), await request.read())
        return await self._say(request, body, "application/octet-stream")

    async def _say(
        self,
        request: web.Request,
        body: Any,
        kind: str = "text/plain",
        *,
        status: int = 200,
        etag: str = "",
        is_endless: bool = False,
    ) -> web.StreamResponse:
        """The answer, as the mood has it."""
        self.came(request)
        async with self._changed:
            self.asked.append((request.method, request.path_qs))
            self.headers.append(dict(request.headers))
            self._changed.notify_all()
        headers = {"Content-Type": kind} | ({"ETag": etag} if etag else {})
        data = bytes(body) if self.instead is None else self.instead
        match self.mood:
            case "hang":
                await self._released.wait()
            case "redirect":
                return web.Response(status=307, headers={"Location": self.redirect_to})
            case "busy":
                return web.Response(status=429, headers={"Retry-After": "600"})
            case "failing":
                return web.Response(status=500)
            case "nonsense":
                return web.Response(body=b"[]", content_type="application/json")
            case "gzip":
                data = gzip_bomb(BOMB_BYTES)
                return web.Response(body=data, headers=headers | {"Content-Encoding": "gzip"})
        if is_endless or self.mood in ("drip", "cut"):
            return await self._badly(request, data, headers, is_endless=is_endless)
        return web.Response(status=status, body=data, headers=headers)

    async def _badly(
        self, request: web.Request, data: bytes, headers: dict[str, str], *, is_endless: bool
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        if self.mood == "cut":
            response.content_length = len(data)
        await response.prepare(request)
        if is_endless:
            while not self._released.is_set():
                await response.write(bytes(64 * 1024))
        elif self.mood == "cut":
            await response.write(data[: len(data) // 2])
            assert request.transport is not None
            request.transport.close()
        else:
            await response.write(data[:1])
            await self._released.wait()
        return response


def later(seconds: float) -> datetime:
    """So long after the moment at which everything in these tests is dated."""
    return START + timedelta(seconds=seconds)
