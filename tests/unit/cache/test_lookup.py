"""The choice among candidates: every boundary of its rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from node.cache.lookup import AHEAD_S, Candidate, Policy, choose

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ASKED = "price of gold"
NEAR = Candidate(
    "c1", "Price of Gold", 0.95, "semantic", 0.9, NOW - timedelta(hours=1), None, gate_similarity=0.95
)
POLICY = Policy(floor=0.8)


def hit(candidate: Candidate, policy: Policy = POLICY, *, max_age_s: int | None = None) -> bool:
    return choose(ASKED, [candidate], policy, now=NOW, max_age_s=max_age_s).hit is not None


def test_default_threshold_and_a_raised_one() -> None:
    near = replace(NEAR, similarity=0.82)
    assert hit(near)
    assert not hit(near, Policy(floor=0.85))


@pytest.mark.parametrize(
    ("floor", "similarity", "expected"),
    [
        *((0.9, 0.89, False), (0.9, 0.90, True), (0.9, 0.91, True), (0.7, 0.69, False), (0.7, 0.70, True)),
        *((0.7, 0.71, True), (0.8, 0.79, False), (0.8, 0.80, True)),
        *((0.9, 0.8999999, True), (0.9, 0.89999, False)),
    ],
)
def test_similarity_reaches_the_floor(floor: float, similarity: float, expected: bool) -> None:
    assert hit(replace(NEAR, similarity=similarity), Policy(floor=floor)) is expected


@pytest.mark.parametrize("similarity", [None, float("nan"), float("inf")])
def test_no_similarity_no_semantic_hit(similarity: float | None) -> None:
    assert not hit(replace(NEAR, similarity=similarity))


@pytest.mark.parametrize(("confidence", "expected"), [(0.79, False), (0.80, True), (0.7999999, True)])
@pytest.mark.parametrize("tier", ["exact", "slot", "semantic"])
def test_confidence_is_required_in_every_tier(confidence: float, expected: bool, tier: str) -> None:
    assert hit(replace(NEAR, similarity=0.99, confidence=confidence, tier=tier)) is expected


def test_ranked_by_similarity_times_confidence() -> None:
    first = replace(NEAR, cid="first", similarity=0.95, confidence=0.80)
    second = replace(NEAR, cid="second", similarity=0.90, confidence=0.95)
    choice = choose(ASKED, [first, second], POLICY, now=NOW)
    assert choice.hit is not None
    assert choice.hit.candidate.cid == "second"
    assert choice.hit.score == pytest.approx(0.855)
    assert [one.candidate.cid for one in choice.judged] == ["second", "first"]


def test_ties_go_to_the_surer_tier_then_to_the_newer() -> None:
    candidates = [
        replace(NEAR, cid="semantic", similarity=1.0),
        replace(NEAR, cid="slot", tier="slot", similarity=None),
        replace(NEAR, cid="exact", tier="exact", similarity=1.0),
        replace(NEAR, cid="exact old", tier="exact", similarity=1.0, created=NOW - timedelta(days=2)),
    ]
    choice = choose(ASKED, candidates, POLICY, now=NOW)
    assert [one.candidate.cid for one in choice.judged] == ["exact", "exact old", "slot", "semantic"]
    assert choice == choose(ASKED, candidates[::-1], POLICY, now=NOW)


@pytest.mark.parametrize(
    ("asked", "expected"), [("what is ipfs", "a"), ("whats ipfs", "a"), ("ipfs explained like i'm five", "b")]
)
def test_of_equals_the_nearer_wording_serves(asked: str, expected: str) -> None:
    keyed = replace(NEAR, tier="slot", similarity=None, check_text=True)
    plain = replace(keyed, cid="a", query="What is IPFS?", created=NOW - timedelta(days=2))
    for_children = replace(keyed, cid="b", query="Explain IPFS like I'm five?")
    for both in ([plain, for_children], [for_children, plain]):
        found = choose(asked, both, POLICY, now=NOW).hit
        assert found is not None
        assert found.candidate.cid == expected


def test_withdrawn_and_expired_are_not_served() -> None:
    assert not hit(replace(NEAR, live=False))
    assert not hit(replace(NEAR, expires=NOW))
    assert not hit(replace(NEAR, expires=NOW - timedelta(seconds=1), tier="exact"))
    assert hit(replace(NEAR, expires=NOW + timedelta(seconds=1)))


def test_the_callers_greatest_age() -> None:
    assert hit(NEAR, max_age_s=3_600)
    assert not hit(NEAR, max_age_s=3_599)
    assert not hit(replace(NEAR, tier="exact"), max_age_s=0)


def test_a_record_from_the_future_is_refused() -> None:
    assert hit(replace(NEAR, created=NOW + timedelta(seconds=AHEAD_S)))
    assert not hit(replace(NEAR, created=NOW + timedelta(seconds=AHEAD_S + 1)))


def test_the_gate_decides_on_semantic_and_checked_candidates_only() -> None:
    other = replace(NEAR, query="price of silver", similarity=0.99)
    assert not hit(other)
    assert hit(replace(other, tier="slot", similarity=None))
    assert not hit(replace(other, tier="slot", similarity=None, check_text=True))
    assert hit(replace(NEAR, tier="slot", similarity=None, check_text=True))
    choice = choose(ASKED, [other], POLICY, now=NOW)
    assert choice.reason == choice.judged[0].reason
    assert "differs" in choice.reason


def test_a_match_below_the_cut_off_misses_whatever_the_limit() -> None:
    loose = replace(NEAR, query="what moves the gold market", similarity=0.81, gate_similarity=0.81)
    assert not hit(loose)
    assert not hit(loose, Policy(floor=0.8, max_wrong_per_hit=1.0))


def test_without_cosines_that_the_gate_knows_no_semantic_hit() -> None:
    choice = choose(ASKED, [replace(NEAR, gate_similarity=None)], POLICY, now=NOW)
    assert (choice.hit, choice.judged[0].code) == (None, "embedder_unknown")


def test_what_labels_say_of_a_record_tightens_and_never_loosens() -> None:
    def learned(cid: str, score: float) -> float:
        return {"c1": 0.4}.get(cid, 0.0)

    choice = choose(ASKED, [NEAR], Policy(floor=0.8, u_floor=learned), now=NOW)
    assert (choice.hit, choice.judged[0].code) == (None, "tightened")
    keyed = replace(NEAR, tier="slot", similarity=None, check_text=True)
    assert not hit(keyed, Policy(floor=0.8, u_floor=learned))
    assert hit(replace(NEAR, cid="c2"), Policy(floor=0.8, u_floor=learned))
    silver = replace(NEAR, query="price of silver", similarity=0.99, gate_similarity=0.99)
    assert not hit(silver, Policy(floor=0.8, max_wrong_per_hit=0.05))


def test_a_refused_candidate_never_hides_one_that_serves() -> None:
    best = replace(NEAR, cid="best", similarity=0.99, query="price of 2 coins of gold", answer="another")
    choice = choose(ASKED, [best, NEAR], POLICY, now=NOW)
    assert choice.hit is not None
    assert choice.hit.candidate is NEAR


def test_nothing_stored() -> None:
    choice = choose(ASKED, [], POLICY, now=NOW)
    assert (choice.hit, choice.judged) == (None, ())
    assert choice.reason


def test_an_unknown_tier_never_serves() -> None:
    assert not hit(replace(NEAR, tier="guess"))
