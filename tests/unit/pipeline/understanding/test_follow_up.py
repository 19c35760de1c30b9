"""Follow-ups: what is resolved to which question, what only leans, what stands alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.model import CERTAIN
from node.pipeline.understanding.follow_up import Leaning, resolve
from node.pipeline.understanding.leaning import Resolved
from tests.each import each
from tests.unit.pipeline.tables import cells, sections
from tests.unit.pipeline.understanding.stand_ins import claims, follow

ROWS = sections(__file__, "follow_up.txt")
BY_ADAPTERS, BY_RULES, OF_PROPOSALS = ROWS["by adapters"], ROWS["by rules"], ROWS["of proposals"]


def _resolve(earlier: str, text: str) -> Resolved | Leaning | None:
    return resolve(text, earlier.split(" || "), claims=claims, follow=follow)


@each("row", [*BY_ADAPTERS, *BY_RULES, *OF_PROPOSALS])
def test_resolves_to_a_self_contained_question(row: str) -> None:
    earlier, text, question = cells(row)
    found = _resolve(earlier, text)
    assert isinstance(found, Resolved)
    assert found.text == question
    assert found.reason


@each("row", [*BY_ADAPTERS, *BY_RULES])
def test_a_resolved_question_stands_alone_or_is_joined_once(row: str) -> None:
    question = cells(row)[-1]
    assert _resolve("who wrote Hamlet?", question) is None
    claim = claims(question)
    assert row not in BY_ADAPTERS or (claim is not None and claim.strength >= CERTAIN)


@each("row", ROWS["leans"])
def test_leans_where_more_than_one_thing_can_be_meant(row: str) -> None:
    found = _resolve(*cells(row))
    assert isinstance(found, Leaning)
    assert found.reason


@each("row", ROWS["alone"])
def test_stands_alone(row: str) -> None:
    assert _resolve(*cells(row)) is None


@pytest.mark.parametrize("text", ["why?", "and ETH?", "tomorrow?", "how old is he"])
def test_without_earlier_turns_nothing_goes_on(text: str) -> None:
    assert resolve(text, (), claims=claims, follow=follow) is None


def test_older_turns_than_the_last_two_are_not_gone_on_from() -> None:
    assert isinstance(
        _resolve("weather in Paris || who wrote Hamlet? || what is IPFS?", "and tomorrow?"), Leaning
    )


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        ("what was proposal 12 about?", "and 2024?"),
        ("compare proposal 3 and proposal 4", "and 5?"),
        ("what is the capital of France?", "and 13?"),
        ("what was proposal 12 about?", "did proposal 13 replace it?"),
    ],
)
def test_other_numbers_are_no_proposals(turn: str, text: str) -> None:
    assert not isinstance(_resolve(turn, text), Resolved)


SOME_WORDS = """
and why how it he she that who is the what about its paris btc tomorrow in of ? . explain founded more y und
"""
TEXTS = st.text(max_size=80) | st.lists(st.sampled_from(SOME_WORDS.split()), max_size=8).map(" ".join)
TURNS = """
price of btc | weather in Paris | What is IPFS? | who is Ada Lovelace? | Explain proof of stake | 2+2
"""


@given(TEXTS, st.lists(st.sampled_from(cells(TURNS.strip())) | TEXTS, max_size=4))
def test_any_text_after_any_turns_is_resolved_leaning_or_alone(text: str, turns: list[str]) -> None:
    found = resolve(text, turns, claims=claims, follow=follow)
    assert found is None or turns
    if isinstance(found, Resolved):
        assert found.text.strip()
        assert len(found.text) <= len(text) + max(map(len, turns)) + 60


LONG_TURNS = [
    "what is " + "x " * 190,
    "of " * 130,
    "who is " + "the " * 90,
    "the capital of " * 26,
    "y" * 65_536,
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    ["and " * 60, "it " * 66, "who is " * 28, "who " + "is " * 60 + "it", "x" * 65_536, "why? " * 13_000],
    ids=lambda text: repr(text[:8]),
)
def test_hostile_texts_are_bounded(text: str) -> None:
    for turn in LONG_TURNS:
        resolve(text, [turn], claims=claims, follow=follow)
