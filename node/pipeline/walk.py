"""The walk of a query: understand, recall, ask, compose, judge, remember, record.

The only file that knows the order of the stations; the order itself is a table (``understanding.route``), one
row for each kind of question. A station takes the walk so far and returns an answer or nothing;
each leaves a step in the trace. Whatever is missing or fails, an answer comes back.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from node.answer import reasons
from node.answer.compose import Composer
from node.answer.composed import Composed
from node.answer.quotes import quoted, unanswered
from node.answer.revise import first_sentence, revision
from node.answer.score.agreement import Weighed, weigh
from node.answer.score.confidence import Origin, judge, observe, origin_of
from node.answer.stream import Audience, without_text
from node.audit.decisions.entry import decision_entry, store_entry
from node.cache.recall import Recall, Recaller
from node.cache.refuted import NothingRefuted, Refuted, Said
from node.cache.watch import Watch
from node.core.clock import Clock, new_id, random_bytes
from node.core.errors import NodeError, Unavailable
from node.core.metrics import Unlogged
from node.core.model import (
    CLAIM,
    PPM,
    Answer,
    Confidence,
    DecisionRef,
    Evidence,
    Found,
    Freshness,
    Json,
    Kind,
    Outcome,
    Query,
    Recognition,
    Route,
    Source,
    SourceRef,
    Step,
    Unclear,
    Usage,
    private_scope,
)
from node.core.normalise import normalise, query_hash
from node.core.ports import Adapter, AuditLog, Embedded, Relevant, Retriever, Semantics, StoredRecord, Tell
from node.core.record import AnswerRecord, ModelRef
from node.language import conversation, tongue
from node.language.same_answer import TOLERANCE, WIDE
from node.pipeline import replies
from node.pipeline.drafts import Drafts
from node.pipeline.failures import PATIENCE, Failure, NegativeCache
from node.pipeline.single_flight import SingleFlight
from node.pipeline.understanding import pasted
from node.pipeline.understanding.question import REACTION, language_of
from node.pipeline.understanding.sessions import Sessions
from node.pipeline.understanding.understand import Part, Understanding
from node.store.remember import Memory, Remembered, Rememberer, scope_for
from node.store.retention.freshness import Lifetime, Stale, lifetime, stale_windows
from node.store.retention.volatility import only_sounds_of_now, volatility

STALE_CONFIDENCE_MAX = 0.6
STATEMENT_FLOOR = 0.8
STATEMENT_WORDS, LOOKED_UP_WORDS = 4, 5
"""Words that only tell are read beside the notes from so many on, and looked up: fewer are remarks."""
NOTES_MAX = 12
"""So many stored entries are offered as evidence."""
SECOND_OPINION_WAIT_S = 1.0
"""How long an answer waits for a second source to compare with."""
DOUBTFUL_MAX = 0.5
"""Reliability at most of a figure that another source contradicts by a wide margin."""
STORE_WAIT_S = 2.0
"""How long a reply waits for its own write; the write goes on behind it."""
HURRY_S = 0.1
"""What ends this close to its asker's deadline may have ended because of it."""
_REWORDS = frozenset({"simpler", "language"})
"""Orders for which the last answer itself is better than nothing."""
ASKED_MAX = 1_024
"""Requests whose questions are remembered."""
REFUTED_CONFIDENCE_MAX = 0.3
"""Of an answer that says what was called invalid."""
REFUTED_NOTE = "This may be wrong: the same answer to this question was marked as invalid before."
SECOND_TEMPERATURE, SECOND_SEED = 0.7, 1
"""Of the second sample: another one than the likeliest, and the same one each time."""
FLIGHTS_MAX = 3
"""How many computations a question may wait for whose first askers ran out of time."""


@dataclass(slots=True)
class _Walk:
    """One part of one request under way."""

    query: Query
    route: Route
    history: tuple[tuple[str, str], ...]
    trace: list[Step] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    evidence_scopes: set[str] = field(default_factory=set)
    expired: StoredRecord | None = None
    recall: Recall | None = None
    could_not_look_up: str | None = None
    vector: Embedded | None = None
    embedded: bool = False
    began: float = 0.0
    """On the monotonic clock: what an answer cost to make is counted from here."""
    patience_s: float = 0.0
    """What the asker had left when the walk began."""
    tell: Tell | None = None
    retry_after_s: int | None = None
    """No model had time for it; then it says nothing about the question."""
    read_as: str | None = None
    """The question in English, where it is in another language."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a walk ended without an answer: what is said again while that is remembered."""

    text: str
    source: SourceRef
    confidence: Confidence
    store_reason: str


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
    abstained: bool = False
    failed_with_s: float | None = None
    """It found no answer, and its asker had so many seconds for it; 0 where they ran out. It says nothing to
    somebody who has clearly more. None: there is an answer."""
    recall: Recall | None = None
    """What the look-up said, where there was one."""
    composed: Composed | None = None
    """What a model said, for a second sample to be compared with."""
    draft: Hashable = None
    """The key of the draft that it is, or that it was kept as."""


def _words(reason: str) -> str:
    """Why an answer is not stored, for people: ``being checked``."""
    return reason.replace("_", " ")


def _marked(outcome: _Outcome) -> Answer:
    """The answer, marked where a model said it on no evidence. Not to know is no claim."""
    answer = outcome.answer
    alone = answer.source.kind == "llm" and not outcome.grounded and not outcome.abstained
    return replace(answer, unverified=answer.unverified or alone)


@dataclass(frozen=True, slots=True)
class Policy:
    """What of the settings decides in the walk. ``version`` names it in the log."""

    confidence_min: float
    publish: str
    refuse_unlogged: bool
    version: str
    shadow: bool = False
    """Semantic hits are told to ``Watch`` and not served."""


