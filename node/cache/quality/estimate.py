"""How often a hit is wrong: the current estimate from labels, with its intervals, by class and tier.

Rules:
1. Audits and shadow labels are a random sample of hits and make the estimate. Feedback is not (people report
   what annoys them): it is counted beside it and never mixed in.
2. Undecided labels are counted apart and are in no share.
3. One question counts once for one record and verdict: asked a hundred times it is no hundred observations,
   which the intervals assume. Only the newest ``WINDOW`` of these count, so that the estimate follows the
   traffic; of feedback as many beside them, so that no flood of it pushes the sample out.
4. Intervals are Clopper and Pearson's (Biometrika 26, 1934), exact for the binomial: they never cover less
   than they say. ``upper`` is one-sided at 95 %, ``low`` and ``high`` are two-sided at 95 %.

Pure. Must not know: where labels come from, the clock.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from node.store.hit_label import FEEDBACK, RIGHT, UNDECIDED, WRONG, Label

WINDOW = 10_000
ALPHA = 0.05
_HALVINGS = 60
"""Halvings of [0, 1] that a limit is found in: finer than a float's last digit needs."""
_FRACTION_STEPS = 500
_TINY = 1e-300
_CLOSE = 1e-14


@lru_cache(maxsize=4_096)
def upper_limit(wrong: int, of: int, alpha: float = ALPHA) -> float:
    """The largest share that ``wrong`` of ``of`` does not rule out at ``alpha``, one-sided; 1.0 of none."""
    _check(wrong, of)
    return 1.0 if wrong == of else _solve(1.0 - alpha, wrong + 1, of - wrong)


@lru_cache(maxsize=4_096)
def lower_limit(wrong: int, of: int, alpha: float = ALPHA) -> float:
    """The smallest share that ``wrong`` of ``of`` does not rule out at ``alpha``, one-sided; 0.0 of none."""
    _check(wrong, of)
    return 0.0 if wrong == 0 else _solve(alpha, wrong, of - wrong + 1)


def _check(wrong: int, of: int) -> None:
    if not 0 <= wrong <= of:
        raise ValueError("wrong must lie between 0 and the number of labels")


def _solve(level: float, a: float, b: float) -> float:
    """x with I_x(a, b) = ``level``: the quantile of the beta distribution, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _beta(middle, a, b) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _apart_from_zero(1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _FRACTION_STEPS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _apart_from_zero(1.0 + factor * d)
            c = _apart_from_zero(1.0 + factor / c)
            value *= c * d
        if abs(c * d - 1.0) < _CLOSE:
            break
    return value


def _apart_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of ``right + wrong`` decided labels, the share that is wrong. ``share`` is None without any."""

    right: int = 0
    wrong: int = 0
    undecided: int = 0

    @property
    def decided(self) -> int:
        return self.right + self.wrong

    @property
    def share(self) -> float | None:
        return self.wrong / self.decided if self.decided else None

    @property
    def upper(self) -> float:
        """One-sided 95 % upper limit; 1.0 while nothing is known."""
        return upper_limit(self.wrong, self.decided)

    @property
    def low(self) -> float:
        """Lower end of the two-sided 95 % interval."""
        return lower_limit(self.wrong, self.decided, ALPHA / 2)

    @property
    def high(self) -> float:
        """Upper end of the two-sided 95 % interval."""
        return upper_limit(self.wrong, self.decided, ALPHA / 2)


_Counted: TypeAlias = tuple[str, str, bool, str]
"""Kind, tier, whether the label is no random sample, verdict."""


class Estimates:
    """The newest labels, counted."""

    def __init__(self, window: int = WINDOW) -> None:
        self._newest: dict[bool, OrderedDict[tuple[str, str, str], _Counted]] = {
            biased: OrderedDict() for biased in (True, False)
        }
        self._counts: Counter[_Counted] = Counter()
        self._window = window

    def add(self, label: Label) -> None:
        """Count a label; beyond the window the oldest is forgotten."""
        is_biased = label.source == FEEDBACK
        one = (label.kind, label.tier, is_biased, label.verdict)
        newest, key = self._newest[is_biased], (label.hit.cid, label.hit.query_hash, label.verdict)
        if key in newest:
            self._drop(newest.pop(key))
        newest[key] = one
        self._counts[one] += 1
        if len(newest) > self._window:
            self._drop(newest.popitem(last=False)[1])

    def _drop(self, one: _Counted) -> None:
        self._counts[one] -= 1
        if not self._counts[one]:
            del self._counts[one]

    def overall(self) -> Estimate:
        """Over all classes and tiers, from the random samples."""
        return self._sum(lambda _, __, is_biased: not is_biased)

    def feedback(self) -> Estimate:
        """What people said: not a random sample."""
        return self._sum(lambda _, __, is_biased: is_biased)

    def by_route(self) -> dict[tuple[str, str], Estimate]:
        """By (class of question, tier), from the random samples."""
        keys = sorted({(kind, tier) for kind, tier, is_biased, _ in self._counts if not is_biased})
        return {key: self._sum(lambda *one, key=key: one == (*key, False)) for key in keys}

    def _sum(self, wanted: Callable[[str, str, bool], bool]) -> Estimate:
        counts: Counter[str] = Counter()
        for (kind, tier, is_biased, verdict), count in self._counts.items():
            if wanted(kind, tier, is_biased):
                counts[verdict] += count
        return Estimate(counts[RIGHT], counts[WRONG], counts[UNDECIDED])
