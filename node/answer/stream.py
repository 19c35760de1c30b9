"""An answer while it is being made: what of it may be shown, and to whom it is told.

Promises: what is shown is the beginning of what the finished answer would show, as far as that can be told by
then (``clean.showable``); what may still turn out to be thinking, an echo of the prompt or the next turn is
held back; what was shown and does not stand is taken back by ``reset`` or replaced by the finished answer.
Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from node.core.model import Json
from node.core.ports import Tell
from node.models.clean import showable

_STEP_CHARS = 4
_DELTA = ("delta", None)
_STEP_PART = 512
"""The longer the answer, the larger the pieces that are looked at together: cleaning reads it all."""


class Shown:
    """Turns what an engine says, piece by piece, into what is told to those who watch."""

    def __init__(self, tell: Tell, *, stop: Sequence[str], echo: Sequence[str], thinks: bool) -> None:
        """``thinks``: the model is known to think aloud, so nothing is shown before it has ended to."""
        self._to = tell
        self._stop, self._echo, self._thinks = stop, echo, thinks
        self._raw = self._told = ""
        self._looked = 0

    def add(self, piece: str) -> None:
        """Take the next piece of the answer."""
        self._raw += piece
        if len(self._raw) - self._looked < _STEP_CHARS + len(self._raw) // _STEP_PART:
            return
        self._looked = len(self._raw)
        text = showable(self._raw, stop=self._stop, echo=self._echo, thinks=self._thinks)
        if len(text) > len(self._told) and text.startswith(self._told):
            self._to("delta", {"text": text[len(self._told) :]})
            self._told = text

    def tell(self, event: str, facts: Mapping[str, Json]) -> None:
        """Pass another event on; at ``reset`` the next answer begins."""
        if event != "reset":
            self._to(event, facts)
            return
        if self._told:
            self._to(event, facts)
        self._raw = self._told = ""
        self._looked = 0


class Audience:
    """Everybody who watches one computation. Who comes later hears first what was told so far."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, Json], tuple[str, dict[str, Json]]] = {}
        self._members: list[Tell | None] = []

    @property
    def is_empty(self) -> bool:
        return not self._members

    def begin(self) -> None:
        """Another computation begins."""
        if _DELTA in self._told:
            self.tell("reset", {})
        self._told.clear()

    def tell(self, event: str, facts: Mapping[str, Json]) -> None:
        """Pass an event on to everybody."""
        if event == "reset":
            self._told.pop(_DELTA, None)
        elif event == "delta" and _DELTA in self._told:
            text = f"{self._told[_DELTA][1]['text']}{facts['text']}"
            self._told[_DELTA] = (event, {"text": text})
        else:
            self._told[(event, facts.get("stage"))] = (event, dict(facts))
        for member in [*self._members]:
            if member is not None:
                member(event, facts)

    @contextmanager
    def joined(self, member: Tell | None) -> Iterator[None]:
        """Be one of them while the context lasts; None only takes a place."""
        if member is not None:
            for event, facts in self._told.values():
                member(event, facts)
        self._members.append(member)
        try:
            yield
        finally:
            self._members.remove(member)


def without_text(tell: Tell) -> Tell:
    """For one part of several: pieces of several answers at once would make no text."""

    def only_facts(event: str, facts: Mapping[str, Json]) -> None:
        if event not in ("delta", "reset"):
            tell(event, facts)

    return only_facts
