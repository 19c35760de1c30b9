"""Refreshes behind answers that were served stale: one for each question at a time, one after another.

Promises: ``submit`` returns at once and never fails; equal keys share one refresh; the queue is bounded, and
what does not fit is not refreshed now (the next asker asks for it again); each refresh has its own deadline;
one that brought nothing is left alone for ``PAUSE_S``; questions that people wait for go first, for a while;
all of it ends with ``close``. It knows nothing of what a refresh does.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeAlias

from node.core.clock import Clock
from node.core.errors import NodeError

log = logging.getLogger("neuroswarm.jobs")

QUEUE_MAX = 64
PAUSE_S = 30.0
"""How long a question whose refresh brought nothing is left alone."""
PAUSED_MAX = 1_024
YIELD_MAX_S = 5.0
"""How long a refresh waits for questions under way at most."""
_LOOK_EVERY_S = 0.25
GRACE_S = 5.0
"""What a refresh may take beyond its deadline to store and log what it came to."""

Refresh: TypeAlias = Callable[[float], Awaitable[bool]]
"""Computes an answer anew before a deadline (monotonic seconds); whether it was stored."""


class Refresher:
    """Use from one event loop. The worker exists only while there is work."""

    def __init__(
        self,
        clock: Clock,
        *,
        deadline_s: float,
        queue_max: int = QUEUE_MAX,
        busy: Callable[[], bool] = lambda: False,
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        """``busy``: people wait for answers now; ``count`` hears what became of each: done, failed, shared,
        paused, full."""
        self._clock = clock
        self._deadline_s = deadline_s
        self._queue_max = queue_max
        self._busy = busy
        self._count = count
        self._queue: deque[tuple[Hashable, Refresh]] = deque()
        self._under_way: set[Hashable] = set()
        self._paused: OrderedDict[Hashable, float] = OrderedDict()
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False

    def submit(self, key: Hashable, refresh: Refresh) -> bool:
        """Ask for a refresh; whether one is under way for ``key`` now."""
        if self._is_closed:
            return False
        if key in self._under_way:
            self._count("shared")
            return True
        if self._clock.monotonic() < self._paused.get(key, 0.0):
            self._count("paused")
            return False
        if len(self._queue) >= self._queue_max:
            self._count("full")
            return False
        self._paused.pop(key, None)
        self._under_way.add(key)
        self._queue.append((key, refresh))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(), name="refresh")
        return True

    def pending(self) -> int:
        """Refreshes that wait or run."""
        return len(self._under_way)

    async def close(self) -> None:
        """Stop: the running refresh is cancelled, the waiting ones are dropped. Idempotent."""
        self._is_closed = True
        self._queue.clear()
        worker = self._worker
        if worker is not None and not worker.done():
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        self._under_way.clear()

    async def _work(self) -> None:
        while self._queue:
            key, refresh = self._queue.popleft()
            try:
                await self._give_way()
                brought = await self._run(refresh)
            finally:
                self._under_way.discard(key)
            self._count("done" if brought else "failed")
            if not brought:
                self._pause(key)

    async def _give_way(self) -> None:
        for _ in range(round(YIELD_MAX_S / _LOOK_EVERY_S)):
            if not self._busy():
                return
            await self._clock.sleep(_LOOK_EVERY_S)

    async def _run(self, refresh: Refresh) -> bool:
        """A task of its own, so that a fault in one refresh ends that one alone."""
        task = asyncio.create_task(self._bounded(refresh), name="refresh one")
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            log.error("a refresh failed", exc_info=fault)
        return not task.cancelled() and fault is None and task.result()

    async def _bounded(self, refresh: Refresh) -> bool:
        try:
            async with asyncio.timeout(self._deadline_s + GRACE_S):
                return await refresh(self._clock.monotonic() + self._deadline_s)
        except TimeoutError:
            log.warning("a refresh was not finished within %g s", self._deadline_s + GRACE_S)
        except NodeError as exc:
            log.warning("a refresh failed: %s", exc)
        return False

    def _pause(self, key: Hashable) -> None:
        self._paused[key] = self._clock.monotonic() + PAUSE_S
        self._paused.move_to_end(key)
        while len(self._paused) > PAUSED_MAX:
            self._paused.popitem(last=False)
