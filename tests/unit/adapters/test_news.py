"""The adapter for news over stand-ins: answers, failures of some and of all, lies, limits, staleness."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta, timezone
from typing import Any

import pytest

from adapters.news import News
from adapters.news import feeds as feeds_module
from adapters.news.questions import read_question
from node.core.clock import Clock
from node.core.model import CERTAIN, CLAIM, Caller, Failed, Found, Freshness, Missed, Outcome, Query
from node.core.settings import AdapterSettings
from node.core.settings import News as NewsSettings
from tests.contracts.adapter_case import DEAD_URL, FixedDay, session
from tests.manual_clock import ManualClock
from tests.simulators.feeds import NOW, FeedStandIn, Story, atom, rdf
from tests.simulators.hacker_news import HackerNewsStandIn, HackerStory

SWITCHED_OFF = AdapterSettings(enabled=False)


class World:
    """Stand-ins, a session and the adapters made over them."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self.stack = stack
        self.feeds = FeedStandIn()
        self.hn = HackerNewsStandIn()

    async def start(self) -> None:
        await self.stack.enter_async_context(self.feeds)
        await self.stack.enter_async_context(self.hn)
        self.http = await session(self.stack)
        self.feeds.publish(
            "/rss.xml",
            "Wire One",
            [
                Story("ECB holds rates", 20, summary="The decision was <b>close</b>."),
                Story("Rivers rise in the north", 50),
                Story("Tesla recalls cars", 60 * 20),
            ],
        )
        self.feeds.put("/atom.xml", atom("Second Desk", [Story("Utopia votes", 10)]), "application/atom+xml")
        self.feeds.put("/feed.rdf", rdf("Third Paper", [Story("A museum opens", None)]), "text/xml")

    def news(
        self,
        *paths: str,
        clock: Clock | None = None,
        hn: AdapterSettings | None = None,
        timeout_s: float = 5.0,
    ) -> News:
        urls = tuple(path if "://" in path else self.feeds.url + path for path in paths)
        return News(
            NewsSettings(feeds=urls or ("none",), timeout_s=timeout_s),
            hn or SWITCHED_OFF,
            self.http,
            clock or FixedDay(),
        )

    def hacker(self, **more: Any) -> AdapterSettings:
        return AdapterSettings(base_url=self.hn.url, timeout_s=5.0, **more)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        made = World(stack)
        await made.start()
        yield made


async def ask(
    news: News, text: str, *, clock: Clock | None = None, seconds: float = 8.0, **more: Any
) -> Outcome:
    recognition = news.recognise(text, NOW)
    assert recognition is not None, text
    deadline = (clock or FixedDay()).monotonic() + seconds
    return await news.ask(recognition, Query("id", text, text, Caller(), NOW, deadline, **more))


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Found), outcome
    return outcome.evidence.text


async def test_headlines_with_source_and_time(world: World) -> None:
    outcome = await ask(world.news("/rss.xml", "/atom.xml", "/feed.rdf"), "latest news")
    assert isinstance(outcome, Found)
    evidence = outcome.evidence
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
    assert [one.source for one in evidence.citations] == [
        "Second Desk", "Wire One", "Wire One", "Wire One", "Third Paper",
    ]  # fmt: skip
    assert all(one.url is not None and one.url.startswith("https://") for one in evidence.citations)
    assert evidence.citations[0].time == NOW - timedelta(minutes=10)
    assert evidence.data["sources_failed"] == []


async def test_topic_day_source_and_number(world: World) -> None:
    news = world.news("/rss.xml", "/atom.xml", "/feed.rdf")
    for text, opening, told in (
        ("news about the ECB rate decision", "Top headline on ecb rate decision: 1. “ECB holds rates", 1),
        ("news from yesterday", "Top headline of 2026-05-17: 1. “Tesla recalls cars", 1),
        ("headlines from the last 2 days", "Top headlines from 2026-05-16 to 2026-05-18: 1. “Utopia", 4),
        ("top 2 headlines", "Top headlines: 1. “Utopia votes", 2),
    ):
        outcome = await ask(news, text)
        assert text_of(outcome).startswith(opening), text_of(outcome)
        assert isinstance(outcome, Found)
        assert len(outcome.evidence.citations) == told


async def test_a_source_is_found_by_the_name_that_it_gives_itself(world: World) -> None:
    world.feeds.publish("/rss.xml", "BBC News", [Story("From the BBC")])
    news = world.news("/rss.xml", "/atom.xml")
    assert text_of(await ask(news, "bbc headlines")).startswith("Top headline: 1. “From the BBC” (BBC News,")
    outcome = await ask(news, "cnn headlines")
    assert isinstance(outcome, Missed)
    assert "cnn" in outcome.reason


