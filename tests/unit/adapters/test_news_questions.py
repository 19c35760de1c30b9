"""Which texts ask for news, what they ask for, and which only speak of it."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.grammar import when as times
from adapters.news.follow import follow_up_question, phrase
from adapters.news.questions import read_question
from adapters.news.slots import NewsQuestion, canonical_key
from node.core.model import CERTAIN, CLAIM
from node.language.reading import word_list
from tests.each import each
from tests.unit.adapters.asking import is_claimed
from tests.unit.adapters.tables import Row, rows, texts

TODAY = date(2026, 5, 18)
"""A Monday."""


def slots(text: str) -> Row:
    asked = read_question(text, TODAY)
    assert asked is not None, text
    assert asked.strength >= CLAIM, text
    question = asked.question
    said = None if question.when is None else question.when.said
    return question.topic, said, question.source, None if question.limit is None else str(question.limit)


def strength_of(text: str) -> float:
    asked = read_question(text, TODAY)
    return 0.0 if asked is None else asked.strength


@each("row", rows("news", "questions"))
def test_questions_and_their_slots(row: Row) -> None:
    assert slots(str(row[0])) == row[1:]


@each("text", [*texts("news", "traps"), ""])
def test_what_only_speaks_of_news_is_no_claim(text: str) -> None:
    assert strength_of(text) < CLAIM


@pytest.mark.parametrize(
    ("text", "certain"),
    [
        ("latest news about Tesla", True),
        ("tech headlines", True),
        ("did you see anything of the news your aunt sent around", False),
    ],
)
def test_every_word_accounted_for_is_certain_and_others_are_not(text: str, certain: bool) -> None:
    assert (strength_of(text) >= CERTAIN) == certain


def test_a_hint_replaces_the_patterns_and_leaves_the_traps() -> None:
    assert read_question("what about the strikes in France", TODAY) is None
    asked = read_question("what about the strikes in France", TODAY, hinted=True)
    assert asked is not None
    assert asked.question.topic == "strikes in france"
    assert read_question("what is fake news", TODAY, hinted=True) is None


def test_configured_outlets_are_sources() -> None:
    asked = read_question("headlines from dailyplanet", TODAY, outlets={"dailyplanet"})
    assert asked is not None
    assert asked.question == NewsQuestion(source="dailyplanet")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("news", "news:-:-:-:-"),
        ("what is in the news right now", "news:-:-:-:-"),
        ("today's news", "news:-:-:2026-05-18:-"),
        ("news from the last 3 days", "news:-:-:2026-05-15/2026-05-18:-"),
        ("top 3 bbc headlines about tesla from yesterday", "news:tesla:bbc:2026-05-17:3"),
    ],
)
def test_keys_hold_days_and_never_words(text: str, key: str) -> None:
    asked = read_question(text, TODAY)
    assert asked is not None
    assert canonical_key(asked.question) == key


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("and Ukraine?", NewsQuestion("ukraine", None, "bbc", 3)),
        ("what about the economy?", NewsQuestion("economy", None, "bbc", 3)),
        ("and yesterday?", NewsQuestion("tesla", times.resolve("yesterday", TODAY), "bbc", 3)),
        ("on hacker news?", NewsQuestion("tesla", None, "hacker news", 3)),
        ("only 5", NewsQuestion("tesla", None, "bbc", 5)),
        ("y mañana?", NewsQuestion("tesla", times.resolve("tomorrow", TODAY), "bbc", 3)),
    ],
)
def test_a_follow_up_fills_one_slot(fragment: str, expected: NewsQuestion) -> None:
    earlier = NewsQuestion("tesla", None, "bbc", 3)
    assert follow_up_question(fragment, earlier, TODAY) == expected


@pytest.mark.parametrize(
    "fragment",
    [
        *("", "?", "and", "why?", "and why?", "ukraine"),
        *("tell me a joke about it", "and the weather?", "x" * 3_000),
    ],
)
def test_what_is_no_follow_up(fragment: str) -> None:
    assert follow_up_question(fragment, NewsQuestion("tesla"), TODAY) is None


@given(
    topic=st.one_of(
        st.none(),
        st.lists(
            st.sampled_from(["tesla", "rates", "climate", "election", "gold", "strike", "floods", "ecb"]),
            min_size=1,
            max_size=4,
        ).map(" ".join),
    ),
    source=st.sampled_from([None, "bbc", "hacker news", "new york times"]),
    said=st.sampled_from(
        [None, "today", "yesterday", "last week", "today-3d", "2026-05-01", "last friday", "2026-04"]
    ),
    limit=st.one_of(st.none(), st.integers(1, 20)),
)
def test_a_phrase_is_read_back_with_certainty(
    topic: str | None, source: str | None, said: str | None, limit: int | None
) -> None:
    when = None if said is None else times.resolve(said, TODAY, span=True, past=True)
    question = NewsQuestion(topic, when, source, limit)
    asked = read_question(phrase(question), TODAY)
    assert asked is not None
    assert asked.question == question
    assert asked.strength >= CERTAIN


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    read_question(text, TODAY)
    read_question(text, TODAY, hinted=True)
    follow_up_question(text, NewsQuestion(), TODAY)


_VOCABULARY = word_list("""
read me the hit with news headlines titres top only just 3 three two max is enough today yesterday since
monday lately last week of the day from bbc hn hacker about on rust what are people saying anything in
world du jour
articles any latest l' économie mayor's , . ?
""")


@given(st.lists(st.sampled_from(_VOCABULARY), max_size=8), st.booleans())
def test_any_heap_of_its_own_words_is_read(words: list[str], hinted: bool) -> None:
    asked = read_question(" ".join(words), TODAY, hinted=hinted)
    assert asked is None or 0 < asked.strength <= 1


@each("hinted", [False, True])
@each("text", ["read", "hit me with", "only 3", "top 5, today", "bbc, yesterday", "3, 4,", "?,"])
def test_a_clause_of_which_nothing_is_left_is_read(text: str, hinted: bool) -> None:
    asked = read_question(text, TODAY, hinted=hinted)
    assert asked is None or 0 < asked.strength <= 1


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("news about tesla and weather in paris", "tesla"),
        ("news about tesla and the bitcoin price", "tesla"),
        ("news about the lakers and the score of the celtics game", "lakers"),
    ],
)
def test_what_another_source_is_asked_is_no_topic(text: str, topic: str) -> None:
    asked = read_question(text, TODAY)
    assert asked is not None
    assert asked.question.topic == topic
    assert is_claimed(asked.strength)


def test_and_may_stand_in_a_topic() -> None:
    assert slots("news about google and apple")[0] == "google and apple"
    assert slots("news about oil and gas prices")[0] == "oil and gas prices"
