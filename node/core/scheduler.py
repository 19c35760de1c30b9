"""Says when; each job is a plain coroutine that tests call directly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from node.core.clock import Clock
from node.core.errors import NodeError

log = logging.getLogger("neuroswarm.jobs")

Job = Callable[[], Awaitable[object]]

JITTER = 0.1
"""Of an interval, either way: jobs of one length do not all run at once."""


class Scheduler:
    """Runs jobs at intervals of monotonic time, whatever the wall clock does: never one beside itself, a late
    run once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: list[tuple[float, str, Job]] = []
        self._tasks: list[asyncio.Task[None]] = []

    def every(self, seconds: float, name: str, job: Job) -> None:
        """Register a job; the first run comes after one interval, with some jitter."""
        self._jobs.append((seconds, name, job))

    def start(self) -> None:
        """Begin; needs a running event loop."""
        self._tasks = [asyncio.create_task(self._work(*one), name=f"job {one[1]}") for one in self._jobs]

    def stop(self) -> None:
        """No further run begins, and none under way goes on. Idempotent."""
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    async def _work(self, seconds: float, name: str, job: Job) -> None:
        began = self._clock.monotonic()
        while True:
            due = began + seconds * (1 + JITTER * (2 * self._clock.random() - 1))
            await self._clock.sleep(due - self._clock.monotonic())
            began = self._clock.monotonic()
            try:
                await job()
            except NodeError as exc:
                log.warning("job %s failed: %s", name, exc)
            except Exception:  # the job runner: one failing job must not end the others
                log.exception("job %s failed", name)