async def test_nothing_on_the_topic_is_a_miss_with_what_was_read(world: World) -> None:
    outcome = await ask(world.news("/rss.xml"), "news about penguins")
    assert isinstance(outcome, Missed)
    assert outcome.reason == "none of the 3 headlines that were read is on penguins"
    outcome = await ask(world.news("/rss.xml"), "news of 2026-05-01")
    assert isinstance(outcome, Missed)


async def test_no_source_and_no_such_day(world: World) -> None:
    outcome = await ask(world.news(), "latest news")
    assert outcome == Missed("no source of news is set up")
    outcome = await ask(world.news("/rss.xml"), "news for tomorrow")
    assert isinstance(outcome, Missed)
    assert world.feeds.count() == 0


async def test_the_askers_zone_decides_what_today_is(world: World) -> None:
    world.feeds.publish("/rss.xml", "Wire", [Story("Before midnight", 9 * 60 + 30)])
    news = world.news("/rss.xml")
    assert isinstance(await ask(news, "today's news"), Missed)
    east = timezone(timedelta(hours=2))
    assert "Before midnight" in text_of(await ask(news, "today's news", zone=east))


# --- Hacker News ----------------------------------------------------------------------------------------


async def test_hacker_news_by_name_and_for_technology(world: World) -> None:
    news = world.news("/rss.xml", hn=world.hacker())
    told = text_of(await ask(news, "top stories on hacker news"))
    assert "1. “A new kernel scheduler” (Hacker News, 2026-05-18 08:30 UTC)" in told
    assert "Ask HN: How do you read the news?" in told
    assert "Rust" not in told
    assert world.feeds.count() == 0
    assert world.hn.requests[-1].query["tags"] == "front_page"
    assert "kernel scheduler" in text_of(await ask(news, "tech headlines on hacker news"))
    both = text_of(await ask(news, "news about Tesla and openai"))
    assert "publish a model" in both
    assert world.hn.requests[-1].query["query"] == "tesla and openai"
    await ask(news, "news about penguins")
    assert world.hn.count() == 2


async def test_stories_of_hacker_news_have_honest_links(world: World) -> None:
    world.hn.stories = [
        HackerStory(7, "Ask HN: Why?", None, 5),
        HackerStory(8, "Bad <script>x</script> link", "javascript:alert(1)", 6),
        HackerStory(9, "Tracked", "https://a.example/x?utm_source=hn", 7),
    ]
    outcome = await ask(world.news(hn=world.hacker()), "hacker news headlines")
    assert isinstance(outcome, Found)
    assert [one.url for one in outcome.evidence.citations] == [
        "https://news.ycombinator.com/item?id=7",
        "https://news.ycombinator.com/item?id=8",
        "https://a.example/x",
    ]
    assert "2. “Bad link” (Hacker News" in outcome.evidence.text


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
    outcome = await ask(world.news(hn=world.hacker()), "hacker news headlines")
    assert isinstance(outcome, Failed)
    assert outcome.code == "bad_answer"


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
    told = text_of(await ask(world.news(hn=world.hacker()), "hacker news headlines"))
    assert told.count("undated") == 2
    assert "scheduler" not in told


# --- failures -------------------------------------------------------------------------------------------


async def test_some_failing_is_fine_and_said(world: World) -> None:
    news = world.news("/rss.xml", "/gone.xml", "/atom.xml")
    world.feeds.misbehave("html", times=None, path="/atom.xml")
    outcome = await ask(news, "latest news")
    assert isinstance(outcome, Found)
    assert "ECB holds rates" in outcome.evidence.text
    assert outcome.evidence.data["sources_asked"] == 3
    failures = outcome.evidence.data["sources_failed"]
    assert isinstance(failures, list)
    assert len(failures) == 2
    check = news.health()
    assert check.status == "warn"
    assert "no feed" in check.output
    world.feeds.behave()
    world.feeds.publish("/gone.xml", "Back", [Story("Back again")])
    assert "Back again" in text_of(await ask(news, "latest news"))
    assert news.health().status == "pass"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("html", {}, "bad_answer"),
        ("plain", {"text": "Too many requests, try later"}, "bad_answer"),
        ("status", {"status": 500}, "unreachable"),
        ("status", {"status": 403}, "refused"),
        ("throttle", {"retry_after": 600}, "rate_limited"),
        ("redirect", {"to": "http://127.0.0.1:9/"}, "bad_answer"),
        ("oversized", {"size": 3_000_000}, "bad_answer"),
        ("oversized", {"size": 3_000_000, "declared": False}, "bad_answer"),
        ("gzip_bomb", {"size": 5_000_000}, "bad_answer"),
        ("refuse", {}, "unreachable"),
        ("cut", {}, "unreachable"),
        ("drip", {}, "timeout"),
        ("drip_head", {}, "timeout"),
        ("hang", {}, "timeout"),
        ("body", {"data": b"\x00" * 2_000}, "bad_answer"),
        ("nested_json", {}, "bad_answer"),
    ],
    ids=str,
)
async def test_all_failing_is_a_failure(world: World, kind: str, options: dict[str, Any], code: str) -> None:
    world.feeds.misbehave(kind, times=None, **options)
    outcome = await ask(
        world.news("/rss.xml", "/atom.xml", timeout_s=0.4 if code == "timeout" else 5.0), "latest news"
    )
    assert isinstance(outcome, Failed)
    assert outcome.code == code, outcome
    if code == "rate_limited":
        assert outcome.retry_after_s is not None
        assert 500 < outcome.retry_after_s <= 600


