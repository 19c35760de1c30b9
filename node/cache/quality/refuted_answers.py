"""What feedback called invalid, remembered by its meaning, so that an equal answer to that question is
neither stored nor served again. Implements ``node.cache.refuted.Refuted``.

Rules:
1. Equal questions: the same words; or the gate finds no difference in what they say, and they share the
   keyword key or their vectors are near (``NEAR``).
2. Equal answers: ``language.same_answer`` says right.
3. What holds for a record holds for whoever may see it, in its context.
4. Models, quotations and clients are meant. A client is heard all the same if it is the one who gave the
   verdict, and what it stored after that is served. Of an adapter only the same text of the same slot key is
   refused, where the record was an adapter's. Documents are the operator's word and are not meant.
5. The question is the one that was asked: an answer that came from another question's record says nothing
   against that question.
6. What one tenant called invalid, and goes on for others, holds for that tenant alone, as if the record were
   its own private one (``scope``); that very record is not served to it nor read for it, whatever its source.
   Taken back, it is forgotten.
7. What is erased is forgotten here too. Feedback on a draft, which is on no disk, is remembered until the
   stop.

A store that fails costs what it would have remembered beyond the next start, and is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.cache.keys import keyword_key
from node.cache.matching.gate import agree
from node.cache.refuted import Said
from node.core.clock import Clock
from node.core.errors import CorruptState, NodeError, NotFound, Unavailable
from node.core.ipld.cid import Cid
from node.core.normalise import normalise, query_hash
from node.core.ports import Embedded, RecordStore, Semantics
from node.core.record import AnswerRecord
from node.language.same_answer import RIGHT, same_answer
from node.store.record_rules import is_private
from node.store.refuted_answers import ROWS_MAX, RefutedRow, RefutedStore
from node.store.writer import SqliteFile

log = logging.getLogger("neuroswarm.refuted")

NEAR = 0.7
"""Cosine from which two questions are near: the floor of general questions. The gate has the last word."""
EMBEDDED_AT_ONCE = 64
_HELD_BACK = frozenset({"llm", "extractive", "client"})


@dataclass(slots=True)
class _Wrong:
    """A row with its text, and what its question is found by. ``vector``: made when it is needed."""

    row: RefutedRow
    query: str
    answer: str
    query_hash: str
    keyword_key: str | None
    vector: Embedded | None = None
    was_tried: str = ""
    """The embedder that gave it no vector."""


class RefutedAnswers:
    """Build with ``open``. ``feedback`` enters a verdict, ``knows`` asks."""

    def __init__(
        self, store: RefutedStore, records: RecordStore, semantics: Semantics | None, clock: Clock
    ) -> None:
        self._store = store
        self._records = records
        self._semantics = semantics
        self._clock = clock
        self._wrong: list[_Wrong] = []
        self.on_change: Callable[[], None] = lambda: None
        """Called when ``knows`` may say something else."""
        self._hidden: frozenset[tuple[str, str]] = frozenset()
        """Scope and CID of rule 6."""
        self._asked: tuple[tuple[object, ...], list[_Wrong]] | None = None
        """The question that was asked about last, and what is held against it."""

    @classmethod
    async def open(
        cls, path: Path, records: RecordStore, semantics: Semantics | None, clock: Clock
    ) -> RefutedAnswers:
        """Load what earlier runs were told. Raises ``Unavailable``, ``CorruptState``."""
        store = await RefutedStore.open(path)
        answers = cls(store, records, semantics, clock)
        try:
            for row in await store.rows():
                await answers._load(row)
        except NodeError:
            await store.close()
            raise
        return answers

    async def _load(self, row: RefutedRow) -> None:
        """A private record's text is in the record; what is gone from there is forgotten here."""
        if row.query is not None and row.answer is not None:
            self._enter(row, row.query, row.answer)
            return
        try:
            record = (await self._records.get(Cid.parse(row.cid))).record
        except (NotFound, CorruptState):
            await self._store.forget([row.cid])
            return
        if isinstance(record, AnswerRecord):
            whole = RefutedRow(
                row.cid,
                row.scope,
                row.tenant,
                row.time,
                row.source_kind,
                context=record.context,
                slot_key=record.slot_key,
            )
            self._enter(whole, record.query, record.answer)

    def _enter(self, row: RefutedRow, query: str, answer: str) -> _Wrong:
        wrong = _Wrong(row, query, answer, query_hash(query), keyword_key(query))
        self._wrong.append(wrong)
        del self._wrong[:-ROWS_MAX]
        self._has_changed()
        return wrong

    def _has_changed(self) -> None:
        self._asked = None
        rows = [wrong.row for wrong in self._wrong]
        self._hidden = frozenset((row.scope, row.cid) for row in rows if row.cid and is_private(row.scope))
        self.on_change()

    # --- being told -------------------------------------------------------------------------------

    async def invalid(
        self, cid: Cid, record: AnswerRecord, *, asked: str | None, tenant: str, scope: str | None = None
    ) -> None:
        """``record`` was called invalid as the answer to ``asked`` (None: to its own question). ``scope``:
        for whom that holds; None: for whoever may see the record. Said again it changes nothing."""
        question = record.query if asked is None else normalise(asked)
        scope = scope or record.scope
        said = (str(cid), scope, tenant, query_hash(question))
        if any((*_key(wrong.row), wrong.query_hash) == said for wrong in self._wrong):
            return
        row = RefutedRow(
            str(cid),
            scope,
            tenant,
            self._clock.now(),
            record.source.kind,
            question,
            record.answer,
            record.context,
            record.slot_key,
        )
        self._enter(row, question, record.answer)
        await self.prepare()
        if is_private(scope) and agree(question, record.query).veto is not None:
            return  # the record cannot tell after a start what was asked
        try:
            await self._store.add(row)
        except NodeError as exc:
            log.warning("what was called invalid will be forgotten at the next start: %s", exc)

    async def take_back(self, cid: str, *, scope: str) -> None:
        """Rule 6: this record is right after all, for whom that held. Raises ``Unavailable``."""
        kept = [wrong for wrong in self._wrong if (wrong.row.cid, wrong.row.scope) != (cid, scope)]
        if len(kept) == len(self._wrong):
            return
        self._wrong = kept
        self._has_changed()
        await self._store.take_back(cid, scope)

    def invalid_draft(self, question: str, answer: str, *, scope: str, tenant: str) -> None:
        """A draft was called invalid: remembered until the stop, for it is on no disk."""
        self._enter(RefutedRow("", scope, tenant, self._clock.now(), "llm"), normalise(question), answer)

    async def forget(self, cids: Sequence[str]) -> None:
        """These records are erased. Raises ``Unavailable``."""
        gone = set(cids)
        self._wrong = [wrong for wrong in self._wrong if wrong.row.cid not in gone]
        self._has_changed()
        await self._store.forget(cids)

    async def forget_question(self, key: str) -> None:
        """Every answer to the question with this hash is erased; nothing of it is left on disk. Raises
        ``Unavailable``."""
        self._wrong = [wrong for wrong in self._wrong if wrong.query_hash != key]
        self._has_changed()
        await self._store.forget_question(key)
        await self._store.scrub()

    async def scrub(self) -> None:
        """Leave nothing of what was forgotten on disk. Raises ``Unavailable``."""
        await self._store.scrub()

    @property
    def file(self) -> SqliteFile:
        return self._store.file

    async def close(self) -> None:
        """Idempotent."""
        await self._store.close()

    # --- being asked ------------------------------------------------------------------------------

    async def prepare(self) -> int:
        """Embed the newest questions that have no vector of the model that serves now; how many."""
        if self._semantics is None or not self._semantics.info.dim:
            return 0
        digest = self._semantics.info.digest
        due = [wrong for wrong in reversed(self._wrong) if digest not in (_digest(wrong), wrong.was_tried)]
        due = due[:EMBEDDED_AT_ONCE]
        if not due:
            return 0
        try:
            vectors = await self._semantics.embed([wrong.query for wrong in due])
        except Unavailable:
            return 0
        for wrong, vector in zip(due, vectors, strict=True):
            wrong.vector, wrong.was_tried = vector, digest
        self._has_changed()
        return len(due)

    def knows(self, said: Said) -> bool:
        """Rules 1 to 4. Without I/O."""
        if not self._wrong:
            return False
        if said.source_kind == "adapter":
            return any(_is_the_adapters(wrong, said) for wrong in self._wrong)
        if said.source_kind not in _HELD_BACK:
            return False
        return any(
            not _is_exempt(wrong.row, said)
            and same_answer(wrong.answer, said.answer, question=said.question).verdict == RIGHT
            for wrong in self._of_question(said)
        )

    def hides(self, cid: str, scopes: Sequence[str]) -> bool:
        return bool(self._hidden) and any((scope, cid) in self._hidden for scope in scopes)

    def _of_question(self, said: Said) -> list[_Wrong]:
        """Rules 1 and 3. One look-up asks for each of its candidates, so the last question is kept."""
        key = (said.question, tuple(said.scopes), said.context, said.vector)
        if self._asked is None or self._asked[0] != key:
            question = normalise(said.question)
            hashed, words = query_hash(question), keyword_key(question)
            found = [
                wrong
                for wrong in self._wrong
                if _may_see(wrong, said)
                and (
                    wrong.query_hash == hashed
                    or (_is_near(wrong, said, words) and agree(question, wrong.query).veto is None)
                )
            ]
            self._asked = (key, found)
        return self._asked[1]


