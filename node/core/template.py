"""Text with places in it that is filled in again and again: it is made once, and only the places differ."""

from __future__ import annotations

from collections.abc import Sequence

from node.core.errors import Rejected


class Template:
    """``text``, in which each of ``places`` stands once, in this order."""

    def __init__(self, text: str, places: Sequence[str]) -> None:
        """Raises ``Rejected``: a place is missing, out of order, or named by something else too."""
        found = [text.find(place) for place in places]
        if min(found) < 0 or found != sorted(found) or any(text.count(place) != 1 for place in places):
            raise Rejected("a text does not have each of its places once")
        text = text.replace("%", "%%")
        for place in places:
            text = text.replace(place, "%s")
        self._text = text

    @property
    def size(self) -> int:
        """Characters."""
        return len(self._text)

    def filled(self, *values: object) -> bytes:
        """In UTF-8, with a value for each place."""
        return (self._text % values).encode()
