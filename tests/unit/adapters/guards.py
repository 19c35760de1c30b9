"""A guard for tests of adapters."""

from __future__ import annotations

from node.core.clock import Clock
from node.core.guard import Guard
from node.core.limits import Limits, Window


def single(
    name: str, clock: Clock, *, attempts: int = 1, breaker_failures: int = 100, stale_for_s: float = 3_600.0
) -> Guard:
    """With one attempt it waits for no retry, so that one fault is one request."""
    return Guard(
        name,
        clock,
        Limits(
            windows=(Window(1_000, 60.0),),
            attempts=attempts,
            breaker_failures=breaker_failures,
            cache_entries=64,
            stale_for_s=stale_for_s,
        ),
    )
