"""Blocking work in a thread that is not left behind: a cancelled caller goes on once the thread has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], *, stop: Callable[[], None] | None = None) -> T:
    """Run ``work`` in a thread. When cancelled, ask it to ``stop`` and let it come to its end, so that
    whoever cleans up afterwards finds nobody at the files; what it raises then is dropped."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if stop is not None:
            stop()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()
        raise
