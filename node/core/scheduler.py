"""Says when; each job is a plain coroutine that tests call directly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from node.core.clock import Clock
from node.core.errors import NodeError

log = logging.getLogger("neuroswarm.jobs")

Job = Callable[[], Awaitable[object]]

LOOK_S = 30.0
"""How often the wall clock is compared with the monotonic one."""
JUMP_S = 15.0


class Scheduler:
    """Runs jobs at intervals, never one beside itself, a late run once. The library goes by the wall clock:
    where that jumps, each job begins an interval anew, so that none waits until the jump is made up for.
    ``wall``: the machine's clock, whatever else speaks against it."""

    def __init__(self, wall: Clock) -> None:
        self._wall = wall
        self._scheduler = AsyncIOScheduler(timezone="UTC")
        self._watching: asyncio.Task[None] | None = None

    def every(self, seconds: int, name: str, job: Job) -> None:
        """Register a job; the first run comes after one interval, with some jitter."""
        self._scheduler.add_job(
            _guarded(name, job),
            "interval",
            seconds=seconds,
            jitter=max(1, seconds // 10),
            id=name,
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
        )

    def soon(self, name: str, job: Job) -> None:
        """Run a job once, at the start."""
        self._scheduler.add_job(_guarded(name, job), id=name, misfire_grace_time=None)

    def start(self) -> None:
        """Begin; needs a running event loop."""
        self._scheduler.start()
        self._watching = asyncio.create_task(self._watch(), name="scheduler: wall clock")

    def stop(self) -> None:
        """No further run begins; one under way ends with the loop's tasks. Idempotent."""
        if self._watching is not None:
            self._watching.cancel()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    async def _watch(self) -> None:
        apart = self._apart()
        while True:
            await self._wall.sleep(LOOK_S)
            before, apart = apart, self._apart()
            if abs(apart - before) > JUMP_S:
                self._begin_anew()

    def _apart(self) -> float:
        return self._wall.now().timestamp() - self._wall.monotonic()

    def _begin_anew(self) -> None:
        now = self._wall.now()
        for job in self._scheduler.get_jobs():
            if isinstance(job.trigger, IntervalTrigger):
                job.modify(next_run_time=now + job.trigger.interval)


def _guarded(name: str, job: Job) -> Job:
    async def run() -> None:
        try:
            await job()
        except NodeError as exc:
            log.warning("job %s failed: %s", name, exc)
        except Exception:  # the job runner: one failing job must not end the others
            log.exception("job %s failed", name)

    return run
