"""Lists of words and small patterns that the rules look for: TOML files beside the rules, read once.

Pure. In a list blanks part the entries; in an entry ``_`` is a blank, ``*`` any ending, ``<name>`` an entry
of another list, the rest a pattern.
"""

from __future__ import annotations

import re
from functools import cache

from node.language.tables import read_table

_NAME = re.compile(r"(?<!P)<([a-z][a-z_ ]*)>")
_GROUP = re.compile(r"(?<!\\)\((?!\?)")


_FILES = ("words", "addresses", "formats", "tokens", "secrets")


@cache
def _lists() -> dict[str, str]:
    tables = (read_table("node.privacy", f"{file}.toml") for file in _FILES)
    return {name: row for table in tables for name, row in table.items() if isinstance(row, str)}


@cache
def entries(name: str) -> tuple[str, ...]:
    """The entries of a list as they stand."""
    return tuple(entry.replace("_", " ") for entry in _lists()[name].split())


@cache
def listed(name: str) -> frozenset[str]:
    """The entries of a list of plain words."""
    return frozenset(entries(name))


@cache
def any_of(*names: str) -> str:
    """A pattern of any entry of these lists, its branches gathered by their first letter."""
    shown = "|".join(_pattern(entry) for name in names for entry in entries(name))
    return f"(?:{by_first_letter(shown)})"


@cache
def word(*names: str) -> re.Pattern[str]:
    """A pattern of any entry of these lists that is no part of a longer word."""
    return re.compile(rf"(?<![^\W_]){any_of(*names)}(?![^\W_])")


def _pattern(entry: str) -> str:
    shown = _GROUP.sub("(?:", entry.replace("*", r"\w*"))
    return _NAME.sub(lambda found: any_of(*found[1].split()), shown)


def fill(template: str) -> str:
    """The template; ``<name>`` in it is any entry of that list, ``<one other>`` of these."""
    return _NAME.sub(lambda found: any_of(*found[1].split()), template)


def by_first_letter(alternatives: str) -> str:
    """An equal expression for "one of these", its branches gathered by their first letter: ``re`` tries the
    branches one by one, and most words then fail after a few dozen instead of some hundreds."""
    branches, depth, start, place = [], 0, 0, 0
    while place < len(alternatives):
        char = alternatives[place]
        if char == "\\":
            place += 1
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "|" and depth == 0:
            branches.append(alternatives[start:place])
            start = place + 1
        place += 1
    branches.append(alternatives[start:])
    letters: dict[str, list[str]] = {}
    others = []
    for branch in branches:
        if branch[:1].isalpha() and branch[1:2] not in ("?", "*", "+", "{"):
            letters.setdefault(branch[0], []).append(branch[1:])
        else:
            others.append(branch)
    return "|".join([*(f"{letter}(?:{'|'.join(rest)})" for letter, rest in letters.items()), *others])
