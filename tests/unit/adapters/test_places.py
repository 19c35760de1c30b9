"""Places in texts: canonical names, qualifiers, namesakes, everyday words that are towns too."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.grammar import place_facts, place_scripts, places
from adapters.grammar.place_names import AREAS, EXONYMS, SIMPLIFIED
from bench import gazetteer_file
from node.language.reading import read
from tests.each import each
from tests.unit.adapters.tables import rows, texts


def found(text: str) -> places.Said:
    said = places.find(read(text).words)[0]
    assert said is not None, text
    return said


def place_of(text: str) -> places.Place:
    place = found(text).place
    assert place is not None, text
    return place


@each(("text", "name", "zone"), rows("places", "places"))
def test_finds_the_place_by_its_canonical_name(text: str, name: str, zone: str) -> None:
    said = found(text)
    assert (said.name, place_of(text).zone) == (name, zone)
    assert said.region is None
    assert said.country is None


@pytest.mark.parametrize(("text", "name", "region", "country"), rows("places", "regions"))
def test_a_region_or_country_beside_the_name_narrows_it(
    text: str, name: str, region: str | None, country: str | None
) -> None:
    said = found(text)
    assert said.place is not None
    assert (said.name, said.region, said.country) == (name, region, country)


@each("text", texts("places", "everyday words"))
def test_everyday_words_are_no_places(text: str) -> None:
    assert places.find(read(text).words)[0] is None


@each(("text", "name"), rows("places", "names"))
def test_everyday_words_after_a_preposition_and_names_of_other_languages_are_places(
    text: str, name: str
) -> None:
    assert found(text).name == name


def test_the_words_without_the_place_and_its_preposition_are_returned() -> None:
    said, rest = places.find(read("is it nice in nice today").words)
    assert said is not None
    assert rest == ("is", "it", "nice", "today")


def test_rivals_of_comparable_fame_are_named() -> None:
    said = found("weather in springfield")
    assert said.place is not None
    assert {other.name for other in said.others} == {"Springfield"}
    assert found("weather in paris").others == ()


def test_an_unknown_name_is_returned_only_when_asked_for() -> None:
    words = read("is it snowing in qwzrtown").words
    assert places.find(words)[0] is None
    assert places.find(words, unknown=True)[0] == places.Said("Qwzrtown")


@each(("text", "name"), rows("places", "scripts"))
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


@pytest.mark.slow
def test_the_gazetteer_is_what_its_program_makes() -> None:
    assert gazetteer_file.OUT.read_bytes() == gazetteer_file.made()


@settings(max_examples=60)
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


def test_a_region_takes_its_country_and_is_told_from_a_country() -> None:
    said = found("weather in georgia, usa")
    assert (said.name, said.country) == ("Georgia", "United States")
    assert place_of("weather in georgia").country_code == "GE"


@each("line", EXONYMS.strip().splitlines())
def test_every_exonym_names_a_town_of_the_gazetteer(line: str) -> None:
    name, country, *others = line.split("|")
    found(f"weather in {name}")
    for other in others:
        assert not other.isascii() or place_of(f"weather in {other}").country_code == country, other


@each("line", AREAS.strip().splitlines())
def test_every_area_has_a_town_of_the_gazetteer(line: str) -> None:
    country, name, _, *_ = line.split("|")
    place = place_of(f"weather in {name}")
    assert found(f"weather in {name}").name == name
    assert place.country_code == country
    assert place_facts.seat_of(place)[0]


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
    assert said.place is not None
    assert (said.name, said.region, said.place.country_code) == ("London", "Ontario", "CA")
