"""Unit and calendar questions in other languages, word by word into the English of the forms.

Rules: every word must be in one language's table, a number (in words too) or a unit symbol; one word that is
not leaves the text alone. Words that mean different measures in different places (Pfund, livre)
are left out. The tables are folded like the text (``words.fold``). Pure and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from adapters.math_calculator import units
from adapters.math_calculator.numbers import Refused
from adapters.math_calculator.tokens import NotMath, tokenise
from adapters.math_calculator.words import LANGUAGES, Language, fold
from node.language.tables import later

CHARS_MAX = 120
_WORD = later(r"[^\W\d_]+(?:[-'][^\W\d_]+)*'?")


def _table(forms: Mapping[str, str]) -> Mapping[str, str]:
    """Word -> English; empty for what stands for nothing."""
    return {
        word: "" if english == "-" else english
        for english, words in forms.items()
        for word in fold(words).split()
    }


_FOREIGN = tuple(language for language in LANGUAGES if language.forms)
_TABLES: tuple[tuple[Mapping[str, str], Language], ...] = tuple(
    (_table(language.forms), language) for language in _FOREIGN
)
_NUMBER_WORDS_MAX = 6

# whole questions that say more than their words
_TODAY = later("|".join(form for language in _FOREIGN for form in language.today))
_AND_A_HALF = later(
    r"(?P<amount>\d{1,9})(?P<unit> [^\W\d_]{2,30}) (?:"
    + "|".join(form for language in _FOREIGN for form in language.and_a_half)
    + r")(?![^\W_])",
    re.IGNORECASE,
)
WORDS = frozenset(word for table, _ in _TABLES for word in table) | frozenset(
    re.findall(r"[^\W\d_]{2,}", f"{_TODAY.pattern} {_AND_A_HALF.pattern} нового года новыи год")
)
"""The words of all tables."""


def translated(text: str) -> list[str]:
    """``text`` (folded) in English, in each language whose table has all of its words."""
    if len(text) > CHARS_MAX:
        return []
    text = _AND_A_HALF.sub(r"\g<amount>.5\g<unit>", text)
    if _TODAY.fullmatch(text.lower()):
        return ["what day is it today"]
    text = text.replace("нового года", "нового-года").replace("новыи год", "нового-года")
    words = [match[0] for match in _WORD.finditer(text)]
    return [
        found
        for table, language in _TABLES
        if all(
            word.lower() in _known(language.code) or word in units.SYMBOLS or not word.isalpha()
            for word in words
        )
        and (found := _by(table, language, text)) is not None
    ]


@lru_cache(maxsize=8)
def _known(code: str) -> frozenset[str]:
    """The words of one language's table, and those that its numbers are made of."""
    table, language = next(each for each in _TABLES if each[1].code == code)
    numbers = [*language.number_starts, *language.hundred, *language.hundreds, *language.scales]
    numbers += [*language.joiners, *language.points, *language.parts, *language.half_and, *language.articles]
    numbers += [word for number in language.numbers for word in number]
    return frozenset(table) | frozenset(numbers)


def _by(table: Mapping[str, str], language: Language, text: str) -> str | None:
    out: list[str] = []
    at = 0
    words = list(_WORD.finditer(text))
    index = 0
    while index < len(words):
        match = words[index]
        word = match[0]
        number, size = _number(words[index : index + _NUMBER_WORDS_MAX], text, language)
        english = table.get(word.lower())
        if english is None and "'" in word.rstrip("'"):
            # an elided article: un'ora, l'heure
            article, _, noun = word.lower().partition("'")
            if article + "'" in table and noun in table:
                english = f"{table[article + chr(39)]} {table[noun]}"
        if number is not None and (english is None or size > 1):
            out += [text[at : match.start()], number]
            index += size
            at = words[index - 1].end()
            continue
        if english is None and word not in units.SYMBOLS:
            return None
        out += [text[at : match.start()], word if english is None else english]
        at = match.end()
        if word.endswith("'") and not text[at : at + 1].isspace():
            out.append(" ")
        index += 1
    if not out:
        return None
    found = re.sub(r"\s+", " ", "".join((*out, text[at:]))).strip()
    found = re.sub(r"\b(how many|what is|in|a)(?: \1)+\b", r"\1", found)
    found = re.sub(r"^(?:how many|what is|in)(?: in)? (?=[-\d])", "convert ", found)
    found = re.sub(r"^(how many [a-z ]{1,40}? in) (?!an? )(?=[a-z])", r"\1 a ", found)
    found = re.sub(r"(?<=\d)\. (?=[a-z])", " ", found)  # "25. Dezember"
    found = re.sub(r"^(\d.*) convert$", r"convert \1", found)
    return re.sub(r" in until | until in ", " until ", found)


def _number(words: list[re.Match[str]], text: str, language: Language) -> tuple[str | None, int]:
    """The longest number in words at the start of ``words``, as figures, and how many words it takes."""
    if words[0][0].lower() not in language.number_starts or words[0][0].lower() in language.articles:
        return None, 0
    for size in range(len(words), 0, -1):
        phrase = text[words[0].start() : words[size - 1].end()].lower()
        try:
            found = tokenise(phrase, language)
        except (NotMath, Refused):
            continue
        value = found[0].value if len(found) == 1 else None
        if value is not None and found[0].kind == "num" and value.denominator == 1:
            return str(value.numerator), size
    return None, 0
