"""Places in texts: canonical names, qualifiers, namesakes, everyday words that are towns too."""

from __future__ import annotations

import sys
import time
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.grammar import place_facts, place_scripts, places
from adapters.grammar.gazetteer import gazetteer
from adapters.grammar.place_names import AREAS, EXONYMS, SIMPLIFIED
from node.language.reading import read


def found(text: str, *, unknown: bool = False) -> places.Said | None:
    return places.find(read(text).words, unknown=unknown)[0]


@pytest.mark.parametrize(
    ("text", "name", "zone"),
    [
        ("weather in paris", "Paris", "Europe/Paris"),
        ("what's the weather in são paulo", "Sao Paulo", "America/Sao_Paulo"),
        ("wetter in münchen", "Munich", "Europe/Berlin"),
        ("wetter frankfurt", "Frankfurt", "Europe/Berlin"),
        ("el tiempo en londres mañana", "London", "Europe/London"),
        ("météo à genève", "Geneva", "Europe/Zurich"),
        ("che tempo fa a firenze", "Florence", "Europe/Rome"),
        ("temperatura en nueva york", "New York", "America/New_York"),
        ("weather of new york city", "New York", "America/New_York"),
        ("l'aquila weather", "L'Aquila", "Europe/Rome"),
        ("xi'an weather", "Xi'an", "Asia/Shanghai"),
        ("aix-en-provence weather", "Aix-en-Provence", "Europe/Paris"),
        ("tokyo's weather", "Tokyo", "Asia/Tokyo"),
        ("time in la", "Los Angeles", "America/Los_Angeles"),
        ("weather in sf today", "San Francisco", "America/Los_Angeles"),
        ("weather washington dc", "Washington, D.C.", "America/New_York"),
        ("weather in saint petersburg", "Saint Petersburg", "Europe/Moscow"),
        ("st. louis weather", "St. Louis", "America/Chicago"),
        ("weather in bombay", "Mumbai", "Asia/Kolkata"),
        ("time in japan", "Japan", "Asia/Tokyo"),
        ("hora en españa", "Spain", "Europe/Madrid"),
        ("time in the us", "United States", "America/New_York"),
        ("uk time", "United Kingdom", "Europe/London"),
        ("time in uae", "United Arab Emirates", "Asia/Dubai"),
        ("what time is it in the netherlands", "Netherlands", "Europe/Amsterdam"),
        ("time in hawaii", "Hawaii", "Pacific/Honolulu"),
        ("time in california", "California", "America/Los_Angeles"),
        ("Lyon", "Lyon", "Europe/Paris"),
        ("weather in the morning in lyon", "Lyon", "Europe/Paris"),
        ("weather in valencia", "Valencia", "Europe/Madrid"),
        ("weather in pariss", "Paris", "Europe/Paris"),
        ("weather in lonodn tomorrow", "London", "Europe/London"),
        ("weather in san fransisco", "San Francisco", "America/Los_Angeles"),
    ],
)
def test_finds_the_place_by_its_canonical_name(text: str, name: str, zone: str) -> None:
    said = found(text)
    assert said is not None
    assert said.place is not None
    assert (said.name, said.place.zone) == (name, zone)
    assert said.region is None
    assert said.country is None


@pytest.mark.parametrize(
    ("text", "name", "region", "country"),
    [
        ("weather in Paris, Texas", "Paris", "Texas", None),
        ("weather portland or", "Portland", "Oregon", None),
        ("weather in portland maine", "Portland", "Maine", None),
        ("cambridge ma weather", "Cambridge", "Massachusetts", None),
        ("cambridge uk weather", "Cambridge", None, "United Kingdom"),
        ("weather in London, Ontario, Canada", "London", "Ontario", "Canada"),
        ("how hot is it in phoenix az right now", "Phoenix", "Arizona", None),
        ("weather in san jose costa rica", "San Jose", None, "Costa Rica"),
        ("weather in atlanta georgia", "Atlanta", "Georgia", None),
        ("weather in mobile alabama", "Mobile", "Alabama", None),
        ("weather in st petersburg florida", "St. Petersburg", "Florida", None),
    ],
)
def test_a_region_or_country_beside_the_name_narrows_it(
    text: str, name: str, region: str | None, country: str | None
) -> None:
    said = found(text)
    assert said is not None
    assert said.place is not None
    assert (said.name, said.region, said.country) == (name, region, country)


