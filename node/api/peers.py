"""``/peers``: who this node is to its peers, what they may fetch in bulk, and how things stand with them.

Promises:
- What peers ask for (identity, blocks, reconciliation) is answered to anybody: it is public. How things stand
  is too, but where peers are found, who named them and what went wrong there is told to the operator only.
  The operator is who needs no key on this machine, or shows one with the scope admin.
- A round with peers is the operator's to ask for (``node.api.access``).
- Blocks are public ones (``PublicReader``), checked, streamed, ``CAR_BYTES_MAX`` at most; what is not here,
  not public, or over that is left out. At most ``PLACES`` bulk answers and reconciliations at once, each held
  only as long as its client takes what the gateway's gate asks of everybody; the rest get 429.
  Reconciliations wait for each other, and leave most of the time to everything else.
Must not know: tiers, stores, how peers are reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from aiohttp import web

from node.api import bodies, gateway
from node.api.bodies import CID_CHARS_MAX, CIDS_MAX
from node.api.downloads import attachment
from node.api.received import BODY, body_in_time, taken_as
from node.api.replies import Routes, as_json
from node.api.request import CALLER
from node.core.errors import NotFound, RateLimited, TimedOut, Unavailable
from node.core.ipld import car
from node.core.ipld.cid import Cid
from node.store.public_blocks import PublicReader

BLOCKS, RECONCILE = "/peers/blocks", "/peers/reconcile"
OWN_LIMITS = frozenset({BLOCKS, RECONCILE})
"""Routes that read and bound their own bodies, and have places of their own."""

BLOCKS_BODY_BYTES_MAX = CIDS_MAX * (CID_CHARS_MAX + 4) + 1_024
RECONCILE_BYTES_MAX = 2**20
CAR_BYTES_MAX = 64 * 2**20
PLACES = 8
RETRY_AFTER_S = 1.0

BYTES_TYPE = "application/octet-stream"
CAR_TYPE = "application/vnd.ipld.car; version=1; order=unk; dups=n"
_BATCH_CIDS = 128
_BATCH_BYTES = 2**20

_Read = TypeVar("_Read")


class Desk(Protocol):
    """What is known of peers, as JSON: ``PeerDesk``."""

    async def identity(self) -> dict[str, Any]: ...

    async def list(self) -> dict[str, Any]: ...

    async def sync(self, address: str | None = None, wait_s: float = ...) -> dict[str, Any]: ...


@dataclass
class Peering:
    """What the routes answer from. ``reconcile``: one message about what this node has published to the next
    one, a message at a time, for that is work for a processor. ``wait_s``: how long a round with peers may
    be waited for."""

    desk: Desk
    reconcile: Callable[[bytes], Awaitable[bytes]]
    wait_s: float
    busy: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PLACES))
    alone: asyncio.Lock = field(default_factory=asyncio.Lock)

    def release(self) -> None:
        """Let go of everything that was wired, after the doors are shut: aiohttp remembers applications that
        it has served, and through this the whole node would stay in memory."""
        vars(self).clear()


PEERS = web.AppKey("peers", Peering)


def _peering(request: web.Request) -> Peering:
    peering = request.app.get(PEERS)
    if peering is None:
        raise NotFound("this node has no peers")
    return peering


# --- how things stand -----------------------------------------------------------------------------


async def _list(request: web.Request) -> web.Response:
    shown = await _peering(request).desk.list()
    caller = request.get(CALLER)
    if caller is None or not caller.is_operator:
        shown["peers"] = [_for_strangers(peer) for peer in shown["peers"]]
    return as_json(shown)


def _for_strangers(peer: Mapping[str, Any]) -> dict[str, Any]:
    last = peer["last"]
    hidden = None if last is None else {**last, "address": None, "reason": ""}
    return {**peer, "address": None, "source": None, "last": hidden}


async def _identity(request: web.Request) -> web.Response:
    return as_json(await _peering(request).desk.identity())


async def _sync(request: web.Request) -> web.Response:
    address = bodies.parse(request[BODY], bodies.Sync).address
    peering = _peering(request)
    return as_json(await peering.desk.sync(address, peering.wait_s))


# --- what peers fetch -----------------------------------------------------------------------------


async def _blocks(request: web.Request) -> web.StreamResponse:
    peering, store = _peering(request), request.app[gateway.BLOCKS]
    body = await body_in_time(request, BLOCKS_BODY_BYTES_MAX)
    cids = _cids(bodies.parse(body, bodies.Blocks))
    _refuse_crowd(peering)
    async with peering.busy:
        headers = {
            "Content-Type": CAR_TYPE,
            "Cache-Control": "no-store",
            "Content-Disposition": attachment("blocks.car"),
        }
        stream = gateway.Stream(request, web.StreamResponse(headers=headers))
        async with stream, aclosing(_found(store, cids, request.app[gateway.GATE].read_timeout_s)) as found:
            await stream.start()
            await stream.write(car.header([]))
            async for section in found:
                await stream.write(section)
                stream.check()
    return stream.response


def _refuse_crowd(peering: Peering) -> None:
    """Raises ``RateLimited`` where every place is taken."""
    if peering.busy.locked():
        raise RateLimited("too many peers at once; try again", retry_after_s=RETRY_AFTER_S)


def _cids(blocks: bodies.Blocks) -> Sequence[Cid]:
    """Each once, in the order of asking."""
    cids: dict[Cid, None] = {}
    for position, text in enumerate(blocks.cids):
        with taken_as("cid", f"cids[{position}]: "):
            cids[Cid.parse(text)] = None
    return tuple(cids)


async def _found(store: PublicReader, cids: Sequence[Cid], limit_s: float) -> AsyncGenerator[bytes]:
    """CAR sections of those that are here, read a batch at a time, until the next would be over the limit."""
    left = CAR_BYTES_MAX
    for start in range(0, len(cids), _BATCH_CIDS):
        batch = cids[start : start + _BATCH_CIDS]
        many = await _within(limit_s, store.get_many(batch, _BATCH_BYTES))
        for cid in batch:
            data = many.pop(cid, None)
            if data is None:
                data = await _alone(store, cid, limit_s)
            if data is None or not cid.matches(data):
                continue
            section = car.section(cid, data)
            left -= len(section)
            if left < 0:
                return
            yield section


async def _alone(store: PublicReader, cid: Cid, limit_s: float) -> bytes | None:
    """None for what is not here, not public or damaged: others may have it."""
    try:
        return await _within(limit_s, store.get(cid))
    except TimedOut:
        raise
    except (NotFound, Unavailable):
        return None


async def _within(limit_s: float, read: Awaitable[_Read]) -> _Read:
    try:
        async with asyncio.timeout(limit_s):
            return await read
    except TimeoutError as exc:
        raise TimedOut("blocks could not be read in time; try again in a moment") from exc


async def _reconcile(request: web.Request) -> web.Response:
    peering = _peering(request)
    message = await body_in_time(request, RECONCILE_BYTES_MAX, is_json=False)
    _refuse_crowd(peering)
    async with peering.busy, peering.alone:
        with taken_as("body"):
            reply = await peering.reconcile(message)
    return web.Response(body=reply, headers={"Content-Type": BYTES_TYPE, "Cache-Control": "no-store"})


ROUTES: Routes = (
    ("GET", "/peers", _list),
    ("GET", "/peers/identity", _identity),
    ("POST", "/peers/sync", _sync),
    ("POST", BLOCKS, _blocks),
    ("POST", RECONCILE, _reconcile),
)
