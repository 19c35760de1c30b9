"""The numbers of proposals in a question: "123", "EP 5.4", "the third proposal". Pure."""

from __future__ import annotations

import re

from adapters.snapshot.words import SERIES, TABLES, WORDS
from node.language import numbers

_DIGITS = re.compile(r"\d{1,6}(?:\.\d{1,3}){0,2}\Z")
_NTH = re.compile(r"(\d{1,6})(?:st|nd|rd|th)\Z")
_SERIES_WORD = re.compile(SERIES + r"\Z")
_SERIES_NUMBER = re.compile("(" + SERIES + r")-?(\d{1,6}(?:\.\d{1,3}){0,2})\Z")
_UNITS = numbers.below(20, "en", start=1)
_TENS = numbers.below(100, "en", start=20)
_NTH_WORDS = {word: place for place, word in enumerate(TABLES["words"]["nth"], start=1)}


def is_digits(word: str) -> bool:
    return _DIGITS.match(word) is not None


def is_series(word: str | None, following: str = "") -> bool:
    """Whether a word is a series with its number, or one before its number: "ep5.4", "ep 5.4"."""
    if word is None:
        return False
    return _SERIES_NUMBER.match(word) is not None or (
        _SERIES_WORD.match(word) is not None and is_digits(following)
    )


def numbered(series: str | None, digits: str) -> str:
    """A number as the slots hold it: "123", "ep-5.4"."""
    return f"{series}-{plain_number(digits)}" if series else plain_number(digits)


def is_hashed(plain: str, number: str | None) -> bool:
    return number is not None and re.search(r"#\s?" + re.escape(number) + r"(?!\d)", plain) is not None


def take_numbers(words: list[str], plain: str) -> list[str]:
    """The proposal numbers of a question; their words are blanked."""
    found: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if match := _SERIES_NUMBER.match(word):
            found.append(numbered(match[1], match[2]))
            words[at] = ""
        elif _SERIES_WORD.match(word) and _DIGITS.match(following):
            found.append(numbered(word, following))
            words[at : at + 2] = ["", ""]
        elif (nth := _nth(word)) is not None and _next_word(words, at) in WORDS["noun"] | WORDS["vote"]:
            found.append(nth)
            words[at] = ""
        elif word in WORDS["noun"] or word in ("vote", "snapshot"):
            end = at + 1
            while (
                end < len(words) and (words[end] in WORDS["number_sign"] or words[end] == "") and end - at < 5
            ):
                end += 1
            taken = _number_at(words, end)
            if taken is not None and not _is_share(plain, taken[0]):
                found.append(taken[0])
                words[at + 1 : end + taken[1]] = [""] * (end + taken[1] - at - 1)
        elif _DIGITS.match(word) and (
            re.search(r"#\s?" + re.escape(word) + r"(?!\d)", plain)
            or (at and words[at - 1] in WORDS["number_sign"])
        ):
            found.append(plain_number(word))
            words[at] = ""
        at += 1
    joined = " ".join(words)
    also = re.search(r"\bproposals?\s+(?:and|or|to|vs)?\s*\d", joined) if found else None
    if also or (found and re.search(r"(?:^| )(?:and|or) \d{1,6}(?: |$)", joined)):
        found.append("several")
    return list(dict.fromkeys(found))


def _next_word(words: list[str], at: int) -> str:
    """The first word after ``at`` that is still there, among the next three."""
    return next((word for word in words[at + 1 : at + 4] if word), "")


def _number_at(words: list[str], at: int) -> tuple[str, int] | None:
    """The number that starts at ``at`` and how many words it takes."""
    if at >= len(words):
        return None
    word = words[at]
    if _DIGITS.match(word):
        return plain_number(word), 1
    head, _, tail = word.partition("-")
    if head in _TENS:
        if tail in _UNITS and _UNITS[tail] < 10:
            return str(_TENS[head] + _UNITS[tail]), 1
        following = words[at + 1] if at + 1 < len(words) else ""
        if _UNITS.get(following, 10) < 10:
            return str(_TENS[head] + _UNITS[following]), 2
        return str(_TENS[head]), 1
    return (str(_UNITS[word]), 1) if word in _UNITS and word != "one" else None


def _nth(word: str) -> str | None:
    if match := _NTH.match(word):
        return plain_number(match[1])
    return str(_NTH_WORDS[word]) if word in _NTH_WORDS else None


def plain_number(digits: str) -> str:
    head, dot, tail = digits.partition(".")
    return (head.lstrip("0") or "0") + dot + tail


def _is_share(plain: str, number: str) -> bool:
    return re.search(r"(?<![\d.])" + re.escape(number) + r"\s?(?:%|percent)", plain) is not None
