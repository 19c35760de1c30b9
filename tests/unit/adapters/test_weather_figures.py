"""The statistics over days, against the textbook and against the standard library."""

from __future__ import annotations

import statistics
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.weather import figures

FIRST = date(2026, 5, 1)
TEMPERATURES = st.lists(st.decimals(-60, 60, places=1), min_size=3, max_size=60)


def days(values: list[Decimal]) -> list[tuple[date, Decimal]]:
    return [(FIRST + timedelta(days=at), value) for at, value in enumerate(values)]


@given(TEMPERATURES)
def test_mean_median_and_deviation_agree_with_the_standard_library(values: list[Decimal]) -> None:
    floats = [float(value) for value in values]
    assert float(figures.mean(values)) == pytest.approx(statistics.fmean(floats), abs=1e-9)
    assert float(figures.median(values)) == pytest.approx(statistics.median(floats), abs=1e-9)
    assert float(figures.deviation(values)) == pytest.approx(statistics.stdev(floats), abs=1e-6)


@given(TEMPERATURES)
def test_volatility_is_the_deviation_of_the_changes(values: list[Decimal]) -> None:
    steps = [float(b - a) for a, b in pairwise(values)]
    assert float(figures.volatility(days(values))) == pytest.approx(statistics.stdev(steps), abs=1e-6)


def test_a_steady_rise_is_not_volatile() -> None:
    assert figures.volatility(days([Decimal(n) for n in range(10)])) == 0


def test_days_that_do_not_follow_each_other_make_no_change() -> None:
    rows = [
        (FIRST, Decimal(1)),
        (FIRST + timedelta(days=1), Decimal(4)),
        (FIRST + timedelta(days=5), Decimal(90)),
    ]
    assert figures.changes(rows) == [Decimal(3)]


def test_an_outlier_is_found_with_its_score() -> None:
    rows = days([Decimal(10)] * 9 + [Decimal(20)])
    (found,) = figures.anomalies(rows)
    assert found.day == FIRST + timedelta(days=9)
    # Mean 11, sample deviation sqrt(10): (20 - 11) / sqrt(10).
    assert float(found.z) == pytest.approx(9 / 10**0.5)


def test_equal_days_hold_no_anomaly() -> None:
    assert figures.anomalies(days([Decimal(3)] * 8)) == []


@given(st.lists(st.decimals(-60, 60, places=1), min_size=5, max_size=5))
def test_among_five_days_none_can_be_unusual(values: list[Decimal]) -> None:
    spread = figures.deviation(values)
    if spread:
        assert all(abs(value - figures.mean(values)) / spread <= figures.UNUSUAL for value in values)
    with pytest.raises(ValueError, match="6 days"):
        figures.anomalies(days(values))


def test_too_few_values_are_refused() -> None:
    for function in (figures.mean, figures.median):
        with pytest.raises(ValueError, match="needs a value"):
            function([])
    with pytest.raises(ValueError, match="two values"):
        figures.deviation([Decimal(1)])
    with pytest.raises(ValueError, match="two values"):
        figures.volatility(days([Decimal(1), Decimal(2)]))
