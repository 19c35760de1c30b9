from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from node.knowledge.conflicts import SENTENCES_MAX, contradictions, has_contradiction
from node.knowledge.model import Chunk, Document, Passage
from node.knowledge.shelf import Shelf
from tests.corpus_memory import document


def passage(one: Document, text: str) -> Passage:
    return Passage(one, (Chunk(one.id, one.id, 0, text, (), 0, len(text)),), 1.0, ())


def found(*said: tuple[Document, str], beside: Sequence[Document] = ()) -> list:
    shelf = Shelf([*(one for one, _ in said), *beside])
    return contradictions([passage(*one) for one in said], shelf)


OLD = document(1, "guests_2021.md", effective=date(2021, 3, 1))
NEW = document(2, "guests.md", supersedes=("guests_2021.md",), effective=date(2024, 6, 1))


def test_what_supersedes_holds_since_it_is_effective() -> None:
    [one] = found((OLD, "Three nights."), (NEW, "Seven nights."))
    assert (one.kind, one.holds, one.since, one.is_suggestion) == ("supersedes", NEW, date(2024, 6, 1), False)


def test_over_two_steps_too() -> None:
    newest = document(3, "guests_v3.md", supersedes=("guests.md",))
    [one] = found((OLD, "Three nights."), (newest, "Nine nights."), beside=[NEW])
    assert one.holds == newest
    assert one.since == date(2025, 1, 1)


@pytest.mark.parametrize("who", ["one", "other"])
def test_a_conflict_counts_whichever_of_the_two_names_it_and_nobody_holds(who: str) -> None:
    one = document(1, "a.md", conflict_with=("b.md",) if who == "one" else ())
    other = document(2, "b.md", conflict_with=("a.md",) if who == "other" else ())
    [said] = found((one, "x"), (other, "y"))
    assert (said.kind, said.holds, said.since) == ("conflict_with", None, None)
    assert has_contradiction([said], {1})
    assert not has_contradiction([said], {7})
    [said] = found((replace(one, status="draft"), "x"), (other, "y"))
    assert said.holds == other


def test_without_the_metadata_there_is_none() -> None:
    assert found((document(1, "a.md"), "x"), (document(2, "b.md"), "y")) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Night guests may stay three nights in a month.", "Night guests may stay 7 nights in a month."),
        ("The charge for a large room is 480 euros.", "The charge for a large room is 520 euros."),
        ("The whole assembly meets on 4 March 2025.", "The whole assembly meets on 11 March 2025."),
        ("Die Ruhezeit im ganzen Haus beginnt um 22 Uhr.", "Die Ruhezeit im ganzen Haus beginnt um 21 Uhr."),
    ],
)  # fmt: skip
def test_other_values_in_nearly_the_same_sentence_are_a_suggestion(one: str, other: str) -> None:
    [said] = found((document(1, "a.md"), f"Welcome. {one}"), (document(2, "b.md"), f"{other} Thank you."))
    assert said.kind == "values"
    assert said.sentences == (one, other)
    assert not has_contradiction([said], {1, 2})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Overnight guests may stay three nights in one month.",) * 2,
        ("The kitchen is open until 22 on every day.", "The workshop closes at 20 and costs nothing at all."),
        (
            "Room 4 has a view of the garden and a desk.",
            "The garden was planted in 1998 by the first tenants.",
        ),
        ("Three nights.", "Seven nights."),
    ],
)
def test_the_same_or_other_things_are_none(one: str, other: str) -> None:
    assert found((document(1, "a.md"), one), (document(2, "b.md"), other)) == []


def test_a_table_that_both_have_says_nothing_against_its_other_rows() -> None:
    rows = "The large room costs 480 euros a month.\n\nThe small room costs 300 euros a month."
    assert found((document(1, "a.md"), rows), (document(2, "b.md"), rows)) == []


def test_so_many_sentences_are_read() -> None:
    text = "\n\n".join(f"Overnight guests may stay {n} nights in one month." for n in range(500))
    [said] = found((document(1, "a.md"), text), (document(2, "b.md"), text.replace("nights", "days nights")))
    assert said.sentences is not None
    assert found((document(1, "a.md"), "Cats sleep. " * SENTENCES_MAX + text), (NEW, text)) == []
