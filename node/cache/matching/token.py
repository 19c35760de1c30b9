"""The token, the unit in which the cache reads a question: a value and its kinds.

Must not know: how tokens are made or what they are worth.
"""

from __future__ import annotations

from dataclasses import dataclass

NUMBER, WORD, CODE, SYMBOL, END = "number", "word", "code", "symbol", "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token. ``text`` is canonical, ``raw`` as written; ``start`` and ``end`` are offsets in the text."""

    text: str
    kind: str
    raw: str
    start: int
    end: int
