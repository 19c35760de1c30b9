"""Work that ends when somebody else needs what it holds."""

from __future__ import annotations

import asyncio

import pytest

from node.models.deadline import GaveWay, giving_way
from tests.manual_clock import ManualClock


async def test_work_goes_on_while_nobody_waits_and_is_over_when_somebody_does() -> None:
    clock, ended, is_busy = ManualClock(), asyncio.Event(), False

    async def work() -> str:
        try:
            await asyncio.Event().wait()
            return "never"
        finally:
            ended.set()

    giving = asyncio.create_task(giving_way(clock, work(), lambda: is_busy))
    for busy in (False, True):
        while clock.next_s is None:
            await asyncio.sleep(0)
        assert not giving.done()
        is_busy = busy
        clock.advance(1)
    with pytest.raises(GaveWay):
        await giving
    assert ended.is_set()


async def test_its_result_is_handed_on() -> None:
    async def work() -> str:
        return "done"

    assert await giving_way(ManualClock(), work(), lambda: True) == "done"
