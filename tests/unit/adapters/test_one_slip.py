"""Words with one letter amiss: what is mended, and what is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.grammar.one_slip import MENDED_MAX, is_one_slip, mended


@pytest.mark.parametrize(
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


def test_only_a_single_meaning_is_taken() -> None:
    assert (
        mended(
            "the curent tiem",
            frozenset(
                (
                    "current",
                    "time",
                )
            ),
        )
        == "the current time"
    )
    assert (
        mended(
            "the current time",
            frozenset(
                (
                    "current",
                    "time",
                )
            ),
        )
        is None
    )
    assert (
        mended(
            "a pounf",
            frozenset(
                (
                    "pounds",
                    "pound",
                )
            ),
        )
        == "a pound"
    )
    assert (
        mended(
            "a hoursr",
            frozenset(
                (
                    "hours",
                    "hoursx",
                )
            ),
        )
        is None
    )
    assert mended("clacks", frozenset(("clocks",)), lambda word: word == "clacks") is None
    assert mended("tiem " * (MENDED_MAX + 1), frozenset(("time",))) is None


@given(st.text(max_size=600))
def test_any_text_is_read(text: str) -> None:
    again = mended(
        text,
        frozenset(
            (
                "time",
                "current",
            )
        ),
    )
    assert again is None or again != text
