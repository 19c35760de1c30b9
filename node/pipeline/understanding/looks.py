"""What adapters say of the parts of one text. Pure; it knows adapters only by what they claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from node.core.model import CERTAIN, CLAIM, Recognition
from node.language.reading import read
from node.pipeline.understanding.question import judge

Claims: TypeAlias = Callable[[str], Recognition | None]
Follow: TypeAlias = Callable[[str, str], str | None]

LOOKS_MAX = 64
"""Texts that adapters are asked about for one message."""
FRAGMENT_WORDS = 6
_IDENTITY = ("place", "team")
"""What a question of a live topic cannot do without."""
TAILS = ("when", "date", "unit", "vs")
"""What is said once, after the last of several names, and meant for all of them."""


class Looks:
    """What adapters say of parts of one text, each asked once and no more than ``LOOKS_MAX`` in all."""

    def __init__(self, claims: Claims, follow: Follow) -> None:
        self._claims = claims
        self._follow = follow
        self._seen: dict[str, Recognition | None] = {}
        self._left = LOOKS_MAX

    def claim(self, part: str) -> Recognition | None:
        """The claim to a text that asks, or that is claimed with certainty."""
        if part not in self._seen:
            found = self._claims(part) if self._take() else None
            if found is not None and found.strength < CERTAIN:
                found = found if found.strength >= CLAIM and judge(read(part)).asks else None
            self._seen[part] = found
        return self._seen[part]

    def is_certain(self, part: str) -> bool:
        found = self.claim(part)
        return found is not None and found.strength >= CERTAIN

    def completed(self, fragment: str, earlier: str) -> str | None:
        """The question that a fragment makes after ``earlier``, if an adapter is certain of it."""
        before = self.claim(earlier)
        words = read(fragment).words
        if before is None or not 1 <= len(words) <= FRAGMENT_WORDS or not self._take():
            return None
        made = self._follow(fragment, earlier)
        if made is None:
            made = self._carried(fragment, before)
        after = self._sure(made, before)
        if after is None:
            return None
        changed, added = _changes(before, after)
        # a tail that was named only once ("Paris and London tomorrow") may belong to both: see ``shared``
        return made if changed and (not added or len(changed) == 1) else None

    def shared(self, fragment: str, earlier: list[str]) -> list[str] | None:
        """The questions that a fragment with a tail makes after several of one kind: each of them with the
        tail, and its own at the end."""
        last = self.claim(earlier[-1])
        words = fragment.rstrip(" ?？.!").split()
        if last is None or not 2 <= len(words) <= FRAGMENT_WORDS or not self._take():
            return None
        made = self._follow(fragment, earlier[-1])
        after = self._sure(made, last)
        if made is None or after is None:
            return None
        changed, added = _changes(last, after)
        if not added or len(changed) == len(added) or not set(added) <= set(TAILS):
            return None
        for start in range(1, len(words)):
            tail = " ".join(words[start:])
            if self._take() and self._with_tail(tail, earlier[-1], after, added) is not None:
                tailed = [self._with_tail(tail, each, after, added) for each in earlier]
                whole = [each for each in tailed if each is not None]
                return [*whole, made] if len(whole) == len(earlier) else None
        return None

    def _with_tail(self, tail: str, earlier: str, after: Recognition, added: list[str]) -> str | None:
        before = self.claim(earlier)
        if before is None or not self._take():
            return None
        made = self._follow(tail, earlier)
        found = self._sure(made, before)
        if found is None or _changes(before, found)[0] != added:
            return None
        return made if all(found.slots.get(name) == after.slots.get(name) for name in added) else None

    def _sure(self, made: str | None, before: Recognition) -> Recognition | None:
        """The certain claim to ``made`` by the adapter of ``before``."""
        if made is None or not self.is_certain(made):
            return None
        after = self.claim(made)
        return after if after is not None and after.adapter == before.adapter else None

    def _carried(self, part: str, before: Recognition) -> str | None:
        """A claimed question without its place or team, completed with the one that was just named."""
        claim = self.claim(part)
        if claim is None or claim.adapter != before.adapter:
            return None
        for name in _IDENTITY:
            value = before.slots.get(name)
            if claim.slots.get(name) is None and isinstance(value, str) and self._take():
                return self._follow(value, part)
        return None

    def _take(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _changes(before: Recognition, after: Recognition) -> tuple[list[str], list[str]]:
    """The slots that differ, and those of them that were not said before."""
    changed = [name for name, value in after.slots.items() if value != before.slots.get(name)]
    return changed, [name for name in changed if before.slots.get(name) is None]
