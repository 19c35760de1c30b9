"""A decision log that forgets everything at the end: for tests and for running with no place to write.

Same promises as ``log.DecisionLog`` but durability and publication: there are no checkpoints and no receipts.
It keeps at most ``ENTRIES_MAX`` leaves and drops the oldest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from node.audit.decisions.seal import sealed
from node.audit.tlog import leaf
from node.core.clock import Clock
from node.core.errors import NotFound, Unavailable
from node.core.model import Check, Json
from node.core.ports import Appended, Sealed
from node.core.record import time_us

ENTRIES_MAX = 10_000


class MemoryLog:
    """``AuditLog`` in memory."""

    def __init__(self, origin: str, clock: Clock) -> None:
        self._origin = origin
        self._clock = clock
        self._leaves: OrderedDict[int, bytes] = OrderedDict()
        self._keys: dict[int, Sealed] = {}
        self._size = 0
        self._is_closed = False

    @property
    def origin(self) -> str:
        return self._origin

    async def append(self, entry: Mapping[str, Json], *, private_texts: Mapping[str, str]) -> Appended:
        return self.begin(sealed(entry, private_texts))

    def begin(self, what: Sealed) -> Appended:
        self._check_open()
        index = self._size
        self._leaves[index] = leaf.compose(what.entry, index, time_us(self._clock.now()))
        if what.key is not None:
            self._keys[index] = what
        self._size += 1
        if len(self._leaves) > ENTRIES_MAX:
            oldest, _ = self._leaves.popitem(last=False)
            self._keys.pop(oldest, None)
        return Appended(self._origin, index)

    async def receipt(self, index: int, *, timeout_s: float, log: str | None = None) -> bytes | None:
        if log not in (None, self._origin) or not 0 <= index < self._size:
            raise NotFound(f"the decision log has no entry {index}")
        return None

    async def forget(self, index: int) -> bool:
        self._check_open()
        return self._keys.pop(index, None) is not None

    async def forget_record(self, cid: str) -> int:
        self._check_open()
        found = [index for index, what in self._keys.items() if cid in what.about]
        for index in found:
            del self._keys[index]
        return len(found)

    async def renew_signers(self) -> None:
        """Nothing is signed."""
        self._check_open()

    def leaves(self) -> list[bytes]:
        """The kept leaves, oldest first."""
        return list(self._leaves.values())

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

    def _check_open(self) -> None:
        if self._is_closed:
            raise Unavailable("the decision log is closed")
