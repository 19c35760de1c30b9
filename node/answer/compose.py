"""Compose: one text from the question and what was found, whatever engines are there.

The engines in turn within the deadline (``chain``) -> the best sentences of the evidence as quotes -> an
honest "I could not find that out" (``reasons``), with what was tried in the trace. Extraction comes before
generation (S0-01), so a model reads only what speaks to the question. Citations are attached here, never
believed. ``compose`` raises nothing but ``CancelledError``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from node.answer import context, extractive, notes, papers, prompt, quotes, reasons, revise
from node.answer.chain import Chain, Engine, Result, answers
from node.answer.composed import CITATIONS_MAX, Composed, Trail
from node.answer.context import Block, source_name
from node.answer.grounding import (
    Grounding,
    abstains,
    admits_no_lookup,
    contradicts_itself,
    ends_before_it_answers,
    ground,
    only_given_figures,
    puts_a_figure_on_what_is_missing,
    repeats_an_example,
    says_nothing_new,
    strip_marks,
    without_number_words,
)
from node.answer.peer_claims import heard, is_claim
from node.answer.stream import Shown
from node.core.clock import Clock
from node.core.errors import Rejected
from node.core.model import Citation, Draft, Evidence, Kind, SourceRef, Step
from node.core.ports import Generator, NoteReader, Prompt, Tell
from node.language import conversation, tongue
from node.language.sentences import sentences
from node.language.verbatim import begins_with_block, with_fence_closed
from node.models.clean import clean

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
        context_tokens_max: int | None = None,
        count_tokens: context.Count = context.estimate,
        reader: NoteReader | None = None,
    ) -> None:
        """``generator_timeout_s`` bounds each generator by itself; ``queue_max`` questions wait for each.
        ``count_tokens`` is a tokenizer's, for the budget of the context. ``reader`` reads stored notes; it is
        the caller's to close."""
        self._chain = Chain(generators, clock, queue_max=queue_max, timeout_s=generator_timeout_s)
        self._readers = notes.Readers(reader, self._chain)
        self._clock = clock
        self._pack = partial(
            context.pack, chars_max=context_chars_max, tokens_max=context_tokens_max, count=count_tokens
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
        temperature: float = 0.0,
        seed: int = 0,
        tell: Tell | None = None,
    ) -> Composed:
        """An answer to ``question`` before ``deadline`` (monotonic seconds). ``temperature`` and ``seed``
        as in ``Prompt``. ``tell`` hears of waits, and of the answer while it is made where nothing but its
        form is judged afterwards.

        ``could_not_look_up``: why a live or computed value is missing, in words for a person; the answer
        then says so and states no figure that the evidence lacks. The same holds for a deterministic
        question without evidence: what should be exact is never guessed. ``language``: of what is said in
        this node's own words. ``read_as``: the question in English, where it is in another language: notes
        are read for it."""
        missing = could_not_look_up
        if missing is None and route_kind is Kind.DETERMINISTIC and not evidence:
            missing = reasons.say("not_exact", language)
        trail = Trail(self._clock)
        kept = _extract(read_as or question, evidence, trail)
        found: float | None = None
        is_bound = False
        writes = conversation.asks_to_write(question)
        near: Evidence | None = None
        if missing is None and any(map(notes.is_note, kept)):
            read = await notes.read(
                self._readers, read_as or question, kept, self._pack, deadline=deadline, tag=tag
            )
            if read is not None:
                trail.extend(read.steps)
                kept, found, is_bound = read.kept, read.found, read.bound and not writes
                evidence, near = kept, read.near
                if is_bound and (found or 0.0) < TOLD_MIN and all(map(notes.is_note, kept)):
                    unsure = kept or ([near] if near else [])
                    told = quotes.from_unsure(unsure, trail, language) or quotes.not_there(language)
                    return replace(told, found=found or read.near_found, tried=trail.steps)
        if left_out := len(kept) - len(ours := heard(question, kept)):
            trail.add("claims", "left_out", f"{left_out} texts of peers: what is known here comes first")
            kept, evidence = ours, [one for one in evidence if not is_claim(one.source)]
        packed = self._pack(kept)
        if evidence:
            trail.add("pack", "ok" if packed.blocks else "empty", packed.summary)
        asked = prompt.build(
            question, packed.blocks, tag, could_not_look_up=missing, tokens_max=self._tokens_max
        )
        asked = replace(asked, temperature=temperature, seed=seed)

        def accept(draft: Draft) -> Composed:
            self._thinks = draft.think_blocks > 0
            composed = _from_draft(
                question, draft, asked, packed.blocks, kept, missing, self._clock.now(), language
            )
            _must_rest_on_evidence(composed, question, draft, packed.blocks, route_kind, is_bound=is_bound)
            return composed

        judged = missing is not None or route_kind is Kind.HISTORICAL
        judged = judged or any(block.from_adapter for block in packed.blocks)
        shown = self._shown(None if judged else tell, asked, question)
        result = await self._chain.first(
            asked,
            accept,
            deadline=deadline,
            tell=tell if shown is None else shown.tell,
            on_text=None if shown is None else shown.add,
        )
        wanted = tongue.wanted_for(question)
        result = await self._in_language(wanted, asked, accept, result, deadline, trail, shown)
        trail.extend(result.steps)
        if result.value is not None:
            composed = await self._reread(question, result.value, packed.blocks)
            outcome = "ok" if composed.complete else "cut"
            trail.extend((Step("generate", outcome, _account(composed), result.ms),))
            if composed.abstained:
                # What the node brings with it is quoted where the model, which read it, has nothing better.
                is_read = found is not None and (found >= FOUND_MIN or not is_bound)
                quotable = evidence if is_read else [near] if near else []
                composed = quotes.from_notes(quotable, trail, language) or composed
            retold = filter(notes.is_peoples, kept) if composed.grounded and not writes else ()
            return replace(composed, found=found, notes=tuple(retold), tried=trail.steps)
        quoted = _quoted(evidence, found, near, trail, language, is_bound=is_bound, writes=writes)
        composed = (
            quoted
            or quotes.from_quotes(
                question, _quotable(evidence, found, writes=writes), missing, trail, language
            )
            or quotes.fallback(missing, evidence, result.steps, trail, language)
        )
        if found is not None:
            composed = replace(composed, found=found)
        return replace(composed, tried=trail.steps, retry_after_s=result.retry_after_s)

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

    async def revise(
        self, order: revise.Revision, *, deadline: float, tag: str, tell: Tell | None = None
    ) -> Composed:
        """The last answer as ``order`` wants it; where no model can, a fallback with an empty text."""
        trail = Trail(self._clock)
        asked = revise.task(order, tag, self._tokens_max)

        def accept(draft: Draft) -> Composed:
            self._thinks = draft.think_blocks > 0
            made = revise.accepted(draft, asked)
            source = SourceRef(
                "llm", f"{draft.engine}/{draft.model}", time=self._clock.now(), digest=draft.model_digest
            )
            return Composed(made.text, source, draft=made, abstained=abstains(made.text))

        shown = self._shown(tell, asked)
        result = await self._chain.first(
            asked,
            accept,
            deadline=deadline,
            tell=None if shown is None else shown.tell,
            on_text=None if shown is None else shown.add,
        )
        result = await self._in_language(order.language, asked, accept, result, deadline, trail, shown)
        trail.extend(result.steps)
        if result.value is None:
            return replace(quotes.unanswered(""), tried=trail.steps, retry_after_s=result.retry_after_s)
        trail.extend((Step("generate", "ok", _account(result.value), result.ms),))
        return replace(result.value, tried=trail.steps)

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
        again = await self._chain.first(
            revise.in_language(asked, wanted),
            accept,
            deadline=deadline,
            tell=None if shown is None else shown.tell,
            on_text=None if shown is None else shown.add,
        )
        trail.extend(again.steps)
        return result if again.value is None else again


