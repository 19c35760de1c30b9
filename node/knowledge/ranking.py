"""How found chunks are scored and put in order.

Pure and total: numbers and values in, numbers and values out. Knows no store, no embedder, no clock.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from node.knowledge.model import Status
from node.language.sentences import content_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray  # numpy may be missing

MAXSIM_CENTRE, MAXSIM_SCALE = 25.0, 5.0
"""The raw score that is 0.5, and how steep the curve is there."""
_MODERATE, _GOOD, _EXCELLENT = 15.0, 25.0, 35.0
QUERY_TOKENS = 32
"""ColBERT fills a question up to so many tokens (Khattab and Zaharia, arXiv:2004.12832): the scale of its
sums, and so of the centre and the bands."""


def reciprocal_rank(lists: Iterable[Sequence[int]], k: int) -> dict[int, float]:
    """The sum of 1 / (k + rank) over the lists that hold an id, ranks from 1, best first (Cormack, Clarke and
    Buettcher, SIGIR 2009). Ids of equal sums stay in the order in which they were met."""
    sums: dict[int, float] = {}
    for ids in lists:
        for rank, one in enumerate(ids, 1):
            sums[one] = sums.get(one, 0.0) + 1.0 / (k + rank)
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def weighed(parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The weighted sum; a part that is not there counts 0."""
    return sum(weight * parts.get(name, 0.0) for name, weight in weights.items())


def share_of_best(scores: Mapping[int, float]) -> dict[int, float]:
    """Each score as a share of the best, in [0, 1]; negative ones are 0."""
    best = max(scores.values(), default=0.0)
    return {one: max(0.0, score) / best if best > 0 else 0.0 for one, score in scores.items()}


def tag_share(asked: Collection[str], tags: Collection[str]) -> float:
    """The share of the question's tags that a document has; 0 where either has none."""
    return len(set(asked) & set(tags)) / len(set(asked)) if asked else 0.0


@lru_cache(maxsize=2_048)
def words_of(text: str) -> frozenset[str]:
    """The different content words of a text; kept, for the same chunks are found again and again."""
    return frozenset(content_words(text))


def jaccard(one: Collection[str], other: Collection[str]) -> float:
    """Words in common by words of both, in [0, 1]."""
    left, right = set(one), set(other)
    return len(left & right) / len(left | right) if left and right else 0.0


def covered(question: str, text: str) -> float:
    """The share in [0, 1] of the question's different content words that stand in ``text``."""
    asked = words_of(question)
    return len(asked & words_of(text)) / len(asked) if asked else 0.0


def maxsim(question: NDArray[np.float32], text: NDArray[np.float32]) -> float:
    """The sum over the question's token vectors, shape (q, d), of the largest product with a token vector of
    the text, shape (t, d). Unit vectors; 0 where either has no token."""
    if not len(question) or not len(text):
        return 0.0
    return float((question @ text.T).max(axis=1).sum())


def full_maxsim(question: NDArray[np.float32], text: NDArray[np.float32]) -> float:
    """``maxsim`` of a question as long as ``QUERY_TOKENS``: without it the score of a short question says
    only that it is short."""
    return maxsim(question, text) * QUERY_TOKENS / max(1, len(question))


def normalised(raw: float) -> float:
    """A raw MaxSim score in (0, 1): a sigmoid."""
    return 1.0 / (1.0 + math.exp(-(raw - MAXSIM_CENTRE) / MAXSIM_SCALE))


def band(raw: float) -> str:
    """What a raw MaxSim score means: below 15 poor, below 25 moderate, up to 35 good, above it excellent."""
    if raw > _EXCELLENT:
        return "excellent"
    if raw >= _GOOD:
        return "good"
    return "moderate" if raw >= _MODERATE else "poor"


def aged(score: float, status: Status, penalties: Mapping[str, float]) -> float:
    """The score less what the status of its document costs."""
    return score - penalties.get(status, 0.0)


def runs(ordinals: Iterable[int]) -> list[tuple[int, int]]:
    """Ordinals as (first, last) of what stands together, in order."""
    found: list[tuple[int, int]] = []
    for one in sorted(set(ordinals)):
        if found and one == found[-1][1] + 1:
            found[-1] = (found[-1][0], one)
        else:
            found.append((one, one))
    return found
