"""A question about exchange rates as tokens: currencies, numbers, words, and the day. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from adapters.currency import words as say
from adapters.currency.names import (
    Money,
    at_home,
    classified,
    in_adjectives,
    is_number_unread,
    names_money,
    split,
)
from adapters.grammar import when as times
from adapters.grammar.when import When
from node.language.reading import read

WORDS_MAX = 60
_SIGNED = re.compile(
    r"(?:\u2212\s?|^[-\u2013]\s?|(?<=[\s(:=,])[-\u2013])(?:[a-z]{0,2}[^\w\s]\s?)?\.?\d"
    r"|[^\w\s.,;:!?()'\"-]\s?[-\u2013\u2212]\s?\.?\d|\d\s?[%\u2030\u00b0^]"
)
"""A minus sign before a number, or a sign behind it that changes what it says."""
_UPPER = re.compile(r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])")


@dataclass(frozen=True, slots=True)
class Parsed:
    tokens: tuple[Money, ...]
    when: When | None
    unknown: tuple[str, ...]
    script: bool
    asks_rate: bool
    sure: bool = False
    abroad: bool = False
    unread: bool = False
    """Whether a number is said that is neither an amount nor a part of the date."""

    @property
    def places(self) -> list[int]:
        """Where the currencies stand."""
        return [at for at, token in enumerate(self.tokens) if token.kind == "currency"]

    def words(self, start: int = 0, end: int | None = None) -> list[str]:
        """The words between two tokens."""
        return [token.value for token in self.tokens[max(0, start) : end] if token.kind == "word"]


def parse(text: str, today: date) -> Parsed | None:
    reading = read(text)
    if len(reading.words) > WORDS_MAX or len(reading.plain) > 400:
        return None
    script = reading.script in ("japanese", "chinese", "other")
    plain = reading.plain
    whole = split(plain)
    if len(whole) > WORDS_MAX or not names_money(whole):
        return None
    if not any(token.kind == "currency" for token in classified(whole)):
        return None
    if script or reading.script == "cyrillic":
        if say.SCRIPT_TRAPS.search(plain):
            return None
        when, plain = times.find_script(plain, today)
        words, is_abroad = split(plain), False
    else:
        when, rest = times.find(whole, today, past=True)
        words = list(rest)
        is_abroad = False
        there = classified(words)
        if len({token.value for token in there if token.kind == "currency"}) == 1:
            bare = in_adjectives(words, say.FILLERS) if say.TOLD.isdisjoint(words) else words
            if _are_known(bare):
                words = bare
            abroad = at_home(words) if any(token.kind == "number" for token in there) else words
            if _are_known(abroad):
                is_abroad, words = abroad != words, abroad
    upper = {match.group().lower() for match in _UPPER.finditer(text[:600])}
    if upper and not any(char.islower() for char in text[:600]):
        upper = set()
    tokens = tuple(
        replace(token, doubtful=False) if token.kind == "currency" and token.value in upper else token
        for token in classified(words)
    )
    loose = [token.value for token in tokens if token.kind == "word"]
    if script:
        left = [say.SCRIPT_FILLERS.sub("", word) for word in loose]
        unknown = tuple(word for word in left if word)
        asks_rate = bool(say.SCRIPT_RATE.search(plain))
    else:
        unknown = tuple(word for word in loose if word not in say.FILLERS)
        asks_rate = has_phrase(words, say.RATE_PHRASES)
    sure = not script and has_phrase(words, say.RATE_SURE)
    unread = has_number_unread(reading.plain, tokens, unknown, today)
    return Parsed(tokens, when, unknown, script, asks_rate, sure, is_abroad, unread)


def _are_known(words: Sequence[str]) -> bool:
    return all(token.kind != "word" or token.value in say.FILLERS for token in classified(words))


def has_number_unread(plain: str, tokens: Sequence[Money], unknown: Sequence[str], today: date) -> bool:
    """See ``Parsed.unread``; a number beside the name of a month is a day that the calendar lacks."""
    if _SIGNED.search(plain) or any(map(is_number_unread, unknown)):
        return True
    if any(char.isdigit() for token in tokens if token.kind == "word" for char in token.value):
        return True
    for at, token in enumerate(tokens):
        if token.kind != "number":
            continue
        if at and tokens[at - 1].kind == "word" and tokens[at - 1].value in say.MINUS:
            return True
        near = tokens[max(0, at - 2) : at + 3]
        if any(_is_month(other.value, today) for other in near if other.kind == "word"):
            return True
    return False


def _is_month(word: str, today: date) -> bool:
    found = times.find(("1", word), today)[0] or times.find_script(f"1 {word}", today)[0]
    return found is not None and not found.span and re.fullmatch(r"\d{4}-\d{2}-01", found.said) is not None


def has_phrase(words: Sequence[str], phrases: Sequence[tuple[str, ...]]) -> bool:
    return any(
        tuple(words[at : at + len(phrase)]) == phrase for phrase in phrases for at in range(len(words))
    )