Refresh = Callable[[Hashable, Callable[[float], Awaitable[bool]]], bool]
"""Asks for a computation behind the reply, one for each key at a time; whether one is under way now."""
Hear = Callable[[Answer, Mapping[str, Json]], None]
"""Is told every answer and its decision, for those who ask about it later."""
JudgeAgain = Callable[[replies.Sample, replies.Sample], Confidence]
"""The confidence in the first answer to a question, now that a second sample is known."""
SampleAgain = Callable[[Hashable, Callable[[float], Awaitable[None]]], bool]
"""Asks for a second sample behind the reply, one for each key at a time; whether one is under way now."""
IsLive = Callable[[StoredRecord], Awaitable[bool]]
"""Whether a record that was found some time ago may still be served."""


class Pipeline:
    """Answers queries. Every port is handed in; nothing is built here."""

    def __init__(
        self,
        *,
        clock: Clock,
        understanding: Understanding,
        sessions: Sessions,
        recaller: Recaller,
        retriever: Retriever,
        semantics: Semantics,
        adapters: Mapping[str, Adapter],
        composer: Composer,
        rememberer: Rememberer,
        log: AuditLog,
        policy: Policy,
        failures: NegativeCache[Outcome | _Ended],
        refresh: Refresh,
        is_live: IsLive,
        unlogged: Unlogged,
        watch: Watch | None = None,
        hear: Hear = lambda _answer, _entry: None,
        drafts: Drafts[Any] | None = None,
        refuted: Refuted | None = None,
        sample_again: SampleAgain | None = None,
        judge_again: JudgeAgain = replies.judged_again,
    ) -> None:
        self._clock = clock
        self._understanding = understanding
        self._sessions = sessions
        self._recaller = recaller
        self._retriever = retriever
        self._semantics = semantics
        self._adapters = adapters
        self._composer = composer
        self._rememberer = rememberer
        self._log = log
        self._policy = policy
        self._watch = watch
        self._hear = hear
        self._failures = failures
        self._refresh = refresh
        self._is_live = is_live
        self._unlogged = unlogged
        self._drafts: Drafts[_Outcome] = Drafts(clock.monotonic) if drafts is None else drafts
        self._refuted = refuted or NothingRefuted()
        self._sample_again = sample_again
        self._judge_again = judge_again
        self._asked: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._under_way = 0
        self._flights: SingleFlight[_Outcome] = SingleFlight()
        self._audiences: dict[Hashable, Audience] = {}
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
        return [(_of_part(query, part), part) for part in parts]

    async def settled(self, query: Query) -> list[Part]:
        """The question's parts with what the classifier on the embedding adds where no rule is sure."""
        parts = self.understand(query)
        return [await self._understanding.settle(part, now=query.local) for _, part in parts]

    def enter_turn(self, query: Query, text: str, answer: str) -> None:
        """Remember a turn of the session for follow-ups: the question in its self-contained form."""
        if text:  # a text of which nothing was asked is no turn to go on from
            self._sessions.enter(query.caller.tenant, query.session, text, answer)

    def _go_on_from(self, query: Query, part: Part, answer: Answer) -> None:
        """Remember the turn, unless there is nothing to go on from: politeness, or an order that nobody could
        carry out. One that was carried out gives the question before it another answer."""
        if conversation.talk(part.text) is not None:
            return
        text = part.text
        if conversation.order(text) is not None and part.route.needs_history:
            if answer.source.kind == "fallback":
                return
            text = self._sessions.history(query.caller.tenant, query.session)[-1][0]
        self.enter_turn(query, text, answer.text)

    # --- the walk ---------------------------------------------------------------------------------

    async def answer(self, query: Query, tell: Tell | None = None) -> Answer:
        """Answer one question. ``tell`` hears what goes on meanwhile: ``route``, and what
        ``node.core.ports.Tell`` names. Raises nothing but cancellation, and ``Unavailable`` when the
        decision cannot be logged and the setting says to refuse then."""
        self._under_way += 1
        try:
            return await self._answer(query, tell)
        finally:
            self._under_way -= 1

    @property
    def under_way(self) -> int:
        """Questions that are being answered at this moment."""
        return self._under_way

    async def _answer(self, query: Query, tell: Tell | None) -> Answer:
        started = self._clock.monotonic()
        parts = self.understand(query)
        took_ms = self._since(started)
        if tell is not None and len(parts) > 1:
            tell = without_text(tell)
        outcomes = await asyncio.gather(*(self._joined(asked, part, took_ms, tell) for asked, part in parts))
        for outcome in outcomes:
            if outcome.draft is not None:
                self._drafts.answered(query.id, outcome.draft)
        whole = (
            outcomes[0].answer
            if len(outcomes) == 1
            else replies.joined(query, [outcome.answer for outcome in outcomes])
        )
        logged = await self._record(replace(whole, query=query), outcomes)
        if len(parts) == 1:
            self.note_asked(query, parts[0][1].text)
        for (asked, part), outcome in zip(parts, outcomes, strict=True):
            if not part.route.about_node:
                self._go_on_from(query, part, outcome.answer)
            if self._watch is not None and outcome.recall is not None:
                withheld = self._policy.shadow and replies.is_semantic(outcome.recall)
                self._watch.recalled(asked, outcome.answer, outcome.recall, withheld=withheld)
        return logged

    def note_asked(self, query: Query, text: str) -> None:
        """The self-contained question of a request, so that feedback on it is about what was asked."""
        self._asked[query.id] = (query.caller.tenant, normalise(text))
        self._asked.move_to_end(query.id)
        if len(self._asked) > ASKED_MAX:
            self._asked.popitem(last=False)

    def asked_in(self, request: str, tenant: str) -> str | None:
        """The question of a request of this tenant, while it is remembered: in memory, for the last ones."""
        asked_by, text = self._asked.get(request, ("", ""))
        return text if text and asked_by == tenant else None

    async def afresh(self, query: Query) -> Answer | None:
        """The answer past the cache, for whoever checks a stored one: nothing is remembered, no turn is
        entered and no decision logged. None where the words are several questions."""
        parts = self.understand(query)
        if len(parts) != 1:
            return None
        [(asked, part)] = parts
        past_cache = replace(asked, no_cache=True, no_store=True)
        return (await self._bounded(past_cache, part, 0.0)).answer

    async def _joined(self, query: Query, part: Part, understood_ms: float, tell: Tell | None) -> _Outcome:
        """Simultaneous equal questions share one computation; everybody keeps an own deadline."""
        route = part.route
        if route.kind is Kind.STATEMENT or query.no_cache or query.no_store or route.needs_history:
            return await self._bounded(query, part, understood_ms, tell)
        # The route is of the words as they came, and of their moment: "today" differs at midnight.
        way = (route.kind, route.adapter, route.key)
        asker = (query.caller, query.context, str(query.zone))
        key = (asker, query.text, way, query.max_age_s, query.ttl_s, query.tags)
        audience = self._audiences.setdefault(key, Audience())

        async def computed() -> _Outcome:
            audience.begin()
            return await self._bounded(query, part, understood_ms, audience.tell)

        try:
            async with asyncio.timeout(self._left_s(query) + 1.0), self._watching(key, audience, tell):
                for _ in range(FLIGHTS_MAX):
                    outcome, joined = await self._flights.run(key, computed)
                    had_s = outcome.failed_with_s
                    if not joined or had_s is None or self._left_s(query) <= max(HURRY_S, had_s * PATIENCE):
                        break  # else it was another asker who had too little time, and this one has more
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

    @asynccontextmanager
    async def _watching(self, key: Hashable, audience: Audience, tell: Tell | None) -> AsyncIterator[None]:
        try:
            with audience.joined(tell):
                yield
        finally:
            if audience.is_empty and self._audiences.get(key) is audience:
                del self._audiences[key]

    async def _bounded(
        self, query: Query, part: Part, understood_ms: float, tell: Tell | None = None
    ) -> _Outcome:
        patience_s = self._left_s(query)
        try:
            async with asyncio.timeout(patience_s + 0.5):
                if part.open and (query.no_cache or not await self._known(query)):
                    part = await self._understanding.settle(part, now=query.local)
        except TimeoutError:
            return self._out_of_time(query, part.route, ())
        route = part.route
        history = self._sessions.history(query.caller.tenant, query.session)
        if tell is not None:
            tell("route", {"route": str(route.kind), "adapter": route.adapter})
        walk = _Walk(query, route, history, patience_s=patience_s, began=self._clock.monotonic(), tell=tell)
        if query.pasted:
            walk.evidence.append(replies.pasted(query.pasted))
        if part.vector is not None:
            walk.vector, walk.embedded = part.vector, True
            walk.trace.append(Step("embed", "ok", "to_classify", round(part.embedding_ms, 3)))
        if part.resolved:
            walk.trace.append(
                Step("resolve", "resolved", f"{part.resolved}: {query.text}", code="follow_up_resolved")
            )
        step = Step("understand", str(route.kind), route.reason, understood_ms, replies.route_code(route))
        walk.trace.append(step)
        try:
            async with asyncio.timeout(self._left_s(query) + 0.5):
                outcome = await self._visit(walk)
        except TimeoutError:
            return self._out_of_time(query, route, tuple(walk.trace))
        return replace(await self._remember(walk, outcome), recall=walk.recall)

    async def _known(self, query: Query) -> bool:
        """Whether these very words have an answer stored: then nothing is embedded to route them."""
        try:
            return await self._recaller.knows(query)
        except NodeError:
            return False

    async def _visit(self, walk: _Walk) -> _Outcome:
        looked = False
        for source in walk.route.sources:
            if not looked and source not in (Source.ACKNOWLEDGE, Source.CACHE):
                looked = True
                outcome = await self._failed_before(walk)
                if outcome is not None:
                    return outcome
            outcome = self._drafted(walk) if source is Source.MODEL else None
            outcome = outcome or await self._stations[source](walk)
            if outcome is not None:
                break
        else:
            outcome = self._drafted(walk) or await self._compose(walk)
        return await self._ended(walk, outcome)

    # --- failures ---------------------------------------------------------------------------------

    def _left_s(self, query: Query) -> float:
        return max(0.0, query.deadline - self._clock.monotonic())

    def _key(self, query: Query, key: str | None) -> Hashable:
        """Everything that makes two askers of one thing different."""
        caller = query.caller
        what = key if key is not None else (query_hash(query.text), str(query.zone))
        return (caller.tenant, caller.default_scope, query.context, what)

    def _answer_key(self, query: Query, route: Route) -> Hashable:
        """Of a whole answer: what was said of a failure was said in the asker's language."""
        return (self._key(query, route.key), route.kind, route.adapter, language_of(query.text))

    async def _failed_before(self, walk: _Walk) -> _Outcome | None:
        """The same walk ended without an answer a moment ago: that is said again and nobody is asked."""
        query, route = walk.query, walk.route
        if query.no_cache or route.needs_history:
            return None
        key = self._answer_key(query, route)
        found = self._failures.find(key, patience_s=self._left_s(query), max_age_s=query.max_age_s)
        if found is None or not isinstance(found.value, _Ended):
            return None
        reason = f"the same question failed {found.age_s:.0f} s ago; it is tried again soon, or with no_cache"
        walk.trace.append(Step("negative", "answer", reason, code="negative_cached"))
        stale = await self._serve_stale(walk)
        if stale is not None:
            return stale
        ended = found.value
        answer = Answer(
            query=query,
            text=ended.text,
            route=route,
            source=ended.source,
            confidence=ended.confidence,
            freshness=Freshness.TIME_SENSITIVE,
        )
        return _Outcome(answer, walk.vector, None, store_reason=ended.store_reason)

    async def _ended(self, walk: _Walk, outcome: _Outcome) -> _Outcome:
        """Remember a walk that found no answer, for seconds; what ran out of its asker's time says nothing to
        others. Where nothing was found out, an expired answer is better if it may be served."""
        query, route, answer = walk.query, walk.route, outcome.answer
        if route.needs_history:
            return outcome
        key = self._answer_key(query, route)
        could_not = outcome.abstained or outcome.store_reason == "model_on_a_deterministic_question"
        if answer.source.kind != "fallback" and not could_not:
            if outcome.store_reason not in ("unclear", "statement", "stale"):
                self._failures.clear(key)
            return outcome
        if self._left_s(query) <= HURRY_S:
            return replace(outcome, failed_with_s=0.0)
        outcome = replace(outcome, failed_with_s=walk.patience_s)
        if walk.retry_after_s is not None:
            return outcome  # a crowd says nothing about the question
        waited = any(step.stage == "generate" and step.outcome == "timeout" for step in walk.trace)
        self._failures.remember(
            key,
            _Ended(answer.text, answer.source, answer.confidence, outcome.store_reason),
            Failure.NO_TIME if waited else Failure.NO_ANSWER,
            patience_s=walk.patience_s,
        )
        if answer.source.kind == "fallback" and Source.STALE not in route.sources:
            return await self._serve_stale(walk) or outcome
        return outcome

    async def _ask_one(self, walk: _Walk, one: Recognition, adapter: Adapter) -> tuple[Outcome, str]:
        """Ask one adapter, or say again how it failed a moment ago; the second value is when, in words."""
        query = walk.query
        if adapter.is_local or walk.route.needs_history:
            return await adapter.ask(one, query), ""
        key = (self._key(query, one.key), adapter.name)
        if not query.no_cache:
            found = self._failures.find(key, patience_s=self._left_s(query), max_age_s=query.max_age_s)
            if found is not None and not isinstance(found.value, _Ended):
                return found.value, f"asked {found.age_s:.0f} s ago"
        outcome = await adapter.ask(one, query)
        failure, retry_after_s = replies.failure_of(outcome)
        if failure is None:
            self._failures.clear(key)
        elif self._left_s(query) > HURRY_S:
            self._failures.remember(
                key, outcome, failure, patience_s=walk.patience_s, retry_after_s=retry_after_s
            )
        return outcome, ""

    def _out_of_time(self, query: Query, route: Route, trace: tuple[Step, ...]) -> _Outcome:
        text = reasons.say("late", language_of(query.text))
        answer = Answer(
            query=query,
            text=text,
            route=route,
            source=SourceRef("fallback", "deadline"),
            confidence=judge(observe(query.text, text, Origin.FALLBACK)),
            freshness=Freshness.GENERAL,
            trace=(*trace, Step("deadline", "passed", "deadline_passed")),
            store_reason="fallback",
        )
        return _Outcome(answer, None, None, store_reason="fallback", failed_with_s=0.0)

    # --- the stations -----------------------------------------------------------------------------

    async def _acknowledge(self, walk: _Walk) -> _Outcome:
        said = conversation.talk(walk.query.text)
        tells = said is None and not walk.query.pasted and len(walk.query.text.split()) >= STATEMENT_WORDS
        if tells and walk.route.reason != REACTION and (known := await self._known_by_statement(walk)):
            return known
        if said is None:
            text = conversation.acknowledge(walk.query.text, reacts=walk.route.reason == REACTION)
        else:
            text = conversation.answer(said, await self._composer.present() if "model" in said.topics else ())
        walk.trace.append(Step("acknowledge", "statement", "nothing_asked"))
        answer = Answer(
            query=walk.query,
            text=pasted.reply(walk.query.pasted) if walk.query.pasted else text,
            route=walk.route,
            source=SourceRef("statement", "statement"),
            confidence=Confidence(1.0, {}),
            freshness=Freshness.GENERAL,
        )
        return _Outcome(answer, None, None, store_reason="statement")

    async def _known_by_statement(self, walk: _Walk) -> _Outcome | None:
        """What is stored for words that only tell ("The parcel never came"): people store answers for them.
        No adapter and no model is asked."""
        route = walk.route
        walk.route = replace(route, floor=STATEMENT_FLOOR)
        try:
            if len(walk.query.text.split()) >= LOOKED_UP_WORDS and (hit := await self._recall(walk)):
                return hit
        finally:
            walk.route = route
        if not tongue.may_be_english(walk.query.text):
            return None
        await self._consult(walk)
        composed = await self._composer.told(walk.query.text, walk.evidence, language="en")
        if composed is None:
            return None
        walk.trace.extend(composed.tried)
        return replace(self._from_model(walk, composed), store_reason="statement")

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
        walk.expired, walk.recall = recall.expired, recall
        if self._policy.shadow and replies.is_semantic(recall):
            walk.trace.append(replies.shadow_step(recall, self._since(started)))
            return None
        outcome = "hit" if recall.found is not None else "miss"
        walk.trace.append(Step("recall", outcome, recall.reason, self._since(started), recall.code))
        if recall.found is None:
            return await self._serve_while_refreshing(walk)
        return _Outcome(
            replies.from_record(walk.query, walk.route, recall.found),
            walk.vector,
            None,
            store_reason="from_cache",
        )

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
                walk.could_not_look_up = reasons.say("no_source", language_of(walk.query.text))
                walk.trace.append(Step("adapter", "missing", "no_adapter"))
            return None
        claim = route.claim(adapter.name, local=adapter.is_local)
        results = await self._ask_all(walk, adapter, claim)
        found: list[tuple[str, float, Evidence]] = []
        unclear: Unclear | None = None
        for recognition, outcome, took, before in results:
            walk.trace.append(replies.asked(recognition, outcome, took, before))
            if isinstance(outcome, Found):
                found.append((recognition.adapter, recognition.strength, outcome.evidence))
            elif claim.strength < CLAIM:
                continue  # it was only to add context: nothing that had to be looked up is missing
            elif isinstance(outcome, Unclear):
                unclear = unclear or outcome
            elif recognition is claim:
                walk.could_not_look_up = reasons.source_said(
                    outcome, adapter.name, is_local=adapter.is_local, language=language_of(walk.query.text)
                )
        if not found:
            return None if unclear is None else self._ask_back(walk, unclear)
        weighed = weigh(found)
        if len(weighed) > 1:
            walk.trace.append(replies.compared(weighed))
        best = weighed[0].evidence
        if best.partial or route.kind not in (Kind.DETERMINISTIC, Kind.HISTORICAL):
            walk.evidence.extend(one.evidence for one in weighed)
            return None
        return self._from_adapter(walk, self._adapters[weighed[0].adapter], weighed)

    async def _ask_all(
        self, walk: _Walk, adapter: Adapter, claim: Recognition
    ) -> list[tuple[Recognition, Outcome, float, str]]:
        """Ask the adapter of the route and, beside it, the others of the same key. An answer does not wait
        long for a second opinion; a failure waits for it as for the first."""
        started = self._clock.monotonic()
        asked: list[tuple[Recognition, Adapter]] = [(claim, adapter)]
        asked += [
            (one, other)
            for one in walk.route.others
            if (other := self._adapters.get(one.adapter)) is not None
        ]

        async def ask(one: Recognition, other: Adapter) -> tuple[Recognition, Outcome, float, str]:
            outcome, before = await self._ask_one(walk, one, other)
            return one, outcome, self._since(started), before

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
            text = f"{text} Another source differs by {replies.percent(best.apart)} ({rivals})"
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
            citations=replies.weighed_citations(weighed),
            stale=stale,
        )
        reason = "stale" if stale else "sources_disagree" if doubtful else ""
        return _Outcome(answer, walk.vector, None, grounded=True, store_reason=reason)

    async def _serve_stale(self, walk: _Walk) -> _Outcome | None:
        """The source failed: the expired copy, marked, for as long as its class allows."""
        stored = await self._expired(walk, lambda windows: windows.error_s)
        if stored is None:
            return None
        record = stored.record
        assert isinstance(record, AnswerRecord)
        walk.trace.append(Step("stale", "served", "source_failed_and_expired_record_kept", code="if_error"))
        since = record.timestamp.strftime("%Y-%m-%d %H:%M UTC")
        text = f"{record.answer} (Out of date: stored at {since}; the source could not be asked now.)"
        answer = replies.from_expired(walk.query, walk.route, stored, record)
        capped = Confidence(min(STALE_CONFIDENCE_MAX, answer.confidence.value), answer.confidence.parts)
        answer = replace(answer, text=text, confidence=capped)
        return _Outcome(answer, walk.vector, None, store_reason="stale")

    async def _serve_while_refreshing(self, walk: _Walk) -> _Outcome | None:
        """A copy that is just past its time, marked, while one refresh runs behind the reply; only where its
        class allows, and only if a refresh is under way now."""
        query, route = walk.query, walk.route
        if query.no_store:
            return None  # a refresh would store
        stored = await self._expired(walk, lambda windows: windows.revalidate_s)
        if stored is None:
            return None

        async def refresh(deadline: float) -> bool:
            return await self._revalidate(query, route, deadline)

        if not self._refresh((self._key(query, route.key), route.kind, route.adapter), refresh):
            return None
        record = stored.record
        assert isinstance(record, AnswerRecord)
        assert record.expires is not None
        now = self._clock.now()
        reason = f"expired {(now - record.expires).total_seconds():.0f} s ago; it is asked anew behind this"
        walk.trace.append(Step("stale", "served", reason, code="while_revalidating"))
        answer = replies.from_expired(walk.query, walk.route, stored, record)
        return _Outcome(answer, walk.vector, None, store_reason="stale")

    async def _expired(self, walk: _Walk, window: Callable[[Stale], int]) -> StoredRecord | None:
        """The expired copy that recall found, if this caller may still be given it now."""
        query, stored = walk.query, walk.expired
        if stored is None or not isinstance(stored.record, AnswerRecord) or stored.record.expires is None:
            return None
        record, expires, now = stored.record, stored.record.expires, self._clock.now()
        life_s = int((expires - record.timestamp).total_seconds())
        looked_up = record.source.kind == "adapter" and record.route == str(Kind.DETERMINISTIC)
        past_s = (now - expires).total_seconds()
        age_s = (now - record.timestamp).total_seconds()
        if not 0 <= past_s < window(stale_windows(life_s, looked_up=looked_up)):
            return None
        if query.max_age_s is not None and age_s > query.max_age_s:
            return None
        if record.confidence < self._policy.confidence_min * PPM:
            return None
        if walk.route.time_sensitive and walk.route.key is None:
            made = record.timestamp.astimezone(query.zone).date()
            if made != now.astimezone(query.zone).date():
                return None  # the same words of "today" mean another day
        try:
            return stored if await self._is_live(stored) else None
        except NodeError:
            return None

    async def _revalidate(self, query: Query, route: Route, deadline: float) -> bool:
        """Compute an answer anew behind a stale one; stored and logged as any walk is."""
        fresh = replace(query, id=new_id(), deadline=deadline, no_cache=True, session=None, max_age_s=None)
        outcome = await self._bounded(fresh, Part(query.text, route), 0.0)
        step = Step("refresh", "background", "behind a stale answer", code="while_revalidating")
        await self._record(replace(outcome.answer, trace=(*outcome.answer.trace, step)), [outcome])
        return outcome.will_store

    async def _consult(self, walk: _Walk) -> _Outcome | None:
        """What is stored and about the question is evidence, whether or not the gate would serve it; how its
        question differs is told to whoever reads it."""
        query = walk.query
        if walk.route.needs_history:
            walk.trace.append(Step("documents", "bypassed", "needs_history"))
            return None
        if query.no_cache and query.no_store:
            # Whoever checks a stored answer wants another one: what is stored must not be its evidence.
            walk.trace.append(Step("documents", "bypassed", "no_cache_asked"))
            return None
        vector = await self._embed(walk)
        walk.read_as, said = await self._composer.in_english(
            query.text, deadline=query.deadline, tag=random_bytes(6).hex()
        )
        walk.trace.extend(said)
        subject = conversation.subject(walk.read_as or query.text)
        try:
            if subject != query.text:
                [vector] = await self._semantics.embed([subject])
            found = await self._retriever.retrieve(
                subject, vector, scopes=query.caller.visible_scopes, context=query.context, k=NOTES_MAX
            )
        except NodeError as exc:
            walk.trace.append(Step("documents", "failed", str(exc), code="store_failed"))
            found = []
        hit = walk.recall.found if self._policy.shadow and walk.recall is not None else None
        if hit is not None and walk.route.kind is not Kind.HISTORICAL:
            # An answer made from the hit that is kept back could not tell whether it was right.
            found = [one for one in found if one.stored.cid != hit.stored.cid]
        # What a source says now stands before what it said then.
        speaking = {one.source.id for one in walk.evidence if one.source.kind == "adapter"}
        near = [one for one in replies.few_of_each_peer(found) if not replies.is_said_by(one, speaking)]
        offered = [replies.as_evidence(one, walk.read_as or query.text) for one in near]
        if (meant := await self._meant(walk, subject, near, offered)) is not None:
            return meant
        for one in near:
            walk.evidence_scopes.add(replies.scope_as_evidence(one.stored))
        walk.evidence += offered
        best = f", the nearest {near[0].relevance:.2f}" if near else ""
        walk.trace.append(Step("documents", "found" if near else "missed", f"{len(near)} near records{best}"))
        if walk.route.kind is Kind.HISTORICAL and not near and not query.pasted:
            walk.could_not_look_up = reasons.say("no_record", language_of(query.text))
        return None

    async def _meant(
        self, walk: _Walk, subject: str, near: Sequence[Relevant], offered: Sequence[Evidence]
    ) -> _Outcome | None:
        """An entry that came with the node, where it is the answer without doubt."""
        query, route = walk.query, walk.route
        # An entry is as old as the node's copy: who asks for something fresher does not get it as the answer.
        wants_fresh = query.no_cache or query.max_age_s is not None or route.time_sensitive
        bypassed = wants_fresh or bool(query.pasted or walk.evidence) or self._policy.shadow
        if bypassed or route.floor is None or route.kind not in (Kind.GENERATIVE, Kind.UNCLASSIFIED):
            return None
        found = await self._composer.meant(subject, offered)
        if found is None:
            return None
        at, share = found
        walk.trace.append(Step("documents", "hit", f"an entry is the answer: {share:.2f}", code="read"))
        answer = replies.from_read(
            query, route, near[at].stored, self._clock.now(), cosine=near[at].cosine, share=share
        )
        return _Outcome(answer, walk.vector, None, store_reason="from_cache")

    async def _compose(self, walk: _Walk) -> _Outcome:
        order = None if walk.query.pasted else conversation.order(walk.query.text)
        if walk.route.needs_history or (order is not None and not walk.history):
            return await self._revise(walk, order)
        started = self._clock.monotonic()
        composed = await self._composed(walk, walk.query.deadline, tell=walk.tell)
        walk.retry_after_s = composed.retry_after_s
        walk.trace.extend(composed.tried)
        outcome = self._from_model(walk, composed)
        sure = outcome.answer.confidence.value
        is_lookup = order is None and not conversation.asks_to_write(walk.query.text)
        if is_lookup and sure < self._policy.confidence_min and not composed.abstained:
            # What people stored is shown as it stands rather than told by a model that may have it wrong.
            shown = self._composer.shown_instead(composed, language=language_of(walk.query.text))
            if shown is not None:
                walk.trace.append(Step("doubt", "quoted", f"the model's words about the notes: {sure:.2f}"))
                walk.trace.extend(shown.tried)
                if walk.tell is not None:
                    walk.tell("reset", {})
                composed, outcome = shown, self._from_model(walk, shown)
        walk.trace.append(Step("compose", composed.source.kind, composed.source.id, self._since(started)))
        return outcome

    async def _composed(
        self,
        walk: _Walk,
        deadline: float,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        tell: Tell | None = None,
    ) -> Composed:
        return await self._composer.compose(
            walk.query.text,
            walk.evidence,
            route_kind=walk.route.kind,
            could_not_look_up=walk.could_not_look_up,
            deadline=deadline,
            tag=random_bytes(6).hex(),
            language=language_of(walk.query.text),
            read_as=walk.read_as,
            temperature=temperature,
            seed=seed,
            tell=tell,
        )

    async def _revise(self, walk: _Walk, order: conversation.Order | None) -> _Outcome:
        """What is asked of the last answer: by a model, else what can be said without one."""
        kind, code, target = ("", "en", "") if order is None else (order.kind, order.code, order.target)
        if not walk.history:
            return self._from_model(walk, unanswered(conversation.order_reply(code, "nothing_before")))
        answered = walk.history[-1][1]
        is_empty = reasons.found_nothing(answered)
        if is_empty and kind:
            return self._from_model(walk, unanswered(conversation.order_reply(code, "no_answer")))
        if kind == "again":
            return self._from_model(walk, quoted(answered))
        started = self._clock.monotonic()
        composed = await self._composer.revise(
            revision(walk.history, walk.query.text, kind, target),
            deadline=walk.query.deadline,
            tag=random_bytes(6).hex(),
            tell=walk.tell,
        )
        walk.retry_after_s = composed.retry_after_s
        walk.trace.extend(composed.tried)
        if composed.abstained and not composed.text:
            if kind == "shorter":
                text, is_whole = first_sentence(answered)
                composed = quoted(conversation.order_reply(code, "already_short", text) if is_whole else text)
            else:
                name = "no_answer" if is_empty else "without_model" if kind in _REWORDS else "no_more"
                composed = unanswered(conversation.order_reply(code, name, answered))
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
            freshness = replies.shortest([one.freshness for one in walk.evidence])
        answer = Answer(
            query=walk.query,
            text=composed.text,
            route=walk.route,
            source=composed.source,
            confidence=replies.calibrated(confidence, walk.query, composed),
            freshness=freshness,
            citations=composed.citations,
            usage=Usage() if draft is None else Usage(draft.prompt_tokens, draft.completion_tokens),
            retry_after_s=composed.retry_after_s,
        )
        reason = ""
        if composed.source.kind == "fallback":
            reason = "fallback"
        elif walk.route.kind is Kind.DETERMINISTIC:
            reason = "model_on_a_deterministic_question"
        elif walk.route.kind is Kind.HISTORICAL and not composed.grounded:
            reason = "history_without_a_record"
        elif composed.claimed:
            reason = "peers_word"  # stored it would be ours, and outlive the record, its issuer's standing
        elif composed.invented:
            reason = "invented_papers"
        elif composed.unsure:
            reason = "nearest_note"
        elif len(composed.notes) > 1:
            reason = "several_notes"  # small models take the figures of one for those of another
        llm = None if draft is None else ModelRef(draft.model, draft.model_digest)
        return _Outcome(
            answer,
            walk.vector,
            None,
            llm=llm,
            grounded=composed.grounded,
            store_reason=reason,
            abstained=composed.abstained,
            composed=composed,
        )

    # --- remember ---------------------------------------------------------------------------------

    async def _remember(self, walk: _Walk, outcome: _Outcome) -> _Outcome:
        outcome = await self._doubted(walk, replace(outcome, answer=_marked(outcome)))
        reason = outcome.store_reason
        value, least = outcome.answer.confidence.value, self._policy.confidence_min
        if outcome.answer.hit is None and reason != "statement":
            enough = "enough" if value >= least else "too_low"
            walk.trace.append(Step("judge", enough, f"confidence {value:.3f}, stored from {least:.2f}"))
        if not reason:
            if walk.query.no_store:
                reason = "no_store_asked"
            elif walk.route.needs_history:
                reason = "needs_history"
            elif value < least:
                reason = "confidence_too_low"
        if reason == "confidence_too_low":
            outcome = self._keep_draft(walk, replace(outcome, store_reason=reason))
            reason = outcome.store_reason
        answer = replace(outcome.answer, trace=tuple(walk.trace))
        if reason:
            step = Step("remember", "skipped", reason)
            why = None if answer.stored else _words(reason)
            answer = replace(answer, trace=(*answer.trace, step), store_reason=why)
            return replace(outcome, answer=answer, store_reason=reason)
        life = self._lifetime(walk, answer)
        answer = replace(answer, trace=(*answer.trace, replies.lives(life)))
        memory = self._memory(walk, outcome, life)
        started = self._clock.monotonic()
        future = await self._rememberer.submit(memory)
        try:
            remembered = await asyncio.wait_for(asyncio.shield(future), STORE_WAIT_S)
        except TimeoutError:
            remembered = Remembered("queued", "the write goes on behind the reply", memory)
        step = Step("remember", remembered.code, remembered.reason, self._since(started), remembered.code)
        durable = remembered.is_durable
        answer = replace(
            answer,
            cid=remembered.cid,
            stored=durable,
            store_reason=None if durable else _words(remembered.code),
            trace=(*answer.trace, step),
        )
        return replace(
            outcome, answer=answer, remembered=remembered, will_store=True, store_reason=remembered.code
        )

    async def _doubted(self, walk: _Walk, outcome: _Outcome) -> _Outcome:
        """The answer as it is, or below the bar and with a note where the same was called invalid before."""
        answer = outcome.answer
        if answer.hit is not None or answer.source.kind not in ("llm", "extractive", "adapter"):
            return outcome
        await self._refuted.prepare()
        if not self._refuted.knows(self._said(walk, answer.text, answer.source.kind, answer.route.key)):
            return outcome
        walk.trace.append(Step("judge", "known_invalid", REFUTED_NOTE, code="known_invalid"))
        confidence = Confidence(min(REFUTED_CONFIDENCE_MAX, answer.confidence.value), answer.confidence.parts)
        answer = replace(answer, text=f"{REFUTED_NOTE}\n\n{answer.text}", confidence=confidence)
        return replace(outcome, answer=answer, store_reason="known_invalid")

    def _said(self, walk: _Walk, text: str, kind: str, slot_key: str | None = None) -> Said:
        query = walk.query
        return Said(
            query.text, text, kind, query.caller.visible_scopes, query.context, slot_key, vector=walk.vector
        )

    # --- drafts and second samples ----------------------------------------------------------------

    def _draft_key(self, walk: _Walk) -> Hashable:
        """The very same question, by the same caller, with the same found beside it."""
        query = walk.query
        found = tuple((one.source.id, one.text) for one in walk.evidence)
        words = query_hash(normalise(query.asked))
        return (self._key(query, None), words, walk.route.kind, found, walk.could_not_look_up)

    def _drafted(self, walk: _Walk) -> _Outcome | None:
        """What a model said to the very same question within the last hour, if that was not stored."""
        query = walk.query
        if query.no_cache or walk.route.needs_history:
            return None
        key = self._draft_key(walk)
        draft = self._drafts.find(key, max_age_s=query.max_age_s)
        if draft is None:
            return None
        age_s = self._clock.monotonic() - draft.made
        reason = f"a model said it {age_s:.0f} s ago, and it was not sure enough to be stored"
        walk.trace.append(Step("draft", "served", reason, code="draft"))
        before = draft.value
        answer = replace(before.answer, query=query, route=walk.route, draft=True, usage=Usage())
        return replace(before, answer=answer, vector=walk.vector, draft=key)

    def _keep_draft(self, walk: _Walk, outcome: _Outcome) -> _Outcome:
        """A model's answer below the bar as a draft, and a second sample asked for where only that is
        missing."""
        answer, query = outcome.answer, walk.query
        if answer.source.kind != "llm" or outcome.abstained:
            return outcome
        key, life = self._draft_key(walk), self._lifetime(walk, answer)
        if not answer.draft:
            kept = replace(outcome, answer=replace(answer, trace=()), vector=None, store_reason="")
            self._drafts.keep(
                key,
                kept,
                tenant=query.caller.tenant,
                question=query.text,
                answer=answer.text,
                life_s=life.seconds,
            )
        outcome = replace(outcome, draft=key)
        draft = self._drafts.find(key)
        if draft is None or draft.is_checked or not self._lacks_agreement(outcome):
            return outcome
        memory = self._memory(walk, outcome, life)

        async def sample(deadline: float) -> None:
            await self._checked_again(walk, outcome, memory, key, deadline)

        if self._sample_again is not None and self._sample_again(key, sample):
            return replace(outcome, store_reason="being_checked")
        return outcome

    def _lacks_agreement(self, outcome: _Outcome) -> bool:
        """Whether a second sample that agrees would lift it above the bar."""
        if outcome.composed is None or self._sample_again is None:
            return False
        first = replies.Sample(outcome.answer.query, outcome.composed, outcome.answer.confidence)
        return self._judge_again(first, first).value >= self._policy.confidence_min

    async def _checked_again(
        self, walk: _Walk, outcome: _Outcome, memory: Memory, key: Hashable, deadline: float
    ) -> None:
        """Ask the composer once more and judge the first answer again; it is stored then, or it is not. Where
        no model answers nothing is decided."""
        assert outcome.composed is not None
        again = await self._composed(walk, deadline, temperature=SECOND_TEMPERATURE, seed=SECOND_SEED)
        if again.source.kind != "llm" or self._drafts.find(key) is None:
            return
        first = replies.Sample(walk.query, outcome.composed, outcome.answer.confidence)
        confidence = self._judge_again(first, replace(first, composed=again))
        said = self._said(walk, memory.answer, memory.source.kind, memory.slot_key)
        is_refuted = self._refuted.knows(said)
        if is_refuted or confidence.value < self._policy.confidence_min:
            self._drafts.checked(key)
            entry, private = store_entry(
                request=memory.request_id,
                outcome="skipped",
                reason="known_invalid" if is_refuted else "samples_disagree",
                scope=memory.scope,
                policy=self._policy.version,
                confidence=confidence.value,
            )
            await self._log.append(entry, private_texts=private)
            return
        remembered = await (await self._rememberer.submit(replace(memory, confidence=confidence)))
        if remembered.is_durable:
            self._drafts.drop(key)

    def _lifetime(self, walk: _Walk, answer: Answer) -> Lifetime:
        query = walk.query
        return lifetime(
            answer.freshness,
            query=query.text,
            time_sensitive=walk.route.time_sensitive and not only_sounds_of_now(query.text),
            asked_ttl_s=query.ttl_s,
            now=query.local,
        )

    def _memory(self, walk: _Walk, outcome: _Outcome, life: Lifetime) -> Memory:
        answer, query = outcome.answer, walk.query
        is_personal = bool(query.pasted) or volatility(query.text, query.local).personal
        scope = scope_for(
            private_scope(query.caller.tenant) if is_personal else query.caller.default_scope,
            self._policy.publish,
            answer.source,
            outcome.grounded,
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
            lifetime_s=life.seconds,
            context=query.context,
            tags=query.tags,
            slots=answer.route.slots or None,
            slot_key=answer.route.key,
            citations=answer.citations,
            llm=outcome.llm,
            vector=outcome.vector,
            embed="later" if walk.embedded else "now",
            cost_us=round((self._clock.monotonic() - walk.began) * 1e6),
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
        self._hear(answer, entry)
        started = self._clock.monotonic()
        try:
            appended = await self._log.append(entry, private_texts=private)
        except NodeError as exc:
            is_refused = self._policy.refuse_unlogged
            self._unlogged.failed("answer", exc, stands=not is_refused)
            if is_refused:
                raise Unavailable(f"the decision could not be logged: {exc}") from exc
            return replace(
                answer, trace=(*answer.trace, Step("record", "unlogged", str(exc), code="log_failed"))
            )
        self._unlogged.logged()
        step = Step("record", "logged", "", self._since(started))
        decision = DecisionRef(appended.log, appended.index)
        return replace(answer, decision=decision, trace=(*answer.trace, step))

    def _since(self, started: float) -> float:
        return round((self._clock.monotonic() - started) * 1_000, 3)


def _of_part(query: Query, part: Part) -> Query:
    """The query of one part. A question about a text that came with it is another one for each text: it has a
    place of its own in the cache, by every byte of the message."""
    if not part.pasted:
        return replace(query, text=normalise(part.text))
    whole = f"{query.context or ''}\n{query.asked}".encode(errors="surrogatepass")
    context = hashlib.sha256(whole).hexdigest()
    return replace(query, text=normalise(part.text), pasted=part.pasted, context=context)
