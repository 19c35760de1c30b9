"""How much a caller may ask, and how that is told: a rate by the minute, counted by the library ``limits``,
and what a key may use in a day.

The headers are those of draft-ietf-httpapi-ratelimit-headers-10: ``RateLimit-Policy: "minute";q=600;w=60``
and ``RateLimit: "minute";r=599;t=42``. Promises: counts lie in memory, for at most ``COUNTED_MAX`` callers a
minute. Must not know: who is who.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from node.core.clock import SystemClock
from node.core.errors import RateLimited

COUNTED_MAX = 20_000
MINUTE_S, DAY_S = 60, 86_400


@dataclass(frozen=True, slots=True)
class Standing:
    """What is left of one limit: ``left`` of ``quota`` in a window of ``window_s``, which ends in
    ``reset_s``."""

    name: str
    quota: int
    window_s: int
    left: int
    reset_s: int


class Rates:
    """Requests by caller and minute. Event loop only."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._storage = MemoryStorage()
        self._limiter = FixedWindowRateLimiter(self._storage)

    def take(self, who: str, per_minute: int) -> None:
        """One request of ``who``; 0 a minute: no limit. Raises ``RateLimited``."""
        if per_minute <= 0:
            return
        item = RateLimitItemPerMinute(per_minute)
        is_full = len(self._storage.storage) >= COUNTED_MAX
        if is_full and not self._storage.get(item.key_for(who)):
            raise RateLimited("too many callers in this minute; try again", retry_after_s=MINUTE_S)
        if not self._limiter.hit(item, who):
            reset_s = self.standing(who, per_minute).reset_s
            raise RateLimited(
                f"this key may ask {per_minute} times a minute; try again in {reset_s} s",
                retry_after_s=reset_s,
            )

    def standing(self, who: str, per_minute: int) -> Standing:
        """As it is, nothing taken."""
        reset, left = self._limiter.get_window_stats(RateLimitItemPerMinute(per_minute), who)
        # The library counts on the wall clock, which may jump.
        reset_s = min(MINUTE_S, max(1, round(reset - self._clock.now().timestamp())))
        return Standing("minute", per_minute, MINUTE_S, left, reset_s)


def told(standings: Sequence[Standing]) -> Mapping[str, str]:
    """As headers; none where there is no limit."""
    if not standings:
        return {}
    return {
        "RateLimit-Policy": ", ".join(f'"{one.name}";q={one.quota};w={one.window_s}' for one in standings),
        "RateLimit": ", ".join(f'"{one.name}";r={one.left};t={one.reset_s}' for one in standings),
    }
