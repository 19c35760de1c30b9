"""What the clocks of sources outside have said, kept as how far each is from the node's count of seconds.

Promises: bounded in number and age; a peer whose clock has jumped since ours was believed says nothing (it
may run on this very machine), nor does one who was not heard by then. So peers can confirm the count, and
only sources that the operator has chosen the wall clock. Must not know how they were heard. Safe from any
thread.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf

from node.core.clock_rule import Said

HEARD_MAX = 64
FRESH_S = 3_600.0


@dataclass(frozen=True, slots=True)
class _Heard:
    """Seconds since 1970 less the count: now, and when it was heard last while ours was believed."""

    shift: float
    before: float | None
    at_s: float
    is_chosen: bool


class Heard:
    """``limit_s``: from which difference on a clock has jumped."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._heard: OrderedDict[str, _Heard] = OrderedDict()
        self._lock = threading.Lock()

    def hear(self, name: str, time: datetime, at_s: float, *, is_chosen: bool, is_suspect: bool) -> None:
        """``time`` came from ``name`` when so many seconds were counted. ``is_suspect``: our own clock is not
        believed now."""
        shift = time.timestamp() - at_s
        with self._lock:
            known = self._heard.pop(name, None)
            before = shift if not is_suspect else None if known is None else known.before
            self._heard[name] = _Heard(shift, before, at_s, is_chosen)
            if len(self._heard) > HEARD_MAX:
                self._heard.popitem(last=False)

    def close(self) -> None:
        """What was heard so far says nothing more, but how each clock went until now."""
        with self._lock:
            for name, one in self._heard.items():
                self._heard[name] = replace(one, at_s=-inf)

    def said(self, at_s: float) -> list[Said]:
        """What their clocks say now."""
        with self._lock:
            heard = list(self._heard.items())
        return [
            Said(name, datetime.fromtimestamp(one.shift + at_s, UTC), one.is_chosen)
            for name, one in heard
            if at_s - one.at_s <= FRESH_S and (one.is_chosen or self._is_steady(one))
        ]

    def _is_steady(self, one: _Heard) -> bool:
        return one.before is not None and abs(one.shift - one.before) <= self._limit_s
