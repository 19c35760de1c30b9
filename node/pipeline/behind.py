"""Work behind replies: one thing for each key at a time, one after another.

Promises: ``submit`` returns at once and never fails; the queue is bounded, and what does not fit is not done
now (the next asker asks for it again); each thing has its own deadline, and a fault in one ends that one
alone; all of it ends with ``close``. It knows nothing of what is done.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

from node.core.clock import Clock
from node.core.errors import NodeError

log = logging.getLogger("neuroswarm.jobs")

T = TypeVar("T")
Work: TypeAlias = Callable[[float], Awaitable[T]]
"""Does it before a deadline (monotonic seconds)."""


class Behind(ABC, Generic[T]):
    """Use from one event loop. The worker exists only while there is work. ``busy``: people wait for answers
    now; ``name`` is for the log."""

    LATE = logging.WARNING
    """How the log takes one that was not finished in time."""

    def __init__(
        self, clock: Clock, name: str, *, deadline_s: float, busy: Callable[[], bool], grace_s: float = 0.0
    ) -> None:
        self._clock = clock
        self._name = name
        self._deadline_s = deadline_s
        self._limit_s = deadline_s + grace_s
        self._busy = busy
        self._queue: deque[tuple[Hashable, Work[T]]] = deque()
        self._known: set[Hashable] = set()
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False

    def submit(self, key: Hashable, work: Work[T]) -> bool:
        """Ask for it; whether it waits or runs for ``key`` now."""
        if self._is_closed or not (key in self._known or self._may_begin(key)):
            return False
        if key in self._known:
            self._is_shared()
            return True
        self._known.add(key)
        self._queue.append((key, work))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(), name=self._name)
        return True

    def pending(self) -> int:
        """How many wait or run."""
        return len(self._known)

    async def close(self) -> None:
        """Stop: what runs is cancelled, what waits is dropped. Idempotent."""
        self._is_closed = True
        self._queue.clear()
        if self._worker is not None:
            await _ended(self._worker)
        self._known.clear()

    @abstractmethod
    def _may_begin(self, key: Hashable) -> bool:
        """Whether there is room for it, and no reason against it."""

    def _is_shared(self) -> None:
        """Somebody asked for what is under way."""

    @abstractmethod
    async def _work(self) -> None:
        """Work the queue off."""

    async def _run(self, work: Work[T], look_s: float | None = None) -> tuple[bool, T | None]:
        """Whether it came to its end, and its result, None where it failed. A task of its own, so that a
        fault ends that one alone; with ``look_s`` it gives way when people come, looked for so often."""
        task = asyncio.create_task(self._bounded(work), name=f"{self._name}: one")
        try:
            while not task.done():
                if look_s is None:
                    await asyncio.wait({task})
                    break
                look = asyncio.ensure_future(self._clock.sleep(look_s))
                await asyncio.wait({task, look}, return_when=asyncio.FIRST_COMPLETED)
                look.cancel()
                if not task.done() and self._busy():
                    return False, None
        finally:
            await _ended(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("%s failed", self._name, exc_info=fault)
            return True, None
        return True, None if task.cancelled() else task.result()

    async def _bounded(self, work: Work[T]) -> T | None:
        try:
            async with asyncio.timeout(self._limit_s):
                return await work(self._clock.monotonic() + self._deadline_s)
        except TimeoutError:
            log.log(self.LATE, "%s was not finished within %g s", self._name, self._limit_s)
        except NodeError as exc:
            log.warning("%s failed: %s", self._name, exc)
        return None


async def _ended(task: asyncio.Task[object]) -> None:
    if not task.done():
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
