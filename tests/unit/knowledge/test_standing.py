"""From when a text says that it holds, and what stands above what."""

from datetime import UTC, date, datetime

import pytest

from node.knowledge.metadata import EFFECTIVE_IN_TEXT, Known, settled
from node.knowledge.shelf import Shelf, holding
from node.knowledge.standing import HEAD_CHARS, effective_in, told
from tests.corpus_memory import document

DAY = date(2025, 3, 1)


@pytest.mark.parametrize(
    "text",
    [
        "# Guest policy\n\n**Effective from:** 1 March 2025\n",
        "In force since March 1, 2025.",
        "Effective date: 2025-03-01",
        "Valid from 01/03/2025",
        "Gültig ab 1. März 2025",
        "Diese Ordnung gilt seit dem 01.03.2025.",
        "En vigor desde el 1 de marzo de 2025",
        "En vigueur depuis le 1er mars 2025",
    ],
)
def test_a_text_says_from_when_it_holds(text: str) -> None:
    assert effective_in(text) == DAY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It was an effective meeting on 1 March 2025.",
        "Valid from 31.02.2025",
        "x" * HEAD_CHARS + " valid from 2025-03-01",
    ],
)
def test_other_days_are_no_such_day(text: str) -> None:
    assert effective_in(text) is None


def test_the_first_day_that_there_is_counts() -> None:
    assert effective_in("valid from 31.02.2025; valid from 2025-03-01; valid from 2026-01-01") == DAY


def test_what_the_text_says_counts_only_where_neither_its_head_nor_a_manifest_says_it() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    read = {EFFECTIVE_IN_TEXT: [DAY.isoformat()]}
    alone = Known("a.md", read, [], "A", now, True)
    headed = Known("b.md", {**read, "effective": ["2024-01-01"]}, [], "B", now, True)
    listed = Known("c.md", read, [], "C", now, True)
    manifest = Known("m.csv", {}, [{"path": ["c.md"], "effective": ["2023-01-01"]}], "", now, True)
    found = settled([alone, headed, listed, manifest])
    assert found["a.md"].effective == DAY
    assert found["b.md"].effective == date(2024, 1, 1)
    assert found["c.md"].effective == date(2023, 1, 1)


def test_of_rivals_what_lays_down_holds_against_later_minutes_and_those_against_what_was_said() -> None:
    rule = document(1, "rules/hausordnung.md", effective=date(2023, 1, 1), conflict_with=("minutes/mai.md",))
    minutes = document(2, "minutes/mai.md", effective=DAY, conflict_with=("calls/mai-transcript.txt",))
    said = document(3, "calls/mai-transcript.txt", effective=date(2025, 3, 2))
    assert [told(one) for one in (rule, minutes, said)] == [0, 1, 2]
    shelf = Shelf([rule, minutes, said])
    assert holding(rule, minutes, shelf) == holding(minutes, rule, shelf) == rule
    assert holding(said, minutes, shelf) == minutes
    assert holding(rule, said, shelf) == said, "nobody says that these two are rivals: the later day counts"
    assert told(document(4, "policies/protocol-for-fires.md")) == 0
