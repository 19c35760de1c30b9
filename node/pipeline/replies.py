"""What a walk tells: lines of its trace, answers made from stored records, several parts as one.

Pure. Must not know: the order of stations, ports' implementations, clocks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from node.answer.composed import Composed
from node.answer.notes import STARTER
from node.answer.peer_claims import CLAIM
from node.answer.score.agreement import Weighed
from node.answer.score.answer_features import Answered
from node.answer.score.calibrated import packaged
from node.cache.matching.gate import Verdict, agree
from node.cache.recall import Recall, Recalled
from node.core.caller import SCOPE_SHARED
from node.core.model import (
    PPM,
    Answer,
    Citation,
    Client,
    Confidence,
    Evidence,
    Found,
    Freshness,
    HitInfo,
    InDocuments,
    Missed,
    Outcome,
    Query,
    Recognition,
    Route,
    SourceRef,
    Step,
    Unclear,
    Usage,
)
from node.core.ports import Relevant, StoredRecord
from node.core.record import AnswerRecord
from node.language import weekdays
from node.language.same_answer import TOLERANCE
from node.peers.rules import kept as beside
from node.pipeline.failures import Failure
from node.store.retention.freshness import CLASS_LIMIT_S, Lifetime

_OF_ONE_PEER = 2
"""Texts of one peer beside one question."""
_TOLD = frozenset({"name", "number", "time", "unit"})
"""Differences that a reader of a note has to know of."""


def is_semantic(recall: Recall) -> bool:
    """Whether a look-up came to a semantic hit: what shadow mode keeps back."""
    return recall.found is not None and recall.found.hit.kind == "semantic"


def shadow_step(recall: Recall, took_ms: float = 0.0) -> Step:
    """The line of the trace for a hit that shadow mode kept back."""
    return Step("recall", "shadow", f"shadow mode, would have hit: {recall.reason}", took_ms, "would_hit")


def pasted(text: str) -> Evidence:
    """The text that came with a question, as what the answer is made from."""
    source = SourceRef("pasted", "the text you sent")
    return Evidence(text, source, 1.0, Freshness.GENERAL, partial=True)


def shortest(classes: list[Freshness]) -> Freshness:
    """An answer lives no longer than the most volatile thing that it rests on, nor than general knowledge."""
    limits = {one: limit for one in classes if (limit := CLASS_LIMIT_S[one]) is not None}
    shortest = min(limits, key=lambda one: limits[one], default=Freshness.GENERAL)
    longest = CLASS_LIMIT_S[Freshness.GENERAL]
    assert longest is not None
    return shortest if limits.get(shortest, longest) < longest else Freshness.GENERAL


def lives(life: Lifetime) -> Step:
    """How long the answer may be served, and what said so."""
    if life.seconds is None:
        return Step("lifetime", "unbounded", life.reason, code=life.code)
    return Step("lifetime", "bounded", f"{life.seconds} s: {life.reason}", code=life.code)


def failure_of(outcome: Outcome) -> tuple[Failure | None, float | None]:
    """What of an adapter's outcome is remembered for seconds. An old value that stands in for a source that
    failed is a failure of that source."""
    if isinstance(outcome, Found):
        return (Failure.FAULT if outcome.evidence.data.get("stale") is True else None), None
    if isinstance(outcome, Missed):
        return Failure.NOTHING_THERE, None
    if isinstance(outcome, Unclear):
        return None, None
    waits = outcome.code in ("timeout", "rate_limited")
    return (Failure.NO_TIME if waits else Failure.FAULT), outcome.retry_after_s


def asked(recognition: Recognition, outcome: Outcome, took_ms: float, before: str) -> Step:
    """How asking one adapter went, as a line of the trace; ``before``: it was not asked again now."""
    if before:
        said = "" if isinstance(outcome, Found) else f": {outcome.reason}"
        return Step("negative", "adapter", f"{recognition.adapter}, {before}{said}", code="negative_cached")
    stage = f"adapter:{recognition.adapter}"
    if isinstance(outcome, Found):
        word = "partial" if outcome.evidence.partial else "found"
        return Step(stage, word, recognition.reason, took_ms, "slots_matched")
    if isinstance(outcome, Unclear):
        return Step(stage, "unclear", outcome.reason, took_ms, "unclear")
    if isinstance(outcome, Missed):
        return Step(stage, "missed", outcome.reason, took_ms, "nothing_found")
    return Step(stage, outcome.code, outcome.reason, took_ms, outcome.code)


def compared(weighed: list[Weighed]) -> Step:
    """How the sources weigh against each other and whether their figures agree."""
    weights = ", ".join(f"{one.adapter} {one.weight:.2f}" for one in weighed)
    best = weighed[0]
    if best.apart is None:
        return Step("compare", "incomparable", f"weights: {weights}", code="no_common_figure")
    agree = best.apart <= TOLERANCE
    return Step(
        "compare",
        "agree" if agree else "differ",
        f"{percent(best.apart)} apart; weights: {weights}",
        code="sources_agree" if agree else "sources_differ",
    )


def weighed_citations(weighed: list[Weighed]) -> tuple[Citation, ...]:
    """The citations of every source; with several, each names its weight."""
    if len(weighed) == 1:
        return weighed[0].evidence.citations
    return tuple(
        replace(citation, locator=f"{citation.locator} weight {one.weight:.2f}".strip())
        for one in weighed
        for citation in one.evidence.citations
    )


def percent(share: Decimal) -> str:
    return f"{share * 100:.1f} %"


def route_code(route: Route) -> str:
    """The reason of a route as a stable word. An adapter's own reason names slots, so it stays out."""
    if route.adapter is not None:
        return f"claimed_by_{route.adapter}".replace("-", "_")[:40]
    return re.sub(r"[^a-z0-9]+", "_", route.reason.lower()).strip("_")[:40]


