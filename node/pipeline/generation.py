"""The station that has an answer composed, by a model on the evidence or without one, and judges it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from node.answer import reasons
from node.answer.compose import Composer
from node.answer.composed import Composed
from node.answer.evidence.relevance import packaged
from node.answer.quotes import quoted, unanswered
from node.answer.revise import first_sentence, revision
from node.answer.score.confidence import judge, observe, origin_of
from node.core.clock import Clock, random_bytes
from node.core.model import Answer, Freshness, Kind, Query, Usage
from node.core.ports import Tell, Vector
from node.core.record import ModelRef
from node.language import conversation, tables, tongue
from node.language.tongue import may_be_english
from node.pipeline import replies
from node.pipeline.under_way import Policy, Reached, Walk, since_ms
from node.pipeline.understanding.question import language_of
from node.pipeline.understanding.standing_alone import guess, is_made_of, names_more, owned

_REWORDS = frozenset({"simpler", "language"})
"""Orders for which the last answer itself is better than nothing."""
_COMPLETING = 0.3
"""The share of a question's time in which a model may complete it from what was said before."""


@dataclass(frozen=True, slots=True)
class Generation:
    """See the module."""

    clock: Clock
    composer: Composer
    policy: Policy

    async def compose(self, walk: Walk) -> Reached:
        talk = walk.query.talk
        if talk is not None and talk.verbatim:
            return await self._said(walk)
        order = None if walk.query.pasted else conversation.order(walk.query.text)
        if walk.route.needs_history or (order is not None and not walk.history):
            return await self._revise(walk, order)
        started = self.clock.monotonic()
        with self._metered(walk) as made:
            composed = await self.composed(walk, walk.query.deadline, tell=walk.tell)
            made += [composed]
        walk.retry_after_s = composed.retry_after_s
        walk.add(*composed.tried)
        outcome = self.reached(walk, composed)
        sure = outcome.answer.confidence.value
        is_lookup = order is None and not conversation.asks_to_write(walk.query.text)
        if is_lookup and sure < self.policy.confidence_min and not composed.abstained:
            # What people stored is shown as it stands rather than told by a model that may have it wrong.
            shown = self.composer.shown_instead(
                composed, language=language_of(walk.query.text), read=walk.documents
            )
            if shown is not None:
                walk.note("doubt", "quoted", f"the model's words about the notes: {sure:.2f}")
                walk.add(*shown.tried)
                if walk.tell is not None:
                    walk.tell("reset", {})
                composed, outcome = shown, self.reached(walk, shown)
        walk.note("compose", composed.source.kind, composed.source.id, since_ms(self.clock, started))
        return outcome

    @contextmanager
    def _metered(self, walk: Walk) -> Iterator[list[Composed]]:
        """One question that models are asked for, unless what is put into the list says that none has
        written anything. Who leaves before the end pays for it. Raises ``BudgetSpent``."""
        meter = walk.query.caller.meter
        if meter is None or all(engine.missing is not None for engine in self.composer.engines):
            yield []
            return
        meter.take()
        made: list[Composed] = []
        yield made
        if not any(map(_has_written, made)):
            meter.give_back()

    async def composed(
        self,
        walk: Walk,
        deadline: float,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        tell: Tell | None = None,
    ) -> Composed:
        talk = walk.query.talk
        if talk is not None and temperature:
            talk = replace(talk, seed=None)  # another sample is wanted
        if talk is not None and talk.verbatim:
            talk = replace(talk, temperature=talk.temperature or temperature, seed=talk.seed or seed)
            return await self.composer.say(walk.query.asked, talk, deadline=deadline, tell=tell)
        return await self.composer.compose(
            walk.query.text,
            walk.evidence,
            route_kind=walk.route.kind,
            could_not_look_up=walk.could_not_look_up,
            deadline=deadline,
            tag=random_bytes(6).hex(),
            language=language_of(walk.query.text),
            read_as=walk.read_as,
            vector=_vector_for_notes(walk),
            temperature=temperature,
            seed=seed,
            tell=tell,
            talk=talk,
            read=walk.documents,
        )

    async def whole_question(
        self, query: Query, text: str, history: Sequence[tuple[str, str]]
    ) -> tuple[str | None, bool]:
        """A follow-up as a question that can be asked alone, and whether a model was asked for it, which the
        caller's budget then has counted: where there is none, or the caller may ask none any more, it is what
        its words let one guess."""
        now, deadline, meter = self.clock.monotonic(), query.deadline, query.caller.meter
        if meter is not None:
            if meter.is_spent:
                return guess(text, history[-1][0]), False
            meter.take()
        made = await self.composer.whole_question(
            history,
            text,
            lambda whole: is_made_of(whole, text, history[-1]),
            deadline=now + (deadline - now) * _COMPLETING,
            tag=random_bytes(6).hex(),
        )
        if made is None and meter is not None:
            meter.give_back()
        return (guess(text, *history[-1]), False) if made is None else (made or None, True)

    async def _said(self, walk: Walk) -> Reached:
        """What a model says to the message as it came."""
        with self._metered(walk) as made:
            composed = await self.composed(walk, walk.query.deadline, tell=walk.tell)
            made += [composed]
        walk.retry_after_s = composed.retry_after_s
        walk.add(*composed.tried)
        if not composed.text:
            language = language_of(walk.query.text)
            composed = replace(composed, text=reasons.no_answer(composed.tried, language))
        return self.reached(walk, composed)

    async def _revise(self, walk: Walk, order: conversation.Order | None) -> Reached:
        """What is asked of the last answer: by a model, else what can be said without one."""
        code = tongue.language_of(walk.query.text, sure=False) or tables.ENGLISH
        kind, code, target = ("", code, "") if order is None else (order.kind, order.code, order.target)
        if not walk.history:
            return self.reached(walk, unanswered(conversation.order_reply(code, "nothing_before")))
        answered = walk.history[-1][1]
        is_empty = reasons.found_nothing(answered)
        if is_empty and kind:
            return self.reached(walk, unanswered(conversation.order_reply(code, "no_answer")))
        if kind == "again":
            return self.reached(walk, quoted(answered))
        started = self.clock.monotonic()
        with self._metered(walk) as made:
            composed = await self.composer.revise(
                revision(walk.history, walk.query.text, kind, target),
                deadline=walk.query.deadline,
                tag=random_bytes(6).hex(),
                tell=walk.tell,
            )
            made += [composed]
        walk.retry_after_s = composed.retry_after_s
        walk.add(*composed.tried)
        if composed.abstained and not composed.text:
            if kind == "shorter":
                text, is_whole = first_sentence(reasons.bare(answered))
                composed = quoted(conversation.order_reply(code, "already_short", text) if is_whole else text)
            else:
                name = "no_answer" if is_empty else "without_model" if kind in _REWORDS else "no_more"
                if not kind and not is_empty and owned(walk.query.text, walk.history[-1][0]) is not None:
                    name = "not_said"
                elif not kind and names_more(walk.query.text):
                    name = "whole_question"
                said = reasons.too_slow(composed.tried, code)
                composed = replace(
                    unanswered(said or conversation.order_reply(code, name, answered)),
                    retry_after_s=composed.retry_after_s,
                )
        walk.note("compose", composed.source.kind, composed.source.id, since_ms(self.clock, started))
        return self.reached(walk, composed)

    def reached(self, walk: Walk, composed: Composed) -> Reached:
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
            documents=composed.documents,
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
        elif composed.documents is not None and composed.documents.has_contradiction:
            reason = "documents_disagree"
        elif len(composed.notes) > 1:
            reason = "several_notes"  # small models take the figures of one for those of another
        llm = None if draft is None else ModelRef(draft.model, draft.model_digest)
        return Reached(
            answer,
            walk.vector,
            None,
            llm=llm,
            grounded=composed.grounded,
            store_reason=reason,
            abstained=composed.abstained,
            composed=composed,
        )


def _vector_for_notes(walk: Walk) -> Vector | None:
    """The question's vector where the rule of relevance can read it: it knows one embedder, and English."""
    made = walk.vector
    if made is None or made.info.digest != packaged().embedder or not may_be_english(walk.query.text):
        return None
    return made.vector


def _has_written(composed: Composed) -> bool:
    """Whether a model has written for this, though it may have been of no use."""
    return composed.draft is not None or any(
        step.stage == "generate" and step.outcome == "rejected" for step in composed.tried
    )
