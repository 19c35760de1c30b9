"""Lifetimes by class and by wording."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.model import Freshness
from node.core.settings import Cache
from node.store.retention.freshness import (
    CLASS_LIMIT_S,
    DAY_S,
    HOUR_S,
    STALE,
    TIME_SENSITIVE_LIMIT_S,
    Stale,
    lifetime_s,
    stale_windows,
)
from tests.each import each


def test_every_class_has_its_limit() -> None:
    assert set(CLASS_LIMIT_S) == set(Freshness)


@pytest.mark.parametrize(
    ("freshness", "least_s", "most_s"),
    [
        (Freshness.PRICE, 30, 60),
        (Freshness.LIVE_SCORE, 15, 30),
        (Freshness.FINAL_SCORE, 30 * DAY_S, 30 * DAY_S),
        (Freshness.WEATHER_NOW, 600, 600),
        (Freshness.FORECAST, HOUR_S, HOUR_S),
        (Freshness.NEWS, 900, 900),
        (Freshness.CURRENCY, HOUR_S, HOUR_S),
        (Freshness.DEFINITION, 90 * DAY_S, 90 * DAY_S),
        (Freshness.GENERAL, 7 * DAY_S, 7 * DAY_S),
        (Freshness.MODEL_ALONE, 1, 7 * DAY_S),
        (Freshness.TIME_SENSITIVE, 1, HOUR_S),
    ],
)
def test_the_table_of_the_design(freshness: Freshness, least_s: int, most_s: int) -> None:
    life = lifetime_s(freshness, query="something")
    assert life is not None
    assert least_s <= life <= most_s


@pytest.mark.parametrize("freshness", [Freshness.COMPUTED, Freshness.GOVERNANCE])
def test_what_lives_until_superseded(freshness: Freshness) -> None:
    assert lifetime_s(freshness, query="What was proposal 123") is None
    assert lifetime_s(freshness, query="What was proposal 123", asked_ttl_s=60) == 60
    assert lifetime_s(freshness, query="What is the latest proposal") == HOUR_S


def test_the_routes_word_counts_too() -> None:
    assert lifetime_s(Freshness.GENERAL, query="Explain it", time_sensitive=True) == HOUR_S


@given(st.sampled_from(Freshness), st.text(max_size=60), st.booleans(), st.none() | st.integers(-10, 10**9))
def test_a_lifetime_never_exceeds_its_class_nor_what_was_asked(
    freshness: Freshness, query: str, time_sensitive: bool, asked: int | None
) -> None:
    life = lifetime_s(freshness, query=query, time_sensitive=time_sensitive, asked_ttl_s=asked)
    limit = CLASS_LIMIT_S[freshness]
    if life is None:
        assert limit is None
        assert asked is None
        assert not time_sensitive
        return
    assert life >= 0
    assert limit is None or life <= limit
    assert asked is None or life <= max(0, asked)
    assert not time_sensitive or life <= TIME_SENSITIVE_LIMIT_S


# --- past its time --------------------------------------------------------------------------------


def test_every_class_has_its_stale_windows_and_the_store_keeps_records_that_long() -> None:
    assert set(STALE) == set(Freshness)
    for one in STALE.values():
        assert 0 <= one.revalidate_s <= one.error_s
    assert Cache().expired_grace_s >= max(one.error_s for one in STALE.values())


@pytest.mark.parametrize("freshness", [Freshness.PRICE, Freshness.LIVE_SCORE, Freshness.TIME_SENSITIVE])
def test_figures_that_people_act_on_are_asked_for_again_first(freshness: Freshness) -> None:
    assert STALE[freshness].revalidate_s == 0
    assert STALE[freshness].error_s > 0


def test_no_window_before_a_refresh_is_long_beside_the_life_of_its_class() -> None:
    for one, windows in STALE.items():
        limit = CLASS_LIMIT_S[one]
        assert limit is None or windows.revalidate_s <= limit / 4


@each("freshness", Freshness)
def test_a_record_of_full_life_has_the_windows_of_its_class(freshness: Freshness) -> None:
    looked_up = freshness in (
        Freshness.PRICE, Freshness.PAST_PRICE, Freshness.LIVE_SCORE, Freshness.FINAL_SCORE,
        Freshness.WEATHER_NOW, Freshness.FORECAST, Freshness.NEWS, Freshness.CURRENCY,
    )  # fmt: skip
    assert stale_windows(CLASS_LIMIT_S[freshness], looked_up=looked_up) == STALE[freshness]


@given(st.integers(0, 100 * DAY_S), st.booleans())
def test_whatever_shortens_a_life_shortens_its_windows(life_s: int, looked_up: bool) -> None:
    now, longer = (stale_windows(seconds, looked_up=looked_up) for seconds in (life_s, life_s + 1))
    assert now.revalidate_s <= longer.revalidate_s
    assert now.error_s <= longer.error_s
    assert now.revalidate_s <= max(0, life_s)


def test_an_answer_that_its_wording_cut_to_an_hour_is_not_served_before_a_refresh() -> None:
    life = lifetime_s(Freshness.GENERAL, query="who is the current president of France")
    assert stale_windows(life, looked_up=False).revalidate_s == 0


def test_what_is_said_of_today_ends_with_the_day_even_one_of_23_hours() -> None:
    evening = datetime(2026, 11, 22, 23, 45, tzinfo=UTC)
    assert lifetime_s(Freshness.GENERAL, query="what is on today", now=evening) == 15 * 60
    assert lifetime_s(Freshness.GENERAL, query="what is on today", now=evening.replace(hour=9)) == HOUR_S
    spring = datetime(2026, 3, 29, 1, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    assert lifetime_s(Freshness.GENERAL, query="how old is the mayor of Berlin", now=spring) == 22 * HOUR_S


def test_an_answer_that_was_not_to_be_served_at_all_is_not_served_stale_either() -> None:
    life = lifetime_s(Freshness.WEATHER_NOW, query="weather in Oslo", asked_ttl_s=0)
    assert stale_windows(life, looked_up=True) == Stale(0, 0)
