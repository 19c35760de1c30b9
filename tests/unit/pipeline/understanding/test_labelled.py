"""Every labelled text finds its row; a new rule that breaks an old text fails here by name."""

from __future__ import annotations

import pytest

from node.core.model import Kind, Route, Source
from node.pipeline.understanding.route import PASTED, ROUTE_TABLE, Floors, Router
from tests.unit.pipeline.tables import sections
from tests.unit.pipeline.understanding.clock import NOW
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS

ROUTER = Router(RECOGNISERS, Floors())
LABELLED = sections(__file__, "labelled.txt")
ROWS = [(label, text) for label, texts in LABELLED.items() for text in texts]


def row_of(text: str) -> str:
    route = ROUTER.route(text, now=NOW)
    if route.kind is not Kind.DETERMINISTIC:
        return route.kind.value
    return "live" if Source.CACHE in route.sources else "computable"


@pytest.mark.parametrize("label", sorted(LABELLED))
def test_labelled_texts_find_their_row(label: str) -> None:
    assert [(text, row_of(text)) for text in LABELLED[label] if row_of(text) != label] == []


def test_the_table_is_large_balanced_and_without_contradiction() -> None:
    counts = {label: len(texts) for label, texts in LABELLED.items()}
    assert sum(counts.values()) >= 400
    assert counts.pop("unclassified")
    assert counts.keys() == {"statement", "computable", "live", "historical", "generative"}
    assert all(count >= 30 for count in counts.values())
    assert len({text for _, text in ROWS}) == len(ROWS)


TYPINGS = (str.upper, str.lower, str.title, "  {}\n".format, lambda text: text.replace(" ", "  "))


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, len(TYPINGS)))]
)
def test_case_and_typing_change_nothing(turn: int) -> None:
    """Each turn gives every text one of the typings; all turns give every text all of them."""
    variants = [
        (TYPINGS[(turn + number) % len(TYPINGS)](text), expected)
        for number, (expected, text) in enumerate(ROWS)
        if text.isascii()
    ]
    assert [each for each in variants if row_of(each[0]) != each[1]] == []


def test_a_question_mark_makes_no_question_a_statement() -> None:
    texts = [text + "?" for expected, text in ROWS if expected != "statement"]
    assert [text for text in texts if row_of(text) == "statement"] == []


def test_every_reason_is_in_words_and_every_row_is_used() -> None:
    routes: list[Route] = [ROUTER.route(text, now=NOW) for _, text in ROWS]
    assert all(route.reason for route in routes)
    used = {(route.kind, route.sources) for route in routes}
    assert used >= {(row.kind, row.sources) for row in ROUTE_TABLE if row is not PASTED}
