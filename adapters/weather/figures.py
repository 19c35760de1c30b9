"""Figures over a row of days: what "average", "volatility" and the like mean here. Pure.

Rules of this file:
- Everything is computed on ``Decimal``; nothing is rounded here.
- The standard deviation is that of a sample (n - 1), since a span of days is one.
- Volatility is the standard deviation of the changes from one day to the next; days that do not follow each
  other make no change.
- A day is an anomaly when it lies more than ``UNUSUAL`` standard deviations from the mean of its own span.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from itertools import pairwise

UNUSUAL = Decimal(2)
LEAST_FOR_ANOMALIES = 6
"""With fewer days none can lie 2 sample deviations off: the largest possible z-score is (n - 1) /"
" sqrt(n)."""

_EXACT = Context(prec=34)


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A day that stands out; ``z`` is its distance from the mean in standard deviations."""

    day: date
    value: Decimal
    z: Decimal


def mean(values: Sequence[Decimal]) -> Decimal:
    """The arithmetic mean. Raises ``ValueError`` without values, as do the others with too few."""
    if not values:
        raise ValueError("a mean needs a value")
    total = Decimal(0)
    for value in values:
        total = _EXACT.add(total, value)
    return _EXACT.divide(total, Decimal(len(values)))


def median(values: Sequence[Decimal]) -> Decimal:
    """The middle value, or the mean of the two in the middle."""
    if not values:
        raise ValueError("a median needs a value")
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else mean(ordered[half - 1 : half + 1])


def deviation(values: Sequence[Decimal]) -> Decimal:
    """The sample standard deviation, of two values or more."""
    if len(values) < 2:
        raise ValueError("a standard deviation needs two values")
    middle = mean(values)
    squares = Decimal(0)
    for value in values:
        off = _EXACT.subtract(value, middle)
        squares = _EXACT.add(squares, _EXACT.multiply(off, off))
    return _EXACT.sqrt(_EXACT.divide(squares, Decimal(len(values) - 1)))


def changes(days: Sequence[tuple[date, Decimal]]) -> list[Decimal]:
    """The changes between days that follow each other; ``days`` in order."""
    return [
        _EXACT.subtract(after, before)
        for (day, before), (following, after) in pairwise(days)
        if following - day == timedelta(days=1)
    ]


def volatility(days: Sequence[tuple[date, Decimal]]) -> Decimal:
    """The standard deviation of the day-to-day changes, of two changes or more."""
    return deviation(changes(days))


def anomalies(days: Sequence[tuple[date, Decimal]]) -> list[Anomaly]:
    """The days that stand out, in order; none among equal days."""
    if len(days) < LEAST_FOR_ANOMALIES:
        raise ValueError(f"anomalies need {LEAST_FOR_ANOMALIES} days")
    values = [value for _, value in days]
    middle, spread = mean(values), deviation(values)
    if not spread:
        return []
    scored = [(day, value, _EXACT.divide(_EXACT.subtract(value, middle), spread)) for day, value in days]
    return [Anomaly(day, value, z) for day, value, z in scored if abs(z) > UNUSUAL]
