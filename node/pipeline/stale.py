"""Refreshes behind answers that were served stale (``behind``). One that brought nothing is left alone for
``PAUSE_S``; questions that people wait for go first, for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

from node.core.clock import Clock
from node.pipeline.behind import Behind

QUEUE_MAX = 64
PAUSE_S = 30.0
"""How long a question whose refresh brought nothing is left alone."""
PAUSED_MAX = 1_024
YIELD_MAX_S = 5.0
"""How long a refresh waits for questions under way at most."""
_LOOK_EVERY_S = 0.25
GRACE_S = 5.0
"""What a refresh may take beyond its deadline to store and log what it came to."""


class Refresher(Behind[bool]):
    """A refresh tells whether its answer was stored."""

    def __init__(
        self,
        clock: Clock,
        *,
        deadline_s: float,
        queue_max: int = QUEUE_MAX,
        busy: Callable[[], bool] = lambda: False,
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        """``count`` hears what became of each: done, failed, shared, paused, full."""
        super().__init__(clock, "a refresh", deadline_s=deadline_s, busy=busy, grace_s=GRACE_S)
        self._queue_max = queue_max
        self._count = count
        self._paused: OrderedDict[Hashable, float] = OrderedDict()

    def _is_shared(self) -> None:
        self._count("shared")

    def _may_begin(self, key: Hashable) -> bool:
        if self._clock.monotonic() < self._paused.get(key, 0.0):
            self._count("paused")
            return False
        if len(self._queue) >= self._queue_max:
            self._count("full")
            return False
        self._paused.pop(key, None)
        return True

    async def _work(self) -> None:
        while self._queue:
            key, refresh = self._queue.popleft()
            try:
                await self._give_way()
                _, brought = await self._run(refresh)
            finally:
                self._known.discard(key)
            self._count("done" if brought else "failed")
            if not brought:
                self._pause(key)

    async def _give_way(self) -> None:
        for _ in range(round(YIELD_MAX_S / _LOOK_EVERY_S)):
            if not self._busy():
                return
            await self._clock.sleep(_LOOK_EVERY_S)

    def _pause(self, key: Hashable) -> None:
        self._paused[key] = self._clock.monotonic() + PAUSE_S
        self._paused.move_to_end(key)
        while len(self._paused) > PAUSED_MAX:
            self._paused.popitem(last=False)
