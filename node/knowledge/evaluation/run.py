"""One run: each question is searched, asked and judged, one after the other. The sides are callables: over
HTTP for the command, in this process for measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from node.core.errors import NodeError
from node.knowledge.evaluation.outcome import Measured, Reply
from node.knowledge.evaluation.questions import Question


class Side(Protocol):
    """What is evaluated. Both raise ``NodeError``: the question counts as not found or not answered."""

    def ranked(self, question: str) -> tuple[Sequence[str], float] | None:
        """Paths of what ``retrieve`` finds, best first, and the milliseconds; None where that cannot be
        asked."""
        ...

    def reply(self, question: str) -> Reply | None:
        """The answer; None where only retrieval is measured."""
        ...


Judge = Callable[[Question, Reply], int | None]
"""The grade of an answer, None where the judge gave none. Raises ``NodeError``."""


def measure(
    asked: Sequence[Question],
    side: Side,
    judge: Judge | None = None,
    tell: Callable[[int, str], None] = lambda done, name: None,
) -> list[Measured]:
    """All of them in order. What fails is noted in ``error``; a question whose answer failed has an empty
    one, so that it counts as wrong."""
    made = []
    for done, question in enumerate(asked):
        tell(done, question.id)
        one = Measured(question)
        made.append(one)
        try:
            if (found := side.ranked(question.question)) is not None:
                paths, one.retrieval_ms = found
                one.ranked = tuple(dict.fromkeys(paths))
            one.reply = side.reply(question.question)
            if judge is not None and one.reply is not None:
                one.quality = judge(question, one.reply)
        except NodeError as exc:
            one.error = str(exc)
            one.reply = one.reply or Reply("", (), has_contradiction=False, abstained=False, ms=0.0)
    tell(len(asked), "")
    return made
