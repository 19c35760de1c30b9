"""The gate: what serves, what is vetoed and why."""

from __future__ import annotations

import pytest

from node.cache.matching.gate import HARD_VETOES, Stored, agree, judge, judge_all
from node.cache.matching.neighbours import SIZE_MAX
from tests.each import each
from tests.unit.cache.tables import rows

QUESTIONS = rows(__file__, "gate.txt")
DIFFERENT = [*(row for row in QUESTIONS if row[0] != "same"), ("length", "x" * 2_000, "x" * 1_999)]


@each(("asked", "stored"), [pair for kind, *pair in QUESTIONS if kind == "same"])
def test_the_same_question_in_other_words_agrees(asked: str, stored: str) -> None:
    assert agree(asked, stored).veto is None, agree(asked, stored).reason
    assert judge(asked, stored, similarity=0.9).veto is None


@each(("kinds", "asked", "stored"), DIFFERENT)
def test_another_question_never_agrees_and_is_not_served_by_itself(
    kinds: str, asked: str, stored: str
) -> None:
    verdict = agree(asked, stored)
    assert verdict.veto in kinds.split("|"), verdict.reason
    assert (verdict.serve, verdict.p_correct, verdict.u) == (False, 0.0, 1.0)
    assert verdict.reason
    assert judge(asked, stored, similarity=0.95).u > 0.05


@each(("asked", "stored"), [pair for _, *pair in DIFFERENT])
def test_a_veto_is_final_whatever_the_similarity(asked: str, stored: str) -> None:
    if agree(asked, stored).veto in HARD_VETOES:
        friendly = [Stored(stored, 1.0, "the same")] * SIZE_MAX
        verdict = judge_all(asked, friendly)[0]
        assert (verdict.serve, verdict.p_correct, verdict.u) == (False, 0.0, 1.0)


def test_what_something_is_was_and_will_be_is_weighed_not_vetoed() -> None:
    for asked, stored in (
        ("Why is my card declined?", "Why was my card declined?"),
        ("Is the exchange rate wrong for my cash?", "Was the exchange rate wrong for my cash?"),
    ):
        verdict = agree(asked, stored)
        assert verdict.veto == "tense"
        assert verdict.veto not in HARD_VETOES
        assert judge(asked, stored, similarity=0.95).veto is None
        assert judge(asked, stored, similarity=0.95, deterministic=True).veto == "tense"


def test_a_sentence_more_is_weighed_if_it_adds_no_more_than_a_word_and_asks_nothing() -> None:
    asked = "I lost my card! What shall I do?"
    assert judge(asked, "Panicking! I lost my card! What shall I do?", similarity=0.95).veto is None
    longer = "I lost my card! My phone is dead. What shall I do?"
    assert judge(asked, longer, similarity=0.99).veto == "joined"
    assert judge(asked, asked + " How do I close the account?", similarity=0.99).veto == "joined"


def test_the_reason_names_the_difference() -> None:
    assert judge("proposal 123", "proposal 124", similarity=0.99).reason == "differs: 123 ≠ 124"
    assert judge("is it safe", "is it not safe", similarity=0.99).reason == "negated on one side: not"
    assert agree("who built Rome", "where was Rome built").veto == "asks"


def test_neighbours_with_another_answer_make_a_match_less_certain() -> None:
    asked, stored = "How do I fix a flat tire?", "What is the way to repair a flat tire?"
    first, again = Stored(stored, 0.9, "glue"), "how can you fix a tire that is flat"
    clear = judge_all(asked, [first, Stored(again, 0.88, "glue")])[0]
    beaten = judge_all(asked, [first, Stored("How do I pump up a flat tire?", 0.92, "air")])[0]
    assert (beaten.u, -beaten.p_correct) >= (clear.u, -clear.p_correct)
    assert beaten.p_correct < clear.p_correct


@pytest.mark.parametrize(
    ("asked", "stored", "kind"),
    [
        ("what is 5!", "what is 5", "number"),
        ("what does ! mean", "what does ? mean", "number"),
        ("what is ;", "what is :", "number"),
        ("what does :) mean", "what does :( mean", "number"),
        ("is a=b in C", "is a!=b in C", "number"),
        ("what does git log -p do", "what does git log -P do", "number"),
        ("curl -o file", "curl -O file", "number"),
        ("tar -x", "tar -xz", "number"),
        ("convert mW to W", "convert MW to W", "unit"),
        ("Kb vs KB", "KB vs KB", "unit"),
        ("convert ms to s", "convert Ms to s", "unit"),
    ],
)
def test_signs_and_case_that_mean_something_are_seen(asked: str, stored: str, kind: str) -> None:
    for one, other in ((asked, stored), (stored, asked)):
        assert judge(one, other, similarity=1.0).veto == kind
        assert agree(one, other).veto == kind


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What is IPFS?", "what is ipfs!"),
        ("what is well-known data", "What is well-known data?"),
        ("How many MB is a GB?", "how many mb is a gb"),
        ("Wow! What is IPFS?", "wow! what is ipfs"),
        ("How are you :)", "how are you"),
        ("Who wrote Emma ?", "Who wrote Emma!"),
    ],
)
def test_signs_and_case_that_mean_nothing_are_not(asked: str, stored: str) -> None:
    assert agree(asked, stored).serve


def test_no_more_are_judged_than_the_model_has_seen_together() -> None:
    with pytest.raises(ValueError, match="at most"):
        judge_all("a", [Stored("b", 0.9)] * (SIZE_MAX + 1))


def test_deterministic_questions_tolerate_no_lone_word() -> None:
    asked, stored = "Bitcoin price", "Bitcoin price tips"
    assert agree(asked, stored).veto is None
    assert agree(asked, stored, deterministic=True).veto == "word"
    assert judge(asked, stored, similarity=0.95, deterministic=True).veto == "word"


@pytest.mark.parametrize("similarity", [float("nan"), float("inf"), float("-inf"), -5.0, 7.0])
def test_a_similarity_out_of_range_is_no_reason_to_serve_more(similarity: float) -> None:
    verdict = judge("price of bitcoin", "bitcoin price", similarity=similarity)
    assert 0.0 <= verdict.p_correct <= judge("price of bitcoin", "bitcoin price", similarity=1.0).p_correct


def test_a_similarity_that_is_no_number_does_not_serve() -> None:
    assert not judge("price of bitcoin", "bitcoin price", similarity=float("nan")).serve
