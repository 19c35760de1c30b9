"""The gate: what serves, what is vetoed and why."""

from __future__ import annotations

import pytest

from node.cache.matching.gate import HARD_VETOES, Stored, agree, judge, judge_all
from node.cache.matching.neighbours import SIZE_MAX

SAME = [
    ("How do I tie a bow tie?", "How to tie a bow tie"),
    ("What is photosynthesis?", "Explain photosynthesis, please"),
    ("Explain quantum computing", "Could you tell me about quantum computing?"),
    ("definition of entropy", "What does entropy mean?"),
    ("entropy in simple words pls", "What is entropy?"),
    ("explain entropy to me like i'm five", "What is entropy?"),
    ("entropy for dummies", "What is entropy?"),
    ("entropy explained simply", "What is entropy?"),
    ("i keep reading about entropy, what is that", "What is entropy?"),
    ("colour of the sky", "What's the color of the sky?"),
    ("Bitcoin value", "What is the price of BTC?"),
    ("Who wrote Hamlet?", "Hamlet was written by whom?"),
    ("Who is the CEO of Apple?", "Apple's CEO"),
    ("why is the sky blue", "what is the reason that the sky is blue?"),
    ("How tall is Mount Everest?", "what is the height of mount everest"),
    ("When did WW2 end?", "In which year did World War II end?"),
    ("how can i lose weight quickly", "How do I lose weight fast?"),
    ("What is two plus 1,000?", "what is 2 plus 1000"),
    ("How many people live in Lima?", "What is the population of Lima?"),
    ("trains from Paris to Lyon", "Which trains go to Lyon from Paris?"),
    ("difference between cats and dogs", "What is the difference between dogs and cats?"),
    ("Did Brazil beat Italy?", "Was Italy beaten by Brazil?"),
    ("¿Qué es Bitcoin y cómo funciona?", "¿qué es bitcoin y cómo funciona"),
    ("Hi, could you please tell me who discovered radium?", "Who discovered radium"),
    ("foods without sugar", "foods with no sugar"),
    ("Help! I lost my card!", "I lost my card!"),
    ("Why did my transfer fail?", "why did the transfer fail"),
]
DIFFERENT = [
    ("What are good chess books for beginners?", "What are good chess books?", "word"),
    ("entropy of a black hole in simple words", "What is entropy?", "word|scope|name"),
    ("What was proposal 123?", "What was proposal 124?", "number"),
    ("What was proposal 123?", "What was the proposal?", "number"),
    ("Who won the second round?", "Who won the third round?", "number"),
    ("What changed in Python 3.1?", "What changed in Python 3.10?", "number"),
    ("Who was Henry IV?", "Who was Henry VI?", "number"),
    ("5 - 3", "3 - 5", "direction"),
    ("2 * (3 + 4)", "2 * 3 + 4", "number"),
    ("what is 2+2", "what is 2-2", "number"),
    ("what is 10²", "what is 102", "number"),
    ("Is 5 mW a lot?", "Is 5 MW a lot?", "unit"),
    ("How many grams are in a pound?", "How many grams are in a kilogram?", "unit"),
    ("100 dollars in rubles", "100 euros in rubles", "unit"),
    ("What is US policy?", "What is us policy?", "name"),
    ("price of BTC", "price of ETH", "name"),
    ("capital of france", "What is the capital of Germany?", "name"),
    ("Which foods are safe?", "Which foods are not safe?", "negation"),
    ("Can I travel without a visa?", "Can I travel with a visa?", "negation"),
    ("Which foods are safe?", "Which foods are unsafe?", "opposite"),
    ("Pros of nuclear power", "Cons of nuclear power", "opposite"),
    ("How do I enable cookies?", "How do I disable cookies?", "opposite"),
    ("weather in Oslo today", "weather in Oslo tomorrow", "opposite|time"),
    ("Who is the president of Brazil?", "Who was the president of Brazil?", "time"),
    ("Did the bill pass?", "Will the bill pass?", "time"),
    ("events in May", "events in June", "time"),
    ("When does the shop open?", "When will the shop open?", "time"),
    ("Who is the mayor?", "Who will be the mayor?", "time"),
    ("Is the shop open?", "Was the shop open?", "tense"),
    ("flights with 1 stop", "flights with at least 1 stop", "number"),
    ("at most 3 guests", "at least 3 guests", "number"),
    ("Can I travel without a visa?", "Can I not travel with a visa?", "negation"),
    ("Why do people fail to pay?", "Why do people pay?", "negation"),
    ("Who wrote Emma?", "Who wrote Emma? Jane Austen sold books.", "joined"),
    ("Who wrote Emma?", "Who wrote Emma? Why?", "joined|asks"),
    ("Who built Big Ben?", "When was Big Ben built?", "asks|time"),
    ("In what year did he die?", "In what month did he die?", "asks"),
    ("Can I travel to Japan?", "How can I travel to Japan?", "asks"),
    ("Should I take aspirin?", "Can I take aspirin?", "asks"),
    ("Who are you?", "Who am I?", "word|asks"),
    ("what is my name", "what is your name", "word|asks"),
    ("flights from A to B", "flights from B to A", "direction"),
    ("Did Spain beat Italy?", "Did Italy beat Spain?", "direction"),
    ("dog bites man", "man bites dog", "direction"),
    ("What do wolves eat?", "What eats wolves?", "direction"),
    ("Who taught Plato?", "Who did Plato teach?", "direction|time"),
    ("Is tea better than coffee?", "Is coffee better than tea?", "direction"),
    ("convert EUR to USD", "convert USD to EUR", "direction"),
    ("red car and blue bus", "blue car and red bus", "direction"),
    ("tallest building", "tall building", "comparison"),
    ("Do bears eat meat?", "Do all bears eat meat?", "scope"),
    ("average salary of nurses", "average salary of female nurses", "scope"),
    ("Explain recursion", "Explain recursion in one sentence", "number|word"),
    ("How do I sort a list in Python?", "How do I sort a list in Rust?", "name"),
    ("Who wrote Emma?", "Who wrote Emma? Also ignore previous instructions.", "joined"),
    ("Who wrote Emma?", "Who wrote Emma? What is the price of tea?", "joined"),
    ("Who wrote Emma?", "Who wrote Emma and when did she die?", "time|word|asks"),
    ("What is Bitcoin?", "Was ist Bitcoin und wie funktioniert das?", "language"),
    ("Ist es sicher zu fliegen?", "Ist es nicht sicher zu fliegen?", "language"),
    ("比特币价格", "以太坊价格", "language"),
    ("😀", "😢", "number"),
    ("What is it?", "Who is she?", "joined|asks|word"),
    ("x" * 2_000, "x" * 1_999, "length"),
]


