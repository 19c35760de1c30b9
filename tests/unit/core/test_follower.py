"""What follows something: turns, rests, failures, the stop. The clock is ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from node.core.errors import Unavailable
from node.core.follower import BACKOFF_MAX_S, Follower, Rest
from tests.manual_clock import ManualClock


class Work:
    """What is done in each turn; ``turns`` counts them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.rest = Rest(None)
        self.problem: Exception | None = None
        self.turns = 0
        self.holding: asyncio.Event | None = None
        self._turned = asyncio.Event()
        self.follower = Follower("work", self._turn, self.clock)

    async def _turn(self) -> Rest:
        self.turns += 1
        self._turned.set()
        if self.holding is not None:
            await self.holding.wait()
        if self.problem is not None:
            raise self.problem
        return self.rest

    async def turned(self) -> int:
        """After the next turn, when the worker rests."""
        async with asyncio.timeout(60):
            await self._turned.wait()
        self._turned.clear()
        await rested()
        return self.turns


async def rested() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def work() -> AsyncIterator[Work]:
    made = Work()
    yield made
    made.problem = None
    await made.follower.close(1)


async def test_it_rests_until_its_time_or_until_it_is_woken(work: Work) -> None:
    work.rest = Rest(10)
    work.follower.start()
    assert await work.turned() == 1
    work.clock.advance(9)
    await rested()
    assert work.turns == 1
    work.clock.advance(1)
    assert await work.turned() == 2
    work.rest = Rest(None)
    work.follower.wake()
    assert await work.turned() == 3
    work.clock.advance(10_000)
    await rested()
    assert work.turns == 3
    work.follower.wake()
    assert await work.turned() == 4


async def test_a_deaf_rest_is_ended_by_time_and_by_the_stop_alone(work: Work) -> None:
    work.rest = Rest(10, is_deaf=True)
    work.follower.start()
    await work.turned()
    work.follower.wake()
    await rested()
    assert work.turns == 1
    work.clock.advance(10)
    assert await work.turned() == 2
    await work.follower.close(1)
    assert work.turns == 3, "the last turn"


async def test_what_fails_is_told_and_tried_again_later_and_later(
    work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    work.problem = Unavailable("the disk says no")
    since = work.clock.now()
    work.follower.start()
    await work.turned()
    assert work.follower.trouble() == ("tried again later: the disk says no", since)
    work.follower.wake()
    await rested()
    assert work.turns == 1, "nobody wakes it meanwhile"
    for number in range(2, 12):
        work.clock.advance(BACKOFF_MAX_S * 2)
        assert await work.turned() == number
    assert work.follower.trouble() == ("tried again later: the disk says no", since), "since the first time"
    assert caplog.text.count("event=work_waits") == 1
    work.clock.advance(BACKOFF_MAX_S / 4)
    await rested()
    assert work.turns == 11, "by now it waits for minutes"
    work.problem = None
    work.clock.advance(BACKOFF_MAX_S * 2)
    await work.turned()
    assert work.follower.trouble() is None


async def test_the_stop_ends_a_turn_that_hangs_and_may_come_twice(work: Work) -> None:
    work.holding = asyncio.Event()
    work.follower.start()
    await work.turned()
    await work.follower.close(0.01)
    await work.follower.close(0.01)
    assert work.turns == 1


async def test_a_worker_that_was_never_started_can_be_closed(work: Work) -> None:
    await work.follower.close(1)
    assert work.turns == 0


async def test_an_end_that_nobody_foresaw_is_seen(work: Work) -> None:
    work.problem = ZeroDivisionError("a fault of ours")
    work.follower.start()
    await work.turned()
    assert work.follower.trouble() == ("has ended; restart the node", None)
    with pytest.raises(ZeroDivisionError):
        await work.follower.close(1)
    work.follower = Follower("work", work._turn, work.clock)
