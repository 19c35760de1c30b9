"""Who asks again in other words within a minute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from node.core.caller import Caller
from node.core.model import Answer, Confidence, Freshness, Kind, Query, Route, SourceRef
from node.core.ports import Embedded, EmbedderInfo
from node.pipeline.asked_again import ASKERS_MAX, AskedAgain
from tests.manual_clock import ManualClock

FIRST, OTHERWISE = "How many nights may a guest stay?", "For how many nights can a guest stay here?"
ANN, BOB = Caller("ann", key="k1"), Caller("bob", key="k2")
INFO = EmbedderInfo("m", "d", 2, 64)


def said(text: str, caller: Caller = ANN, **more: Any) -> Answer:
    query = Query("r1", text, text, caller, ManualClock().now(), 0.0, **more)
    route = Route(Kind.GENERATIVE, (), 0.7, "x")
    return Answer(query, "14", route, SourceRef("llm", "m"), Confidence(0.9, {}), Freshness.GENERAL)


def vector(cosine: float) -> Embedded:
    return Embedded(np.array([cosine, np.sqrt(1 - cosine**2)], np.float32), INFO)


class Doubts:
    def __init__(self) -> None:
        self.clock, self.of = ManualClock(), list[str]()
        self.again = AskedAgain(self.clock, [lambda answer: self.of.append(answer.query.text)])

    def hear(self, answer: Answer, after_s: float = 0.0, near: float | None = None) -> None:
        self.clock.advance(after_s)
        self.again.hear(answer, None if near is None else vector(near))


@pytest.mark.parametrize(("after_s", "counts"), [(59, True), (61, False)])
@pytest.mark.parametrize("near", [None, 0.9])
def test_within_a_minute_and_not_after(after_s: float, counts: bool, near: float | None) -> None:
    """S4-39."""
    doubts = Doubts()
    doubts.hear(said(FIRST), near=near and 1.0)
    doubts.hear(said(OTHERWISE), after_s, near)
    assert doubts.of == ([FIRST] if counts else [])


@pytest.mark.parametrize(
    "then",
    [
        said("  how many nights may a GUEST stay!"),
        said(OTHERWISE, BOB),
        said(OTHERWISE, session="s2"),
        said(OTHERWISE, context="0" * 64),
        said("How many cats may a guest keep in the garden of the house?"),
        replace(said(OTHERWISE), source=SourceRef("statement", "statement")),
    ],
    ids=[
        "the same words",
        "another asker",
        "another session",
        "about a text",
        "another question",
        "small talk",
    ],
)
def test_what_is_no_question_asked_again(then: Answer) -> None:
    doubts = Doubts()
    doubts.hear(said(FIRST))
    doubts.hear(then, 5)
    assert doubts.of == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the price of a Bitcoin?", "What is the price of an Ethereum?"),
        ("What does a wash cost in 2024?", "What does a wash cost in 2025?"),
        ("May guests smoke?", "May guests not smoke?"),
    ],
)
def test_another_name_figure_or_negation_is_another_question(one: str, other: str) -> None:
    doubts = Doubts()
    doubts.hear(said(one), near=1.0)
    doubts.hear(said(other), 5, 0.97)
    assert doubts.of == []


def test_memory_is_bounded() -> None:
    doubts = Doubts()
    for number in range(ASKERS_MAX + 1):
        doubts.hear(said(FIRST, Caller(f"t{number}", key="k")))
    doubts.hear(said(OTHERWISE, Caller("t0", key="k")), 1)
    assert doubts.of == []
    doubts.hear(said(OTHERWISE, Caller("t2", key="k")), 1)
    assert doubts.of == [FIRST]
