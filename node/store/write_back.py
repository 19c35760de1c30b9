"""Writes that nobody should wait for: a bounded queue with one worker, drained at stop.

Promises: jobs run one at a time in the order they came; a full queue refuses at once; a job that fails
fails its own future alone; a job that was accepted runs even if whoever asked for it has gone.
It knows nothing of what the jobs do.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from node.core.errors import Unavailable

_log = logging.getLogger(__name__)

T = TypeVar("T")

CANCEL_TIMEOUT_S = 1.0
"""How long ``close`` waits for a job that it has cancelled to clean up."""


@dataclass(frozen=True, slots=True)
class _Item:
    job: Callable[[], Awaitable[Any]]
    future: asyncio.Future[Any]


class WriteBack:
    """Use from one event loop. The worker exists only while there is work."""

    def __init__(self, queue_max: int) -> None:
        self._queue_max = queue_max
        self._queue: deque[_Item] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._job: asyncio.Task[Any] | None = None
        self._is_closed = False

    def submit(self, job: Callable[[], Awaitable[T]]) -> asyncio.Future[T]:
        """Queue ``job`` and return the future of its result. Raises ``Unavailable`` when full or closed.

        Cancelling the future, or a task that awaits it, does not cancel the job. A failure that nobody
        reads is logged, not raised anywhere else.
        """
        if self._is_closed:
            raise Unavailable("the node is stopping: nothing more is written back")
        if len(self._queue) >= self._queue_max:
            raise Unavailable(f"{self._queue_max} writes are waiting already")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Item(job, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(), name="write-back")
        return future

    def pending(self) -> int:
        """Jobs waiting, and the one that runs."""
        return len(self._queue) + (self._job is not None)

    async def close(self, timeout_s: float) -> int:
        """Refuse new jobs, let the accepted ones finish for ``timeout_s`` seconds, then give up on the rest:
        the running one is cancelled, the futures of all fail with ``Unavailable``. Returns how many were
        given up. Idempotent; cancelling it gives up at once."""
        self._is_closed = True
        worker = self._worker
        abandoned = 0
        try:
            if worker is not None and not worker.done():
                await asyncio.wait({worker}, timeout=timeout_s)
        finally:
            abandoned = self._give_up()
        if worker is not None and not worker.done():
            await asyncio.wait({worker}, timeout=CANCEL_TIMEOUT_S)
        return abandoned

    def _give_up(self) -> int:
        abandoned = self.pending()
        while self._queue:
            _fail(self._queue.popleft().future, Unavailable("the node stopped before this was written"))
        if self._job is not None:
            self._job.cancel()
        return abandoned

    async def _work(self) -> None:
        while self._queue:
            item = self._queue.popleft()
            self._job = asyncio.create_task(_run(item.job), name="write-back job")
            try:
                await asyncio.wait({self._job})
                _settle(item.future, self._job)
            finally:
                if not self._job.done():  # the worker itself is being cancelled: the loop is going down
                    self._job.cancel()
                    item.future.cancel()
                self._job = None


async def _run(job: Callable[[], Awaitable[T]]) -> T:
    return await job()


def _settle(future: asyncio.Future[Any], job: asyncio.Task[Any]) -> None:
    """Hand the job's end to its future, unless whoever waited has cancelled that."""
    if job.cancelled():
        _fail(future, Unavailable("the write was stopped before it was done"))
        return
    fault = job.exception()
    if fault is not None:
        _log.warning("event=write_back_failed error=%s reason=%s", type(fault).__name__, fault)
        _fail(future, fault)
    elif not future.done():
        future.set_result(job.result())


def _fail(future: asyncio.Future[Any], fault: BaseException) -> None:
    if not future.done():
        future.set_exception(fault)
        future.exception()  # read once here: asyncio must not complain if nobody else does
