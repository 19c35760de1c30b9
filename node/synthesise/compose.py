"""Compose: one text from the question and what was found, whatever engines are there.

The engines in turn within the deadline (``chain``) -> the best sentences of the evidence as quotes -> an
honest "I could not find out" with what was tried. Extraction comes before generation (S0-01), so a model
reads only what speaks to the question. Citations are attached here, never believed. ``compose`` raises
nothing but ``CancelledError``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from node.clock import Clock
from node.errors import Rejected
from node.model import Citation, Draft, Evidence, Kind, SourceRef, Step
from node.ports import Generator, Prompt
from node.synthesise import context, extractive, prompt
from node.synthesise.chain import Chain, Engine
from node.synthesise.claims import heard, is_claim
from node.synthesise.clean import clean
from node.synthesise.context import Block, source_name
from node.synthesise.grounding import (
    Grounding,
    abstains,
    admits_no_lookup,
    contradicts_itself,
    ground,
    only_given_figures,
    puts_a_figure_on_what_is_missing,
    says_nothing_new,
    strip_marks,
    without_number_words,
)
from node.synthesise.sentences import one_line, plain, sentences

KEEP_WHOLE_CHARS = 400
"""Evidence up to this length is given to the model whole."""
CONTEXT_SENTENCES_MAX = 8
"""At most so many sentences of one long text reach the model."""
SNIPPET_CHARS = 200
CITATIONS_MAX = 16
QUOTE_CHARS_MAX = 600
REASON_CHARS_MAX = 200
PART_FOUND = "I cannot answer that as a whole; what I could look up:"
SUBJECT_CHARS_MAX = 120

_ORDERS_NOTE = (
    "Note: {sources} contains text that tries to give orders to its reader; they were not followed."
)
NO_EXACT_SOURCE = "no exact source answered"
GET_A_MODEL = "with Ollama installed, type: ollama pull llama3.2; or type: make model"
"""The two ways to a language model."""
NO_MODEL = f"no language model is configured; {GET_A_MODEL}"


@dataclass(frozen=True, slots=True)
class Composed:
    """The text and what there is to judge about it.

    ``source.kind`` is llm, extractive or fallback; ``draft`` is the model's, None without one. ``grounded``:
    the text rests on the evidence cited. ``abstained``: it does not answer (it says that it does not know,
    repeats the question, or contradicts itself). ``cited``: it names its sources itself. ``context_share``:
    the part of its content words that the evidence holds, None without evidence. ``uncited_figures``: numbers
    in it that no evidence gives. ``claimed``: a peer's word was among what it was made from.
    ``tried`` is the trace, failures included."""

    text: str
    source: SourceRef
    draft: Draft | None = None
    citations: tuple[Citation, ...] = ()
    grounded: bool = False
    abstained: bool = False
    cited: bool = False
    context_share: float | None = None
    uncited_figures: tuple[str, ...] = ()
    claimed: bool = False
    tried: tuple[Step, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether it was not cut."""
        return self.draft is None or self.draft.complete

    @property
    def looped(self) -> bool:
        """Whether the model ran in circles."""
        return self.draft is not None and self.draft.looped


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
        queue_max: int = 8,
    ) -> None:
        """``generator_timeout_s`` bounds each generator by itself; ``queue_max`` questions wait for each."""
        self._chain = Chain(generators, clock, queue_max=queue_max, timeout_s=generator_timeout_s)
        self._clock = clock
        self._context_chars_max = context_chars_max
        self._tokens_max = tokens_max

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
        history: Sequence[tuple[str, str]] = (),
        deadline: float,
        tag: str,
    ) -> Composed:
        """An answer to ``question`` before ``deadline`` (monotonic seconds).

        ``could_not_look_up``: why a live or computed value is missing, in words for a person; the answer
        then says so and states no figure that the evidence lacks. The same holds for a deterministic
        question without evidence: what should be exact is never guessed."""
        missing = could_not_look_up
        if missing is None and route_kind is Kind.DETERMINISTIC and not evidence:
            missing = NO_EXACT_SOURCE
        trail = _Trail(self._clock)
        kept = _extract(question, evidence, trail)
        if left_out := len(kept) - len(read := heard(question, kept)):
            trail.add("claims", "left_out", f"{left_out} texts of peers: what is known here comes first")
            kept, evidence = read, [one for one in evidence if not is_claim(one.source)]
        packed = context.pack(kept, self._context_chars_max)
        if evidence:
            trail.add("pack", "ok" if packed.blocks else "empty", packed.summary)
        asked = prompt.build(
            question, packed.blocks, tag, history, could_not_look_up=missing, tokens_max=self._tokens_max
        )

        def accept(draft: Draft) -> Composed:
            composed = _from_draft(question, draft, asked, packed.blocks, kept, missing, self._clock.now())
            if route_kind is Kind.HISTORICAL and not (composed.grounded or composed.abstained):
                raise Rejected("the model's answer about stored decisions did not rest on them")
            if route_kind is Kind.HISTORICAL and puts_a_figure_on_what_is_missing(
                question, draft.text, packed.blocks
            ):
                raise Rejected("the model gave a number for something that the stored records do not name")
            return composed

        result = await self._chain.first(asked, accept, deadline=deadline)
        trail.extend(result.steps)
        if result.value is not None:
            composed = result.value
            outcome = "ok" if composed.complete else "cut"
            trail.extend((Step("generate", outcome, _account(composed), result.ms),))
            return replace(composed, tried=trail.steps)
        composed = _from_quotes(question, evidence, missing, trail) or _fallback(
            question, evidence, missing, result.failures, trail
        )
        return replace(composed, tried=trail.steps)


