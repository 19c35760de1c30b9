"""One part of a request under way, and what it came to: the values that the stations hand on."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from node.answer.composed import Composed
from node.answer.documents import Read
from node.cache.recall import Recall
from node.core.clock import Clock
from node.core.model import Answer, Confidence, Evidence, InDocuments, Query, Route, SourceRef, Step
from node.core.normalise import query_hash
from node.core.ports import Embedded, StoredRecord, Tell
from node.core.record import ModelRef
from node.store.remember import Remembered

HURRY_S = 0.1
"""What ends this close to its asker's deadline may have ended because of it."""


@dataclass(slots=True)
class Walk:
    """One part of one request under way."""

    query: Query
    route: Route
    history: tuple[tuple[str, str], ...]
    trace: list[Step] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    evidence_scopes: set[str] = field(default_factory=set)
    expired: StoredRecord | None = None
    recall: Recall | None = None
    could_not_look_up: str | None = None
    vector: Embedded | None = None
    embedded: bool = False
    began: float = 0.0
    """On the monotonic clock: what an answer cost to make is counted from here."""
    patience_s: float = 0.0
    """What the asker had left when the walk began."""
    tell: Tell | None = None
    retry_after_s: int | None = None
    """No model had time for it; then it says nothing about the question."""
    read_as: str | None = None
    """The question in English, where it is in another language."""
    documents: Read | None = None
    """What documents say to it, where there are any."""

    def note(self, stage: str, outcome: str, reason: str = "", ms: float = 0.0, code: str = "") -> None:
        """Add a step to the trace."""
        self.add(Step(stage, outcome, reason, ms, code))

    def add(self, *steps: Step) -> None:
        """Add steps to the trace; who watches hears of each."""
        self.trace.extend(steps)
        if self.tell is not None:
            for step in steps:
                self.tell(
                    "step",
                    {"stage": step.stage, "outcome": step.outcome, "reason": step.reason, "ms": step.ms},
                )


@dataclass(frozen=True, slots=True)
class Ended:
    """How a walk ended without an answer: what is said again while that is remembered."""

    text: str
    source: SourceRef
    confidence: Confidence
    store_reason: str
    documents: InDocuments | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """What one part came to; shared by simultaneous equal questions."""

    answer: Answer
    vector: Embedded | None
    remembered: Remembered | None
    llm: ModelRef | None = None
    grounded: bool = False
    will_store: bool = False
    store_reason: str = ""
    abstained: bool = False
    failed_with_s: float | None = None
    """It found no answer, and its asker had so many seconds for it; 0 where they ran out. It says nothing to
    somebody who has clearly more. None: there is an answer."""
    recall: Recall | None = None
    """What the look-up said, where there was one."""
    composed: Composed | None = None
    """What a model said, for a second sample to be compared with."""
    draft: Hashable = None
    """The key of the draft that it is, or that it was kept as."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What of the settings decides in the walk. ``version`` names it in the log."""

    confidence_min: float
    publish: str
    refuse_unlogged: bool
    version: str
    shadow: bool = False
    """Semantic hits are told to ``Watch`` and not served."""
    withdraw_after_tenants: int = 3
    """So many tenants have to call a record invalid before it is withdrawn for all."""


def left_s(clock: Clock, query: Query) -> float:
    """The seconds that the asker still waits."""
    return max(0.0, query.deadline - clock.monotonic())


def since_ms(clock: Clock, started: float) -> float:
    return round((clock.monotonic() - started) * 1_000, 3)


def asker_key(query: Query, key: str | None) -> Hashable:
    """Everything that makes two askers of one thing different."""
    caller = query.caller
    what = key if key is not None else (query_hash(query.text), str(query.zone))
    return (caller.tenant, caller.default_scope, caller.sees_shared, query.context, what)
