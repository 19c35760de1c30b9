"""How often a source outside may be asked, and what else ``core.guard`` keeps to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """At most ``count`` attempts in any ``seconds``."""

    count: int
    seconds: float

    def __post_init__(self) -> None:
        if self.count < 1 or not self.seconds > 0:
            raise ValueError("a window needs a positive count and a positive length")


@dataclass(frozen=True, slots=True)
class Limits:
    """``attempts`` of one call count the first one; the breaker opens after ``breaker_failures`` in a row;
    ``stale_for_s`` is how long past its lifetime a kept value may still be served; at most ``waiters_max``
    attempts queue for a permission, further ones are refused."""

    windows: tuple[Window, ...] = ()
    concurrency: int = 4
    attempts: int = 2
    breaker_failures: int = 5
    breaker_open_s: float = 30.0
    cache_entries: int = 0
    stale_for_s: float = 0.0
    waiters_max: int = 64

    def __post_init__(self) -> None:
        if min(self.concurrency, self.attempts, self.breaker_failures, self.waiters_max) < 1:
            raise ValueError("concurrency, attempts, breaker_failures and waiters_max start at 1")
        if self.cache_entries < 0:
            raise ValueError("cache_entries starts at 0")


class Starts:
    """The starts of one window, oldest first; never longer than the window's count."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._starts: deque[float] = deque()

    def free(self, now: float) -> int:
        """Permissions left at ``now``."""
        starts, edge = self._starts, now - self.window.seconds
        while starts and starts[0] <= edge:
            starts.popleft()
        return max(0, self.window.count - len(starts))

    def take(self, now: float) -> None:
        self._starts.append(now)

    def earliest(self, now: float, ahead: int) -> float:
        """When the next caller may start if ``ahead`` others go first, each as early as it may."""
        self.free(now)
        starts, count, seconds = self._starts, self.window.count, self.window.seconds
        cycles, index = 0, len(starts) + ahead
        while index >= len(starts) and index >= count:
            index -= count
            cycles += 1
        begin = starts[index] if index < len(starts) else now
        return max(now, begin + cycles * seconds)
