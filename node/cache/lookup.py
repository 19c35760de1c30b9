"""The choice among stored candidates: which one, if any, may be served for a question, and why.

Rules, in this order; the first that fails is the candidate's reason:
1. Not live (withdrawn, superseded): no.
2. Expired (``expires`` at or before now): no.
3. Older than the caller's ``max_age_s``, or made in the future by more than ``AHEAD_S``: no.
4. Confidence below ``confidence_min``: no.
5. Similarity missing or below ``floor``: no (semantic tier only).
6. Text, where ``check_text`` (always in the semantic tier): the gate's veto is final.
7. Upper limit ``u``, or what labels of this record's hits have raised it to, above ``max_wrong_per_hit``, or
   1: no. In the semantic tier without cosines of the embedder that the gate knows: no.
Those that pass are ranked by similarity x confidence, exact and slot matches counting as similarity 1; ties
go to exact before slot before semantic, then to the nearer wording ("what is ipfs" is "What is IPFS?" rather
than "Explain IPFS like I'm five"), then to the newer, then to the smaller CID.

Comparisons with a limit have a tolerance of ``TOLERANCE``: 0.9 in single precision still reaches a floor of
0.90.

Promises: pure, total, the same for any order of the candidates. Must not know: stores, embeddings, the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rapidfuzz import fuzz
from rapidfuzz.utils import default_process

from node.cache.matching.gate import Stored, Verdict, agree, judge_all
from node.cache.matching.gate_model import WRONG_RATE
from node.cache.matching.neighbours import FLOOR, SIZE_MAX

TOLERANCE = 1e-6
AHEAD_S = 300
"""A record's time may be this far ahead of ours (peers' clocks) before it counts as wrong."""

EXACT, SLOT, SEMANTIC = "exact", "slot", "semantic"
TOO_FAR = "too_far"
"""Code of a candidate that was not judged, for so many are nearer."""
_WORDING_CHARS = 400
_TIERS = {EXACT: 0, SLOT: 1, SEMANTIC: 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored answer that might serve. ``similarity`` is the cosine (1.0 exact, None slot); ``confidence``
    in [0, 1].

    ``check_text`` asks for the gate's vetoes where the tier alone does not settle that the questions agree:
    keyword matches come as ``slot`` with it; semantic candidates are checked in any case.
    """

    cid: str
    query: str
    similarity: float | None
    tier: str
    confidence: float
    created: datetime
    expires: datetime | None
    live: bool = True
    check_text: bool = False
    answer: str = ""
    """Equal for equal answers: neighbours that agree on one speak for it."""
    gate_similarity: float | None = None
    """The cosine by the embedder that the gate was calibrated on; None: it is not known."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a hit needs; see the module's rules. ``deterministic`` makes the gate accept no unmatched word."""

    floor: float
    confidence_min: float = 0.8
    max_wrong_per_hit: float = 0.05
    max_wrong_hit_rate: float = WRONG_RATE
    deterministic: bool = False
    u_floor: Callable[[str, float], float] = lambda cid, score: 0.0
    """What labels of a record's hits say of u, by CID and score."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with its judgement. ``score`` = similarity x confidence; ``u`` the upper limit of being
    wrong; ``code`` the reason as a stable word, without any word of the questions."""

    candidate: Candidate
    score: float
    p_correct: float | None
    u: float | None
    accepted: bool
    reason: str
    code: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The hit, if any; every candidate judged, best first; the reason in words."""

    hit: Judged | None
    judged: tuple[Judged, ...]
    reason: str


def choose(
    asked: str,
    candidates: Sequence[Candidate],
    policy: Policy,
    *,
    now: datetime,
    max_age_s: int | None = None,
) -> Choice:
    """Judge all candidates for ``asked`` at ``now`` (aware) and pick the best that may be served."""
    verdicts = _verdicts(asked, candidates, policy, now, max_age_s)
    judged = [
        _judge(asked, candidate, policy, verdicts.get(candidate.cid), now, max_age_s)
        for candidate in candidates
    ]
    judged.sort(key=lambda one: _rank(one, asked))
    hit = next((one for one in judged if one.accepted), None)
    if hit is not None:
        return Choice(hit, tuple(judged), hit.reason)
    return Choice(None, tuple(judged), judged[0].reason if judged else "nothing stored is near")


def _rank(one: Judged, asked: str) -> tuple[bool, float, int, float, float, str]:
    candidate = one.candidate
    tier = _TIERS.get(candidate.tier, len(_TIERS))
    near = 0.0
    if one.accepted:
        texts = asked[:_WORDING_CHARS], candidate.query[:_WORDING_CHARS]
        near = fuzz.ratio(*texts, processor=default_process)
    created = candidate.created.timestamp()
    return (not one.accepted, -round(one.score, 9), tier, -near, -created, candidate.cid)


def _verdicts(
    asked: str, candidates: Sequence[Candidate], policy: Policy, now: datetime, max_age_s: int | None
) -> dict[str, Verdict]:
    """The gate's word on the nearest that are alive, whatever their confidence and the floor: each is judged
    by what stands around it."""
    near = sorted(
        (
            one
            for one in candidates
            if one.tier == SEMANTIC
            and one.gate_similarity is not None
            and one.gate_similarity >= FLOOR
            and _gone(one, now, max_age_s) is None
        ),
        key=lambda one: (-(one.gate_similarity or 0.0), one.cid),
    )[:SIZE_MAX]
    stored = [Stored(one.query, one.gate_similarity or 0.0, one.answer) for one in near]
    verdicts = judge_all(
        asked, stored, deterministic=policy.deterministic, wrong_rate=policy.max_wrong_hit_rate
    )
    return {one.cid: verdict for one, verdict in zip(near, verdicts, strict=True)}


def _judge(
    asked: str,
    candidate: Candidate,
    policy: Policy,
    verdict: Verdict | None,
    now: datetime,
    max_age_s: int | None,
) -> Judged:
    similarity = _similarity(candidate)
    score = max(0.0, similarity) * _unit(candidate.confidence)
    refusal = _refused(candidate, policy, similarity, now, max_age_s)
    if refusal is not None:
        code, words = refusal
        return Judged(candidate, score, None, None, False, words, code)
    if not candidate.check_text and candidate.tier != SEMANTIC:
        reason = "same question" if candidate.tier == EXACT else "same slots"
        return Judged(candidate, score, 1.0, 0.0, True, reason, reason.replace(" ", "_"))
    if candidate.tier == SLOT:
        verdict = agree(asked, candidate.query, deterministic=policy.deterministic)
    if verdict is not None:
        return _told(candidate, score, verdict, policy)
    if candidate.gate_similarity is None:
        reason, code = "the gate does not know this embedder", "embedder_unknown"
    else:
        reason, code = "others are nearer", TOO_FAR
    return Judged(candidate, score, None, None, False, reason, code)


def _told(candidate: Candidate, score: float, verdict: Verdict, policy: Policy) -> Judged:
    u = max(verdict.u, policy.u_floor(candidate.cid, score))
    within = u <= policy.max_wrong_per_hit + TOLERANCE and u < 1.0
    accepted, reason, code = verdict.veto is None and within, verdict.reason, "gate_passed"
    if verdict.veto is not None:
        code = f"veto_{verdict.veto}"
    elif u > verdict.u and not within:
        reason, code = f"hits of this record were wrong before; u = {u:.3f}", "tightened"
    elif not within:
        code = "u_above_limit"
        if verdict.u < 1.0:
            reason = f"{reason}, above the limit"
    return Judged(candidate, score, verdict.p_correct, u, accepted, reason, code)


def _similarity(candidate: Candidate) -> float:
    """The cosine, or 1 for a match by key; -1 for one that is missing or not a number."""
    if candidate.tier in (EXACT, SLOT):
        return 1.0
    value = candidate.similarity
    return -1.0 if value is None or not math.isfinite(value) else max(-1.0, min(1.0, value))


def _unit(value: float) -> float:
    return max(0.0, min(1.0, value)) if math.isfinite(value) else 0.0


def _refused(
    candidate: Candidate, policy: Policy, similarity: float, now: datetime, max_age_s: int | None
) -> tuple[str, str] | None:
    """The code and the reason of rules 1 to 5, or None."""
    if candidate.tier not in _TIERS:
        return "unknown_tier", f"unknown tier {candidate.tier[:20]}"
    if gone := _gone(candidate, now, max_age_s):
        return gone
    if _unit(candidate.confidence) < policy.confidence_min - TOLERANCE:
        return (
            "low_confidence",
            f"confidence {_unit(candidate.confidence):.2f} below {policy.confidence_min:.2f}",
        )
    if candidate.tier == SEMANTIC and similarity < policy.floor - TOLERANCE:
        return "below_floor", f"similarity {similarity:.3f} below {policy.floor:.2f}"
    return None


def _gone(candidate: Candidate, now: datetime, max_age_s: int | None) -> tuple[str, str] | None:
    """Rules 1 to 3."""
    if not candidate.live:
        return "withdrawn", "withdrawn"
    if candidate.expires is not None and candidate.expires <= now:
        return "expired", "expired"
    if candidate.created - now > timedelta(seconds=AHEAD_S):
        return "future", "dated in the future"
    if max_age_s is not None and (now - candidate.created).total_seconds() > max_age_s:
        return "too_old", f"older than {max_age_s} s"
    return None
