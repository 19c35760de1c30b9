"""One computation for simultaneous equal questions."""

from __future__ import annotations

import asyncio

import pytest

from node.pipeline.single_flight import SingleFlight


async def test_simultaneous_callers_share_one_computation() -> None:
    flights: SingleFlight[int] = SingleFlight()
    release = asyncio.Event()
    runs = 0

    async def compute() -> int:
        nonlocal runs
        runs += 1
        await release.wait()
        return 7

    waiters = [asyncio.create_task(flights.run("k", compute)) for _ in range(50)]
    await asyncio.sleep(0)
    release.set()
    results = await asyncio.gather(*waiters)
    assert runs == 1
    assert [value for value, _ in results] == [7] * 50
    assert sum(not joined for _, joined in results) == 1
    assert len(flights) == 0


async def test_one_cancelled_waiter_leaves_it_to_the_others() -> None:
    flights: SingleFlight[int] = SingleFlight()
    release = asyncio.Event()

    async def compute() -> int:
        await release.wait()
        return 7

    first, second = (asyncio.create_task(flights.run("k", compute)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    release.set()
    assert (await second)[0] == 7
    assert first.cancelled()


async def test_the_last_waiter_takes_the_computation_with_it() -> None:
    flights: SingleFlight[int] = SingleFlight()
    ended = asyncio.Event()

    async def compute() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    waiter = asyncio.create_task(flights.run("k", compute))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    async with asyncio.timeout(60):
        await ended.wait()
    assert len(flights) == 0


async def test_a_failure_reaches_every_waiter_and_is_not_kept() -> None:
    flights: SingleFlight[int] = SingleFlight()

    async def fail() -> int:
        raise ValueError("no")

    results = await asyncio.gather(*(flights.run("k", fail) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(result, ValueError) for result in results)

    async def succeed() -> int:
        return 1

    assert await flights.run("k", succeed) == (1, False)
