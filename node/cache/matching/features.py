"""What a question says, taken apart for comparing: the values that ``reader`` makes and the gate compares.

Must not know: how they are read, or what a difference is worth.
"""

from __future__ import annotations

from dataclasses import dataclass

from node.cache.matching.token import CODE, NUMBER, SYMBOL

UNIT, NAME, TIME, COMPARISON, SCOPE, ASK = "unit", "name", "time", "comparison", "scope", "ask"
NAMED = frozenset({NAME, UNIT, NUMBER, CODE, SYMBOL})
"""Kinds of content that stand for one thing each."""
PLAIN = frozenset({"", "what", "exists"})
"""What is asked where no more is said than that something is asked."""
_RIVALS = (frozenset({"be", "have"}), frozenset({"should", "can"}), frozenset({"define", "exists"}))
"""Leanings that exclude each other."""


@dataclass(frozen=True, slots=True)
class Item:
    """One content word. ``place`` orders it, ``role`` is the preposition over it, ``sentence`` where it
    stands."""

    key: str
    kind: str
    raw: str
    role: str
    place: int
    soft: bool
    sentence: int
    chunk: int = 0
    asked: bool = False
    """Names the class of what is asked for: "city" in "which city is …"."""


@dataclass(frozen=True, slots=True)
class Features:
    """A question taken apart; see the module's rules."""

    too_long: bool = False
    flat: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    asks: tuple[str, ...] = ()
    details: frozenset[str] = frozenset()
    negations: tuple[tuple[str, str], ...] = ()
    tense: str = ""
    modality: str = ""
    person: frozenset[str] = frozenset()
    links: frozenset[int] = frozenset()
    """Chunks (runs of content words with nothing between) that "and", "or", "vs" or a comma ties to the
    next chunk."""
    fronted: bool = False
    """A question for the object: "what do wolves eat", not "what eats wolves"."""
    language: str = "english"
    sentences: int = 0
    joiners: frozenset[str] = frozenset()
    """Which of "and" and "or" join content."""
    subject: str | None = None
    """Who acts, by ``syntax.subject``, as a canonical word."""
    deeds: frozenset[str] = frozenset()
    """What whoever asks would do: the words behind "do I", "can one" …"""
    leanings: frozenset[str] = frozenset()
    """Words of which a rival on the other side makes another question: "be" and "have" as the whole verb
    behind "to" or a modal, "should" and "can" where not a yes or no is asked for, "define" and "exists"
    ("what is X", "is there X")."""
    marks: frozenset[str] = frozenset()
    """Small things that both sides must have or neither: see ``reader``."""
    forms: frozenset[str] = frozenset()
    """``ing.word`` and ``a.word`` in short questions for what something is."""


def rival_leanings(one: Features, other: Features) -> tuple[str, str] | None:
    """The leanings of the two sides that exclude each other."""
    for pair in _RIVALS:
        leaning, leaning2 = one.leanings & pair, other.leanings & pair
        if leaning and leaning2 and not leaning & leaning2:
            return min(leaning), min(leaning2)
    return None
