"""What is a question about the weather, its slots, its key, and what a follow-up makes of it."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.grammar import when
from adapters.weather.asked import (
    EXTREMES,
    METRIC_WORDS,
    STAT_WORDS,
    WeatherQuestion,
    key_of,
    phrase,
    question_of,
)
from adapters.weather.questions import Understood, follow_up, understand
from node.core.model import CERTAIN, CLAIM
from node.language.reading import word_list
from tests.each import each
from tests.unit.adapters.asking import is_claimed
from tests.unit.adapters.tables import rows, texts

TODAY = date(2026, 11, 22)
"""A Sunday."""


def understood(text: str, *, hinted: bool = False) -> Understood:
    found = understand(text, TODAY, hinted=hinted)
    assert found is not None, text
    return found


def strength_of(text: str) -> float:
    found = understand(text, TODAY)
    return 0.0 if found is None else found.strength


def key(text: str, today: date = TODAY) -> str | None:
    found = understand(text, today)
    assert found is not None, text
    return key_of(found.question, found.time, today)


def slots(said: str | None) -> dict[str, str | None]:
    """Of ``place=Paris; when=tomorrow``: what is not said is None, and the weather is what is asked."""
    names = ("place", "region", "country", "when", "metric", "stat", "unit")
    pairs = (pair.split("=") for pair in (said or "metric=weather").split("; "))
    return {**dict.fromkeys(names), "metric": "weather", **dict(pairs)}


@each(("text", "said"), rows("weather", "questions"))
def test_slots_are_read_exactly(text: str, said: str | None) -> None:
    found = understood(text)
    assert found.strength >= CLAIM
    assert dict(found.question.slots()) == slots(said)


@each("text", [*texts("weather", "traps"), ""])
def test_traps_are_left_alone(text: str) -> None:
    assert strength_of(text) < CLAIM


@pytest.mark.parametrize(
    "text",
    [
        "explain how weather forecasting works",
        "what is the temperature of the sun",
        "is the hall heated in winter",
        "may i have a bike fri to sun, allowed?",
        "is it open sat and sun",
    ],
)
def test_a_hint_neither_opens_a_trap_nor_asks_for_a_place(text: str) -> None:
    assert understand(text, TODAY, hinted=True) is None


def test_a_hint_stands_for_the_topic() -> None:
    text = "should I take the bike in Lyon tomorrow"
    assert understand(text, TODAY) is None
    question = understood(text, hinted=True).question
    assert (question.place, question.when) == ("Lyon", "tomorrow")


@pytest.mark.parametrize(
    "text",
    [
        "The weather in Paris is nice today.",
        "it is raining in London",
        "I love the weather in Paris",
        "the forecast for Berlin was wrong again",
        "It will rain in Lyon tomorrow",
        "it rained all day in London yesterday",
        "hier il a plu à Paris",
        # two questions
        "weather in Paris and London",
        "will it rain in Oslo or Bergen tomorrow",
        "what is the high in Paris today and will it rain",
    ],
)
def test_what_only_tells_and_two_questions_are_never_certain(text: str) -> None:
    assert strength_of(text) < CERTAIN


@each("text", texts("weather", "times that cannot be read"))
def test_a_time_that_cannot_be_read_is_told(text: str) -> None:
    found = understood(text)
    assert found.time_unread
    assert found.strength < CERTAIN


def test_keys_hold_dates_and_never_words() -> None:
    assert key("weather in Paris tomorrow") == "weather:paris||:weather:2026-11-23"
    assert key("weather in Paris on 23 November 2026") == "weather:paris||:weather:2026-11-23"
    assert key("weather in Paris tomorrow", date(2026, 11, 23)) == "weather:paris||:weather:2026-11-24"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("weather in Paris", "weather in Paris, Texas"),
        ("weather in Paris", "weather in Paris today"),
        ("weather in Paris today", "weather in Paris tonight"),
        ("temperature in Paris", "rain in Paris"),
        ("temperature in Paris", "temperature in Paris in fahrenheit"),
        ("average temperature in Paris last week", "median temperature in Paris last week"),
        ("weather in Paris 3 days ago", "weather in Paris in the last 3 days"),
    ],
)
def test_different_questions_have_different_keys(one: str, other: str) -> None:
    assert None not in (key(one), key(other))
    assert key(one) != key(other)


def test_celsius_is_the_default_also_when_said() -> None:
    assert key("temperature in Oslo") == key("temperature in Oslo in celsius")


@each(("earlier", "fragment", "said"), rows("weather", "follow ups"))
def test_follow_ups(earlier: str, fragment: str, said: str) -> None:
    text = follow_up(fragment, earlier, TODAY)
    assert text is not None
    found = understood(text)
    assert found.strength >= CERTAIN
    assert dict(found.question.slots()) == slots(said)


@each(("earlier", "fragment"), rows("weather", "no follow ups"))
def test_other_fragments_are_left_alone(earlier: str, fragment: str) -> None:
    assert follow_up(fragment, earlier, TODAY) is None


@pytest.mark.parametrize(("earlier", "fragment", "metric", "stat"), rows("weather", "figures of follow ups"))
def test_a_follow_up_changes_between_highs_lows_and_other_figures(
    earlier: str, fragment: str, metric: str, stat: str | None
) -> None:
    text = follow_up(fragment, earlier, TODAY)
    assert text is not None
    question = understood(text).question
    assert (question.figure, question.stat) == (metric, stat)


@pytest.mark.parametrize(("fragment", "place"), rows("weather", "towns of follow ups"))
def test_a_follow_up_with_a_town_by_a_name_of_its_own(fragment: str, place: str) -> None:
    text = follow_up(fragment, "weather in Paris tomorrow", TODAY)
    assert text is not None
    assert understood(text).question.place == place


PLACES = (
    ("Paris", None, None),
    ("Paris", "Texas", None),
    ("London", None, "United Kingdom"),
    ("Nice", None, None),
    ("New York", None, None),
    ("Japan", None, None),
    ("Springfield", "Illinois", None),
)
TIMES = (
    *word_list("now today tonight tomorrow yesterday friday weekend today-3d today+3d 2026-11-21 2026-09"),
    *("last friday", "next friday", "this week", "next week", "last week", "this month", "last month"),
)


@given(
    place=st.sampled_from(PLACES),
    time=st.sampled_from([None, *TIMES]),
    metric=st.sampled_from(sorted(METRIC_WORDS)),
    stat=st.sampled_from([None, *sorted(STAT_WORDS)]),
    unit=st.sampled_from([None, "celsius", "fahrenheit"]),
    span=st.booleans(),
)
def test_a_canonical_question_is_read_back_exactly(
    place: tuple[str, str | None, str | None],
    time: str | None,
    metric: str,
    stat: str | None,
    unit: str | None,
    span: bool,
) -> None:
    if stat is not None and metric in ("weather", "sunrise", "sunset", "air_quality"):
        stat = None
    if metric in EXTREMES and stat in (None, "max", "min"):
        stat = EXTREMES[metric]  # what the words for the figure say already
    question = WeatherQuestion(*place, time, metric, stat, unit)
    meant = None if time is None else when.resolve(time, TODAY, span=span)
    text = phrase(question, meant)
    assert text is not None
    found = understood(text)
    assert found.question == question, text
    assert found.strength >= CERTAIN, text
    assert key_of(found.question, found.time, TODAY) == key_of(question, meant, TODAY)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "no_such"),
        ("metric", None),
        ("stat", "sum"),
        ("unit", "rankine"),
        ("unit", "celsius+parsec"),
        ("place", 7),
        ("place", "x" * 200),
        ("place", "a\nb"),
    ],
)
def test_foreign_slots_are_no_question(name: str, value: str | int | None) -> None:
    good = WeatherQuestion("Paris").slots()
    assert question_of(good) == WeatherQuestion("Paris")
    assert question_of({**good, name: value}) is None


@pytest.mark.parametrize(
    "text", ["weather " * 8_000, "in " * 20_000, "rain in " + "a" * 60_000, "雨" * 20_000]
)
def test_long_texts_are_bounded(text: str) -> None:
    understand(text, TODAY)
    follow_up(text, "weather in Paris", TODAY)
    follow_up("and tomorrow?", text, TODAY)


@pytest.mark.parametrize("text", ["weather in Europe", "weather JFK tomorrow"])
def test_a_continent_or_a_code_is_no_town(text: str) -> None:
    assert understood(text).question.place is None


@each(("text", "place", "region", "country"), rows("weather", "regions"))
def test_a_region_said_after_a_name_is_never_taken_for_it_nor_dropped(
    text: str, place: str, region: str | None, country: str | None
) -> None:
    found = understood(text)
    question = found.question
    assert (question.place, question.region, question.country) == (place, region, country)
    where = "|".join(part.casefold() if part else "" for part in (place, region, country))
    assert str(key(text)).startswith(f"weather:{where}:")
    again = phrase(question, found.time)
    assert again is not None
    assert understood(again).question == question


@each(("text", "one", "other"), rows("weather", "two at once"))
def test_two_places_or_days_are_told_and_never_certain(text: str, one: str, other: str) -> None:
    found = understood(text)
    assert is_claimed(found.strength)
    assert found.both == (one, other)
    assert follow_up("and in fahrenheit?", text, TODAY) is None


@pytest.mark.parametrize("text", texts("weather", "one alone"))
def test_one_place_and_day_are_not_taken_for_two(text: str) -> None:
    found = understood(text)
    assert found.both is None
    assert not found.time_unread
