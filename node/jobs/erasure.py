"""Erasure by the operator: everything that this node has of an answer, or of all answers to a question.

Promises: the decision log has each erasure first (where the node must log and cannot, nothing is begun); then
the record is tombstoned and its blocks, versions, merged wordings, verdicts and commitment keys are destroyed
(``store.erase``); the same call again goes on where one failed. A block that is no record of this node, but
was imported, is deleted. Withdrawn answers count too: their text is still on the disk.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

from node.errors import CorruptState, NodeError, NotFound, Unavailable
from node.governance.entry import tombstone_entry
from node.ipfs.cid import Cid
from node.metrics import Unlogged
from node.normalise import normalise, query_hash
from node.ports import Appended, AuditLog, RecordStore, Selection, StoredRecord
from node.record import AnswerRecord
from node.store.erase import Eraser
from node.store.foreign import ForeignStore

_log = logging.getLogger("neuroswarm.erase")

REASON = "operator_erase"
_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Erased:
    """One record that is gone. ``decision`` is None where it could not be logged; ``tombstone`` is None, and
    ``scope`` empty, for an imported block."""

    cid: Cid
    scope: str
    tombstone: Cid | None
    decision: Appended | None


class Erasure:
    """For one node. ``log`` enters each erasure; ``unlogged`` counts those that it could not."""

    def __init__(
        self,
        records: RecordStore,
        eraser: Eraser,
        foreign: ForeignStore,
        log: AuditLog,
        version: str,
        unlogged: Unlogged,
        *,
        refuse_unlogged: bool,
    ) -> None:
        self._records = records
        self._eraser = eraser
        self._foreign = foreign
        self._log = log
        self._version = version
        self._unlogged = unlogged
        self._refuse_unlogged = refuse_unlogged

    async def of_cid(self, cid: Cid, *, dry_run: bool = False) -> Erased:
        """Erase a record, or an imported block. Raises ``NotFound``, ``Unavailable``."""
        try:
            stored = await self._records.get(cid)
        except NotFound:
            if not await self._foreign.blocks.has(cid):
                raise NotFound(f"there is no record and no imported block {cid} here") from None
            if not dry_run:
                await self._foreign.blocks.delete(cid)
                await self._foreign.scrub()
            return Erased(cid, "", None, None)
        return await self._one(stored, dry_run=dry_run)

    async def of_question(self, text: str, *, most: int, dry_run: bool = False) -> tuple[list[Erased], bool]:
        """Erase every answer of ours to this very question, in whatever scope, live or withdrawn, up to
        ``most``; and whether there are more. Raises ``Unavailable``."""
        erased: list[Erased] = []
        async for stored in self._answers_to(query_hash(normalise(text))):
            if len(erased) == most:
                return erased, True
            erased.append(await self._one(stored, dry_run=dry_run))
        return erased, False

    async def _answers_to(self, key: str) -> AsyncIterator[StoredRecord]:
        """Read anew as it goes: what is erased takes its versions and merged wordings with it."""
        after, selection = 0, Selection(query_hash=key)
        while page := await self._records.select(selection, after=after, limit=_PAGE):
            after = page[-1].number
            for ref in page:
                if (stored := await self._answer(ref.cid)) is not None:
                    yield stored
        change = 0
        while gone := await self._records.withdrawn_since(change, limit=_PAGE):
            change = gone[-1][0]
            for _, cid in gone:
                stored = await self._answer(cid)
                if stored is not None and stored.state != "live" and _asks(stored, key):
                    yield stored

    async def _answer(self, cid: Cid) -> StoredRecord | None:
        try:
            stored = await self._records.get(cid)
        except NotFound:
            return None
        except CorruptState as exc:
            _log.warning("an answer that may have to be erased cannot be read; erase it by its CID: %s", exc)
            return None
        return stored if isinstance(stored.record, AnswerRecord) else None

    async def _one(self, stored: StoredRecord, *, dry_run: bool) -> Erased:
        record = stored.record
        if dry_run:
            return Erased(stored.cid, record.scope, None, None)
        decision = await self._enter(stored.cid, record.scope)
        tombstone = await self._eraser.erase(stored, REASON)
        return Erased(stored.cid, record.scope, tombstone.cid, decision)

    async def _enter(self, cid: Cid, scope: str) -> Appended | None:
        entry, private = tombstone_entry(target=str(cid), reason=REASON, scope=scope, policy=self._version)
        try:
            decision = await self._log.append(entry, private_texts=private)
        except NodeError as exc:
            self._unlogged.failed("other", exc, stands=not self._refuse_unlogged)
            if self._refuse_unlogged:
                raise Unavailable(f"the erasure could not be logged, so nothing was erased: {exc}") from exc
            return None
        self._unlogged.logged()
        return decision


def _asks(stored: StoredRecord, key: str) -> bool:
    return isinstance(stored.record, AnswerRecord) and stored.record.query_hash == key
