"""vCache's verified policy, written anew from its paper (arXiv 2502.03771), with a judge that is always
right.

For each stored question the policy fits a logistic curve (threshold t, steepness g) to what it has
observed of it: pairs of a later question's cosine and whether the stored answer was right for it. With
``delta`` the share of wrong answers that its user allows, a look-up whose nearest stored question has the
cosine s is explored (asked anew) with the probability

    tau = min over e of 1 - delta / (1 - (1 - e) * sigmoid(g * (s - t_e)))

where t_e is the upper confidence limit of t at 1 - e, else served. What was explored is judged: the
judgement is observed, and only a question whose answer is another one is stored. As the authors' code
does, two observations, (0, wrong) and (1, right), stand at the start, nothing is served before
``SEEN_MIN``, and there are 50 values of e. Where the observations part without overlap the likelihood has
no greatest value: the curve is then held by a small penalty, and the variance of t, for which the authors
have a table, comes from a formula near to it (0.035 at six observations, falling to 0.008).

Promises: deterministic by seed. Must not know: streams, classes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

SEEN_MIN = 6
_E = np.linspace(1e-6, 1 - 1e-6, 50)
_Z = np.array([NormalDist().inv_cdf(1 - float(e)) for e in _E])
_PENALTY = 1e-3
_STEPS = 60

Floats = NDArray[np.float64]


class VCache:
    """The policy. Stored questions are known by a number."""

    def __init__(self, delta: float, seed: int = 7) -> None:
        self._delta = delta
        self._seen: dict[int, list[tuple[float, bool]]] = {}
        self._rng = random.Random(seed)

    def decide(self, _: int, near: Sequence[tuple[int, float]]) -> int | None:
        """The place of the nearest stored question if its answer is given, else None."""
        if not near:
            return None
        stored, cosine = near[0]
        seen = self._seen.get(stored, [])
        if len(seen) + 2 < SEEN_MIN:
            return None
        explored = self._rng.random() <= tau([(0.0, False), (1.0, True), *seen], cosine, self._delta)
        return None if explored else 0

    def learn(self, _: int, stored: int, cosine: float, right: bool) -> bool:
        """The judge's word on a look-up that was explored; whether its question is stored."""
        self._seen.setdefault(stored, []).append((cosine, right))
        return not right


def tau(seen: list[tuple[float, bool]], cosine: float, delta: float) -> float:
    """The probability with which a look-up is explored."""
    s = np.array([one for one, _ in seen])
    y = np.array([float(right) for _, right in seen])
    t, g, variance = fit(s, y)
    limits = np.clip(t + _Z * math.sqrt(variance), 0.0, 1.0)
    right = (1 - _E) / (1 + np.exp(-np.clip(g * (cosine - limits), -500, 500)))
    return float(np.min(1 - delta / (1 - right)))


def fit(s: Floats, y: Floats) -> tuple[float, float, float]:
    """Threshold, steepness and the threshold's variance (delta method)."""
    x = np.stack((np.ones_like(s), s), axis=1)
    beta = np.zeros(2)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -500, 500)))
        hessian = x.T @ ((p * (1 - p))[:, None] * x) + _PENALTY * np.eye(2)
        step = np.linalg.solve(hessian, x.T @ (y - p) - _PENALTY * beta)
        beta = beta + step
        if float(np.abs(step).max()) < 1e-8:
            break
    g = max(float(beta[1]), 1e-6)
    t = min(1.0, max(0.0, -float(beta[0]) / g))
    if s[y == 1].min() > s[y == 0].max():
        return t, g, max(0.008, 0.035 * (SEEN_MIN / len(s)) ** 1.5)
    gradient = np.array([-1 / g, float(beta[0]) / g**2])
    return t, g, max(0.0, float(gradient @ np.linalg.inv(hessian) @ gradient))
