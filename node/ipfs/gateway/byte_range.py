"""The ``entity-bytes`` of a CAR request: which bytes of a file its blocks are wanted for.

Source: trustless gateway specification, ``entity-bytes``. Offsets are inclusive; a negative one counts from
the end (-1 is the last byte); ``*`` as the end means the end of the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.core.errors import BadInput

_RANGE = re.compile(r"(-?[0-9]{1,19}):(-?[0-9]{1,19}|\*)", re.ASCII)
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ByteRange:
    """``last`` None: up to the end."""

    first: int
    last: int | None

    @classmethod
    def parse(cls, text: str) -> ByteRange:
        """Raises ``BadInput``."""
        match = _RANGE.fullmatch(text)
        if match is None:
            raise BadInput(
                "entity-bytes is written from:to, as in 0:1023, -1024:* or 0:*", field="entity-bytes"
            )
        first, last = int(match[1]), None if match[2] == "*" else int(match[2])
        if max(abs(first), abs(last or 0)) > _LARGEST:
            raise BadInput("entity-bytes has an offset over 63 bits", field="entity-bytes")
        return cls(first, last)

    def within(self, size: int) -> tuple[int, int] | None:
        """First and last byte (inclusive) in a file of ``size`` bytes; None for a range without any byte.

        Raises ``BadInput`` when it lies before or behind the file altogether.
        """
        first = self.first if self.first >= 0 else max(0, size + self.first)
        last = size - 1 if self.last is None else self.last if self.last >= 0 else size + self.last
        if size and (first >= size or last < 0):
            raise BadInput(
                "entity-bytes lies outside of the file", field="entity-bytes", limit=f"{size} bytes"
            )
        last = min(last, size - 1)
        return (first, last) if first <= last else None

    def __str__(self) -> str:
        return f"{self.first}:{'*' if self.last is None else self.last}"
