"""Erasure by the operator: everything that this node has of an answer, or of all answers to a question.

Promises: the decision log has each erasure first (where the node must log and cannot, nothing is begun); then
the record is tombstoned and its blocks, versions, merged wordings, verdicts and commitment keys are destroyed
(``store.erase``), also where the record is damaged or its key is gone; the same call again goes on where one
failed. A block that is no record of this node, but was imported, is deleted, under whatever hash function.
Whatever codec a CID says, it names its bytes. Withdrawn answers count too: their text is still on the disk.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from node.audit.decisions.entry import tombstone_entry
from node.audit.recorder import Recorder
from node.core.errors import CorruptState, NotFound
from node.core.ipld.cid import DAG_CBOR, SHA2_256, Cid
from node.core.normalise import normalise, query_hash
from node.core.ports import Appended, BlockRef, RecordStore, Selection, StoredRecord
from node.core.record import AnswerRecord
from node.store.imported_blocks import ForeignStore
from node.store.retention.erase import Eraser

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
    """For one node. ``recorder`` enters each erasure."""

    def __init__(
        self,
        records: RecordStore,
        eraser: Eraser,
        foreign: ForeignStore,
        recorder: Recorder,
        version: str,
        *,
        forget_question: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """``forget_question`` is told the hash of a question all of whose answers are erased."""
        self._records = records
        self._eraser = eraser
        self._foreign = foreign
        self._recorder = recorder
        self._version = version
        self._forget_question = forget_question

    async def of_cid(self, cid: Cid, *, dry_run: bool = False) -> Erased:
        """Erase a record, or an imported block. Raises ``NotFound``, ``Unavailable``."""
        try:
            erased = await self._record(await self._as_record(cid), dry_run=dry_run)
        except NotFound:
            if not await self._foreign.blocks.has(cid):
                raise NotFound(f"there is no record and no imported block {cid} here") from None
            erased = Erased(cid, "", None, None)
        if not dry_run:
            await self._foreign.blocks.delete(cid)
            await self._foreign.scrub()
        return erased

    async def of_question(self, text: str, *, most: int, dry_run: bool = False) -> tuple[list[Erased], bool]:
        """Erase every answer of ours to this very question, in whatever scope, live or withdrawn, up to
        ``most``; and whether there are more. Raises ``Unavailable``."""
        erased: list[Erased] = []
        key = query_hash(normalise(text))
        if self._forget_question is not None and not dry_run:
            await self._forget_question(key)
        async for answer in self._answers_to(key):
            if len(erased) == most:
                return erased, True
            erased.append(await self._one(answer, dry_run=dry_run))
        if not erased and not dry_run:
            await self._eraser.resume()  # an erasure of it that failed may be left, which no question finds
        return erased, False

    async def of_scope(self, scope: str, *, most: int, dry_run: bool = False) -> tuple[list[Erased], bool]:
        """Erase every answer in a scope, such as all that one tenant has of its own, up to ``most``; and
        whether there are more. What feedback of it said was wrong goes with its records. Raises
        ``Unavailable``."""
        erased: list[Erased] = []
        after, selection = 0, Selection(scopes=(scope,))
        while page := await self._records.select(selection, after=after, limit=_PAGE):
            after = page[-1].number
            for ref in page:
                if len(erased) == most:
                    return erased, True
                with contextlib.suppress(NotFound):  # it went with another one
                    erased.append(await self._record(ref.cid, dry_run=dry_run))
        if not dry_run:
            await self._eraser.resume()
        return erased, False

    async def _as_record(self, cid: Cid) -> Cid:
        """The CID that a record of these bytes has."""
        if cid.function == SHA2_256:
            return Cid(DAG_CBOR, cid.digest)
        try:
            return Cid.of(await self._foreign.blocks.get(cid), DAG_CBOR)
        except (NotFound, CorruptState):
            return cid

    async def _record(self, cid: Cid, *, dry_run: bool) -> Erased:
        """Raises ``NotFound``, ``Unavailable``."""
        answer: StoredRecord | BlockRef
        try:
            answer = await self._records.get(cid)
        except (NotFound, CorruptState):
            answer = await self._eraser.place(cid)
        return await self._one(answer, dry_run=dry_run)

    async def _answers_to(self, key: str) -> AsyncIterator[StoredRecord | BlockRef]:
        """Read anew as it goes: what is erased takes its versions and merged wordings with it."""
        after, selection = 0, Selection(query_hash=key)
        while page := await self._records.select(selection, after=after, limit=_PAGE):
            after = page[-1].number
            for ref in page:
                try:
                    yield await self._records.get(ref.cid)
                except CorruptState:
                    yield ref
                except NotFound:
                    continue
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

    async def _one(self, found: StoredRecord | BlockRef, *, dry_run: bool) -> Erased:
        """``BlockRef``: of a record that cannot be read."""
        scope = found.scope if isinstance(found, BlockRef) else found.record.scope
        if dry_run:
            return Erased(found.cid, scope, None, None)
        decision = await self._enter(found.cid, scope)
        if isinstance(found, BlockRef):
            tombstone = await self._eraser.erase_unread(found, REASON)
        else:
            tombstone = await self._eraser.erase(found, REASON)
        return Erased(found.cid, scope, tombstone.cid, decision)

    async def _enter(self, cid: Cid, scope: str) -> Appended | None:
        entry, private = tombstone_entry(target=str(cid), reason=REASON, scope=scope, policy=self._version)
        said = "the erasure could not be logged, so nothing was erased"
        return (await self._recorder.enter(entry, private, said=said)).place


def _asks(stored: StoredRecord, key: str) -> bool:
    return isinstance(stored.record, AnswerRecord) and stored.record.query_hash == key
