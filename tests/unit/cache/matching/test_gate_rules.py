"""The gate's general rules, one by one: who acts, small words that change a question, and what may differ."""

from __future__ import annotations

from node.cache.keys import keyword_key
from node.cache.matching.compare import respelled
from node.cache.matching.features import Item
from node.cache.matching.gate import agree
from tests.each import each
from tests.unit.cache.tables import rows

QUESTIONS = rows(__file__, "gate_rules.txt")


@each(("asked", "stored"), [pair for what, *pair in QUESTIONS if what == "another"])
def test_a_small_word_makes_another_question(asked: str, stored: str) -> None:
    for one, other in ((asked, stored), (stored, asked)):
        verdict = agree(one, other)
        assert verdict.veto is not None
        assert not verdict.serve
    assert keyword_key(asked) != keyword_key(stored)


@each(("asked", "stored"), [pair for what, *pair in QUESTIONS if what == "same"])
def test_what_may_differ(asked: str, stored: str) -> None:
    for one, other in ((asked, stored), (stored, asked)):
        verdict = agree(one, other)
        assert verdict.veto is None, verdict.reason
        assert verdict.u <= 0.05


def word(text: str, kind: str = "word") -> Item:
    return Item(text, kind, text, "", 0, False, 0)


@each(
    ("one", "other", "slip"),
    [
        ("accomodate", "accommodate", True),
        ("photosyntesis", "photosynthesis", True),
        ("mortagge", "mortgage", True),
        ("environmnet", "environment", True),
        ("symptons", "symptoms", True),
        ("inflection", "infection", False),
        ("simulate", "stimulate", False),
        ("congenial", "congenital", False),
        ("interment", "internment", False),
        ("prescribe", "proscribe", False),
        ("complement", "compliment", False),
        ("hyperactive", "hypoactive", False),
        ("microeconomics", "macroeconomics", False),
        ("contract", "contact", False),
        ("government", "goverment", True),
        ("nothern", "northern", False),
        ("word", "wrod", False),
    ],
)
def test_a_slip_of_the_pen_is_no_other_word(one: str, other: str, slip: bool) -> None:
    assert respelled(word(one), word(other)) is slip
    assert respelled(word(other), word(one)) is slip
    assert not respelled(word(one, "name"), word(other, "name"))
