"""Every language's folder of tables has the sections that every other has."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import chain

import pytest

from node.language import numbers, tables

BY_SCRIPT = tuple(code for code in tables.codes() if "script" in tables.language_table(code, "questions"))
BY_WORDS = tuple(code for code in tables.codes() if code not in BY_SCRIPT)
GERMAN = "de"
"""As every other but English, whose tables hold more."""
PATTERN_CHARS_MAX = 200


def entries(table: object) -> list[str]:
    """All texts of a table; of word lists each word."""
    if isinstance(table, dict):
        return list(chain.from_iterable(map(entries, table.values())))
    if isinstance(table, list):
        return list(chain.from_iterable(map(entries, table)))
    return table.split() if isinstance(table, str) and "<" not in table else [str(table)]


def test_languages_are_found_by_their_folders() -> None:
    assert tables.codes()[0] == tables.ENGLISH
    assert {"de", "es", "fr", "it", "ja", "nl", "pt", "ru", "zh"} < set(tables.codes())
    assert set(numbers.codes()) <= set(tables.codes())


@pytest.mark.parametrize("code", [code for code in BY_WORDS if code != tables.ENGLISH])
def test_a_language_of_words_has_every_section(code: str) -> None:
    mine, model = tables.language_table(code, "questions"), tables.language_table(GERMAN, "questions")
    assert mine.keys() | {"rules"} == model.keys() | {"rules"}
    shared = {"exclaim", "wonder", "aux", "request", "question", "tag", "subject", "finite", "after_finite"}
    assert all(mine["words"].get(name) for name in shared)


@pytest.mark.parametrize("code", BY_SCRIPT)
def test_a_language_of_marks_has_every_section(code: str) -> None:
    assert tables.language_table(code, "questions").keys() >= {"script", "greets", "asks", "tells", "hurried"}


@pytest.mark.parametrize("code", [code for code in (*BY_WORDS, "ru") if code != tables.ENGLISH])
def test_dialogue_has_every_section(code: str) -> None:
    mine, model = tables.language_table(code, "dialogue"), tables.language_table(GERMAN, "dialogue")
    assert mine["words"].keys() == model["words"].keys()


@pytest.mark.parametrize("code", [*BY_WORDS, "ru"])
def test_the_calendar_is_whole(code: str) -> None:
    calendar = tables.language_table(code, "calendar")
    assert len(tables.listed(calendar["months"])) == 12
    assert len(tables.listed(calendar["weekdays"])) == 7
    assert {"day", "week", "month", "year"} <= calendar["counted"].keys()


@pytest.mark.parametrize("code", tables.codes())
def test_days_near_today_are_named(code: str) -> None:
    calendar = tables.language_table(code, "calendar")
    named = calendar["times" if "times" in calendar else "days"]
    assert {"now", "today", "tonight", "tomorrow", "yesterday", "today+2d", "today-2d"} <= named.keys()


@pytest.mark.parametrize("code", tables.codes())
def test_conversation_has_every_section(code: str) -> None:
    data = files(tables.LANGUAGES).joinpath("data")
    mine, english = (
        json.loads(data.joinpath(f"{one}/conversation.json").read_text("utf-8"))
        for one in (code, tables.ENGLISH)
    )
    assert mine.keys() | {"typed"} == english.keys() | {"typed"}


def test_no_pattern_is_long() -> None:
    for folder in files(tables.LANGUAGES).joinpath("data").iterdir():
        for file in folder.iterdir() if folder.is_dir() else ():
            if file.name.endswith(".toml") and file.name not in ("matching.toml", "aliases.toml"):
                table = tables.language_table(folder.name, file.name.removesuffix(".toml"))
                assert max(map(len, entries(table)), default=0) <= PATTERN_CHARS_MAX, file.name


def test_every_class_that_a_table_names_is_there() -> None:
    for name in ("questions", "dialogue", "records", "answers", "volatility"):
        table = tables.language_table(tables.ENGLISH, name)
        named = {found for text in entries(table) for found in re.findall(r"(?<!P)<([a-z_0-9]+)>", text)}
        assert named <= table["words"].keys() | {"any", "explains_it"}
