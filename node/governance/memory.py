"""A decision log that forgets everything at the end: for tests and for running with no place to write.

Same promises as ``log.ChainLog`` but durability; keeps at most ``ENTRIES_MAX`` lines and drops the oldest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from node.clock import Clock
from node.errors import Unavailable
from node.governance import chain
from node.governance.log import sealed, time_us
from node.model import Check, Json
from node.ports import Appended

ENTRIES_MAX = 10_000


class MemoryLog:
    """``AuditLog`` in memory."""

    def __init__(self, origin: str, clock: Clock) -> None:
        self._origin = origin
        self._clock = clock
        self._lines: OrderedDict[int, bytes] = OrderedDict()
        self._keys: dict[int, bytes] = {}
        self._size = 0
        self._head = chain.genesis(origin)
        self._is_closed = False

    @property
    def origin(self) -> str:
        return self._origin

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        if self._is_closed:
            raise Unavailable("the decision log is closed")
        data, key = sealed(entry, private_texts)
        index = self._size
        line = chain.compose(data, index=index, prev=self._head, time_us=time_us(self._clock.now()))
        self._lines[index] = line
        if key is not None:
            self._keys[index] = key
        self._head = chain.digest_of(line)
        self._size += 1
        if len(self._lines) > ENTRIES_MAX:
            oldest, _ = self._lines.popitem(last=False)
            self._keys.pop(oldest, None)
        return Appended(self._origin, index)

    async def forget(self, index: int) -> bool:
        if self._is_closed:
            raise Unavailable("the decision log is closed")
        return self._keys.pop(index, None) is not None

    def lines(self) -> list[bytes]:
        """The kept lines, oldest first, without LF."""
        return list(self._lines.values())

    def size(self) -> int:
        return self._size

    def health(self) -> Check:
        if self._is_closed:
            return Check("log", "fail", "the decision log is closed", None, self._size, "entries")
        return Check(
            "log", "warn", "decisions are kept in memory only and lost at stop", None, self._size, "entries"
        )

    async def close(self) -> None:
        self._is_closed = True
