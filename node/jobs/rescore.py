"""Answers that an older rule of confidence let in are judged again, once after an upgrade.

Promises: runs behind the start, page by page, and yields between records; each model's answer of our own that
was stored before is judged by ``rescore``; what falls below the bar goes out of service with an entry in the
decision log, its block stays; what keeps a place is stored anew with its new confidence, for no longer than
it had. A run that was cut short begins again at the next start; ``RULE`` in the state file says that one came
to its end. Peers' records are weighed by ``jobs.admit``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from node.clock import Clock, new_id
from node.errors import NodeError
from node.governance.entry import quarantine_entry
from node.model import PPM, Citation, Confidence, SourceRef, ppm
from node.ports import AuditLog, RecordStore, Semantics, StoredRecord
from node.record import AnswerRecord
from node.score.answer_features import Answered
from node.score.calibrated import packaged
from node.store.remember import Memory, Rememberer
from node.store.rules import LOCAL
from node.store.state import StateStore

log = logging.getLogger("neuroswarm.rescore")

RULE = "calibrated-1"
"""The rule of confidence in force; another name here means that what is stored is judged again."""
_DONE = "confidence-rule"
_PAGE = 256

Rescore = Callable[[AnswerRecord], float | None]
"""The confidence in a stored answer by the rule in force; None: it is left as it is."""


def by_calibration(record: AnswerRecord) -> float | None:
    """What a model said on no evidence, judged as an answer without token probabilities or a second sample is
    now; None for all others."""
    if not record.is_unverified:
        return None
    model = record.source.id if record.llm is None else record.llm.id
    return packaged().judge(Answered(record.query, record.answer), model).value


@dataclass(frozen=True, slots=True)
class Rescored:
    """How many were looked at, went out of service, and were stored anew."""

    seen: int
    withdrawn: int
    renewed: int


class Rescorer:
    """For one node. ``least`` is the confidence from which an answer is stored."""

    def __init__(
        self,
        records: RecordStore,
        rememberer: Rememberer,
        semantics: Semantics,
        state: StateStore,
        decisions: AuditLog,
        clock: Clock,
        rescore: Rescore,
        *,
        least: float,
        policy: str,
    ) -> None:
        self._records = records
        self._rememberer = rememberer
        self._semantics = semantics
        self._state = state
        self._decisions = decisions
        self._clock = clock
        self._rescore = rescore
        self._least = least
        self._policy = policy

    async def is_due(self) -> bool:
        """Whether what is stored was let in by another rule. Raises ``Unavailable``."""
        return await self._state.get_meta(_DONE) != RULE

    async def run(self, until: int) -> Rescored:
        """Judge what was stored up to sequence ``until``. Raises ``Unavailable``."""
        seen = withdrawn = renewed = sequence = 0
        while sequence < until and (page := await self._records.since(sequence, limit=_PAGE)):
            for stored in page:
                sequence = stored.sequence
                record = stored.record
                if sequence > until or stored.origin != LOCAL or not isinstance(record, AnswerRecord):
                    continue
                confidence = self._rescore(record) if record.source.kind == "llm" else None
                if confidence is None:
                    continue
                seen += 1
                if confidence < self._least:
                    withdrawn += await self._withdraw(stored)
                elif ppm(confidence) != record.confidence:
                    renewed += await self._renew(record, confidence)
            await asyncio.sleep(0)
        await self._state.set_meta(_DONE, RULE)
        if seen:
            log.info(
                "%d answers of models were judged again: %d went out of service, %d were stored anew",
                seen,
                withdrawn,
                renewed,
            )
        return Rescored(seen, withdrawn, renewed)

    async def in_background(self, until: int) -> None:
        """``run`` as a task; what fails is tried again at the next start."""
        try:
            await self.run(until)
        except NodeError as exc:
            log.warning("not all stored answers were judged again; the next start goes on: %s", exc)

    async def _withdraw(self, stored: StoredRecord) -> bool:
        entry, private = quarantine_entry(
            target=str(stored.cid), reason="rescored", scope=stored.record.scope, policy=self._policy
        )
        await self._decisions.append(entry, private_texts=private)
        self._semantics.remove(stored.cid)
        return await self._records.withdraw(stored.cid, "rescored")

    async def _renew(self, record: AnswerRecord, confidence: float) -> bool:
        left = None
        if record.expires is not None:
            left = int((record.expires - self._clock.now()).total_seconds())
            if left <= 0:
                return False
        source = record.source
        memory = Memory(
            request_id=new_id(),
            query=record.query,
            answer=record.answer,
            route=record.route,
            source=SourceRef(source.kind, source.id, source.url, source.time, source.digest),
            confidence=Confidence(
                confidence, {name: part / PPM for name, part in record.confidence_parts.items()}
            ),
            scope=record.scope,
            lifetime_s=left,
            context=record.context,
            tags=record.tags,
            slots=record.slots,
            slot_key=record.slot_key,
            citations=tuple(
                Citation(one.source, one.locator, one.snippet, one.url) for one in record.citations
            ),
            llm=record.llm,
            embed="later",
        )
        return (await self._rememberer.keep(memory)).is_durable