# --- extraction before generation -----------------------------------------------------------------


def _must_rest_on_evidence(
    composed: Composed,
    question: str,
    draft: Draft,
    blocks: Sequence[Block],
    route_kind: Kind,
    *,
    is_bound: bool,
) -> None:
    """Raises ``Rejected`` where an answer about people's notes, or about stored decisions, says what they do
    not."""
    if is_bound and not composed.abstained and (composed.uncited_figures or not composed.grounded):
        raise Rejected("the model's answer does not rest on the notes")
    if route_kind is not Kind.HISTORICAL:
        return
    if not (composed.grounded or composed.abstained):
        raise Rejected("the model's answer about stored decisions did not rest on them")
    if puts_a_figure_on_what_is_missing(question, draft.text, blocks):
        raise Rejected("the model gave a number for something that the stored records do not name")


def _quoted(
    evidence: Sequence[Evidence],
    found: float | None,
    near: Evidence | None,
    trail: Trail,
    language: str,
    *,
    is_bound: bool,
    writes: bool,
) -> Composed | None:
    """Notes as they stand where no model has answered: those that hold the answer, the honest word that none
    does, or the nearest entry of the node's own."""
    sure_enough = found is None or found >= FOUND_MIN
    has_text = any(one.source.kind == context.PASTED for one in evidence)
    if sure_enough and not (has_text or writes):
        said = quotes.from_notes(evidence, trail, language, unread=found is None)
        if said is not None:
            return said
    if is_bound and not sure_enough:
        return quotes.not_there(language)
    if near is not None and not (writes or has_text or notes.is_peoples(near)):
        return quotes.from_unsure([near], trail, language)
    return None


