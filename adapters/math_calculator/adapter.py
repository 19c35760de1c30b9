"""``node.core.ports.Adapter`` over the pure understanding of this package.

Slots: ``expr`` canonical text of the question ("2+2", "15% of 200", "5 kilometer to mile"), ``answer``
canonical
result or None, ``kind`` (see ``solution``), ``unit`` of the result or None. The key is ``math:`` and
``expr``, in
which relative dates are resolved; a refused question has no key, because nothing about it is worth storing.
"""

from __future__ import annotations

from datetime import datetime

from adapters.math_calculator import follow, story, units
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.understand import understand
from node.core.clock import Clock
from node.core.model import (
    Budget,
    Check,
    Evidence,
    Failed,
    Found,
    Freshness,
    Missed,
    Outcome,
    Query,
    Recognition,
    Slots,
    SourceRef,
)

NAME = "math-calculator"
_AT_THE_END = 0.8


def _slots(solution: Solution) -> Slots:
    return {"expr": solution.expr, "answer": solution.answer, "kind": solution.kind, "unit": solution.unit}


def _key(solution: Solution) -> str | None:
    return None if solution.refused else f"math:{solution.expr}"


class MathCalculator:
    """Computes in this process. Safe to call concurrently: it keeps no state but the unit registry."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return True

    def warm(self) -> None:
        """Load the unit registry (about a second, blocking: call it in a thread at start)."""
        units.warm()
        # a question of nobody's compiles every language's patterns
        understand("what is 1 zebra", self._clock.now().date())

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """Certain when all of ``text`` is one question of this calculator, a claim when it ends in one; the
        answer is in the slots."""
        solution = understand(text, now.date())
        strength, where = 1.0, ""
        if solution is None:
            solution = story.last(text, now.date())
            strength, where = _AT_THE_END, ", at the end of the text"
        if solution is None:
            return None
        return Recognition(
            NAME,
            _slots(solution),
            _key(solution),
            local=True,
            reason=solution.reason + where,
            strength=strength,
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """The last result gone on with ("times 3?"), or the last question with another amount, unit,
        percentage or day in it ("and in miles?")."""
        return follow.up(fragment, earlier, now.date())

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` for answers and for definite facts such as division by zero; ``Failed`` with code
        ``refused`` beyond a limit."""
        solution = self._solution(recognition, query)
        if solution is None:
            return Missed("this is not a question of the calculator")
        if solution.refused is not None:
            return Failed("refused", solution.refused)
        return Found(
            Evidence(
                text=solution.sentence,
                source=SourceRef("adapter", NAME),
                confidence=1.0,
                freshness=Freshness.TIME_SENSITIVE if solution.is_relative else Freshness.COMPUTED,
                data={
                    "expr": solution.expr,
                    "answer": solution.answer,
                    "exact": solution.is_exact,
                    "unit": solution.unit,
                },
                slots=_slots(solution),
                key=_key(solution),
            )
        )

    def _solution(self, recognition: Recognition, query: Query) -> Solution | None:
        """The query's own text when it is what was recognised; else (a part of several questions, a
        resolved follow-up) the canonical text of the recognition, which reads back to the same."""
        today = query.local.date()
        for text in (query.text, f"={recognition.slots.get('expr')}"):
            solution = understand(text, today)
            if solution is None:
                continue
            if _key(solution) == recognition.key and solution.kind == recognition.slots.get("kind"):
                return solution
        if recognition.slots.get("kind") == "refused":
            reason = recognition.reason.partition(": ")[2] or recognition.reason
            return Solution(
                str(recognition.slots.get("expr")), "refused", recognition.reason, "", refused=reason
            )
        return None

    def health(self) -> Check:
        """Always able."""
        return Check(NAME, "pass")

    def budgets(self) -> tuple[Budget, ...]:
        """None: it reaches nothing outside."""
        return ()

    async def close(self) -> None:
        """Nothing is held."""
