"""Properties of the keyword key: what never changes it, what always does."""

from __future__ import annotations

from datetime import date

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from node.cache.keys import PREFIX, keyword_key
from node.cache.matching.gate import agree, judge
from node.cache.matching.tokens import tokenise

NOUNS = st.sampled_from(
    ["river", "engine", "protein", "lantern", "copper", "violin", "museum", "turbine", "garlic"]
)
PLACES = st.sampled_from(
    [
        ("the United States", "the US"),
        ("New York City", "NYC"),
        ("Myanmar", "Burma"),
        ("Saint Petersburg", "St. Petersburg"),
        ("the United Kingdom", "the UK"),
        ("South Korea", "the Republic of Korea"),
        ("Boston", "Boston"),
        ("Peru", "Peru"),
    ]
)
FRAMES = st.sampled_from(
    [
        "What is the {0} of {1}?",
        "How many {0}s does {1} have?",
        "Who built the first {0} in {1}?",
        "Why is there no {0} in {1}?",
        "When was the {0} of {1} opened?",
        "Is the {0} in {1} older than 1850?",
    ]
)
POLITE = st.sampled_from(["Please, {}", "Could you tell me: {}", "Hello, {}", "{} Thanks!", "{} please"])
UNITS = st.lists(
    st.sampled_from(["km", "miles", "feet", "meters", "yards", "inches"]), min_size=2, max_size=2, unique=True
)
NUMBERS = st.integers(2, 9_999)
MODEST = settings(deadline=None, max_examples=50)
DATES = st.dates(date(1000, 1, 1), date(2999, 12, 31))


@MODEST
@given(st.text(max_size=400))
def test_any_text_has_a_key_or_none_and_always_the_same(text: str) -> None:
    key = keyword_key(text)
    assert key == keyword_key(text)
    assert key is None or (key.startswith(PREFIX) and len(key) <= 200 + len(PREFIX))


@MODEST
@given(st.text(max_size=200))
def test_offsets_of_tokens_never_run_backwards(text: str) -> None:
    assert all(token.start <= token.end for token in tokenise(text))


@MODEST
@given(FRAMES, NOUNS, PLACES, POLITE)
def test_politeness_spacing_and_the_name_of_a_place_do_not_matter(
    frame: str, noun: str, place: tuple[str, str], polite: str
) -> None:
    one, other = frame.format(noun, place[0]), polite.format(frame.format(noun, place[1]))
    assert keyword_key(one) == keyword_key("  ".join(other.split(" ")))
    assert agree(one, other).veto is None


@MODEST
@given(FRAMES, NOUNS, st.sampled_from(["Boston", "Peru", "united states", "new york city"]))
def test_case_does_not_matter_where_it_means_nothing(frame: str, noun: str, place: str) -> None:
    text = frame.format(noun, place)
    assert len({keyword_key(one) for one in (text, text.lower(), text.upper(), text.title())}) == 1


@MODEST
@given(DATES, NOUNS)
def test_one_day_is_one_key_however_written(day: date, noun: str) -> None:
    month, short = day.strftime("%B"), day.strftime("%b")
    year = f"{day.year:04}"
    written = [
        f"{year}-{day.month:02}-{day.day:02}",
        f"{month} {day.day}, {year}",
        f"{day.day} {short} {year}",
        f"{month.lower()} {day.day} {year}",
    ]
    assert len({keyword_key(f"Which {noun} was sold on {text}?") for text in written}) == 1


@MODEST
@given(DATES, DATES)
def test_two_days_are_two_keys(one: date, other: date) -> None:
    assume(one != other)
    keys = {keyword_key(f"What happened on {day:%d %B} {day.year:04}?") for day in (one, other)}
    assert len(keys) == 2


@MODEST
@given(NUMBERS, NUMBERS, UNITS)
def test_a_conversion_meets_its_wordings_and_no_other(amount: int, another: int, units: list[str]) -> None:
    assume(amount != another)
    one, two = units
    said = [
        f"convert {amount} {one} to {two}",
        f"how many {two} are in {amount} {one}",
        f"What is {amount:,} {one} in {two}?",
    ]
    keys = {keyword_key(text) for text in said}
    assert len(keys) == 1
    assert keyword_key(f"convert {amount} {two} to {one}") not in keys
    assert keyword_key(f"how many {two} are in {another} {one}") not in keys


@MODEST
@given(NUMBERS, NUMBERS)
def test_reckoning_meets_its_wordings_and_never_the_other_way_round(one: int, two: int) -> None:
    assume(one != two)
    minus = {keyword_key(text) for text in (f"subtract {two} from {one}", f"what is {one} minus {two}")}
    over = {keyword_key(text) for text in (f"divide {one} by {two}", f"quotient of {one} and {two}")}
    assert len(minus) == len(over) == 1
    assert keyword_key(f"subtract {one} from {two}") not in minus
    assert keyword_key(f"{two} divided by {one}") not in over
    assert not minus & over


TURNING = st.sampled_from(
    [
        "flights from {0} to {1}",
        "Is the {0} older than the {1}?",
        "Did the {0} follow the {1}?",
        "the {0}'s {1}",
        "translate {0} to {1}",
        "Can I use a {0} instead of a {1}?",
        "effect of the {0} on the {1}",
        "How many {0}s per {1}?",
        "Was the {0} hit by the {1}?",
        "replace the {0} with the {1}",
    ]
)


@MODEST
@given(TURNING, NOUNS, NOUNS)
def test_what_changes_places_never_meets(frame: str, one: str, other: str) -> None:
    assume(one != other)
    assert keyword_key(frame.format(one, other)) != keyword_key(frame.format(other, one))


@MODEST
@given(st.text(max_size=300), st.text(max_size=300))
def test_equal_keys_agree(one: str, other: str) -> None:
    key = keyword_key(one)
    if key is not None and key == keyword_key(other):
        assert agree(one, other).veto is judge(one, other, similarity=1.0).veto is None
