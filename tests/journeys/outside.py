"""The outside as the journeys know it: one stand-in for each source, all speaking of the same Monday."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.contracts.adapter_case import NOW
from tests.simulators.coinbase import CoinbaseStandIn
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.espn import EspnStandIn, fill
from tests.simulators.feeds import FeedStandIn, Story
from tests.simulators.frankfurter import FrankfurterStandIn
from tests.simulators.hacker_news import HackerNewsStandIn
from tests.simulators.open_meteo import OpenMeteoStandIn
from tests.simulators.snapshot import SnapshotStandIn
from tests.simulators.vendor import VendorStandIn
from tests.simulators.wikipedia import WikipediaStandIn

STORIES = (
    Story("ECB holds rates, decision was close", 20, summary="The European Central Bank met on Monday."),
    Story("Rivers rise in the north", 50),
    Story("Tesla recalls cars", 60 * 20, summary="A fault in the software of the steering."),
)


@dataclass(frozen=True)
class Outside:
    """The stand-ins, and the settings that lead a node to them."""

    coingecko: CoinGeckoStandIn
    coinbase: CoinbaseStandIn
    weather: OpenMeteoStandIn
    espn: EspnStandIn
    feeds: FeedStandIn
    hn: HackerNewsStandIn
    frankfurter: FrankfurterStandIn
    snapshot: SnapshotStandIn
    wikipedia: WikipediaStandIn

    @property
    def adapters(self) -> dict[str, Any]:
        """The section ``adapters`` of the settings."""
        feeds = [f"{self.feeds.url}/rss.xml", f"{self.feeds.url}/more.xml"]
        named = ("coingecko", "coinbase", "espn", "hn", "frankfurter", "snapshot", "wikipedia")
        found: dict[str, Any] = {name: {"base_url": getattr(self, name).url} for name in named}
        for name in ("open_meteo", "open_meteo_archive", "open_meteo_geocoding"):
            found[name] = {"base_url": self.weather.url}
        return {**found, "news": {"feeds": feeds}}

    @property
    def vendors(self) -> dict[str, VendorStandIn]:
        """All but the feeds, by the name of the adapter that asks them."""
        return {
            "coingecko": self.coingecko,
            "weather": self.weather,
            "nba-scores": self.espn,
            "fx-rates": self.frankfurter,
            "snapshot": self.snapshot,
        }


@asynccontextmanager
async def outside() -> AsyncIterator[Outside]:
    """Start them all, filled for ``NOW``."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        made = Outside(
            await enter(CoinGeckoStandIn()),
            await enter(CoinbaseStandIn()),
            await enter(OpenMeteoStandIn(NOW)),
            await enter(EspnStandIn()),
            await enter(FeedStandIn()),
            await enter(HackerNewsStandIn()),
            await enter(FrankfurterStandIn()),
            await enter(SnapshotStandIn()),
            await enter(WikipediaStandIn()),
        )
        fill(made.espn, NOW.date())
        made.feeds.publish("/rss.xml", "Wire One", STORIES)
        made.feeds.publish("/more.xml", "Second Desk", (Story("Elections called in Utopia", 10),))
        yield made
