"""The walk of a query: understand, recall, ask, compose, judge, remember, record.

The only file that knows the order of the stations; the order itself is a table (``classify.route``), one
row for each kind of question. A station takes the walk so far and returns an answer or nothing;
each leaves a step in the trace. Whatever is missing or fails, an answer comes back.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from node.cache import gate
from node.cache.recall import Recalled, Recaller, Seen
from node.cache.single_flight import SingleFlight
from node.classify.route import Router, split
from node.classify.sessions import Sessions
from node.clock import Clock, random_bytes
from node.errors import NodeError, Unavailable
from node.governance.entry import decision_entry
from node.model import (
    PPM,
    Answer,
    Citation,
    Confidence,
    DecisionRef,
    Evidence,
    Found,
    Freshness,
    Kind,
    Missed,
    Query,
    Recognition,
    Route,
    Source,
    SourceRef,
    Step,
    Unclear,
    Usage,
)
from node.normalise import normalise
from node.ports import Adapter, AuditLog, Embedder, StoredRecord, Vector
from node.record import AnswerRecord, ModelRef
from node.score.confidence import Origin, judge, observe, origin_of
from node.score.freshness import lifetime_s
from node.store.remember import Memory, Remembered, Rememberer, scope_for
from node.synthesise.compose import Composed, Composer

STALE_CONFIDENCE_MAX = 0.6
NEAR_MIN = 0.5
"""Cosine from which a stored record that does not answer the question may still be context."""
STORE_WAIT_S = 2.0
"""How long a reply waits for its own write; the write goes on behind it."""
ACKNOWLEDGEMENT = "Understood. That was not a question, so nothing was looked up; ask me anything."


@dataclass(slots=True)
class _Walk:
    """One part of one request under way."""

    query: Query
    route: Route
    history: tuple[tuple[str, str], ...]
    trace: list[Step] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    evidence_scopes: set[str] = field(default_factory=set)
    seen: tuple[Seen, ...] = ()
    expired: StoredRecord | None = None
    could_not_look_up: str | None = None
    vector: Vector | None = None
    embedded: bool = False


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one part came to; shared by simultaneous equal questions."""

    answer: Answer
    vector: Vector | None
    remembered: Remembered | None
    llm: ModelRef | None = None
    grounded: bool = False
    will_store: bool = False
    store_reason: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """What of the settings decides in the walk. ``version`` names it in the log."""

    confidence_min: float
    publish: str
    refuse_unlogged: bool
    version: str


