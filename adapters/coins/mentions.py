"""Whether a text can be about coins at all: the cheap look before the reading. Pure.

It promises: no text that ``claims`` would claim is refused, for it asks less than every reader behind it: one
word that names a coin, nearly names one or says "coin", a ticker (by its mark or its capitals), a word of
markets, or writing in another script. It says nothing of what is asked.
"""

from __future__ import annotations

import itertools
import re

from adapters.coins.items import misspelt
from adapters.coins.words import COIN_WORDS, NAMED_ENDINGS, PHRASES, TABLES, plain

_PIECES = re.compile(r"[^\W_]+")
_TICKER_MARK = re.compile(r"\$[a-z]|\btrad(?:es?|ing) (?:at|for)\b|\b(?:peg|trending list)\b")
_CAPITALS = re.compile(r"(?<![^\W_])[A-Z]{3,6}(?![^\W_])")
_ENDINGS = (*TABLES["words"]["compound_ends"], *NAMED_ENDINGS)
"""Of compounds that begin with a coin's name, and of names that say that they are a coin's."""

_SINGLE = frozenset(key[0] for key in COIN_WORDS if len(key) == 1) | {
    key[-1] for key, (kind, _) in PHRASES.items() if kind == "ctx"
}
_PAIRS = frozenset(key[:2] for key in COIN_WORDS if len(key) > 1)
_TAILS = 3, 4
"""Letters of a currency that may be glued to a ticker: btcusd, btcusdt."""


def names_coins(text: str) -> bool:
    """Whether a word of ``text`` could be a coin's."""
    low = plain(text).lower()
    words = _PIECES.findall(low)
    if not _SINGLE.isdisjoint(words) or _TICKER_MARK.search(low) or _CAPITALS.search(text):
        return True
    if not _PAIRS.isdisjoint(itertools.pairwise(words)):
        return True
    for word in words:
        if len(word) < 5:
            continue
        if word.endswith(_ENDINGS) or any(word[:-tail] in _SINGLE for tail in _TAILS):
            return True
        if not word.isascii() or misspelt(word) is not None:
            return True
    return not low.isascii() and any(not word.isascii() for word in words)