def _quotable(evidence: Sequence[Evidence], found: float | None, *, writes: bool) -> list[Evidence]:
    """What sentences may be taken from where no model has answered."""
    has_text = any(one.source.kind == context.PASTED for one in evidence)
    if writes and not has_text:
        return []  # a note is no letter
    some = notes.quotable(evidence)
    return [one for one in some if not notes.is_note(one)] if found is None or has_text else some


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


# --- a model's answer -----------------------------------------------------------------------------


def _from_draft(
    question: str,
    draft: Draft,
    asked: Prompt,
    blocks: Sequence[Block],
    kept: Sequence[Evidence],
    missing: str | None,
    now: datetime,
    language: str,
) -> Composed:
    """The model's answer with its citations. Raises ``Rejected`` where nothing usable is left, and where
    the model bluffs: see ``_without_bluff``."""
    # The draft's end was cut back by its driver; doing it again would cost a list its last line.
    raw = draft.text.replace(context.ORDER_REMARK, "")
    cleaned = clean(raw, stop=asked.stop, echo=(asked.system, question))
    if not cleaned.usable:
        raise Rejected(f"the model's answer was unusable: {cleaned.reason}")
    bare = strip_marks(cleaned.text, blocks)
    # "The expression is [1]": the mark stands where the answer should.
    is_blank = bare != cleaned.text and ends_before_it_answers(bare)
    silent = abstains(bare)
    about = [block.about for block in blocks]
    if not silent and (is_blank or says_nothing_new(question, bare, about)):
        raise Rejected("the model said again what was asked")
    if not silent and repeats_an_example(question, bare, blocks, asked.system):
        raise Rejected("the model answered with an example from its prompt")
    text = _without_bluff(cleaned.text, question, blocks, missing, silent=silent)
    real = papers.without_invented(question, text, [block.text for block in blocks])
    if not any(char.isalnum() for char in real):
        raise Rejected("the model named papers that nothing here holds")
    invented, text = real != text, real
    grounding = ground(text, blocks, question)
    abstained = silent or contradicts_itself(bare) or (missing is not None and not blocks)
    grounded = grounding.grounded and not abstained
    shown = _with_sources(grounding, language) if grounded else strip_marks(grounding.text, blocks)
    if missing is not None and silent and len(sentences(shown)) <= 1:
        shown = quotes.honest(missing, language)  # "I don't know" adds nothing to it
    elif missing is not None:
        apart = "\n\n" if shown and begins_with_block(shown) else " "
        shown = f"{quotes.honest(missing, language)}{apart}{shown}".rstrip()
    elif not (grounded or abstained) and papers.asks_for_papers(question):
        shown = f"{papers.NOT_LOOKED_UP} {shown}"
    if commanding := [source_name(block.source) for block in blocks if block.orders]:
        note = reasons.say("orders", language, names=", ".join(dict.fromkeys(commanding)))
        shown = f"{with_fence_closed(shown)}\n\n{note}"
    if cut := [block for block in blocks if block.left_out]:
        chars = len(kept[cut[0].index].text)
        note = reasons.say("cut", language, left_out=cut[0].left_out, chars=chars)
        shown = f"{with_fence_closed(shown)}\n\n{note}"
    return Composed(
        text=shown,
        source=SourceRef("llm", f"{draft.engine}/{draft.model}", time=now, digest=draft.model_digest),
        draft=replace(
            draft,
            complete=draft.complete and cleaned.complete,
            looped=draft.looped or cleaned.looped,
            think_blocks=draft.think_blocks + cleaned.think_blocks,
        ),
        citations=_citations(grounding.used, kept) if grounded else (),
        grounded=grounded,
        abstained=abstained,
        cited=grounded and grounding.explicit,
        context_share=grounding.share if blocks else None,
        uncited_figures=grounding.uncited_figures,
        support=grounding.support,
        claimed=any(is_claim(block.source) for block in blocks) and not abstained,
        invented=invented,
    )


