"""Phrase tables of the cache's gate: what several words together say, as data.

The table ``phrases`` of ``matching.toml`` says how they are written. ``LEADS`` are openings of a sentence
that only ask politely or order an answer. English only.

Promises: plain maps, built once, and their look-up. Must not know: how they are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from node.cache.matching.words import TABLE
from node.language import tables


def expand(pattern: str) -> list[tuple[str, ...]]:
    """All word sequences of a pattern of groups ``(a|b c)`` and optional items with a ``?``."""
    parts: list[list[str]] = []
    rest = pattern.strip()
    while rest:
        if rest[0] == "(":
            inner, _, rest = rest[1:].partition(")")
            choices = inner.split("|")
        else:
            word, _, rest = rest.partition(" ")
            choices, rest = ([word[:-1], ""], " " + rest) if word.endswith("?") else ([word], " " + rest)
        if rest.startswith("?"):
            choices, rest = [*choices, ""], rest[1:]
        parts.append(choices)
        rest = rest.strip()
    return [tuple(" ".join(choice).split()) for choice in product(*parts)]


Matches: TypeAlias = dict[str, tuple[tuple[int, ...], dict[tuple[str, ...], tuple[str, ...]]]]


def by_first_word(lines: str, step: int = 1) -> Matches:
    """Each first word to its patterns' lengths, longest first, and the patterns with what they become; with
    the ``step`` -1 all is read backwards."""
    patterns: dict[str, dict[tuple[str, ...], tuple[str, ...]]] = {}
    for line in lines.strip().split("\n"):
        left, _, right = line.partition("=>")
        for pattern in expand(left):
            if words := pattern[::step]:
                patterns.setdefault(words[0], {}).setdefault(words, tuple(right.split()))
    return {
        first: (tuple(sorted({len(words) for words in rows}, reverse=True)), rows)
        for first, rows in patterns.items()
    }


REWRITES = by_first_word(TABLE["phrases"]["rewrites"])
LEADS = by_first_word(TABLE["phrases"]["leads"])
POLITE = by_first_word(TABLE["phrases"]["polite"])
"""Openings that say nothing of what is wanted."""
ENDS = by_first_word(TABLE["phrases"]["ends"], -1)
"""Polite ends, backwards."""


def match(table: Matches, texts: Sequence[str], at: int) -> tuple[int, tuple[str, ...]] | None:
    """The longest pattern of ``table`` at a position: (its length, what it becomes)."""
    lengths, rows = table.get(texts[at], ((), {})) if texts else ((), {})
    for size in lengths:
        found = rows.get(tuple(texts[at : at + size])) if at + size <= len(texts) else None
        if found is not None:
            return size, found
    return None


LANGUAGES = {name: tables.words(text) for name, text in TABLE["betrays"].items()}
ENGLISH = LANGUAGES.pop("english")
"""Function words that betray another language."""