def from_record(query: Query, route: Route, found: Recalled) -> Answer:
    """A stored answer that may be served."""
    stored, record = found.stored, found.record
    confidence = beside.confidence(record, stored.origin, stored.kept)
    answer = _of_record(query, route, stored, record, confidence, Freshness.GENERAL)
    return replace(answer, stored=True, hit=found.hit)


def from_expired(query: Query, route: Route, stored: StoredRecord, record: AnswerRecord) -> Answer:
    """A stored answer past its time, marked."""
    answer = _of_record(query, route, stored, record, record.confidence / PPM, Freshness.TIME_SENSITIVE)
    return replace(answer, stale=True)


def client_of(stored: StoredRecord, record: AnswerRecord) -> Client | None:
    """Who stored it, where a client did; of a peer's client the peer as well."""
    client = record.source.client
    if client is None or stored.origin == beside.OURS:
        return client
    return replace(client, by=f"{client.by} at {stored.origin}")


def source_of(stored: StoredRecord, record: AnswerRecord) -> SourceRef:
    """A stored answer as the source of what is said. What a client names as its source is never its id."""
    client = client_of(stored, record)
    name = record.source.id if client is None else client.by
    return SourceRef("cache", name, record.source.url, record.source.time, client=client)


def _of_record(
    query: Query,
    route: Route,
    stored: StoredRecord,
    record: AnswerRecord,
    confidence: float,
    freshness: Freshness,
) -> Answer:
    return Answer(
        query=query,
        text=record.answer,
        route=route,
        source=source_of(stored, record),
        confidence=Confidence(confidence, parts_of(record)),
        freshness=freshness,
        citations=citations_of(record),
        cid=str(stored.cid),
        unverified=record.is_unverified,
    )


