"""Wind with its direction and gusts, units that are asked for, coordinates and states as places."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime

import aiohttp
import pytest

from adapters.weather import Weather
from adapters.weather.asked import phrase, question_of
from adapters.weather.questions import follow_up, understand
from node.core.clock import SystemClock
from node.core.model import Caller, Found, Outcome, Query, Unclear
from node.core.settings import AdapterSettings
from tests.simulators.open_meteo import OpenMeteoStandIn

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
TODAY = NOW.date()


class _Day(SystemClock):
    def now(self) -> datetime:
        return NOW


@pytest.fixture
async def source() -> AsyncIterator[OpenMeteoStandIn]:
    async with OpenMeteoStandIn(NOW) as stand_in:
        yield stand_in


@pytest.fixture
async def weather(source: OpenMeteoStandIn) -> AsyncIterator[Weather]:
    at = AdapterSettings(base_url=source.url, timeout_s=4.0, per_minute=1_000)
    async with aiohttp.ClientSession(auto_decompress=False) as http:
        yield Weather(at, at, at, http, _Day())


async def ask(weather: Weather, text: str) -> Outcome:
    recognition = weather.recognise(text, NOW)
    assert recognition is not None, text
    query = Query("id", text, text, Caller(), NOW, SystemClock().monotonic() + 30)
    return await weather.ask(recognition, query)


async def said(weather: Weather, text: str) -> str:
    outcome = await ask(weather, text)
    assert isinstance(outcome, Found), outcome
    return outcome.evidence.text


@pytest.mark.parametrize(
    ("text", "metric", "unit"),
    [
        ("which direction is the wind blowing in Boston", "wind", None),
        ("which way is the wind blowing in Boston", "wind", None),
        ("aus welcher richtung weht der wind in berlin", "wind", None),
        ("de dónde sopla el viento en Madrid", "wind", None),
        ("d'où vient le vent à Paris", "wind", None),
        ("how windy is it in Oslo in knots", "wind", "kn"),
        ("wind tomorrow in Chicago mph", "wind", "mph"),
        ("wind paris kts", "wind", "kn"),
        ("wind in tokyo m/s", "wind", "ms"),
        ("how fast is the wind in paris m/s", "wind", "ms"),
        ("gusts in paris tomorrow km/h", "wind", "kmh"),
        ("wie windig ist es in berlin in knoten", "wind", "kn"),
        ("vent à paris demain en noeuds", "wind", "kn"),
        ("windgeschwindigkeit berlin", "wind", None),
        ("windböen münchen morgen", "wind", None),
        ("wind in munich in beaufort", "wind", "bft"),
        ("temp berlin f", "temperature", "fahrenheit"),
        ("temperature in berlin in kelvin", "temperature", "kelvin"),
        ("weather in paris imperial units", "weather", "fahrenheit"),
        ("how much will it rain in munich tomorrow inches", "rain", "inch"),
        ("weather new york in celsius and km/h", "weather", "celsius+kmh"),
        ("weather in washington d c", "weather", None),
    ],
)
def test_units_are_read(text: str, metric: str, unit: str | None) -> None:
    found = understand(text, TODAY)
    assert found is not None, text
    assert (found.question.metric, found.question.unit) == (metric, unit)
    words = phrase(found.question, found.time)
    again = None if words is None else understand(words, TODAY)
    assert again is not None
    assert again.question == found.question
    assert question_of(found.question.slots()) == found.question


@pytest.mark.parametrize(
    "text",
    """wind of change lyrics|gone with the wind|what causes wind|how do wind turbines work
    how fast is 20 knots
    wind energy in germany|wind river movie|how is wind measured|convert 20 m/s to knots|3.14, 2.71
    the wind in the willows summary|48.14 + 11.58|what is at 48.14, 11.58""".replace("\n", "|").split("|"),
)
def test_what_only_mentions_wind_or_numbers_is_left_alone(text: str) -> None:
    assert understand(text.strip(), TODAY) is None


async def test_wind_is_said_in_the_unit_asked_for(weather: Weather) -> None:
    told = await said(weather, "how windy is it in Paris in knots")
    assert "is 7.8 knots from the west (265°), with gusts up to 16.7 knots" in told
    tomorrow = await said(weather, "wind tomorrow in berlin mph")
    assert "reach 13 mph, mostly from the north-east (41°)" in tomorrow
    assert "is 4 m/s from" in await said(weather, "wind in tokyo m/s")
    assert "force 3 Beaufort (14.4 km/h)" in await said(weather, "wind in munich in beaufort")
    assert "is 14.4 km/h from" in await said(weather, "wind in munich")
    # Fahrenheit brings miles; what is said besides wins.
    assert "wind of 14.3 km/h" in await said(weather, "weather in paris in fahrenheit and km/h")
    assert "285.5 K" in await said(weather, "temperature in berlin in kelvin")
    assert "about 0.08 in expected" in await said(weather, "rain in berlin tomorrow in inches")


def test_another_unit_goes_on() -> None:
    words = follow_up("and in mph?", "wind in oslo in knots", TODAY)
    found = None if words is None else understand(words, TODAY)
    assert found is not None
    assert (found.question.place, found.question.unit) == ("Oslo", "mph")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("weather at 48.14, 11.58", "48.1400, 11.5800"),
        ("48.14, 11.58 weather tomorrow", "48.1400, 11.5800"),
        ("weather at 48°8'N 11°35'E", "48.1333, 11.5833"),
        ("weather 48°08'14\"N 11°34'31\"E", "48.1372, 11.5753"),
        ("weather at 40.7N 74.0W", "40.7000, -74.0000"),
        ("weather at lat 52.52 lon 13.41", "52.5200, 13.4100"),
        ("wetter bei 48,14 11,58", "48.1400, 11.5800"),
        ("météo 48.85, 2.35", "48.8500, 2.3500"),
        ("weather at -33.87, 151.21", "-33.8700, 151.2100"),
        ("will it rain at (48.14, 11.58) tomorrow", "48.1400, 11.5800"),
        ("wind at 48.14, 11.58 in knots", "48.1400, 11.5800"),
        ("weather in Portland Oregon", "Portland"),
        ("weather in Springfield, IL", "Springfield"),
        ("weather in the state of georgia", "Georgia"),
        ("how warm is it in Texas", "Texas"),
        ("weather in CA", "California"),
        ("weather TX", "Texas"),
        ("weather FL this weekend", "Florida"),
        ("weather UK", "United Kingdom"),
        ("how warm is it in LA", "Los Angeles"),
        ("wetter in kalifornien", "California"),
        ("wetter in berlin 12.05 14.05", "Berlin"),
    ],
)
def test_coordinates_and_states_are_places(text: str, place: str) -> None:
    found = understand(text, TODAY)
    assert found is not None, text
    assert found.question.place == place


async def test_coordinates_are_asked_for_as_they_are(weather: Weather, source: OpenMeteoStandIn) -> None:
    told = await said(weather, "weather at 48.14, 11.58")
    assert "in the area of 48.14° N, 11.58° E (near Munich)" in told
    assert source.count("/v1/search") == 0
    assert "(near Berlin)" in await said(weather, "weather at 52.52, 13.41")
    assert isinstance(await ask(weather, "weather at 48.14, 200.5"), Unclear)


async def test_a_state_says_which_town_stands_for_it(weather: Weather) -> None:
    for text, where in (
        ("weather in georgia (the state)", "Georgia, United States (at Atlanta)"),
        ("weather in washington state", "Washington, United States (at Seattle)"),
        ("how warm is it in Texas", "Texas, United States (at Houston)"),
    ):
        assert where in await said(weather, text)
    told = await said(weather, "weather in Georgia")
    assert "There is also Georgia, United States" in told


def test_a_date_is_no_latitude() -> None:
    assert understand("weather in paris on 12.05.2026", date(2026, 5, 10)) is not None