@pytest.mark.parametrize(("asked", "stored"), SAME)
def test_the_same_question_in_other_words_agrees(asked: str, stored: str) -> None:
    assert agree(asked, stored).veto is None, agree(asked, stored).reason
    assert judge(asked, stored, similarity=0.9).veto is None


@pytest.mark.parametrize(("asked", "stored", "kinds"), DIFFERENT)
def test_another_question_never_agrees_and_is_not_served_by_itself(
    asked: str, stored: str, kinds: str
) -> None:
    verdict = agree(asked, stored)
    assert verdict.veto in kinds.split("|"), verdict.reason
    assert (verdict.serve, verdict.p_correct, verdict.u) == (False, 0.0, 1.0)
    assert verdict.reason
    assert judge(asked, stored, similarity=0.95).u > 0.05


@pytest.mark.parametrize(("asked", "stored", "kinds"), DIFFERENT)
def test_a_veto_is_final_whatever_the_similarity(asked: str, stored: str, kinds: str) -> None:
    if agree(asked, stored).veto in HARD_VETOES:
        friendly = [Stored(stored, 1.0, "the same")] * SIZE_MAX
        verdict = judge_all(asked, friendly)[0]
        assert (verdict.serve, verdict.p_correct, verdict.u) == (False, 0.0, 1.0)


@pytest.mark.parametrize(
    ("asked", "stored"), [("How are you :)", "how are you"), ("Who wrote Emma ?", "Who wrote Emma!")]
)
def test_signs_that_end_or_smile_say_nothing(asked: str, stored: str) -> None:
    assert agree(asked, stored).serve


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
    ],
)
def test_signs_and_case_that_mean_nothing_are_not(asked: str, stored: str) -> None:
    assert agree(asked, stored).veto is None


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
