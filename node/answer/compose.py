"""Compose: one text from the question and what was found, whatever engines are there.

The engines in turn within the deadline (``chain``) -> the best sentences of the evidence as quotes -> an
honest "I could not find that out" (``reasons``), with what was tried in the trace. Extraction comes before
generation (S0-01), so a model reads only what speaks to the question. Citations are attached here, never
believed. ``compose`` raises nothing but ``CancelledError``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from node.answer import context, documents, model_answer, notes, prompt, quotes, reasons, revise
from node.answer.chain import Chain, Engine, Result, answers
from node.answer.composed import Composed, Trail
from node.answer.context import Block
from node.answer.fitting import fitting
from node.answer.given import (
    Given,
    extract,
    from_documents,
    not_in_documents,
    settled,
    told_as_said,
    unsure_documents,
    unsure_notes,
    with_remarks,
    without_claims,
    without_model,
)
from node.answer.grounding import abstains, strip_marks
from node.answer.stream import Shown
from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.model import Draft, Evidence, Kind, SourceRef, Step
from node.core.ports import Generator, NoteReader, Prompt, Tell
from node.core.talk import Talk
from node.language import conversation, tongue
from node.language.sentences import one_line


class Composer:
    """Holds the engines in order of preference. Safe to use by many requests at once."""

    def __init__(
        self,
        generators: Sequence[Generator],
        clock: Clock,
        context_chars_max: int,
        tokens_max: int,
        *,
        generator_timeout_s: float | None = None,
        queue_max: int = 64,
        tokens: context.Tokens = context.BY_ESTIMATE,
        reader: NoteReader | None = None,
    ) -> None:
        """``generator_timeout_s`` bounds each generator by itself; ``queue_max`` questions wait for each.
        ``tokens``: how many of them the context may hold, and who counts them. ``reader`` reads stored notes;
        it is the caller's to close."""
        self._chain = Chain(generators, clock, queue_max=queue_max, timeout_s=generator_timeout_s)
        self._readers = notes.Readers(reader, self._chain)
        self._clock = clock
        self._pack = partial(
            context.pack, chars_max=context_chars_max, tokens_max=tokens.most, count=tokens.count
        )
        self._tokens_max = tokens_max
        self._thinks = False

    @property
    def chain(self) -> Chain:
        """Whom it asks."""
        return self._chain

    @property
    def engines(self) -> tuple[Engine, ...]:
        """The engines in order of preference, with their standing: what health asks."""
        return self._chain.engines

    async def compose(
        self,
        question: str,
        evidence: Sequence[Evidence],
        *,
        route_kind: Kind,
        could_not_look_up: str | None = None,
        deadline: float,
        tag: str,
        language: str = "en",
        read_as: str | None = None,
        vector: Iterable[float] | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        tell: Tell | None = None,
        talk: Talk | None = None,
        read: documents.Read | None = None,
    ) -> Composed:
        """An answer to ``question`` before ``deadline`` (monotonic seconds). ``temperature`` and ``seed``
        as in ``Prompt``. ``tell`` hears of waits, and of the answer while it is made where nothing but its
        form is judged afterwards.

        ``could_not_look_up``: why a live or computed value is missing, in words for a person; the answer
        then says so and states no figure that the evidence lacks. The same holds for a deterministic
        question without evidence: what should be exact is never guessed. ``language``: of what is said in
        this node's own words. ``read_as``: the question in English, where it is in another language: notes
        are read for it. ``vector``: as for ``notes.read``. ``talk``: what the model is told besides.
        ``read``: what documents say to it; what they say stands in ``evidence`` too."""
        missing = could_not_look_up
        if missing is None and route_kind is Kind.DETERMINISTIC and not evidence:
            missing = reasons.say("not_exact", language)
        trail = Trail(self._clock)
        given = Given(extract(read_as or question, evidence, trail), evidence)
        given = replace(given, writes=conversation.asks_to_write(question), documented=read)
        alone = None
        if missing is None and any(map(notes.is_note, given.kept)):
            reading = self._readers, read_as or question, given.kept, self._pack
            held = await notes.read(*reading, deadline=deadline, tag=tag, vector=vector)
            if held is not None:
                trail.extend(held.steps)
                given = given.after(held)
                alone = unsure_notes(given, held, trail, language)
        given = given.with_documents()
        alone = alone or not_in_documents(given, question, missing, language)
        alone = alone or unsure_documents(given, missing, trail, language)
        if alone is not None:
            return replace(alone, tried=trail.steps)
        given = without_claims(given, question, trail)
        packed = self._pack(given.kept)
        if given.evidence:
            trail.add("pack", "ok" if packed.blocks else "empty", packed.summary)
        asked = prompt.build(
            question, packed.blocks, tag, could_not_look_up=missing, tokens_max=self._tokens_max
        )
        asked = replace(asked, temperature=temperature, seed=seed)
        if talk is not None:
            asked = prompt.talking(asked, talk)

        accept = partial(self._accepted, question, asked, packed.blocks, given, missing, route_kind, language)
        judged = missing is not None or route_kind is Kind.HISTORICAL
        judged = judged or any(block.from_adapter for block in packed.blocks)
        shown = self._shown(None if judged else tell, asked, question)
        result = await self._first(asked, accept, deadline, shown, tell)
        wanted = tongue.wanted_for(question)
        result = await self._in_language(wanted, asked, accept, result, deadline, trail, shown)
        trail.extend(result.steps)
        if result.value is not None:
            composed = await self._reread(question, result.value, packed.blocks)
            composed = settled(composed, given, result.ms, trail, language)
            composed = with_remarks(composed, given, language)
            return replace(composed, found=given.told, tried=trail.steps)
        in_text = await self._in_text(question, given)
        composed = without_model(question, given, missing, result.steps, trail, language, in_text)
        if given.found is not None and composed.source.kind != documents.KIND:
            composed = replace(composed, found=given.found)
        return replace(composed, tried=trail.steps, retry_after_s=result.retry_after_s)

    def _accepted(
        self,
        question: str,
        asked: Prompt,
        blocks: Sequence[Block],
        given: Given,
        missing: str | None,
        route_kind: Kind,
        language: str,
        draft: Draft,
    ) -> Composed:
        """What a draft comes to. Raises ``Rejected``."""
        self._thinks = draft.think_blocks > 0
        composed = model_answer.from_draft(
            question, draft, asked, blocks, given.kept, missing, self._clock.now(), language
        )
        model_answer.must_rest_on_evidence(
            composed,
            question,
            draft,
            blocks,
            route_kind,
            is_bound=given.is_bound,
            is_near_theirs=given.is_near_theirs,
        )
        return composed

    async def in_english(
        self, question: str, *, deadline: float, tag: str
    ) -> tuple[str | None, Sequence[Step]]:
        """The question in English where it is clearly in another language and an engine can say so; what is
        stored is mostly in English, and so is what the embedder knows."""
        if tongue.name_of(question) in (None, revise.ENGLISH):
            return None, ()
        asked = revise.translation(question, tag)
        result = await self._chain.first(
            asked, lambda draft: revise.translated(draft, asked), deadline=deadline
        )
        if result.value is None:
            return None, ()
        return result.value, (Step("translate", "ok", result.value, result.ms),)

    async def whole_question(
        self,
        turns: Sequence[tuple[str, str]],
        said: str,
        holds: Callable[[str], bool],
        *,
        deadline: float,
        tag: str,
    ) -> str | None:
        """The follow-up ``said`` as a question that can be asked alone, by a model; None where none is there,
        empty where one is and could not, or ``holds`` refuses what it made."""
        asked = revise.whole_question(turns, said, tag)

        def accept(draft: Draft) -> str:
            made = one_line(revise.accepted(draft, asked).text, revise.QUESTION_CHARS_MAX)
            if not (draft.complete and holds(made)):
                raise Rejected("the model did not complete the question")
            return made

        result = await self._chain.first(asked, accept, deadline=deadline)
        is_there = any(step.outcome in ("rejected", "timeout", "busy") for step in result.steps)
        return "" if result.value is None and is_there else result.value

    async def say(self, message: str, talk: Talk, *, deadline: float, tell: Tell | None = None) -> Composed:
        """What a model says to a message as it stands, in the format that is asked for; where no model can,
        a fallback with an empty text. An answer in a given format is told when it is whole."""
        trail = Trail(self._clock)
        asked = prompt.as_it_stands(message, talk, self._tokens_max)

        def accept(draft: Draft) -> Composed:
            self._thinks = draft.think_blocks > 0
            return self._as_said(replace(draft, text=fitting(draft.text, talk.schema)))

        shown = self._shown(None if talk.schema else tell, asked)
        result = await self._first(asked, accept, deadline, shown, tell)
        return told_as_said(result, trail)

    async def revise(
        self, order: revise.Revision, *, deadline: float, tag: str, tell: Tell | None = None
    ) -> Composed:
        """The last answer as ``order`` wants it; where no model can, a fallback with an empty text."""
        trail = Trail(self._clock)
        asked = revise.task(order, tag, self._tokens_max)

        def accept(draft: Draft) -> Composed:
            self._thinks = draft.think_blocks > 0
            return self._as_said(revise.accepted(draft, asked))

        shown = self._shown(tell, asked)
        result = await self._first(asked, accept, deadline, shown)
        result = await self._in_language(order.language, asked, accept, result, deadline, trail, shown)
        return told_as_said(result, trail)

    def _as_said(self, draft: Draft) -> Composed:
        """A model's words as they are."""
        name, now = f"{draft.engine}/{draft.model}", self._clock.now()
        source = SourceRef("llm", name, time=now, digest=draft.model_digest)
        return Composed(draft.text, source, draft=draft, abstained=abstains(draft.text))

    async def _first(
        self,
        asked: Prompt,
        accept: Callable[[Draft], Composed],
        deadline: float,
        shown: Shown | None,
        tell: Tell | None = None,
    ) -> Result[Composed]:
        """The first engine's answer that is accepted, told while it is made where somebody watches."""
        if shown is None:
            return await self._chain.first(asked, accept, deadline=deadline, tell=tell)
        return await self._chain.first(asked, accept, deadline=deadline, tell=shown.tell, on_text=shown.add)

    def _shown(self, tell: Tell | None, asked: Prompt, *echo: str) -> Shown | None:
        """What an answer is told with while it is made, where somebody watches."""
        if tell is None:
            return None
        return Shown(tell, stop=asked.stop, echo=(asked.system, *echo), thinks=self._thinks)

    async def present(self) -> tuple[str, ...]:
        """The engines that answer now, by name and in their own words."""
        checks = await asyncio.gather(*(engine.probe() for engine in self.engines))
        return tuple(f"{check.name} ({check.output})" for check in checks if answers(check))

    async def told(self, text: str, evidence: Sequence[Evidence], *, language: str) -> Composed | None:
        """The stored note that words which only tell are about, as it stands, or None. No model is asked."""
        said = await notes.surest(self._readers.trained, text, evidence)
        if said is None:
            return None
        trail = Trail(self._clock)
        composed = quotes.from_read([said.note], trail, language)
        return composed and replace(composed, found=said.share, tried=trail.steps)

    async def meant(self, question: str, evidence: Sequence[Evidence]) -> tuple[int, float] | None:
        """The place of the starter entry that is the answer to the question, and how surely it is; None where
        there is doubt, or where a text is wanted that nobody has stored."""
        if conversation.asks_to_write(question):
            return None
        said = await notes.meant(self._readers.trained, question, evidence)
        if said is None:
            return None
        return next(at for at, one in enumerate(evidence) if one is said.note), said.share

    def shown_instead(
        self, composed: Composed, *, language: str, read: documents.Read | None = None
    ) -> Composed | None:
        """The notes or documents themselves in the place of a model's words about them; None where there are
        none."""
        trail = Trail(self._clock)
        if read is not None and read.said and composed.source.kind == "llm" and not composed.notes:
            return replace(from_documents(read, trail, language), tried=trail.steps)
        shown = quotes.from_read(notes.likeliest(composed.notes), trail, language)
        return shown and replace(shown, found=composed.found, tried=trail.steps)

    async def _in_text(self, question: str, given: Given) -> list[str]:
        """What answers the question in the text that came with it, by the packaged reader."""
        texts = [one.text for one in given.kept if one.source.kind == context.PASTED]
        return await notes.answers_in(self._readers.trained, question, texts[0]) if texts else []

    async def _reread(self, question: str, composed: Composed, blocks: Sequence[Block]) -> Composed:
        """With the packaged reader's word on whether an answer on evidence says what was asked for."""
        if composed.support is None or composed.draft is None or composed.abstained:
            return composed
        bare = strip_marks(composed.draft.text, blocks)
        said = await notes.answered(self._readers.trained, question, bare)
        return replace(composed, support=replace(composed.support, answers=said))

    async def _in_language(
        self,
        wanted: str | None,
        asked: Prompt,
        accept: Callable[[Draft], Composed],
        result: Result[Composed],
        deadline: float,
        trail: Trail,
        shown: Shown | None = None,
    ) -> Result[Composed]:
        """The result, asked for once more where it is clearly in another language than ``wanted``."""
        if wanted is None or result.value is None or not tongue.other_than(wanted, result.value.text):
            return result
        trail.add("language", "again", f"the answer was not in {wanted}: asked for once more")
        if shown is not None:
            shown.tell("reset", {})
        again = await self._first(revise.in_language(asked, wanted), accept, deadline, shown)
        trail.extend(again.steps)
        return result if again.value is None else again
