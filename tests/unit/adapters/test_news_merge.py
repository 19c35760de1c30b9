"""One list of many: the same story once, topics, days, sources."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from adapters.news.merge import Entry, Wanted, clean_url, haystack, matches, merge, of_source, topic_words
from tests.each import each

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)


def entry(
    title: str, hours: float | None = 1, url: str | None = None, key: str = "", section: str = ""
) -> Entry:
    return Entry(
        id=key or title,
        title=title,
        url=url,
        time=None if hours is None else NOW - timedelta(hours=hours),
        source="Wire",
        host="wire.example",
        words=haystack(title),
        section=haystack(section),
    )


def titles(entries: list[Entry], **wanted: object) -> list[str]:
    return [one.title for one in merge(entries, Wanted(**wanted))]


def test_newest_first_undated_last() -> None:
    assert titles([entry("old", 9), entry("none", None), entry("new", 1)]) == ["new", "old", "none"]


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([entry("A", 1, key="7"), entry("B", 2, key="7")], "A"),
        ([entry("A", 1, "https://www.a.example/x/"), entry("B", 2, "http://a.example/x")], "A"),
        ([entry("The Rates: held!", 1, key="1"), entry("the rates held", 2, key="2")], "The Rates: held!"),
        (
            [
                entry("A", 1, key="1"),
                entry("B", 2, "https://b.example/", key="1"),
                entry("C", 3, "https://b.example/"),
            ],
            "A",
        ),
    ],
    ids=["id", "link", "title", "through each other"],
)
def test_the_same_story_once_by_id_link_or_title(entries: list[Entry], told: str) -> None:
    assert titles(entries) == [told]


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://A.example/x?b=1&utm_source=t&c=%20&fbclid=7#f", "https://a.example/x?b=1&c=%20"),
        ("", None),
        ("ftp://a.example/", None),
        ("https:///x", None),
        ("https://a b.example/", None),
        ('https://a.example/"><script>', None),
        (7, None),
        (None, None),
    ],
)
def test_tracking_is_taken_off_links_and_nothing_else(url: object, clean: str | None) -> None:
    assert clean_url(url) == clean


@each(
    ("topic", "title", "found"),
    [
        ("tesla", "Tesla's recall grows", True),
        ("elections", "An election in Utopia", True),
        ("ecb rate decision", "ECB holds rates", True),
        ("ecb rate decision", "Fed holds rates", False),
        ("tech", "Technology shares fall", True),
        ("ukraine", "Ukrainian harvest begins", True),
        ("us", "The bus is late", False),
        ("ai", "He said so", False),
        ("u.s. economy", "US economy grows", True),
        ("テスラ", "テスラが発表", True),
        ("climate change", "Climate talks", False),
        ("war in the middle east", "Middle East: war grows", True),
    ],
)
def test_topics_match_words_and_not_parts_of_them(topic: str, title: str, found: bool) -> None:
    assert bool(matches(entry(title), topic_words(topic))) == found


def test_the_name_of_the_feed_is_a_topic_too() -> None:
    assert titles([entry("Quarterly figures", section="BBC News technology")], topic="technology")
    assert not titles([entry("Quarterly figures", section="BBC News world")], topic="technology")


def test_better_matches_stand_first() -> None:
    found = titles(
        [entry("Storm over Spain", 1), entry("Storm floods Spain coast", 5)], topic="storm floods spain"
    )
    assert found == ["Storm floods Spain coast", "Storm over Spain"]


@pytest.mark.parametrize(
    ("one", "zone", "told"),
    [
        (entry("late", 10), UTC, []),  # 23:00 UTC of the 17th
        (entry("late", 10), ZoneInfo("Asia/Tokyo"), ["late"]),
        (entry("none", None), UTC, []),
    ],
)
def test_days_are_those_of_the_asker(one: Entry, zone: tzinfo, told: list[str]) -> None:
    assert titles([one], first=date(2026, 5, 18), last=date(2026, 5, 18), zone=zone) == told


@pytest.mark.parametrize(
    ("name", "title", "host", "same"),
    [
        ("bbc", "BBC News", "feeds.bbci.co.uk", True),
        ("bbc", "", "feeds.bbci.co.uk", True),
        ("guardian", "World news | The Guardian", "www.theguardian.com", True),
        ("guardian", "", "www.theguardian.com", True),
        ("new york times", "NYT > World News", "rss.nytimes.com", True),
        ("al jazeera", "", "www.aljazeera.com", True),
        ("nytimes.com", "", "rss.nytimes.com", True),
        ("dw", "", "rss.dw.com", True),
        ("hacker news", "BBC News", "feeds.bbci.co.uk", False),
        ("cnn", "BBC News", "feeds.bbci.co.uk", False),
        ("ap", "Apps weekly", "apps.example", False),
    ],
)
def test_sources_by_the_names_that_people_use(name: str, title: str, host: str, same: bool) -> None:
    assert of_source(name, title, host) == same
