"""Jobs run after their interval, whatever the wall clock does."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from node.core.clock import SystemClock
from node.core.errors import Unavailable
from node.core.scheduler import AGAIN_S, LOOK_S, Scheduler
from tests.manual_clock import ManualClock


async def settled() -> None:
    """Whatever was woken has run."""
    for _ in range(10):
        await asyncio.sleep(0)


def due_in(scheduler: Scheduler, clock: ManualClock) -> timedelta:
    """How long until the job runs next."""
    due: timedelta = scheduler._scheduler.get_job("job").next_run_time - clock.now()
    return due


@pytest.mark.parametrize("days", [30, -30])
async def test_after_a_jump_of_the_wall_clock_no_job_waits_until_that_is_made_up_for(days: int) -> None:
    clock = ManualClock()

    async def job() -> None:
        return None

    scheduler = Scheduler(clock)
    scheduler.every(3_600, "job", job)
    scheduler.start()
    scheduler._scheduler.pause()  # it goes by the real clock, and would run what this one says is late
    try:
        await settled()
        for by in (days, -days):
            clock.set_wall(clock.now() + timedelta(days=by))
            clock.advance(LOOK_S)
            await settled()
            assert due_in(scheduler, clock) == timedelta(hours=1)
    finally:
        scheduler.stop()


async def test_what_a_jump_passes_over_is_one_run_and_is_not_counted() -> None:
    """Over a century an hourly job would have run 876,600 times."""
    scheduler = Scheduler(SystemClock())

    async def job() -> None:
        return None

    scheduler.every(3_600, "job", job)
    scheduler.start()
    try:
        found = scheduler._scheduler.get_job("job")
        late = SystemClock().now() + timedelta(days=36_525)
        assert found._get_run_times(late) == [found.next_run_time]
        after = found.trigger.get_next_fire_time(found.next_run_time, late)
        assert timedelta(hours=1) <= after - late <= timedelta(hours=1.1)
        again = found.trigger.get_next_fire_time(late, late + timedelta(seconds=2))
        assert timedelta(hours=1) <= again - late <= timedelta(hours=1.1), "a moment late: no run is put off"
    finally:
        scheduler.stop()


async def test_without_a_jump_nothing_is_put_off() -> None:
    clock = ManualClock()

    async def job() -> None:
        return None

    scheduler = Scheduler(clock)
    scheduler.every(3_600, "job", job)
    scheduler.start()
    try:
        await settled()
        due = clock.now() + due_in(scheduler, clock)
        clock.advance(LOOK_S)
        await settled()
        assert clock.now() + due_in(scheduler, clock) == due
    finally:
        scheduler.stop()


async def test_one_job_that_fails_does_not_end_the_others() -> None:
    ran = asyncio.Event()

    async def fails() -> None:
        raise RuntimeError("a fault in a job")

    async def runs() -> None:
        ran.set()

    scheduler = Scheduler(ManualClock())
    scheduler.soon("fails", fails)
    scheduler.soon("runs", runs)
    scheduler.start()
    try:
        async with asyncio.timeout(30):
            await ran.wait()
    finally:
        scheduler.stop()


async def test_a_job_that_fails_is_told_until_it_is_well_again() -> None:
    trouble = [Unavailable("no space left")]

    async def job() -> None:
        if trouble:
            raise trouble[0]

    scheduler = Scheduler(SystemClock())
    scheduler.every(86_400, "export", job)
    scheduler.start()
    try:
        assert scheduler.health().status == "pass"
        await scheduler._scheduler.get_job("export").func()
        check = scheduler.health()
        assert (check.name, check.status) == ("jobs", "warn")
        assert "export: no space left" in check.output
        due = scheduler._scheduler.get_job("export").next_run_time
        assert due - SystemClock().now() <= timedelta(seconds=AGAIN_S), "not tomorrow"
        trouble.clear()
        await scheduler._scheduler.get_job("export").func()
        assert scheduler.health().status == "pass"
    finally:
        scheduler.stop()
