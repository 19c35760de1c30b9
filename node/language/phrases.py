"""The tables of conversation (``data/*/conversation.json``) and the small grammar of their phrases.

A file holds: ``name`` (as a model is told it), ``languages`` (what others are called in it), ``common`` words
that tell it from others, ``fillers`` that may stand around a phrase, ``talk`` (phrases and replies by topic),
``acknowledge``, ``orders`` on the last answer, ``writes``: orders to make a text, ``manner``: how an answer
is wanted ("in simple words"), ``order_replies``; and ``typed``, where signs are written in another way too
(traditional Chinese): pairs of what is typed and what the phrases have.

In phrases ``|`` parts alternatives, ``(a/b)`` is one of them or nothing, ``[a/b]`` is one of them,
``{language}`` is the name of a language. They are written as ``reading`` folds what people type: lower case,
no accents, contractions written out. Japanese and Chinese have no blanks to tell words by, so each of their
signs is a word; blanks in the phrases only part them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeAlias

from node.language.reading import words_of
from node.language.tables import LANGUAGES, OTHERS, codes

_LANGUAGE = "{language}"
_PIECE = re.compile(r"([(\[])([^)\]]*)[)\]]|([^()\[\]]+)")
_RUN = re.compile(r"(.)\1{2,}")
_DROPPED_FROM = 6
"""A letter left out of a shorter word may make another word."""

_SIGN = re.compile(r"[\u3040-\u9fff]|[^\u3040-\u9fff]+")
_BESIDE_SIGN = re.compile(r"(?<=[\u3040-\u9fff]) | (?=[\u3040-\u9fff])")

Words: TypeAlias = tuple[str, ...]


def words_in(folded: str) -> list[str]:
    """``words_of``, and each sign of a script without blanks a word of its own."""
    return [part for word in words_of(folded) for part in _SIGN.findall(word)]


def is_sign(word: str) -> bool:
    """Whether it is a sign of a script without blanks."""
    return "\u3040" <= word <= "\u9fff"


def joined(words: Iterable[str]) -> str:
    """The words with blanks between them, none beside a sign."""
    return _BESIDE_SIGN.sub("", " ".join(words))


@dataclass(frozen=True, slots=True)
class Step:
    """One of these rows of words, or none of them."""

    choices: tuple[Words, ...]
    optional: bool


class Phrases:
    """Phrases by the words that they may begin with."""

    def __init__(self, say: str, names: Mapping[str, str]) -> None:
        """``say``: phrases in the grammar of the files. ``names`` stand for ``{language}``."""
        self._by_first: dict[str, list[tuple[Step, ...]]] = {}
        self.known: set[str] = set()
        for phrase in say.split("|"):
            steps = tuple(_steps(phrase, names))
            for step in steps:
                self.known.update(word for choice in step.choices for word in choice)
            for word in _firsts(steps):
                self._by_first.setdefault(word, []).append(steps)

    def ends(self, words: Words, at: int) -> set[int]:
        """Where a phrase that begins at ``at`` may end."""
        found: set[int] = set()
        for steps in self._by_first.get(words[at], ()):
            places = {at}
            for step in steps:
                on = {
                    place + len(choice)
                    for place in places
                    for choice in step.choices
                    if words[place : place + len(choice)] == choice
                }
                places = on | places if step.optional else on
            found |= places
        return found - {at}


@dataclass(frozen=True, slots=True)
class Topic:
    """``without`` is the reply where no language model is there."""

    name: str
    phrases: Phrases
    reply: str
    without: str


@dataclass(frozen=True, slots=True)
class Language:
    """One file. ``typed``: slips of the finger, by what was typed."""

    code: str
    name: str
    languages: Mapping[str, str]
    names: Phrases
    common: frozenset[str]
    talk: tuple[Topic, ...]
    orders: Mapping[str, Phrases]
    writes: Phrases
    manner: Phrases
    fillers: Phrases
    replies: Mapping[str, str]
    known: frozenset[str]
    typed: Mapping[str, str]

    @property
    def is_latin(self) -> bool:
        """Whether it is written in Latin letters."""
        return all(map(str.isascii, self.common))

    def spelt(self, words: Iterable[str]) -> Words | None:
        """The words as the phrases know them; None where one of them stands in no phrase."""
        found: list[str] = []
        for word in words:
            meant = word if word in self.known else self._meant(word)
            if meant is None:
                return None
            found.append(meant)
        return tuple(found)

    def named(self, words: Words) -> str:
        """The first language that the words name, as a model is told it; empty for none."""
        spans = ((at, end) for at in range(len(words)) for end in self.names.ends(words, at))
        return next((self.languages["".join(words[at:end])] for at, end in spans), "")

    def _meant(self, word: str) -> str | None:
        shorter = (_RUN.sub(r"\1", word), _RUN.sub(r"\1\1", word)) if _RUN.search(word) else ()
        return next((each for each in (*shorter, self.typed.get(word)) if each in self.known), None)


@cache
def languages() -> tuple[Language, ...]:
    """All files, English first, those in Latin letters before the others."""
    return tuple(sorted(map(_read, codes()), key=lambda one: not one.is_latin))


@cache
def _in_latin() -> tuple[Language, ...]:
    return tuple(one for one in languages() if one.is_latin)


def fitting(words: Iterable[str]) -> tuple[Language, ...]:
    """The languages that folded words may be of: only those in Latin letters where all words are."""
    return _in_latin() if all(map(str.isascii, words)) else languages()


def language(code: str) -> Language:
    """The file of ``code``, else the English one."""
    return next((one for one in languages() if one.code == code), languages()[0])


@cache
def others() -> Mapping[str, frozenset[str]]:
    """Common words of languages that the node does not speak, by code."""
    return {code: frozenset(words.split()) for code, words in _load(f"{OTHERS}/common").items()}


def _load(name: str) -> dict[str, Any]:
    text = files(LANGUAGES).joinpath(f"data/{name}.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def _read(code: str) -> Language:
    data = _load(f"{code}/conversation")
    names: dict[str, str] = data["languages"]
    talk = tuple(
        Topic(
            name,
            Phrases(" | ".join(one["say"]), names),
            one["reply"],
            one.get("reply_without", one["reply"]),
        )
        for name, one in data["talk"].items()
    )
    orders = {name: Phrases(say, names) for name, say in data["orders"].items()}
    fillers = Phrases("|".join(data["fillers"].split()), names)
    known = frozenset().union(
        fillers.known, *(topic.phrases.known for topic in talk), *(one.known for one in orders.values())
    )
    return Language(
        code,
        data["name"],
        MappingProxyType(names),
        Phrases(_LANGUAGE, names),
        frozenset(data["common"].split()),
        talk,
        MappingProxyType(orders),
        Phrases(data["writes"], names),
        Phrases(data["manner"], names),
        fillers,
        MappingProxyType({**data["acknowledge"], **data["order_replies"]}),
        known,
        MappingProxyType({**_slips(known), **dict(data.get("typed", "").split())}),
    )


def _steps(phrase: str, names: Mapping[str, str]) -> Iterable[Step]:
    for match in _PIECE.finditer(phrase.replace(_LANGUAGE, f"[{_LANGUAGE}]")):
        kind, inside, plain = match.groups()
        if inside == _LANGUAGE:
            yield Step(tuple(map(_words, names)), False)
            continue
        choices = tuple(
            _words(text) for text in (plain if kind is None else inside).split("/" if kind else "|")
        )
        if any(choices):
            yield Step(tuple(choice for choice in choices if choice), kind == "(")


def _words(text: str) -> Words:
    return tuple(words_in(text))


def _firsts(steps: Sequence[Step]) -> set[str]:
    found: set[str] = set()
    for step in steps:
        found.update(choice[0] for choice in step.choices)
        if not step.optional:
            return found
    return set()  # nothing in it is needed, so it says nothing


def _slips(known: frozenset[str]) -> dict[str, str]:
    """Two letters swapped, one doubled, one left out of a long word; what may stand for two words is none."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    for word in known:
        if len(word) < 2 or not word.isalpha():
            continue
        slips = {word[:i] + b + a + word[i + 2 :] for i, (a, b) in enumerate(pairwise(word))}
        slips |= {word[: i + 1] + word[i:] for i in range(len(word))}
        if len(word) >= _DROPPED_FROM:
            slips |= {word[:i] + word[i + 1 :] for i in range(len(word))}
        for slip in slips - known:
            if found.setdefault(slip, word) != word:
                twice.add(slip)
    return {slip: word for slip, word in found.items() if slip not in twice and len(slip) > 1}
