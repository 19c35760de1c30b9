"""Compose: one text from the question and what was found, whatever engines are there.

The engines in turn within the deadline (``chain``) -> the best sentences of the evidence as quotes -> an
honest "I could not find that out" (``reasons``), with what was tried in the trace. Extraction comes before
generation (S0-01), so a model reads only what speaks to the question. Citations are attached here, never
believed. ``compose`` raises nothing but ``CancelledError``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from node.answer import context, extractive, model_answer, notes, prompt, quotes, reasons, revise
from node.answer.chain import Chain, Engine, Result, answers
from node.answer.composed import Composed, Trail, account
from node.answer.context import Block
from node.answer.fitting import fitting
from node.answer.grounding import abstains, strip_marks
from node.answer.peer_claims import heard, is_claim
from node.answer.stream import Shown
from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.model import Draft, Evidence, Kind, SourceRef, Step
from node.core.ports import Generator, NoteReader, Prompt, Tell
from node.core.talk import Talk
from node.language import conversation, tongue
from node.language.sentences import one_line

KEEP_WHOLE_CHARS = 400
"""Evidence up to this length is given to the model whole."""
NOTE_CHARS_MAX = 700
"""A stored note up to this length is given whole."""
CONTEXT_SENTENCES_MAX = 8
"""At most so many sentences of one long text reach the model."""
TOLD_MIN = 0.8
"""From this probability on that people's notes hold the answer, a model tells it in its own words: the bar of
all that is stored. Below, the notes themselves are shown, said to be the nearest; a small model that is not
sure tells them wrongly too often."""
FOUND_MIN = 0.5
"""A note that holds the answer so surely is quoted where the model could not put it into words."""


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
    ) -> Composed:
        """An answer to ``question`` before ``deadline`` (monotonic seconds). ``temperature`` and ``seed``
        as in ``Prompt``. ``tell`` hears of waits, and of the answer while it is made where nothing but its
        form is judged afterwards.

        ``could_not_look_up``: why a live or computed value is missing, in words for a person; the answer
        then says so and states no figure that the evidence lacks. The same holds for a deterministic
        question without evidence: what should be exact is never guessed. ``language``: of what is said in
        this node's own words. ``read_as``: the question in English, where it is in another language: notes
        are read for it. ``vector``: as for ``notes.read``. ``talk``: what the model is told besides."""
        missing = could_not_look_up
        if missing is None and route_kind is Kind.DETERMINISTIC and not evidence:
            missing = reasons.say("not_exact", language)
        trail = Trail(self._clock)
        given = _Given(_extract(read_as or question, evidence, trail), evidence)
        given = replace(given, writes=conversation.asks_to_write(question))
        if missing is None and any(map(notes.is_note, given.kept)):
            read = await notes.read(
                self._readers,
                read_as or question,
                given.kept,
                self._pack,
                deadline=deadline,
                tag=tag,
                vector=vector,
            )
            if read is not None:
                trail.extend(read.steps)
                given = given.after(read)
                if (told := _unsure_notes(given, trail, language)) is not None:
                    return replace(told, found=given.found or read.near_found, tried=trail.steps)
        given = _without_claims(given, question, trail)
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
            composed = _settled(composed, given, result.ms, trail, language)
            return replace(composed, found=given.told, tried=trail.steps)
        in_text = await self._in_text(question, given)
        composed = _without_model(question, given, missing, result.steps, trail, language, in_text)
        if given.found is not None:
            composed = replace(composed, found=given.found)
        return replace(composed, tried=trail.steps, retry_after_s=result.retry_after_s)

    def _accepted(
        self,
        question: str,
        asked: Prompt,
        blocks: Sequence[Block],
        given: _Given,
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
        return _told(result, trail)

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
        return _told(result, trail)

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

    def shown_instead(self, composed: Composed, *, language: str) -> Composed | None:
        """The notes themselves in the place of a model's words about them; None where there are none."""
        trail = Trail(self._clock)
        shown = quotes.from_read(notes.likeliest(composed.notes), trail, language)
        return shown and replace(shown, found=composed.found, tried=trail.steps)

    async def _in_text(self, question: str, given: _Given) -> list[str]:
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


# --- what an answer is made from ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Given:
    """What an answer is made from. ``kept`` is for a model to read, ``evidence`` may be quoted. ``found``,
    ``told``, ``near``, ``next`` and ``is_near_theirs`` as in ``notes.Read``; ``is_bound``: the question is
    about people's notes, so nothing else may answer it; ``writes``: a text is wanted that nobody has
    stored."""

    kept: Sequence[Evidence]
    evidence: Sequence[Evidence]
    found: float | None = None
    told: float | None = None
    near: Evidence | None = None
    next: Evidence | None = None
    is_bound: bool = False
    is_near_theirs: bool = False
    writes: bool = False

    def after(self, read: notes.Read) -> _Given:
        """Narrowed to what the readers of notes found in them."""
        is_bound = read.bound and not self.writes
        return replace(
            self,
            kept=read.kept,
            evidence=read.kept,
            found=read.found,
            told=read.told,
            near=read.near,
            next=read.next,
            is_bound=is_bound,
            is_near_theirs=read.is_near_theirs and not self.writes,
        )

    @property
    def has_text(self) -> bool:
        """Whether the asker pasted a text."""
        return any(one.source.kind == context.PASTED for one in self.evidence)


