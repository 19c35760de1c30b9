"""The weather for the adapter contract, over the stand-in and over recorded answers."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import UTC, datetime

from adapters.weather import Weather
from node.core.clock import SystemClock
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import DEAD_URL, FIXTURES, NO_FIXTURES, NOW, Case, FixedDay, session
from tests.simulators.open_meteo import OpenMeteoStandIn, RecordedOpenMeteo


class _RecordedDay(SystemClock):
    """The recorded weather is of this quarter of an hour in Darwin."""

    def now(self) -> datetime:
        return datetime(2023, 10, 25, 11, 20, tzinfo=UTC)


async def _weather(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = DEAD_URL
    if alive:
        url = (await stack.enter_async_context(OpenMeteoStandIn(NOW))).url
    settings = AdapterSettings(base_url=url, timeout_s=5)
    return Weather(settings, settings, settings, await session(stack), FixedDay())


async def _recorded(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = DEAD_URL
    if alive:
        url = (await stack.enter_async_context(RecordedOpenMeteo(FIXTURES / "open-meteo"))).url
    settings = AdapterSettings(base_url=url, timeout_s=5)
    return Weather(settings, settings, settings, await session(stack), _RecordedDay())


CASES: dict[str, Case] = {
    "weather": Case(
        _weather,
        (
            "weather in Paris",
            "Will it rain tomorrow in Lyon?",
            "average temperature in Berlin last week",
            "average max temperature in Madrid last week",
            "How hot will it be in New York on Friday in Fahrenheit?",
            "sunset in Tokyo today",
        ),
        (
            ("weather in Munich tomorrow", "wie wird das Wetter morgen in München?"),
            ("will it rain in Tokyo tomorrow", "東京は明日雨が降りますか"),
            ("weather in London, UK", "what's the weather like in London, United Kingdom?"),
        ),
        (
            ("weather in Paris", "and London?", "weather in London"),
            ("will it rain in Lyon today?", "and tomorrow?", "will it rain in Lyon tomorrow?"),
            ("high in Paris tomorrow", "and the low?", "low in Paris tomorrow"),
            ("temperature in Berlin", "in fahrenheit?", "temperature in Berlin in fahrenheit"),
            ("wie ist das Wetter in Berlin?", "und morgen?", "weather in Berlin tomorrow"),
        ),
    ),
    "weather (recorded)": Case(
        _recorded,
        (
            "temperature in Darwin",
            "how windy is it in Brisbane",
            "maximum temperature in Brasilia on 2 January 2023",
        ),
        (("weather in Darwin", "what's the weather in darwin"),),
        skip=NO_FIXTURES,
    ),
}