class _Trail:
    """The steps taken for one answer, timed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._steps: list[Step] = []
        self._began = clock.monotonic()

    def start(self) -> None:
        self._began = self._clock.monotonic()

    def add(self, stage: str, outcome: str, reason: str) -> None:
        now = self._clock.monotonic()
        self._steps.append(
            Step(stage, outcome, one_line(reason, REASON_CHARS_MAX), round((now - self._began) * 1_000, 3))
        )
        self._began = now

    def extend(self, steps: Sequence[Step]) -> None:
        """Steps that were timed elsewhere."""
        self._steps.extend(replace(step, reason=one_line(step.reason, REASON_CHARS_MAX)) for step in steps)
        self.start()

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps)


# --- extraction before generation -----------------------------------------------------------------


def _extract(question: str, evidence: Sequence[Evidence], trail: _Trail) -> list[Evidence]:
    """The evidence narrowed to what speaks to the question. An adapter's answer is short and was asked
    for by name, so it is never narrowed away."""
    if not evidence:
        return []
    trail.start()
    kept: list[Evidence] = []
    sentences_kept = sentences_all = 0
    for item in evidence:
        whole = extractive.TEXT_CHARS_MAX if item.source.kind == "adapter" else KEEP_WHOLE_CHARS
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
) -> Composed:
    """The model's answer with its citations. Raises ``Rejected`` where nothing usable is left, and where
    the model bluffs: see ``_without_bluff``."""
    # The draft's end was cut back by its driver; doing it again would cost a list its last line.
    raw = draft.text.replace(context.ORDER_REMARK, "")
    cleaned = clean(raw, stop=asked.stop, echo=(asked.system, question))
    if not cleaned.usable:
        raise Rejected(f"the model's answer was unusable: {cleaned.reason}")
    bare = strip_marks(cleaned.text)
    silent = abstains(bare) or says_nothing_new(question, bare)
    text = _without_bluff(cleaned.text, question, blocks, missing, silent=silent)
    grounding = ground(text, blocks, question)
    abstained = silent or contradicts_itself(bare) or (missing is not None and not blocks)
    grounded = grounding.grounded and not abstained
    shown = _with_sources(grounding) if grounded else strip_marks(grounding.text)
    if missing is not None:
        shown = f"{_honest(missing)} {shown}".strip()
    if commanding := [source_name(block.source) for block in blocks if block.orders]:
        shown = f"{shown}\n\n{_ORDERS_NOTE.format(sources=', '.join(dict.fromkeys(commanding)))}"
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
        claimed=any(is_claim(block.source) for block in blocks) and not abstained,
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


def _with_sources(grounding: Grounding) -> str:
    """The text with the names of its sources behind it, unless it names them itself (S2-57)."""
    lowered = grounding.text.lower()
    names = [(place, source_name(block.source)) for place, block in enumerate(grounding.used, start=1)]
    unnamed = [
        f"[{place}] {name}" if grounding.explicit else name
        for place, name in names
        if name.lower() not in lowered
    ]
    if not unnamed:
        return grounding.text
    label = "Source" if len(unnamed) == 1 else "Sources"
    return f"{grounding.text}\n\n{label}: {'; '.join(unnamed[:CITATIONS_MAX])}"


def _citations(used: Sequence[Block], kept: Sequence[Evidence]) -> tuple[Citation, ...]:
    """One citation per used block, number for number; further places of the same evidence come behind
    them."""
    numbered = [_citation(kept[block.index], block.text) for block in used]
    further = [extra for block in used for extra in kept[block.index].citations[1:]]
    unseen = [extra for extra in dict.fromkeys(further) if extra not in numbered]
    return tuple([*numbered, *unseen][:CITATIONS_MAX])


def _citation(item: Evidence, text: str) -> Citation:
    snippet = one_line(text, SNIPPET_CHARS)
    if item.citations:
        first = item.citations[0]
        return first if first.snippet else replace(first, snippet=snippet)
    return Citation(source_name(item.source), "", snippet, item.source.url, item.source.time)


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


# --- without a model ------------------------------------------------------------------------------


def _from_quotes(
    question: str, evidence: Sequence[Evidence], missing: str | None, trail: _Trail
) -> Composed | None:
    """The three best sentences under the names of their sources, or None."""
    if not evidence:
        return None
    trail.start()
    quotes = list(extractive.select(question, [item.text for item in evidence]))
    if not quotes:
        # An adapter recognised the question, so its few words are to the point whatever words they use.
        quotes = [
            extractive.Quote(sentence, place, index, extractive.FLOOR)
            for place, item in enumerate(evidence)
            if item.source.kind == "adapter"
            for index, sentence in enumerate(sentences(plain(item.text)))
        ][: extractive.TOP]
    if not quotes:
        trail.add("extract", "missed", f"no sentence of the evidence scored {extractive.FLOOR} or more")
        return None
    trail.add("extract", "ok", f"{len(quotes)} quotes, best score {max(quote.score for quote in quotes):.2f}")
    used = list(dict.fromkeys(quote.source for quote in quotes))
    lines = [_honest(missing)] if missing is not None else []
    for place in used:
        said = [one_line(quote.text, QUOTE_CHARS_MAX) for quote in quotes if quote.source == place]
        lines.extend(_under_its_source(evidence[place], said))
    citations = [
        _citation(evidence[place], next(quote.text for quote in quotes if quote.source == place))
        for place in used
    ]
    first = evidence[used[0]].source
    return Composed(
        text="\n".join(lines),
        source=SourceRef("extractive", source_name(first), first.url, first.time, first.digest),
        citations=tuple(citations[:CITATIONS_MAX]),
        grounded=True,
        cited=True,
        claimed=any(is_claim(evidence[place].source) for place in used),
    )


def _under_its_source(item: Evidence, said: Sequence[str]) -> list[str]:
    """Quotes as bullets below the name of their source. An adapter's sentences name it themselves; those that
    answer another question (a price where a yield was asked for) are given as what they are."""
    if item.source.kind == "adapter" and any("according to" in line.casefold() for line in said):
        text = " ".join(said)
        return [text if item.partial else f"{PART_FOUND} {text}"]
    return [f"According to {source_name(item.source)}:", *(f"- {line}" for line in said)]


def _fallback(
    question: str,
    evidence: Sequence[Evidence],
    missing: str | None,
    failures: Sequence[str],
    trail: _Trail,
) -> Composed:
    """What could not be found out, and why. A language model is no remedy for what had to be looked up,
    so there its absence is not mentioned."""
    subject = one_line(question, SUBJECT_CHARS_MAX).rstrip(" .?!")
    if missing is not None:
        why = _clause(missing)
    else:
        why = "; ".join(dict.fromkeys(map(_clause, failures))) or NO_MODEL
    if missing is None and evidence:
        text = f"I don't have information on that: nothing that was found speaks to “{subject}”, and {why}."
    else:
        text = f"I could not find out the answer to “{subject}”: {why}."
    trail.add("fallback", "ok", "no engine could answer")
    return Composed(text, SourceRef("fallback", "none"), abstained=True)


def _clause(reason: str) -> str:
    return one_line(reason, REASON_CHARS_MAX).rstrip(".")


def _honest(missing: str) -> str:
    return f"I could not look this up: {_clause(missing)}."
