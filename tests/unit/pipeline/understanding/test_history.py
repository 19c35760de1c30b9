"""Slots and keys of governance questions: equal keys only where the same answer serves."""

from __future__ import annotations

from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language.reading import read
from node.pipeline.understanding.history import recognise
from tests.each import each
from tests.unit.pipeline.tables import cells, sections

ROWS = sections(__file__, "history.txt")


def slots(text: str) -> dict[str, object]:
    found = recognise(read(text))
    assert found is not None, text
    return dict(found.slots)


def key(text: str) -> str | None:
    found = recognise(read(text))
    return found.key if found is not None else None


@each("row", ROWS["key"])
def test_keys(row: str) -> None:
    """None ("-") where the answer may hang on a word that the key does not hold."""
    text, expected = cells(row)
    assert key(text) == (None if expected == "-" else expected)
    assert expected != "proposal:123" or slots(text)["proposal"] == "123"


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_two_numbers_never_share_a_key(one: int, other: int) -> None:
    keys = key(f"What was proposal {one}?"), key(f"proposal #{other}")
    assert (keys[0] == keys[1]) == (one == other)


@each(
    ("text", "proposal", "metric", "topic", "when"),
    [
        ("outcome of the vote on fees in 2023", None, "result", "fees 2023", "2023"),
        ("minutes of the last council meeting", None, None, None, "last"),
        ("who voted against proposal 7", "7", "votes", None, None),
        ("what was propsal 123", "123", ANY, ANY, ANY),
        ("proposl 12", "12", ANY, ANY, ANY),
        ("who sponsored prop. 17", "17", ANY, ANY, ANY),
        ("who proposed proposal 3", "3", "author", None, None),
        ("how much money did proposal 88 get", "88", "amount", ANY, ANY),
        ("what did the council decide on 2024-05-06", None, ANY, ANY, "2024-05-06"),
        ("proposals about fees from March 2024", None, ANY, ANY, "2024-03"),
        ("what did we decide about the treasury", None, ANY, "treasury", ANY),
        ("was the quorum reached for proposal 5", "5", "quorum", ANY, ANY),
        ("compare proposal 1 and 2", None, ANY, ANY, ANY),
    ],
)
def test_slots(text: str, proposal: object, metric: object, topic: object, when: object) -> None:
    assert slots(text) == {"proposal": proposal, "metric": metric, "topic": topic, "when": when}


@pytest.mark.parametrize("text", ROWS["records"])
def test_own_documents_and_votes_are_records(text: str) -> None:
    assert recognise(read(text)) is not None


@each("text", [*ROWS["no records"], ""])
def test_what_only_looks_like_governance(text: str) -> None:
    assert recognise(read(text)) is None


def test_the_bare_word_has_no_key() -> None:
    assert key("proposal") is None
