"""Knows what the block store has held, apart from the store, and says so when it is not there any more.

Two small files beside the store:
- ``stored.json``: the last sequence number that the store is known to have given (the head's own note of it,
  ``head.json``, counts as well). A store that has come less far is another one, or an older copy. Beside it a
  place in the decision log: what the log says before it is in the store. What it says from there on is held
  against the store at the start, for SQLite drops what lies behind a damaged frame of its WAL without a word:
  a record that was stored and is not there is lost, one that was withdrawn and is live is withdrawn again. An
  erasure is done again where the WAL was damaged: else it was cut off before it began, and is left to whoever
  asks for it.
- ``loss.json``: what is lost, from the moment it was found until it is all back or the operator accepts the
  loss (``neuroswarm doctor --accept-loss``). Meanwhile the node answers from what it has, and its health is
  ``fail``.

Neither is derived: both are synced. A damaged one counts as absent, but for a loss, which stays one of
unknown extent.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from node.audit.decisions.log import DecisionLog
from node.audit.decisions.outcomes import Outcomes, Place
from node.core import state_file
from node.core.clock import Clock
from node.core.errors import NodeError, Rejected
from node.core.files import put, translated
from node.core.ipld.cid import Cid
from node.core.model import Check
from node.core.record import format_time
from node.store.scan import StoreScan
from node.store.sqlite import SqliteStore

_log = logging.getLogger("neuroswarm.store")

MARK, LOSS, HEAD = "stored.json", "loss.json", "head.json"
CIDS_MAX = 20_000
"""CIDs that a loss names; there may be more."""
FREE_BYTES_MIN = 64 * 2**20
"""Below this much room ``/health`` warns."""
NAMED_MAX = 3
TOMBSTONE = "tombstone"
_UNSTORED = "the decision log says of answers that they were stored, and the store does not have them"
_BYTES_MAX = 4 * 2**20
_VERSION = 1
WHAT_TO_TYPE = (
    "stop the node and type: neuroswarm doctor --fix, which brings back what is whole or can be had "
    "elsewhere; what cannot is given up with: neuroswarm doctor --accept-loss"
)


@dataclass(frozen=True, slots=True)
class Loss:
    """What the store lacks. ``cids`` are those of the answers that are known by name, ``unnamed`` how many
    more there are, None where nobody knows; ``at`` in ISO 8601."""

    at: str
    why: str
    cids: tuple[str, ...] = ()
    unnamed: int | None = 0

    @property
    def said(self) -> str:
        more = "an unknown number more" if self.unnamed is None else f"{self.unnamed} more"
        more = f", and {more} not known by name" if self.unnamed != 0 else ""
        return f"{self.why}; lost: {len(self.cids)} records named in {LOSS}{more}"


def read_loss(folder: Path) -> Loss | None:
    """What is noted as lost. Blocking. Raises ``Unavailable``."""
    try:
        return state_file.read_json(folder / LOSS, _BYTES_MAX, _loss)
    except Rejected as exc:
        return Loss("", f"records are lost, and the note of which is damaged: {exc}", (), None)


def _loss(data: Any) -> Loss:
    if data["v"] != _VERSION:
        raise Rejected("it is of another version")
    cids, unnamed = tuple(str(Cid.parse(cid)) for cid in data["cids"]), data["unnamed"]
    return Loss(str(data["at"]), str(data["why"]), cids, None if unnamed is None else int(unnamed))


def write_loss(folder: Path, loss: Loss) -> None:
    """Blocking; durable on return. Raises ``Unavailable``."""
    cids, more = list(loss.cids[:CIDS_MAX]), len(loss.cids[CIDS_MAX:])
    unnamed = None if loss.unnamed is None else loss.unnamed + more
    fields = {"v": _VERSION, "at": loss.at, "why": loss.why, "cids": cids, "unnamed": unnamed}
    put(folder / LOSS, orjson.dumps(fields, option=orjson.OPT_INDENT_2))


def add_loss(folder: Path, loss: Loss) -> Loss:
    """Note a loss beside what is noted already; what is noted now. One of the same reason, whose noting was
    cut off, counts once. Blocking; durable on return. Raises ``Unavailable``."""
    before = read_loss(folder)
    if before is not None:
        cids = tuple(dict.fromkeys([*before.cids, *loss.cids]))
        unnamed = before.unnamed if before.why == loss.why else _sum(before.unnamed, loss.unnamed)
        loss = replace(loss, cids=cids, unnamed=unnamed)
    write_loss(folder, loss)
    return loss


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def accept_loss(folder: Path) -> Loss | None:
    """Forget what is noted as lost, as the operator wishes; what it was. Blocking. Raises ``Unavailable``."""
    loss = read_loss(folder)
    with translated(f"{folder / LOSS} cannot be deleted"):
        (folder / LOSS).unlink(missing_ok=True)
    return loss


def known_sequence(folder: Path) -> int:
    """How far the store is known to have come. Blocking. Raises ``Unavailable``."""
    return max(_number(folder / MARK, "sequence") or 0, _number(folder / HEAD, "sequence") or 0)


def known_place(folder: Path) -> Place | None:
    """Up to where the decision log was in the store. Blocking. Raises ``Unavailable``."""
    epoch, size = _number(folder / MARK, "log", "epoch"), _number(folder / MARK, "log", "size")
    return None if epoch is None or size is None else Place(epoch, size)


def write_mark(folder: Path, sequence: int, live: int, log: Place | None = None) -> None:
    """Blocking; durable on return. Raises ``Unavailable``."""
    place = {} if log is None else {"log": {"epoch": log.epoch, "size": log.size}}
    put(folder / MARK, orjson.dumps({"v": _VERSION, "sequence": sequence, "live": live, **place}))


def _number(path: Path, *names: str) -> int | None:
    """None where there is none."""

    def parsed(data: Any) -> int | None:
        for name in names:
            data = data.get(name, {})
        if data == {}:
            return None
        if type(data) is not int or not 0 <= data < 2**63:
            raise Rejected(f"{'.'.join(names)} is no such number")
        return data

    try:
        return state_file.read_json(path, _BYTES_MAX, parsed)
    except Rejected as exc:
        _log.warning("event=mark_unread reason=%s", exc)
        return None


class StoreGuard:
    """Of one open store. ``look`` at the start, before anything is stored; ``mark`` now and then. ``log``:
    the decision log, None where it is not on the disk."""

    def __init__(
        self, store: SqliteStore, folder: Path, scan: StoreScan, clock: Clock, log: DecisionLog | None = None
    ) -> None:
        self._store = store
        self._folder = folder
        self._scan = scan
        self._clock = clock
        self._decisions = log
        self._marked: tuple[int, int, Place | None] | None = None
        self._place: Place | None = None
        self._since: datetime | None = None

    async def _state_now(self) -> tuple[int, int]:
        """The last sequence number, and how many answers are live."""
        counts = await self._store.records.counts()
        return int(counts["last_sequence"]), int(counts["live"])

    async def falls_short(self) -> bool:
        """Whether the store has come less far than it is known to have."""
        return (await self._state_now())[0] < await asyncio.to_thread(known_sequence, self._folder)

    async def look(
        self, exported: Callable[[], Awaitable[Sequence[Cid]]], *, is_torn: bool = False
    ) -> Loss | None:
        """Hold the store against what is known of it, note what it lacks, and follow the store that is here
        from now on; the loss, as it is noted. ``exported``: the records that are known by name elsewhere,
        asked for where the store falls short. ``is_torn``: its WAL was damaged; else an erasure that the log
        has and the store has not was cut off before it began, and whoever asked was told nothing. Raises
        ``Unavailable``."""
        last, live = await self._state_now()
        known = await asyncio.to_thread(known_sequence, self._folder)
        said = await self._said(is_short=last < known)
        await self._withdraw_again(said, also_erased=is_torn or last < known)
        logged = self._due(said)
        named = list(dict.fromkeys([*logged, *(await exported() if last < known else ())]))
        missing = await self._store.unknown(named)
        loss = None
        if last < known or missing:
            unnamed: int | None = 0
            why = _UNSTORED
            if last < known:
                lived = await asyncio.to_thread(_number, self._folder / MARK, "live")
                unnamed = None if lived is None else max(0, lived - live - len(missing))
                why = f"the store has come to record {last}, and this node had stored up to {known} before"
            cids = tuple(str(cid) for cid in named if cid in missing)
            loss = Loss(format_time(self._clock.now()), why, cids, unnamed)
            loss = await asyncio.to_thread(add_loss, self._folder, loss)
            _log.error("event=records_lost reason=%s", loss.said)
        self._place = None  # all that the log says is accounted for
        await self.mark()
        return loss

    async def _said(self, *, is_short: bool) -> Outcomes:
        """What the log says that the store may lack."""
        since = await asyncio.to_thread(known_place, self._folder)
        if self._decisions is None or (since is None and not is_short):
            return Outcomes()
        return await self._decisions.outcomes(None if is_short else since)

    def _due(self, said: Outcomes) -> list[Cid]:
        """What was stored and should be there; all of it, while nobody knows what time it is."""
        now_s = -1 if self._clock.doubt is not None else int(self._clock.now().timestamp())
        return [
            Cid.parse(cid)
            for cid, expires_s in said.stored.items()
            if cid not in said.withdrawn and (expires_s is None or expires_s > now_s)
        ]

    async def _withdraw_again(self, said: Outcomes, *, also_erased: bool) -> None:
        """What the store says of a withdrawal was lost with the end of its WAL: it is done again."""
        again = 0
        for cid, kind in said.withdrawn.items():
            if kind == TOMBSTONE and not also_erased:
                continue
            if await self._store.records.withdraw(Cid.parse(cid), kind):
                if kind == TOMBSTONE:
                    await self._store.blocks.delete(Cid.parse(cid))
                again += 1
        if again:
            _log.warning("event=withdrawn_again count=%d reason=the store had them live", again)
            await self._store.scrub()

    async def mark(self) -> None:
        """Note how far the store has come; try what the disk has refused. Raises ``Unavailable``."""
        await self._store.try_keys()
        # An entry about a withdrawal comes before it: what the log had said at the last mark is done by now.
        place = None if self._decisions is None else self._decisions.place()
        now = (*await self._state_now(), self._place or place)
        if now != self._marked:
            await asyncio.to_thread(write_mark, self._folder, *now)
            self._marked = now
        self._place = place

    async def lost(self, cids: Sequence[Cid]) -> set[Cid]:
        """Those of these records that the store cannot account for. Raises ``Unavailable``."""
        loss = await asyncio.to_thread(read_loss, self._folder)
        noted = set(() if loss is None else loss.cids)
        found = self._scan.found
        damaged = set(() if found is None else found.damaged)
        unknown = await self._store.unknown(cids)
        return unknown | {cid for cid in cids if cid in damaged or str(cid) in noted}

    async def check(self) -> Check:
        """How the store is, by what was found so far. Never raises for what it is to tell."""
        try:
            status, said = await self._state()
        except NodeError as exc:
            status, said = "fail", str(exc)
        if status == "pass":
            self._since = None
        elif self._since is None:
            self._since = self._clock.now()
        return Check("ipfs:blocks", status, said, since=self._since)

    async def _state(self) -> tuple[str, str]:
        loss = await asyncio.to_thread(read_loss, self._folder)
        if loss is not None:
            return "fail", f"{loss.said}; answers come from what is here; {WHAT_TO_TYPE}"
        found = self._scan.found
        if found is not None and found.pages:
            return "fail", f"{self._store.file.path} is damaged ({found.pages}); {WHAT_TO_TYPE}"
        if found is not None and found.count:
            named = ", ".join(map(str, found.damaged[:NAMED_MAX]))
            more = " …" if found.count > NAMED_MAX else ""
            said = f"{found.count} of {found.blocks} blocks are damaged ({named}{more})"
            return "fail", f"{said}; {WHAT_TO_TYPE}"
        trouble = self._store.file.trouble
        away = f"writes turned away since the start: {trouble.turned_away}" if trouble.turned_away else ""
        if trouble.write:
            return "fail", f"nothing can be stored now ({trouble.write}); {away}"
        if keyless := self._store.duty.keys.trouble:
            return "fail", f"no private answer can be stored now: no key can be written for it ({keyless})"
        if unread := trouble.read or self._scan.put_off:
            return "fail", f"the disk does not give back what is stored ({unread}); it is tried again"
        left = await asyncio.to_thread(_free_bytes, self._folder)
        if left < FREE_BYTES_MIN:
            said = f"the disk of {self._folder} has {left} bytes left"
            return "fail" if not left else "warn", f"{said}; {away}" if away else said
        return "pass", f"embedded block store; {away}" if away else "embedded block store"


def _free_bytes(folder: Path) -> int:
    with translated(f"the room left in {folder} cannot be told"):
        found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
