"""The statement gate and how texts are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language.reading import HEAD_CHARS, TAIL_CHARS, fold, read
from node.pipeline.understanding.languages import LANGUAGES
from node.pipeline.understanding.question import judge
from tests.each import each
from tests.unit.pipeline.tables import cells, sections

TEXTS = sections(__file__, "question.txt")


@pytest.mark.parametrize("row", TEXTS["words"])
def test_words(row: str) -> None:
    text, words = cells(row)
    assert read(text).words == tuple(words.split(" "))


@pytest.mark.parametrize("row", TEXTS["marks"])
def test_sentences_and_their_marks(row: str) -> None:
    text, marks = cells(row)
    assert " ".join(sentence.mark or "-" for sentence in read(text).sentences) == marks


@pytest.mark.parametrize(
    ("script", "texts"),
    [
        ("latin", ["hello", "12"]),
        ("none", ["", "🙂 …!"]),
        ("cyrillic", ["привет"]),
        ("chinese", ["東京"]),
        ("japanese", ["東京の"]),
        ("other", ["안녕", "مرحبا"]),
    ],
)
def test_scripts(script: str, texts: list[str]) -> None:
    assert [read(text).script for text in texts] == [script] * len(texts)


def test_folding_keeps_what_asks_in_japanese() -> None:
    assert fold("が") == "が"
    assert fold("Ça où Ñ") == "ca ou n"


@given(st.text())
def test_reading_is_total_and_bounded(text: str) -> None:
    reading = read(text)
    assert len(reading.plain) <= 3 * (HEAD_CHARS + TAIL_CHARS + 1)
    assert reading.words == tuple(word for sentence in reading.sentences for word in sentence.words)


@pytest.mark.parametrize("row", TEXTS["language"])
def test_languages_are_told_apart(row: str) -> None:
    language, text = cells(row)
    assert judge(read(text)).language == language


@each(("asks", "text"), [(name == "asks", text) for name in ("asks", "tells") for text in TEXTS[name]])
def test_the_gate(asks: bool, text: str) -> None:
    verdict = judge(read(text))
    assert verdict.asks is asks, verdict.reason


def test_languages_have_distinct_codes_and_named_rules() -> None:
    assert len({language.code for language in LANGUAGES}) == len(LANGUAGES)
    for language in LANGUAGES:
        assert all(rule.name for rule in language.gate)
        assert {rule.asks for rule in language.gate} == {True, False}
