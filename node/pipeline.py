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
from decimal import Decimal

from node.cache import gate
from node.cache.recall import Recalled, Recaller, Seen
from node.cache.single_flight import SingleFlight
from node.classify.sessions import Sessions
from node.classify.understand import Part, Understanding
from node.clock import Clock, random_bytes
from node.errors import NodeError, Unavailable
from node.governance.entry import decision_entry
from node.model import (
    CLAIM,
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
    Outcome,
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
from node.ports import Adapter, AuditLog, Embedded, Semantics, StoredRecord
from node.record import AnswerRecord, ModelRef
from node.score.agreement import TOLERANCE, WIDE, Weighed, weigh
from node.score.confidence import Origin, judge, observe, origin_of
from node.score.freshness import CLASS_LIMIT_S, lifetime_s
from node.store.remember import Memory, Remembered, Rememberer, scope_for
from node.synthesise.compose import Composed, Composer

STALE_CONFIDENCE_MAX = 0.6
NEAR_MIN = 0.5
"""Cosine from which a stored record that does not answer the question may still be context."""
SECOND_OPINION_WAIT_S = 1.0
"""How long an answer waits for a second source to compare with."""
DOUBTFUL_MAX = 0.5
"""Reliability at most of a figure that another source contradicts by a wide margin."""
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
    vector: Embedded | None = None
    embedded: bool = False


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one part came to; shared by simultaneous equal questions."""

    answer: Answer
    vector: Embedded | None
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
        understanding: Understanding,
        sessions: Sessions,
        recaller: Recaller,
        semantics: Semantics,
        adapters: Mapping[str, Adapter],
        composer: Composer,
        rememberer: Rememberer,
        log: AuditLog,
        policy: Policy,
    ) -> None:
        self._clock = clock
        self._understanding = understanding
        self._sessions = sessions
        self._recaller = recaller
        self._semantics = semantics
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

    def understand(self, query: Query) -> list[tuple[Query, Part]]:
        """The question's self-contained parts, each with its route by rules. Nothing is asked of anyone. The
        words as they came are classified, for the marks that normalisation drops tell a question from a
        statement."""
        turns = [asked for asked, _ in self._sessions.history(query.caller.tenant, query.session)]
        parts = self._understanding.part(query.asked, now=query.local, turns=turns)
        return [(replace(query, text=normalise(part.text)), part) for part in parts]

    async def settled(self, query: Query) -> list[Part]:
        """The question's parts with what the classifier on the embedding adds where no rule is sure."""
        parts = self.understand(query)
        return [await self._understanding.settle(part, now=query.local) for _, part in parts]

    def enter_turn(self, query: Query, text: str, answer: str) -> None:
        """Remember a turn of the session for follow-ups: the question in its self-contained form."""
        self._sessions.enter(query.caller.tenant, query.session, text, answer)

    # --- the walk ---------------------------------------------------------------------------------

    async def answer(self, query: Query) -> Answer:
        """Answer one question. Raises nothing but cancellation, and ``Unavailable`` when the
        decision cannot be logged and the setting says to refuse then."""
        started = self._clock.monotonic()
        parts = self.understand(query)
        took_ms = self._since(started)
        outcomes = await asyncio.gather(*(self._joined(asked, part, took_ms) for asked, part in parts))
        whole = outcomes[0].answer if len(outcomes) == 1 else _join(query, outcomes)
        logged = await self._record(replace(whole, query=query), outcomes)
        for (_, part), outcome in zip(parts, outcomes, strict=True):
            self.enter_turn(query, part.text, outcome.answer.text)
        return logged

    async def _joined(self, query: Query, part: Part, understood_ms: float) -> _Outcome:
        """Simultaneous equal questions share one computation; everybody keeps an own deadline."""
        route = part.route
        if route.kind is Kind.STATEMENT or query.no_cache or query.no_store or route.needs_history:
            return await self._bounded(query, part, understood_ms)
        # The route is of the words as they came, and of their moment: "today" differs at midnight.
        way = (route.kind, route.adapter, route.key)
        asker = (query.caller, query.context, str(query.zone))
        key = (asker, query.text, way, query.max_age_s, query.ttl_s, query.tags)
        try:
            async with asyncio.timeout(max(0.0, query.deadline - self._clock.monotonic()) + 1.0):
                outcome, joined = await self._flights.run(
                    key, lambda: self._bounded(query, part, understood_ms)
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

    async def _bounded(self, query: Query, part: Part, understood_ms: float) -> _Outcome:
        try:
            async with asyncio.timeout(max(0.0, query.deadline - self._clock.monotonic()) + 0.5):
                if part.open and (query.no_cache or not await self._known(query)):
                    part = await self._understanding.settle(part, now=query.local)
        except TimeoutError:
            return self._out_of_time(query, part.route, ())
        route = part.route
        walk = _Walk(query, route, self._sessions.history(query.caller.tenant, query.session))
        if part.vector is not None:
            walk.vector, walk.embedded = part.vector, True
            walk.trace.append(Step("embed", "ok", "to_classify", round(part.embedding_ms, 3)))
        if part.resolved:
            walk.trace.append(
                Step("resolve", "resolved", f"{part.resolved}: {query.text}", code="follow_up_resolved")
            )
        step = Step("understand", str(route.kind), route.reason, understood_ms, route_code(route))
        walk.trace.append(step)
        try:
            async with asyncio.timeout(max(0.0, query.deadline - self._clock.monotonic()) + 0.5):
                outcome = await self._visit(walk)
        except TimeoutError:
            return self._out_of_time(query, route, tuple(walk.trace))
        return await self._remember(walk, outcome)

    async def _known(self, query: Query) -> bool:
        """Whether these very words have an answer stored: then nothing is embedded to route them."""
        try:
            return await self._recaller.knows(query)
        except NodeError:
            return False

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

    async def _embed(self, walk: _Walk) -> Embedded | None:
        """One embedding per text: kept for the write-back."""
        if walk.embedded:
            return walk.vector
        started = self._clock.monotonic()
        walk.embedded = True
        try:
            [walk.vector] = await self._semantics.embed([walk.query.text])
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
        claim = Recognition(
            adapter=adapter.name,
            slots=route.slots,
            key=route.key,
            local=adapter.is_local,
            reason=route.reason,
            strength=route.strength,
            unresolved=route.unresolved,
            kind=route.kind,
        )
        results = await self._ask_all(walk, adapter, claim)
        found: list[tuple[str, float, Evidence]] = []
        unclear: Unclear | None = None
        for recognition, outcome, took in results:
            walk.trace.append(_asked(recognition, outcome, took))
            if isinstance(outcome, Found):
                found.append((recognition.adapter, recognition.strength, outcome.evidence))
            elif claim.strength < CLAIM:
                continue  # it was only to add context: nothing that had to be looked up is missing
            elif isinstance(outcome, Unclear):
                unclear = unclear or outcome
            elif recognition is claim:
                walk.could_not_look_up = outcome.reason
        if not found:
            return None if unclear is None else self._ask_back(walk, unclear)
        weighed = weigh(found)
        if len(weighed) > 1:
            walk.trace.append(_compared(weighed))
        best = weighed[0].evidence
        if best.partial or route.kind not in (Kind.DETERMINISTIC, Kind.HISTORICAL):
            walk.evidence.extend(one.evidence for one in weighed)
            return None
        return self._from_adapter(walk, self._adapters[weighed[0].adapter], weighed)

    async def _ask_all(
        self, walk: _Walk, adapter: Adapter, claim: Recognition
    ) -> list[tuple[Recognition, Outcome, float]]:
        """Ask the adapter of the route and, beside it, the others of the same key. An answer does not wait
        long for a second opinion; a failure waits for it as for the first."""
        started = self._clock.monotonic()
        asked: list[tuple[Recognition, Adapter]] = [(claim, adapter)]
        asked += [
            (one, other)
            for one in walk.route.others
            if (other := self._adapters.get(one.adapter)) is not None
        ]

        async def ask(one: Recognition, other: Adapter) -> tuple[Recognition, Outcome, float]:
            outcome = await other.ask(one, walk.query)
            return one, outcome, self._since(started)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(one, other)) for one, other in asked]
            first = await tasks[0]
            rest = set(tasks[1:])
            if rest and isinstance(first[1], Found):
                timer = group.create_task(self._clock.sleep(SECOND_OPINION_WAIT_S))
                while not timer.done() and not all(task.done() for task in rest):
                    waiting = {task for task in rest if not task.done()}
                    await asyncio.wait({timer, *waiting}, return_when=asyncio.FIRST_COMPLETED)
                timer.cancel()
                for task in rest:
                    task.cancel()
            elif rest:
                await asyncio.wait(rest)
        return [task.result() for task in tasks if not task.cancelled()]

    def _ask_back(self, walk: _Walk, unclear: Unclear) -> _Outcome:
        """A question to the asker in place of a guess."""
        answer = Answer(
            query=walk.query,
            text=unclear.ask,
            route=walk.route,
            source=SourceRef("adapter", walk.route.adapter or "adapter"),
            confidence=judge(observe(walk.query.text, unclear.ask, Origin.FALLBACK, abstained=True)),
            freshness=Freshness.TIME_SENSITIVE,
        )
        return _Outcome(answer, walk.vector, None, store_reason="unclear")

    def _from_adapter(self, walk: _Walk, adapter: Adapter, weighed: list[Weighed]) -> _Outcome:
        best, evidence = weighed[0], weighed[0].evidence
        doubtful = best.apart is not None and best.apart > WIDE
        text = evidence.text
        if best.apart is not None and best.apart > TOLERANCE:
            rivals = "; ".join(
                f"{one.evidence.citations[0].source}: {one.evidence.text}"
                for one in weighed[1:]
                if one.evidence.figures and one.evidence.citations
            )
            text = f"{text} Another source differs by {_percent(best.apart)} ({rivals})"
        confidence = judge(
            observe(
                walk.query.text,
                evidence.text,
                origin_of("adapter", computed=adapter.is_local),
                cited=bool(evidence.citations),
                reliability_max=min(evidence.confidence, DOUBTFUL_MAX if doubtful else 1.0),
                sources_independent=best.comparable,
                sources_agreeing=best.agreeing,
            )
        )
        stale = evidence.data.get("stale") is True
        route = replace(
            walk.route, slots=evidence.slots or walk.route.slots, key=evidence.key or walk.route.key
        )
        answer = Answer(
            query=walk.query,
            text=text,
            route=route,
            source=evidence.source,
            confidence=confidence,
            freshness=evidence.freshness,
            citations=_weighed_citations(weighed),
            stale=stale,
        )
        reason = "stale" if stale else "sources_disagree" if doubtful else ""
        return _Outcome(answer, walk.vector, None, grounded=True, store_reason=reason)

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
            freshness = _shortest([one.freshness for one in walk.evidence])
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
            embed="later" if walk.embedded else "now",
        )

    # --- record -----------------------------------------------------------------------------------

    async def _record(self, answer: Answer, outcomes: list[_Outcome]) -> Answer:
        first = outcomes[0]
        entry, private = decision_entry(
            answer,
            policy=self._policy.version,
            embedder=next(
                (one.vector.info for one in outcomes if one.vector is not None), self._semantics.info
            ),
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


def _shortest(classes: list[Freshness]) -> Freshness:
    """An answer lives no longer than the most volatile thing that it rests on, nor than general knowledge."""
    limits = {one: limit for one in classes if (limit := CLASS_LIMIT_S[one]) is not None}
    shortest = min(limits, key=lambda one: limits[one], default=Freshness.GENERAL)
    longest = CLASS_LIMIT_S[Freshness.GENERAL]
    assert longest is not None
    return shortest if limits.get(shortest, longest) < longest else Freshness.GENERAL


def _asked(recognition: Recognition, outcome: Outcome, took_ms: float) -> Step:
    """How asking one adapter went, as a line of the trace."""
    stage = f"adapter:{recognition.adapter}"
    if isinstance(outcome, Found):
        word = "partial" if outcome.evidence.partial else "found"
        return Step(stage, word, recognition.reason, took_ms, "slots_matched")
    if isinstance(outcome, Unclear):
        return Step(stage, "unclear", outcome.reason, took_ms, "unclear")
    if isinstance(outcome, Missed):
        return Step(stage, "missed", outcome.reason, took_ms, "nothing_found")
    return Step(stage, outcome.code, outcome.reason, took_ms, outcome.code)


def _compared(weighed: list[Weighed]) -> Step:
    """How the sources weigh against each other and whether their figures agree."""
    weights = ", ".join(f"{one.adapter} {one.weight:.2f}" for one in weighed)
    best = weighed[0]
    if best.apart is None:
        return Step("compare", "incomparable", f"weights: {weights}", code="no_common_figure")
    agree = best.apart <= TOLERANCE
    return Step(
        "compare",
        "agree" if agree else "differ",
        f"{_percent(best.apart)} apart; weights: {weights}",
        code="sources_agree" if agree else "sources_differ",
    )


def _weighed_citations(weighed: list[Weighed]) -> tuple[Citation, ...]:
    """The citations of every source; with several, each names its weight."""
    if len(weighed) == 1:
        return weighed[0].evidence.citations
    return tuple(
        replace(citation, locator=f"{citation.locator} weight {one.weight:.2f}".strip())
        for one in weighed
        for citation in one.evidence.citations
    )


def _percent(share: Decimal) -> str:
    return f"{share * 100:.1f} %"


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
