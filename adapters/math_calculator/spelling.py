"""One letter amiss in the words of arithmetic: "calcualte", "divded", "waht".

Rules: only a text whose other words are all known here is corrected, so that a text about something else
stays as it is; a word is corrected only when exactly one meaning is one letter away (added, missing, wrong
or two swapped) and the first letter stands (or is swapped with the second). Unit symbols and short words
are never guessed. The reading of the corrected text decides whether it was a question of the calculator;
the answer shows what was understood. Pure and bounded.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rapidfuzz.distance import OSA

from adapters.grammar.one_slip import starting_like
from adapters.math_calculator import date_questions, phrases, units
from adapters.math_calculator.words import ENGLISH
from node.language.reading import word_list

CHARS_MAX = 160
_WORDS_MAX = 24
_FIXES_MAX = 3
_LETTERS_MIN = 5
_FRAME = "what how much many plus minus times half times until days weeks root"
_FRAME_LETTERS_MIN = 3
_EXTRA = "calculate compute percent percentage squared square cubed divided multiplied subtract subtracted"
_NOT_MISSPELT = frozenset(
    word_list("for and the are can you use min max log sin cos tan any her him his was has had not")
)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


@lru_cache(maxsize=1)
def _targets() -> dict[str, str]:
    """Words that may be meant, with what they mean (``meter`` and ``meters`` mean one thing)."""
    tables = (
        ENGLISH.asking, ENGLISH.explicit, ENGLISH.operators, ENGLISH.functions,
        ENGLISH.small, ENGLISH.hundred, ENGLISH.scales, ENGLISH.parts, date_questions.NAMES,
    )  # fmt: skip
    listed = (word for table in tables for phrase in table for word in phrase.split())
    words = {word: word for word in listed if len(word) >= _LETTERS_MIN and word.isalpha()}
    for name, unit in units.NAMES.items():
        if name.isalpha() and len(name) > _LETTERS_MIN:
            words.setdefault(name, unit.plural)
    return words | {word: word for word in word_list(f"{_EXTRA} {_FRAME}")}


@lru_cache(maxsize=1)
def _target_words() -> frozenset[str]:
    return frozenset(_targets())


@lru_cache(maxsize=1)
def known() -> frozenset[str]:
    """Every English word that a question of the calculator may be made of."""
    words = {
        word for phrase in (*ENGLISH.polite, *ENGLISH.suffixes, *ENGLISH.asking) for word in phrase.split()
    }
    words |= set(_targets()) | set(ENGLISH.joiners) | set(ENGLISH.points) | set(ENGLISH.articles)
    words |= {
        word for phrase in (*ENGLISH.operators, *ENGLISH.functions, *units.NAMES) for word in phrase.split()
    }
    words |= {word for number in ENGLISH.numbers for word in number}
    words |= phrases.WORDS | date_questions.WORDS | {symbol.lower() for symbol in units.SYMBOLS}
    return frozenset(words)


def corrected(text: str) -> str | None:
    """``text`` (lower or mixed case) with its misspelt words put right; None when there is nothing to put
    right or when it is not all arithmetic."""
    if len(text) > CHARS_MAX:
        return None
    words = list(_WORD.finditer(text.lower()))
    if not 1 <= len(words) <= _WORDS_MAX or len(text.lower()) != len(text):
        return None
    right = known()
    wrong = [match for match in words if match[0] not in right and match[0].partition("'")[0] not in right]
    if not 1 <= len(wrong) <= _FIXES_MAX:
        return None
    out, at = [], 0
    for match in wrong:
        word, mark, tail = match[0].partition("'")
        meant = _meant(word)
        if meant is None:
            return None
        out += [text[at : match.start()], meant, mark, tail]
        at = match.end()
    return "".join((*out, text[at:]))


def _meant(word: str) -> str | None:
    if word in _NOT_MISSPELT or len(word) < _FRAME_LETTERS_MIN:
        return None
    targets = _targets()
    near = {one: targets[one] for one in starting_like(word, _target_words()) if _one_apart(word, one)}
    return min(near) if len(set(near.values())) == 1 else None


def _one_apart(a: str, b: str) -> bool:
    return (a[0] == b[0] or a[:2] == b[1::-1]) and OSA.distance(a, b, score_cutoff=1) <= 1
