"""What a question for a definition is about: "ipfs whats that", "IPFS, never understood it" and "What is
IPFS?" are one question, whatever a measure of similarity makes of their few words.

The frames around the thing are data (``matching.toml``). They are taken off both ends until nothing of them
is left; what stands between is the thing. It must be a short run of words, and something must have been
asked: a bare "ipfs" is left to the gate's other rules.

Promises: pure, total, linear in the text. English only. Must not know: what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from node.cache.matching import words
from node.cache.matching.phrases import by_first_word, match
from node.cache.matching.token import END, Token
from node.cache.matching.tokens import tokenise

THING_WORDS_MAX = 5
_TOKENS_MAX = 24
_WHAT, _WORK = frozenset({"what"}), frozenset({"how", "work"})
_BETWEEN = frozenset({"of", "in", "for", "to", "and", "the"})
_PAUSES = frozenset([",", "/", "-", "–", "—", ":", ";", "(", ")", '"', "'"])

_FRAMES = words.TABLE["definition"]
_OPENINGS = by_first_word(f"{_FRAMES['open']}\n{_FRAMES['loose']}")
_ENDS = by_first_word(f"{_FRAMES['end']}\n{_FRAMES['loose']}", -1)

Thing: TypeAlias = tuple[frozenset[str], tuple[str, ...]]
"""What is asked about it ("what", or "how" and "work"), and its words."""


@lru_cache(maxsize=4_096)
def thing(text: str) -> Thing | None:
    """What ``text`` asks to have defined or how it works; None where it asks anything else."""
    found = [token for token in tokenise(text) if token.kind != END and token.text not in _PAUSES]
    if not 0 < len(found) <= _TOKENS_MAX:
        return None
    asked: set[str] = set()
    while True:
        texts = [token.text for token in found]
        # A word must be left.
        if opening := match(_OPENINGS, texts[:-1], 0):
            found = found[opening[0] :]
            asked.update(opening[1])
        elif end := match(_ENDS, texts[:0:-1], 0):
            found = found[: -end[0]]
            asked.update(end[1])
        else:
            break
    if frozenset(asked) not in (_WHAT, _WORK) or not _is_name(found):
        return None
    return frozenset(asked), tuple(_singular(token) for token in found)


def _is_name(found: Sequence[Token]) -> bool:
    texts = [token.text for token in found]
    if not 0 < len(texts) <= THING_WORDS_MAX:
        return False
    inner = [text for text in texts[1:-1] if text not in _BETWEEN]
    return not (words.FILLER | words.SOFT | words.NEGATIONS).intersection([texts[0], texts[-1], *inner])


def _singular(token: Token) -> str:
    """ "logs" is "log" and "DIDs" "did"; what ends otherwise in an s is left."""
    text = token.text
    is_plural = len(text) > 3 and text.endswith("s") and not text.endswith(("ss", "us", "is", "os"))
    return text[:-1] if is_plural else text
