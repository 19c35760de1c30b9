"""The decision log: sealed entries in a transparency log, one shard after the other.

Promises:
1. ``append`` returns once the leaf is durable (``before_reply``), or at once with its index
   (``behind_50ms``). A leaf is never changed; indexes count from 0 in each log.
2. The key of a leaf's commitments is on disk before the leaf, in a table apart, and can be destroyed.
3. Critical entries (``entry.is_critical``) are published at once; nobody who appends waits for that.

``shards`` goes from one log to the next, ``node.audit.log.writer`` keeps a log's tree, files and checkpoints,
``leaf`` the bytes of a leaf, ``epochs`` the folders. Nothing here reads what an entry decides. Event loop
only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec.structs

from node.audit.decisions import epochs
from node.audit.decisions.disk import on_disk
from node.audit.decisions.entry import is_critical
from node.audit.decisions.folder import Folder
from node.audit.decisions.moved import closed_source, nowhere
from node.audit.decisions.origin import origin_of
from node.audit.decisions.outcomes import Outcomes, Place, outcomes, tombstoned
from node.audit.decisions.seal import sealed
from node.audit.decisions.shards import Shard, Shards, Signers, Terms
from node.audit.log.archive import Archives
from node.audit.log.reader import LogReader
from node.audit.log.writer import Published, TileLog
from node.audit.tlog.leaf import read_leaf
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Unavailable
from node.core.model import Check, Json
from node.core.ports import Appended, Sealed

USUAL = Terms()

_ERASED_MAX = 4_096
"""Erased records whose later leaves get no key: far more than are being answered from when one is erased."""


class DecisionLog:
    """``AuditLog`` over a folder. Build with ``open``."""

    def __init__(self, shards: Shards, archives: Archives = nowhere) -> None:
        self.directory = shards.folder.directory
        self._archives = archives
        self._shards = shards
        self._erased: dict[str, None] = {}  # the newest last

    @classmethod
    async def open(
        cls,
        directory: Path,
        origin: str,
        signers: Signers,
        clock: Clock,
        *,
        keys: Path,
        terms: Terms = USUAL,
        is_held: bool = False,
        archives: Archives = nowhere,
    ) -> DecisionLog:
        """Open or create the log in ``directory``.

        ``origin`` is that of the first epoch; ``keys`` the private directory that holds key tables and
        high-water marks; with ``is_held`` nothing is signed before witnesses were asked; ``archives`` leads
        to closed epochs that were moved away. Raises
        ``CorruptState``, ``Unavailable`` (in use, or the disk says no), ``Misconfigured``.
        """
        shards = Shards(Path(directory), origin, signers, clock, Path(keys), terms)
        await shards.open(is_held=is_held)
        return cls(shards, archives)

    # --- the port ---------------------------------------------------------------------------------

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        what = sealed(entry, private_texts)
        what = what if entry.get("kind") == "tombstone" else self._without_erased(what)
        is_needed = is_critical(entry)
        place = await self._enter(what, is_needed=is_needed)
        if is_needed:
            self._shards.critical.publish_soon(place)
        return place

    def begin(self, what: Sealed) -> Appended | Awaitable[Appended]:
        what = self._without_erased(what)
        shard = self._shards.place()
        return self._enter(what) if shard is None else self._begin(shard, what)

    async def receipt(self, index: int, *, timeout_s: float, log: str | None = None) -> bytes | None:
        shard = self._shards.now
        if log is None or log == shard.tile_log.origin:
            if not 0 <= index < shard.tile_log.size():
                raise NotFound(f"the decision log has no entry {index}")
            published = await shard.tile_log.wait_published(index, timeout_s)
            receipt = None
            try:
                if published is not None:
                    receipt = (await shard.reader.receipt(index, published.note)).encode()
            except NodeError:
                if not self._shards.is_moving(shard):
                    raise
            if not self._shards.is_moving(shard):
                return receipt
            await self._shards.turned()
            log = shard.tile_log.origin  # it was closed meanwhile, and lies aside now
            if shard is self._shards.now:
                raise Unavailable("the next shard of the decision log has not begun yet; try again")
        return await self._receipt_aside(index, log)

    def on_critical(self, callback: Callable[[Appended], None]) -> None:
        """Call ``callback`` on the event loop when a critical entry has come under a checkpoint. It must be
        quick and must not raise."""
        self._shards.critical.on_critical(callback)

    async def forget(self, index: int) -> bool:
        shard = self._shards.open_now()
        if not 0 <= index < shard.tile_log.size():
            return False
        await shard.tile_log.wait_durable(index)
        return bool(await self._shards.with_keys(lambda keys: keys.destroy(index), shard.number))

    async def forget_record(self, cid: str) -> int:
        self._erased.pop(cid, None)
        self._erased[cid] = None  # whatever is appended about it from here on gets no key
        if len(self._erased) > _ERASED_MAX:
            del self._erased[next(iter(self._erased))]
        shard = self._shards.open_now()
        await self._shards.all_entered()
        await shard.tile_log.wait_durable(shard.tile_log.size() - 1)
        return await self._shards.with_keys(lambda keys: len(keys.destroy_about(cid)))

    async def tombstoned(self, cids: Collection[str]) -> set[str]:
        """Those of these records that the log says were tombstoned or quarantined. Raises ``NodeError``."""
        return await tombstoned(self._shards, cids, self._archives)

    def place(self) -> Place:
        """Where the next entry goes."""
        return Place(self._shards.now.number, self.size())

    async def outcomes(self, since: Place | None) -> Outcomes:
        """What the entries from ``since`` on say was stored and withdrawn; never raises ``NodeError``."""
        return await outcomes(self._shards, since, self._archives)

    async def renew_signers(self) -> None:
        tile_log = self._shards.open_now().tile_log
        await tile_log.set_signers(self._shards.signers(tile_log.origin))
        if tile_log.unsigned:
            raise Unavailable(f"{tile_log.unsigned}; try again then")

    def size(self) -> int:
        return self.tile_log.size()

    def health(self) -> Check:
        check, shards = self.tile_log.health(), self._shards
        status, said = check.status, check.output
        if shards.is_closed:
            status, said = "fail", "the decision log is closed"
        elif shards.trouble or shards.refusal:
            status, said = "fail", shards.trouble or shards.refusal
        elif shards.is_turning and status != "pass":
            status, said = "warn", "the next shard begins"
        elif status == "pass" and shards.folder.is_too_large:
            status = "warn"
            said = (
                f"the decision log takes {shards.folder.size_bytes} bytes of the disk with its keys and IPFS "
                "blocks, more than log.alarm_bytes; name a place for closed epochs in archive.to"
            )
        return replace(check, name="log", status=status, output=said, observed=self.size(), unit="entries")

    async def close(self) -> None:
        """See ``Shards.close``."""
        await self._shards.close()

    # --- for whoever keeps its epochs (``keeper``) ------------------------------------------------

    @property
    def folder(self) -> Folder:
        """What it takes on the disk."""
        return self._shards.folder

    async def begun_at(self) -> datetime | None:
        """When the epoch that is written now got its first entry, by that entry; None before it is
        published. Raises ``NodeError``."""
        shard = self._shards.open_now()
        if shard.tile_log.published is None or not shard.tile_log.published.size:
            return None
        [data] = await shard.reader.entries(0, 1, shard.tile_log.published.size)
        return datetime.fromtimestamp(read_leaf(data).time_us / 1e6, UTC)

    async def end_epoch(self, reason: str) -> bool:
        """Close the epoch that is written now and begin the next one. Appends wait meanwhile, and none is
        lost. False where checkpoints are held back. Raises ``NodeError``."""
        return await self._shards.end_now(reason)

    def refuse(self, why: str) -> None:
        """Take no entries but critical ones, for this reason; empty: take all."""
        self._shards.refusal = why

    # --- for those who serve, witness and anchor it -----------------------------------------------

    @property
    def tile_log(self) -> TileLog:
        """The log that is written now; another one after a shard is full."""
        return self._shards.now.tile_log

    @property
    def origin(self) -> str:
        """That of the log that is written now."""
        return self.tile_log.origin

    @property
    def epoch(self) -> int:
        """Its number, from 1."""
        return self._shards.now.number

    def on_published(self, callback: Callable[[Published], None]) -> None:
        """Call ``callback`` on the event loop for each checkpoint, of this log and those that follow it."""
        self._shards.critical.on_published(callback)

    async def _enter(self, what: Sealed, *, is_needed: bool = False) -> Appended:
        begun = self._begin(await self._shards.admitted(is_needed=is_needed), what)
        return begun if isinstance(begun, Appended) else await begun

    def _begin(self, shard: Shard, what: Sealed) -> Appended | Awaitable[Appended]:
        origin, begun = shard.tile_log.origin, self._shards.put(shard, what)
        return Appended(origin, begun) if isinstance(begun, int) else _appended(origin, begun)

    def _without_erased(self, what: Sealed) -> Sealed:
        """The key of a leaf about an erased record is dropped before it reaches the disk; the leaf that tells
        of the erasure itself keeps its own."""
        if what.key is None or not self._erased or self._erased.keys().isdisjoint(what.about):
            return what
        return msgspec.structs.replace(what, key=None)

    async def _receipt_aside(self, index: int, origin: str) -> bytes:
        for number in await on_disk(epochs.closed, self.directory):
            if origin_of(self._shards.base, number) == origin:
                folder = epochs.folder_of(self.directory, number)
                source = await on_disk(closed_source, self.directory, number, self._archives)
                reader = LogReader(source)
                note = await reader.checkpoint()
                newest = await on_disk(epochs.newest, folder / "checkpoint")
                if newest is None or not 0 <= index < newest.size:
                    raise NotFound(f"the log {origin} has no published entry {index}")
                return (await reader.receipt(index, note)).encode()
        raise NotFound(f"there is no log {origin} here")


async def _appended(origin: str, index: Awaitable[int]) -> Appended:
    return Appended(origin, await index)
