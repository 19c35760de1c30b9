"""Erase a record: what it says, and what the decision log committed to about it.

Promises, in this order: the record is withdrawn for good by a signed tombstone; the keys of the log's
commitments about it are destroyed, so that the leaves stay and say nothing; its block is deleted, and with it
the blocks of what was merged into it and of the versions that it replaced; what deleted text may have left on
disk is scrubbed. What fails is raised before anything later is done, and the same call again goes on from
there; only a scrub that fails is merely logged, for it is done again by the files' own upkeep.
Out of reach: copies on other nodes (they get the tombstone), backups, and what a file system keeps of old
blocks.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from node.errors import NodeError, NotFound
from node.ipfs.cid import Cid
from node.ports import AuditLog, BlockStore, RecordStore, StoredRecord
from node.record import AnswerRecord
from node.store.remember import Rememberer

log = logging.getLogger("neuroswarm.erase")

VERSIONS_MAX = 64
"""Earlier versions of one answer that are followed."""

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
        await self.clear(cids)
        await self.scrub()
        return tombstone

    async def clear(self, cids: Sequence[Cid]) -> None:
        """Keys and blocks of records that are withdrawn. Raises ``Unavailable``."""
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
