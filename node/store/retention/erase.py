"""Erase a record: what it says, and what the decision log committed to about it.

Promises, in this order: the keys of a private record, of its earlier versions and of what was said of it are
destroyed, so that nobody can read them any more whatever fails after that; the record is withdrawn for good
by a signed tombstone; the keys of the log's commitments about it are destroyed, so that the leaves stay and
say nothing; copies are made anew without it; what was said of it (validations, whose notes are somebody's own
words) is deleted, and counts on; so are the blocks of what was merged into it and of the versions that it
replaced; its own block goes last, so that an erasure that was cut short anywhere is known by it; what
deleted text may have left on disk is scrubbed. What fails is raised before anything later is done. The same
call again goes on from there; what is left of the erasure of a private record, which nobody can read by then,
is also finished by the next erasure, or by ``resume``, and has one tombstone all the same. A scrub that fails
is merely logged, for it is done again by the files' own upkeep.
Out of reach: copies on other nodes (they get the tombstone), and what a file system keeps of old blocks.
Backups and an IPFS daemon hear of it from the composition root (``node.app.backup``, ``node.app.reach``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from node.core.errors import CorruptState, NodeError, NotFound
from node.core.ipld.cid import Cid
from node.core.ports import AuditLog, BlockRef, BlockStore, StoredRecord
from node.core.record import AnswerRecord, TombstoneRecord
from node.store.imported_blocks import WithForeign
from node.store.record_rules import LOCAL, is_private
from node.store.remember import Rememberer
from node.store.sqlite import SqliteRecords

log = logging.getLogger("neuroswarm.erase")

VERSIONS_MAX = 64
"""Earlier versions of one answer that are followed."""
LOOKED_BACK = 1_000
"""Records written last among which the tombstone of an erasure that was cut short is looked for. One that is
not found there is made again, which harms nobody."""
_NO_CHANGES = 2**62
"""A change number that no store comes to: only records written are asked for."""
Scrub = Callable[[], Awaitable[object]]
Forget = Callable[[Sequence[str]], Awaitable[object]]


class Eraser:
    """``forgets`` are told the CIDs of what is erased, for they keep something else of it; ``copies`` make
    anew what holds text or vectors of live records (exports, indexes) before the blocks are deleted;
    ``scrubs`` make deleted text unreadable where it may still lie (write-ahead logs), after that."""

    def __init__(
        self,
        records: SqliteRecords,
        blocks: BlockStore | WithForeign,
        rememberer: Rememberer,
        decisions: AuditLog,
        scrubs: Sequence[Scrub] = (),
        forgets: Sequence[Forget] = (),
        *,
        copies: Sequence[Scrub] = (),
    ) -> None:
        self._records = records
        self._blocks = blocks
        self._rememberer = rememberer
        self._decisions = decisions
        self._scrubs = tuple(scrubs)
        self._copies = tuple(copies)
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
            merged = [alias.cid for alias in await self._records.aliases(cid)]
            cids = [cid, *before, *merged]
            if is_private(scope):
                await self._records.shred([*cids, *await self._records.verdicts(cids)])
            tombstone = await self._rememberer.bury_at(cid, scope, reason)
            await self._clear(cids, scope)
            try:
                await self._finish()
            except NodeError as exc:
                log.warning("an earlier erasure is unfinished and will be tried again: %s", exc)
        await _each(self._scrubs)
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
            await _each(self._scrubs)
        return finished

    async def _finish(self) -> int:
        tried: set[Cid] = set()
        failure: NodeError | None = None
        while page := [ref for ref in await self._records.shredded() if ref.cid not in tried]:
            tried |= {ref.cid for ref in page}
            # What was said of a record needs no tombstone, and the record goes after it.
            said = set(await self._records.verdicts([ref.cid for ref in page]))
            has_tombstone = said | await self._buried(page)
            forgotten: list[tuple[BlockRef, list[Cid]]] = []
            for ref in sorted(page, key=lambda ref: ref.cid not in said):
                try:
                    if ref.cid not in has_tombstone:
                        await self._rememberer.bury_at(ref.cid, ref.scope, "erased")
                    forgotten.append((ref, await self._forget([ref.cid], ref.scope)))
                except NodeError as exc:
                    failure = exc
            await _each(self._copies)
            for ref, verdicts in forgotten:
                try:
                    await self._delete([*verdicts, ref.cid])
                except NodeError as exc:
                    failure = exc
        if failure is not None:
            raise failure
        return len(tried)

    async def _buried(self, refs: Sequence[BlockRef]) -> set[Cid]:
        """Those that have a tombstone of ours, which was made before the erasure was cut short."""
        asked, found = {str(ref.cid): ref for ref in refs}, set[Cid]()
        last = int((await self._records.counts())["last_sequence"])
        after = max(last - LOOKED_BACK, min(ref.number for ref in refs))
        for ref in (await self._records.block_changes(after, _NO_CHANGES, limit=LOOKED_BACK)).written:
            if all(ref.scope != one.scope for one in refs):
                continue
            try:
                stored = await self._records.get(ref.cid)
            except (NotFound, CorruptState):
                continue
            if isinstance(stored.record, TombstoneRecord) and stored.origin == LOCAL:
                target = asked.get(stored.record.target)
                found |= set() if target is None else {target.cid}
        return found

    async def _clear(self, cids: Sequence[Cid], scope: str) -> None:
        """Keys, copies, verdicts and blocks, the first of ``cids`` last: while that is there, an erasure that
        failed can be asked for again."""
        verdicts = await self._forget(cids, scope)
        await _each(self._copies)
        await self._delete([*verdicts, *reversed(cids)])

    async def _forget(self, cids: Sequence[Cid], scope: str) -> list[Cid]:
        """Keys, and what others keep of these records; the verdicts about them, whose keys are gone too."""
        verdicts = await self._records.verdicts(cids)
        if is_private(scope):
            await self._records.shred([*cids, *verdicts])
        for forget in self._forgets:
            await forget(list(map(str, cids)))
        for cid in (*verdicts, *cids):
            await self._decisions.forget_record(str(cid))
        return verdicts

    async def _delete(self, cids: Sequence[Cid]) -> None:
        for cid in cids:
            await self._blocks.delete(cid)

    async def scrub(self) -> None:
        """Copies are made anew and deleted text is scrubbed: after withdrawals, and after ``clear``."""
        await _each(self._copies)
        await _each(self._scrubs)

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


async def _each(scrubs: Sequence[Scrub]) -> None:
    for scrub in scrubs:
        try:
            await scrub()
        except NodeError as exc:
            log.warning("deleted text may stay on disk until the next upkeep: %s", exc)