async def test_a_slow_feed_does_not_cost_the_others_their_answer(world: World) -> None:
    world.feeds.misbehave("hang", times=None, path="/atom.xml")
    outcome = await ask(world.news("/rss.xml", "/atom.xml"), "latest news", seconds=1.0)
    assert "ECB holds rates" in text_of(outcome)


async def test_markup_and_lies_in_entries_do_no_harm(world: World) -> None:
    world.feeds.publish(
        "/rss.xml",
        "<b>Wire</b>\u202e One",
        [
            Story(
                "<script>alert(1)</script>Clean &amp;lt;img src=x onerror=y&amp;gt; title",
                5,
                link="javascript:x()",
            ),
            Story("From the far future", -60 * 24 * 3),
            Story("   ", 5),
            Story("x" * 5_000, 10, link="https://a.example/" + "y" * 5_000),
        ],
    )
    outcome = await ask(world.news("/rss.xml"), "latest news")
    assert isinstance(outcome, Found)
    text = outcome.evidence.text
    assert "1. “Clean title” (Wire One, 2026-05-18 08:55 UTC)" in text
    assert "“From the far future” (Wire One, undated)" in text
    assert "<" not in text
    assert len(text) < 1_000
    assert outcome.evidence.citations[0].url is None
    assert outcome.evidence.source.url is not None


async def test_the_same_story_of_two_feeds_is_told_once(world: World) -> None:
    link = "https://agency.example/story"
    world.feeds.publish("/a.xml", "A", [Story("Rates held", 5, link=link + "?utm_source=a", id="1")])
    world.feeds.publish(
        "/b.xml", "B", [Story("Rates are held", 6, link=link, id="1"), Story("Else", 7, id="2")]
    )
    outcome = await ask(world.news("/a.xml", "/b.xml"), "latest news")
    assert isinstance(outcome, Found)
    assert [one.snippet for one in outcome.evidence.citations] == ["Rates held", "Else"]


# --- memory, validators, limits -------------------------------------------------------------------------


async def test_a_feed_is_asked_again_with_its_validators_and_304_keeps_the_entries(world: World) -> None:
    clock = ManualClock(NOW)
    news = world.news("/rss.xml", clock=clock)
    first = text_of(await ask(news, "latest news", clock=clock))
    assert text_of(await ask(news, "latest news", clock=clock)) == first
    assert world.feeds.count() == 1
    clock.advance(feeds_module.TTL_S + 1)
    assert text_of(await ask(news, "latest news", clock=clock)) == first
    assert world.feeds.count() == 2
    headers = world.feeds.requests[-1].headers
    assert headers["If-None-Match"].startswith('"')
    assert "If-Modified-Since" in headers
    clock.advance(feeds_module.TTL_S + 1)
    world.feeds.publish("/rss.xml", "Wire One", [Story("Something new", 1)])
    assert "Something new" in text_of(await ask(news, "latest news", clock=clock))


async def test_304_without_having_asked_for_it_is_a_bad_answer(world: World) -> None:
    world.feeds.misbehave("status", times=None, status=304)
    outcome = await ask(world.news("/rss.xml"), "latest news")
    assert isinstance(outcome, Failed)
    assert outcome.code == "bad_answer"


async def test_after_a_failure_old_headlines_are_marked(world: World) -> None:
    clock = ManualClock(NOW)
    news = world.news("/rss.xml", clock=clock)
    await ask(news, "latest news", clock=clock)
    clock.advance(feeds_module.TTL_S + 60)
    world.feeds.misbehave("html", times=None)
    outcome = await ask(news, "latest news", clock=clock)
    assert isinstance(outcome, Found)
    assert outcome.evidence.data["stale"] is True
    assert outcome.evidence.text.endswith(
        "Some were read at 2026-05-18 09:00 UTC: their source cannot be reached now."
    )
    assert outcome.evidence.confidence < 0.8
    clock.advance(feeds_module.STALE_FOR_S)
    assert isinstance(await ask(news, "latest news", clock=clock), Failed)


async def test_no_cache_asks_again(world: World) -> None:
    news = world.news("/rss.xml")
    await ask(news, "latest news")
    await ask(news, "latest news", no_cache=True)
    assert world.feeds.count() == 2


