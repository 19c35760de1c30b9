"""Compose: one text from the question and what was found, whatever engines are there.

The chain: each generator in turn within the deadline -> the best sentences of the evidence as quotes -> an
honest "I could not find out" with what was tried. Extraction comes before generation (S0-01), so a model
reads only what speaks to the question. Citations are attached here, never believed. ``compose`` raises
nothing but ``CancelledError``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from node.clock import Clock
from node.errors import NodeError, RateLimited, Rejected, TimedOut, Unavailable
from node.model import Citation, Draft, Evidence, Kind, SourceRef, Step
from node.ports import Generator
from node.synthesise import context, extractive, prompt
from node.synthesise.clean import Cleaned, StrippedDraft, clean
from node.synthesise.context import Block, source_name
from node.synthesise.grounding import (
    Grounding,
    abstains,
    admits_no_lookup,
    contradicts_itself,
    ground,
    only_given_figures,
    says_nothing_new,
    strip_marks,
    without_unsupported_figures,
)
from node.synthesise.sentences import one_line, plain, says_number, sentences, squeeze

FALLBACK_RESERVE_S = 1.0
"""Kept back from every generator, so that the answer without one still comes in time."""
GENERATION_MIN_S = 0.5
"""With less than this a generation is not begun."""
KEEP_WHOLE_CHARS = 400
"""Evidence up to this length is given to the model whole."""
CONTEXT_SENTENCES_MAX = 8
"""At most so many sentences of one long text reach the model."""
SNIPPET_CHARS = 200
CITATIONS_MAX = 16
QUOTE_CHARS_MAX = 600
REASON_CHARS_MAX = 200

MODEL_ADVICE = "To get a language model, install Ollama and type: ollama pull llama3.2"
_ORDERS_NOTE = (
    "Note: {sources} contains text that tries to give orders to its reader; they were not followed."
)
NO_EXACT_SOURCE = "no exact source answered"


@dataclass(frozen=True, slots=True)
class Composed:
    """The text and what there is to judge about it.

    ``source.kind`` is llm, extractive or fallback. ``grounded``: it rests on the evidence cited.
    ``abstained``: it does not answer (it says that it does not know, repeats the question, or contradicts
    itself). ``complete``: it was not cut. ``context_share``: the part of its content words that the evidence
    holds, None without evidence. ``uncited_figures``: numbers in it that no evidence gives. ``tried`` is the
    trace, failures included."""

    text: str
    source: SourceRef
    draft: Draft | None
    citations: tuple[Citation, ...]
    grounded: bool
    abstained: bool
    tried: tuple[Step, ...]
    think_blocks: int = 0
    complete: bool = True
    looped: bool = False
    cited: bool = False
    context_share: float | None = None
    uncited_figures: tuple[str, ...] = ()


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
    ) -> None:
        """``generator_timeout_s`` bounds each generator by itself, so that a hanging one leaves time for the
        next."""
        self._generators = tuple(generators)
        self._clock = clock
        self._context_chars_max = context_chars_max
        self._tokens_max = tokens_max
        self._generator_timeout_s = generator_timeout_s

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
        kept = self._extract(question, evidence, trail)
        packed = context.pack(kept, self._context_chars_max)
        if evidence:
            trail.add("pack", "ok" if packed.blocks else "empty", packed.summary)
        asked = prompt.build(
            question, packed.blocks, tag, history, could_not_look_up=missing, tokens_max=self._tokens_max
        )
        advise = True
        think_blocks = 0
        for generator in self._generators:
            timeout_s = deadline - self._clock.monotonic() - FALLBACK_RESERVE_S
            if self._generator_timeout_s is not None:
                timeout_s = min(timeout_s, self._generator_timeout_s)
            if timeout_s < GENERATION_MIN_S:
                trail.add("generate", "skipped", f"{generator.name}: no time left before the deadline")
                advise = False
                continue
            trail.start()
            try:
                draft = await generator.generate(asked, timeout_s=timeout_s)
            except NodeError as exc:
                trail.add("generate", _code(exc), f"{generator.name}: {exc}")
                advise = advise and type(exc) is Unavailable
                continue
            advise = False
            # A stripped draft was cut back already; every other text is cleaned here for the first time.
            whole = draft.complete or isinstance(draft, StrippedDraft)
            cleaned = clean(draft.text, complete=whole, stop=asked.stop, echo=(asked.system, question))
            think_blocks += cleaned.think_blocks
            if isinstance(draft, StrippedDraft):
                think_blocks += draft.think_blocks
            if not cleaned.usable:
                trail.add(
                    "generate", "rejected", f"{generator.name}: the answer is unusable: {cleaned.reason}"
                )
                continue
            composed = self._from_model(question, draft, cleaned, packed.blocks, kept, missing, trail)
            if composed is not None:
                return replace(composed, tried=trail.steps, think_blocks=think_blocks)
        composed = self._from_quotes(question, evidence, missing, trail) or self._fallback(
            question, evidence, missing, trail, advise=advise
        )
        return replace(composed, tried=trail.steps, think_blocks=think_blocks)

    # --- extraction before generation -------------------------------------------------------------

    def _extract(self, question: str, evidence: Sequence[Evidence], trail: _Trail) -> list[Evidence]:
        """The evidence narrowed to what speaks to the question. An adapter's answer is short and was asked
        for by name, so it is never narrowed away."""
        if not evidence:
            return []
        trail.start()
        kept: list[Evidence] = []
        sentences_kept = sentences_all = 0
        for item in evidence:
            whole = self._context_chars_max if item.source.kind == "adapter" else KEEP_WHOLE_CHARS
            text, some, total = extractive.narrow(
                question, item.text, keep_whole_chars=whole, top=CONTEXT_SENTENCES_MAX
            )
            if not text and item.source.kind == "adapter":
                text, some = plain(item.text), total
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

    # --- a model's answer -------------------------------------------------------------------------

    def _from_model(
        self,
        question: str,
        draft: Draft,
        cleaned: Cleaned,
        blocks: Sequence[Block],
        kept: Sequence[Evidence],
        missing: str | None,
        trail: _Trail,
    ) -> Composed | None:
        """The model's answer with its citations, or None where it bluffs about what could not be looked
        up, or puts figures of its own in the place of those that were."""
        text = squeeze(cleaned.text.replace(context.ORDER_REMARK, ""))
        abstained = abstains(text) or says_nothing_new(question, strip_marks(text))
        if any(block.from_adapter for block in blocks) and not abstained:
            # Beside figures that were looked up, a figure of the model's own is an error shown as a fact.
            text = only_given_figures(text, blocks, question)
            if not any(char.isalnum() for char in text):
                trail.add(
                    "generate", "rejected", f"{draft.engine}: its figures are not those of the evidence"
                )
                return None
        if missing is not None:
            supported = [block.text for block in blocks] + [question]
            if not blocks and not (abstained or admits_no_lookup(text)):
                trail.add(
                    "generate",
                    "rejected",
                    f"{draft.engine}: it answered what could not be looked up as if it had been",
                )
                return None
            text = without_unsupported_figures(text, supported)
            if not blocks:
                text = _without_number_words(text, question)
            text = f"{_honest(missing)} {text}".strip()
        grounding = ground(text, blocks, question)
        abstained = (
            abstained or contradicts_itself(strip_marks(cleaned.text)) or (missing is not None and not blocks)
        )
        grounded = grounding.grounded and not abstained
        looped = cleaned.looped or (isinstance(draft, StrippedDraft) and draft.looped)
        complete = draft.complete and cleaned.complete
        trail.add(
            "generate",
            "ok" if complete else "cut",
            f"{draft.engine} {draft.model}: {draft.completion_tokens} tokens"
            + (", abstained" if abstained else "")
            + (
                f", figures without a source: {', '.join(grounding.uncited_figures[:5])}"
                if grounding.uncited_figures
                else ""
            ),
        )
        final = grounding.text if grounded else strip_marks(grounding.text)
        shown = _with_sources(final, grounding) if grounded else final
        if bossy := [source_name(block.source) for block in blocks if block.orders]:
            shown = f"{shown}\n\n{_ORDERS_NOTE.format(sources=', '.join(dict.fromkeys(bossy)))}"
        return Composed(
            text=shown,
            source=SourceRef("llm", f"{draft.engine}/{draft.model}", time=self._clock.now()),
            draft=replace(draft, text=final, complete=complete, used_evidence=grounded),
            citations=_citations(grounding.used, kept) if grounded else (),
            grounded=grounded,
            abstained=abstained,
            tried=(),
            complete=complete,
            looped=looped,
            cited=grounded and grounding.explicit,
            context_share=grounding.share if blocks else None,
            uncited_figures=grounding.uncited_figures,
        )

    # --- without a model --------------------------------------------------------------------------

    def _from_quotes(
        self, question: str, evidence: Sequence[Evidence], missing: str | None, trail: _Trail
    ) -> Composed | None:
        """The three best sentences as bullets under the names of their sources, or None."""
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
        trail.add(
            "extract", "ok", f"{len(quotes)} quotes, best score {max(quote.score for quote in quotes):.2f}"
        )
        used = list(dict.fromkeys(quote.source for quote in quotes))
        lines = [_honest(missing)] if missing is not None else []
        for place in used:
            lines.append(f"According to {source_name(evidence[place].source)}:")
            lines.extend(
                f"- {one_line(quote.text, QUOTE_CHARS_MAX)}" for quote in quotes if quote.source == place
            )
        citations = [
            _citation(evidence[place], next(quote.text for quote in quotes if quote.source == place))
            for place in used
        ]
        first = evidence[used[0]].source
        return Composed(
            text="\n".join(lines),
            source=SourceRef("extractive", source_name(first), first.url, first.time, first.digest),
            draft=None,
            citations=tuple(citations[:CITATIONS_MAX]),
            grounded=True,
            abstained=False,
            tried=(),
            cited=True,
        )

    def _fallback(
        self, question: str, evidence: Sequence[Evidence], missing: str | None, trail: _Trail, *, advise: bool
    ) -> Composed:
        """What could not be done, what was tried, and how to help it."""
        subject = one_line(question, 120).rstrip(" .?!")
        parts = [f"I could not find out: {subject}."]
        if missing is not None:
            parts.append(_honest(missing))
        elif evidence:
            parts.append("I don't have information on that in what was found.")
        tried = [step.reason for step in trail.steps if step.stage == "generate"]
        if tried:
            parts.append(f"Tried: {'; '.join(tried)}.")
        elif not self._generators:
            parts.append("No language model is set up.")
        if advise:
            parts.append(f"{MODEL_ADVICE}.")
        trail.add("fallback", "ok", "no engine could answer")
        return Composed(
            text=" ".join(parts),
            source=SourceRef("fallback", "none"),
            draft=None,
            citations=(),
            grounded=False,
            abstained=True,
            tried=(),
        )


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

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps)


def _code(error: NodeError) -> str:
    for kind, code in (
        (TimedOut, "timeout"),
        (RateLimited, "rate_limited"),
        (Unavailable, "unavailable"),
        (Rejected, "rejected"),
    ):
        if isinstance(error, kind):
            return code
    return "failed"


def _honest(missing: str) -> str:
    return f"I could not look this up: {one_line(missing, REASON_CHARS_MAX).rstrip('.')}."


def _without_number_words(text: str, question: str) -> str:
    if says_number(question):
        return text
    return " ".join(part for part in sentences(text) if not says_number(part))


def _with_sources(text: str, grounding: Grounding) -> str:
    """The text with the names of its sources behind it, unless it names them itself (S2-57)."""
    names = [(place, source_name(block.source)) for place, block in enumerate(grounding.used, start=1)]
    lowered = text.lower()
    unnamed = [(place, name) for place, name in names if name.lower() not in lowered]
    if not unnamed:
        return text
    listed = "; ".join(
        f"[{place}] {name}" if grounding.explicit else name for place, name in unnamed[:CITATIONS_MAX]
    )
    label = "Source" if len(unnamed) == 1 else "Sources"
    return f"{text}\n\n{label}: {listed}"


def _citations(used: Sequence[Block], kept: Sequence[Evidence]) -> tuple[Citation, ...]:
    """One citation per used block, number for number; further places of the same evidence come behind
    them."""
    numbered = [_citation(kept[block.index], block.text) for block in used]
    further = [extra for block in used for extra in kept[block.index].citations[1:]]
    return (
        tuple(dict.fromkeys([*numbered, *further]))[:CITATIONS_MAX]
        if further
        else tuple(numbered[:CITATIONS_MAX])
    )


def _citation(item: Evidence, text: str) -> Citation:
    snippet = one_line(text, SNIPPET_CHARS)
    if item.citations:
        first = item.citations[0]
        return first if first.snippet else replace(first, snippet=snippet)
    return Citation(source_name(item.source), "", snippet, item.source.url, item.source.time)
