"""A cap on the program's log: what comes too often is counted instead of written, so that nobody outside can
fill a disk through it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection

from node.core.clock import Clock
from node.core.limits import Starts, Window

LINES = Window(20, 10.0)


class LineCap(logging.Filter):
    """For a handler: a line of the code may write ``window.count`` lines in any ``window.seconds``. The next
    one says how many were left out before it. ``exempt``: loggers that are not held to it."""

    def __init__(self, clock: Clock, window: Window = LINES, exempt: Collection[str] = ()) -> None:
        super().__init__()
        self._clock, self._window, self._exempt = clock, window, frozenset(exempt)
        self._starts: dict[tuple[str, int], Starts] = {}
        self._left_out: Counter[tuple[str, int]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name in self._exempt:
            return True
        line = (record.pathname, record.lineno)
        starts = self._starts.get(line)
        if starts is None:
            starts = self._starts[line] = Starts(self._window)
        now = self._clock.monotonic()
        if not starts.free(now):
            self._left_out[line] += 1
            return False
        starts.take(now)
        if left_out := self._left_out.pop(line, 0):
            record.msg, record.args = f"{record.getMessage()} (and {left_out} lines like it before)", None
        return True
