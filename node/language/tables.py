"""Tables of words: TOML files that lie in a package, read once.

Words are written as texts with blanks between them, or as lists where one of them holds a blank. A pattern of
words is built here from a short template: ``<name>`` in it is any one of the words of that name.
Read-only; a file that is missing or broken is an error of the program, not of a user.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

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
def by_language(name: str, package: str = LANGUAGES) -> Mapping[str, Mapping[str, Any]]:
    """The tables ``name`` of the languages that have one; of another package those in the folder ``name``."""
    found: dict[str, Mapping[str, Any]] = {}
    for code in (*codes(), OTHERS):
        place = f"data/{code}/{name}.toml" if package == LANGUAGES else f"{name}/{code}.toml"
        if files(package).joinpath(place).is_file():
            found[code] = read_table(package, place)
    return found


def listed(entries: str | Iterable[str]) -> list[str]:
    """The entries of a row that is written as one text, or as a list where one of them holds a blank."""
    return entries.split() if isinstance(entries, str) else list(entries)


def every(tables: Mapping[str, Mapping[str, Any]], name: str) -> frozenset[str]:
    """The entries that the row ``name`` has in any language."""
    return frozenset(entry for table in tables.values() for entry in listed(table.get(name, ())))


def entries(tables: Mapping[str, Mapping[str, Any]], name: str, section: str = "") -> list[str]:
    """The patterns of the row ``name`` in every language, in order; ``<word>`` in one is of that language's
    section ``words``."""
    return [
        fill(entry, table.get("words", {}))
        for table in tables.values()
        for entry in listed((table.get(section, {}) if section else table).get(name, ()))
    ]


class _Later:
    """A pattern that is put together and compiled when it is first used: a node has more than a thousand,
    and most questions meet few of them."""

    def __init__(self, text: str | Callable[[], str], flags: int) -> None:
        self._text, self._flags = text, flags

    @property
    def pattern(self) -> str:
        if not isinstance(self._text, str):
            self._text = self._text()
        return self._text

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update((one, getattr(compiled, one)) for one in _OF_PATTERNS)
        return getattr(compiled, name)


_OF_PATTERNS = [name for name in dir(re.Pattern) if not name.startswith("_") and name != "pattern"]


def later(text: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """The pattern of a text, compiled when it is first used; what is wrong with it comes up then."""
    return cast("re.Pattern[str]", _Later(text, flags))


def worded(tables: Mapping[str, Mapping[str, Any]], name: str, section: str = "") -> re.Pattern[str]:
    """Those patterns as one, of whole words; no text fits where there are none."""

    def text() -> str:
        found = entries(tables, name, section)
        return rf"\b(?:{'|'.join(found)})(?!\w)" if found else r"(?!)"

    return later(text)


def names(tables: Mapping[str, Mapping[str, Any]], section: str) -> list[str]:
    """The rows of a section in the order in which the languages bring them."""
    return list(dict.fromkeys(name for table in tables.values() for name in table.get(section, ())))


def by_phrase(tables: Mapping[str, Mapping[str, Any]], name: str) -> dict[tuple[str, ...], str]:
    """What each phrase, cut into words, stands for: the key of its row in the section ``name``."""
    return {
        tuple(phrase.split()): said
        for table in tables.values()
        for said, row in table.get(name, {}).items()
        for phrase in listed(row)
    }


@cache
def classes(name: str) -> Mapping[str, list[str]]:
    """The words of all languages' tables of this name, by class."""
    found: dict[str, list[str]] = {}
    for code in codes():
        for key, entries in language_table(code, name)["words"].items():
            found.setdefault(key, []).extend(listed(entries))
    return found


def words(text: str) -> frozenset[str]:
    """The words of a row written as one text."""
    return frozenset(text.split())


def any_of(entries: str | Iterable[str]) -> str:
    """The pattern of one of the entries, with no group around it. An entry may be a small pattern."""
    return "|".join(listed(entries)).replace("\n", "")


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
    return later(lambda: fill(template, {**classes, "any": entries}), flags)


class Patterns:
    """The patterns of one language's table (``[patterns]``), made of its words (``[words]``)."""

    def __init__(self, name: str, code: str = ENGLISH) -> None:
        table = language_table(code, name)
        self.words: Mapping[str, str | list[str]] = table["words"]
        self._patterns = table["patterns"]

    def __call__(self, name: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
        """The pattern of this name: any one of its entries."""
        return pattern(self._patterns[name], self.words, flags=flags)


def pairs(text: str, between: str = "=") -> dict[str, str]:
    """What each word of a row stands for: the row is "word=other word=other"."""
    return {word.partition(between)[0]: word.partition(between)[2] for word in text.split()}


def by_member(rows: Mapping[str, str]) -> dict[str, str]:
    """The name of the row that a word stands in, by the word."""
    return {word: name for name, text in rows.items() for word in text.split()}


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The files ``languages/<code>.toml`` of a package as one, English first. ``words`` are sets of words.
    ``patterns`` match any entry of a list, those of ``[phrases]`` as whole words; ``<name>`` in an entry is
    one of the words of that name. ``tables`` has everything as it stands, each value a list."""

    words: Mapping[str, frozenset[str]]
    patterns: Mapping[str, re.Pattern[str]]
    tables: Mapping[str, Any]

    def finds(self, name: str, text: str) -> re.Match[str] | None:
        """The first place in ``text`` that the pattern of that name matches."""
        return self.patterns[name].search(text)


@cache
def lexicon(package: str) -> Lexicon:
    """What a package knows of languages. Adding a language is adding its file."""
    found = sorted(one.name for one in files(package).joinpath("languages").iterdir())
    tables: dict[str, Any] = {}
    for name in sorted(found, key=lambda name: name != f"{ENGLISH}.toml"):
        if name.endswith(".toml"):
            _append(tables, read_table(package, f"languages/{name}"))
    words = tables.get("words", {})
    patterns = {name: pattern(entries, words) for name, entries in tables.get("patterns", {}).items()}
    for name, entries in tables.get("phrases", {}).items():
        patterns[name] = pattern(entries, words, r"\b<any>\b")
    return Lexicon({name: frozenset(entries) for name, entries in words.items()}, patterns, tables)


def _append(tables: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, Mapping):
            _append(tables.setdefault(name, {}), value)
        else:
            tables.setdefault(name, []).extend(value.split() if isinstance(value, str) else value)
