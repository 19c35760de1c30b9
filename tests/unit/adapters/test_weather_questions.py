"""What is a question about the weather, its slots, its key, and what a follow-up makes of it."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
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
from adapters.weather.questions import follow_up, understand
from node.core.model import CERTAIN, CLAIM
from node.language.reading import word_list

TODAY = date(2026, 11, 22)
"""A Sunday."""

QUESTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("weather in Paris", {"place": "Paris"}),
    ("weather madrid", {"place": "Madrid"}),
    ("london weather", {"place": "London"}),
    ("What's the weather like in Tokyo right now?", {"place": "Tokyo", "when": "now"}),
    ("weather in Paris, Texas tomorrow", {"place": "Paris", "region": "Texas", "when": "tomorrow"}),
    ("London, UK forecast", {"place": "London", "country": "United Kingdom"}),
    ("will it rain tomorrow in lisbon", {"place": "Lisbon", "when": "tomorrow", "metric": "rain"}),
    ("wil it rain tommorow in lisbon", {"place": "Lisbon", "when": "tomorrow", "metric": "rain"}),
    (
        "hey, any idea if ill need an umbrella in lyon on saturday?",
        {"place": "Lyon", "when": "saturday", "metric": "rain"},
    ),
    ("is it going to snow in Denver this weekend", {"place": "Denver", "when": "weekend", "metric": "snow"}),
    ("temperature in Berlin", {"place": "Berlin", "metric": "temperature"}),
    (
        "whats the temp in miami in fahrenheit",
        {"place": "Miami", "metric": "temperature", "unit": "fahrenheit"},
    ),
    ("How humid is it in Singapore?", {"place": "Singapore", "metric": "humidity"}),
    ("what time is sunset in Lisbon tonight", {"place": "Lisbon", "when": "tonight", "metric": "sunset"}),
    ("when does the sun rise in Oslo tomorrow?", {"place": "Oslo", "when": "tomorrow", "metric": "sunrise"}),
    ("uv index in Sydney today", {"place": "Sydney", "when": "today", "metric": "uv"}),
    ("air quality in Delhi", {"place": "Delhi", "metric": "air_quality"}),
    (
        "how windy will it be in Wellington on friday",
        {"place": "Wellington", "when": "friday", "metric": "wind"},
    ),
    ("is it cloudy in Seattle", {"place": "Seattle", "metric": "cloud"}),
    ("will it be sunny in Rome on saturday", {"place": "Rome", "when": "saturday", "metric": "sunshine"}),
    (
        "do i need a jacket in san francisco tonight",
        {"place": "San Francisco", "when": "tonight", "metric": "temperature"},
    ),
    (
        "how cold was it in Moscow yesterday",
        {"place": "Moscow", "when": "yesterday", "metric": "temperature"},
    ),
    (
        "average temperature in Berlin last week",
        {"place": "Berlin", "when": "last week", "metric": "temperature", "stat": "mean"},
    ),
    (
        "what was the standard deviation of the temperature in Madrid last month",
        {"place": "Madrid", "when": "last month", "metric": "temperature", "stat": "stdev"},
    ),
    (
        "median temperature in Oslo over the last 10 days",
        {"place": "Oslo", "when": "today-10d", "metric": "temperature", "stat": "median"},
    ),
    (
        "any temperature anomalies in Rome last month?",
        {"place": "Rome", "when": "last month", "metric": "temperature", "stat": "anomalies"},
    ),
    (
        "how volatile was the temperature in Chicago last month",
        {"place": "Chicago", "when": "last month", "metric": "temperature", "stat": "volatility"},
    ),
    (
        "what was the hottest day in Athens last week",
        {"place": "Athens", "when": "last week", "metric": "temperature", "stat": "max"},
    ),
    ("weather Hallstatt", {"place": "Hallstatt"}),
    (
        "average max temperature in Madrid last week",
        {"place": "Madrid", "when": "last week", "metric": "temperature_max", "stat": "mean"},
    ),
    (
        "highest temperature in Rome this week",
        {"place": "Rome", "when": "this week", "metric": "temperature", "stat": "max"},
    ),
    (
        "what's the low in Minneapolis tonight",
        {"place": "Minneapolis", "when": "tonight", "metric": "temperature", "stat": "min"},
    ),
    (
        "median of the daily highs in Cairo last month",
        {"place": "Cairo", "when": "last month", "metric": "temperature_max", "stat": "median"},
    ),
    (
        "how hot will it get tomorrow in Adelaide",
        {"place": "Adelaide", "when": "tomorrow", "metric": "temperature", "stat": "max"},
    ),
    (
        "highs and lows in Nashville tomorrow",
        {"place": "Nashville", "when": "tomorrow", "metric": "temperature"},
    ),
    ("is the uv high in Brisbane today", {"place": "Brisbane", "when": "today", "metric": "uv"}),
    (
        "Höchsttemperatur in Mailand gestern",
        {"place": "Milan", "when": "yesterday", "metric": "temperature", "stat": "max"},
    ),
    (
        "昨日の横浜の最低気温は？",
        {"place": "Yokohama", "when": "yesterday", "metric": "temperature", "stat": "min"},
    ),
    ("weather in Georgia, USA", {"place": "Georgia", "country": "United States"}),
    ("is it windy on Tenerife tomorrow", {"place": "Tenerife", "when": "tomorrow", "metric": "wind"}),
    ("how warm is it in LA right now", {"place": "Los Angeles", "when": "now", "metric": "temperature"}),
    ("temp in phoenix rn", {"place": "Phoenix", "when": "now", "metric": "temperature"}),
    ("Va-t-il neiger à Nice demain ?", {"place": "Nice", "when": "tomorrow", "metric": "snow"}),
    ("meteo Venezia domani", {"place": "Venice", "when": "tomorrow"}),
    ("nevica a Cortina d'Ampezzo?", {"place": "Cortina d'Ampezzo", "metric": "snow"}),
    ("Wie stark weht der Wind auf Sylt?", {"place": "Sylt", "metric": "wind"}),
    ("¿cuánto ha llovido en Lugo esta semana?", {"place": "Lugo", "when": "this week", "metric": "rain"}),
    ("prévisions météo pour Varsovie lundi", {"place": "Warsaw", "when": "monday"}),
    ("pm2.5 levels in Krakow today", {"place": "Krakow", "when": "today", "metric": "air_quality"}),
    (
        "strongest wind in Aberdeen this week",
        {"place": "Aberdeen", "when": "this week", "metric": "wind", "stat": "max"},
    ),
    ("纽约现在多少度", {"place": "New York", "when": "now", "metric": "temperature"}),
    ("forcast for berlin", {"place": "Berlin"}),
    ("temprature in delhi", {"place": "Delhi", "metric": "temperature"}),
    ("can I dry my laundry outside in Leeds today", {"place": "Leeds", "when": "today", "metric": "rain"}),
    ("how high is the humidity in Manila", {"place": "Manila", "metric": "humidity"}),
    ("Wann geht die Sonne heute in Berlin unter?", {"place": "Berlin", "when": "today", "metric": "sunset"}),
    (
        "minimum and maximum temperature in Vienna today",
        {"place": "Vienna", "when": "today", "metric": "temperature"},
    ),
    ("What's the weather?", {}),
    ("Do I need an umbrella today?", {"when": "today", "metric": "rain"}),
    ("weather in Killarney", {"place": "Killarney"}),
    ("is it nice in Nice", {"place": "Nice"}),
    ("wie wird das wetter morgen in München", {"place": "Munich", "when": "tomorrow"}),
    ("regnet es heute in Hamburg?", {"place": "Hamburg", "when": "today", "metric": "rain"}),
    ("¿Qué tiempo hace en Madrid?", {"place": "Madrid"}),
    ("va a llover mañana en Sevilla", {"place": "Seville", "when": "tomorrow", "metric": "rain"}),
    ("quel temps fera-t-il à Lyon demain ?", {"place": "Lyon", "when": "tomorrow"}),
    ("che tempo fa a Roma oggi?", {"place": "Rome", "when": "today"}),
    ("vai chover amanhã em Lisboa?", {"place": "Lisbon", "when": "tomorrow", "metric": "rain"}),
    ("東京の天気", {"place": "Tokyo"}),
    ("大阪の明日の天気を教えて", {"place": "Osaka", "when": "tomorrow"}),
    ("上海明天会下雨吗", {"place": "Shanghai", "when": "tomorrow", "metric": "rain"}),
    ("Какая погода будет завтра в Казани?", {"place": "Kazan", "when": "tomorrow"}),
)

TRAPS = (
    "who won the miami heat game last night",
    "what is the highest temperature a human can survive",
    "how cold does it have to be to snow",
    "highest building in chicago",
    "snow patrol songs",
    "what is the price of freedom",
    "score a deal",
    "will it rain on our parade",
    "how do thermometers work",
    "what does under the weather mean",
    "what is the temperature of the sun",
    "explain how weather forecasting works",
    "write a haiku about rain",
    "what causes rain",
    "difference between weather and climate",
    "what is the boiling temperature of water",
    "who sang Here Comes the Rain Again",
    "cloud computing weather analogy",
    "weather the storm meaning",
    "what is the weather underground album",
    "cool things to do in Tokyo this weekend",
    "hot dog places in Chicago",
    "hottest city in the world",
    "sales forecast for next week",
    "bitcoin price forecast for tomorrow",
    "what happened in the cold war in Berlin",
    "best weather app",
    "why is the sky blue",
    "cheap flights to Paris tomorrow",
    "news from London today",
    "what time is it in Tokyo",
    "who won in Denver last night",
    "how do I get rid of a cold",
    "what is Sunny Day Real Estate",
    "what should I pack for rainy weather",
    "weather-proof jackets",
    "where can I buy an umbrella in London",
    "when is the weather best in Paris",
    "what is the best weather in Paris",
    "mejor clima en Madrid",
    "sun in leo",
    "how do you say what's the weather in japanese",
    "水の温度は何度ですか",
    "为什么天空是蓝色的",
    "",
    "?",
)


def slots(**said: str) -> dict[str, str | None]:
    names = ("place", "region", "country", "when", "metric", "stat", "unit")
    return {**dict.fromkeys(names), "metric": "weather", **said}


@pytest.mark.parametrize(("text", "said"), QUESTIONS, ids=[text for text, _ in QUESTIONS])
def test_slots_are_read_exactly(text: str, said: dict[str, str]) -> None:
    found = understand(text, TODAY)
    assert found is not None
    assert found.strength >= CLAIM
    assert dict(found.question.slots()) == slots(**said)


@pytest.mark.parametrize("text", TRAPS)
def test_traps_are_left_alone(text: str) -> None:
    found = understand(text, TODAY)
    assert found is None or found.strength < CLAIM


@pytest.mark.parametrize(
    "text", ["explain how weather forecasting works", "what is the temperature of the sun"]
)
def test_a_hint_does_not_open_a_trap(text: str) -> None:
    assert understand(text, TODAY, hinted=True) is None


@pytest.mark.parametrize(
    "text",
    ["is the hall heated in winter", "may i have a bike fri to sun, allowed?", "is it open sat and sun"],
)
def test_a_hint_alone_asks_for_no_place(text: str) -> None:
    assert understand(text, TODAY, hinted=True) is None


def test_a_hint_stands_for_the_topic() -> None:
    text = "should I take the bike in Lyon tomorrow"
    assert understand(text, TODAY) is None
    found = understand(text, TODAY, hinted=True)
    assert found is not None
    assert (found.question.place, found.question.when) == ("Lyon", "tomorrow")


@pytest.mark.parametrize(
    "text",
    [
        "The weather in Paris is nice today.",
        "it is raining in London",
        "I love the weather in Paris",
        "the forecast for Berlin was wrong again",
        "It will rain in Lyon tomorrow",
    ],
)
def test_what_only_tells_is_never_certain(text: str) -> None:
    found = understand(text, TODAY)
    assert found is None or found.strength < CERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "will it snow in Zurich at Easter",
        "weather in Paris on saturday or sunday",
        "weather in Oslo in summer",
        "weather in Paris on 05/06",
        "weather in Paris on 18/05",
        "weather in Paris on 5.6.",
        "weather in Paris tomorrow 05/06",
        "weather in Paris at 5pm",
        "weather in Paris at noon",
        "weather in Paris on 32 may",
        "wetter in Berlin um 15 Uhr",
        "5月32日の東京の天気",
        "will it rain in Paris before friday",
        "weather in Paris until monday",
        "rain in Paris after tomorrow night",
        "how much did it rain in Paris since yesterday",
        "wetter in Berlin bis Freitag",
    ],
)
def test_a_time_that_cannot_be_read_is_told(text: str) -> None:
    found = understand(text, TODAY)
    assert found is not None
    assert found.time_unread
    assert found.strength < CERTAIN


def test_keys_hold_dates_and_never_words() -> None:
    tomorrow = understand("weather in Paris tomorrow", TODAY)
    dated = understand("weather in Paris on 23 November 2026", TODAY)
    assert tomorrow is not None
    assert dated is not None
    key = key_of(tomorrow.question, tomorrow.time, TODAY)
    assert key == "weather:paris||:weather:2026-11-23"
    assert key_of(dated.question, dated.time, TODAY) == key
    later = understand("weather in Paris tomorrow", date(2026, 11, 23))
    assert later is not None
    assert key_of(later.question, later.time, date(2026, 11, 23)) == "weather:paris||:weather:2026-11-24"


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
    keys = []
    for text in (one, other):
        found = understand(text, TODAY)
        assert found is not None
        keys.append(key_of(found.question, found.time, TODAY))
    assert None not in keys
    assert keys[0] != keys[1]


def test_celsius_is_the_default_also_when_said() -> None:
    found = [understand(text, TODAY) for text in ("temperature in Oslo", "temperature in Oslo in celsius")]
    keys = {key_of(one.question, one.time, TODAY) for one in found if one is not None}
    assert len(keys) == 1


FOLLOW_UPS = (
    ("weather in Paris tomorrow", "and London?", {"place": "London", "when": "tomorrow"}),
    ("weather in Paris", "and tomorrow?", {"place": "Paris", "when": "tomorrow"}),
    ("weather in Paris", "what about in Rome on friday", {"place": "Rome", "when": "friday"}),
    (
        "temperature in Oslo",
        "in fahrenheit?",
        {"place": "Oslo", "metric": "temperature", "unit": "fahrenheit"},
    ),
    ("weather in Paris, Texas", "and London?", {"place": "London"}),
    ("¿va a llover hoy en Madrid?", "¿y mañana?", {"place": "Madrid", "when": "tomorrow", "metric": "rain"}),
    ("wie ist das Wetter in Berlin?", "und morgen?", {"place": "Berlin", "when": "tomorrow"}),
    ("quel temps fait-il à Lyon ?", "et demain ?", {"place": "Lyon", "when": "tomorrow"}),
    ("What's the weather?", "London", {"place": "London"}),
    ("東京の天気", "明日は？", {"place": "Tokyo", "when": "tomorrow"}),
    (
        "average temperature in Berlin last week",
        "and the week before?",
        None,
    ),
    ("weather in Rome", "will it rain?", {"place": "Rome", "metric": "rain"}),
    ("temperature in Rome tomorrow", "and the weather?", {"place": "Rome", "when": "tomorrow"}),
    ("weather in Rome", "and Nice?", {"place": "Nice"}),
    ("weather in Rome", "nice", None),
    ("weather in Rome", "what's the weather here?", None),
    ("weather in Rome on Christmas", "and Milan?", None),
    ("weather in Paris", "why?", None),
    ("weather in Paris", "tell me a joke about London", None),
    ("who wrote Hamlet?", "and tomorrow?", None),
    ("price of btc", "and London?", None),
    ("weather in Paris", "and ETH?", None),
)


@pytest.mark.parametrize(("earlier", "fragment", "said"), FOLLOW_UPS)
def test_follow_ups(earlier: str, fragment: str, said: dict[str, str] | None) -> None:
    text = follow_up(fragment, earlier, TODAY)
    if said is None:
        assert text is None
        return
    assert text is not None
    found = understand(text, TODAY)
    assert found is not None
    assert found.strength >= CERTAIN
    assert dict(found.question.slots()) == slots(**said)


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


@settings(max_examples=150, deadline=None)
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
    found = understand(text, TODAY)
    assert found is not None
    assert found.question == question, text
    assert found.strength >= CERTAIN, text
    assert key_of(found.question, found.time, TODAY) == key_of(question, meant, TODAY)


def test_foreign_slots_are_no_question() -> None:
    good = WeatherQuestion("Paris").slots()
    assert question_of(good) == WeatherQuestion("Paris")
    for name, value in (
        ("metric", "no_such"),
        ("metric", None),
        ("stat", "sum"),
        ("unit", "rankine"),
        ("unit", "celsius+parsec"),
        ("place", 7),
        ("place", "x" * 200),
        ("place", "a\nb"),
    ):
        assert question_of({**good, name: value}) is None


@pytest.mark.parametrize(
    "text", ["weather " * 8_000, "in " * 20_000, "rain in " + "a" * 60_000, "雨" * 20_000]
)
def test_long_texts_are_bounded(text: str) -> None:
    understand(text, TODAY)
    follow_up(text, "weather in Paris", TODAY)
    follow_up("and tomorrow?", text, TODAY)


@pytest.mark.parametrize(
    "text",
    [
        "weather in Paris and London",
        "will it rain in Oslo or Bergen tomorrow",
        "what is the high in Paris today and will it rain",
        "it rained all day in London yesterday",
        "hier il a plu à Paris",
    ],
)
def test_two_questions_and_statements_are_not_certain(text: str) -> None:
    found = understand(text, TODAY)
    assert found is None or found.strength < CERTAIN


@pytest.mark.parametrize(
    ("earlier", "fragment", "metric", "stat"),
    [
        ("what's the high in Paris today?", "and the low?", "temperature", "min"),
        ("average max temperature in Madrid last week", "and the minimum?", "temperature_min", "mean"),
        ("average temperature in Madrid last week", "and the maximum?", "temperature", "max"),
        ("what's the high in Paris tomorrow", "will it rain?", "rain", None),
        ("max temp in Rome this week", "and the average?", "temperature_max", "mean"),
        ("temperature in Rome", "what about the uv index?", "uv", None),
    ],
)
def test_a_follow_up_changes_between_highs_lows_and_other_figures(
    earlier: str, fragment: str, metric: str, stat: str | None
) -> None:
    text = follow_up(fragment, earlier, TODAY)
    assert text is not None
    found = understand(text, TODAY)
    assert found is not None
    assert (found.question.figure, found.question.stat) == (metric, stat)


def test_a_continent_or_a_code_is_no_town() -> None:
    for text in ("weather in Europe", "weather JFK tomorrow"):
        found = understand(text, TODAY)
        assert found is not None
        assert found.question.place is None


@pytest.mark.parametrize(
    ("text", "place", "region", "country"),
    [
        ("weather in Hallstatt, Austria", "Hallstatt", None, "Austria"),
        ("weather in hallstatt austria", "Hallstatt", None, "Austria"),
        ("temperature in Hallstatt, Upper Austria, Austria", "Hallstatt", None, "Austria"),
        ("Hallstatt, Austria weather tomorrow", "Hallstatt", None, "Austria"),
        ("Paris, Kentucky weather", "Paris", "Kentucky", None),
        ("weather in Paris, Ontario", "Paris", "Ontario", None),
        ("weather in Berlin, New Hampshire", "Berlin", "New Hampshire", None),
        ("weather in Zweidorf, Saxony", "Zweidorf", "Saxony", None),
        ("weather in Smallville, Texas", "Smallville", "Texas", None),
        ("weather in London but in Ontario", "London", "Ontario", None),
        ("weather in Paris in Kentucky", "Paris", "Kentucky", None),
        ("weather in London, ON", "London", "Ontario", None),
        ("weather in Banff, Alberta", "Banff", "Alberta", None),
        ("clima en Hallstatt, Austria", "Hallstatt", None, "Austria"),
        ("weather in southern Germany", "Germany", None, None),
        ("weather in rural Kenya", "Kenya", None, None),
        ("will it rain tomorrow, Paris?", "Paris", None, None),
        ("weather in beautiful Paris, France", "Paris", None, "France"),
    ],
)
def test_a_region_said_after_a_name_is_never_taken_for_it_nor_dropped(
    text: str, place: str, region: str | None, country: str | None
) -> None:
    found = understand(text, TODAY)
    assert found is not None
    question = found.question
    assert (question.place, question.region, question.country) == (place, region, country)
    key = key_of(question, found.time, TODAY)
    where = "|".join(part.casefold() if part else "" for part in (place, region, country))
    assert key is not None
    assert key.startswith(f"weather:{where}:")
    again = phrase(question, found.time)
    assert again is not None
    back = understand(again, TODAY)
    assert back is not None
    assert back.question == question


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("weather in berlin and london tomorrow", ("Berlin", "London")),
        ("temperature in berlin and munich yesterday", ("Berlin", "Munich")),
        ("weather in Paris or London", ("Paris", "London")),
        ("weather in berlin & london", ("Berlin", "London")),
        ("weather in Paris and Zweidorf", ("Paris", "Zweidorf")),
        ("weather in Hallstatt, Austria and Berlin", ("Hallstatt", "Berlin")),
        ("is it warmer in Tokyo than in London", ("Tokyo", "London")),
        ("how does the weather in Paris compare to Rome", ("Paris", "Rome")),
        ("weather in berlin today and london tomorrow", ("Berlin", "London")),
        ("weather in berlin today and tomorrow", ("today", "tomorrow")),
        ("weather in Paris on saturday or sunday", ("saturday", "sunday")),
        ("東京と大阪の天気", ("Tokyo", "Osaka")),
        ("погода в Москве и Казани", ("Moscow", "Kazan")),
    ],
)
def test_two_places_or_days_are_told_and_never_certain(text: str, both: tuple[str, str]) -> None:
    found = understand(text, TODAY)
    assert found is not None
    assert CLAIM <= found.strength < CERTAIN
    assert found.both == both
    assert follow_up("and in fahrenheit?", text, TODAY) is None


@pytest.mark.parametrize(
    "text",
    [
        "weather in Trinidad and Tobago",
        "is it nice and warm in Rome",
        "do I need an umbrella or a coat in Paris tomorrow",
        "weather in Paris the day after tomorrow",
        "wetter in Berlin übermorgen",
        "weather in Paris today right now",
        "weather in Beverly Hills 90210",
        "weather in Paris next 5 days",
        "will it snow 20 cm in Oslo",
        "will it be cold and rainy in Paris for the Rome trip",
    ],
)
def test_one_place_and_day_are_not_taken_for_two(text: str) -> None:
    found = understand(text, TODAY)
    assert found is not None
    assert found.both is None
    assert not found.time_unread


@pytest.mark.parametrize("fragment", ["what about gold", "and orange?", "and Gold?"])
def test_a_follow_up_with_another_word_is_no_town(fragment: str) -> None:
    assert follow_up(fragment, "weather in Paris tomorrow", TODAY) is None


@pytest.mark.parametrize(
    ("fragment", "place"),
    [
        ("what about in orange", "Orange"),
        ("and nyc?", "New York"),
        ("and köln?", "Cologne"),
        ("und Mailand?", "Milan"),
        ("and Rom?", "Rome"),
        ("and germany?", "Germany"),
    ],
)
def test_a_follow_up_with_a_town_by_a_name_of_its_own(fragment: str, place: str) -> None:
    text = follow_up(fragment, "weather in Paris tomorrow", TODAY)
    assert text is not None
    found = understand(text, TODAY)
    assert found is not None
    assert found.question.place == place
