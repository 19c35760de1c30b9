"""The lists that the rules read: their small grammar, and that they are data."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from node.privacy import labelled, words
from node.privacy.text import Text

ROOM = Path(words.__file__).parent
PATTERN_MAX = 200


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split() if "(?P<" not in value else [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in values for text in _strings(one)]


def test_a_list_stands_in_one_file() -> None:
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in ROOM.glob("*.toml")]
    names = Counter(name for table in tables for name, row in table.items() if isinstance(row, str))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.toml")), ids=lambda path: path.stem)
def test_no_pattern_is_long(path: Path) -> None:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    assert [text for text in _strings(table) if len(text) > PATTERN_MAX] == []


def test_an_entry_is_a_word_a_beginning_or_a_small_pattern() -> None:
    assert words.word("me").fullmatch("meinem")
    assert words.word("call_labels").search("text me on") is not None
    assert words.word("me").search("meme") is None
    assert words.fill("<dot> <at>") == words.fill("<dot>") + " " + words.fill("<at>")


def test_every_list_is_a_pattern() -> None:
    for name in words._lists():
        assert re.compile(words.any_of(name))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Reisepass C4VMVFJ4N3", "national_id"),
        ("口座番号は4482009です", "national_id"),
        ("numéro de dossier 88120-44", "national_id"),
        ("customer number 7712093", "account"),
        ("PESEL to 11 cyfr", None),
        ("I have an account. In 2023 it had 120000 users", None),
        ("such as passport, for example 12345678", None),
    ],
)
def test_a_code_behind_the_word_for_it(text: str, found: str | None) -> None:
    assert labelled.find(Text.of(text)) == found
