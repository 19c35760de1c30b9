"""The keyword key: equal for the same question, different for another."""

from __future__ import annotations

import pytest

from node.cache.keys import keyword_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is IPFS?", "explain IPFS please"),
        ("price of bitcoin", "Bitcoin price"),
        ("What's the price of BTC?", "what is bitcoin's value"),
        ("How do I pin a CID?", "how to pin CIDs"),
        ("Can't I fly?", "can i not fly"),
        ("What was proposal 1,000?", "what was proposal one thousand"),
    ],
)
def test_the_same_question_has_one_key(one: str, other: str) -> None:
    assert keyword_key(one) is not None
    assert keyword_key(one) == keyword_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is IPFS?", "What is IPNS?"),
        ("What is IPFS?", "Who made IPFS?"),
        ("Is it safe to fly?", "Is it not safe to fly?"),
        ("proposal 123", "proposal 124"),
        ("is 5 mW safe", "is 5 MW safe"),
        ("flights from Rome to Oslo", "flights from Oslo to Rome"),
        ("highest mountain", "high mountain"),
        ("Who is the mayor?", "Who was the mayor?"),
        ("what is my address", "what is your address"),
        ("When was it built?", "Where was it built?"),
        ("which are red and not round", "which are not red and round"),
        ("Wie spät ist es in der Stadt?", "Wie warm ist es in der Stadt?"),
    ],
)
def test_another_question_has_another_key(one: str, other: str) -> None:
    assert keyword_key(one) != keyword_key(other)


@pytest.mark.parametrize("text", ["", "?", "thanks!", "what is it", "can you help me", "x" * 5_000])
def test_no_key_without_content(text: str) -> None:
    assert keyword_key(text) is None


def test_a_key_is_readable_until_it_is_long() -> None:
    assert keyword_key("What is IPFS?") == "kw2:what|ipfs"
    long = keyword_key("compare " + " ".join(f"gadget{'abcdefghij'[n % 10]}{n}" for n in range(60)))
    assert long is not None
    assert len(long) == len("kw2:") + 64