def _told(result: Result[Composed], trail: Trail) -> Composed:
    """What a model said with what was tried for it, or a fallback with an empty text."""
    trail.extend(result.steps)
    if result.value is None:
        return replace(quotes.unanswered(""), tried=trail.steps, retry_after_s=result.retry_after_s)
    outcome = "ok" if result.value.complete else "cut"
    trail.extend((Step("generate", outcome, account(result.value), result.ms),))
    return replace(result.value, tried=trail.steps)


def _unsure_notes(given: _Given, trail: Trail, language: str) -> Composed | None:
    """People's notes themselves, or the honest word that none says it, where it is not sure enough that they
    hold the answer for a model to tell it."""
    is_sure = (given.found or 0.0) >= TOLD_MIN
    if not given.is_bound or is_sure or not all(map(notes.is_note, given.kept)):
        return None
    unsure = list(given.kept or ([given.near] if given.near else []))
    if len(unsure) == 1 and given.next is not None:
        unsure.append(given.next)
    return quotes.from_unsure(unsure, trail, language) or quotes.not_there(language)


def _without_claims(given: _Given, question: str, trail: Trail) -> _Given:
    """Peers' claims go where people here know of it."""
    ours = heard(question, given.kept)
    if not (left_out := len(given.kept) - len(ours)):
        return given
    trail.add("claims", "left_out", f"{left_out} texts of peers: what is known here comes first")
    return replace(given, kept=ours, evidence=[one for one in given.evidence if not is_claim(one.source)])


def _settled(composed: Composed, given: _Given, ms: float, trail: Trail, language: str) -> Composed:
    """A model's answer, or notes in its place where it has none."""
    outcome = "ok" if composed.complete else "cut"
    trail.extend((Step("generate", outcome, account(composed), ms),))
    if composed.abstained:
        # What the node brings with it is quoted where the model, which read it, has nothing better.
        is_read = given.found is not None and (given.found >= FOUND_MIN or not given.is_bound)
        quotable = given.evidence if is_read else [given.near] if given.near else []
        composed = quotes.from_notes(quotable, trail, language) or composed
    retold = filter(notes.is_peoples, given.kept) if composed.grounded and not given.writes else ()
    return replace(composed, notes=tuple(retold))


def _without_model(
    question: str,
    given: _Given,
    missing: str | None,
    tried: Sequence[Step],
    trail: Trail,
    language: str,
    read: Sequence[str],
) -> Composed:
    """What is said where no model has answered: notes, sentences of the evidence, or an honest word."""
    return (
        _quoted(given, trail, language)
        or quotes.from_quotes(question, _quotable(given), missing, trail, language, read)
        or quotes.fallback(missing, given.evidence, tried, trail, language)
    )


def _quoted(given: _Given, trail: Trail, language: str) -> Composed | None:
    """Notes as they stand: those that hold the answer, the honest word that none does, or the nearest entry
    of the node's own."""
    found, near = given.found, given.near
    sure_enough = found is None or found >= FOUND_MIN
    if sure_enough and not (given.has_text or given.writes):
        said = quotes.from_notes(given.evidence, trail, language, unread=found is None)
        if said is not None:
            return said
    if given.is_bound and not (sure_enough or given.has_text):
        return quotes.not_there(language)
    if near is not None and not (given.writes or given.has_text or notes.is_peoples(near)):
        return quotes.from_unsure([near], trail, language)
    return None


def _quotable(given: _Given) -> list[Evidence]:
    """What sentences may be taken from."""
    if given.writes and not given.has_text:
        return []  # a note is no letter
    some = notes.quotable(given.evidence)
    if given.found is None or given.has_text:
        return [one for one in some if not notes.is_note(one)]
    return some


def _extract(question: str, evidence: Sequence[Evidence], trail: Trail) -> list[Evidence]:
    """The evidence narrowed to what speaks to the question. An adapter's answer is short and was asked
    for by name, so it is never narrowed away."""
    if not evidence:
        return []
    trail.start()
    kept: list[Evidence] = []
    sentences_kept = sentences_all = 0
    for item in evidence:
        if item.source.kind == context.PASTED:
            kept.append(item)
            continue
        whole = extractive.TEXT_CHARS_MAX if item.source.kind == "adapter" else KEEP_WHOLE_CHARS
        if notes.is_note(item) and len(item.text) <= NOTE_CHARS_MAX:
            whole = NOTE_CHARS_MAX  # it is about the question, in whatever words
        text, some, total = extractive.narrow(
            question, item.text, keep_whole_chars=whole, top=CONTEXT_SENTENCES_MAX
        )
        sentences_kept += some
        sentences_all += total
        if text:
            kept.append(replace(item, text=text))
    trail.add(
        "extract",
        "ok" if kept else "empty",
        f"{sentences_kept} of {sentences_all} sentences from {len(kept)} of {len(evidence)} sources",
    )
    return kept
