"""The statement gate and how texts are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.language.reading import HEAD_CHARS, TAIL_CHARS, fold, read
from node.pipeline.understanding.languages import LANGUAGES
from node.pipeline.understanding.question import judge


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What's up, Doc?", ("what", "is", "up", "doc")),
        ("I can’t and won't", ("i", "can", "not", "and", "will", "not")),
        ("dont u know", ("do", "not", "you", "know")),
        ("Où est l'heure", ("ou", "est", "l'", "heure")),
        ("The dog's name", ("the", "dog", "name")),
        ("ＢＴＣ price", ("btc", "price")),
        ("state-of-the-art 3.5 v1.2.3", ("state-of-the-art", "3.5", "v1.2.3")),
    ],
)
def test_words(text: str, words: tuple[str, ...]) -> None:
    assert read(text).words == words


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
        ("one\ntwo", [".", ""]),
        ("what is it ?", ["?"]),
    ],
)
def test_sentences_and_their_marks(text: str, marks: list[str]) -> None:
    found = [sentence.mark for sentence in read(text).sentences]
    assert [mark or "" for mark in found] == [
        mark if mark != "." or "\n" not in text else "" for mark in marks
    ]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("hello", "latin"),
        ("12", "latin"),
        ("", "none"),
        ("🙂 …!", "none"),
        ("привет", "cyrillic"),
        ("東京", "chinese"),
        ("東京の", "japanese"),
        ("안녕", "other"),
        ("مرحبا", "other"),
    ],
)
def test_scripts(text: str, script: str) -> None:
    assert read(text).script == script


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
    ("text", "asks"),
    [
        # one sentence that asks makes a question of the whole
        ("I have a dog. How often should I feed him", True),
        ("Hi! btc price", True),
        ("Thanks. That helped.", False),
        ("thanks, what about tomorrow", True),
        ("Great, now explain the second part", True),
        ("naming data by its hash, explain that idea", True),
        ("IPLD, never understood it", True),
        ("I got the joke, never understood it before", False),
        # marks
        ("The sky is blue?", True),
        ("hello?", False),
        ("Is it", True),
        # what looks inverted and tells
        ("Have a nice day", False),
        ("May the force be with you", False),
        ("Will do", False),
        ("Was a great game", False),
        ("Do not touch this", False),
        # question words that do not ask
        ("What a nice surprise", False),
        ("When it rains, it pours.", False),
        ("when is easter", True),
        # tags and word order of speech
        ("You like pizza, don't you", True),
        ("It's hot, right", True),
        ("apple stock went up why", True),
        # noun phrases
        ("most visited museum in the world", True),
        ("presidents who died in office", True),
        ("used car prices", True),
        ("the end", False),
        # indirect
        ("I forgot what entropy means", True),
        ("I was wondering if pigs can fly", True),
        ("i dont understand why the sky is blue", True),
        ("I need you to translate this", True),
        ("I need coffee", False),
    ],
)
def test_the_gate(text: str, asks: bool) -> None:
    verdict = judge(read(text))
    assert verdict.asks is asks, verdict.reason


def test_languages_have_distinct_codes_and_named_rules() -> None:
    assert len({language.code for language in LANGUAGES}) == len(LANGUAGES)
    for language in LANGUAGES:
        assert all(rule.name for rule in language.gate)
        assert {rule.asks for rule in language.gate} == {True, False}


REMARKS = """
Just kidding
sure, why not
thanks for explaining that so well
no idea tbh
nothing, thanks
gotta go
oops, wrong window
no te preocupes
vale, lo entiendo
compré un bitcoin la semana pasada
gracias por todo
kein Problem
danke für deine Hilfe
pas de souci
merci beaucoup pour ton aide
va bene così
grazie mille per l'aiuto
Muito obrigado pela ajuda
não se preocupe
tudo bem
всё понятно
спасибо за помощь
谢谢你的帮助
没关系
大丈夫です
""".strip().splitlines()
ASKING = """
why not
just asking what time the shops open
no idea how to start a business
thanks for the info, now explain entropy
so a black hole is what exactly
kickoff is 20:45 in Munich, when is that in Houston
we land at nine, where can we eat
for one person that's 350/4 how much
my code throws an error, help
nothing compares to you lyrics
gracias in japanese
merci meaning
problem of evil
phone number of the shop where broken bikes from the race go
best way to store apples so they keep until spring
warum is der Mond manchmal rot
""".strip().splitlines()


@pytest.mark.parametrize("text", REMARKS)
def test_reactions_in_any_language_ask_nothing(text: str) -> None:
    assert not judge(read(text)).asks


@pytest.mark.parametrize("text", ASKING)
def test_what_only_begins_like_a_reaction_or_a_statement_asks(text: str) -> None:
    assert judge(read(text)).asks


@pytest.mark.parametrize(
    "text",
    [
        "my sister, who is a doctor, lives in Rome",
        "I met her when I was in Paris",
        "the price of the house has gone up again",
    ],
)
def test_a_relative_clause_asks_nothing(text: str) -> None:
    assert not judge(read(text)).asks


@pytest.mark.parametrize(
    "text",
    [
        "my dads 64 does he count as a pensioner for your prices",
        "if the shows already going will someone still be at the desk, im always late",
        "theres 14 of us from the choir wanting wednesday in the big hall, anything off",
        "my wife uses a chair, whereabouts would she be",
        "yusuf or yolanda, whose play is over sooner this autumn",
        "my bag weighs 26 kg is that ok for the plane",
        "i flunked twice now am i kicked out",
        "lost the key of my locker, who has a spare",
        "theres 5 of us going hiking on sunday whats the best deal",
        "wen do they pick up the compost",
    ],
)
def test_who_tells_and_asks_in_one_breath_asks(text: str) -> None:
    assert judge(read(text)).asks


@pytest.mark.parametrize(
    "text",
    [
        "all you can do is hope",
        "he did what he could and so did she",
        "nobody can do what she does",
        "my uncle or my aunt, who came late, left early",
        "we saw the film, which was great",
        "we ate, anyone else did too",
        "Bitcoin at 100k, who would have thought!",
    ],
)
def test_what_only_sounds_like_it_tells(text: str) -> None:
    assert not judge(read(text)).asks
