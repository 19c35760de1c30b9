"""Times as people say them: what is found, what is refused, and that what is written is read back."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.grammar import when
from adapters.grammar.when import When
from node.language.reading import read
from tests.each import each
from tests.unit.adapters.tables import rows, texts

TODAY = date(2026, 11, 18)
"""A Wednesday."""


def found(text: str, *, past: bool = False) -> tuple[str | None, tuple[str, ...]]:
    got, rest = when.find(read(text).words, TODAY, past=past)
    return (None if got is None else got.said), rest


@each(("text", "said"), rows("when", "times"))
def test_a_time_is_found_and_taken_out(text: str, said: str) -> None:
    got, _ = when.find(read(text).words, TODAY)
    assert got is not None
    assert got.said == said
    padded, rest = found(f"rain {text} in rome")
    assert padded == said
    assert rest[0] == "rain"
    assert rest[-1] == "rome"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("will it rain in Paris on friday", "will it rain in paris"),
        ("what is the temperature in rome over the next 3 days", "what is the temperature in rome"),
        ("les nouvelles d'aujourd'hui", "les nouvelles"),
        ("noticias de la semana pasada", "noticias"),
        ("what is going on today in lisbon", "what is going on in lisbon"),
    ],
)
def test_its_prepositions_go_with_it(text: str, rest: str) -> None:
    assert found(text)[1] == tuple(rest.split())


@each("text", [*texts("when", "no times"), ""])
def test_what_is_no_one_time_is_none_and_leaves_the_words(text: str) -> None:
    got, rest = found(text)
    assert got is None
    assert rest == read(text).words


@pytest.mark.parametrize(
    ("text", "ahead", "back"),
    [
        ("on friday", "2026-11-20", "2026-11-13"),
        ("on wednesday", "2026-11-18", "2026-11-11"),
        ("on november 20", "2026-11-20", "2025-11-20"),
        ("in december", "2026-12-01", "2025-12-01"),
        ("february 29", "2028-02-29", "2024-02-29"),
        ("on the 31st", "2026-12-31", "2026-10-31"),
    ],
)
def test_bare_weekdays_and_dates_without_a_year_look_ahead_or_back(text: str, ahead: str, back: str) -> None:
    for past, expected in ((False, ahead), (True, back)):
        got, _ = when.find(read(text).words, TODAY, past=past)
        assert got is not None
        assert got.first == date.fromisoformat(expected)


@pytest.mark.parametrize(("said", "first", "last"), rows("when", "spans"))
def test_named_times_mean_these_days(said: str, first: str, last: str) -> None:
    got = when.resolve(said, TODAY)
    assert got == When(said, date.fromisoformat(first), date.fromisoformat(last), first != last)


@pytest.mark.parametrize(
    "said",
    [
        *("", "soon", "today-", "today-3", "today-99999d", "friday ", "last now"),
        *("2026-13", "2026-02-30", "0000", "9999-12-31"),
    ],
)
def test_a_malformed_slot_is_none(said: str) -> None:
    assert when.resolve(said, TODAY) is None


@each("today", [date(1, 1, 1), date(9999, 12, 31)])
@each(
    "text",
    ["tomorrow", "yesterday", "next year", "last month", "in 300 days", "300 days ago", "in may"],
)
def test_the_edges_of_the_calendar_are_none_or_in_range(text: str, today: date) -> None:
    got, _ = when.find(text.split(), today)
    assert got is None or got.first <= got.last


SAIDS = st.one_of(
    st.sampled_from(
        ["now", "today", "tonight", "tomorrow", "yesterday", "weekend", "last weekend", "next weekend"]
        + [f"{which} {unit}" for which in ("last", "this", "next") for unit in ("week", "month", "year")]
        + [f"{which}{name}" for which in ("", "last ", "next ") for name in when.WEEKDAYS]
    ),
    st.integers(-2_000, 2_000).map(lambda days: f"today{days:+d}d"),
    st.dates(date(1950, 1, 1), date(2150, 1, 1)).map(date.isoformat),
    st.dates(date(1950, 1, 1), date(2150, 1, 1)).map(lambda day: day.isoformat()[:7]),
    st.integers(1900, 2199).map(str),
)


@given(
    said=SAIDS,
    today=st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    span=st.booleans(),
    past=st.booleans(),
)
def test_a_phrase_is_read_back_to_the_same_time(said: str, today: date, span: bool, past: bool) -> None:
    meant = when.resolve(said, today, span=span, past=past)
    assert meant is not None
    assert meant.first <= meant.last
    text = when.phrase(meant)
    assert when.find(read(text).words, today, past=past) == (meant, ())
    assert when.find(read(f"weather in paris {text}").words, today, past=past) == (
        meant,
        ("weather", "in", "paris"),
    )
    assert when.resolve(meant.said, today, span=meant.span, past=past) == meant


@given(st.text(max_size=200), st.dates())
def test_any_text_is_read(text: str, today: date) -> None:
    words = read(text).words
    got, rest = when.find(words, today)
    assert len(rest) <= len(words)
    assert got is not None or rest == words
    when.find_script(read(text).plain, today)
    when.resolve(text, today)


@each(("text", "said", "rest"), rows("when", "scripts"))
def test_other_scripts(text: str, said: str, rest: str | None) -> None:
    got, left = when.find_script(read(text).plain, TODAY)
    assert got is not None
    assert (got.said, left) == (said, rest or "")


@pytest.mark.parametrize(
    "text", ["今日と明日", "2026年2月30日", "сегодня и завтра", "31 ноября 2026 года", "ニュース"]
)
def test_other_scripts_refuse_like_the_others(text: str) -> None:
    assert when.find_script(read(text).plain, TODAY) == (None, read(text).plain)


def test_counted_spans_touch_every_day_of_those_hours() -> None:
    got, _ = when.find(["last", "7", "days"], TODAY)
    assert got == When("today-7d", TODAY - timedelta(days=7), TODAY, True)
