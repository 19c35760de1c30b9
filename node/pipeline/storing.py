"""What becomes of an answer: stored, kept as a draft until a second sample agrees, or neither."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

from node.audit.decisions.answer_entry import store_entry
from node.cache.refuted import NothingRefuted, Refuted, Said
from node.core.caller import private_scope
from node.core.clock import Clock
from node.core.model import Answer, Confidence, Step, Usage
from node.core.normalise import normalise, query_hash
from node.core.ports import AuditLog
from node.knowledge.used import tags
from node.pipeline import replies
from node.pipeline.drafts import Drafts
from node.pipeline.generation import Generation
from node.pipeline.under_way import Policy, Reached, Walk, asker_key, since_ms
from node.store.record_rules import scope_for
from node.store.remember import Memory, Remembered, Rememberer
from node.store.retention.freshness import Lifetime, lifetime
from node.store.retention.volatility import only_sounds_of_now, volatility

STORE_WAIT_S = 2.0
"""How long a reply waits for its own write; the write goes on behind it."""
REFUTED_CONFIDENCE_MAX = 0.3
"""Of an answer that says what was called invalid."""
REFUTED_NOTE = "This may be wrong: the same answer to this question was marked as invalid before."
SECOND_TEMPERATURE, SECOND_SEED = 0.7, 1
"""Of the second sample: another one than the likeliest, and the same one each time."""
JudgeAgain = Callable[[replies.Sample, replies.Sample], Confidence]
"""The confidence in the first answer to a question, now that a second sample is known."""
SampleAgain = Callable[[Hashable, Callable[[float], Awaitable[None]]], bool]
"""Asks for a second sample behind the reply, one for each key at a time; whether one is under way now."""


@dataclass(frozen=True, slots=True)
class Second:
    """Who asks for a second sample, if anybody does, and who judges by both."""

    ask: SampleAgain | None = None
    judge: JudgeAgain = replies.judged_again


class Storing:
    """See the module."""

    def __init__(
        self,
        clock: Clock,
        generation: Generation,
        rememberer: Rememberer,
        log: AuditLog,
        policy: Policy,
        *,
        drafts: Drafts[Any] | None = None,
        refuted: Refuted | None = None,
        second: Second | None = None,
    ) -> None:
        self._clock = clock
        self._generation = generation
        self._rememberer = rememberer
        self._log = log
        self._policy = policy
        self.drafts: Drafts[Reached] = Drafts(clock.monotonic) if drafts is None else drafts
        self._refuted = refuted or NothingRefuted()
        self._second = second or Second()

    async def remember(self, walk: Walk, outcome: Reached) -> Reached:
        outcome = await self._doubted(walk, replace(outcome, answer=_marked(outcome)))
        reason = outcome.store_reason
        value, least = outcome.answer.confidence.value, self._policy.confidence_min
        if outcome.answer.hit is None and reason != "statement":
            enough = "enough" if value >= least else "too_low"
            walk.note("judge", enough, f"confidence {value:.3f}, stored from {least:.2f}")
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
            why = None if answer.stored else _in_words(reason)
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
        step = Step(
            "remember", remembered.code, remembered.reason, since_ms(self._clock, started), remembered.code
        )
        durable = remembered.is_durable
        answer = replace(
            answer,
            cid=remembered.cid,
            stored=durable,
            store_reason=None if durable else _in_words(remembered.code),
            trace=(*answer.trace, step),
        )
        return replace(
            outcome, answer=answer, remembered=remembered, will_store=True, store_reason=remembered.code
        )

    async def _doubted(self, walk: Walk, outcome: Reached) -> Reached:
        """The answer as it is, or below the bar and with a note where the same was called invalid before."""
        answer = outcome.answer
        if answer.hit is not None or answer.source.kind not in ("llm", "extractive", "adapter"):
            return outcome
        await self._refuted.prepare()
        if not self._refuted.knows(self._said(walk, answer.text, answer.source.kind, answer.route.key)):
            return outcome
        walk.note("judge", "known_invalid", REFUTED_NOTE, code="known_invalid")
        confidence = Confidence(min(REFUTED_CONFIDENCE_MAX, answer.confidence.value), answer.confidence.parts)
        answer = replace(answer, text=f"{REFUTED_NOTE}\n\n{answer.text}", confidence=confidence)
        return replace(outcome, answer=answer, store_reason="known_invalid")

    def _said(self, walk: Walk, text: str, kind: str, slot_key: str | None = None) -> Said:
        query = walk.query
        return Said(
            query.text, text, kind, query.caller.visible_scopes, query.context, slot_key, vector=walk.vector
        )

    def _draft_key(self, walk: Walk) -> Hashable:
        """The very same question, by the same caller, with the same found beside it."""
        query = walk.query
        found = tuple((one.source.id, one.text) for one in walk.evidence)
        words = query_hash(normalise(query.asked))
        return (asker_key(query, None), words, walk.route.kind, found, walk.could_not_look_up)

    def drafted(self, walk: Walk) -> Reached | None:
        """What a model said to the very same question within the last hour, if that was not stored."""
        query = walk.query
        if query.no_cache or walk.route.needs_history:
            return None
        key = self._draft_key(walk)
        draft = self.drafts.find(key, max_age_s=query.max_age_s)
        if draft is None:
            return None
        age_s = self._clock.monotonic() - draft.made
        reason = f"a model said it {age_s:.0f} s ago, and it was not sure enough to be stored"
        walk.note("draft", "served", reason, code="draft")
        before = draft.value
        answer = replace(before.answer, query=query, route=walk.route, draft=True, usage=Usage())
        return replace(before, answer=answer, vector=walk.vector, draft=key)

    def _keep_draft(self, walk: Walk, outcome: Reached) -> Reached:
        """A model's answer below the bar as a draft, and a second sample asked for where only that is
        missing."""
        answer, query = outcome.answer, walk.query
        if answer.source.kind != "llm" or outcome.abstained:
            return outcome
        key, life = self._draft_key(walk), self._lifetime(walk, answer)
        if not answer.draft:
            kept = replace(outcome, answer=replace(answer, trace=()), vector=None, store_reason="")
            self.drafts.keep(
                key,
                kept,
                tenant=query.caller.tenant,
                question=query.text,
                answer=answer.text,
                life_s=life.seconds,
            )
        outcome = replace(outcome, draft=key)
        draft = self.drafts.find(key)
        if draft is None or draft.is_checked or not self._lacks_agreement(outcome):
            return outcome
        memory = self._memory(walk, outcome, life)

        async def sample(deadline: float) -> None:
            await self._checked_again(walk, outcome, memory, key, deadline)

        if self._second.ask is not None and self._second.ask(key, sample):
            return replace(outcome, store_reason="being_checked")
        return outcome

    def _lacks_agreement(self, outcome: Reached) -> bool:
        """Whether a second sample that agrees would lift it above the bar."""
        if outcome.composed is None or self._second.ask is None:
            return False
        first = replies.Sample(outcome.answer.query, outcome.composed, outcome.answer.confidence)
        return self._second.judge(first, first).value >= self._policy.confidence_min

    async def _checked_again(
        self, walk: Walk, outcome: Reached, memory: Memory, key: Hashable, deadline: float
    ) -> None:
        """Ask the composer once more and judge the first answer again; it is stored then, or it is not. Where
        no model answers nothing is decided."""
        assert outcome.composed is not None
        again = await self._generation.composed(
            walk, deadline, temperature=SECOND_TEMPERATURE, seed=SECOND_SEED
        )
        if again.source.kind != "llm" or self.drafts.find(key) is None:
            return
        first = replies.Sample(walk.query, outcome.composed, outcome.answer.confidence)
        confidence = self._second.judge(first, replace(first, composed=again))
        said = self._said(walk, memory.answer, memory.source.kind, memory.slot_key)
        is_refuted = self._refuted.knows(said)
        if is_refuted or confidence.value < self._policy.confidence_min:
            self.drafts.checked(key)
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
            self.drafts.drop(key)

    def _lifetime(self, walk: Walk, answer: Answer) -> Lifetime:
        query = walk.query
        return lifetime(
            answer.freshness,
            query=query.text,
            time_sensitive=walk.route.time_sensitive and not only_sounds_of_now(query.text),
            asked_ttl_s=query.ttl_s,
            now=query.local,
        )

    def _memory(self, walk: Walk, outcome: Reached, life: Lifetime) -> Memory:
        answer, query = outcome.answer, walk.query
        is_personal = bool(query.pasted) or volatility(query.text, query.local).personal
        scope = scope_for(
            private_scope(query.caller.tenant) if is_personal else query.caller.default_scope,
            "none" if query.context else self._policy.publish,  # it answers those who were told the same
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
            tags=(*query.tags, *(tags(answer.documents.used) if answer.documents else ())),
            slots=answer.route.slots or None,
            slot_key=answer.route.key,
            citations=answer.citations,
            llm=outcome.llm,
            vector=outcome.vector,
            embed="later" if walk.embedded else "now",
            cost_us=round((self._clock.monotonic() - walk.began) * 1e6),
        )


def _in_words(reason: str) -> str:
    """Why an answer is not stored, for people: ``being checked``."""
    return reason.replace("_", " ")


def _marked(outcome: Reached) -> Answer:
    """The answer, marked where a model said it on no evidence. Not to know is no claim."""
    answer = outcome.answer
    alone = answer.source.kind == "llm" and not outcome.grounded and not outcome.abstained
    return replace(answer, unverified=answer.unverified or alone)
