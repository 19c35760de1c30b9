"""What people said was wrong, as the walk and the look-up see it: asked whether an answer is one of those.

``quality.refuted_answers`` remembers what feedback has withdrawn. Values and a Protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from node.core.ports import Embedded


@dataclass(frozen=True, slots=True)
class Said:
    """An answer to a question, and who says it to whom. ``scopes`` are those that the asker may see;
    ``tenant`` is whoever stores it, None for this node; ``made``: when a stored one was made, None for what
    is said now; ``vector``: the question's, where it is at hand."""

    question: str
    answer: str
    source_kind: str
    scopes: Sequence[str]
    context: str | None = None
    slot_key: str | None = None
    tenant: str | None = None
    made: datetime | None = None
    vector: Embedded | None = None


class Refuted(Protocol):
    """Use from one event loop."""

    async def prepare(self) -> int:
        """Have more of the questions embedded, where some are not yet; how many. Bounded; never raises."""
        ...

    def knows(self, said: Said) -> bool:
        """Whether an equal answer to an equal question was called invalid. Without I/O."""
        ...

    def hides(self, cid: str, scopes: Sequence[str]) -> bool:
        """Whether whoever may see these scopes called this very record invalid, which goes on for others.
        Without I/O."""
        ...


class NothingRefuted:
    """Nobody has said that anything is wrong."""

    async def prepare(self) -> int:
        return 0

    def knows(self, said: Said) -> bool:
        return False

    def hides(self, cid: str, scopes: Sequence[str]) -> bool:
        return False
