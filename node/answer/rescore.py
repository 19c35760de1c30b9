"""Answers that an older rule of confidence let in are judged again, once after an upgrade.

Promises: runs behind the start, page by page, and yields between records; each model's answer that was stored
before, ours, a peer's or an imported one, is judged by ``rescore``; what falls below the bar goes out of
service with an entry in the decision log, its block stays; what keeps a place and is ours is stored anew with
its new confidence, for no longer than it had. A peer's that keeps its place stays as its issuer signed it.
A run that was cut short begins again at the next start; ``RULE`` in the state file says that one came to its
end. A peer's root is marked before a record of it goes, and at the end all that is held of it, and what
rested on it, is weighed again; ``Admitter.resume`` does so where a kill came in between.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass

from node.answer.context import Block
from node.answer.grounding import ground
from node.answer.score.answer_features import Answered
from node.answer.score.calibrated import packaged
from node.answer.score.confidence import WEIGHTS, weigh
from node.audit.decisions.entry import quarantine_entry
from node.core.clock import Clock, new_id
from node.core.errors import NodeError
from node.core.model import PPM, Citation, Confidence, SourceRef, ppm
from node.core.ports import AuditLog, RecordStore, Semantics, StoredRecord
from node.core.record import AnswerRecord
from node.store.record_rules import LOCAL
from node.store.remember import Memory, Rememberer
from node.store.state import StateStore

log = logging.getLogger("neuroswarm.rescore")

RULE = "calibrated-2"
"""The rule of confidence in force; another name here means that what is stored is judged again."""
_DONE = "confidence-rule"
_PAGE = 256
_APART_MAX_PPM = 2
"""Of a confidence and the mean of its parts, for each part is rounded by itself."""
_SOURCES_LINE = re.compile(r"\n\nSources?: [^\n]*\Z")
"""What the old rule's program wrote behind an answer: no sentence of the model's."""

Rescore = Callable[[AnswerRecord], float | None]
"""The confidence in a stored answer by the rule in force; None: it is left as it is."""


def by_calibration(record: AnswerRecord) -> float | None:
    """What a model said, judged as an answer without token probabilities or a second sample is now; None for
    all others. Evidence is what the citations show of it. A snippet is cut, and evidence that no citation
    names is not in the record: what is not borne out by the rest goes, and is made anew by the rule in force
    when somebody asks. How sure it was that the notes held the answer is not there either, so nothing becomes
    surer than it was. An answer on evidence that a later rule has judged is left as it is, for that rule knew
    more; the old one is seen by its mark, the weighted mean of the parts."""
    if record.source.kind != "llm":
        return None
    model = record.source.id if record.llm is None else record.llm.id
    if record.is_unverified:
        return packaged().judge(Answered(record.query, record.answer), model).value
    if not _is_of_old_rule(record):
        return None
    blocks = [
        Block(number, number - 1, SourceRef("documents", one.source), one.snippet, from_adapter=False)
        for number, one in enumerate(record.citations, start=1)
    ]
    text = _SOURCES_LINE.sub("", record.answer)
    found = ground(text, blocks, record.query)
    said = Answered(record.query, text, support=found.support, grounded=found.grounded)
    return min(packaged().judge(said, model).value, record.confidence / PPM)


def _is_of_old_rule(record: AnswerRecord) -> bool:
    parts = {name: part / PPM for name, part in record.confidence_parts.items()}
    if not parts.keys() <= WEIGHTS.keys():
        return False
    return abs(ppm(weigh(parts).value) - record.confidence) <= _APART_MAX_PPM


@dataclass(frozen=True, slots=True)
class Rescored:
    """How many were looked at, went out of service, and were stored anew."""

    seen: int
    withdrawn: int
    renewed: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Where what is stored lies, and how it changes."""

    records: RecordStore
    rememberer: Rememberer
    semantics: Semantics
    state: StateStore
    decisions: AuditLog


@dataclass(frozen=True, slots=True)
class Peers:
    """``begin`` marks a peer's root as one to be weighed again, ``weigh`` does it."""

    begin: Callable[[str], Awaitable[None]]
    weigh: Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Rescorer:
    """For one node. ``least`` is the confidence from which an answer is stored."""

    kept: Kept
    peers: Peers
    clock: Clock
    rescore: Rescore
    _: KW_ONLY
    least: float
    policy: str

    async def is_due(self) -> bool:
        """Whether what is stored was let in by another rule. Raises ``Unavailable``."""
        return await self.kept.state.get_meta(_DONE) != RULE

    async def run(self, until: int) -> Rescored:
        """Judge what was stored up to sequence ``until``; of peers also what has come into service since, for
        a weighing puts old records there anew. Raises ``Unavailable``."""
        seen = withdrawn = renewed = sequence = 0
        roots: dict[str, None] = {}
        while page := await self.kept.records.since(sequence, limit=_PAGE):
            for stored in page:
                sequence = stored.sequence
                record = stored.record
                is_ours = stored.origin == LOCAL
                if (sequence > until and is_ours) or not isinstance(record, AnswerRecord):
                    continue
                if record.source.kind != "llm":
                    continue
                # In a thread: the longest answer takes tenths of a second.
                confidence = await asyncio.to_thread(self.rescore, record)
                if confidence is None:
                    continue
                seen += 1
                if confidence < self.least:
                    if not is_ours:
                        await self.peers.begin(stored.origin)
                        roots[stored.origin] = None
                    withdrawn += await self._withdraw(stored)
                elif is_ours and ppm(confidence) != record.confidence:
                    renewed += await self._renew(record, confidence)
            await asyncio.sleep(0)
        for root in roots:
            await self.peers.weigh(root)
        await self.kept.state.set_meta(_DONE, RULE)
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
            target=str(stored.cid), reason="rescored", scope=stored.record.scope, policy=self.policy
        )
        await self.kept.decisions.append(entry, private_texts=private)
        self.kept.semantics.remove(stored.cid)
        return await self.kept.records.withdraw(stored.cid, "rescored")

    async def _renew(self, record: AnswerRecord, confidence: float) -> bool:
        left = None
        if record.expires is not None:
            left = int((record.expires - self.clock.now()).total_seconds())
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
        return (await self.kept.rememberer.keep(memory)).is_durable
