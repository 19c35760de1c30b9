"""The gate: does a stored answer answer *this* question? One pure function over two texts and what stands
around the stored one.

Cosine similarity does not tell a swapped name, figure or direction from a paraphrase, so it only proposes.
The gate decides in this order:

1. The same words (case, spacing, politeness and end marks apart) are the same question, and so are two
   questions for what the same thing is or how it works (``definition``).
2. A **veto** is final, whatever the similarity: a text too long to compare, another language, a sentence or
   instruction more, other figures or dates, units, negations or times (``HARD_VETOES``, found by
   ``difference``). For questions that a source can answer exactly (``deterministic``) every difference is
   one.
3. The **model** (``gate_model``) reads the numbers of the pair (``measure``) and of its neighbours
   (``neighbours``) and gives the probability of a right answer and ``u``, the one-sided 95 % upper limit of a
   wrong one among candidates of this kind and score; 1 below the score that keeps wrong answers among all
   look-ups within 1 % on every stream that it was calibrated on.

What is claimed holds for traffic like those streams; not under attack, where only the vetoes stand.

Promises: pure, total, symmetric in the two texts; monotone in similarity; bounded time on any input. Must not
know: thresholds, records, time. Cosines must be those of the embedder that the model names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from node.cache.matching.definition import thing
from node.cache.matching.difference import (
    differs,
    with_classes_soft,
    written_differently,
)
from node.cache.matching.gate_model import WRONG_RATE, Estimate, packaged
from node.cache.matching.measure import compared, measure
from node.cache.matching.neighbours import SIZE_MAX, Near
from node.cache.matching.reader import extract
from node.core.normalise import normalise

HARD_VETOES = frozenset((
    "number", "unit", "negation", "time", "entity", "opposite", "direction", "person", "language", "joined",
    "length",
))  # fmt: skip
"""First differences that no score overrides."""
_SERVE_U_MAX = 0.25
"""Above this upper limit the verdict advises against serving whatever the policy's own limit."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``serve``: no veto and ``u`` below this module's own ceiling; a policy compares ``u`` with its limit
    besides. ``p_correct`` in [0, 1]; ``u`` in [0, 1] is how often such a hit may be wrong. ``veto`` names the
    kind of difference, ``reason`` says it in words."""

    serve: bool
    p_correct: float
    u: float
    reason: str
    veto: str | None


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored question near the one that is asked: its text, the cosine of the two embeddings, and its
    answer, of which only equality counts."""

    text: str
    similarity: float
    answer: str = ""


def judge(asked: str, stored: str, *, similarity: float, deterministic: bool = False) -> Verdict:
    """Judge whether the answer to ``stored``, the only question near, answers ``asked``."""
    return judge_all(asked, [Stored(stored, similarity)], deterministic=deterministic)[0]


def judge_all(
    asked: str, near: Sequence[Stored], *, deterministic: bool = False, wrong_rate: float = WRONG_RATE
) -> list[Verdict]:
    """Judge for each of a question's nearest stored questions, at most ``SIZE_MAX``, whether its answer
    answers ``asked``. ``deterministic`` questions tolerate no difference at all; ``wrong_rate`` is the share
    of wrong answers among all look-ups that is borne.

    Raises ``ValueError`` for more than that."""
    if len(near) > SIZE_MAX:
        raise ValueError(f"at most {SIZE_MAX} can be judged at once")
    compared = [_compared(asked, one.text, deterministic) for one in near]
    if all(verdict is not None for verdict, _ in compared):
        return [verdict for verdict, _ in compared if verdict is not None]
    cosines = [max(-1.0, min(1.0, one.similarity)) if math.isfinite(one.similarity) else -1.0 for one in near]
    estimates = packaged().estimate_all(
        [measure(asked, one.text, cosine) for one, cosine in zip(near, cosines, strict=True)],
        [Near(cosine, one.answer) for one, cosine in zip(near, cosines, strict=True)],
        [found is not None and found[0] in HARD_VETOES for _, found in compared],
        wrong_rate,
    )
    return [
        verdict or _estimated(estimate, asked, one.text, found)
        for one, (verdict, found), estimate in zip(near, compared, estimates, strict=True)
    ]


def _estimated(estimate: Estimate, asked: str, stored: str, found: tuple[str, str] | None) -> Verdict:
    if estimate.u >= 1.0:
        why = found[1] if found else "too little speaks for the same question"
        return Verdict(False, estimate.p, 1.0, why, None)
    said = _same(asked, stored) if found is None else f"the same as far as can be told, though: {found[1]}"
    reason = f"{said}; u = {estimate.u:.3f}"
    return Verdict(estimate.u <= _SERVE_U_MAX, estimate.p, estimate.u, reason, None)


def agree(asked: str, stored: str, *, deterministic: bool = False) -> Verdict:
    """Whether two questions say the same, by their words alone: every difference is a veto. For questions
    that met by a key."""
    verdict, found = _compared(asked, stored, deterministic)
    if verdict is not None:
        return verdict
    return Verdict(True, 1.0, 0.0, "same content", None) if found is None else _veto(*found)


def _compared(asked: str, stored: str, deterministic: bool) -> tuple[Verdict | None, tuple[str, str] | None]:
    """What rules 1 and 2 decide, if anything; and the first difference."""
    if asked == stored or normalise(asked) == normalise(stored):
        return Verdict(True, 1.0, 0.0, "same words", None), None
    one, other = extract(asked), extract(stored)
    if one.too_long or other.too_long:
        return _veto("length", "too long to compare"), None
    if written := written_differently(asked, stored):
        return _veto(*written), written
    if one.flat == other.flat and one.flat:
        return Verdict(True, 1.0, 0.0, "same words", None), None
    if not deterministic and (defined := thing(asked)) is not None and defined == thing(stored):
        return Verdict(True, 1.0, 0.0, "asks what the same thing is", None), None
    aligned, found = compared(asked, stored)
    if found is not None and (deterministic or found[0] in HARD_VETOES):
        return _veto(*found), found
    left, right = with_classes_soft(one, other, aligned).alone
    if deterministic and (left or right):
        return _veto("word", differs(left, right)), found
    return None, found


def _veto(kind: str, reason: str) -> Verdict:
    return Verdict(False, 0.0, 1.0, reason, kind)


def _same(asked: str, stored: str) -> str:
    if sorted(extract(asked).flat) == sorted(extract(stored).flat):
        return "same question, other word order"
    return "same question, other words"
