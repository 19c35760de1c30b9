"""Lifetimes by class and by wording."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.model import Freshness
from node.score.freshness import (
    CLASS_LIMIT_S,
    DAY_S,
    HOUR_S,
    TIME_SENSITIVE_LIMIT_S,
    lifetime_s,
    speaks_of_now,
)


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


@pytest.mark.parametrize(
    "query",
    [
        "What happened today",
        "Who is the CURRENT president",
        "latest release of Python",
        "what is Kubo's newest version",
        "Is the bridge open now",
        "events this week",
        "who won last Sunday",
        "What did they decide 3 days ago",
        "the state of the art as of 2026",
        "Will it rain tomorrow",
        "anything new in the last 24 hours",
    ],
)
def test_wording_that_speaks_of_now(query: str) -> None:
    assert speaks_of_now(query)
    assert lifetime_s(Freshness.DEFINITION, query=query) == TIME_SENSITIVE_LIMIT_S
    assert lifetime_s(Freshness.PRICE, query=query) == CLASS_LIMIT_S[Freshness.PRICE]


@pytest.mark.parametrize(
    "query",
    [
        "Explain quantum computing",
        "What is IPFS",
        "I know what snow is",
        "What is an electric current",
        "How do ocean currents form",
        "Who was the first president of France",
        "What happened in 1848",
        "",
    ],
)
def test_wording_that_does_not(query: str) -> None:
    assert not speaks_of_now(query)


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


@pytest.mark.parametrize("text", ["1" * 65_536, "last " * 13_000, "in 1 " * 13_000, "last " + " " * 65_536])
def test_hostile_text_is_quick(text: str) -> None:
    speaks_of_now(text)
