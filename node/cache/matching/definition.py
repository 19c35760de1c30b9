"""What a question for a definition is about: "ipfs whats that", "IPFS, never understood it" and "What is
IPFS?" are one question, whatever a measure of similarity makes of their few words.

The frames around the thing are data (``definition.txt``). They are taken off both ends until nothing of them
is left; what stands between is the thing. It must be a short run of words, and something must have been
asked: a bare "ipfs" is left to the gate's other rules.

Promises: pure, total, linear in the text. English only. Must not know: what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TypeAlias

from node.cache.matching import words
from node.cache.matching.phrases import expand
from node.cache.matching.token import END, Token
from node.cache.matching.tokens import tokenise

THING_WORDS_MAX = 5
_TOKENS_MAX = 24
_WHAT, _WORK = frozenset({"what"}), frozenset({"how", "work"})
_BETWEEN = frozenset({"of", "in", "for", "to", "and", "the"})
_PAUSES = frozenset([",", "/", "-", "–", "—", ":", ";", "(", ")", '"', "'"])

Thing: TypeAlias = tuple[frozenset[str], tuple[str, ...]]
"""What is asked about it ("what", or "how" and "work"), and its words."""
_Frames: TypeAlias = dict[tuple[str, ...], frozenset[str]]


@lru_cache(maxsize=4_096)
def thing(text: str) -> Thing | None:
    """What ``text`` asks to have defined or how it works; None where it asks anything else."""
    found = [token for token in tokenise(text) if token.kind != END and token.text not in _PAUSES]
    if not 0 < len(found) <= _TOKENS_MAX:
        return None
    openings, ends = _frames()
    asked: set[str] = set()
    while True:
        texts = [token.text for token in found]
        if marks := _longest(openings, texts, at_end=False):
            found = found[marks[0] :]
        elif marks := _longest(ends, texts, at_end=True):
            found = found[: -marks[0]]
        else:
            break
        asked |= marks[1]
    if frozenset(asked) not in (_WHAT, _WORK) or not _is_name(found):
        return None
    return frozenset(asked), tuple(_singular(token) for token in found)


def _longest(frames: _Frames, texts: Sequence[str], *, at_end: bool) -> tuple[int, frozenset[str]] | None:
    """The longest frame at one end that leaves a word: its length and what it asks."""
    for size in range(min(len(texts) - 1, _frame_max()), 0, -1):
        part = tuple(texts[-size:] if at_end else texts[:size])
        if part in frames:
            return size, frames[part]
    return None


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


@cache
def _frames() -> tuple[_Frames, _Frames]:
    openings: _Frames = {}
    ends: _Frames = {}
    lines = (files(__package__) / "definition.txt").read_text("utf-8").splitlines()
    for line in lines:
        if line.startswith("#"):
            continue
        # A choice may hold a bar too: the first and the last bar of the line divide it.
        where, _, rest = line.partition("|")
        pattern, _, marks = rest.rpartition("|")
        for frame in filter(None, expand(pattern)):
            for place, table in (("open", openings), ("end", ends)):
                if where.strip() in (place, "loose"):
                    table[frame] = frozenset(marks.split())
    return openings, ends


@cache
def _frame_max() -> int:
    return max(len(frame) for table in _frames() for frame in table)