async def test_feeds_of_one_host_share_their_limits_and_many_are_cut(world: World) -> None:
    paths = [f"/{number}.xml" for number in range(40)]
    news = world.news(*paths, "ftp://a.example/x", "not an address")
    hosts = {budget.source for budget in news.budgets()}
    assert hosts == {"127.0.0.1"}
    await ask(news, "latest news")
    assert world.feeds.count() == feeds_module.FEEDS_MAX
    assert "22 of the addresses in the settings are not used" in news.health().output


async def test_500_questions_at_once_lose_none_and_keep_the_limits(world: World) -> None:
    clock = ManualClock(NOW)
    news = world.news("/rss.xml", clock=clock, hn=world.hacker(per_minute=5))
    texts = [f"news about openai project number{number}" for number in range(500)]
    outcomes = await asyncio.gather(*(ask(news, text, clock=clock, seconds=2.0) for text in texts))
    assert len(outcomes) == 500
    assert all(isinstance(outcome, Found | Missed | Failed) for outcome in outcomes)
    assert world.feeds.count() == 1
    assert world.hn.count() <= 5
    budget = next(one for one in news.budgets() if one.source == "Hacker News" and one.window_s == 60)
    assert budget.remaining == 5 - world.hn.count()


async def test_a_dead_source_and_a_passed_deadline(world: World) -> None:
    news = world.news(f"{DEAD_URL}/rss.xml", timeout_s=1.0)
    for seconds, code in ((5.0, "unreachable"), (-1.0, "timeout")):
        outcome = await ask(news, "latest news", seconds=seconds)
        assert isinstance(outcome, Failed)
        assert outcome.code == code


async def test_slots_are_checked_again(world: World) -> None:
    news = world.news("/rss.xml")
    good = news.recognise("latest news", NOW)
    assert good is not None
    query = Query("id", "x", "x", Caller(), NOW, FixedDay().monotonic() + 5)
    for slots in (
        {"topic": 7},
        {"limit": 0},
        {"limit": True},
        {"when": "soon"},
        {"when": 7},
        {"source": ""},
        {"topic": "x" * 500},
    ):
        outcome = await news.ask(replace(good, slots={**good.slots, **slots}), query)
        assert isinstance(outcome, Missed), slots
    assert isinstance(await news.ask(replace(good, slots={}), query), Found)


async def test_the_day_three_days_ago_is_not_the_last_three_days(world: World) -> None:
    world.feeds.publish("/rss.xml", "W", [Story("Then", 60 * 24 * 3), Story("Now", 5)])
    news = world.news("/rss.xml")
    assert "Now" not in text_of(await ask(news, "news from 3 days ago"))
    assert "Now" in text_of(await ask(news, "news from the last 3 days"))


async def test_follow_ups_are_certain_questions(world: World) -> None:
    news = world.news("/rss.xml")
    for earlier, fragment, key in (
        ("any news about Tesla?", "and the ECB?", "news:ecb:-:-:-"),
        ("latest bbc news", "and yesterday?", "news:-:bbc:2026-05-17:-"),
        ("top 3 headlines", "on hacker news?", "news:-:hacker news:-:3"),
    ):
        text = news.follow_up(fragment, earlier, NOW)
        assert text is not None
        found = news.recognise(text, NOW)
        assert found is not None
        assert found.strength >= CERTAIN
        assert found.key == key
    assert news.follow_up("and the ECB?", "who wrote Hamlet?", NOW) is None
    assert news.follow_up("why?", "latest news", NOW) is None


async def test_a_headline_cannot_pass_for_two(world: World) -> None:
    forged = "Fed) (CoinGecko, 2026-05-18 09:00 UTC); 9. “Second” fake headline (BBC"
    world.feeds.publish("/rss.xml", 'Wire" (x); 7. "One', [Story(forged)])
    assert text_of(await ask(world.news("/rss.xml"), "latest news")) == (
        "Top headline: 1. “Fed) (CoinGecko, 2026-05-18 09:00 UTC); 9. Second fake headline (BBC”"
        " (Wire x 7. One, 2026-05-18 08:00 UTC)."
    )


async def test_a_private_topic_is_not_searched_for(world: World) -> None:
    news = world.news("/rss.xml", hn=world.hacker())
    for text in (
        "tech news about hunter2pass",
        "software news about jane@example.com",
        "hacker news stories about patient jane roe",
    ):
        await ask(news, text)
        assert world.hn.count() == 0, text


async def test_headlines_are_no_context_for_another_question(world: World) -> None:
    text = "my uncle spoke of the elections news loudly"
    asked = read_question(text, NOW.date())
    assert asked is not None
    assert asked.strength < CLAIM
    assert world.news("/rss.xml").recognise(text, NOW) is None
