"""Canonical slots: dates, times, units, ordinals and names, as tokens."""

from __future__ import annotations

import pytest

from node.cache.matching import aliases
from node.cache.matching.stem import canonical
from node.cache.matching.token import CODE, END, NUMBER
from node.cache.matching.tokens import tokenise


def read(text: str) -> str:
    return " ".join(token.text for token in tokenise(text) if token.kind != END)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("March 3rd, 2024", "march 2024-03-03"),
        ("3 Mar 2024", "march 2024-03-03"),
        ("the 3rd of March 2024", "the march 2024-03-03"),
        ("2024-03-03", "march 2024-03-03"),
        ("2024/3/3", "march 2024-03-03"),
        ("13.04.2024", "april 2024-04-13"),
        ("04/13/2024", "april 2024-04-13"),
        ("03/04/2024", "3 / 4 / 2024"),
        ("2024-13-40", "2024 - 13 - 40"),
        ("30 February 2024", "30 february 2024-02"),
        ("Sept 2024", "september 2024-09"),
        ("on May 5", "on may --05-05"),
        ("they may 5 times", "they may 5 times"),
        ("a march of 5 km", "a march of 5 km"),
        ("in the year 1969", "in 1969"),
        ("5 pm", "17:00"),
        ("12 a.m.", "00:00"),
        ("9:05", "09:05"),
        ("13 pm", "13 @pm"),
    ],
)
def test_dates_and_times(text: str, said: str) -> None:
    assert read(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5 MB", "5 megabyte"),
        ("5 Mb", "5 megabit"),
        ("5 mb", "5 mb"),
        ("5 mW", "5 milliwatt"),
        ("5MW", "5 megawatt"),
        ("$2k", "2000 usd"),
        ("Newton's third law", "newton 's law #3"),
        ("three laws", "3 laws"),
        ("a thousand ships", "a 1000 ships"),
        ("the third child", "the #3 child"),
        ("the 21st century", "the 21 century"),
        ("chapter no. 3", "chapter #3"),
        ("chapter 3 verses", "chapter 3 verses"),
        ("proposal #123", "proposal 123"),
        ("proposal no. 123", "proposal 123"),
        ("there is no 123", "there is no 123"),
        ("the second world war", "the world war 2"),
    ],
)
def test_units_and_ordinals(text: str, said: str) -> None:
    assert read(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the capital of the US", "the capital of the usa"),
        ("tell us more", "tell us more"),
        ("near the us border", "near the usa border"),
        ("South America", "south america"),
        ("weather in Portland, OR", "weather in portland oregon-state"),
        ("Portland, or Salem", "portland , or salem"),
        ("SOL price", "sol-coin price"),
        ("what is SOL", "what is sol"),
        ("Is NYC the same as New York City", "is nyc the same as new york city"),
        ("what does NYC stand for", "what does nyc stand for"),
        ("Bill Gates and Donald Trump", "bill gates and trump"),
        ("no trump", "no trump"),
    ],
)
def test_names(text: str, said: str) -> None:
    assert read(text) == said


def test_a_name_is_one_token_with_what_was_written() -> None:
    token = next(token for token in tokenise("is New York City big") if token.text == "nyc")
    assert (token.kind, token.raw) == (CODE, "New York City")
    assert [token.kind for token in tokenise("on March 3, 2024")][-1] == NUMBER


def test_no_spelling_leads_to_two_names() -> None:
    led: dict[tuple[tuple[str, ...], tuple[str, ...]], set[str]] = {}
    for rows in aliases.spellings().values():
        for row in rows:
            led.setdefault((row.words, row.cases), set()).add(row.name)
            assert canonical(row.name) == row.name
    assert [words for words, names in led.items() if len(names) > 1] == []


def test_every_state_has_its_code_and_name() -> None:
    states = aliases.states()
    assert states["OR"] == states["oregon"] == "oregon-state"
    assert len(set(states.values())) == 51
