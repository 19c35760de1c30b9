"""Says when; each job is a plain coroutine that tests call directly."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from node.core.errors import NodeError

log = logging.getLogger("neuroswarm.jobs")

Job = Callable[[], Awaitable[object]]


class Scheduler:
    """Runs jobs at intervals, never one beside itself, a late run once."""

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(timezone="UTC")

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

    def stop(self) -> None:
        """No further run begins; one under way ends with the loop's tasks."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)


def _guarded(name: str, job: Job) -> Job:
    async def run() -> None:
        try:
            await job()
        except NodeError as exc:
            log.warning("job %s failed: %s", name, exc)
        except Exception:  # the job runner: one failing job must not end the others
            log.exception("job %s failed", name)

    return run
