"""Jobs run by monotonic time: what the wall clock does neither stops them nor has runs made up for."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from node.core.scheduler import Scheduler
from tests.manual_clock import ManualClock


async def settled() -> None:
    """Whatever was woken has run."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize("days", [30, -30])
async def test_a_jump_of_the_wall_clock_changes_nothing(days: int) -> None:
    clock, runs = ManualClock(), list[float]()

    async def job() -> None:
        runs.append(clock.monotonic())

    scheduler = Scheduler(clock)
    scheduler.every(5, "job", job)
    scheduler.start()
    try:
        await settled()
        for by in (days, 0, -days):
            clock.set_wall(clock.now() + timedelta(days=by))
            before = len(runs)
            clock.advance(4.9)
            await settled()
            assert len(runs) == before
            clock.advance(0.1)
            await settled()
            assert len(runs) == before + 1
    finally:
        scheduler.stop()


async def test_a_late_run_comes_once() -> None:
    clock, runs = ManualClock(), 0

    async def job() -> None:
        nonlocal runs
        runs += 1

    scheduler = Scheduler(clock)
    scheduler.every(5, "job", job)
    scheduler.start()
    await settled()
    clock.advance(3_600)
    await settled()
    assert runs == 1
    clock.advance(5)
    await settled()
    assert runs == 2
    scheduler.stop()
    clock.advance(60)
    await settled()
    assert runs == 2
