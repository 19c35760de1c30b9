"""Refreshes behind stale answers: one for each question, one after another, bounded, ended at stop."""

from __future__ import annotations

import asyncio
import logging

import pytest

from node.core.errors import Unavailable
from node.pipeline.stale import PAUSE_S, YIELD_MAX_S, Refresher
from tests.manual_clock import ManualClock


class Work:
    """A refresh that waits until it is let go."""

    def __init__(self, *, brings: bool = True) -> None:
        self.brings = brings
        self.runs = 0
        self.deadlines: list[float] = []
        self.ended = 0
        self.started = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, deadline: float) -> bool:
        self.runs += 1
        self.deadlines.append(deadline)
        self.started.set()
        try:
            await self.go.wait()
        finally:
            self.ended += 1
        return self.brings


class Counts(list[str]):
    """What the refresher counted, and a way to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = asyncio.Event()

    def __call__(self, outcome: str) -> None:
        self.append(outcome)
        self.changed.set()

    async def wait_for(self, outcome: str) -> None:
        while outcome not in self:
            self.changed.clear()
            await self.changed.wait()


async def test_equal_keys_share_one_refresh_with_its_own_deadline() -> None:
    clock, counts, work = ManualClock(), Counts(), Work()
    refresher = Refresher(clock, deadline_s=60, count=counts)
    assert all(refresher.submit("q", work) for _ in range(200))
    await work.started.wait()
    assert refresher.pending() == 1
    assert refresher.submit("q", work)
    work.go.set()
    await counts.wait_for("done")
    assert work.runs == 1
    assert work.deadlines == [clock.monotonic() + 60]
    assert counts.count("shared") == 200
    assert refresher.pending() == 0
    assert refresher.submit("q", work), "after it brought something, the next one may come"
    await refresher.close()


async def test_one_runs_after_another_and_what_does_not_fit_is_refused() -> None:
    counts, first, second = Counts(), Work(), Work()
    refresher = Refresher(ManualClock(), deadline_s=60, queue_max=1, count=counts)
    assert refresher.submit("a", first)
    await first.started.wait()
    assert refresher.submit("b", second)
    assert not refresher.submit("c", Work())
    assert counts == ["full"]
    assert not second.started.is_set()
    first.go.set()
    await second.started.wait()
    assert first.ended == 1
    await refresher.close()


async def test_what_brought_nothing_is_left_alone_for_a_while() -> None:
    clock, counts, work = ManualClock(), Counts(), Work(brings=False)
    work.go.set()
    refresher = Refresher(clock, deadline_s=60, count=counts)
    refresher.submit("q", work)
    await counts.wait_for("failed")
    assert not refresher.submit("q", work)
    assert counts[-1] == "paused"
    clock.advance(PAUSE_S)
    assert refresher.submit("q", work)
    await refresher.close()


async def test_a_failing_refresh_ends_itself_alone(caplog: pytest.LogCaptureFixture) -> None:
    counts, work = Counts(), Work()
    work.go.set()

    async def unavailable(deadline: float) -> bool:
        raise Unavailable("the log is full")

    async def broken(deadline: float) -> bool:
        raise ValueError("a fault of ours")

    refresher = Refresher(ManualClock(), deadline_s=60, count=counts)
    with caplog.at_level(logging.WARNING):
        refresher.submit("a", unavailable)
        refresher.submit("b", broken)
        refresher.submit("c", work)
        await counts.wait_for("done")
    assert counts == ["failed", "failed", "done"]
    assert "the log is full" in caplog.text
    assert "a fault of ours" in caplog.text
    await refresher.close()


async def test_people_go_first_but_not_for_ever() -> None:
    clock, work = ManualClock(), Work()
    waits = asyncio.Event()

    def busy() -> bool:
        waits.set()
        return True

    refresher = Refresher(clock, deadline_s=60, busy=busy)
    refresher.submit("q", work)
    await waits.wait()
    assert not work.started.is_set()
    for _ in range(int(YIELD_MAX_S * 4)):
        waits.clear()
        clock.advance(0.25)
        await asyncio.wait(
            {asyncio.ensure_future(waits.wait()), asyncio.ensure_future(work.started.wait())},
            return_when=asyncio.FIRST_COMPLETED,
        )
        if work.started.is_set():
            break
    assert work.started.is_set()
    await refresher.close()
    waits.set()


async def test_stop_ends_the_running_one_and_drops_the_rest() -> None:
    first, second = Work(), Work()
    refresher = Refresher(ManualClock(), deadline_s=60)
    refresher.submit("a", first)
    refresher.submit("b", second)
    await first.started.wait()
    await refresher.close()
    await refresher.close()
    assert first.ended == 1
    assert second.runs == 0
    assert refresher.pending() == 0
    assert not refresher.submit("c", Work())
