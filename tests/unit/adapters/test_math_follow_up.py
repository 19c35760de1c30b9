"""Follow-ups to a calculation become texts that the calculator reads whole, or nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.math_calculator import MathCalculator
from node.core.model import CERTAIN, Caller, Found, Query
from tests.manual_clock import ManualClock

NOW = datetime(2026, 5, 18, 12, tzinfo=UTC)
CALCULATOR = MathCalculator(ManualClock(NOW))

# the earlier question, the fragment, the canonical expression and its answer
GOES_ON = """
what is 2+2 | times 3? | (2+2)*3 | 12
what is 2+2 | plus 5 | 2+2+5 | 9
what is 2+2 | and minus 1? | 2+2-1 | 3
what is 2+2 | -5 | 2+2-5 | -1
what is 2+2 | and 15% of that? | 15% of (2+2) | 0.6
what is 2+2 | and 7*8? | 7*8 | 56
what is 2+2 | squared | (2+2)^2 | 16
what is 2+2 | double it | 2*(2+2) | 8
what is 2+2 | halve it | 1/2*(2+2) | 2
what is 2+2 | divide that by 3 | (2+2)/3 | 1.33333333333333
what is 2+2 | divide by 4 | (2+2)/4 | 1
what is 2+2 | add 10 | 2+2+10 | 14
what is 2+2 | now subtract 1 | 2+2-1 | 3
what is 2+2 | and the square root of that | sqrt(2+2) | 2
what is 2+2 | is it prime? | isprime(2+2) | no
what is 2+2 | in binary? | base(2+2;2) | 0b100
what is 2+2 | mal 3? | (2+2)*3 | 12
what is 2+2 | y por 3? | (2+2)*3 | 12
what is 2+2 | et fois 3 ? | (2+2)*3 | 12
what is 2+2 | умножить на 3 | (2+2)*3 | 12
calculate (2+2)*3 | minus 4 | (2+2)*3-4 | 8
25/3 | round that to 2 decimal places | round(25/3;2) | 8.33
what is 15% of 80 | and 20%? | 20% of 80 | 16
what is 15% of 80 | and of 120? | 15% of 120 | 18
80 with 25% off | and 30%? | 80-30% | 56
square root of 144 | and 169? | sqrt(169) | 13
is 97 prime | what about 91 | isprime(91) | no
5! | and six? | 6! | 720
255 in hex | and 254? | base(254;16) | 0xfe
5 km in miles | and in meters? | 5 kilometer to meter | 5000
5 km in miles | and 10? | 10 kilometer to mile | 6.21371192237334
5 km in miles | what about 10 km? | 10 kilometer to mile | 6.21371192237334
5 km in miles | y en metros? | 5 kilometer to meter | 5000
5 km in miles | und in Metern? | 5 kilometer to meter | 5000
how many feet in a mile | and yards? | 1 mile to yard | 1760
100 f in c | and in kelvin | 100 degree Fahrenheit to kelvin | 310.927777777778
days until christmas | and easter? | days from today(2026-05-18) to today(2027-03-28) | 314
days until christmas | in weeks? | weeks from today(2026-05-18) to today(2026-12-25) | 221/7
what day of the week was 20 July 1969 | and 21 July 1969? | weekday of 1969-07-21 | Monday
when is easter 2027 | and easter 2028? | calendar day 2028-04-16 | 2028-04-16
is 2024 a leap year | and 2025? | is 2025 a leap year | no
how many days in february 2024 | and march 2024? | number of days in march 2024 | 31
""".strip().splitlines()

SAYS_NOTHING = """
what is 2+2 | why?
what is 2+2 | and 3?
what is 2+2 | and pi
what is 2+2 | and
what is 2+2 | and tomorrow?
what is 2+2 | and ETH?
what is 2+2 | and in Paris?
what is 2+2 | times 9**9**9
what is 2+2 | * that
what is 2+2 | tell me a joke about it
what is 2+2 | is that true
what is 2+2 | thanks
5 km in miles | times 3
5 km in miles | in euros
5 km in miles | and that?
days until christmas | and 7?
who wrote Hamlet? | times 3
who wrote Hamlet? | and 7*8?
price of btc | in meters
1/0 | times 3
9**9**9 | plus 1
""".strip().splitlines()


@pytest.mark.parametrize("row", GOES_ON)
def test_goes_on_to_a_text_that_is_read_with_certainty(row: str) -> None:
    earlier, fragment, expr, answer = row.split(" | ")
    text = CALCULATOR.follow_up(fragment, earlier, NOW)
    assert text is not None
    claim = CALCULATOR.recognise(text, NOW)
    assert claim is not None
    assert claim.strength >= CERTAIN
    assert (claim.slots["expr"], claim.slots["answer"]) == (expr, answer)


@pytest.mark.parametrize("row", SAYS_NOTHING)
def test_says_nothing_where_there_is_no_one_reading(row: str) -> None:
    earlier, fragment = row.split(" | ")
    assert CALCULATOR.follow_up(fragment, earlier, NOW) is None


@given(
    st.integers(0, 999),
    st.integers(1, 999),
    st.sampled_from([("plus", "+"), ("minus", "-"), ("times", "*"), ("divided by", "/")]),
    st.integers(1, 999),
)
@settings(deadline=None)
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
@settings(deadline=None)
def test_any_fragment_gives_a_certain_text_or_none(fragment: str, earlier: str) -> None:
    text = CALCULATOR.follow_up(fragment, earlier, NOW)
    if text is not None:
        claim = CALCULATOR.recognise(text, NOW)
        assert claim is not None
        assert claim.strength >= CERTAIN
        assert claim.slots["kind"] != "refused"


@pytest.mark.timeout(5)
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
