"""What composing gives: the text with what there is to judge about it, and the steps taken for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from node.core.clock import Clock
from node.core.model import Citation, Draft, Evidence, InDocuments, SourceRef, Step, Support
from node.language.sentences import one_line

CITATIONS_MAX = 16
REASON_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class Composed:
    """The text and what there is to judge about it.

    ``source.kind`` is llm, extractive or fallback; ``draft`` is the model's, None without one. ``grounded``:
    the text rests on the evidence cited. ``abstained``: it does not answer (it says that it does not know,
    repeats the question, or contradicts itself). ``cited``: it names its sources itself. ``context_share``:
    the part of its content words that the evidence holds, None without evidence. ``uncited_figures``: numbers
    in it that no evidence gives. ``support``: how far the evidence holds it, None without a model or without
    evidence. ``claimed``: a peer's word was among what it was made from. ``found``: the probability that the
    stored notes it was made from hold the answer; None where none was read. ``invented``: papers that nothing
    here holds were named in it, and were taken out.
    ``notes``: people's notes that a model told in its own words, to be shown in their place where it is not
    sure enough. ``unsure``: notes are quoted that may hold the answer, and the text says no more.
    ``documents``: what it owes to documents, where any were searched.
    ``tried`` is the trace, failures included; ``retry_after_s``: no model had time, ask again then."""

    text: str
    source: SourceRef
    draft: Draft | None = None
    citations: tuple[Citation, ...] = ()
    grounded: bool = False
    abstained: bool = False
    cited: bool = False
    context_share: float | None = None
    uncited_figures: tuple[str, ...] = ()
    support: Support | None = None
    claimed: bool = False
    found: float | None = None
    invented: bool = False
    notes: tuple[Evidence, ...] = ()
    unsure: bool = False
    documents: InDocuments | None = None
    tried: tuple[Step, ...] = ()
    retry_after_s: int | None = None

    @property
    def complete(self) -> bool:
        """Whether it was not cut."""
        return self.draft is None or self.draft.complete

    @property
    def looped(self) -> bool:
        """Whether the model ran in circles."""
        return self.draft is not None and self.draft.looped


class Trail:
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


def account(composed: Composed) -> str:
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
