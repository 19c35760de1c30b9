"""One letter amiss in a word that a grammar waits for: "tiem", "curent", "exchnage".

It promises: a word is taken for another only when exactly one word of the given vocabulary is one slip away
(a letter added, missing, wrong, or two swapped) and its first letter stands or is swapped with the second.
Short words, which have many neighbours, are mended only where letters are swapped, doubled or missing inside.
Whether the mended text makes sense is for the grammar to say. Pure and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

SHORT = 4
"""Words of the vocabulary up to this length are the short ones."""
MENDED_MAX = 3
_WORD = re.compile(r"(?<![\w'-])[a-z]{3,20}(?![\w-]|'(?!s\b))")


def is_one_slip(typed: str, meant: str) -> bool:
    """Whether ``typed`` is ``meant`` with one slip, by the rules above."""
    if abs(len(typed) - len(meant)) > 1 or typed == meant:
        return False
    shorter = min(len(typed), len(meant))
    head = next((at for at in range(shorter) if typed[at] != meant[at]), shorter)
    tail = next((at for at in range(shorter - head) if typed[-1 - at] != meant[-1 - at]), shorter - head)
    wrong, right = typed[head : len(typed) - tail], meant[head : len(meant) - tail]
    if len(wrong) == 2:
        return wrong == right[::-1]
    if head == 0 or len(wrong) > 1 or len(right) > 1:
        return False
    if len(meant) > SHORT:
        return True
    if not wrong:
        return tail > 0
    return not right and typed[head - 1] == wrong


@lru_cache(maxsize=8)
def _by_start(vocabulary: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    """The vocabulary by first letter, which a slip leaves first or second."""
    found: dict[str, list[str]] = {}
    for word in vocabulary:
        found.setdefault(word[0], []).append(word)
    return {start: tuple(words) for start, words in found.items()}


def mended(
    plain: str, vocabulary: frozenset[str], is_word: Callable[[str], bool] = lambda word: False
) -> str | None:
    """The folded text with its slips mended; None where there are none, or more than ``MENDED_MAX``. Words
    that ``is_word`` knows are left alone."""
    count = 0
    starts = _by_start(vocabulary)

    def mend(match: re.Match[str]) -> str:
        nonlocal count
        word = match.group()
        if word in vocabulary or is_word(word):
            return word
        meant = [
            each
            for start in dict.fromkeys(word[:2])
            for each in starts.get(start, ())
            if -2 < len(each) - len(word) < 2 and is_one_slip(word, each)
        ]
        if len(meant) != 1:
            return word
        count += 1
        return meant[0]

    text = _WORD.sub(mend, plain[:400])
    return text if 0 < count <= MENDED_MAX else None
