"""Words and patterns of the adapters' languages: what is asked for is there, and what is there is used."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from node.language.tables import by_language, codes, lexicon, read_table

ADAPTERS = Path(__file__).parents[3] / "adapters"
PACKAGES = [
    one.parent.name
    for one in sorted(ADAPTERS.glob("*/languages"))
    if any("lexicon(" in code.read_text("utf-8") for code in one.parent.glob("*.py"))
]
PATTERN_CHARS_MAX = 200
_NAMED = re.compile(r'\b(?:WORDS\[|PATTERNS\[|finds\()"(\w+)"')


def entries_of(table: object) -> list[object]:
    if isinstance(table, dict):
        return [entry for value in table.values() for entry in entries_of(value)]
    if isinstance(table, list):
        return [entry for value in table for entry in entries_of(value)]
    return [table]


def pieces_of(table: object) -> list[str]:
    """A text holds words apart by blanks, a list holds each entry whole."""
    if isinstance(table, dict):
        return [piece for value in table.values() for piece in pieces_of(value)]
    if isinstance(table, str):
        return table.split()
    return list(table) if isinstance(table, list) else []


@pytest.mark.parametrize("name", PACKAGES)
def test_each_name_in_the_code_is_in_the_data_and_the_other_way_round(name: str) -> None:
    found = lexicon(f"adapters.{name}")
    code = "".join(one.read_text("utf-8") for one in (ADAPTERS / name).glob("*.py"))
    named_there = set(_NAMED.findall(code))
    used = {
        *re.findall(r"[\"'](\w+)[\"']", code),
        *re.findall(r"(?<!P)<([a-z]\w*)>", code + str(found.tables)),
    }
    assert named_there <= {*found.words, *found.patterns}
    assert {*found.words, *found.patterns} <= used
    assert all(f'"{table}"' in code for table in {*found.tables} - {"words", "patterns", "phrases"})


@pytest.mark.parametrize("name", PACKAGES)
def test_a_file_is_a_language_that_is_known_and_holds_no_long_pattern(name: str) -> None:
    for one in files(f"adapters.{name}").joinpath("languages").iterdir():
        assert one.name.removesuffix(".toml") in {*codes(), "ko"}
        for entry in entries_of(read_table(f"adapters.{name}", f"languages/{one.name}")):
            assert (
                not isinstance(entry, str)
                or " " not in entry
                or len(entry) <= PATTERN_CHARS_MAX
                or ("\\" not in entry and "(" not in entry)
            ), entry


@pytest.mark.parametrize("adapter", ["adapters.currency", "adapters.local_time", "adapters.weather"])
def test_an_adapter_with_tables_of_its_own_has_known_languages_and_no_long_pattern(adapter: str) -> None:
    tables = by_language("languages", adapter)
    there = {file.name for file in files(adapter).joinpath("languages").iterdir()}
    assert there == {f"{code}.toml" for code in tables}
    for code, table in tables.items():
        assert max(map(len, pieces_of(table))) <= PATTERN_CHARS_MAX, code
