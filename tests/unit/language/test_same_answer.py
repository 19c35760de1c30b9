"""Same answer or not: values decide, words alone rarely do, and doubt stays doubt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language.same_answer import RIGHT, UNDECIDED, WRONG, same_answer
from tests.each import each
from tests.unit.pipeline.tables import cells, sections

CASES = sections(__file__, "same_answer.txt")["cases"]


@each("row", CASES)
def test_cases(row: str) -> None:
    verdict, question, one, other = cells(row)
    assert same_answer(one, other, question=question).verdict == verdict
    assert same_answer(other, one, question=question).verdict == verdict, "both ways alike"


def test_nothing_is_compared_with_nothing() -> None:
    assert same_answer("", "something", question="what").verdict == UNDECIDED
    assert same_answer("something", "", question="what").verdict == UNDECIDED


@pytest.mark.parametrize(("other", "verdict"), [("70,500", RIGHT), ("74,000", UNDECIDED), ("95,000", WRONG)])
def test_live_figures_may_move_a_little(other: str, verdict: str) -> None:
    texts = ("Bitcoin is at 70,000 USD (2026-11-22 09:10 UTC).", f"Bitcoin is at {other} USD.")
    assert same_answer(*texts, question="price of btc", live=True).verdict == verdict


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=60), st.booleans())
def test_any_text_is_compared_both_ways_alike(one: str, other: str, question: str, live: bool) -> None:
    found = same_answer(one, other, question=question, live=live)
    assert found.verdict in (RIGHT, WRONG, UNDECIDED)
    assert found == same_answer(other, one, question=question, live=live)


@given(st.text(min_size=1, max_size=200), st.text(max_size=60))
def test_a_text_never_contradicts_itself(text: str, question: str) -> None:
    assert same_answer(text, text, question=question).verdict != WRONG


def test_long_texts_are_bounded() -> None:
    long = "Belmora has 12 towers and 7 bridges. " * 20_000
    assert same_answer(long, long + " More.").verdict in (RIGHT, UNDECIDED)