def _key(row: RefutedRow) -> tuple[str, str, str]:
    return row.cid, row.scope, row.tenant


def _digest(wrong: _Wrong) -> str:
    return "" if wrong.vector is None else wrong.vector.info.digest


def _may_see(wrong: _Wrong, said: Said) -> bool:
    return wrong.row.scope in said.scopes and wrong.row.context == said.context


def _is_near(wrong: _Wrong, said: Said, words: str | None) -> bool:
    if words is not None and words == wrong.keyword_key:
        return True
    one, other = said.vector, wrong.vector
    if one is None or other is None or one.info.digest != other.info.digest:
        return False
    return float(one.vector @ other.vector) >= NEAR


def _is_the_adapters(wrong: _Wrong, said: Said) -> bool:
    """Rule 4 for an adapter's answer."""
    row = wrong.row
    return (
        row.source_kind == "adapter"
        and _may_see(wrong, said)
        and said.slot_key is not None
        and said.slot_key == row.slot_key
        and normalise(wrong.answer) == normalise(said.answer)
    )


def _is_exempt(row: RefutedRow, said: Said) -> bool:
    """Rule 4 for a client's answer."""
    if said.source_kind != "client":
        return False
    if said.made is None:
        return row.tenant == said.tenant
    return said.made >= row.time.replace(microsecond=0)
