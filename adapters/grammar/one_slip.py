"""One letter amiss in a word that a grammar waits for: "tiem", "curent", "exchnage".

It promises: a word is taken for another only when exactly one word of the given vocabulary is one slip away
(a letter added, missing, wrong, or two swapped) and its first letter stands or is swapped with the second.
Short words, which have many neighbours, are mended only where letters are swapped, doubled or missing inside.
Whether the mended text makes sense is for the grammar to say. Pure and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from rapidfuzz.distance import OSA

SHORT = 4
"""Words of the vocabulary up to this length are the short ones."""
MENDED_MAX = 3
_WORD = re.compile(r"(?<![\w'-])[a-z]{3,20}(?![\w-]|'(?!s\b))")


def is_one_slip(typed: str, meant: str) -> bool:
    """Whether ``typed`` is ``meant`` with one slip, by the rules above."""
    if OSA.distance(typed, meant, score_cutoff=1) != 1:
        return False
    is_swapped = len(typed) == len(meant) and sorted(typed) == sorted(meant)
    if typed[:1] != meant[:1] and not is_swapped:
        return False
    if is_swapped or len(meant) > SHORT:
        return True
    if len(typed) < len(meant):
        return not meant.startswith(typed)
    doubled = (at for at in range(1, len(typed)) if typed[at] == typed[at - 1])
    return any(typed[:at] + typed[at + 1 :] == meant for at in doubled)


@lru_cache(maxsize=8)
def _by_start(vocabulary: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for word in vocabulary:
        found.setdefault(word[0], []).append(word)
    return {start: tuple(words) for start, words in found.items()}


def starting_like(word: str, vocabulary: frozenset[str]) -> Iterator[str]:
    """Words of the vocabulary that may be meant: a slip leaves their first letter first or second."""
    starts = _by_start(vocabulary)
    return (each for start in dict.fromkeys(word[:2]) for each in starts.get(start, ()))


@lru_cache(maxsize=4_096)
def _meant(word: str, vocabulary: frozenset[str]) -> str | None:
    """The only word of the vocabulary that is one slip away."""
    found = [each for each in starting_like(word, vocabulary) if is_one_slip(word, each)]
    return found[0] if len(found) == 1 else None


def mended(
    plain: str, vocabulary: frozenset[str], is_word: Callable[[str], bool] = lambda word: False
) -> str | None:
    """The folded text with its slips mended; None where there are none, or more than ``MENDED_MAX``. Words
    that ``is_word`` knows are left alone."""
    count = 0

    def mend(match: re.Match[str]) -> str:
        nonlocal count
        word = match.group()
        meant = None if word in vocabulary else _meant(word, vocabulary)
        if meant is None or is_word(word):
            return word
        count += 1
        return meant

    text = _WORD.sub(mend, plain[:400])
    return text if 0 < count <= MENDED_MAX else None