def from_read(
    query: Query, route: Route, stored: StoredRecord, now: datetime, *, cosine: float | None, share: float
) -> Answer:
    """A stored entry that the packaged reader takes for the answer, whatever its question says."""
    record = stored.record
    assert isinstance(record, AnswerRecord)
    hit = HitInfo(
        kind="read",
        similarity=cosine,
        score=share * record.confidence / PPM,
        threshold=None,
        p_correct=share,
        age_s=max(0, int((now - record.timestamp).total_seconds())),
        origin=stored.origin,
        reason="the reader of notes sees the answer in it",
        code="read",
    )
    answer = from_record(query, route, Recalled(stored, record, hit))
    surely = replace(
        answer.confidence, value=min(answer.confidence.value, round(share, 6)), found=round(share, 6)
    )
    return replace(answer, confidence=surely)


def calibrated(
    weighed: Confidence, query: Query, composed: Composed, second: str | None = None
) -> Confidence:
    """The confidence in a model's answer: the parts as they are, the value as learnt on labelled answers.
    ``second`` is another sample's text. What was not said by a model, and what does not answer, keeps the
    weighted mean of its parts, but is no surer than that its notes hold the answer."""
    draft = composed.draft
    if draft is None:
        if composed.found is None:
            return weighed
        surely = round(composed.found, 6)
        return replace(weighed, value=min(weighed.value, surely), found=surely)
    said = Answered(
        question=query.text,
        text=draft.text,
        logprobs=draft.token_logprobs,
        second=second,
        complete=composed.complete,
        support=composed.support,
        grounded=composed.grounded,
        abstained=composed.abstained,
    )
    told = packaged().judge(said, draft.model)
    value = min(weighed.value, told.value) if composed.abstained else told.value
    if composed.found is not None and composed.grounded:
        value = min(value, composed.found)  # it cannot be surer than that its notes hold the answer
    found = told.found if composed.found is None else round(composed.found, 6)
    return replace(weighed, value=round(value, 6), found=found, support=told.support)


@dataclass(frozen=True, slots=True)
class Sample:
    """What a model said to a question, and how it was judged by itself."""

    query: Query
    composed: Composed
    judged: Confidence


def judged_again(first: Sample, second: Sample) -> Confidence:
    """The confidence in the first answer, now that a second sample is known."""
    draft = second.composed.draft
    return calibrated(first.judged, first.query, first.composed, "" if draft is None else draft.text)


def few_of_each_peer(found: Sequence[Relevant]) -> list[Relevant]:
    """What one peer says is not all that is read, however much it says, and what is ours comes before it."""
    taken: Counter[str] = Counter()
    few: list[Relevant] = []
    for one in found:
        taken[one.stored.origin] += 1
        if one.stored.origin == beside.OURS or taken[one.stored.origin] <= _OF_ONE_PEER:
            few.append(one)
    return sorted(few, key=lambda one: one.stored.origin != beside.OURS)


def is_said_by(one: Relevant, adapters: Collection[str]) -> bool:
    """Whether it is an answer that one of these adapters gave."""
    record = one.stored.record
    assert isinstance(record, AnswerRecord)
    return record.source.kind == "adapter" and record.source.id in adapters


def difference(asked: str, stored: str) -> str:
    """What a reader of the note has to know of how its question differs, in words; empty where nothing."""
    return _told(agree(asked, stored))


def _told(verdict: Verdict) -> str:
    return verdict.reason if verdict.veto in _TOLD and "≠" in verdict.reason else ""


def as_evidence(found: Relevant, asked: str) -> Evidence:
    """A stored record as evidence; whoever reads it, a model too, sees what is only a peer's claim, and what
    the gate finds different in its question."""
    stored = found.stored
    record = stored.record
    assert isinstance(record, AnswerRecord)
    client = record.source.client
    name = record.source.id if client is None or _came_with_the_node(stored) else client.told
    if stored.origin != beside.OURS:
        name = f"{CLAIM}{name}"
    verdict = agree(asked, record.query)
    return Evidence(
        text=record.answer,
        source=SourceRef("cache", name, f"ipfs://{stored.cid}"),
        confidence=beside.confidence(record, stored.origin, stored.kept),
        freshness=Freshness.GENERAL,
        partial=True,
        about=record.query,
        note=_told(verdict),
        relevance=found.relevance,
        cosine=found.cosine,
        is_same=verdict.serve,
        lacks=weekdays.lacking(asked, f"{record.query} {record.answer}"),
    )


