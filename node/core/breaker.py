"""Leaves a source alone that keeps failing, and lets one probe find out whether it is well again."""

from __future__ import annotations

from node.core.clock import Clock
from node.core.errors import Unavailable


class BreakerOpen(Unavailable):
    """The source failed repeatedly and is left alone for ``retry_after_s`` more seconds."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Breaker:
    """Closed, open, or half-open with one probe. A ticket says whether its holder is the probe."""

    def __init__(self, failures: int, open_s: float, clock: Clock) -> None:
        self._limit = failures
        self._open_s = open_s
        self._clock = clock
        self._failures = 0
        self._until: float | None = None
        self._probing = False
        self.since = clock.now()

    @property
    def state(self) -> str:
        if self._until is None:
            return "closed"
        return "half_open" if self._probing or self._clock.monotonic() >= self._until else "open"

    @property
    def refuses(self) -> bool:
        return self._until is not None and (self._probing or self._clock.monotonic() < self._until)

    @property
    def wait_s(self) -> float:
        """Seconds to the next probe; while one is under way its outcome decides, so about a second."""
        if self._until is None:
            return 0.0
        return max(1.0 if self._probing else 0.0, self._until - self._clock.monotonic())

    def enter(self) -> bool:
        """Begin an attempt; True when it is the probe. Only when not ``refuses``."""
        if self._until is None:
            return False
        self._probing = True
        return True

    def leave(self, probe: bool, failed: bool | None) -> None:
        """End an attempt. ``failed`` None says nothing about the source (cancelled, too short)."""
        if probe:
            self._probing = False
            if failed is None:
                return
            if failed:
                self._open()
            else:
                self._until, self._failures, self.since = None, 0, self._clock.now()
        elif self._until is None and failed is not None:
            # Attempts that began before the breaker opened no longer matter once it is open.
            self._failures = self._failures + 1 if failed else 0
            if self._failures >= self._limit:
                self._open()

    def _open(self) -> None:
        self._until = self._clock.monotonic() + self._open_s
        self.since = self._clock.now()
