"""The words of each adapter lie in one file a language, and none of their patterns is long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from importlib.resources import files

import pytest

from adapters.currency import questions as currency
from adapters.local_time import questions as local_time
from adapters.weather.questions import understand
from node.core.model import CLAIM
from node.language import tables

PATTERN_CHARS_MAX = 200
ADAPTERS = ("adapters.currency", "adapters.local_time", "adapters.weather")


def entries(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.split()
    elif isinstance(value, dict):
        for inner in value.values():
            yield from entries(inner)
    elif isinstance(value, list):
        yield from value


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_file_is_of_a_known_language(adapter: str) -> None:
    there = {file.name for file in files(adapter).joinpath("languages").iterdir()}
    assert there == {f"{code}.toml" for code in tables.by_language("languages", adapter)}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_no_pattern_is_long(adapter: str) -> None:
    for code, table in tables.by_language("languages", adapter).items():
        assert max(map(len, entries(table))) <= PATTERN_CHARS_MAX, code


@pytest.mark.parametrize(
    ("text", "place", "when", "metric"),
    [
        ("Hoe warm wordt het morgen in Rotterdam?", "Rotterdam", "tomorrow", "temperature"),
        ("regent het nu in Gent", "Ghent", "now", "rain"),
        ("Wat voor weer was het drie dagen geleden in Parijs?", "Paris", "today-3d", "weather"),
        ("hoe laat gaat de zon onder in Groningen", "Groningen", None, "sunset"),
    ],
)
def test_dutch_weather(text: str, place: str, when: str | None, metric: str) -> None:
    found = understand(text, date(2026, 11, 23))
    assert found is not None
    assert found.strength >= CLAIM
    assert (found.question.place, found.question.when, found.question.metric) == (place, when, metric)


@pytest.mark.parametrize(
    ("text", "place", "other"),
    [
        ("hoe laat is het nu in Tokio", "Tokyo", None),
        ("tijdsverschil tussen Rotterdam en New York", "Rotterdam", "New York"),
    ],
)
def test_dutch_time(text: str, place: str, other: str | None) -> None:
    found = local_time.read_question(text, date(2026, 11, 23))
    assert found is not None
    assert (found.question.place, found.question.other) == (place, other)


@pytest.mark.parametrize(
    ("text", "amount", "base", "quote"),
    [
        ("hoeveel euro is vijfentwintig dollar", "25", "usd", "eur"),
        ("reken 100 Britse pond om naar euro", "100", "gbp", "eur"),
        ("wisselkoers van de euro in yen", None, "eur", "jpy"),
    ],
)
def test_dutch_money(text: str, amount: str | None, base: str, quote: str) -> None:
    found = currency.read_question(text, date(2026, 11, 23))
    assert found is not None
    assert (found.question.amount, found.question.base, found.question.quote) == (amount, base, quote)
