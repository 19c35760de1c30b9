"""Marks in text that comes in pieces. Pure; it imports nothing, for child processes are started often."""

from __future__ import annotations

from collections.abc import Sequence


def overlap(text: str, mark: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``mark``."""
    sizes = range(min(len(mark) - 1, len(text)), 0, -1)
    return next((size for size in sizes if text.endswith(mark[:size])), 0)


class Stops:
    """Lets text through up to the first stop mark; holds back what may become one."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._marks = [mark for mark in marks if mark]
        self._held = ""
        self.hit = False

    def push(self, text: str) -> str:
        """What may be said now."""
        text = self._held + text
        self._held = ""
        at = min((place for mark in self._marks if (place := text.find(mark)) >= 0), default=-1)
        if at >= 0:
            self.hit = True
            return text[:at]
        end = len(text) - max((overlap(text, mark) for mark in self._marks), default=0)
        self._held = text[end:]
        return text[:end]

    def rest(self) -> str:
        """What was held back and became no mark."""
        return "" if self.hit else self._held
