"""Which language a text is in, and whether an answer is in another one."""

from __future__ import annotations

import pytest

from node.language import tongue
from tests.each import each
from tests.unit.pipeline.tables import cells, sections

TEXTS = sections(__file__, "texts.txt")


@each("row", [*TEXTS["language"], "- | ", "- | ```\nif a is b and the for in of to\n```"])
def test_the_language_is_named_only_where_it_is_clear(row: str) -> None:
    name, text = cells(row)
    assert (tongue.name_of(text) or "-") == name


@pytest.mark.parametrize("row", TEXTS["wanted"])
def test_a_question_that_names_a_language_says_itself_what_it_wants(row: str) -> None:
    wanted, text = cells(row)
    assert (tongue.wanted_for(text) or "-") == wanted


@pytest.mark.parametrize(
    ("wanted", "answer", "other"),
    [
        ("French", "Photosynthesis is the process by which green plants make food.", True),
        ("French", "L'eau de mer est salée parce que les fleuves y apportent des sels.", False),
        ("German", "Die Hauptstadt ist Tokio.", False),
        ("German", "I do not know.", False),  # too short to tell
        ("Japanese", "The capital of Japan is Tokyo, a city on the island of Honshu.", True),
        ("English", "日本の首都は東京です。", True),
        (None, "Was auch immer das ist, es ist in Ordnung.", False),
    ],
)
def test_an_answer_in_another_language(wanted: str | None, answer: str, other: bool) -> None:
    assert tongue.other_than(wanted, answer) is other
