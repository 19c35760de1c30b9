"""Words with one letter amiss: what is mended, and what is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.grammar.one_slip import MENDED_MAX, is_one_slip, mended
from tests.each import each


@each(
    ("typed", "meant", "expected"),
    [
        ("curent", "current", True),
        ("currrent", "current", True),
        ("currant", "current", True),
        ("exchnage", "exchange", True),
        ("waht", "what", True),
        ("tiem", "time", True),
        ("tme", "time", True),
        ("timme", "time", True),
        ("tide", "time", False),
        ("times", "time", False),
        ("lime", "time", False),
        ("tim", "time", False),
        ("time", "time", False),
        ("urrent", "current", False),
        ("durrent", "current", False),
        ("crruetn", "current", False),
        ("", "time", False),
    ],
)
def test_one_slip(typed: str, meant: str, expected: bool) -> None:
    assert is_one_slip(typed, meant) is expected


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("the curent tiem", "current time", "the current time"),
        ("the current time", "current time", None),
        ("a pounf", "pounds pound", "a pound"),
        ("a hoursr", "hours hoursx", None),
        ("tiem " * (MENDED_MAX + 1), "time", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_only_a_single_meaning_is_taken(text: str, words: str, expected: str | None) -> None:
    assert mended(text, frozenset(words.split())) == expected


def test_a_word_that_is_one_already_is_left_alone() -> None:
    assert mended("clacks", frozenset({"clocks"}), lambda word: word == "clacks") is None


@given(st.text(max_size=600))
def test_any_text_is_read(text: str) -> None:
    again = mended(text, frozenset({"time", "current"}))
    assert again is None or again != text
