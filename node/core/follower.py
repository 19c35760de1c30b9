"""A worker that follows something, one turn after the other: what jobs that run behind the road do alike.

Rules:
1. One turn at a time. Between two it rests as long as the last one said, or until it is woken.
2. A turn that fails is tried again later and later, with jitter; meanwhile only the stop wakes it.
3. At the stop there is one turn more, within a limit; what is left is done at the next start.

It knows nothing of what is followed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from node.core.clock import Clock, pause
from node.core.errors import NodeError

_log = logging.getLogger("neuroswarm.follower")

BACKOFF_FIRST_S = 1.0
BACKOFF_MAX_S = 120.0
CANCEL_TIMEOUT_S = 1.0
DOUBT_LOOK_S = 1.0
"""How soon whoever waits for the clock to be believed looks again."""


@dataclass(frozen=True, slots=True)
class Rest:
    """``seconds``: until the next turn; None: until somebody wakes the worker. ``is_deaf``: nobody but the
    stop ends it sooner."""

    seconds: float | None
    is_deaf: bool = False


class Follower:
    """``turn`` does what there is to do and says how long there is nothing more; it may raise ``NodeError``.
    ``start`` it inside a running loop."""

    def __init__(self, name: str, turn: Callable[[], Awaitable[Rest]], clock: Clock) -> None:
        self._name = name
        self._turn = turn
        self._clock = clock
        self._woken = asyncio.Event()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._fault: tuple[datetime, str] | None = None

    @property
    def is_stopping(self) -> bool:
        """Whether the turn that runs is the last one."""
        return self._stop.is_set()

    def start(self) -> None:
        """Begin with a turn."""
        self._task = asyncio.create_task(self._work(), name=self._name)

    def wake(self) -> None:
        """There may be something to do. Cheap; may be called any time."""
        self._woken.set()

    def trouble(self) -> tuple[str, datetime | None] | None:
        """What keeps it from its work, and since when; None where nothing does."""
        if self._task is not None and self._task.done() and not self.is_stopping:
            return "has ended; restart the node", None
        if self._fault is not None:
            since, reason = self._fault
            return f"tried again later: {reason}", since
        return None

    async def close(self, timeout_s: float) -> None:
        """The last turn, for at most ``timeout_s`` seconds. Idempotent. Raises what the worker ended with, if
        that was no ``NodeError``."""
        self._stop.set()
        self._woken.set()
        task = self._task
        if task is not None and not task.done():
            await asyncio.wait({task}, timeout=timeout_s)
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
        if task is not None and task.done() and not task.cancelled():
            task.result()

    async def _work(self) -> None:
        failures = 0
        while True:
            is_last = self.is_stopping
            self._woken.clear()
            try:
                rest = await self._turn()
            except NodeError as exc:
                if not failures:
                    _log.warning("event=%s_waits reason=%s", self._name, exc)
                self._fault = (self._clock.now() if self._fault is None else self._fault[0], str(exc))
                step = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** min(failures, 16))
                rest = Rest(step * (0.5 + self._clock.random()), is_deaf=True)
                failures += 1
            else:
                failures, self._fault = 0, None
            if is_last:
                return
            until = self._stop if rest.is_deaf else self._woken
            if rest.seconds is None:
                await until.wait()
            else:
                await pause(self._clock, rest.seconds, until)
