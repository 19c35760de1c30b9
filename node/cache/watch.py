"""What watches over hits, as the walk and the doors see it: told of every look-up, asked for figures.

``quality.audits`` labels hits by audits, feedback and shadow mode. Values and a Protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from node.cache.quality.estimate import Estimate
from node.cache.recall import Recall
from node.core.model import Answer, Check, Query


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of hits. Counts are since the start but for ``labels`` (as stored) and the estimates (the
    newest labels). ``hits`` by (class of question, tier); ``lookups`` and ``gated`` are the look-ups that the
    gate had to decide and those that it let through, shadow mode included; ``audits`` by done, undecided,
    skipped, waiting, left_this_hour; ``labels`` by (source, verdict)."""

    shadow: bool
    hits: Mapping[tuple[str, str], int]
    lookups: int
    gated: int
    would_be_hits: int
    overall: Estimate
    by_route: Mapping[tuple[str, str], Estimate]
    feedback: Estimate
    audits: Mapping[str, int]
    labels: Mapping[tuple[str, str], int] = field(default_factory=dict)
    tightened: int = 0

    @property
    def gated_share(self) -> float:
        """Of the look-ups that the gate decided, the share that it let through; 1.0 before the first."""
        return self.gated / self.lookups if self.lookups else 1.0


class Watch(Protocol):
    """Learns from hits. Nothing here waits for the outside or raises into the walk."""

    def recalled(self, query: Query, answer: Answer, recall: Recall, *, withheld: bool = False) -> None:
        """A question was looked up and answered. ``withheld``: shadow mode kept the hit back, and ``answer``
        is the node's own. Returns at once."""
        ...

    def entered(self, query: str, answer: str, tenant: str, context: str | None = None) -> None:
        """A client stored its own answer to a normalised question: it tells whether a hit that shadow mode
        had kept back for its tenant in this context was right. Returns at once."""
        ...

    async def feedback(self, request: str, cid: str, verdict: str) -> None:
        """Somebody says that the answer to a request, the record ``cid``, was ``valid`` or ``invalid``: where
        a hit answered it, the pair of question and record is labelled, once for each verdict, for the very
        next look-up. Never raises."""
        ...

    def facts(self) -> Facts: ...

    def health(self) -> Check:
        """``cache:wrong_hits``, without I/O."""
        ...
