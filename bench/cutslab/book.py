"""What a node promised over all cuts of one data directory, and what was found broken."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Place = tuple[str, int]
"""(log, index) of an entry."""


def token(number: int) -> str:
    """A word that stands in one answer only."""
    letters = ""
    while number or not letters:
        number, one = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[one] + "a"
    return f"zan{letters}quux"


def question(number: int) -> str:
    return f"Name the colour of boat number {number}"


def answer(number: int, version: int) -> str:
    word = token(number * 100 + version)
    return f"Boat {number} is painted in {word}. " + f"It was built in yard {number}. " * 20


@dataclass
class Item:
    """One question. ``may_say``: what may be answered (None: nothing; several where a cut came between the
    asking and the reply); ``cids`` of all versions that were acknowledged; ``is_gone``: so was its erasure;
    ``is_judged``: so was a verdict that it is invalid."""

    number: int
    scope: str
    may_say: set[str | None]
    version: int = 0
    cids: list[str] = field(default_factory=list)
    is_gone: bool = False
    is_judged: bool = False

    @property
    def text(self) -> str:
        return answer(self.number, self.version)

    @property
    def is_sure(self) -> bool:
        """Whether one answer must come."""
        return bool(self.cids) and len(self.may_say) == 1 and None not in self.may_say

    @property
    def is_half_erased(self) -> bool:
        return bool(self.cids) and None in self.may_say and not (self.is_gone or self.is_judged)


@dataclass
class Book:
    """``places``: entries of the log that must be there, and whose request they are of; ``fresh``: those of
    this round, with the moment of the reply; ``backups``: by ``folder/name`` the CIDs that a finished one
    must hold; ``running``: what is under way."""

    items: dict[int, Item] = field(default_factory=dict)
    places: dict[Place, str] = field(default_factory=dict)
    fresh: list[tuple[float, Place, str]] = field(default_factory=list)
    backups: dict[str, set[str]] = field(default_factory=dict)
    running: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    label: str = ""

    def find(self, what: str, said: object) -> None:
        """A promise is broken."""
        self.found[what] += 1
        print(f"{self.label}: {what}: {said}", file=sys.stderr, flush=True)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Stays under way where the node goes meanwhile."""
        self.running[what] += 1
        yield
        self.running[what] -= 1
        self.counts[what] += 1

    def acknowledge(self, before: float) -> None:
        """The entries that were promised by then must be there from here on."""
        self.places |= {place: request for at, place, request in self.fresh if at <= before}
        self.fresh.clear()

    def erased_words(self) -> list[bytes]:
        """Of every version of what was erased."""
        gone = [one for one in self.items.values() if one.is_gone]
        return [
            token(one.number * 100 + number).encode() for one in gone for number in range(one.version + 1)
        ]
