"""Numbers in words, from one table for every reader (``data/numbers.json``, made by ``bench.make_numbers``).

Words are folded as in ``reading``: lower case, no accents, hyphens as blanks. Several languages are read at
once, for people do not say which one they write; no phrase means two numbers. What is a word of another kind
elsewhere ("once", "due") is for the caller to judge: a number is read where one may stand.
Pure and bounded: ``WORDS_MAX`` words, up to 999,999.
"""

from __future__ import annotations

import functools
import json
import unicodedata
from collections.abc import Mapping, Sequence
from importlib.resources import files

WORDS_MAX = 12
_PHRASE_WORDS_MAX = 4
_THOUSANDS = ("tausend", "mila", "mille", "duizend")
JOINED_MIN = 8
"""So long is a word at least that is two numbers in one: "zweihundertfunfzig"."""


@functools.cache
def _data() -> dict[str, dict[str, dict[str, int]]]:
    text = files("node.language").joinpath("data/numbers.json").read_text(encoding="utf-8")
    data: dict[str, dict[str, dict[str, int]]] = json.loads(text)
    return data


def codes() -> tuple[str, ...]:
    """The languages that numbers are read in."""
    return tuple(_data())


def fold(text: str) -> str:
    """As the words of the table are written."""
    plain = unicodedata.normalize("NFD", text.lower().replace("ß", "ss").replace("й", "\0"))
    kept = "".join(char for char in plain if not unicodedata.combining(char)).replace("\0", "й")
    return " ".join(kept.replace("-", " ").split())


@functools.cache
def phrases(code: str | None = None) -> Mapping[str, int]:
    """Phrase -> value, 0 to 100 and round hundreds and thousands; of all languages without ``code``."""
    if code is not None:
        words: dict[str, int] = _data()[code]["words"]
        umlauts = {word.replace("funf", "fuenf").replace("zwolf", "zwoelf"): n for word, n in words.items()}
        return words | (umlauts if code == "de" else {})
    return {word: value for one in codes() for word, value in phrases(one).items()}


@functools.cache
def single_words(code: str | None = None) -> Mapping[str, int]:
    """Those of one word, below 100."""
    return {word: value for word, value in phrases(code).items() if " " not in word and value < 100}


@functools.cache
def starts() -> frozenset[str]:
    """The words that a number can begin with; one that is written as one word may begin otherwise."""
    return frozenset(phrase.split()[0] for phrase in phrases())


def below(end: int, code: str, *, start: int = 0) -> dict[str, int]:
    """The words of one language for the numbers from ``start`` to ``end``, without ``end``."""
    return {word: value for word, value in single_words(code).items() if start <= value < end}


@functools.cache
def _joiners() -> frozenset[str]:
    return frozenset(word for one in _data().values() for word in one["and"])


def read(words: Sequence[str], at: int = 0, code: str | None = None) -> tuple[int, int] | None:
    """The number in words that begins at ``at``, and where the word behind it stands; None where none does.
    Figures are not read."""
    total, current, start, end = 0, -1, at, min(len(words), at + WORDS_MAX)
    while at < end:
        may_join = current >= 100 or (total and not current)
        found = _phrase(words, at + (may_join and words[at] in _joiners()), end, code)
        if found is None:
            break
        value, behind = found
        if value < 100 and (current < 0 or (current % 100 == 0 and (current or total))):
            current = max(current, 0) + value
        elif value == 100 and 0 < current < 10:
            current *= 100
        elif value == 1_000 and 0 < current < 1_000 and not total:
            total, current = current * 1_000, 0
        elif 100 <= value < 1_000 and current <= 0:
            current = value
        elif value >= 1_000 and current < 0:
            total, current = value // 1_000 * 1_000, value % 1_000
        else:
            break
        at = behind
    return None if at == start else (total + max(current, 0), at)


def longest(words: Sequence[str], at: int) -> tuple[int, int] | None:
    """The number below 100 of several words that begins at ``at``, and where the word behind it stands."""
    found = _phrase(words, at, min(len(words), at + WORDS_MAX), None)
    return found if found is not None and found[0] < 100 and found[1] > at + 1 else None


def _phrase(words: Sequence[str], at: int, end: int, code: str | None) -> tuple[int, int] | None:
    known = phrases(code)
    sizes = min(_PHRASE_WORDS_MAX, end - at) if at < end and words[at] in starts() else 0
    for size in range(sizes, 0, -1):
        value = known.get(" ".join(words[at : at + size]))
        if value is not None:
            return value, at + size
    value = joined(words[at], known) if at < end and len(words[at]) >= JOINED_MIN else None
    return None if value is None else (value, at + 1)


def joined(word: str, known: Mapping[str, int] | None = None) -> int | None:
    """Several numbers in one word: "zweihundertfunfzig", "diecimila"."""
    known = phrases() if known is None else known
    if word in known:
        return known[word]
    for thousand in _THOUSANDS:
        left, found, right = word.partition(thousand)
        if found and (left or right):
            many = joined(left, known) if left else 1
            rest = joined(right, known) if right else 0
            return None if many is None or rest is None or many >= 1_000 else many * 1_000 + rest
    for cut in range(3, len(word) - 2):
        whole = known.get(word[:cut], known.get(f"{word[:cut]}o", 0))  # "centotto"
        rest = known.get(word[cut:], known.get(word[cut:].removeprefix("und"), 0))
        if 100 <= whole < 1_000 and whole % 100 == 0 and 0 < rest < 100:
            return whole + rest
    return None
