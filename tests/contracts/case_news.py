"""News for the adapter contract: over stand-ins, and over recorded feeds and stories."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack

from adapters.news import News
from node.core.ports import Adapter
from node.core.settings import AdapterSettings
from node.core.settings import News as NewsSettings
from tests.contracts.adapter_case import DEAD_URL, FIXTURES, NO_FIXTURES, Case, FixedDay, session
from tests.simulators.feeds import FeedStandIn, Story, atom, rdf
from tests.simulators.hacker_news import HackerNewsStandIn
from tests.simulators.vendor import Answered, Seen, VendorStandIn

STORIES = (
    Story("ECB holds rates, decision was close", 20, summary="The European Central Bank met on Monday."),
    Story("Rivers rise in the north", 50),
    Story("Tesla recalls cars", 60 * 20, summary="A fault in the software of the steering."),
)


async def _news(stack: AsyncExitStack, alive: bool) -> Adapter:
    feeds, hn = f"{DEAD_URL}", DEAD_URL
    if alive:
        stand_in = await stack.enter_async_context(FeedStandIn())
        stand_in.publish("/rss.xml", "Wire One", STORIES)
        stand_in.put("/atom.xml", atom("Second Desk", [Story("Elections called in Utopia", 10)]))
        stand_in.put("/feed.rdf", rdf("Third Paper", [Story("A museum opens", None)]))
        feeds = stand_in.url
        hn = (await stack.enter_async_context(HackerNewsStandIn())).url
    return News(
        NewsSettings(feeds=tuple(f"{feeds}{path}" for path in ("/rss.xml", "/atom.xml", "/feed.rdf"))),
        AdapterSettings(base_url=hn, timeout_s=5, per_minute=1_000),
        await session(stack),
        FixedDay(),
    )


class _Recorded(VendorStandIn):
    """The recorded bodies, whatever is asked of each path."""

    def answer(self, asked: Seen) -> Answered:
        if asked.path == "/api/v1/search":
            return Answered(json.loads((FIXTURES / "hn-algolia" / "search_story_apple.json").read_bytes()))
        name = asked.path.strip("/")
        return Answered((FIXTURES / "rss" / name).read_bytes(), content_type="text/xml")


async def _recorded(stack: AsyncExitStack, alive: bool) -> Adapter:
    url = (await stack.enter_async_context(_Recorded())).url if alive else DEAD_URL
    names = (
        "encoding_WINDOWS-1251.xml",
        "no_encoding_ISO-8859-1.xml",
        "rdf_UTF8.xml",
        "small_atom.xml",
        "urdu_UTF8.xml",
    )
    return News(
        NewsSettings(feeds=tuple(f"{url}/{name}" for name in names)),
        AdapterSettings(base_url=url, timeout_s=5, per_minute=1_000),
        await session(stack),
        FixedDay(),
    )


CASES: dict[str, Case] = {
    "news-aggregator": Case(
        _news,
        (
            "latest news",
            "any news about the ECB rate decision?",
            "top 2 headlines from hacker news",
            "what happened today?",
            "tech headlines on hacker news",
        ),
        (
            ("latest news about Tesla", "any news on tesla?"),
            ("what are today's headlines", "noticias de hoy"),
            ("hacker news headlines", "top stories on HN"),
        ),
        (
            ("latest news", "and about Tesla?", "news about tesla"),
            ("any news about Tesla?", "what about the ECB?", "latest news on the ECB"),
            ("latest news about Tesla", "and yesterday?", "news about tesla from yesterday"),
            ("latest headlines", "on hacker news?", "hacker news headlines"),
        ),
    ),
    "news-aggregator (recorded)": Case(
        _recorded,
        ("latest news", "any news about IBM?", "hacker news headlines about apple"),
        (("news about IBM", "any headlines on ibm?"),),
        skip=NO_FIXTURES,
    ),
}
