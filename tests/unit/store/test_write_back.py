"""The write-back queue: order, bounds, failures, cancellation, drain."""

from __future__ import annotations

import asyncio
import logging

import pytest

from node.core.errors import Rejected, Unavailable
from node.store.write_back import WriteBack


class Job:
    """Runs until it is let go."""

    def __init__(self, log: list[str], name: str, *, fails: bool = False) -> None:
        self.started = asyncio.Event()
        self.go = asyncio.Event()
        self._log, self._name, self._fails = log, name, fails

    async def __call__(self) -> str:
        self._log.append(f"{self._name} starts")
        self.started.set()
        await self.go.wait()
        self._log.append(f"{self._name} ends")
        if self._fails:
            raise Rejected(self._name)
        return self._name


async def test_jobs_run_one_at_a_time_in_order() -> None:
    log: list[str] = []
    queue = WriteBack(10)
    jobs = [Job(log, name) for name in "abc"]
    futures = [queue.submit(job) for job in jobs]
    assert queue.pending() == 3
    jobs[2].go.set()
    jobs[1].go.set()
    await jobs[0].started.wait()
    assert log == ["a starts"]
    jobs[0].go.set()
    assert await asyncio.gather(*futures) == ["a", "b", "c"]
    assert log == ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]
    assert await queue.close(1) == 0
    assert queue.pending() == 0


async def test_a_full_queue_refuses_at_once() -> None:
    queue = WriteBack(2)
    running = Job([], "running")
    futures = [queue.submit(running)]
    await running.started.wait()
    waiting = [Job([], "x"), Job([], "y")]
    futures += [queue.submit(job) for job in waiting]
    with pytest.raises(Unavailable, match="2 writes"):
        queue.submit(running)
    for job in (running, *waiting):
        job.go.set()
    await asyncio.gather(*futures)
    assert await queue.submit(running) == "running", "free again"


async def test_a_failing_job_fails_only_its_future(caplog: pytest.LogCaptureFixture) -> None:
    queue = WriteBack(10)
    bad, good = Job([], "bad", fails=True), Job([], "good")
    bad.go.set()
    good.go.set()
    first, second = queue.submit(bad), queue.submit(good)
    with caplog.at_level(logging.WARNING):
        assert await second == "good"
    with pytest.raises(Rejected):
        await first
    assert "write_back_failed" in caplog.text


async def test_a_job_that_cannot_even_start_fails_its_future() -> None:
    queue = WriteBack(10)

    def broken() -> asyncio.Future[int]:
        raise ValueError("no awaitable")

    good = Job([], "good")
    good.go.set()
    first, second = queue.submit(broken), queue.submit(good)
    assert await second == "good"
    with pytest.raises(ValueError, match="no awaitable"):
        await first


async def test_cancelling_a_waiter_does_not_cancel_the_job() -> None:
    log: list[str] = []
    queue = WriteBack(10)
    running, waiting = Job(log, "running"), Job(log, "waiting")
    tasks = []
    for job in (running, waiting):
        future = queue.submit(job)
        tasks.append(asyncio.ensure_future(asyncio.wait_for(future, None)))
    await running.started.wait()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    running.go.set()
    waiting.go.set()
    assert await queue.close(5) == 0
    assert log == ["running starts", "running ends", "waiting starts", "waiting ends"]


async def test_close_drains() -> None:
    log: list[str] = []
    queue = WriteBack(10)
    jobs = [Job(log, name) for name in "ab"]
    futures = [queue.submit(job) for job in jobs]
    closing = asyncio.create_task(queue.close(30))
    await jobs[0].started.wait()
    with pytest.raises(Unavailable, match="stopping"):
        queue.submit(jobs[0])
    for job in jobs:
        job.go.set()
    assert await closing == 0
    assert await asyncio.gather(*futures) == ["a", "b"]
    assert await queue.close(0) == 0


async def test_close_gives_up_when_its_time_is_over_and_says_how_many() -> None:
    queue = WriteBack(10)
    jobs = [Job([], name) for name in "abc"]
    futures = [queue.submit(job) for job in jobs]
    await jobs[0].started.wait()
    assert await queue.close(0) == 3
    for future in futures:
        with pytest.raises(Unavailable):
            await future
    assert queue.pending() == 0


async def test_a_cancelled_close_leaves_nothing_running() -> None:
    queue = WriteBack(10)
    job = Job([], "a")
    future = queue.submit(job)
    await job.started.wait()
    closing = asyncio.create_task(queue.close(30))
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    assert closing.cancelled()
    with pytest.raises(Unavailable):
        await future


async def test_nothing_to_close() -> None:
    assert await WriteBack(1).close(1) == 0
