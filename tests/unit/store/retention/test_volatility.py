"""How soon an answer may change, read from the question: a table of questions with the longest life that each
may have, and the name of the row that says so."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.model import Freshness
from node.store.retention.freshness import CLASS_LIMIT_S, TIME_SENSITIVE_LIMIT_S, lifetime, lifetime_s
from node.store.retention.volatility import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    ROWS,
    only_sounds_of_now,
    speaks_of_now,
    volatility,
)
from tests.each import each
from tests.unit.cache.tables import rows

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)

TABLE = rows(__file__, "volatility.txt")


def test_the_table_says_each_thing_once_and_has_every_row_of_the_program() -> None:
    assert len({question for _, question in TABLE}) == len(TABLE)
    assert {name for name, _ in TABLE} >= {row.means.name for row in ROWS}


@each(("name", "question"), TABLE)
def test_the_table(name: str, question: str) -> None:
    assert volatility(question, NOW).name == name


NOW_ALSO = {"What is the current price of gold", "live score of the Lakers game", "breaking news"}
"""They speak of now, and another row gives them a shorter life."""


@each(("name", "question"), [*TABLE, ("", "")])
def test_wording_that_speaks_of_now_and_wording_that_does_not(name: str, question: str) -> None:
    assert speaks_of_now(question) is (name == "speaks_of_now" or question in NOW_ALSO)
    if name == "speaks_of_now":
        assert lifetime_s(Freshness.DEFINITION, query=question) == TIME_SENSITIVE_LIMIT_S
        assert lifetime_s(Freshness.PRICE, query=question) == CLASS_LIMIT_S[Freshness.PRICE]


@each(
    ("question", "least_s", "most_s"),
    [
        ("who is the CEO of Apple", DAY_S, 21 * DAY_S),
        ("tallest building in the world", DAY_S, 30 * DAY_S),
        ("latest version of python", 1, HOUR_S),
        ("what version of Node.js is LTS", HOUR_S, DAY_S),
        ("population of Paris", DAY_S, 30 * DAY_S),
        ("opening hours of the Louvre", HOUR_S, DAY_S),
        ("tax brackets 2026", HOUR_S, 7 * DAY_S),
        ("tax brackets", HOUR_S, 7 * DAY_S),
        ("gold price", 1, MINUTE_S),
        ("weather in Oslo", 1, 10 * MINUTE_S),
        ("news about Ukraine", 1, 15 * MINUTE_S),
        ("how old is Taylor Swift", 1, DAY_S),
        ("how many users does Facebook have", 1, DAY_S),
        ("coffee near me", 1, HOUR_S),
        ("symptoms of flu", 7 * DAY_S, 31 * DAY_S),
        ("how to tie a tie", 30 * DAY_S, 90 * DAY_S),
        ("who won the 1998 World Cup", 90 * DAY_S, 90 * DAY_S),
        ("what is photosynthesis", 90 * DAY_S, 90 * DAY_S),
    ],
)
def test_how_long_a_definition_of_it_would_live(question: str, least_s: int, most_s: int) -> None:
    life = lifetime_s(Freshness.DEFINITION, query=question, now=NOW)
    assert life is not None
    assert least_s <= life <= most_s


def test_a_year_is_past_by_the_clock_of_the_asker() -> None:
    question = "tax brackets 2026"
    assert volatility(question, NOW).name == "this_year_or_later"
    assert volatility(question, NOW.replace(year=2027)).name == "dated_past"
    assert volatility(question).name == "law", "without a clock no recent year is past"
    assert volatility("tax brackets 1985").name == "dated_past"
    assert volatility("price of bread in the 2020s", NOW).name == "this_year_or_later"


def test_what_changes_with_the_date_does_not_outlive_it() -> None:
    tokyo = timezone(timedelta(hours=9))
    late = datetime(2026, 11, 22, 23, 50, tzinfo=tokyo)
    assert lifetime_s(Freshness.GENERAL, query="how old is Taylor Swift", now=late) == 600
    assert lifetime_s(Freshness.GENERAL, query="days until Christmas", now=late) == 600
    assert lifetime_s(Freshness.GENERAL, query="how old is Taylor Swift", now=NOW) == 12 * HOUR_S
    assert lifetime_s(Freshness.GENERAL, query="days until Christmas", now=NOW) == HOUR_S


def test_what_a_source_says_counts_for_more_than_the_wording() -> None:
    assert lifetime_s(Freshness.COMPUTED, query="how many minutes are in 3 days", now=NOW) is None
    assert lifetime_s(Freshness.GOVERNANCE, query="how many people voted on proposal 12", now=NOW) is None
    assert lifetime_s(Freshness.PAST_PRICE, query="price of bitcoin on 2026-01-01", now=NOW) == 30 * DAY_S
    assert lifetime_s(Freshness.GOVERNANCE, query="what is the latest proposal", now=NOW) == HOUR_S


def test_what_somebody_vouches_for_is_not_cut_below_an_hour_by_wording_alone() -> None:
    def life(query: str, now: datetime = NOW, ttl_s: int | None = None) -> int | None:
        return lifetime_s(
            Freshness.DEFINITION, query=query, now=now, wording_least_s=HOUR_S, asked_ttl_s=ttl_s
        )

    assert life("gold price") == HOUR_S
    assert life("gold price", ttl_s=5) == 5
    assert life("what is on today", NOW.replace(hour=23, minute=50)) == 600, "it ends with the day"


def test_the_reason_is_told() -> None:
    life = lifetime(Freshness.GENERAL, query="who is the CEO of Apple", now=NOW)
    assert (life.code, life.seconds) == ("office_holder", 3 * DAY_S)
    assert "office" in life.reason
    assert lifetime(Freshness.GENERAL, query="explain tides", asked_ttl_s=7, now=NOW).code == "asked_ttl"
    assert lifetime(Freshness.GENERAL, query="explain osmosis", now=NOW).code == "class_general"
    assert lifetime(Freshness.COMPUTED, query="2+2", now=NOW).seconds is None


def test_codes_fit_the_log() -> None:
    for row in ROWS:
        assert re.fullmatch(r"[a-z0-9_]{1,40}", row.means.name)
        assert row.means.reason
        assert row.means.limit_s is not None
        assert row.means.limit_s > 0


@pytest.mark.parametrize(
    ("question", "only_sounds"),
    [
        ("what is an electric current", True),
        ("how long do cats live", True),
        ("what is the current time", False),
        ("is the electric current still on", False),
        ("what is photosynthesis", False),
        ("qué corriente eléctrica hay hoy", False),
    ],
)
def test_what_only_sounds_of_now(question: str, only_sounds: bool) -> None:
    assert only_sounds_of_now(question) is only_sounds


@given(
    st.lists(st.sampled_from([question for _, question in TABLE]), min_size=1, max_size=2),
    st.sampled_from(Freshness),
)
def test_two_questions_in_one_live_no_longer_than_words_of_now_allow(
    questions: list[str], freshness: Freshness
) -> None:
    text = ". ".join(questions)
    if any(volatility(one, NOW).name == "speaks_of_now" for one in questions):
        assert speaks_of_now(text)
        life = lifetime_s(freshness, query=text, now=NOW)
        assert life is not None
        assert life <= HOUR_S


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    found = volatility(text, NOW)
    assert found.limit_s is None or found.limit_s > 0


@each(
    "text",
    [
        *("1 " * 40_000, "last " * 13_000, "how many " * 9_000, "who is the " * 8_000, "is a " * 13_000),
        *("when does a " * 6_000, "do x " * 13_000, "how is " * 9_000 + "work", "a" * 65_536),
        *("1" * 65_536, "in 1 " * 13_000, "last " + " " * 65_536),
    ],
)
def test_a_hostile_text_is_read_in_bounded_time_and_not_trusted_for_long(text: str) -> None:
    """Only a window is read; a pattern that backtracked over it would run into the limit of the test."""
    found = volatility(text, NOW)
    assert found.limit_s is not None
    assert found.limit_s <= DAY_S
    speaks_of_now(text)
