"""The station that asks exact sources: the adapter of the route and, beside it, others that know the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from node.answer import reasons
from node.answer.score.agreement import Weighed, weigh
from node.answer.score.confidence import Origin, judge, observe, origin_of
from node.core.clock import Clock
from node.core.model import (
    CLAIM,
    Answer,
    Evidence,
    Found,
    Freshness,
    Kind,
    Outcome,
    Query,
    Recognition,
    SourceRef,
    Unclear,
)
from node.core.ports import Adapter
from node.language import retell, tongue
from node.language.same_answer import TOLERANCE, WIDE
from node.pipeline import replies
from node.pipeline.failures import NegativeCache
from node.pipeline.under_way import HURRY_S, Ended, Reached, Walk, asker_key, left_s, since_ms
from node.pipeline.understanding.question import language_of

SECOND_OPINION_WAIT_S = 1.0
"""How long an answer waits for a second source to compare with."""
DOUBTFUL_MAX = 0.5
"""Reliability at most of a figure that another source contradicts by a wide margin."""


@dataclass(frozen=True, slots=True)
class ExactSources:
    """See the module. ``failures`` are said again for a while instead of asking once more. ``sayings``: what
    each adapter says in other languages, by its name."""

    clock: Clock
    adapters: Mapping[str, Adapter]
    failures: NegativeCache[Outcome | Ended]
    sayings: Mapping[str, retell.Tables] = field(default_factory=dict)

    def told_to(self, query: Query, reached: Reached) -> Reached:
        """With what an adapter says, now or when it was stored, in the asker's language where its tables have
        the words. Records stay in English, so that one serves every language of its slot."""
        answer = reached.answer
        source = answer.source
        if source.kind not in ("adapter", "cache") or source.client is not None:
            return reached
        if not (tables := self.sayings.get(source.id)):
            return reached
        parts = tables.get(tongue.language_of(query.asked, sure=False) or "")
        told = retell.retold(answer.text, parts) if parts else None
        return reached if told is None else replace(reached, answer=replace(answer, text=told))

    async def ask(self, walk: Walk) -> Reached | None:
        route = walk.route
        adapter = None if route.adapter is None else self.adapters.get(route.adapter)
        if adapter is None:
            if route.kind is Kind.DETERMINISTIC:
                walk.could_not_look_up = reasons.say("no_source", language_of(walk.query.text))
                walk.note("adapter", "missing", "no_adapter")
            return None
        claim = route.claim(adapter.name, local=adapter.is_local)
        results = await self._ask_all(walk, adapter, claim)
        found: list[tuple[str, float, Evidence]] = []
        unclear: Unclear | None = None
        for recognition, outcome, took, before in results:
            walk.add(replies.asked(recognition, outcome, took, before))
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
            walk.add(replies.compared(weighed))
        best = weighed[0].evidence
        if best.partial or route.kind not in (Kind.DETERMINISTIC, Kind.HISTORICAL):
            walk.evidence.extend(one.evidence for one in weighed)
            return None
        return self._from_adapter(walk, self.adapters[weighed[0].adapter], weighed)

    async def _ask_all(
        self, walk: Walk, adapter: Adapter, claim: Recognition
    ) -> list[tuple[Recognition, Outcome, float, str]]:
        """Ask the adapter of the route and, beside it, the others of the same key. An answer does not wait
        long for a second opinion; a failure waits for it as for the first."""
        started = self.clock.monotonic()
        asked: list[tuple[Recognition, Adapter]] = [(claim, adapter)]
        asked += [
            (one, other) for one in walk.route.others if (other := self.adapters.get(one.adapter)) is not None
        ]

        async def ask(one: Recognition, other: Adapter) -> tuple[Recognition, Outcome, float, str]:
            outcome, before = await self._ask_one(walk, one, other)
            return one, outcome, since_ms(self.clock, started), before

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(one, other)) for one, other in asked]
            first = await tasks[0]
            rest = set(tasks[1:])
            if rest and isinstance(first[1], Found):
                timer = group.create_task(self.clock.sleep(SECOND_OPINION_WAIT_S))
                while not timer.done() and not all(task.done() for task in rest):
                    waiting = {task for task in rest if not task.done()}
                    await asyncio.wait({timer, *waiting}, return_when=asyncio.FIRST_COMPLETED)
                timer.cancel()
                for task in rest:
                    task.cancel()
            elif rest:
                await asyncio.wait(rest)
        return [task.result() for task in tasks if not task.cancelled()]

    async def _ask_one(self, walk: Walk, one: Recognition, adapter: Adapter) -> tuple[Outcome, str]:
        """Ask one adapter, or say again how it failed a moment ago; the second value is when, in words."""
        query = walk.query
        if adapter.is_local or walk.route.needs_history:
            return await adapter.ask(one, query), ""
        key = (asker_key(query, one.key), adapter.name)
        if not query.no_cache:
            found = self.failures.find(key, patience_s=left_s(self.clock, query), max_age_s=query.max_age_s)
            if found is not None and not isinstance(found.value, Ended):
                return found.value, f"asked {found.age_s:.0f} s ago"
        outcome = await adapter.ask(one, query)
        failure, retry_after_s = replies.failure_of(outcome)
        if failure is None:
            self.failures.clear(key)
        elif left_s(self.clock, query) > HURRY_S:
            self.failures.remember(
                key, outcome, failure, patience_s=walk.patience_s, retry_after_s=retry_after_s
            )
        return outcome, ""

    def _ask_back(self, walk: Walk, unclear: Unclear) -> Reached:
        """A question to the asker in place of a guess."""
        answer = Answer(
            query=walk.query,
            text=unclear.ask,
            route=walk.route,
            source=SourceRef("adapter", walk.route.adapter or "adapter"),
            confidence=judge(observe(walk.query.text, unclear.ask, Origin.FALLBACK, abstained=True)),
            freshness=Freshness.TIME_SENSITIVE,
        )
        return Reached(answer, walk.vector, None, store_reason="unclear")

    def _from_adapter(self, walk: Walk, adapter: Adapter, weighed: list[Weighed]) -> Reached:
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
        return Reached(answer, walk.vector, None, grounded=True, store_reason=reason)
