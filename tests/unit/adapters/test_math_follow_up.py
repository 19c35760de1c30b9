"""Follow-ups to a calculation become texts that the calculator reads whole, or nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.math_calculator import MathCalculator
from node.core.caller import Caller
from node.core.model import CERTAIN, Found, Query
from tests.each import each
from tests.manual_clock import ManualClock
from tests.unit.adapters.tables import rows

NOW = datetime(2026, 5, 18, 12, tzinfo=UTC)
CALCULATOR = MathCalculator(ManualClock(NOW))


@each(("earlier", "fragment", "expr", "answer"), rows("math", "follow ups"))
def test_goes_on_to_a_text_that_is_read_with_certainty(
    earlier: str, fragment: str, expr: str, answer: str
) -> None:
    text = CALCULATOR.follow_up(fragment, earlier, NOW)
    assert text is not None
    claim = CALCULATOR.recognise(text, NOW)
    assert claim is not None
    assert claim.strength >= CERTAIN
    assert (claim.slots["expr"], claim.slots["answer"]) == (expr, answer)


@each(("earlier", "fragment"), rows("math", "no follow ups"))
def test_says_nothing_where_there_is_no_one_reading(earlier: str, fragment: str) -> None:
    assert CALCULATOR.follow_up(fragment, earlier, NOW) is None


@given(
    st.integers(0, 999),
    st.integers(1, 999),
    st.sampled_from([("plus", "+"), ("minus", "-"), ("times", "*"), ("divided by", "/")]),
    st.integers(1, 999),
)
def test_going_on_and_writing_it_out_agree(a: int, b: int, sign: tuple[str, str], c: int) -> None:
    text = CALCULATOR.follow_up(f"and {sign[0]} {c}?", f"what is {a} + {b}", NOW)
    assert text is not None
    one = CALCULATOR.recognise(text, NOW)
    other = CALCULATOR.recognise(f"({a}+{b}) {sign[1]} {c}", NOW)
    assert one is not None
    assert other is not None
    assert one.key == other.key


_WORDS = (
    "and times plus 3 15% of that it in miles km squared double by 2 the what about mal y ? / * ( ) easter"
)


@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_WORDS.split()), max_size=7).map(" ".join)),
    st.sampled_from(["2+2", "15% of 80", "5 km in miles", "days until easter", "sqrt(16)", "what is ipfs"]),
)
def test_any_fragment_gives_a_certain_text_or_none(fragment: str, earlier: str) -> None:
    text = CALCULATOR.follow_up(fragment, earlier, NOW)
    if text is not None:
        claim = CALCULATOR.recognise(text, NOW)
        assert claim is not None
        assert claim.strength >= CERTAIN
        assert claim.slots["kind"] != "refused"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "fragment", ["times " * 9_000, "(" * 60_000, "and " * 25, "of it " * 16, "9" * 90, "! " * 45]
)
def test_hostile_fragments_are_looked_at_briefly(fragment: str) -> None:
    for earlier in ("2+2", "5 km in miles", "what is 2^9999", "1+" * 30_000 + "1"):
        CALCULATOR.follow_up(fragment, earlier, NOW)


async def test_today_is_the_day_of_the_asker() -> None:
    east = timezone(timedelta(hours=10))
    late = datetime(2026, 5, 18, 20, tzinfo=UTC)
    query = Query("id", "what day is it", "what day is it", Caller(), late, deadline=1e9, zone=east)
    claim = CALCULATOR.recognise(query.text, query.local)
    assert claim is not None
    assert claim.slots["answer"] == "2026-05-19"
    outcome = await CALCULATOR.ask(claim, query)
    assert isinstance(outcome, Found)
    assert outcome.evidence.text == "Today is Tuesday, 19 May 2026."
    assert outcome.evidence.key == claim.key