@pytest.mark.parametrize(
    "text",
    [
        "nice weather today",
        "is it nice outside",
        "i am reading a book",
        "mobile weather",
        "what should i wear today",
        "who won the game",
        "what is the most popular same thing",
        "is monday a holiday",
        "will it rain in the morning",
        "how cold is it in general",
        "weather near me",
        "weather in may",
        "at home in bed",
        "do i need a jacket",
        "que tiempo hace hoy",
        "wie wird das wetter morgen",
        "quel temps fait-il demain",
    ],
)
def test_everyday_words_are_no_places(text: str) -> None:
    assert found(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [("weather in nice", "Nice"), ("will it rain in reading tomorrow", "Reading"), ("time in bath", "Bath")],
)
def test_everyday_words_are_places_after_a_preposition(text: str, name: str) -> None:
    said = found(text)
    assert said is not None
    assert said.name == name


def test_the_words_without_the_place_and_its_preposition_are_returned() -> None:
    said, rest = places.find(read("is it nice in nice today").words)
    assert said is not None
    assert rest == ("is", "it", "nice", "today")


def test_rivals_of_comparable_fame_are_named() -> None:
    said = found("weather in springfield")
    assert said is not None
    assert said.place is not None
    assert said.others
    assert all(other.name == "Springfield" for other in said.others)
    paris = found("weather in paris")
    assert paris is not None
    assert paris.others == ()


def test_an_unknown_name_is_returned_only_when_asked_for() -> None:
    assert found("is it snowing in qwzrtown") is None
    said = found("is it snowing in qwzrtown", unknown=True)
    assert said == places.Said("Qwzrtown")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("東京の天気", "Tokyo"),
        ("今日のパリの天気は", "Paris"),
        ("明日札幌は雪ですか", "Sapporo"),
        ("北京明天天气", "Beijing"),
        ("上海现在几点", "Shanghai"),
        ("日本は何時", "Japan"),
        ("погода в Москве завтра", "Moscow"),
        ("сколько времени в Нью-Йорке", "New York"),
        ("погода в Санкт-Петербурге", "Saint Petersburg"),
        ("погода в Нижнем Новгороде", "Nizhny Novgorod"),
        ("какая погода в Париже", "Paris"),
        ("погода в Риме", "Rome"),
        ("время в Японии", "Japan"),
        ("который час в Китае", "China"),
        ("서울의 날씨", "Seoul"),
    ],
)
def test_other_scripts(text: str, name: str) -> None:
    said, rest = place_scripts.find_script(read(text).plain)
    assert said is not None
    assert said.name == name
    assert len(rest) < len(text)


@pytest.mark.parametrize(
    "text", ["курс доллара к рублю", "パリーグの結果", "今天天气怎么样", "какая сегодня погода"]
)
def test_other_scripts_without_a_place(text: str) -> None:
    assert place_scripts.find_script(read(text).plain) == (None, read(text).plain)


def test_two_places_are_mentioned_in_order() -> None:
    named = places.mentions(read("time difference between new york and tokyo").words)
    assert [mention.said.name for mention in named] == ["New York", "Tokyo"]
    named_in_script = place_scripts.script_mentions("伦敦和东京的时差")
    assert [mention.said.name for mention in named_in_script] == ["London", "Tokyo"]


