"""The only reader of time and randomness, so that tests own both."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from node.core.clock_rule import Doubt


class Clock(Protocol):
    """Time as the node sees it. All methods are cheap and may be called from any thread but
    ``sleep``, which belongs to the event loop and may be cancelled."""

    @property
    def doubt(self) -> Doubt | None:
        """Why the wall clock is not believed now; nothing is expired or signed meanwhile."""
        ...

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC."""
        ...

    def reading(self) -> tuple[datetime, Doubt | None]:
        """``now`` and ``doubt`` by one look."""
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
    """The real thing, which believes itself: ``clock_guard`` does not."""

    doubt: Doubt | None = None

    def now(self) -> datetime:
        return datetime.now(UTC)

    def reading(self) -> tuple[datetime, Doubt | None]:
        return datetime.now(UTC), self.doubt

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def random(self) -> float:
        return random.random()  # noqa: S311 - jitter only


_TELLS_SLEEP = hasattr(time, "CLOCK_BOOTTIME")


def suspended_s() -> float:
    """Seconds that this machine has slept since it was started, where the system tells (Linux), else 0. They
    are missing from ``monotonic``."""
    if not _TELLS_SLEEP:
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def boot_id() -> str:
    """Names the present start of this machine; empty where the system does not. Blocking."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


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


def random_bytes(count: int) -> bytes:
    """Bytes for keys and identifiers, from the operating system."""
    return secrets.token_bytes(count)


def fresh_bytes() -> bytes:
    """``random_bytes(32)`` for what is made at every request: many are asked for at once, since each asking
    lets other threads in. No two calls, threads or forked processes get the same; secrets that live long
    are made by ``random_bytes``."""
    while True:
        try:
            return _FRESH.popleft()
        except IndexError:
            data = secrets.token_bytes(32 * _FRESH_AT_ONCE)
            _FRESH.extend([data[at : at + 32] for at in range(0, len(data), 32)])


_FRESH_AT_ONCE = 64
_FRESH: deque[bytes] = deque()
os.register_at_fork(after_in_child=_FRESH.clear)


def new_id() -> str:
    """A request id: 16 random bytes in hex."""
    return fresh_bytes()[:16].hex()
