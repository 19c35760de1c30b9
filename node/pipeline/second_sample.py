"""Second samples behind replies: a model is asked once more where only agreement is missing for an answer to
be stored.

Promises: ``submit`` returns at once and never fails; one sample for each key; the queue is bounded and what
does not fit is not sampled now (the next asker asks for it again); one at a time, and only while nobody waits
for an answer; when somebody comes the sample is given up and tried again later, ``TRIES`` times; each has its
own deadline; all of it ends with ``close``. It knows nothing of what a sample is.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import TypeAlias

from node.core.clock import Clock
from node.core.errors import NodeError

log = logging.getLogger("neuroswarm.jobs")

QUEUE_MAX = 16
TRIES = 3
LOOK_EVERY_S = 0.25
"""So long a model may go on for nobody when somebody comes."""
WAIT_MAX_S = 600.0
"""A node that is never quiet for so long has no time for second samples."""

Sampling: TypeAlias = Callable[[float], Awaitable[None]]
"""Asks once more before a deadline (monotonic seconds), judges, and stores or does not."""


@dataclass(slots=True)
class _Waiting:
    key: Hashable
    sample: Sampling
    tries: int = 0


class SecondSamples:
    """Use from one event loop. The worker exists only while there is work. ``busy``: somebody waits for an
    answer now."""

    def __init__(
        self, clock: Clock, *, deadline_s: float, busy: Callable[[], bool], queue_max: int = QUEUE_MAX
    ) -> None:
        self._clock = clock
        self._deadline_s = deadline_s
        self._busy = busy
        self._queue_max = queue_max
        self._queue: deque[_Waiting] = deque()
        self._known: set[Hashable] = set()
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False

    def submit(self, key: Hashable, sample: Sampling) -> bool:
        """Ask for a sample; whether one waits or runs for ``key`` now."""
        if self._is_closed:
            return False
        if key in self._known:
            return True
        if len(self._known) >= self._queue_max:
            return False
        self._known.add(key)
        self._queue.append(_Waiting(key, sample))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(), name="second samples")
        return True

    def pending(self) -> int:
        """Samples that wait or run."""
        return len(self._known)

    async def close(self) -> None:
        """Stop: the running sample is cancelled, the waiting ones are dropped. Idempotent."""
        self._is_closed = True
        self._queue.clear()
        worker = self._worker
        if worker is not None and not worker.done():
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        self._known.clear()

    async def _work(self) -> None:
        while self._queue:
            if not await self._quiet():
                self._queue.clear()
                self._known.clear()
                return
            waiting = self._queue.popleft()
            waiting.tries += 1
            is_done = await self._run(waiting.sample)
            if is_done or waiting.tries >= TRIES:
                self._known.discard(waiting.key)
            else:
                self._queue.append(waiting)

    async def _quiet(self) -> bool:
        """Wait until nobody waits for an answer; False if that does not come."""
        for _ in range(round(WAIT_MAX_S / LOOK_EVERY_S)):
            if not self._busy():
                return True
            await self._clock.sleep(LOOK_EVERY_S)
        return False

    async def _run(self, sample: Sampling) -> bool:
        """Whether it came to its end: False where it gave way."""
        task = asyncio.create_task(self._bounded(sample), name="second sample")
        try:
            while not task.done():
                look = asyncio.ensure_future(self._clock.sleep(LOOK_EVERY_S))
                await asyncio.wait({task, look}, return_when=asyncio.FIRST_COMPLETED)
                look.cancel()
                if not task.done() and self._busy():
                    return False
        finally:
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            log.error("a second sample failed", exc_info=fault)
        return True

    async def _bounded(self, sample: Sampling) -> None:
        try:
            async with asyncio.timeout(self._deadline_s):
                await sample(self._clock.monotonic() + self._deadline_s)
        except TimeoutError:
            log.info("a second sample was not finished within %g s", self._deadline_s)
        except NodeError as exc:
            log.warning("a second sample failed: %s", exc)
