"""Weekdays in texts of any language, and those that a note does not name."""

from __future__ import annotations

import pytest

from node.language.weekdays import lacking, named


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("open on Saturdays and on sunday", {5, 6}),
        ("Tuesday to Friday", {1, 2, 3, 4}),
        ("Mon-Wed and Fri", {0, 1, 2, 4}),
        ("vendredi au lundi", {4, 5, 6, 0}),
        ("lunes a viernes, los sábados no", {0, 1, 2, 3, 4, 5}),
        ("Montag, Freitag", {0, 4}),
        ("in the sun", set()),
        ("", set()),
    ],
)
def test_days_are_found_with_those_between(text: str, days: set[int]) -> None:
    assert set(named(text)) == days


@pytest.mark.parametrize(
    ("asked", "note", "lacks"),
    [
        ("open on sundays?", "on Saturdays from 10:00", "sundays"),
        ("auch am Sonntag", "open on Saturdays", "Sonntag"),
        ("on a thursday", "Tuesday to Friday from 11", ""),
        ("on sundays?", "every day from 9", ""),
        ("when is it open", "on Saturdays", ""),
    ],
)
def test_a_day_that_is_not_named_among_others_is_lacking(asked: str, note: str, lacks: str) -> None:
    assert lacking(asked, note) == lacks
