"""The reader of tables, and patterns built from their words."""

from __future__ import annotations

import re

import pytest

from node.language.tables import any_of, fill, lexicon, read_table, words


def test_a_table_is_parsed_once() -> None:
    table = read_table("node.pipeline", "own_facts.toml")
    assert table
    assert read_table("node.pipeline", "own_facts.toml") is table


def test_a_missing_table_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        read_table("node.pipeline", "no_such_table.toml")


def test_words_are_parted_at_any_white_space() -> None:
    assert words("who what\n  when who") == {"who", "what", "when"}


def test_alternatives_come_from_a_text_or_a_list() -> None:
    assert any_of("who what") == "who|what"
    assert any_of(["how many", "how much"]) == "how many|how much"


def test_a_template_is_filled_with_its_classes() -> None:
    classes = {"wh": "who what", "open": ["and <wh>", "but"]}
    pattern = re.compile(fill(r"^<open> is\b", classes))
    assert pattern.search("and who is it")
    assert pattern.search("but is it so")
    assert not pattern.search("and when is it")
    with pytest.raises(KeyError):
        fill("<nothing>", classes)


def test_a_lexicon_is_all_languages_of_a_package_as_one() -> None:
    found = lexicon("adapters.scores")
    assert {"won", "gewonnen", "vinto"} <= found.words["past"]
    assert found.finds("asks_when", "wann spielen die lakers")
    assert not found.finds("asks_when", "whenever")
    assert found.tables["topic"]["WHEN"][:2] == ["when", "wann"]
