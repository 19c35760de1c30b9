"""An event loop whose time is virtual and whose order is a seed's.

Promises: it never waits (where nothing is ready the clock jumps to the next timer); callbacks that are ready
together run in an order drawn from the seed, so that no order that asyncio happens to have is relied on; the
same seed and program do the same. A program that waits for nothing that can come is told so.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from node.core.clock_rule import Doubt

START = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Stuck(Exception):
    """Everybody waits, and no timer is set."""


class _NeverWaits(selectors.SelectSelector):
    """``jump`` is told how long nothing happens, and is called before each turn."""

    def __init__(self, jump: Callable[[float | None], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._jump(timeout)
        return []


class SeededLoop(asyncio.SelectorEventLoop):
    """Use with ``asyncio.Runner(loop_factory=…)`` or ``run_until_complete``."""

    _ready: deque[asyncio.Handle]

    def __init__(self, seed: int) -> None:
        self._virtual = 1_000.0
        self._order = random.Random(f"order {seed}")
        super().__init__(_NeverWaits(self._turn))

    def time(self) -> float:
        return self._virtual

    def _turn(self, timeout: float | None) -> None:
        if timeout is None:
            raise Stuck("nothing is ready, and no timer is set")
        self._virtual += timeout
        if len(self._ready) > 1:
            some = list(self._ready)
            self._order.shuffle(some)
            self._ready.clear()
            self._ready.extend(some)


class VirtualClock:
    """``Clock`` on the running loop's time."""

    doubt: Doubt | None = None

    def __init__(self, loop: SeededLoop, rng: random.Random) -> None:
        self._loop = loop
        self._rng = rng

    def now(self) -> datetime:
        return START + timedelta(seconds=self._loop.time())

    def reading(self) -> tuple[datetime, Doubt | None]:
        return self.now(), self.doubt

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return self._rng.random()
