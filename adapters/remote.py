"""What the adapters that ask outside have in common: parts of the port, and a question on its way.

It promises nothing of its own: health and limits are those of the sources behind an adapter. It knows no
source and no question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from adapters.fetch import check_of
from node.core.guard import Guarded
from node.core.model import Budget, Check, Query

T = TypeVar("T")


class Limited(Protocol):
    """A source that says how it is and what is left of its limits."""

    def budgets(self) -> Sequence[Budget]: ...

    def problems(self) -> list[str]: ...


class Remote:
    """The parts of ``node.core.ports.Adapter`` that are the same for all who ask outside. ``disables`` says
    what does not work while the sources are unwell."""

    name: str
    disables: str
    is_local = False

    def __init__(self, *sources: Limited) -> None:
        self._sources = sources

    def warm(self) -> None:
        """Nothing is slow to load."""

    def problems(self) -> list[str]:
        """What is wrong with the sources at the moment, in clauses for people."""
        return [problem for source in self._sources for problem in source.problems()]

    def health(self) -> Check:
        return check_of(self.name, self.problems(), self.disables)

    def budgets(self) -> tuple[Budget, ...]:
        return tuple(budget for source in self._sources for budget in source.budgets())

    async def close(self) -> None:
        """Nothing is held: the session belongs to whoever handed it in."""


@dataclass(slots=True, kw_only=True)
class Look:
    """One question on its way to its sources: when it must be back, and how old an answer from memory may be.
    ``stale`` and ``age_s`` are those of the oldest answer that was used."""

    deadline: float
    max_age_s: float | None
    stale: bool = False
    age_s: float = 0.0

    def take(self, got: Guarded[T]) -> T:
        """The value of an answer that is used."""
        self.stale = self.stale or got.stale
        self.age_s = max(self.age_s, got.age_s)
        return got.value

    def note(self, source: str) -> str:
        """What is to be said of figures from memory after a failure, with a blank before it; else empty."""
        minutes = max(1, round(self.age_s / 60))
        return (
            f" {source} could not be asked just now; this was fetched {minutes} min ago."
            if self.stale
            else ""
        )


def max_age_s(query: Query) -> float | None:
    """How old an answer from memory may be for a query."""
    return 0.0 if query.no_cache else query.max_age_s
