"""What stands around a candidate: do the nearest stored questions agree on one answer?

Where the neighbours of a question all lead to one answer, other words matter little; where near questions
lead to different answers, small differences decide. The measures compare answers for equality only.

``crowd`` needs cosines only; ``contest`` adds what a first look at each pair says of the rivals.

Promises: pure, total, finite. ``NAMES`` and ``CONTEST`` give the order of the numbers, which is part of a
model's version. Must not know: texts, labels, thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

NAMES = (
    "crowd_size",
    "crowd_place",
    "crowd_support",
    "crowd_support_near",
    "crowd_rivals",
    "crowd_rival_margin",
    "crowd_answers",
    "crowd_mean",
)
CONTEST = (
    "contest_rival",
    "contest_support",
    "contest_rivals_open",
    "contest_support_open",
    "contest_rivals_vetoed",
)
SIZE_MAX = 5
"""So many nearest are looked at, no more."""
FLOOR = 0.7
"""Cosine from which a stored question counts as near."""
_NO_SUPPORT = 0.5
_MARGIN_MAX = 0.3
_LEAD_MAX = 8.0
_NO_SCORE = -4.0


@dataclass(frozen=True, slots=True)
class Near:
    """A stored question near the one that is asked. ``answer`` is anything that is equal exactly for equal
    answers."""

    similarity: float
    answer: str


def crowd(near: Sequence[Near]) -> list[list[float]]:
    """The numbers ``NAMES`` of each of ``near`` among the others."""
    return [_numbers(one, [other for other in near if other is not one]) for one in near]


def _numbers(one: Near, around: Sequence[Near]) -> list[float]:
    support = [other.similarity for other in around if other.answer == one.answer]
    rivals = [other.similarity for other in around if other.answer != one.answer]
    margin = one.similarity - max(rivals) if rivals else _MARGIN_MAX
    return [
        float(1 + len(around)),
        float(sum(other.similarity > one.similarity for other in around)),
        float(len(support)),
        max(support, default=_NO_SUPPORT),
        float(len(rivals)),
        max(-_MARGIN_MAX, min(_MARGIN_MAX, margin)),
        float(len({one.answer, *(other.answer for other in around)})),
        math.fsum(other.similarity for other in around) / len(around) if around else _NO_SUPPORT,
    ]


def contest(near: Sequence[Near], scores: Sequence[float], vetoed: Sequence[bool]) -> list[list[float]]:
    """The numbers ``CONTEST`` of each of ``near``, given a first score of each and whether a veto stands
    against it."""
    out = []
    for at, one in enumerate(near):
        others = [other for other in range(len(near)) if other != at]
        support = [other for other in others if near[other].answer == one.answer]
        rivals = [other for other in others if near[other].answer != one.answer]
        shut = sum(vetoed[other] for other in rivals)
        lead = scores[at] - max((scores[other] for other in rivals), default=-math.inf)
        out.append(
            [
                max(-_LEAD_MAX, min(_LEAD_MAX, lead)),
                max(_NO_SCORE, max((scores[other] for other in support), default=_NO_SCORE)),
                float(len(rivals) - shut),
                float(sum(not vetoed[other] for other in support)),
                shut / len(rivals) if rivals else 1.0,
            ]
        )
    return out
