"""The contract of ``node.core.clock.Clock``, over the system's clock and the one that tests move."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from node.core.clock import Clock, SystemClock, fresh_bytes, new_id, random_bytes
from tests.manual_clock import ManualClock


@pytest.fixture(params=["system", "manual"])
def clock(request: pytest.FixtureRequest) -> Clock:
    return SystemClock() if request.param == "system" else ManualClock()


def test_now_is_aware_and_utc(clock: Clock) -> None:
    assert clock.now().utcoffset() == timedelta(0)


def test_monotonic_never_goes_back(clock: Clock) -> None:
    readings = [clock.monotonic() for _ in range(100)]
    assert readings == sorted(readings)


def test_random_is_a_share(clock: Clock) -> None:
    assert all(0 <= clock.random() < 1 for _ in range(100))


async def test_no_sleep_lets_others_run(clock: Clock) -> None:
    ran = []
    task = asyncio.create_task(asyncio.sleep(0, ran.append(1)))
    await clock.sleep(0)
    await task
    assert ran


async def test_a_sleep_can_be_cancelled(clock: Clock) -> None:
    task = asyncio.create_task(clock.sleep(3_600))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_manual_clock_wakes_who_waited_long_enough() -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    short, long = asyncio.create_task(clock.sleep(5)), asyncio.create_task(clock.sleep(50))
    await asyncio.sleep(0)
    clock.advance(5)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert short.done()
    assert not long.done()
    assert clock.now() == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)
    clock.advance(45)
    await long


def test_the_wall_can_jump_without_the_monotonic_clock() -> None:
    clock = ManualClock()
    before = clock.monotonic()
    clock.set_wall(datetime(2020, 1, 1, tzinfo=UTC))
    assert clock.now().year == 2020
    assert clock.monotonic() == before


def test_ids_and_keys_do_not_repeat() -> None:
    assert len({new_id() for _ in range(1_000)}) == 1_000
    assert len(random_bytes(32)) == 32


def test_fresh_bytes_repeat_in_no_thread_and_no_forked_process() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda _: fresh_bytes(), range(4_000)))
    assert {len(one) for one in made} == {32}
    fresh_bytes()  # some are waiting now
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b"".join(fresh_bytes() for _ in range(100)))
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    theirs = os.read(reader, 3_200)
    os.close(reader)
    made += [theirs[at : at + 32] for at in range(0, 3_200, 32)] + [fresh_bytes() for _ in range(100)]
    assert len(set(made)) == len(made) == 4_200
