"""The adapter for news over stand-ins: answers, failures of some and of all, lies, limits, staleness."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import aiohttp
import pytest

from adapters.news import News
from adapters.news import feeds as feeds_module
from adapters.news.questions import read_question
from node.core.clock import Clock
from node.core.model import CERTAIN, CLAIM, Failed, Found, Freshness, Missed
from node.core.settings import AdapterSettings
from node.core.settings import News as NewsSettings
from tests.contracts.adapter_case import DEAD_URL, FixedDay
from tests.manual_clock import ManualClock
from tests.simulators.feeds import NOW, FeedStandIn, Story, atom, rdf
from tests.simulators.hacker_news import HackerNewsStandIn, HackerStory
from tests.unit.adapters.asking import FAULTS, Asking

SWITCHED_OFF = AdapterSettings(enabled=False)
LATEST = "latest news"
HACKER = "hacker news headlines"


class World:
    """Stand-ins, and the adapters made over them."""

    def __init__(self, feeds: FeedStandIn, hn: HackerNewsStandIn, http: aiohttp.ClientSession) -> None:
        self.feeds, self.hn, self.http = feeds, hn, http
        rates = Story("ECB holds rates", 20, summary="The decision was <b>close</b>.")
        rivers, cars = Story("Rivers rise in the north", 50), Story("Tesla recalls cars", 60 * 20)
        feeds.publish("/rss.xml", "Wire One", [rates, rivers, cars])
        feeds.put("/atom.xml", atom("Second Desk", [Story("Utopia votes", 10)]), "application/atom+xml")
        feeds.put("/feed.rdf", rdf("Third Paper", [Story("A museum opens", None)]), "text/xml")

    def news(
        self,
        *paths: str,
        clock: Clock | None = None,
        hn: AdapterSettings = SWITCHED_OFF,
        timeout_s: float = 20.0,
    ) -> Asking[News, Clock]:
        clock = clock or FixedDay()
        urls = tuple(path if "://" in path else self.feeds.url + path for path in paths)
        sources = NewsSettings(feeds=urls or ("none",), timeout_s=timeout_s)
        return Asking(News(sources, hn, self.http, clock), clock)

    def hacker(self, **more: Any) -> AdapterSettings:
        return AdapterSettings(base_url=self.hn.url, timeout_s=20.0, **more)


@pytest.fixture
async def world(http: aiohttp.ClientSession) -> AsyncIterator[World]:
    async with FeedStandIn() as feeds, HackerNewsStandIn() as hn:
        yield World(feeds, hn, http)


async def test_headlines_with_source_and_time(world: World) -> None:
    evidence = await world.news("/rss.xml", "/atom.xml", "/feed.rdf").found(LATEST)
    assert evidence.text == (
        "Top headlines: 1. “Utopia votes” (Second Desk, 2026-05-18 08:50 UTC);"
        " 2. “ECB holds rates” (Wire One, 2026-05-18 08:40 UTC);"
        " 3. “Rivers rise in the north” (Wire One, 2026-05-18 08:10 UTC);"
        " 4. “Tesla recalls cars” (Wire One, 2026-05-17 13:00 UTC);"
        " 5. “A museum opens” (Third Paper, undated)."
    )
    assert evidence.freshness is Freshness.NEWS
    assert evidence.key == "news:-:-:-:-"
    assert evidence.slots == {"topic": None, "when": None, "source": None, "limit": None}
    sources = [one.source for one in evidence.citations]
    assert sources == ["Second Desk", "Wire One", "Wire One", "Wire One", "Third Paper"]
    assert all(one.url is not None and one.url.startswith("https://") for one in evidence.citations)
    assert evidence.citations[0].time == NOW - timedelta(minutes=10)
    assert evidence.data["sources_failed"] == []


@pytest.mark.parametrize(
    ("text", "opening", "told"),
    [
        ("news about the ECB rate decision", "Top headline on ecb rate decision: 1. “ECB holds rates", 1),
        ("news from yesterday", "Top headline of 2026-05-17: 1. “Tesla recalls cars", 1),
        ("headlines from the last 2 days", "Top headlines from 2026-05-16 to 2026-05-18: 1. “Utopia", 4),
        ("top 2 headlines", "Top headlines: 1. “Utopia votes", 2),
    ],
)
async def test_topic_day_source_and_number(world: World, text: str, opening: str, told: int) -> None:
    evidence = await world.news("/rss.xml", "/atom.xml", "/feed.rdf").found(text)
    assert evidence.text.startswith(opening)
    assert len(evidence.citations) == told


async def test_a_source_is_found_by_the_name_that_it_gives_itself(world: World) -> None:
    world.feeds.publish("/rss.xml", "BBC News", [Story("From the BBC")])
    news = world.news("/rss.xml", "/atom.xml")
    assert (await news.said("bbc headlines")).startswith("Top headline: 1. “From the BBC” (BBC News,")
    outcome = await news.outcome("cnn headlines")
    assert isinstance(outcome, Missed)
    assert "cnn" in outcome.reason


async def test_nothing_on_the_topic_is_a_miss_with_what_was_read(world: World) -> None:
    news = world.news("/rss.xml")
    told = Missed("none of the 3 headlines that were read is on penguins")
    assert await news.outcome("news about penguins") == told
    assert isinstance(await news.outcome("news of 2026-05-01"), Missed)


async def test_no_source_and_no_such_day(world: World) -> None:
    assert await world.news().outcome(LATEST) == Missed("no source of news is set up")
    assert isinstance(await world.news("/rss.xml").outcome("news for tomorrow"), Missed)
    assert world.feeds.count() == 0


async def test_the_askers_zone_decides_what_today_is(world: World) -> None:
    world.feeds.publish("/rss.xml", "Wire", [Story("Before midnight", 9 * 60 + 30)])
    news = world.news("/rss.xml")
    assert isinstance(await news.outcome("today's news"), Missed)
    assert "Before midnight" in await news.said("today's news", zone=timezone(timedelta(hours=2)))


async def test_the_day_three_days_ago_is_not_the_last_three_days(world: World) -> None:
    world.feeds.publish("/rss.xml", "W", [Story("Then", 60 * 24 * 3), Story("Now", 5)])
    assert "Now" not in await world.news("/rss.xml").said("news from 3 days ago")
    assert "Now" in await world.news("/rss.xml").said("news from the last 3 days")


# --- Hacker News ----------------------------------------------------------------------------------------


async def test_hacker_news_by_name_and_for_technology(world: World) -> None:
    news = world.news("/rss.xml", hn=world.hacker())
    told = await news.said("top stories on hacker news")
    assert "1. “A new kernel scheduler” (Hacker News, 2026-05-18 08:30 UTC)" in told
    assert "Ask HN: How do you read the news?" in told
    assert "Rust" not in told
    assert world.feeds.count() == 0
    assert world.hn.requests[-1].query["tags"] == "front_page"
    assert "kernel scheduler" in await news.said("tech headlines on hacker news")
    assert "publish a model" in await news.said("news about Tesla and openai")
    assert world.hn.requests[-1].query["query"] == "tesla and openai"
    await news.outcome("news about penguins")
    assert world.hn.count() == 2


async def test_stories_of_hacker_news_have_honest_links(world: World) -> None:
    world.hn.stories = [
        HackerStory(7, "Ask HN: Why?", None, 5),
        HackerStory(8, "Bad <script>x</script> link", "javascript:alert(1)", 6),
        HackerStory(9, "Tracked", "https://a.example/x?utm_source=hn", 7),
    ]
    evidence = await world.news(hn=world.hacker()).found(HACKER)
    assert [one.url for one in evidence.citations] == [
        "https://news.ycombinator.com/item?id=7",
        "https://news.ycombinator.com/item?id=8",
        "https://a.example/x",
    ]
    assert "2. “Bad link” (Hacker News" in evidence.text


@pytest.mark.parametrize(
    "change",
    [
        lambda body: {**body, "hits": None},
        lambda body: {},
        lambda body: [],
        lambda body: {**body, "hits": [7, None, "x"]},
        lambda body: {**body, "hits": [{**hit, "objectID": "../x"} for hit in body["hits"]]},
        lambda body: {**body, "hits": [{**hit, "title": None} for hit in body["hits"]]},
        lambda body: {"message": "too busy", "status": 400},
    ],
    ids=range(7),
)
async def test_an_answer_without_stories_is_bad(world: World, change: Any) -> None:
    world.hn.misbehave("change", times=None, change=change)
    assert await world.news(hn=world.hacker()).code(HACKER) == "bad_answer"


async def test_a_story_with_a_broken_time_is_undated_and_one_without_a_title_is_left_out(
    world: World,
) -> None:
    def change(body: Any) -> Any:
        times = ("soon", 10**15, float(2), int(NOW.timestamp()) + 86_400 * 3)
        for hit, time in zip(body["hits"], times, strict=False):
            hit["created_at_i"] = time
        body["hits"][0]["title"] = "  "
        return body

    world.hn.misbehave("change", times=None, change=change)
    told = await world.news(hn=world.hacker()).said(HACKER)
    assert told.count("undated") == 2
    assert "scheduler" not in told


# --- failures -------------------------------------------------------------------------------------------


async def test_some_failing_is_fine_and_said(world: World) -> None:
    news = world.news("/rss.xml", "/gone.xml", "/atom.xml")
    world.feeds.misbehave("html", times=None, path="/atom.xml")
    evidence = await news.found(LATEST)
    assert "ECB holds rates" in evidence.text
    assert evidence.data["sources_asked"] == 3
    assert len(evidence.data["sources_failed"]) == 2
    check = news.adapter.health()
    assert check.status == "warn"
    assert "no feed" in check.output
    world.feeds.behave()
    world.feeds.publish("/gone.xml", "Back", [Story("Back again")])
    assert "Back again" in await news.said(LATEST)
    assert news.adapter.health().status == "pass"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        *FAULTS,
        ("body", {"data": b"\x00" * 2_000}, "bad_answer"),
        ("status", {"status": 304}, "bad_answer"),  # nobody asked whether it had changed
        ("drip", {}, "timeout"),
        ("drip_head", {}, "timeout"),
        ("hang", {}, "timeout"),
    ],
    ids=str,
)
async def test_all_failing_is_a_failure(world: World, kind: str, options: dict[str, Any], code: str) -> None:
    world.feeds.misbehave(kind, times=None, **options)
    news = world.news("/rss.xml", "/atom.xml", timeout_s=0.4 if code == "timeout" else 20.0)
    assert await news.code(LATEST) == code


async def test_the_wait_that_all_ask_for_is_told(world: World) -> None:
    world.feeds.misbehave("throttle", times=None, retry_after=600)
    failure = await world.news("/rss.xml", "/atom.xml").failed(LATEST)
    assert 500 < (failure.retry_after_s or 0) <= 600


async def test_a_slow_feed_does_not_cost_the_others_their_answer(world: World) -> None:
    world.feeds.misbehave("hang", times=None, path="/atom.xml")
    assert "ECB holds rates" in await world.news("/rss.xml", "/atom.xml").said(LATEST, seconds=1.0)


async def test_markup_and_lies_in_entries_do_no_harm(world: World) -> None:
    marked = "<script>alert(1)</script>Clean &amp;lt;img src=x onerror=y&amp;gt; title"
    world.feeds.publish(
        "/rss.xml",
        "<b>Wire</b>\u202e One",
        [
            Story(marked, 5, link="javascript:x()"),
            Story("From the far future", -60 * 24 * 3),
            Story("   ", 5),
            Story("x" * 5_000, 10, link="https://a.example/" + "y" * 5_000),
        ],
    )
    evidence = await world.news("/rss.xml").found(LATEST)
    assert "1. “Clean title” (Wire One, 2026-05-18 08:55 UTC)" in evidence.text
    assert "“From the far future” (Wire One, undated)" in evidence.text
    assert "<" not in evidence.text
    assert len(evidence.text) < 1_000
    assert evidence.citations[0].url is None
    assert evidence.source.url is not None


async def test_the_same_story_of_two_feeds_is_told_once(world: World) -> None:
    link = "https://agency.example/story"
    again, other = Story("Rates are held", 6, link=link, id="1"), Story("Else", 7, id="2")
    world.feeds.publish("/a.xml", "A", [Story("Rates held", 5, link=link + "?utm_source=a", id="1")])
    world.feeds.publish("/b.xml", "B", [again, other])
    evidence = await world.news("/a.xml", "/b.xml").found(LATEST)
    assert [one.snippet for one in evidence.citations] == ["Rates held", "Else"]


async def test_a_headline_cannot_pass_for_two(world: World) -> None:
    forged = "Fed) (CoinGecko, 2026-05-18 09:00 UTC); 9. “Second” fake headline (BBC"
    world.feeds.publish("/rss.xml", 'Wire" (x); 7. "One', [Story(forged)])
    assert await world.news("/rss.xml").said(LATEST) == (
        "Top headline: 1. “Fed) (CoinGecko, 2026-05-18 09:00 UTC); 9. Second fake headline (BBC”"
        " (Wire x 7. One, 2026-05-18 08:00 UTC)."
    )


# --- memory, validators, limits -------------------------------------------------------------------------


async def test_a_feed_is_asked_again_with_its_validators_and_304_keeps_the_entries(world: World) -> None:
    clock = ManualClock(NOW)
    news = world.news("/rss.xml", clock=clock)
    first = await news.said(LATEST)
    assert await news.said(LATEST) == first
    assert world.feeds.count() == 1
    clock.advance(feeds_module.TTL_S + 1)
    assert await news.said(LATEST) == first
    assert world.feeds.count() == 2
    headers = world.feeds.requests[-1].headers
    assert headers["If-None-Match"].startswith('"')
    assert "If-Modified-Since" in headers
    clock.advance(feeds_module.TTL_S + 1)
    world.feeds.publish("/rss.xml", "Wire One", [Story("Something new", 1)])
    assert "Something new" in await news.said(LATEST)


async def test_after_a_failure_old_headlines_are_marked(world: World) -> None:
    clock = ManualClock(NOW)
    news = world.news("/rss.xml", clock=clock)
    await news.outcome(LATEST)
    clock.advance(feeds_module.TTL_S + 60)
    world.feeds.misbehave("html", times=None)
    evidence = await news.found(LATEST)
    assert evidence.data["stale"] is True
    assert evidence.text.endswith(
        "Some were read at 2026-05-18 09:00 UTC: their source cannot be reached now."
    )
    assert evidence.confidence < 0.8
    clock.advance(feeds_module.STALE_FOR_S)
    await news.failed(LATEST)


async def test_no_cache_asks_again(world: World) -> None:
    news = world.news("/rss.xml")
    await news.outcome(LATEST)
    await news.outcome(LATEST, no_cache=True)
    assert world.feeds.count() == 2


async def test_feeds_of_one_host_share_their_limits_and_many_are_cut(world: World) -> None:
    paths = [f"/{number}.xml" for number in range(40)]
    news = world.news(*paths, "ftp://a.example/x", "not an address")
    assert {budget.source for budget in news.adapter.budgets()} == {"127.0.0.1"}
    await news.outcome(LATEST)
    assert world.feeds.count() == feeds_module.FEEDS_MAX
    assert "22 of the addresses in the settings are not used" in news.adapter.health().output


async def test_500_questions_at_once_lose_none_and_keep_the_limits(world: World) -> None:
    news = world.news("/rss.xml", clock=ManualClock(NOW), hn=world.hacker(per_minute=5))
    texts = [f"news about openai project number{number}" for number in range(500)]
    outcomes = await asyncio.gather(*(news.outcome(text, seconds=2.0) for text in texts))
    assert len(outcomes) == 500
    assert all(isinstance(outcome, Found | Missed | Failed) for outcome in outcomes)
    assert world.feeds.count() == 1
    assert world.hn.count() <= 5
    budgets = news.adapter.budgets()
    budget = next(one for one in budgets if one.source == "Hacker News" and one.window_s == 60)
    assert budget.remaining == 5 - world.hn.count()


@pytest.mark.parametrize(("seconds", "code"), [(5.0, "unreachable"), (-1.0, "timeout")])
async def test_a_dead_source_and_a_passed_deadline(world: World, seconds: float, code: str) -> None:
    assert await world.news(f"{DEAD_URL}/rss.xml").code(LATEST, seconds=seconds) == code


@pytest.mark.parametrize(
    "slots",
    [
        {"topic": 7},
        {"limit": 0},
        {"limit": True},
        {"when": "soon"},
        {"when": 7},
        {"source": ""},
        {"topic": "x" * 500},
    ],
    ids=lambda slots: str(slots)[:20],
)
async def test_slots_are_checked_again(world: World, slots: dict[str, Any]) -> None:
    news = world.news("/rss.xml")
    good = news.recognised(LATEST)
    foreign = replace(good, slots={**good.slots, **slots})
    assert isinstance(await news.adapter.ask(foreign, news.query("x")), Missed)
    assert isinstance(await news.adapter.ask(replace(good, slots={}), news.query("x")), Found)


# --- follow-ups and what is kept ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("earlier", "fragment", "key"),
    [
        ("any news about Tesla?", "and the ECB?", "news:ecb:-:-:-"),
        ("latest bbc news", "and yesterday?", "news:-:bbc:2026-05-17:-"),
        ("top 3 headlines", "on hacker news?", "news:-:hacker news:-:3"),
    ],
)
async def test_follow_ups_are_certain_questions(world: World, earlier: str, fragment: str, key: str) -> None:
    news = world.news("/rss.xml")
    text = news.adapter.follow_up(fragment, earlier, NOW)
    assert text is not None
    found = news.recognised(text)
    assert found.strength >= CERTAIN
    assert found.key == key
    assert news.adapter.follow_up(fragment, "who wrote Hamlet?", NOW) is None
    assert news.adapter.follow_up("why?", earlier, NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        "tech news about hunter2pass",
        "software news about jane@example.com",
        "software news about anna.k@posteo.example",
        "hacker news stories about patient jane roe",
    ],
)
async def test_a_private_topic_is_not_searched_for(world: World, text: str) -> None:
    await world.news("/rss.xml", hn=world.hacker()).outcome(text)
    assert world.hn.count() == 0


async def test_headlines_are_no_context_for_another_question(world: World) -> None:
    text = "my uncle spoke of the elections news loudly"
    asked = read_question(text, NOW.date())
    assert asked is not None
    assert asked.strength < CLAIM
    assert world.news("/rss.xml").adapter.recognise(text, NOW) is None
