"""Erase a record: what it says, and what the decision log committed to about it.

Promises, in this order: the keys of a private record, of its earlier versions and of what was said of it are
destroyed, so that nobody can read them any more whatever fails after that; the record is withdrawn for good
by a signed tombstone; what was said of it (validations, whose notes are somebody's own words) is deleted, and
counts on; the keys of the log's commitments about it are destroyed, so that the leaves stay and say nothing;
its block is deleted, and with it the blocks of what was merged into it and of the versions that it replaced;
what deleted text may have left on disk is scrubbed. What fails is raised before anything later is done. The
same call again goes on from there; what is left of the erasure of a private record, which nobody can read by
then, is also finished by the next erasure, or by ``resume``. A scrub that fails is merely logged, for it is
done again by the files' own upkeep.
Out of reach: copies on other nodes (they get the tombstone), backups, and what a file system keeps of old
blocks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from node.errors import CorruptState, NodeError, NotFound
from node.ipfs.cid import Cid
from node.ports import AuditLog, BlockRef, BlockStore, RecordStore, StoredRecord
from node.record import AnswerRecord
from node.store.remember import Rememberer
from node.store.rules import is_private

log = logging.getLogger("neuroswarm.erase")

VERSIONS_MAX = 64
"""Earlier versions of one answer that are followed."""
Scrub = Callable[[], Awaitable[object]]
Forget = Callable[[Sequence[str]], Awaitable[object]]


class ErasableRecords(RecordStore, Protocol):
    """Records whose private ones are sealed, each under a key of its own."""

    async def verdicts(self, cids: Sequence[Cid]) -> list[Cid]:
        """The validations about these records that are here, in whatever state. Raises ``Unavailable``."""
        ...

    async def place(self, cid: Cid) -> BlockRef:
        """Where a record is whose block is here, whether or not that can be read. Raises ``NotFound``,
        ``Unavailable``."""
        ...

    async def shred(self, cids: Sequence[Cid]) -> None:
        """Destroy the keys of the private ones among these records, and withdraw those. Raises
        ``Unavailable``."""
        ...

    async def shredded(self, *, limit: int = 1_000) -> list[BlockRef]:
        """Records whose keys were destroyed and that were not deleted yet. Raises ``Unavailable``."""
        ...


class Eraser:
    """``forgets`` are told the CIDs of what is erased, for they keep something else of it; ``scrubs`` make
    what was deleted unreadable where it may still lie: write-ahead logs, exports, indexes."""

    def __init__(
        self,
        records: ErasableRecords,
        blocks: BlockStore,
        rememberer: Rememberer,
        decisions: AuditLog,
        scrubs: Sequence[Scrub] = (),
        forgets: Sequence[Forget] = (),
    ) -> None:
        self._records = records
        self._blocks = blocks
        self._rememberer = rememberer
        self._decisions = decisions
        self._scrubs = tuple(scrubs)
        self._forgets = tuple(forgets)
        self._one_at_a_time = asyncio.Lock()

    async def erase(self, stored: StoredRecord, reason: str) -> StoredRecord:
        """The tombstone of ``stored``; everything else is gone on return. Raises ``Unavailable``."""
        return await self._erase(stored.cid, stored.record.scope, await self._before(stored), reason)

    async def erase_unread(self, ref: BlockRef, reason: str) -> StoredRecord:
        """``erase`` for a record that is damaged or whose key is gone: which versions it replaced, nobody
        can tell. Raises ``Unavailable``."""
        return await self._erase(ref.cid, ref.scope, [], reason)

    async def place(self, cid: Cid) -> BlockRef:
        """Of a record that ``erase_unread`` takes. Raises ``NotFound``, ``Unavailable``."""
        return await self._records.place(cid)

    async def _erase(self, cid: Cid, scope: str, before: Sequence[Cid], reason: str) -> StoredRecord:
        async with self._one_at_a_time:
            cids = [cid, *before, *await self._merged(cid)]
            if is_private(scope):
                await self._records.shred([*cids, *await self._records.verdicts(cids)])
            tombstone = await self._rememberer.bury_at(cid, scope, reason)
            await self._clear(cids, scope)
            try:
                await self._finish()
            except NodeError as exc:
                log.warning("an earlier erasure is unfinished and will be tried again: %s", exc)
        await self.scrub()
        return tombstone

    async def clear(self, cids: Sequence[Cid], *, scope: str) -> None:
        """Everything but the tombstones, of records of one scope that are withdrawn. Raises
        ``Unavailable``."""
        async with self._one_at_a_time:
            await self._clear(cids, scope)

    async def resume(self) -> int:
        """Finish erasures of private records that failed or were cut short once their keys were gone; how
        many records that were. One that fails again does not keep the others from it. Raises
        ``Unavailable``."""
        async with self._one_at_a_time:
            finished = await self._finish()
        if finished:
            await self.scrub()
        return finished

    async def _finish(self) -> int:
        tried: set[Cid] = set()
        failure: NodeError | None = None
        while page := [ref for ref in await self._records.shredded() if ref.cid not in tried]:
            for ref in page:
                tried.add(ref.cid)
                try:
                    await self._rememberer.bury_at(ref.cid, ref.scope, "erased")
                    await self._clear([ref.cid], ref.scope)
                except NodeError as exc:
                    failure = exc
        if failure is not None:
            raise failure
        return len(tried)

    async def _clear(self, cids: Sequence[Cid], scope: str) -> None:
        """Keys, verdicts and blocks. The records go last: while they are there, an erasure that failed can be
        asked for again."""
        verdicts = await self._records.verdicts(cids)
        if is_private(scope):
            await self._records.shred([*cids, *verdicts])
        for forget in self._forgets:
            await forget(list(map(str, cids)))
        for cid in (*verdicts, *cids):
            await self._decisions.forget_record(str(cid))
            await self._blocks.delete(cid)

    async def scrub(self) -> None:
        """After the last ``clear``."""
        for scrub in self._scrubs:
            try:
                await scrub()
            except NodeError as exc:
                log.warning("deleted text may stay on disk until the next upkeep: %s", exc)

    async def _merged(self, cid: Cid) -> list[Cid]:
        return [alias.cid for alias in await self._records.aliases(cid)]

    async def _before(self, stored: StoredRecord) -> list[Cid]:
        """The versions that it replaced, newest first, as far as they are here."""
        found: list[Cid] = []
        record = stored.record
        while isinstance(record, AnswerRecord) and record.supersedes and len(found) < VERSIONS_MAX:
            cid = Cid.parse(record.supersedes)
            try:
                record = (await self._records.get(cid)).record
            except NotFound:
                break
            except CorruptState as exc:
                log.warning("an earlier version of an erased record cannot be read: %s", exc)
                return [*found, cid]
            found.append(cid)
        return found
