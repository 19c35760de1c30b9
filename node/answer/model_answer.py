"""A model's answer: what of its text is shown, with which citations, and what is refused of it. Citations are
attached here, never believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from node.answer import context, papers, quotes, reasons
from node.answer.composed import CITATIONS_MAX, Composed
from node.answer.context import Block, source_name
from node.answer.documents import KIND
from node.answer.grounding import (
    Grounding,
    abstains,
    admits_no_lookup,
    contradicts_itself,
    ends_before_it_answers,
    ground,
    only_given_figures,
    only_says_yes,
    puts_a_figure_on_what_is_missing,
    repeats_an_example,
    says_nothing_new,
    speaks_for_the_asked,
    strip_marks,
    without_number_words,
    without_unsupported,
)
from node.answer.peer_claims import is_claim
from node.core.errors import Rejected
from node.core.model import Citation, Draft, Evidence, Kind, SourceRef
from node.core.ports import Prompt
from node.language.sentences import sentences
from node.language.verbatim import begins_with_block, with_fence_closed
from node.models.clean import clean


def from_draft(
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
    ends_otherwise = bare.splitlines()[-1:] != cleaned.text.splitlines()[-1:]
    is_blank = ends_otherwise and ends_before_it_answers(bare)
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
    of_documents = [block for block in blocks if block.source.kind == KIND]
    if of_documents:
        text = without_unsupported(text, of_documents, question)
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


def must_rest_on_evidence(
    composed: Composed,
    question: str,
    draft: Draft,
    blocks: Sequence[Block],
    route_kind: Kind,
    *,
    is_bound: bool,
    is_near_theirs: bool = False,
) -> None:
    """Raises ``Rejected`` where an answer about people's notes, or about stored decisions, says what they do
    not, or where no note stands behind what "you" are said to do. ``is_near_theirs``: notes of people were
    found for the question; then a bare yes may be about what is theirs."""
    if not blocks and speaks_for_the_asked(question, draft.text):
        raise Rejected("the model spoke for whoever was asked")
    if not blocks and is_near_theirs and only_says_yes(question, draft.text):
        raise Rejected("the model only said yes or no to what people here may know")
    if is_bound and not composed.abstained and (composed.uncited_figures or not composed.grounded):
        raise Rejected("the model's answer does not rest on the notes")
    if route_kind is not Kind.HISTORICAL:
        return
    if not (composed.grounded or composed.abstained):
        raise Rejected("the model's answer about stored decisions did not rest on them")
    if puts_a_figure_on_what_is_missing(question, draft.text, blocks):
        raise Rejected("the model gave a number for something that the stored records do not name")
