"""Wind with its direction and gusts, units that are asked for, coordinates and states as places."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from typing import TypeAlias

import aiohttp
import pytest

from adapters.weather import Weather
from adapters.weather.asked import phrase, question_of
from adapters.weather.questions import follow_up, understand
from node.core.model import Unclear
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import NOW, FixedDay
from tests.each import each
from tests.simulators.open_meteo import OpenMeteoStandIn
from tests.unit.adapters.asking import Asking
from tests.unit.adapters.tables import rows

TODAY = NOW.date()
Forecasts: TypeAlias = Asking[Weather, FixedDay]


@pytest.fixture
async def source() -> AsyncIterator[OpenMeteoStandIn]:
    async with OpenMeteoStandIn(NOW) as stand_in:
        yield stand_in


@pytest.fixture
def weather(source: OpenMeteoStandIn, http: aiohttp.ClientSession) -> Forecasts:
    at = AdapterSettings(base_url=source.url, timeout_s=4.0, per_minute=1_000)
    return Asking(Weather(at, at, at, http, FixedDay()), FixedDay())


@each(("text", "metric", "unit"), rows("weather", "units"))
def test_units_are_read(text: str, metric: str, unit: str | None) -> None:
    found = understand(text, TODAY)
    assert found is not None, text
    assert (found.question.metric, found.question.unit) == (metric, unit)
    words = phrase(found.question, found.time)
    again = None if words is None else understand(words, TODAY)
    assert again is not None
    assert again.question == found.question
    assert question_of(found.question.slots()) == found.question


@each(
    "text",
    """wind of change lyrics|gone with the wind|what causes wind|how do wind turbines work
    how fast is 20 knots
    wind energy in germany|wind river movie|how is wind measured|convert 20 m/s to knots|3.14, 2.71
    the wind in the willows summary|48.14 + 11.58|what is at 48.14, 11.58""".replace("\n", "|").split("|"),
)
def test_what_only_mentions_wind_or_numbers_is_left_alone(text: str) -> None:
    assert understand(text.strip(), TODAY) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "how windy is it in Paris in knots",
            "is 7.8 knots from the west (265°), with gusts up to 16.7 knots",
        ),
        ("wind tomorrow in berlin mph", "reach 13 mph, mostly from the north-east (41°)"),
        ("wind in tokyo m/s", "is 4 m/s from"),
        ("wind in munich in beaufort", "force 3 Beaufort (14.4 km/h)"),
        ("wind in munich", "is 14.4 km/h from"),
        # Fahrenheit brings miles; what is said besides wins.
        ("weather in paris in fahrenheit and km/h", "wind of 14.3 km/h"),
        ("temperature in berlin in kelvin", "285.5 K"),
        ("rain in berlin tomorrow in inches", "about 0.08 in expected"),
        ("weather at 48.14, 11.58", "in the area of 48.14° N, 11.58° E (near Munich)"),
        ("weather at 52.52, 13.41", "(near Berlin)"),
        ("weather in georgia (the state)", "Georgia, United States (at Atlanta)"),
        ("weather in washington state", "Washington, United States (at Seattle)"),
        ("how warm is it in Texas", "Texas, United States (at Houston)"),
        ("weather in Georgia", "There is also Georgia, United States"),
    ],
)
async def test_units_coordinates_and_states_are_said(weather: Forecasts, text: str, part: str) -> None:
    assert part in await weather.said(text)


def test_another_unit_goes_on() -> None:
    words = follow_up("and in mph?", "wind in oslo in knots", TODAY)
    found = None if words is None else understand(words, TODAY)
    assert found is not None
    assert (found.question.place, found.question.unit) == ("Oslo", "mph")


@each(("text", "place"), rows("weather", "coordinates and states"))
def test_coordinates_and_states_are_places(text: str, place: str) -> None:
    found = understand(text, TODAY)
    assert found is not None, text
    assert found.question.place == place


async def test_coordinates_are_asked_for_as_they_are(weather: Forecasts, source: OpenMeteoStandIn) -> None:
    await weather.found("weather at 48.14, 11.58")
    assert source.count("/v1/search") == 0
    assert isinstance(await weather.outcome("weather at 48.14, 200.5"), Unclear)


def test_a_date_is_no_latitude() -> None:
    assert understand("weather in paris on 12.05.2026", date(2026, 5, 10)) is not None
