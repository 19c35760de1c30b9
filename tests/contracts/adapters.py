"""Every adapter for the adapter contract: how to build it over its stand-in, and over recorded answers."""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import aiohttp

from adapters.coins import Coinbase, CoinGecko
from adapters.currency import FxRates
from adapters.local_time import WorldTime
from adapters.math_calculator import MathCalculator
from adapters.news import News
from adapters.scores import Scores
from adapters.snapshot import Snapshot
from adapters.weather import Weather
from adapters.wikipedia import Wikipedia
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from node.core.settings import News as NewsSettings
from tests.contracts.adapter_case import DEAD_URL, FIXTURES, NO_FIXTURES, NOW, Case, FixedDay, session
from tests.simulators.balldontlie import BalldontlieStandIn
from tests.simulators.coinbase import CoinbaseStandIn
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.espn import EspnStandIn, RecordedEspn, fill
from tests.simulators.feeds import FeedStandIn, Story, atom, rdf
from tests.simulators.frankfurter import FrankfurterStandIn
from tests.simulators.hacker_news import HackerNewsStandIn
from tests.simulators.open_meteo import OpenMeteoStandIn, RecordedOpenMeteo
from tests.simulators.snapshot import SnapshotStandIn
from tests.simulators.vendor import Answered, Seen, VendorStandIn
from tests.simulators.wikipedia import WikipediaStandIn

Build = Callable[[AsyncExitStack, bool], Awaitable[Adapter]]
Make = Callable[[AdapterSettings, aiohttp.ClientSession, FixedDay], Adapter]
OFF = AdapterSettings(enabled=False)


class Day(FixedDay):
    """The moment of a recording."""

    def __init__(self, when: datetime) -> None:
        self._when = when

    def now(self) -> datetime:
        return self._when


def settings(url: str, key: str = "") -> AdapterSettings:
    return AdapterSettings(base_url=url, api_key=key, timeout_s=5, per_minute=1_000)


def over(
    source: Callable[[], VendorStandIn],
    make: Make,
    *,
    path: str = "",
    key: str = "",
    day: FixedDay | None = None,
) -> Build:
    """An adapter over one source, which is dead when it is told to be."""

    async def build(stack: AsyncExitStack, alive: bool) -> Adapter:
        url = (await stack.enter_async_context(source())).url if alive else DEAD_URL
        return make(settings(url + path, key), await session(stack), day or FixedDay())

    return build


def local(make: Callable[[FixedDay], Adapter]) -> Build:
    async def build(stack: AsyncExitStack, alive: bool) -> Adapter:
        return make(FixedDay())

    return build


# --- what the sources say -------------------------------------------------------------------------


class RecordedCoins(VendorStandIn):
    """Answers as they were recorded, whatever is asked of a path. The list was recorded on another day than
    the prices, and a quote of before the last day is refused: it is given that day."""

    FILES = (
        ("/simple/price", "simple_price_full.json"),
        ("/coins/markets", "coins_markets_2023.json"),
        ("/coins/bitcoin/history", "coin_history_bitcoin.json"),
    )

    def answer(self, asked: Seen) -> Answered:
        for path, file in self.FILES:
            if asked.path.endswith(path):
                body = (FIXTURES / "coingecko" / file).read_bytes()
                return Answered(body.replace(b"2023-12-25T18", b"2026-05-18T08"))
        return Answered({"error": "coin not found"}, 404)


class RecordedRates(VendorStandIn):
    """Answers with the published sample, whatever is asked."""

    def answer(self, asked: Seen) -> Answered:
        return Answered((FIXTURES / "frankfurter" / "v2_rates.json").read_bytes())


class RecordedNews(VendorStandIn):
    """The recorded bodies, whatever is asked of each path."""

    def answer(self, asked: Seen) -> Answered:
        if asked.path == "/api/v1/search":
            return Answered((FIXTURES / "hn-algolia" / "search_story_apple.json").read_bytes())
        return Answered((FIXTURES / "rss" / asked.path.strip("/")).read_bytes(), content_type="text/xml")


def feeds() -> FeedStandIn:
    """Three publishers, each in a format of its own."""
    made = FeedStandIn()
    stories = (
        Story("ECB holds rates, decision was close", 20, summary="The European Central Bank met on Monday."),
        Story("Rivers rise in the north", 50),
        Story("Tesla recalls cars", 60 * 20, summary="A fault in the software of the steering."),
    )
    made.publish("/rss.xml", "Wire One", stories)
    made.put("/atom.xml", atom("Second Desk", [Story("Elections called in Utopia", 10)]))
    made.put("/feed.rdf", rdf("Third Paper", [Story("A museum opens", None)]))
    return made


