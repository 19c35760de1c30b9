"""Which language a text is in, and whether an answer is in another one."""

from __future__ import annotations

import pytest

from node.language import tongue


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Pourquoi la mer est-elle salée ?", "French"),
        ("¿Cuál es la capital de Perú?", "Spanish"),
        ("Was ist die Hauptstadt von Japan?", "German"),
        ("Come funziona un frigorifero?", "Italian"),
        ("Como funciona uma geladeira?", "Portuguese"),
        ("What is the capital of France?", "English"),
        ("日本の首都はどこですか", "Japanese"),
        ("Какая столица Франции?", "Russian"),
        ("Яка столиця Україїни, і чому?", None),
        ("Wat is de hoofdstad van Nederland?", "Dutch"),
        ("Hvad er hovedstaden i Danmark?", None),
        ("quantum", None),
        ("", None),
        ("```\nif a is b and the for in of to\n```", None),
    ],
)
def test_the_language_is_named_only_where_it_is_clear(text: str, name: str | None) -> None:
    assert tongue.name_of(text) == name


def test_a_question_that_names_a_language_says_itself_what_it_wants() -> None:
    assert tongue.wanted_for("Translate “the sea is salty” into French") is None
    assert tongue.wanted_for("海はフランス語で何と言いますか") is None
    assert tongue.wanted_for("как будет море по-французски") is None
    assert tongue.wanted_for("为什么天空是蓝色的？") == "Chinese"
    assert tongue.wanted_for("What is the word for sea in Italian?") is None
    assert tongue.wanted_for("Why is the sea salty and the river not?") == "English"


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
