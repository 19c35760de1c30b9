"""What is quoted without a model: code and tables stand as they were stored."""

from __future__ import annotations

from dataclasses import replace

from node.answer import context, notes
from node.answer.composed import Trail
from node.answer.quotes import QUOTE_CHARS_MAX, from_quotes
from node.core.model import Evidence, SourceRef
from tests.manual_clock import ManualClock
from tests.unit.answer.material import document

CODE = "```make\nprinter:\n\tlpadmin  -p office\n\n\tcupsenable office  \n```"
TABLE = "| item  | price |\n| --- | --- |\n| ink | `p[0]` |"


def said_of(question: str, one: Evidence) -> str:
    composed = from_quotes(question, [one], None, Trail(ManualClock()), "en")
    return "" if composed is None else composed.text


def test_blocks_are_quoted_as_they_stand() -> None:
    stored = document(f"The printer is old. To set up the printer run:\n\n{CODE}\n\nThe hall is blue.")
    assert said_of("How do I set up the printer?", stored) == (
        f"According to handbook.md:\n- The printer is old.\n\nTo set up the printer run:\n\n{CODE}"
    )


def test_pasted_code_and_tables_are_quoted_too() -> None:
    for question, block in (("What is the price of ink?", TABLE), ("What does lpadmin do?", CODE)):
        pasted = replace(document(block), source=SourceRef(context.PASTED, "your text"))
        assert said_of(question, pasted).endswith(f":\n\n{block}")


def test_a_long_block_is_cut_between_lines_and_closed() -> None:
    code = "\n".join(f"lpadmin -p office{n}.  # So." for n in range(99))
    for said in (
        said_of("What does lpadmin do?", document(f"```\n{code}\n```")).partition("\n\n")[2],
        notes.quoted(document(f"```\n{code}\n```"), "en").partition("\n\n")[2],
    ):
        assert len(said) <= QUOTE_CHARS_MAX
        assert said.startswith("```\nlpadmin")
        assert said.endswith("# So.\n```")


def test_a_note_of_prose_is_quoted_as_an_item() -> None:
    assert (
        notes.quoted(document("The hall is blue."), "en") == "According to handbook.md:\n- The hall is blue."
    )
    assert notes.quoted(document("Run:\n```\nf()"), "en").endswith("\n- Run:\n```\nf()\n```")
