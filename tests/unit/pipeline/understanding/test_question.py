"""The statement gate and how texts are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language.reading import HEAD_CHARS, TAIL_CHARS, fold, read
from node.pipeline.understanding.languages import LANGUAGES
from node.pipeline.understanding.question import judge
from tests.unit.pipeline.tables import sections

TEXTS = sections(__file__, "question.txt")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What's up, Doc?", "what is up doc"),
        ("I can’t and won't", "i can not and will not"),
        ("dont u know", "do not you know"),
        ("Où est l'heure", "ou est l' heure"),
        ("The dog's name", "the dog name"),
        ("ＢＴＣ price", "btc price"),
        ("state-of-the-art 3.5 v1.2.3", "state-of-the-art 3.5 v1.2.3"),
    ],
)
def test_words(text: str, words: str) -> None:
    assert read(text).words == tuple(words.split(" "))


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Hello. How are you? Fine!", [".", "?", "!"]),
        ("Dr. Smith is here.", ["."]),
        ("proposal no. 12", [""]),
        ("pi is 3.14 today", [""]),
        ("http://a.example/?q=1 works", [""]),
        ("¿qué es esto", ["?"]),
        ("これは何？ありがとう。", ["?", "."]),
        ("one\ntwo", ["", ""]),
        ("what is it ?", ["?"]),
    ],
)
def test_sentences_and_their_marks(text: str, marks: list[str]) -> None:
    assert [sentence.mark or "" for sentence in read(text).sentences] == marks


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


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("what is the capital of France", "en"),
        ("cuál es la capital de Francia", "es"),
        ("was ist die Hauptstadt von Frankreich", "de"),
        ("quelle est la capitale de la France", "fr"),
        ("qual è la capitale della Francia", "it"),
        ("qual é a capital do Brasil", "pt"),
        ("какая столица Франции", "cyrillic"),
    ],
)
def test_languages_are_told_apart(text: str, language: str) -> None:
    assert judge(read(text)).language == language


@pytest.mark.parametrize(
    ("asks", "text"), [(name == "asks", text) for name, texts in TEXTS.items() for text in texts]
)
def test_the_gate(asks: bool, text: str) -> None:
    verdict = judge(read(text))
    assert verdict.asks is asks, verdict.reason


def test_languages_have_distinct_codes_and_named_rules() -> None:
    assert len({language.code for language in LANGUAGES}) == len(LANGUAGES)
    for language in LANGUAGES:
        assert all(rule.name for rule in language.gate)
        assert {rule.asks for rule in language.gate} == {True, False}