class Pipeline:
    """Answers queries. Every port is handed in; nothing is built here."""

    def __init__(
        self,
        *,
        clock: Clock,
        router: Router,
        sessions: Sessions,
        recaller: Recaller,
        embedder: Embedder,
        adapters: Mapping[str, Adapter],
        composer: Composer,
        rememberer: Rememberer,
        log: AuditLog,
        policy: Policy,
    ) -> None:
        self._clock = clock
        self._router = router
        self._sessions = sessions
        self._recaller = recaller
        self._embedder = embedder
        self._adapters = adapters
        self._composer = composer
        self._rememberer = rememberer
        self._log = log
        self._policy = policy
        self._flights: SingleFlight[_Outcome] = SingleFlight()
        self._stations: Mapping[Source, Callable[[_Walk], Awaitable[_Outcome | None]]] = {
            Source.ACKNOWLEDGE: self._acknowledge,
            Source.CACHE: self._recall,
            Source.ADAPTER: self._ask,
            Source.STALE: self._serve_stale,
            Source.DOCUMENTS: self._consult,
            Source.MODEL: self._compose,
        }

    # --- understand -------------------------------------------------------------------------------

    def understand(self, query: Query) -> list[tuple[Query, Route]]:
        """The question's parts, each with its route. Nothing is asked of anyone. The words as they came
        are classified, for the marks that normalisation drops tell a question from a statement."""
        has_history = bool(self._sessions.history(query.caller.tenant, query.session))
        parts = split(query.asked.strip()) or (query.asked,)
        return [
            (
                replace(query, text=normalise(part)),
                self._router.route(part, now=query.received, has_history=has_history),
            )
            for part in parts
        ]

    def enter_turn(self, query: Query, answer: str) -> None:
        """Remember a turn of the session for follow-ups."""
        self._sessions.enter(query.caller.tenant, query.session, query.text, answer)

    # --- the walk ---------------------------------------------------------------------------------

    async def answer(self, query: Query) -> Answer:
        """Answer one question. Raises nothing but cancellation, and ``Unavailable`` when the
        decision cannot be logged and the setting says to refuse then."""
        started = self._clock.monotonic()
        parts = self.understand(query)
        took_ms = self._since(started)
        outcomes = await asyncio.gather(*(self._joined(part, route, took_ms) for part, route in parts))
        whole = outcomes[0].answer if len(outcomes) == 1 else _join(query, outcomes)
        logged = await self._record(replace(whole, query=query), outcomes)
        self.enter_turn(query, logged.text)
        return logged

    async def _joined(self, query: Query, route: Route, understood_ms: float) -> _Outcome:
        """Simultaneous equal questions share one computation; everybody keeps an own deadline."""
        if route.kind is Kind.STATEMENT or query.no_cache or query.no_store or route.needs_history:
            return await self._bounded(query, route, understood_ms)
        # The route is of the words as they came, and of their moment: "today" differs at midnight.
        way = (route.kind, route.adapter, route.key)
        key = (query.caller, query.context, query.text, way, query.max_age_s, query.ttl_s, query.tags)
        try:
            async with asyncio.timeout(max(0.0, query.deadline - self._clock.monotonic()) + 1.0):
                outcome, joined = await self._flights.run(
                    key, lambda: self._bounded(query, route, understood_ms)
                )
        except TimeoutError:
            return self._out_of_time(query, route, ())
        if not joined:
            return outcome
        shared = replace(
            outcome.answer,
            query=query,
            trace=(*outcome.answer.trace, Step("single_flight", "joined", "equal_question_under_way")),
        )
        return replace(outcome, answer=shared)

    async def _bounded(self, query: Query, route: Route, understood_ms: float) -> _Outcome:
        walk = _Walk(query, route, self._sessions.history(query.caller.tenant, query.session))
        step = Step("understand", str(route.kind), route.reason, understood_ms, route_code(route))
        walk.trace.append(step)
        try:
            async with asyncio.timeout(max(0.0, query.deadline - self._clock.monotonic()) + 0.5):
                outcome = await self._visit(walk)
        except TimeoutError:
            return self._out_of_time(query, route, tuple(walk.trace))
        return await self._remember(walk, outcome)

    async def _visit(self, walk: _Walk) -> _Outcome:
        for source in walk.route.sources:
            outcome = await self._stations[source](walk)
            if outcome is not None:
                return outcome
        return await self._compose(walk)

    def _out_of_time(self, query: Query, route: Route, trace: tuple[Step, ...]) -> _Outcome:
        text = "I could not find out in time. Please ask again; what was tried is in the trace."
        answer = Answer(
            query=query,
            text=text,
            route=route,
            source=SourceRef("fallback", "deadline"),
            confidence=judge(observe(query.text, text, Origin.FALLBACK)),
            freshness=Freshness.GENERAL,
            trace=(*trace, Step("deadline", "passed", "deadline_passed")),
        )
        return _Outcome(answer, None, None, store_reason="fallback")

    # --- the stations -----------------------------------------------------------------------------

    async def _acknowledge(self, walk: _Walk) -> _Outcome:
        walk.trace.append(Step("acknowledge", "statement", "nothing_asked"))
        answer = Answer(
            query=walk.query,
            text=ACKNOWLEDGEMENT,
            route=walk.route,
            source=SourceRef("statement", "statement"),
            confidence=Confidence(1.0, {}),
            freshness=Freshness.GENERAL,
        )
        return _Outcome(answer, None, None, store_reason="statement")

    async def _recall(self, walk: _Walk) -> _Outcome | None:
        query, route = walk.query, walk.route
        if query.no_cache or route.needs_history:
            reason = "no_cache_asked" if query.no_cache else "needs_history"
            walk.trace.append(Step("recall", "bypassed", reason))
            return None
        started = self._clock.monotonic()
        try:
            recall = await self._recaller.recall(query, route, lambda: self._embed(walk))
        except NodeError as exc:
            walk.trace.append(Step("recall", "failed", str(exc), self._since(started), "store_failed"))
            return None
        walk.seen, walk.expired = recall.seen, recall.expired
        outcome = "hit" if recall.found is not None else "miss"
        walk.trace.append(Step("recall", outcome, recall.reason, self._since(started), recall.code))
        if recall.found is None:
            return None
        return _Outcome(_from_record(walk, recall.found), walk.vector, None, store_reason="from_cache")

    async def _embed(self, walk: _Walk) -> Vector | None:
        """One embedding per text: kept for the write-back."""
        if walk.embedded:
            return walk.vector
        started = self._clock.monotonic()
        walk.embedded = True
        try:
            [walk.vector] = await self._embedder.embed([walk.query.text])
        except Unavailable as exc:
            walk.trace.append(Step("embed", "failed", str(exc), self._since(started), "unavailable"))
            return None
        outcome = "too_long" if walk.vector is None else "ok"
        walk.trace.append(Step("embed", outcome, "", self._since(started)))
        return walk.vector

    async def _ask(self, walk: _Walk) -> _Outcome | None:
        route = walk.route
        adapter = None if route.adapter is None else self._adapters.get(route.adapter)
        if adapter is None:
            if route.kind is Kind.DETERMINISTIC:
                walk.could_not_look_up = "this node has no source for that yet"
                walk.trace.append(Step("adapter", "missing", "no_adapter"))
            return None
        started = self._clock.monotonic()
        recognition = Recognition(
            adapter=adapter.name,
            slots=route.slots,
            key=route.key,
            local=adapter.is_local,
            reason=route.reason,
            unresolved=route.unresolved,
        )
        outcome = await adapter.ask(recognition, walk.query)
        stage, took = f"adapter:{adapter.name}", self._since(started)
        if isinstance(outcome, Found):
            evidence = outcome.evidence
            found = "partial" if evidence.partial else "found"
            walk.trace.append(Step(stage, found, route.reason, took, "slots_matched"))
            if evidence.partial or route.kind is not Kind.DETERMINISTIC:
                walk.evidence.append(evidence)
                return None
            return self._from_adapter(walk, adapter, evidence)
        if isinstance(outcome, Unclear):
            walk.trace.append(Step(stage, "unclear", outcome.reason, took, "unclear"))
            return None
        if isinstance(outcome, Missed):
            walk.trace.append(Step(stage, "missed", outcome.reason, took, "nothing_found"))
        else:
            walk.trace.append(Step(stage, outcome.code, outcome.reason, took, outcome.code))
        walk.could_not_look_up = outcome.reason
        return None

    def _from_adapter(self, walk: _Walk, adapter: Adapter, evidence: Evidence) -> _Outcome:
        confidence = judge(
            observe(
                walk.query.text,
                evidence.text,
                origin_of("adapter", computed=adapter.is_local),
                cited=bool(evidence.citations),
                reliability_max=evidence.confidence,
            )
        )
        stale = evidence.data.get("stale") is True
        route = replace(
            walk.route, slots=evidence.slots or walk.route.slots, key=evidence.key or walk.route.key
        )
        answer = Answer(
            query=walk.query,
            text=evidence.text,
            route=route,
            source=evidence.source,
            confidence=confidence,
            freshness=evidence.freshness,
            citations=evidence.citations,
            stale=stale,
        )
        return _Outcome(answer, walk.vector, None, grounded=True, store_reason="stale" if stale else "")

    async def _serve_stale(self, walk: _Walk) -> _Outcome | None:
        stored = walk.expired
        if stored is None or not isinstance(stored.record, AnswerRecord) or walk.query.max_age_s is not None:
            return None
        record = stored.record
        walk.trace.append(Step("stale", "served", "source_failed_and_expired_record_kept"))
        since = record.timestamp.strftime("%Y-%m-%d %H:%M UTC")
        text = f"{record.answer} (Out of date: stored at {since}; the source could not be asked now.)"
        parts = _parts_of(record)
        answer = Answer(
            query=walk.query,
            text=text,
            route=walk.route,
            source=SourceRef("cache", record.source.id, record.source.url, record.source.time),
            confidence=Confidence(min(STALE_CONFIDENCE_MAX, record.confidence / PPM), parts),
            freshness=Freshness.TIME_SENSITIVE,
            citations=_citations_of(record),
            cid=str(stored.cid),
            stale=True,
        )
        return _Outcome(answer, walk.vector, None, store_reason="stale")

    async def _consult(self, walk: _Walk) -> _Outcome | None:
        """Stored records that are near without answering the question are context for the model;
        those that differ in something that matters (a veto) are not."""
        text = walk.query.text
        near = [
            one
            for one in walk.seen
            if (similarity := one.judged.candidate.similarity) is not None
            and similarity >= NEAR_MIN
            and gate.judge(text, one.record.query, similarity=similarity).veto is None
        ]
        for one in near[:3]:
            record = one.record
            walk.evidence_scopes.add(record.scope)
            walk.evidence.append(
                Evidence(
                    text=record.answer,
                    source=SourceRef("cache", record.source.id, f"ipfs://{one.judged.candidate.cid}"),
                    confidence=record.confidence / PPM,
                    freshness=Freshness.GENERAL,
                    partial=True,
                )
            )
        walk.trace.append(Step("documents", "found" if near else "missed", f"{len(near)}_near_records"))
        if walk.route.kind is Kind.HISTORICAL and not near:
            walk.could_not_look_up = "no stored record answers it"
        return None

    async def _compose(self, walk: _Walk) -> _Outcome:
        started = self._clock.monotonic()
        composed = await self._composer.compose(
            walk.query.text,
            walk.evidence,
            route_kind=walk.route.kind,
            could_not_look_up=walk.could_not_look_up,
            history=walk.history if walk.route.needs_history else (),
            deadline=walk.query.deadline,
            tag=random_bytes(6).hex(),
        )
        walk.trace.extend(composed.tried)
        walk.trace.append(Step("compose", composed.source.kind, composed.source.id, self._since(started)))
        return self._from_model(walk, composed)

    def _from_model(self, walk: _Walk, composed: Composed) -> _Outcome:
        draft = composed.draft
        confidence = judge(
            observe(
                walk.query.text,
                composed.text,
                origin_of(composed.source.kind, grounded=composed.grounded),
                complete=composed.complete,
                abstained=composed.abstained,
                looped=composed.looped,
                grounded=composed.grounded,
                cited=composed.cited,
                uncited_figures=len(composed.uncited_figures),
                context_share=composed.context_share,
            )
        )
        if not composed.grounded:
            freshness = Freshness.MODEL_ALONE
        elif walk.route.kind is Kind.HISTORICAL:
            freshness = Freshness.GOVERNANCE
        else:
            freshness = Freshness.GENERAL
        answer = Answer(
            query=walk.query,
            text=composed.text,
            route=walk.route,
            source=composed.source,
            confidence=confidence,
            freshness=freshness,
            citations=composed.citations,
            usage=Usage() if draft is None else Usage(draft.prompt_tokens, draft.completion_tokens),
        )
        reason = ""
        if composed.source.kind == "fallback":
            reason = "fallback"
        elif walk.route.kind is Kind.DETERMINISTIC:
            reason = "model_on_a_deterministic_question"
        elif walk.route.kind is Kind.HISTORICAL and not composed.grounded:
            reason = "history_without_a_record"
        llm = None if draft is None else ModelRef(draft.model, draft.model_digest)
        return _Outcome(answer, walk.vector, None, llm=llm, grounded=composed.grounded, store_reason=reason)

    # --- remember ---------------------------------------------------------------------------------

    async def _remember(self, walk: _Walk, outcome: _Outcome) -> _Outcome:
        reason = outcome.store_reason
        value, least = outcome.answer.confidence.value, self._policy.confidence_min
        if outcome.answer.hit is None and reason != "statement":
            enough = "enough" if value >= least else "too_low"
            walk.trace.append(Step("judge", enough, f"confidence {value:.3f}, stored from {least:.2f}"))
        answer = replace(outcome.answer, trace=tuple(walk.trace))
        if not reason:
            if walk.query.no_store:
                reason = "no_store_asked"
            elif walk.route.needs_history:
                reason = "needs_history"
            elif value < least:
                reason = "confidence_too_low"
        if reason:
            step = Step("remember", "skipped", reason)
            return replace(outcome, answer=replace(answer, trace=(*answer.trace, step)), store_reason=reason)
        memory = self._memory(walk, outcome)
        started = self._clock.monotonic()
        future = await self._rememberer.submit(memory)
        try:
            remembered = await asyncio.wait_for(asyncio.shield(future), STORE_WAIT_S)
        except TimeoutError:
            remembered = Remembered("queued", "the write goes on behind the reply", memory)
        step = Step("remember", remembered.code, remembered.reason, self._since(started), remembered.code)
        durable = remembered.code in ("stored", "known")
        answer = replace(answer, cid=remembered.cid, stored=durable, trace=(*answer.trace, step))
        return replace(
            outcome, answer=answer, remembered=remembered, will_store=True, store_reason=remembered.code
        )

    def _memory(self, walk: _Walk, outcome: _Outcome) -> Memory:
        answer, query = outcome.answer, walk.query
        scope = scope_for(
            query.caller.default_scope,
            self._policy.publish,
            answer.source,
            outcome.grounded,
            query.text,
            answer.text,
            *query.tags,
            made_from=walk.evidence_scopes,
        )
        return Memory(
            request_id=query.id,
            query=query.text,
            answer=answer.text,
            route=str(answer.route.kind),
            source=answer.source,
            confidence=answer.confidence,
            scope=scope,
            lifetime_s=lifetime_s(
                answer.freshness,
                query=query.text,
                time_sensitive=walk.route.time_sensitive,
                asked_ttl_s=query.ttl_s,
            ),
            context=query.context,
            tags=query.tags,
            slots=answer.route.slots or None,
            slot_key=answer.route.key,
            citations=answer.citations,
            llm=outcome.llm,
            vector=outcome.vector,
        )

    # --- record -----------------------------------------------------------------------------------

    async def _record(self, answer: Answer, outcomes: list[_Outcome]) -> Answer:
        first = outcomes[0]
        entry, private = decision_entry(
            answer,
            policy=self._policy.version,
            embedder=self._embedder.info,
            will_store=any(outcome.will_store for outcome in outcomes),
            store_reason=first.store_reason,
            scope=first.remembered.memory.scope if first.remembered else answer.query.caller.default_scope,
        )
        started = self._clock.monotonic()
        try:
            appended = await self._log.append(entry, private_texts=private)
        except NodeError as exc:
            if self._policy.refuse_unlogged:
                raise Unavailable(f"the decision could not be logged: {exc}") from exc
            return replace(
                answer, trace=(*answer.trace, Step("record", "unlogged", str(exc), code="log_failed"))
            )
        step = Step("record", "logged", "", self._since(started))
        decision = DecisionRef(appended.log, appended.index)
        return replace(answer, decision=decision, trace=(*answer.trace, step))

    def _since(self, started: float) -> float:
        return round((self._clock.monotonic() - started) * 1_000, 3)


