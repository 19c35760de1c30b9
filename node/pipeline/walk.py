"""The walk of a query: understand, recall, ask, compose, judge, remember, record.

The only file that knows the order of the stations; the order itself is a table (``understanding.route``), one
row for each kind of question. A station takes the walk so far and returns an answer or nothing;
each leaves a step in the trace. Whatever is missing or fails, an answer comes back.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import tzinfo

from node.answer import reasons
from node.answer.score.confidence import Origin, judge, observe
from node.answer.stream import Audience, without_text
from node.audit.recorder import Entered
from node.cache.watch import Watch
from node.core.caller import Caller
from node.core.clock import Clock, new_id
from node.core.model import Answer, Freshness, Kind, Outcome, Query, Route, Source, SourceRef, Step
from node.core.normalise import normalise
from node.core.ports import Tell
from node.core.talk import Talk
from node.language import conversation
from node.pipeline import replies
from node.pipeline.decisions import Decisions
from node.pipeline.failures import PATIENCE, Failure, NegativeCache
from node.pipeline.partition import is_long
from node.pipeline.ready import Again, Attempt, ReadyHits
from node.pipeline.single_flight import SingleFlight
from node.pipeline.stations import Stations
from node.pipeline.under_way import HURRY_S, Ended, Policy, Reached, Walk, asker_key, left_s, since_ms
from node.pipeline.understanding.question import language_of
from node.pipeline.understanding.route import as_it_stands
from node.pipeline.understanding.sessions import TURNS_MAX, Sessions
from node.pipeline.understanding.understand import Part, Understanding

_REUSED = ("", "")
"""In place of what was asked under an id, where that was several things."""
ASKED_MAX = 1_024
"""Requests whose questions are remembered."""
NOT_CACHED = "not_cached"
"""Why there is no answer where only the cache was to be asked."""
FLIGHTS_MAX = 3
"""How many computations a question may wait for whose first askers ran out of time."""


class Pipeline:
    """Answers queries. Every station is handed in; nothing is built here."""

    def __init__(
        self,
        clock: Clock,
        understanding: Understanding,
        sessions: Sessions,
        stations: Stations,
        decisions: Decisions,
        policy: Policy,
        *,
        failures: NegativeCache[Outcome | Ended],
        ready: ReadyHits,
        watch: Watch | None = None,
    ) -> None:
        self._clock = clock
        self._understanding = understanding
        self._sessions = sessions
        self._stations = stations
        self._decisions = decisions
        self._policy = policy
        self._failures = failures
        self._ready = ready
        self._watch = watch
        self._asked: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._under_way = 0
        self._flights: SingleFlight[Reached] = SingleFlight()
        self._audiences: dict[Hashable, Audience] = {}
        self._visits: Mapping[Source, Callable[[Walk], Awaitable[Reached | None]]] = {
            Source.ACKNOWLEDGE: lambda walk: stations.statements.answer(walk, self._revalidate),
            Source.CACHE: lambda walk: stations.stored.recall(walk, self._revalidate),
            Source.ADAPTER: stations.exact.ask,
            Source.STALE: stations.stored.serve_expired,
            Source.DOCUMENTS: stations.documents.consult,
            Source.MODEL: stations.generation.compose,
        }

    def understand(self, query: Query) -> list[tuple[Query, Part]]:
        """The question's self-contained parts, each with its route by rules. Nothing is asked of anyone. The
        words as they came are classified, for the marks that normalisation drops tell a question from a
        statement."""
        turns = [asked for asked, _ in self.history(query)[-TURNS_MAX:] if not is_long(asked)]
        talk = query.talk
        if talk is not None and talk.verbatim:
            return [_verbatim(query, talk)]
        parts = self._understanding.part(query.asked, now=query.local, turns=turns)
        if talk is not None and any(_is_for_a_model(part, talk) for part in parts):
            return [_verbatim(query, talk)]
        return [(_of_part(query, part), part) for part in parts]

    def history(self, query: Query) -> tuple[tuple[str, str], ...]:
        """What was said before: by the request itself where it brings that, else in its session."""
        if query.talk is not None:
            return query.talk.turns
        return self._sessions.history(query.caller.person, query.session)

    async def settled(self, query: Query) -> list[Part]:
        """The question's parts with what the classifier on the embedding adds where no rule is sure."""
        parts = self.understand(query)
        return [await self._understanding.settle(part, now=query.local) for _, part in parts]

    def enter_turn(self, query: Query, text: str, answer: str) -> None:
        """Remember a turn of the session for follow-ups: the question in its self-contained form."""
        if text:  # a text of which nothing was asked is no turn to go on from
            self._sessions.enter(query.caller.person, query.session, text, answer)

    def _go_on_from(self, query: Query, part: Part, answer: Answer) -> None:
        """Remember the turn, unless there is nothing to go on from: politeness, or an order that nobody could
        carry out. One that was carried out gives the question before it another answer."""
        if conversation.talk(part.text) is not None:
            return
        text = part.text
        if part.route.needs_history:
            if answer.source.kind == "fallback":
                return
            if conversation.order(text) is not None:
                text = self.history(query)[-1][0]
        self.enter_turn(query, text, answer.text)

    async def answer(self, query: Query, tell: Tell | None = None, before: tuple[Step, ...] = ()) -> Answer:
        """Answer one question. ``tell`` hears what goes on meanwhile: ``route``, and what
        ``node.core.ports.Tell`` names. ``before``: steps that were taken for it already. Raises nothing but
        cancellation, and ``Unavailable`` when the decision cannot be logged and the setting says to refuse
        then."""
        attempt = self._ready.begin(query)
        try:
            with self.working():
                return await self._answer(query, tell, attempt, before)
        finally:
            self._ready.end(attempt)

    @contextmanager
    def working(self) -> Iterator[None]:
        """A question is being answered: what works behind replies waits."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def brings_text(self, query: Query) -> bool:
        """Whether a text came with the question, which may be anybody's."""
        return any(part.pasted for part in self._understanding.part(query.asked, now=query.local))

    def again(self, request: str, text: str, caller: Caller, zone: tzinfo) -> Again | Awaitable[Again] | None:
        """The answer to a question that was asked in just these words before, of a stored answer that has
        not changed since, or what it will come from once the log has it; None where a walk has to find it.
        Raises as ``answer`` does."""
        now, doubt = self._clock.reading()
        ready = self._ready.find(text, caller, zone, now, doubt)
        if ready is None:
            return None
        name = caller.request(request) if caller.key else request
        again = Again(ready, request, name, now, ready.age_s(now), None)
        entered = self._decisions.begin_again(ready.answer, ready.form, request, again.age_s, now)
        if isinstance(entered, Entered):
            return self._served(again, entered)
        return self._served_later(again, entered)

    async def _served_later(self, again: Again, entered: Awaitable[Entered]) -> Again:
        return self._served(again, await entered)

    def _served(self, again: Again, entered: Entered) -> Again:
        ready, again.decision = again.ready, entered.ref
        self._note_asked(again.name, ready.answer.query.caller.tenant, ready.text)
        if self._watch is not None:
            query = ready.answer.query
            if ready.recall.seen:  # the gate decided, and what it let through is told by its request
                query = replace(query, id=again.request, received=again.received)
            self._watch.recalled(query, ready.answer, ready.recall)
        return again

    @property
    def under_way(self) -> int:
        """Questions that are being answered at this moment."""
        return self._under_way

    async def _answer(
        self, query: Query, tell: Tell | None, attempt: Attempt | None, before: tuple[Step, ...]
    ) -> Answer:
        started = self._clock.monotonic()
        parts = [await self._completed(query, *one) for one in self.understand(query)]
        took_ms = since_ms(self._clock, started)
        if tell is not None and len(parts) > 1:
            tell = without_text(tell)
        walks = [self._joined(asked, part, took_ms, tell) for asked, part in parts]
        outcomes = [await walks[0]] if len(walks) == 1 else await asyncio.gather(*walks)
        outcomes = [self._stations.exact.told_to(query, outcome) for outcome in outcomes]
        for outcome in outcomes:
            if outcome.draft is not None:
                self._stations.storing.drafts.answered(query.caller.request(query.id), outcome.draft)
        whole = (
            outcomes[0].answer
            if len(outcomes) == 1
            else replies.joined(query, [outcome.answer for outcome in outcomes])
        )
        if before:
            whole, attempt = replace(whole, trace=(*before, *whole.trace)), None
        logged = await self._decisions.record(replace(whole, query=query), outcomes)
        if len(parts) == 1:
            self.note_asked(query, parts[0][0].text)
            if attempt is not None and parts[0][0].context is None:
                self._keep_ready(attempt, parts[0][0].text, logged, outcomes[0])
        for (asked, part), outcome in zip(parts, outcomes, strict=True):
            if not part.route.about_node:
                self._go_on_from(query, part, outcome.answer)
            if self._watch is not None and outcome.recall is not None:
                withheld = self._policy.shadow and replies.is_semantic(outcome.recall)
                self._watch.recalled(asked, outcome.answer, outcome.recall, withheld=withheld)
        return logged

    async def _completed(self, query: Query, asked: Query, part: Part) -> tuple[Query, Part]:
        """A follow-up that no rule could complete as a question of its own, where it can be made one."""
        history = self.history(query)
        leans = part.route.needs_history and not part.route.about_node and bool(history)
        if not leans or query.only_cached or conversation.order(part.text) is not None:
            return asked, part
        whole, is_counted = await self._stations.generation.whole_question(query, part.text, history)
        if is_counted:  # once for each question
            query, asked = _at_our_cost(query), _at_our_cost(asked)
        placed = None if whole is None else await self._understanding.place(whole, now=query.local)
        if placed is None or placed.route.needs_history or placed.route.kind is Kind.STATEMENT:
            return asked, part
        if placed.route.kind is Kind.DETERMINISTIC and not is_counted and whole != part.text:
            return asked, part  # adapters complete what they read; a wrong guess they answer as if right
        placed = replace(placed, resolved="completed from the last question")
        return _of_part(query, placed), placed

    def _keep_ready(self, attempt: Attempt, text: str, answer: Answer, reached: Reached) -> None:
        self._ready.keep(
            attempt, text, answer, reached.recall, lambda kept: self._decisions.entry_of(kept, [reached])
        )

    def note_asked(self, query: Query, text: str) -> None:
        """The self-contained question of a request, normalised, so that feedback on it is about what was
        asked."""
        self._note_asked(query.caller.request(query.id), query.caller.tenant, text)

    def _note_asked(self, request: str, tenant: str, text: str) -> None:
        before = self._asked.get(request)
        self._asked[request] = (tenant, text) if before in (None, (tenant, text)) else _REUSED
        self._asked.move_to_end(request)
        if len(self._asked) > ASKED_MAX:
            self._asked.popitem(last=False)

    def asked_in(self, request: str, caller: Caller) -> str | None:
        """The question of a request of this tenant, while it is remembered: in memory, for the last ones."""
        asked_by, text = self._asked.get(caller.request(request), ("", ""))
        return text if text and asked_by == caller.tenant else None

    def is_reused(self, request: str, caller: Caller) -> bool:
        """Whether several questions of this tenant came under this id, which callers may choose."""
        return self._asked.get(caller.request(request)) == _REUSED

    async def afresh(self, query: Query) -> Answer | None:
        """The answer past the cache, for whoever checks a stored one: nothing is remembered, no turn is
        entered and no decision logged. None where the words are several questions."""
        parts = self.understand(query)
        if len(parts) != 1:
            return None
        [(asked, part)] = parts
        past_cache = replace(_at_our_cost(asked), no_cache=True, no_store=True)
        return (await self._bounded(past_cache, part, 0.0)).answer

    async def _joined(self, query: Query, part: Part, understood_ms: float, tell: Tell | None) -> Reached:
        """Simultaneous equal questions share one computation; everybody keeps an own deadline."""
        route = part.route
        if route.kind is Kind.STATEMENT or query.no_cache or query.no_store or route.needs_history:
            return await self._bounded(query, part, understood_ms, tell)
        # The route is of the words as they came, and of their moment: "today" differs at midnight.
        way = (route.kind, route.adapter, route.key)
        asker = (query.caller, query.context, str(query.zone))
        key = (asker, query.text, way, query.max_age_s, query.ttl_s, query.tags, query.only_cached)
        audience = self._audiences.setdefault(key, Audience())

        async def computed() -> Reached:
            audience.begin()
            return await self._bounded(query, part, understood_ms, audience.tell)

        try:
            async with asyncio.timeout(left_s(self._clock, query) + 1.0), self._watching(key, audience, tell):
                for _ in range(FLIGHTS_MAX):
                    outcome, joined = await self._flights.run(key, computed)
                    had_s = outcome.failed_with_s
                    if (
                        not joined
                        or had_s is None
                        or left_s(self._clock, query) <= max(HURRY_S, had_s * PATIENCE)
                    ):
                        break  # else it was another asker who had too little time, and this one has more
        except TimeoutError:
            return _out_of_time(query, route, ())
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
    ) -> Reached:
        patience_s = left_s(self._clock, query)
        try:
            async with asyncio.timeout(patience_s + 0.5):
                if part.open and (query.no_cache or not await self._stations.stored.knows(query)):
                    part = await self._understanding.settle(part, now=query.local)
        except TimeoutError:
            return _out_of_time(query, part.route, ())
        route = part.route
        history = self.history(query)
        if tell is not None:
            tell("route", {"route": str(route.kind), "adapter": route.adapter})
        walk = Walk(query, route, history, patience_s=patience_s, began=self._clock.monotonic(), tell=tell)
        if query.pasted:
            walk.evidence.append(replies.pasted(query.pasted))
        if part.vector is not None:
            walk.vector, walk.embedded = part.vector, True
            walk.note("embed", "ok", "to_classify", round(part.embedding_ms, 3))
        if part.resolved:
            walk.note("resolve", "resolved", f"{part.resolved}: {query.text}", code="follow_up_resolved")
        step = Step("understand", str(route.kind), route.reason, understood_ms, replies.route_code(route))
        walk.add(step)
        try:
            async with asyncio.timeout(left_s(self._clock, query) + 0.5):
                outcome = await self._visit(walk)
        except TimeoutError:
            return _out_of_time(query, route, tuple(walk.trace))
        return replace(await self._stations.storing.remember(walk, outcome), recall=walk.recall)

    async def _visit(self, walk: Walk) -> Reached:
        looked = False
        for source in walk.route.sources:
            if walk.query.only_cached and source not in (Source.ACKNOWLEDGE, Source.CACHE):
                continue
            if not looked and source not in (Source.ACKNOWLEDGE, Source.CACHE):
                looked = True
                outcome = await self._failed_before(walk)
                if outcome is not None:
                    return outcome
            outcome = self._stations.storing.drafted(walk) if source is Source.MODEL else None
            outcome = outcome or await self._visits[source](walk)
            if outcome is not None:
                break
        else:
            if walk.query.only_cached:
                return _not_cached(walk)
            outcome = self._stations.storing.drafted(walk) or await self._stations.generation.compose(walk)
        return await self._ended(walk, outcome)

    async def _failed_before(self, walk: Walk) -> Reached | None:
        """The same walk ended without an answer a moment ago: that is said again and nobody is asked."""
        query, route = walk.query, walk.route
        if query.no_cache or route.needs_history:
            return None
        key = self._answer_key(query, route)
        found = self._failures.find(key, patience_s=left_s(self._clock, query), max_age_s=query.max_age_s)
        if found is None or not isinstance(found.value, Ended):
            return None
        reason = f"the same question failed {found.age_s:.0f} s ago; it is tried again soon, or with no_cache"
        walk.note("negative", "answer", reason, code="negative_cached")
        stale = await self._stations.stored.serve_expired(walk)
        if stale is not None:
            return stale
        ended = found.value
        answer = Answer(
            query=query,
            text=ended.text,
            route=route,
            source=ended.source,
            confidence=ended.confidence,
            documents=ended.documents,
            freshness=Freshness.TIME_SENSITIVE,
        )
        return Reached(answer, walk.vector, None, store_reason=ended.store_reason)

    def _answer_key(self, query: Query, route: Route) -> Hashable:
        """Of a whole answer: what was said of a failure was said in the asker's language."""
        return (asker_key(query, route.key), route.kind, route.adapter, language_of(query.text))

    async def _ended(self, walk: Walk, outcome: Reached) -> Reached:
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
        if left_s(self._clock, query) <= HURRY_S:
            return replace(outcome, failed_with_s=0.0)
        outcome = replace(outcome, failed_with_s=walk.patience_s)
        if walk.retry_after_s is not None:
            return outcome  # a crowd says nothing about the question
        waited = any(step.stage == "generate" and step.outcome == "timeout" for step in walk.trace)
        self._failures.remember(
            key,
            Ended(answer.text, answer.source, answer.confidence, outcome.store_reason, answer.documents),
            Failure.NO_TIME if waited else Failure.NO_ANSWER,
            patience_s=walk.patience_s,
        )
        if answer.source.kind == "fallback" and Source.STALE not in route.sources:
            return await self._stations.stored.serve_expired(walk) or outcome
        return outcome

    async def _revalidate(self, query: Query, route: Route, deadline: float) -> bool:
        """Compute an answer anew behind a stale one; stored and logged as any walk is."""
        fresh = replace(
            _at_our_cost(query), id=new_id(), deadline=deadline, no_cache=True, session=None, max_age_s=None
        )
        outcome = await self._bounded(fresh, Part(query.text, route), 0.0)
        step = Step("refresh", "background", "behind a stale answer", code="while_revalidating")
        await self._decisions.record(replace(outcome.answer, trace=(*outcome.answer.trace, step)), [outcome])
        return outcome.will_store


