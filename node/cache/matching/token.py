"""The token, the unit in which the cache reads a question: a value and its kinds.

Must not know: how tokens are made or what they are worth.
"""

from __future__ import annotations

from collections.abc import Sequence
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


NOTHING = Token("", END, "", -2, -2)
"""What stands before the first token and behind the last."""


def token_at(tokens: Sequence[Token], index: int) -> Token:
    """The token at a place, ``NOTHING`` outside."""
    return tokens[index] if 0 <= index < len(tokens) else NOTHING
