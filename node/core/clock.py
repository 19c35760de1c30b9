"""The only reader of time and randomness, so that tests own both."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Time as the node sees it. All methods are cheap and may be called from any thread but
    ``sleep``, which belongs to the event loop and may be cancelled."""

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards; the unit of deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a test clock returns when it has been moved past the end."""
        ...

    def random(self) -> float:
        """A float in [0, 1) for jitter; never for secrets."""
        ...


class SystemClock:
    """The real thing."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return random.random()  # noqa: S311 - jitter only


async def pause(clock: Clock, seconds: float, until: asyncio.Event) -> None:
    """Wait, or until the event is set, whichever comes first."""
    timer = asyncio.create_task(clock.sleep(seconds))
    woken = asyncio.create_task(until.wait())
    try:
        await asyncio.wait({timer, woken}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
        woken.cancel()
        await asyncio.gather(timer, woken, return_exceptions=True)


class ManualClock:
    """A clock that moves only when told: the harmless implementation for tests and replays."""

    def __init__(self, start: datetime | None = None) -> None:
        self._wall = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._mono = 1_000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._mono

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._mono + seconds, waiter))
        await waiter

    def random(self) -> float:
        return 0.5

    def advance(self, seconds: float) -> None:
        """Move both clocks forward and wake whoever has waited long enough."""
        from datetime import timedelta

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


def random_bytes(count: int) -> bytes:
    """Bytes for keys and identifiers, from the operating system."""
    return secrets.token_bytes(count)


def new_id() -> str:
    """A request id: 16 random bytes in hex."""
    return secrets.token_hex(16)
