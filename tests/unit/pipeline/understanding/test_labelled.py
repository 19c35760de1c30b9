"""Every labelled text finds its row; a new rule that breaks an old text fails here by name."""

from __future__ import annotations

from collections import Counter

import pytest

from node.core.model import Kind, Route, Source
from node.pipeline.understanding.route import PASTED, ROUTE_TABLE, Floors, Router
from tests.unit.pipeline.understanding.clock import NOW
from tests.unit.pipeline.understanding.labelled import LABELLED, ROWS
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS

ROUTER = Router(RECOGNISERS, Floors())


def row_of(route: Route) -> str:
    if route.kind is not Kind.DETERMINISTIC:
        return route.kind.value
    return "live" if Source.CACHE in route.sources else "computable"


@pytest.mark.parametrize("label", sorted(LABELLED))
def test_labelled_texts_find_their_row(label: str) -> None:
    routes = [(text, ROUTER.route(text, now=NOW)) for expected, text in ROWS if expected == label]
    assert [(text, row_of(route), route.reason) for text, route in routes if row_of(route) != label] == []


def test_the_table_is_large_balanced_and_without_contradiction() -> None:
    counts = Counter(label for label, _ in ROWS)
    assert sum(counts.values()) >= 400
    assert all(counts[label] >= 30 for label in counts if label != "unclassified")
    assert len({text for _, text in ROWS}) == len(ROWS)


def test_case_and_typing_change_nothing() -> None:
    variants = [
        (variant, expected)
        for expected, text in ROWS
        if text.isascii()
        for variant in (text.upper(), text.lower(), text.title(), f"  {text}\n", text.replace(" ", "  "))
    ]
    assert [each for each in variants if row_of(ROUTER.route(each[0], now=NOW)) != each[1]] == []


def test_a_question_mark_makes_no_question_a_statement() -> None:
    for expected, text in ROWS:
        if expected != "statement":
            assert ROUTER.route(text + "?", now=NOW).kind is not Kind.STATEMENT, text


def test_every_reason_is_in_words_and_every_row_is_used() -> None:
    used = set()
    for _, text in ROWS:
        route = ROUTER.route(text, now=NOW)
        assert route.reason
        used.add((route.kind, route.sources))
    assert used >= {(row.kind, row.sources) for row in ROUTE_TABLE if row is not PASTED}
