"""The calculation at the end of a longer text: what counts, what does not, and that it stays cheap."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adapters.math_calculator import MathCalculator
from node.core.model import CERTAIN, CLAIM
from tests.manual_clock import ManualClock

NOW = datetime(2026, 11, 22, tzinfo=UTC)
CALCULATOR = MathCalculator(ManualClock(NOW))

ENDS_IN_A_SUM = [
    ("I have 3 boxes with 24 eggs each, how many eggs do I have? 3*24", "72"),
    ("my bill is 84 and we are 7 people, 84/7?", "12"),
    ("the roll needs 350 g flour for 4 people, for one that's 350/4 how much", "87.5"),
    ("We ordered for 120 euros. What is 15% of 120?", "18"),
    ("next one for my homework, 12*(4+5)?", "108"),
    ("a pack of 12 costs 30 dollars so 30/12 =", "2.5"),
]
NOT_A_SUM = [
    "what is the score, 110-98?",
    "are you free next week, 3/4?",
    "who won 3-2",
    "how do I get from platform 9 3/4 to the train, is it open 24/7?",
    "tell me about windows 95, is it 16/32 bit?",
    "call me at the office, 555-1234",
    "Explain why this code is slow: for i in range(10): x = x * 2",
    "I was born in 1990, who was president?",
    "is the answer yes or no",
]


@pytest.mark.parametrize(("text", "answer"), ENDS_IN_A_SUM)
def test_what_a_text_ends_in_is_claimed_but_not_for_certain(text: str, answer: str) -> None:
    claim = CALCULATOR.recognise(text, NOW)
    assert claim is not None
    assert claim.slots["answer"] == answer
    assert CLAIM <= claim.strength < CERTAIN


@pytest.mark.parametrize("text", NOT_A_SUM)
def test_other_endings_are_left_alone(text: str) -> None:
    assert CALCULATOR.recognise(text, NOW) is None


@pytest.mark.parametrize("tail", ["1+" * 400, "(" * 800, "9 - " * 200, "1 2 " * 200, "3*(" * 250 + "x"])
def test_hostile_ends_are_looked_at_within_bounds(tail: str) -> None:
    """A catastrophic pattern would not come back from these at all."""
    for text in (f"I have 3 cats, {tail}"[:1000], f"why 3 {tail}?"[:1000]):
        claim = CALCULATOR.recognise(text, NOW)
        assert claim is None


def test_the_recognised_claim_is_answered() -> None:
    [(text, answer)] = ENDS_IN_A_SUM[:1]
    claim = CALCULATOR.recognise(text, NOW)
    assert claim is not None
    again = CALCULATOR.recognise(f"={claim.slots['expr']}", NOW)
    assert again is not None
    assert (again.slots["answer"], again.key) == (answer, claim.key)


WHOLE = [
    ("double 37", "74", None),
    ("halve 95", "47.5", None),
    ("twice 12", "24", None),
    ("triple 15", "45", None),
    ("quadruple 2.5", "10", None),
    ("How many weeks until 1 January 2027?", "40/7", "weeks"),
    ("how many weeks until 3 January 2027", "6", "weeks"),
    ("how many weeks between 2026-01-01 and 2026-01-10", "9/7", "weeks"),
    ("how many days between 4 july and 25 december 2026", "174", "days"),
    ("how many days from 4 july 2025 to 25 december", "174", "days"),
    ("in how many days is 2027-01-15", "54", "days"),
    ("how many seconds in a leap year", "31622400", "second"),
    ("cuántos gramos son 2 kilos y medio", "2500", "gram"),
]


@pytest.mark.parametrize(("text", "answer", "unit"), WHOLE)
def test_whole_questions_are_exact(text: str, answer: str, unit: str | None) -> None:
    claim = CALCULATOR.recognise(text, NOW)
    assert claim is not None
    assert claim.strength >= CERTAIN
    assert (claim.slots["answer"], claim.slots["unit"]) == (answer, unit)


@pytest.mark.parametrize(
    ("earlier", "fragment", "answer"),
    [
        ("double 37", "and 40?", "80"),
        ("half of 80", "and 100?", "50"),
        ("how many days until christmas", "how many until new year's eve", "39"),
        ("I have 3 boxes with 24 eggs each. 3*24?", "times 2?", "144"),
    ],
)
def test_fragments_go_on(earlier: str, fragment: str, answer: str) -> None:
    text = CALCULATOR.follow_up(fragment, earlier, NOW)
    assert text is not None
    claim = CALCULATOR.recognise(text, NOW)
    assert claim is not None
    assert claim.slots["answer"] == answer


def test_a_number_in_words_beside_the_figure_leaves_the_fragment_alone() -> None:
    assert CALCULATOR.follow_up("and 3?", "two plus 5", NOW) is None
