"""The keyword key: equal for the same question, different for another: numbers, units, dates, names, roles,
direction, comparison, negation, question words, time, scope."""

from __future__ import annotations

import pytest

from node.cache.keys import keyword_key
from node.cache.matching.gate import agree
from tests.each import each
from tests.unit.cache.tables import rows

PAIRS = rows(__file__, "keys.txt")


@each(("one", "other"), [pair for what, *pair in PAIRS if what == "one"])
def test_one_question_one_key(one: str, other: str) -> None:
    assert keyword_key(one) is not None
    assert keyword_key(one) == keyword_key(other)
    for asked, stored in ((one, other), (other, one)):
        verdict = agree(asked, stored)
        assert verdict.veto is None, verdict.reason


@each(("one", "other"), [pair for what, *pair in PAIRS if what == "two"])
def test_two_questions_two_keys(one: str, other: str) -> None:
    assert keyword_key(one) is not None or keyword_key(other) is not None
    assert keyword_key(one) != keyword_key(other)


@pytest.mark.parametrize("text", ["", "?", "thanks!", "what is it", "can you help me", "x" * 5_000])
def test_no_key_without_content(text: str) -> None:
    assert keyword_key(text) is None


def test_a_key_is_readable_until_it_is_long() -> None:
    assert keyword_key("What is IPFS?") == "kw2:what|ipfs"
    long = keyword_key("compare " + " ".join(f"gadget{'abcdefghij'[n % 10]}{n}" for n in range(60)))
    assert long is not None
    assert len(long) == len("kw2:") + 64