def test_what_is_kept_is_small() -> None:
    data = gazetteer()
    kept = 0
    seen: set[int] = set()
    for column in vars(data).values():
        kept += sys.getsizeof(column)
        if isinstance(column, array):
            continue
        for item in (*column, *(column.values() if isinstance(column, dict) else ())):
            if id(item) not in seen:
                seen.add(id(item))
                kept += sys.getsizeof(item)
    assert 5e6 < kept < 40e6


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    reading = read(text)
    said, rest = places.find(reading.words, unknown=True)
    assert said is not None or rest == reading.words
    said_in_script, left = place_scripts.find_script(reading.plain)
    assert said_in_script is not None or left == reading.plain


def test_a_long_text_takes_bounded_work() -> None:
    words = read("in paris and " * 6_000).words
    started = time.process_time()
    places.find(words)
    place_scripts.find_script("москве " * 9_000)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Rom", "Rome"),
        ("Mailand", "Milan"),
        ("Florencia", "Florence"),
        ("Venise", "Venice"),
        ("Hannover", "Hanover"),
        ("La Meca", "Mecca"),
        ("Haia", "The Hague"),
        ("Ciudad de Panamá", "Panama City"),
        ("Oulan-Bator", "Ulaanbaatar"),
        ("Teneriffa", "Tenerife"),
        ("Majorque", "Mallorca"),
        ("the Lake District", "Lake District"),
        ("Washington state", "Washington"),
    ],
)
def test_names_of_other_languages_and_areas_are_known(said: str, name: str) -> None:
    place = found(f"weather in {said}")
    assert place is not None
    assert place.name == name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("纽约天气", "New York"),
        ("紐約天氣", "New York"),
        ("温哥华今天", "Vancouver"),
        ("威尼斯天气", "Venice"),
        ("四川天气", "Sichuan"),
        ("ジュネーブの天気", "Geneva"),
        ("погода в ростове-на-дону", "Rostov-on-Don"),
        ("погода в венеции", "Venice"),
    ],
)
def test_names_in_other_scripts_are_known_in_both_chinese_forms(said: str, name: str) -> None:
    place, _ = place_scripts.find_script(read(said).plain)
    assert place is not None
    assert place.name == name


def test_a_region_takes_its_country_and_is_told_from_a_country() -> None:
    said = found("weather in georgia, usa")
    assert said is not None
    assert (said.name, said.country) == ("Georgia", "United States")
    alone = found("weather in georgia")
    assert alone is not None
    assert alone.place is not None
    assert alone.place.country_code == "GE"


def test_every_exonym_and_area_names_a_town_of_the_gazetteer() -> None:
    for line in EXONYMS.strip().splitlines():
        name, country, *others = line.split("|")
        for other in others:
            if other.isascii():
                said = found(f"weather in {other}")
                assert said is not None, line
                assert said.place is not None, line
                assert said.place.country_code == country, line
                assert found(f"weather in {name}") is not None, line
    for line in AREAS.strip().splitlines():
        country, name, _, *_ = line.split("|")
        said = found(f"weather in {name}")
        assert said is not None, line
        assert said.name == name, line
        assert said.place is not None, line
        assert said.place.country_code == country, line
        assert place_facts.seat_of(said.place)[0], line


def test_simplified_characters_pair_with_traditional_ones() -> None:
    traditional, simplified = SIMPLIFIED
    assert len(traditional) == len(simplified)
    assert not set(traditional) & set(simplified)


@pytest.mark.parametrize(
    ("text", "name", "region", "country"),
    [
        ("in paris kentucky", "Paris", "Kentucky", None),
        ("in berlin new hampshire", "Berlin", "New Hampshire", None),
        ("in munich austria", "Munich", None, "Austria"),
        ("in paris but in ontario", "Paris", "Ontario", None),
    ],
)
def test_a_region_without_a_known_town_of_the_name_leaves_the_place_open(
    text: str, name: str, region: str | None, country: str | None
) -> None:
    assert found(text) == places.Said(name, region, country)


def test_a_preposition_between_finds_the_town_of_that_region() -> None:
    said = found("in london but in ontario")
    assert said is not None
    assert said.place is not None
    assert (said.name, said.region, said.place.country_code) == ("London", "Ontario", "CA")