def _without_bluff(
    text: str, question: str, blocks: Sequence[Block], missing: str | None, *, silent: bool
) -> str:
    """The text without figures of the model's own in the place of those that were looked up, or should have
    been. ``silent``: it does not answer. Raises ``Rejected`` where nothing is left, and where it answers
    outright what could not be looked up."""
    if missing is None:
        if silent or not any(block.from_adapter for block in blocks):
            return text
        text = only_given_figures(text, blocks, question)
        if not any(char.isalnum() for char in text):
            raise Rejected("the model's figures are not those of the evidence")
        return text
    if not blocks and not (silent or admits_no_lookup(text)):
        raise Rejected("the model answered what could not be looked up as if it had been")
    text = only_given_figures(text, blocks, question)
    return text if blocks else without_number_words(text, question)


def _with_sources(grounding: Grounding, language: str) -> str:
    """The text with the names of its sources behind it, unless it names them itself (S2-57)."""
    lowered = grounding.text.lower()
    names = [
        (place, reasons.source_label(source_name(block.source), language))
        for place, block in enumerate(grounding.used, start=1)
        if block.source.kind != context.PASTED
    ]
    unnamed = [
        f"[{place}] {name}" if grounding.explicit else name
        for place, name in names
        if name.lower() not in lowered
    ]
    if not unnamed:
        return grounding.text
    key = "one_source" if len(unnamed) == 1 else "more_sources"
    named = reasons.say(key, language, names="; ".join(unnamed[:CITATIONS_MAX]))
    return f"{with_fence_closed(grounding.text)}\n\n{named}"


def _citations(used: Sequence[Block], kept: Sequence[Evidence]) -> tuple[Citation, ...]:
    """One citation per used block, number for number; further places of the same evidence come behind
    them."""
    numbered = [quotes.citation(kept[block.index], block.text) for block in used]
    further = [extra for block in used for extra in kept[block.index].citations[1:]]
    unseen = [extra for extra in dict.fromkeys(further) if extra not in numbered]
    return tuple([*numbered, *unseen][:CITATIONS_MAX])


def _account(composed: Composed) -> str:
    """What there is to say of a generation, for the trace."""
    draft = composed.draft
    if draft is None:
        return ""
    account = f"{draft.engine} {draft.model}: {draft.completion_tokens} tokens"
    if composed.abstained:
        account += ", abstained"
    if composed.uncited_figures:
        account += f", figures without a source: {', '.join(composed.uncited_figures[:5])}"
    return account
