"""Whether a stored entry is about what is asked, so that it is worth reading: not whether it answers.

relevance = max(cosine to the stored question, cosine to the stored answer) + weight x coverage, where
coverage is the share of the question's content words, weighted by their rarity, that stand in the entry.
Weight and ``coverage_floor`` are fitted on labelled questions by ``python -m bench.evidence``, which reports
on the floor too; they belong to one embedder (``relevance.json``). With another embedder, or with none,
coverage alone decides.

Linear fusion, not reciprocal rank: among a community's 24 notes and the starter entries the right one comes
first for .84 of the 88 questions fitted on and .80 of the 88 kept back, against .70 and .72 by rank fusion. A
rank does not say how near the nearest is, and a floor has to.

Whether a question is about what people stored here at all, ``concerns`` says: by the nearest of their notes,
by how near the next ones are, for questions to a community lie near many of its notes, and by the question's
own vector, where the embedder made one: "can I smoke in the yard" is asked of a place, "can I freeze rice" is
not, however near the notes are (``python -m bench.concern``).

Pure. Must not know: stores, indices, models.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

NEAREST = 5
_FAR = 0.1
"""The cosine of a note that was not near enough to be offered."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``embedder`` is the digest of the weights that the cosines must come from; ``concern`` are the weights
    of ``signs_of`` and, last, what is added. ``asked``: the weights of a question's vector, and what is
    added: the log odds that it is asked of a place or group; ``concern_asked`` as ``concern``, with those
    odds as one sign more."""

    embedder: str
    weight: float
    floor: float
    coverage_floor: float
    concern: tuple[float, ...] = ()
    asked: tuple[float, ...] = ()
    concern_asked: tuple[float, ...] = ()

    def score(self, cosine: float | None, coverage: float, embedder: str) -> float | None:
        """The relevance, or None below the floor. ``cosine`` in [-1, 1], None where there is none."""
        if cosine is None or embedder != self.embedder:
            return coverage if coverage >= self.coverage_floor else None
        value = max(0.0, cosine) + self.weight * coverage
        return value if value >= self.floor else None

    def concerns(self, notes: Sequence[tuple[float, float]], vector: Iterable[float] | None = None) -> bool:
        """Whether a question with these notes of people near it, as (relevance, cosine), is about what they
        stored. ``vector``: the question's, unit length, of this rule's embedder; None where there is none."""
        if not notes:
            return False
        if vector is None or not self.asked:
            return _sum(self.concern, (*self.signs_of(notes), 1.0)) >= 0.0 if self.concern else False
        odds = _sum(self.asked, (*vector, 1.0))
        return _sum(self.concern_asked, (*self.signs_of(notes), odds, 1.0)) >= 0.0

    def signs_of(self, notes: Sequence[tuple[float, float]]) -> tuple[float, float, float, float]:
        """The best relevance, cosine and coverage, and the mean of the best ``NEAREST`` cosines."""
        cosines = sorted((cosine for _, cosine in notes), reverse=True)[:NEAREST]
        cosines += [_FAR] * (NEAREST - len(cosines))
        coverage = max((relevance - max(0.0, cosine)) / self.weight for relevance, cosine in notes)
        return max(relevance for relevance, _ in notes), cosines[0], coverage, sum(cosines) / NEAREST


def _sum(weights: Sequence[float], signs: Sequence[float]) -> float:
    return sum(weight * float(sign) for weight, sign in zip(weights, signs, strict=True))


@functools.cache
def packaged() -> Rule:
    """The rule that comes with the node."""
    data = orjson.loads(importlib.resources.files(__package__).joinpath("relevance.json").read_bytes())
    concern, asked, both = (tuple(data.get(name, ())) for name in ("concern", "asked", "concern_asked"))
    return Rule(data["embedder"], data["weight"], data["floor"], data["coverage_floor"], concern, asked, both)