def route_code(route: Route) -> str:
    """The reason of a route as a stable word. An adapter's own reason names slots, so it stays out."""
    if route.adapter is not None:
        return f"claimed_by_{route.adapter}".replace("-", "_")[:40]
    return re.sub(r"[^a-z0-9]+", "_", route.reason.lower()).strip("_")[:40]


def _from_record(walk: _Walk, found: Recalled) -> Answer:
    record = found.record
    return Answer(
        query=walk.query,
        text=record.answer,
        route=walk.route,
        source=SourceRef("cache", record.source.id, record.source.url, record.source.time),
        confidence=Confidence(record.confidence / PPM, _parts_of(record)),
        freshness=Freshness.GENERAL,
        citations=_citations_of(record),
        cid=str(found.stored.cid),
        stored=True,
        hit=found.hit,
    )


def _parts_of(record: AnswerRecord) -> dict[str, float]:
    return {name: part / PPM for name, part in record.confidence_parts.items()}


def _citations_of(record: AnswerRecord) -> tuple[Citation, ...]:
    return tuple(Citation(one.source, one.locator, one.snippet, one.url) for one in record.citations)


def _join(query: Query, outcomes: list[_Outcome]) -> Answer:
    """Several intents: each part keeps its own route and source; the whole is as sure as its
    least sure part."""
    parts = tuple(outcome.answer for outcome in outcomes)
    weakest = min(parts, key=lambda part: part.confidence.value)
    return Answer(
        query=query,
        text="\n".join(part.text for part in parts),
        route=parts[0].route,
        source=SourceRef("composite", "composite"),
        confidence=weakest.confidence,
        freshness=weakest.freshness,
        citations=tuple(one for part in parts for one in part.citations),
        stored=any(part.stored for part in parts),
        parts=parts,
        stale=any(part.stale for part in parts),
        trace=tuple(step for part in parts for step in part.trace),
        usage=Usage(
            sum(part.usage.prompt_tokens for part in parts),
            sum(part.usage.completion_tokens for part in parts),
        ),
    )
