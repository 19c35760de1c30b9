"""A peer's answer beside one of ours: contested where ours says otherwise, else served."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from node.cache.local_precedence import CONTESTED, own_first
from node.cache.lookup import Candidate, Choice, Policy, choose
from tests.record_builders import START

ASKED = "Who built the old bridge of Wrenfield"
OTHERWISE = "We need to know who built the old bridge of Wrenfield"
THEIRS = Candidate(
    *("theirs", ASKED, 1.0, "exact", 0.98, START, None), answer="Tom Zander.", gate_similarity=None
)
OURS = replace(THEIRS, cid="ours", confidence=0.79, answer="Ada Wren.")
POLICY = Policy(floor=0.7)
FOREIGN = frozenset({"theirs", "theirs-2"})


def chosen(*candidates: Candidate, max_age_s: int | None = None) -> tuple[Choice, Choice]:
    choice = choose(ASKED, candidates, POLICY, now=START, max_age_s=max_age_s)
    return choice, own_first(ASKED, choice, FOREIGN)


def test_a_peer_s_answer_is_not_served_against_one_of_ours_that_is_too_unsure_to_be_served() -> None:
    before, after = chosen(THEIRS, replace(THEIRS, cid="theirs-2"), OURS)
    assert before.hit is not None
    assert after.hit is None
    assert [one.accepted for one in after.judged] == [False] * 3
    assert after.judged[0].code == CONTESTED
    assert "known here" in after.reason


def test_ours_is_served_where_it_may_be_however_sure_the_peer_claims_to_be() -> None:
    sure = replace(OURS, confidence=0.81)
    before, after = chosen(THEIRS, sure)
    assert before.hit is not None
    assert after.hit is not None
    assert (before.hit.candidate, after.hit.candidate) == (THEIRS, sure)
    assert after.judged[0] is after.hit


def test_who_says_the_same_as_we_or_says_what_we_do_not_know_is_served() -> None:
    for candidates in (
        (THEIRS, replace(OURS, answer="  tom  ZANDER. ")),
        (THEIRS,),
        (THEIRS, replace(THEIRS, cid="theirs-2", answer="Ada Wren.")),  # another peer does not contest
    ):
        before, after = chosen(*candidates)
        assert after == before
        assert after.hit is not None


def test_what_was_recomputed_here_and_what_is_ours_is_left_as_it_is() -> None:
    surest_ours = [replace(OURS, confidence=0.99), THEIRS]
    for candidates, foreign in (([THEIRS, OURS], frozenset[str]()), (surest_ours, FOREIGN), ([], FOREIGN)):
        choice = choose(ASKED, candidates, POLICY, now=START)
        assert own_first(ASKED, choice, foreign) is choice


@pytest.mark.parametrize(
    ("gone", "max_age_s"),
    [
        ({"live": False}, None),
        ({"expires": START}, None),
        ({"created": START + timedelta(hours=1)}, None),
        ({"created": START - timedelta(hours=1)}, 60),
    ],
    ids=["withdrawn", "expired", "of the future", "older than asked for"],
)
def test_what_of_ours_is_gone_contests_nothing(gone: dict[str, Any], max_age_s: int | None) -> None:
    before, after = chosen(THEIRS, replace(OURS, **gone), max_age_s=max_age_s)
    assert after == before


@pytest.mark.parametrize(
    ("tier", "query", "similarity", "is_contested"),
    [
        ("semantic", OTHERWISE, 0.9, True),
        ("semantic", OTHERWISE, 0.4, False),
        ("semantic", OTHERWISE, None, False),
        ("semantic", "Who built the old bridge of Ashby", 0.95, False),
        ("semantic", "When was the old bridge of Wrenfield built", 0.95, False),
        ("slot", OTHERWISE, None, True),
        ("slot", "Who built the old bridge of Ashby", None, False),
    ],
)
def test_one_of_ours_that_is_stored_for_other_words_contests_where_the_gate_sees_no_difference(
    tier: str, query: str, similarity: float | None, is_contested: bool
) -> None:
    near = replace(OURS, tier=tier, query=query, similarity=similarity, check_text=True)
    _, after = chosen(THEIRS, near)
    assert (after.hit is None) is is_contested


def test_one_of_ours_under_the_same_canonical_slots_contests_in_whatever_words() -> None:
    by_key = replace(OURS, tier="slot", query="price of x", similarity=None, check_text=False)
    assert chosen(THEIRS, by_key)[1].hit is None


def test_a_peer_that_agrees_with_us_is_served_in_the_place_of_one_that_does_not() -> None:
    agreeing = replace(THEIRS, cid="theirs-2", confidence=0.9, answer="Ada Wren.")
    _, after = chosen(THEIRS, agreeing, OURS)
    assert after.hit is not None
    assert after.hit.candidate is agreeing
    assert after.judged[0] is after.hit
