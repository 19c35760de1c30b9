"""Says when; each job is a plain coroutine that tests call directly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from node.core.clock import Clock
from node.core.errors import NodeError
from node.core.model import Check

log = logging.getLogger("neuroswarm.jobs")

Job = Callable[[], Awaitable[object]]

LOOK_S = 30.0
"""How often the wall clock is compared with the monotonic one."""
JUMP_S = 15.0
AGAIN_S = 60.0
"""A job that failed runs again after so long, or after its interval where that is shorter."""
CHECK = "jobs"
_NAMED_MAX = 3


class _Interval(IntervalTrigger):  # type: ignore[misc] # the library is not typed
    """What was missed is one run, and is not counted: the library would list each run that a jump of the wall
    clock has passed over, with the event loop at a stand (30 days at a run a second: over 15 s)."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """The run after ``previous_fire_time``, which lies ahead of ``now``."""
        found: datetime | None = super().get_next_fire_time(previous_fire_time, now)
        if previous_fire_time is not None and found is not None and found <= now:
            found = super().get_next_fire_time(now, now)
        return found


class Scheduler:
    """Runs jobs at intervals, never one beside itself, a late run once. The library goes by the wall clock:
    where that jumps, each job begins an interval anew, so that none waits until the jump is made up for.
    ``wall``: the machine's clock, whatever else speaks against it."""

    def __init__(self, wall: Clock) -> None:
        self._wall = wall
        self._scheduler = AsyncIOScheduler(timezone="UTC")
        self._watching: asyncio.Task[None] | None = None
        self._failing: dict[str, tuple[datetime, str]] = {}

    def every(self, seconds: int, name: str, job: Job) -> None:
        """Register a job; the first run comes after one interval, with some jitter."""
        self._scheduler.add_job(
            self._guarded(name, job),
            _Interval(seconds=seconds, jitter=max(1, seconds // 10), timezone="UTC"),
            id=name,
            max_instances=1,
            coalesce=True,
            misfire_grace_time=None,
        )

    def soon(self, name: str, job: Job) -> None:
        """Run a job once, at the start."""
        self._scheduler.add_job(self._guarded(name, job), id=name, misfire_grace_time=None)

    def health(self) -> Check:
        """Which jobs have failed when they ran last, and why."""
        if not self._failing:
            return Check(CHECK, "pass")
        said = [f"{name}: {why}" for name, (_, why) in self._failing.items()]
        more = f"; and {len(said) - _NAMED_MAX} more" if len(said) > _NAMED_MAX else ""
        since = min(since for since, _ in self._failing.values())
        return Check(
            CHECK, "warn", f"jobs fail, and are tried again: {'; '.join(said[:_NAMED_MAX])}{more}", since
        )

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

    def _guarded(self, name: str, job: Job) -> Job:
        async def run() -> None:
            try:
                await job()
            except NodeError as exc:
                log.warning("job %s failed: %s", name, exc)
                self._note(name, str(exc))
            except Exception as exc:  # the job runner: one failing job must not end the others
                log.exception("job %s failed", name)
                self._note(name, f"{type(exc).__name__} (see the program's log)")
            except asyncio.CancelledError:  # the stop; the library would log it as an error
                log.info("job %s was stopped", name)
            else:
                self._failing.pop(name, None)

        return run

    def _note(self, name: str, why: str) -> None:
        job, now = self._scheduler.get_job(name), self._wall.now()
        if job is None:  # it runs once, so nothing would ever say that it is well again
            return
        since, _ = self._failing.get(name, (now, ""))
        self._failing[name] = (since, why)
        soon = now + timedelta(seconds=AGAIN_S)
        if job.next_run_time is not None and job.next_run_time > soon:
            job.modify(next_run_time=soon)
