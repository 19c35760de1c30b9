"""Erase a record: what it says, and what the decision log committed to about it.

Promises, in this order: the record is withdrawn for good by a signed tombstone; what was said of it
(validations, whose notes are somebody's own words) is deleted, and counts on; the keys of the log's
commitments about it are destroyed, so that the leaves stay and say nothing; its block is deleted, and with it
the blocks of what was merged into it and of the versions that it replaced; what deleted text may have left on
disk is scrubbed. What fails is raised before anything later is done, and the same call again goes on from
there; only a scrub that fails is merely logged, for it is done again by the files' own upkeep.
Out of reach: copies on other nodes (they get the tombstone), backups, and what a file system keeps of old
blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence, Set

from node.errors import CorruptState, NodeError, NotFound
from node.ipfs.cid import Cid
from node.ports import AuditLog, BlockStore, RecordStore, Selection, StoredRecord
from node.record import AnswerRecord, ValidationRecord
from node.store.remember import Rememberer

log = logging.getLogger("neuroswarm.erase")

VERSIONS_MAX = 64
"""Earlier versions of one answer that are followed."""
_PAGE = 1_000
_NO_CHANGES = 2**62
"""A change number that no store comes to: only records written are asked for."""

Scrub = Callable[[], Awaitable[object]]


class Eraser:
    """``scrubs`` make what was deleted unreadable where it may still lie: write-ahead logs, exports,
    indexes."""

    def __init__(
        self,
        records: RecordStore,
        blocks: BlockStore,
        rememberer: Rememberer,
        decisions: AuditLog,
        scrubs: Sequence[Scrub] = (),
    ) -> None:
        self._records = records
        self._blocks = blocks
        self._rememberer = rememberer
        self._decisions = decisions
        self._scrubs = tuple(scrubs)

    async def erase(self, stored: StoredRecord, reason: str) -> StoredRecord:
        """The tombstone of ``stored``; everything else is gone on return. Raises ``Unavailable``."""
        cids = [stored.cid, *await self._before(stored), *await self._merged(stored.cid)]
        tombstone = await self._rememberer.bury(stored, reason)
        await self.clear(cids, scope=stored.record.scope)
        await self.scrub()
        return tombstone

    async def clear(self, cids: Sequence[Cid], *, scope: str) -> None:
        """Verdicts, keys and blocks of records of one scope that are withdrawn. The records go last: while
        they are there, an erasure that failed can be asked for again. Raises ``Unavailable``."""
        for verdict in await self._verdicts(set(map(str, cids)), scope):
            await self._decisions.forget_record(str(verdict))
            await self._blocks.delete(verdict)
        for cid in cids:
            await self._decisions.forget_record(str(cid))
            await self._blocks.delete(cid)

    async def scrub(self) -> None:
        """After the last ``clear``."""
        for scrub in self._scrubs:
            try:
                await scrub()
            except NodeError as exc:
                log.warning("deleted text may stay on disk until the next upkeep: %s", exc)

    async def _verdicts(self, targets: Set[str], scope: str) -> list[Cid]:
        """The validations about these records, which have their scope. Statements are what of the live
        records of a scope is no answer; they are read one by one, answers are not."""
        found: list[Cid] = []
        selection, after = Selection(scopes=(scope,)), 0
        while page := (await self._records.block_changes(after, _NO_CHANGES, limit=_PAGE)).written:
            answers = {ref.cid for ref in await self._records.select(selection, after=after, limit=_PAGE)}
            after = page[-1].number
            for ref in page:
                if ref.scope == scope and ref.cid not in answers:
                    found += await self._if_verdict(ref.cid, targets)
        return found

    async def _if_verdict(self, cid: Cid, targets: Set[str]) -> list[Cid]:
        try:
            record = (await self._records.get(cid)).record
        except NotFound:
            return []
        except CorruptState as exc:
            log.warning("a statement that may be about an erased record cannot be read: %s", exc)
            return []
        return [cid] if isinstance(record, ValidationRecord) and record.target in targets else []

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
            found.append(cid)
        return found
