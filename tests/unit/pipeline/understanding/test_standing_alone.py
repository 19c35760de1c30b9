"""Follow-ups as questions of their own, where no rule has only one reading."""

from __future__ import annotations

import pytest

from node.pipeline.understanding.standing_alone import guess, is_made_of, names_more


@pytest.mark.parametrize(
    ("turn", "text", "whole"),
    [
        ("when is the open evening", "and on Sundays?", "when is the open evening on Sundays?"),
        ("who is the treasurer?", "and the chair?", "who is the chair?"),
        ("who is the treasurer", "what about the steel buyer", "who is the steel buyer?"),
        ("cost of welding training", "and for the lathe?", "cost of the lathe?"),
        ("what does the saw course cost", "and the laser?", "what does the laser cost?"),
        ("cost of welding training", "and how long", "how long cost of welding training?"),
        ("when is the open evening", "and where is it", "where is the open evening?"),
        ("when is the sewing course", "who teaches it", "who teaches the sewing course?"),
        ("what is the fee", "really?", None),
        ("what is the fee", "why?", None),
        ("what is the fee", "and then?", None),
        ("wann ist der offene Abend", "und sonntags?", None),
        ("w" * 401, "and the chair?", None),
    ],
)
def test_the_new_words_take_their_place_in_the_last_question(turn: str, text: str, whole: str | None) -> None:
    assert guess(text, turn) == whole


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("and on Sundays?", True),
        ("y los domingos?", True),
        ("really?", False),
        ("and then?", False),
        ("", False),
    ],
)
def test_what_asks_of_something_else_is_told_from_what_asks_of_the_answer(text: str, more: bool) -> None:
    assert names_more(text) is more


@pytest.mark.parametrize(
    ("whole", "holds"),
    [
        ("Who is the chair?", True),
        ("Who chairs the association?", False),  # nobody spoke of an association
        ("Who is the treasurer?", False),  # what was asked is gone
        ("", False),
    ],
)
def test_a_models_wording_keeps_what_was_asked_and_adds_nothing(whole: str, holds: bool) -> None:
    assert is_made_of(whole, "and the chair?", ["who is the treasurer", "Bartek is."]) is holds