def _came_with_the_node(stored: StoredRecord) -> bool:
    """Whether the operator imported it from an export of the starter set."""
    return (stored.kept or {}).get("imported_source") == {"kind": "documents", "id": STARTER}


def scope_as_evidence(stored: StoredRecord) -> str:
    """Who may see what is made from it. What rests on a peer's claim is not published in our name, so that a
    claim that goes round is not taken for agreement."""
    return stored.record.scope if stored.origin == beside.OURS else SCOPE_SHARED


def parts_of(record: AnswerRecord) -> dict[str, float]:
    return {name: part / PPM for name, part in record.confidence_parts.items()}


def citations_of(record: AnswerRecord) -> tuple[Citation, ...]:
    return tuple(Citation(one.source, one.locator, one.snippet, one.url) for one in record.citations)


def joined(query: Query, parts: Sequence[Answer]) -> Answer:
    """Several intents: each part keeps its own route and source; the whole is as sure as its
    least sure part."""
    weakest = min(parts, key=lambda part: part.confidence.value)
    return Answer(
        query=query,
        text="\n".join(_of_its_question(part) for part in parts),
        route=parts[0].route,
        source=SourceRef("composite", "composite"),
        confidence=weakest.confidence,
        freshness=weakest.freshness,
        citations=tuple(one for part in parts for one in part.citations),
        stored=any(part.stored for part in parts),
        parts=tuple(parts),
        stale=any(part.stale for part in parts),
        draft=any(part.draft for part in parts),
        unverified=any(part.unverified for part in parts),
        store_reason=next((part.store_reason for part in parts if part.store_reason), None),
        trace=tuple(step for part in parts for step in part.trace),
        usage=Usage(
            sum(part.usage.prompt_tokens for part in parts),
            sum(part.usage.completion_tokens for part in parts),
        ),
        documents=_in_documents([part.documents for part in parts if part.documents is not None]),
    )


def _in_documents(parts: Sequence[InDocuments]) -> InDocuments | None:
    """What a whole owes to documents: what its parts do."""
    if not parts:
        return None
    return InDocuments(
        any(part.has_contradiction for part in parts),
        tuple(dict.fromkeys(one for part in parts for one in part.disputes)),
        tuple(dict.fromkeys(one for part in parts for one in part.orders)),
        tuple(dict.fromkeys(one for part in parts for one in part.uncited)),
        tuple(dict.fromkeys(one for part in parts for one in part.used)),
    )


def _of_its_question(part: Answer) -> str:
    """A part that found nothing names its question: among others it would not tell which one."""
    return f"{part.query.text}: {part.text}" if part.source.kind == "fallback" else part.text


def search_answer(query: Query, route: Route, recall: Recall) -> Answer:
    """A look-up as an answer, so that it is logged and counted like every other decision."""
    found = recall.found
    outcome = "shadow" if not found and recall.code == "would_hit" else recall.outcome
    answer = Answer(
        query=query,
        text="",
        route=route,
        source=SourceRef("fallback", "search"),
        confidence=Confidence(0.0, {}),
        freshness=Freshness.GENERAL,
        trace=(Step("recall", outcome, recall.reason, code=recall.code),),
    )
    if found is None:
        return answer
    return replace(
        answer,
        text=found.record.answer,
        source=source_of(found.stored, found.record),
        confidence=Confidence(found.record.confidence / PPM, {}),
        cid=str(found.stored.cid),
        stored=True,
        hit=found.hit,
    )