def _without_answer(
    query: Query, route: Route, text: str, why: str, trace: tuple[Step, ...], store_reason: str
) -> Answer:
    return Answer(
        query=query,
        text=text,
        route=route,
        source=SourceRef("fallback", why),
        confidence=judge(observe(query.text, text, Origin.FALLBACK)),
        freshness=Freshness.GENERAL,
        trace=trace,
        store_reason=store_reason,
    )


def _out_of_time(query: Query, route: Route, trace: tuple[Step, ...]) -> Reached:
    text = reasons.say("late", language_of(query.text))
    trace = (*trace, Step("deadline", "passed", "deadline_passed"))
    answer = _without_answer(query, route, text, "deadline", trace, "fallback")
    return Reached(answer, None, None, store_reason="fallback", failed_with_s=0.0)


def _not_cached(walk: Walk) -> Reached:
    trace = (*walk.trace, Step("cache", "missed", NOT_CACHED))
    answer = _without_answer(walk.query, walk.route, "", NOT_CACHED, trace, NOT_CACHED)
    return Reached(answer, walk.vector, None, store_reason=NOT_CACHED)


def _is_for_a_model(part: Part, talk: Talk) -> bool:
    """Whether a message that is part of a talk is no question of its own: it leans on what was said before,
    brings a text of which nothing is asked, or tells something to one who was told what to do with it."""
    is_statement = part.route.kind is Kind.STATEMENT
    return part.route.needs_history or (is_statement and (talk.says_more or bool(part.pasted)))


def _verbatim(query: Query, talk: Talk) -> tuple[Query, Part]:
    return replace(query, talk=replace(talk, verbatim=True)), Part(query.text, as_it_stands())


def _at_our_cost(query: Query) -> Query:
    """What the node asks by itself counts for nobody."""
    return replace(query, caller=replace(query.caller, meter=None))


def _of_part(query: Query, part: Part) -> Query:
    """The query of one part. A question about a text that came with it is another one for each text: it has a
    place of its own in the cache, by every byte of the message."""
    if not part.pasted:
        return replace(query, text=normalise(part.text))
    whole = f"{query.context or ''}\n{query.asked}".encode(errors="surrogatepass")
    context = hashlib.sha256(whole).hexdigest()
    return replace(query, text=normalise(part.text), pasted=part.pasted, context=context)
