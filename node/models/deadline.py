"""One call of an outside engine inside its time, on the node's clock.

Promises: when the time is up, or the caller leaves, the work is cancelled and over before control returns. It
must not know what the work is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from node.core.clock import Clock
from node.core.errors import TimedOut, Unavailable

_T = TypeVar("_T")
LOOK_S = 0.25


class GaveWay(Unavailable):
    """Somebody waits for what the work holds."""


async def giving_way(clock: Clock, work: Awaitable[_T], busy: Callable[[], bool]) -> _T:
    """The result of ``work``, which ends with ``GaveWay`` soon after ``busy`` says so."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            look = asyncio.ensure_future(clock.sleep(LOOK_S))
            await asyncio.wait({task, look}, return_when=asyncio.FIRST_COMPLETED)
            look.cancel()
            if not task.done() and busy():
                raise GaveWay("somebody waits for an answer")
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def within(clock: Clock, seconds: float, work: Awaitable[_T], message: str) -> _T:
    """The result of ``work``, or ``TimedOut(message)`` after ``seconds`` on the node's clock.

    ``work`` is cancelled and waited for when the time is up or the caller is cancelled, so nothing runs on
    unseen."""
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise TimedOut(message)
    finally:
        for part in (task, timer):
            part.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)