def espn() -> EspnStandIn:
    made = EspnStandIn()
    fill(made, NOW.date())
    return made


def balldontlie() -> BalldontlieStandIn:
    made = BalldontlieStandIn()
    made.game(date(2026, 5, 17), "BOS", "LAL", status="Final", scores=(105, 112), period=4, time="Final")
    made.game(date(2026, 5, 18), "CHI", "DET", status="4th Qtr", scores=(84, 88), time="Q4 3:21")
    made.game(date(2026, 5, 19), "LAL", "PHX", status="10:30 pm ET", start="2026-05-20T02:30:00.000Z")
    return made


def recorded_espn() -> RecordedEspn:
    """A running game of one evening, and a day to come."""
    days = ((date(2022, 10, 2), "live"), (date(2022, 12, 20), "scheduled"))
    return RecordedEspn(FIXTURES / "espn", [(day, f"nba_scoreboard_{name}.json") for day, name in days])


# --- adapters -------------------------------------------------------------------------------------


def coingecko(source: AdapterSettings, _: aiohttp.ClientSession, clock: FixedDay) -> Adapter:
    return CoinGecko(source, clock)


def weather(source: AdapterSettings, http: aiohttp.ClientSession, clock: FixedDay) -> Adapter:
    return Weather(source, source, source, http, clock)


def from_espn(source: AdapterSettings, http: aiohttp.ClientSession, clock: FixedDay) -> Adapter:
    return Scores(source, OFF, http, clock)


def from_balldontlie(source: AdapterSettings, http: aiohttp.ClientSession, clock: FixedDay) -> Adapter:
    return Scores(OFF, source, http, clock)


def news(paths: tuple[str, ...], source: Callable[[], VendorStandIn], stories: type[VendorStandIn]) -> Build:
    """Feeds at one address, stories of Hacker News at another."""

    async def build(stack: AsyncExitStack, alive: bool) -> Adapter:
        wires, forum = [
            (await stack.enter_async_context(one())).url if alive else DEAD_URL for one in (source, stories)
        ]
        named = NewsSettings(feeds=tuple(f"{wires}/{path}" for path in paths))
        return News(named, settings(forum), await session(stack), FixedDay())

    return build


RECORDED_FEEDS = (
    *("encoding_WINDOWS-1251.xml", "no_encoding_ISO-8859-1.xml", "rdf_UTF8.xml", "small_atom.xml"),
    "urdu_UTF8.xml",
)
RUNNING_GAME, QUARTER = datetime(2022, 10, 2, 23, 30, tzinfo=UTC), datetime(2023, 10, 25, 11, 20, tzinfo=UTC)
BUILDS: dict[str, Build] = {
    "coingecko": over(CoinGeckoStandIn, coingecko),
    "coingecko (recorded)": over(RecordedCoins, coingecko, path="/api/v3"),
    "coinbase": over(CoinbaseStandIn, Coinbase),
    "fx-rates": over(FrankfurterStandIn, FxRates),
    "fx-rates (recorded)": over(RecordedRates, FxRates),
    "math-calculator": local(MathCalculator),
    "news-aggregator": news(("rss.xml", "atom.xml", "feed.rdf"), feeds, HackerNewsStandIn),
    "news-aggregator (recorded)": news(RECORDED_FEEDS, RecordedNews, RecordedNews),
    "nba-scores": over(espn, from_espn),
    "nba-scores (balldontlie)": over(balldontlie, from_balldontlie, key=BalldontlieStandIn.KEY),
    "nba-scores (recorded)": over(recorded_espn, from_espn, day=Day(RUNNING_GAME)),
    "snapshot": over(SnapshotStandIn, Snapshot),
    "world-time": local(WorldTime),
    "weather": over(partial(OpenMeteoStandIn, NOW), weather),
    "weather (recorded)": over(
        partial(RecordedOpenMeteo, FIXTURES / "open-meteo"), weather, day=Day(QUARTER)
    ),
    "wikipedia": over(WikipediaStandIn, Wikipedia),
}


def _cases() -> dict[str, Case]:
    asked = tomllib.loads(Path(__file__).with_name("adapter_cases.toml").read_text("utf-8"))
    assert asked.keys() == BUILDS.keys()
    return {
        name: Case(
            build,
            tuple(asked[name]["questions"]),
            tuple(map(tuple, asked[name]["same"])),
            tuple(map(tuple, asked[name].get("follow_ups", ()))),
            skip=NO_FIXTURES if name.endswith("(recorded)") else None,
        )
        for name, build in BUILDS.items()
    }


ADAPTERS = _cases()
