"""Tables of words: TOML files that lie in a package, read once.

Words are written as texts with blanks between them, or as lists where one of them holds a blank. A pattern of
words is built here from a short template: ``<name>`` in it is any one of the words of that name.
Read-only; a file that is missing or broken is an error of the program, not of a user.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGES = "node.language"
ENGLISH = "en"
OTHERS = "other"
"""The folder of what is known of many languages by few words."""
_CLASS = re.compile(r"(?<!P)<([a-z][a-z0-9_]*)>")


@cache
def read_table(package: str, name: str) -> Mapping[str, Any]:
    """The TOML file ``name`` in ``package``, parsed; the same object each time, not to be changed.
    Raises ``FileNotFoundError`` and ``tomllib.TOMLDecodeError``."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


@cache
def codes() -> tuple[str, ...]:
    """The languages that have a folder of data, English first, the others by their codes."""
    found = sorted(one.name for one in files(LANGUAGES).joinpath("data").iterdir() if one.is_dir())
    return (ENGLISH, *(code for code in found if code not in (ENGLISH, OTHERS)))


def language_table(code: str, name: str) -> Mapping[str, Any]:
    """The table ``name`` of one language."""
    return read_table(LANGUAGES, f"data/{code}/{name}.toml")


@cache
def classes(name: str) -> Mapping[str, list[str]]:
    """The words of all languages' tables of this name, by class."""
    found: dict[str, list[str]] = {}
    for code in codes():
        for key, entries in language_table(code, name)["words"].items():
            found.setdefault(key, []).extend(entries.split() if isinstance(entries, str) else entries)
    return found


def words(text: str) -> frozenset[str]:
    """The words of a row written as one text."""
    return frozenset(text.split())


def any_of(entries: str | Iterable[str]) -> str:
    """The pattern of one of the entries, with no group around it. An entry may be a small pattern."""
    return "|".join(entries.split() if isinstance(entries, str) else entries).replace("\n", "")


def fill(template: str, classes: Mapping[str, str | Iterable[str]]) -> str:
    """The pattern of a template: ``<name>`` stands for one of ``classes[name]``, which may hold such names
    too. Line ends in it are dropped. Raises ``KeyError`` for a name that is not there."""
    template = template.replace("\n", "")
    while _CLASS.search(template) is not None:
        template = _CLASS.sub(lambda found: f"(?:{any_of(classes[found[1]])})", template)
    return template


def pattern(
    entries: str | Iterable[str], classes: Mapping[str, Any], template: str = "<any>", flags: int = 0
) -> re.Pattern[str]:
    """``template`` as a pattern; ``<any>`` in it is one of the entries, a name one of that class."""
    return re.compile(fill(template, {**classes, "any": entries}), flags)


def pairs(text: str, between: str = "=") -> dict[str, str]:
    """What each word of a row stands for: the row is "word=other word=other"."""
    return {word.partition(between)[0]: word.partition(between)[2] for word in text.split()}


def by_member(rows: Mapping[str, str]) -> dict[str, str]:
    """The name of the row that a word stands in, by the word."""
    return {word: name for name, text in rows.items() for word in text.split()}
