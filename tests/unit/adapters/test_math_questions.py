"""What the calculator claims, with which canonical slots, and what it leaves alone."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from adapters.math_calculator import MathCalculator
from adapters.math_calculator.solution import Solution
from adapters.math_calculator.understand import understand
from node.core.model import CERTAIN
from tests.each import each
from tests.manual_clock import ManualClock
from tests.unit.adapters.asking import is_claimed
from tests.unit.adapters.tables import rows, texts

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
MAY = datetime(2026, 5, 18, 12, tzinfo=UTC)
TODAY = NOW.date()
NOVEMBER = datetime(2026, 11, 22, tzinfo=UTC)

QUESTIONS = rows("math", "questions")
CHAT = rows("math", "chat and languages")


@pytest.fixture(scope="module")
def calculator() -> MathCalculator:
    made = MathCalculator(ManualClock(NOW))
    made.warm()
    return made


def understood(text: str, today: date = TODAY) -> Solution:
    solution = understand(text, today)
    assert solution is not None, text
    return solution


@each(("text", "expr", "answer", "kind"), QUESTIONS)
def test_claims_with_canonical_slots(
    calculator: MathCalculator, text: str, expr: str, answer: str, kind: str
) -> None:
    claim = calculator.recognise(text, NOW)
    assert claim is not None
    assert (claim.slots["expr"], claim.slots["answer"], claim.slots["kind"]) == (expr, answer, kind)
    assert claim.key == f"math:{expr}"
    assert claim.adapter == "math-calculator"
    assert claim.local
    assert claim.reason


@each(("expr", "answer", "kind"), sorted({row[1:] for row in QUESTIONS}))
def test_canonical_text_reads_back_to_the_same(expr: str, answer: str, kind: str) -> None:
    again = understood(f"={expr}")
    assert (again.expr, again.answer, again.kind) == (expr, answer, kind)


@each(("text", "expr", "answer"), CHAT)
def test_chat_and_other_languages_are_read_to_the_canonical_expression(
    calculator: MathCalculator, text: str, expr: str, answer: str
) -> None:
    claim = calculator.recognise(text, MAY)
    assert claim is not None
    assert (claim.slots["expr"], claim.slots["answer"]) == (expr, answer)
    again = understood(f"={expr}", MAY.date())
    assert (again.expr, again.answer) == (expr, answer)


@each(("text", "answer", "unit"), rows("math", "exact"))
def test_whole_questions_are_exact(
    calculator: MathCalculator, text: str, answer: str, unit: str | None
) -> None:
    claim = calculator.recognise(text, NOVEMBER)
    assert claim is not None
    assert claim.strength >= CERTAIN
    assert (claim.slots["answer"], claim.slots["unit"]) == (answer, unit)


@each(("text", "expr"), rows("math", "decimal commas"))
def test_a_comma_before_one_or_two_digits_of_an_amount_is_decimal(text: str, expr: str) -> None:
    assert understood(text).expr == expr


@each(("text", "answer"), rows("math", "signs and powers"))
def test_signs_and_powers_in_words(text: str, answer: str) -> None:
    assert understood(text).answer == answer


@each(("text", "expr", "part"), rows("math", "facts without an answer"))
def test_definite_facts_without_an_answer_are_claimed_and_said(
    text: str, expr: str | None, part: str
) -> None:
    solution = understood(text)
    assert solution.answer is None
    assert solution.refused is None
    assert part in solution.sentence
    assert expr is None or solution.expr == expr


@each("text", texts("math", "left alone"))
def test_leaves_other_questions_alone(calculator: MathCalculator, text: str) -> None:
    assert calculator.recognise(text, NOW) is None


# --- the calculation at the end of a longer text ------------------------------------------------------


@pytest.mark.parametrize(("text", "answer"), rows("math", "ends in a sum"))
def test_what_a_text_ends_in_is_claimed_but_not_for_certain(
    calculator: MathCalculator, text: str, answer: str
) -> None:
    claim = calculator.recognise(text, NOVEMBER)
    assert claim is not None
    assert claim.slots["answer"] == answer
    assert is_claimed(claim.strength)
    again = calculator.recognise(f"={claim.slots['expr']}", NOVEMBER)
    assert again is not None
    assert (again.slots["answer"], again.key) == (answer, claim.key)


@pytest.mark.parametrize("tail", ["1+" * 400, "(" * 800, "9 - " * 200, "1 2 " * 200, "3*(" * 250 + "x"])
def test_hostile_ends_are_looked_at_within_bounds(calculator: MathCalculator, tail: str) -> None:
    """A catastrophic pattern would not come back from these at all."""
    for text in (f"I have 3 cats, {tail}"[:1000], f"why 3 {tail}?"[:1000]):
        assert calculator.recognise(text, NOVEMBER) is None


# --- keys and sentences -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2+2",
        "What is 2 + 2?",
        "two plus two",
        "calculate 2 plus 2",
        "cuánto es dos más dos",
        "2 added to 2",
    ],
)
def test_one_key_for_the_ways_to_ask_the_same(calculator: MathCalculator, text: str) -> None:
    claim = calculator.recognise(text, NOW)
    assert claim is not None
    assert claim.key == "math:2+2"


def test_relative_dates_follow_the_injected_day() -> None:
    first = understood("days until christmas", date(2026, 12, 24))
    second = understood("days until christmas", date(2026, 12, 26))
    assert (first.answer, second.answer) == ("1", "364")
    assert first.is_relative
    assert second.is_relative
    assert first.expr != second.expr


@pytest.mark.parametrize(("text", "sentence"), rows("math", "sentences"))
def test_says_it_in_a_sentence(text: str, sentence: str) -> None:
    assert understood(text).sentence == sentence


@pytest.mark.parametrize(
    "text", ["minus two squared", "-2^2", "minus zwei zum quadrat", "moins deux au carré"]
)
def test_a_signed_even_power_says_how_it_was_read(text: str) -> None:
    told = "-2^2 = -4 (the power comes before the sign; (-2)^2 would be 4)."
    assert understood(text).sentence == told


@pytest.mark.parametrize("text", ["-2^3", "(-2)^2", "3 - 2^2"])
def test_where_the_sign_makes_no_difference_nothing_is_said_of_it(text: str) -> None:
    assert "would be" not in understood(text).sentence
