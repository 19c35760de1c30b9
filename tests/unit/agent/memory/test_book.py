"""A new fact among the lines of a memory file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.agent.memory import book
from tests.each import each

NEW, KNOWN, TAKES_PLACE = "new", "known", "takes its place"


def outcome(fact: str, line: str, said: str) -> str:
    joined = book.join([line], fact, said)
    if not joined.is_new:
        assert joined.lines == (line,)
        return KNOWN
    assert joined.lines[joined.at] == fact
    assert joined.lines == ((fact,) if joined.was else (line, fact))
    return TAKES_PLACE if joined.was else NEW


@each(
    "fact, line, said, wanted",
    (
        ("Prefers weekly summaries on Fridays", "Prefers weekly summaries on Mondays", "", TAKES_PLACE),
        (
            "Is the head of treasury",
            "Is the project finance analyst",
            "I'm head of treasury now",
            TAKES_PLACE,
        ),
        (
            "Is the treasurer of the club",
            "Is the project finance analyst",
            "I'm the treasurer of the club",
            NEW,
        ),
        ("Uses Jira for tickets", "Uses Slack for chat", "", NEW),
        ("Uses Linear for tickets", "Uses Jira for tickets", "we switched from Jira to Linear", TAKES_PLACE),
        ("Invoices above 900 need two signatures", "Invoices above 500 need two signatures", "", TAKES_PLACE),
        ("Invoices above 500 require two signatures", "Invoices above 500 need two signatures", "", KNOWN),
        ("weekly summaries", "Prefers weekly summaries on Mondays", "", KNOWN),
        ("Asset Management works with Project Finance", "Project Finance reports to the CFO", "", NEW),
        ("Works with the legal team on contracts", "Works with the sales team on contracts", "", NEW),
        ("Wants answers in English", "Wants answers in German", "", TAKES_PLACE),
        ("Wants answers in German", "Wants answers in bullet points", "", NEW),
    ),
)
def test_what_becomes_of_a_fact_beside_a_line(fact: str, line: str, said: str, wanted: str) -> None:
    assert outcome(fact, line, said) == wanted


def test_an_embedder_tells_the_same_fact_in_other_words() -> None:
    lines = ("Prefers weekly summaries on Mondays",)
    assert not book.join(lines, "Likes weekly summaries on Mondays", "", (0.95,)).is_new
    assert book.join(lines, "Likes weekly summaries on Mondays", "", (0.7,)).is_new
    assert book.join(lines, "Prefers weekly summaries on Fridays", "", (0.99,)).was == lines[0]


@given(st.lists(st.text(max_size=40), max_size=8))
def test_what_is_written_is_read_again(texts: list[str]) -> None:
    lines = book.read(book.write(texts))
    assert book.read(book.write(lines)) == lines
    assert all(line.strip() for line in lines)
    assert all(line.startswith("- ") for line in book.write(lines).splitlines())


def test_a_file_edited_by_hand_is_read_and_bounded() -> None:
    text = "# Mine\n\n-no fact\n- Prefers tea\n  - Is the treasurer  \n- Prefers tea\nfree text\n"
    lines, remarks = book.read(text), book.remarks(text)
    assert lines == ("Prefers tea", "Is the treasurer")
    assert remarks == ("# Mine", "-no fact", "free text")
    again = book.write(lines, remarks)
    assert (book.read(again), book.remarks(again)) == (lines, remarks)
    full = tuple(f"Knows the rule {number}" for number in range(book.LINES_MAX))
    joined = book.join(full, "Uses Slack for chat")
    assert len(joined.lines) == book.LINES_MAX
    assert (joined.was, joined.lines[-1]) == (full[0], "Uses Slack for chat")
    longer = (*full, "One more by hand")
    assert book.join(longer, "Uses Slack for chat").lines == (*longer[1:], "Uses Slack for chat")


@pytest.mark.parametrize("fact", ["x" * 500, "- - -"])
def test_odd_lines_end(fact: str) -> None:
    assert book.join((), fact).lines
