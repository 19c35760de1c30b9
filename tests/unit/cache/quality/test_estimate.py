"""Estimates: limits that cover what they say, windows, and what is not mixed in."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cache.quality.estimate import ALPHA, Estimate, Estimates, lower_limit, upper_limit
from node.store.hit_label import AUDIT, FEEDBACK, RIGHT, SHADOW, UNDECIDED, WRONG, Hit, Label

NOW = datetime(2026, 11, 22, tzinfo=UTC)


_ASKED = count()


def label(verdict: str, kind: str = "generative", tier: str = "semantic", **more: str) -> Label:
    """Of a question of its own, or of ``asked``; by an audit, or from another ``source``."""
    asked = more.get("asked", f"hash {next(_ASKED)}")
    hit = Hit("cid", kind, tier, 0.9, 0.8, 0.01, asked)
    return Label(hit, more.get("source", AUDIT), verdict, NOW)


@pytest.mark.parametrize(
    ("wrong", "of", "upper"),
    # 1 - 0.05 ** (1 / n) for none wrong; the others from the tables of Clopper and Pearson (qbeta in R).
    [(0, 1, 0.95), (0, 59, 1 - 0.05 ** (1 / 59)), (5, 100, 0.1022534), (1, 10, 0.3941634), (3, 3, 1.0)],
)
def test_upper_limits_are_those_of_the_tables(wrong: int, of: int, upper: float) -> None:
    assert upper_limit(wrong, of) == pytest.approx(upper, abs=1e-6)


def test_limits_of_nothing_say_nothing() -> None:
    assert (lower_limit(0, 0), upper_limit(0, 0)) == (0.0, 1.0)
    empty = Estimate()
    assert empty.share is None
    assert (empty.low, empty.high, empty.upper) == (0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="between 0 and"):
        upper_limit(2, 1)
    with pytest.raises(ValueError, match="between 0 and"):
        lower_limit(-1, 1)


@given(st.integers(0, 2_000), st.integers(0, 2_000))
def test_the_interval_holds_the_share_and_shrinks_with_labels(wrong: int, right: int) -> None:
    one = Estimate(right, wrong)
    if one.share is not None:
        assert one.low <= one.share <= one.upper <= one.high
        many = Estimate(right * 10, wrong * 10)
        assert many.high - many.low <= one.high - one.low + 1e-9


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05, 0.3, 0.5])
@pytest.mark.parametrize("of", [1, 10, 60, 300])
def test_limits_cover_at_least_what_they_say(share: float, of: int) -> None:
    """Exactly, by adding up the binomial: no sampling."""
    covered_above = covered_between = 0.0
    for wrong in range(of + 1):
        chance = math.comb(of, wrong) * share**wrong * (1 - share) ** (of - wrong)
        one = Estimate(of - wrong, wrong)
        covered_above += chance * (share <= one.upper)
        covered_between += chance * (one.low <= share <= one.high)
    assert covered_above >= 1 - ALPHA - 1e-9
    assert covered_between >= 1 - ALPHA - 1e-9


def test_feedback_is_counted_beside_and_never_mixed_in() -> None:
    estimates = Estimates()
    for _ in range(3):
        estimates.add(label(RIGHT))
    estimates.add(label(WRONG, source=SHADOW))
    for _ in range(5):
        estimates.add(label(WRONG, source=FEEDBACK))
    estimates.add(label(UNDECIDED))
    assert estimates.overall() == Estimate(3, 1, 1)
    assert estimates.overall().share == 0.25
    assert estimates.feedback() == Estimate(0, 5, 0)


def test_estimates_are_split_by_class_and_tier() -> None:
    estimates = Estimates()
    estimates.add(label(RIGHT))
    estimates.add(label(WRONG, kind="historical"))
    estimates.add(label(WRONG, tier="slot"))
    estimates.add(label(WRONG, kind="deterministic", source=FEEDBACK))
    assert estimates.by_route() == {
        ("generative", "semantic"): Estimate(1, 0),
        ("generative", "slot"): Estimate(0, 1),
        ("historical", "semantic"): Estimate(0, 1),
    }


def test_only_the_newest_labels_count() -> None:
    estimates = Estimates(window=4)
    for verdict in (WRONG, WRONG, RIGHT, RIGHT, RIGHT, RIGHT):
        estimates.add(label(verdict))
    for _ in range(9):
        estimates.add(label(WRONG, source=FEEDBACK))
    assert estimates.feedback() == Estimate(0, 4)
    assert estimates.overall() == Estimate(4, 0)
    assert estimates.by_route() == {("generative", "semantic"): Estimate(4, 0)}


def test_one_question_counts_once_however_often_it_is_asked() -> None:
    estimates = Estimates(window=3)
    for _ in range(100):
        estimates.add(label(RIGHT, asked="again"))
        estimates.add(label(WRONG, asked="again", source=FEEDBACK))
    assert (estimates.overall(), estimates.feedback()) == (Estimate(1, 0), Estimate(0, 1))
    estimates.add(label(WRONG, asked="again"))
    estimates.add(label(RIGHT, asked="again", tier="slot"))
    assert estimates.by_route() == {
        ("generative", "semantic"): Estimate(0, 1),
        ("generative", "slot"): Estimate(1, 0),
    }
    for _ in range(3):
        estimates.add(label(RIGHT))
    assert estimates.overall() == Estimate(3, 0)
