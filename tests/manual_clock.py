"""A clock that tests move."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from node.core.clock_rule import Doubt


class ManualClock:
    """A clock that moves only when told."""

    doubt: Doubt | None = None

    def __init__(self, start: datetime | None = None) -> None:
        self._wall = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._mono = 1_000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._wall

    def reading(self) -> tuple[datetime, Doubt | None]:
        return self.now(), self.doubt

    def monotonic(self) -> float:
        return self._mono

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._mono + seconds, waiter))
        await waiter

    @property
    def next_s(self) -> float | None:
        """In how many seconds the first of those who wait is due; None while nobody waits."""
        return min((at - self._mono for at, waiter in self._sleepers if not waiter.done()), default=None)

    def random(self) -> float:
        return 0.5

    def advance(self, seconds: float) -> None:
        """Move both clocks forward and wake whoever has waited long enough."""
        self._mono += seconds
        self._wall += timedelta(seconds=seconds)
        due = [waiter for at, waiter in self._sleepers if at <= self._mono]
        self._sleepers = [(at, waiter) for at, waiter in self._sleepers if at > self._mono]
        for waiter in due:
            if not waiter.done():
                waiter.set_result(None)

    def set_wall(self, when: datetime) -> None:
        """Jump the wall clock alone, as an operator or NTP would."""
        self._wall = when
