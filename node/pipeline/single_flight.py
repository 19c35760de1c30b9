"""One computation for simultaneous equal questions.

The computation runs in a task of its own: cancelling one waiter leaves it to the others; when the
last waiter has gone it is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class SingleFlight(Generic[Value]):
    """Joins callers by key."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, tuple[asyncio.Task[Value], list[None]]] = {}

    async def run(
        self, key: Hashable, compute: Callable[[], Coroutine[Any, Any, Value]]
    ) -> tuple[Value, bool]:
        """The value of ``compute`` for ``key``, and whether somebody else had started it.
        Raises what ``compute`` raises, to every waiter."""
        flight = self._flights.get(key)
        joined = flight is not None
        if flight is None:
            task = asyncio.create_task(compute())
            flight = (task, [])
            self._flights[key] = flight
            task.add_done_callback(lambda done: self._land(key, done))
        task, waiters = flight
        waiters.append(None)
        try:
            return await asyncio.shield(task), joined
        finally:
            waiters.pop()
            if not waiters and not task.done():
                self._land(key, task)
                task.cancel()

    def _land(self, key: Hashable, task: asyncio.Task[Value]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight[0] is task:
            del self._flights[key]

    def __len__(self) -> int:
        return len(self._flights)
