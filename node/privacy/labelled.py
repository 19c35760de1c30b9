"""Codes behind the words for an identifier: "passport no. …", "Kundennummer …", "口座番号 …".

Pure. The words stand in ``words.toml``: names of identifiers, and what has numbers with a word for number. A
code that check digits tell is found by ``numbers``, one that only a sentence tells by ``personal``. Figures
of arithmetic, publications and dates are no codes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

from node.privacy.numbers import CANDIDATES_MAX, is_figure
from node.privacy.text import Text
from node.privacy.words import entries, fill, listed, word

_REACH, _REACH_BACK = 64, 44
_CODE = re.compile(
    r"(?<![\w.])(?=[A-Z0-9]{0,12}\d)[A-Z0-9]{1,30}(?:[ ./-]{1,3}(?=[A-Z]{0,4}\d|[A-Z]\b|[A-Z]{1,4}[-/]\d)"
    r"[A-Z0-9]{1,12}){0,9}(?!\w)",
    re.IGNORECASE,
)
_MAY_BE_CODE = re.compile(r"\d(?:\d{4}|[ ./-]{1,3}\d|[A-Za-z]{1,2}\d|(?<=[A-Za-z]\d)\d\d)")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SENTENCE_END = re.compile(r"[?!\n]|(?<![Nn]o)(?<![Nn]r)(?<!num)\. (?=[A-ZÄÖÜ¿¡])")
_DAY = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d")
_QUERY = re.compile(r"\b(?:select\b.{1,200}\bfrom|insert into|update \w+ set|delete from|primary key)\b")
_ACCOUNT = ("account", "konto", "customer", "kunden", "member")


@cache
def _label() -> re.Pattern[str]:
    unspaced = "|".join(Text.of(entry).lower for entry in entries("identifiers_unspaced"))
    return re.compile(
        fill(
            r"(?<![^\W_])(?:<identifiers>"
            r"|<numbered>(?:'s)?(?:[ _/-]{1,2}(?:account|reference|card|client))?[ _-]?<number_words>"
            r"|<number_words> (?:(?:<number_links>) ?){0,2}(?:<me> )?<numbered>)(?![^\W\d_])|"
        )
        + unspaced
    )


def find(read: Text) -> str | None:
    """``national_id``, ``account``, ``too_many_numbers`` or None."""
    if _MAY_BE_CODE.search(read.text) is None:
        return None
    labels: list[re.Match[str]] | None = None
    tried = 0
    for found in _CODE.finditer(read.text):
        digits = sum(map(str.isdigit, found[0]))
        is_joined = len(found[0]) >= 7 and " " not in found[0] and not found[0].isdigit()
        if digits < (3 if is_joined else 5):
            continue
        if (tried := tried + 1) > CANDIDATES_MAX:
            return "too_many_numbers"
        labels = list(_label().finditer(read.lower)) if labels is None else labels
        if not labels:
            return None
        label = _label_of(read, found, digits, labels)
        if label is not None and _is_identifier(read, found, digits, label):
            return "account" if label.startswith(_ACCOUNT) else "national_id"
    return None


def _label_of(read: Text, code: re.Match[str], digits: int, labels: list[re.Match[str]]) -> str | None:
    """The words for an identifier shortly before a code, or of a longer one behind it, in its sentence."""
    start = code.start() + len(code[0]) - len(code[0].lstrip(_LETTERS))
    place = bisect_right(labels, start, key=lambda label: label.end())
    before = labels[place - 1] if place and labels[place - 1].start() >= code.start() - _REACH else None
    if before is not None:
        between = read.text[before.end() : code.start()]
        if _SENTENCE_END.search(between) is None:
            return None if word("arithmetic").search(between.lower()) else before[0]
    behind = labels[place] if place < len(labels) and digits >= 6 else None
    if behind is not None and behind.end() <= code.end() + _REACH_BACK:
        between = read.text[code.end() : behind.start()]
        before = before if _SENTENCE_END.search(between) is not None else behind
    return before[0] if before is not None and (digits >= 8 or before is behind) else None


def _is_identifier(read: Text, code: re.Match[str], digits: int, label: str) -> bool:
    is_word = label in listed("also_words") and label.upper() not in read.text
    return not (
        is_word
        or is_figure(read, code.start(), code.end(), grouped=True)
        or word("published").search(read.before(code.start(), 32))
        or _DAY.fullmatch(code[0])
        or (digits < 7 and _QUERY.search(read.lower))
    )
