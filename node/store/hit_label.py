"""A label: what is known of one hit afterwards, right, wrong or undecided. Pure values.

A label holds no text: the record by its CID, the question by its hash, and what the decision knew at that
time. ``near`` are the records that came up beside it: its neighbourhood.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

RIGHT, WRONG, UNDECIDED = "right", "wrong", "undecided"
AUDIT, FEEDBACK, SHADOW = "audit", "feedback", "shadow"
ASKED_AGAIN = "asked_again"
"""A weak sign, which decides nothing."""
NEAR_MAX = 8


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored answer that the gate let through. ``kind`` is the class of the question, ``tier`` how it was
    found; ``score`` = similarity x confidence; ``u`` the upper limit of being wrong that the gate gave.
    ``is_private``: of a record that only its owner may read, whose question no hash must give away."""

    cid: str
    kind: str
    tier: str
    similarity: float | None
    score: float
    u: float | None
    query_hash: str
    near: tuple[str, ...] = ()
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """What came out about a hit. ``source``: audit (a random sample, answered afresh), shadow (a would-be
    hit beside the node's own answer), feedback (somebody said so) or asked_again (within a minute, in other
    words)."""

    hit: Hit
    source: str
    verdict: str
    time: datetime

    @property
    def kind(self) -> str:
        return self.hit.kind

    @property
    def tier(self) -> str:
        return self.hit.tier
