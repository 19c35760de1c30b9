"""What stands around every outside call: deadline, limits, retries, circuit breaker, cache.

One ``Guard`` per source, shared by everybody who asks that source. It promises:
- no caller waits past its deadline; what cannot start in time is refused at once with the wait in seconds;
- every attempt, failed ones included, takes one permission from each window, and in any stretch of
  ``Window.seconds`` no more than ``Window.count`` attempts start (a sliding log, so there is no double
  burst at the edge of a window);
- a wait that the source asks for (``RateLimited`` raised by an attempt) holds for all callers;
- retries (tenacity, here and nowhere else) are for transient errors, jittered, counted and inside the
  deadline;
- a source that keeps failing is left alone for ``breaker_open_s``, then asked by exactly one probe;
- equal keys share one computation, and one caller's leaving never disturbs the others;
- a fresh value is served from memory, an expired one only when the source fails, marked stale and not for
  ever.

It knows neither protocols nor what a value means; time and jitter come from the injected clock; everything
runs on one event loop. Counts live in this process: a restart begins with empty windows.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from node.core.breaker import Breaker, BreakerOpen
from node.core.clock import Clock, pause
from node.core.errors import NodeError, RateLimited, Rejected, TimedOut, Unavailable
from node.core.limits import Limits, Starts, Window

T = TypeVar("T")

BACKOFF_FIRST_S = 0.2
BACKOFF_MAX_S = 5.0
RETRY_AFTER_MAX_S = 3_600.0
"""A source may not silence itself for longer than this: a wrong Retry-After must heal by itself."""
_NAP_MIN_S = 0.001
"""Shortest sleep while waiting for a permission, so that rounding cannot make a busy loop."""


@dataclass(frozen=True, slots=True)
class Guarded(Generic[T]):
    """A value and how old it is. ``stale``: past its lifetime, served because the source failed."""

    value: T
    stale: bool = False
    age_s: float = 0.0
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known now, for health. ``state``: closed, open, half_open; ``since`` when it began.

    ``remaining`` pairs each window with its free permissions; ``not_before_s`` is the rest of a wait that the
    source asked for and ``reopens_s`` the rest of the open time, both 0 when there is none.
    """

    name: str
    state: str
    since: datetime
    remaining: tuple[tuple[Window, int], ...]
    not_before_s: float
    reopens_s: float
    last_error: str | None
    waiting: int


class _NotAdmitted(Exception):
    """Our own refusal of an attempt; never retried. Carries the error for the caller."""

    def __init__(self, error: NodeError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class _Flight:
    """One shared computation. ``deadline`` is the latest of its waiters'; ``starts_at`` is the estimate
    of its next attempt while it waits for a permission."""

    deadline: float
    task: asyncio.Task[Any] | None = None
    waiters: int = 0
    starts_at: float = 0.0
    abandoned_at_deadline: bool = False


@dataclass(frozen=True, slots=True)
class _Entry:
    value: object
    fetched: float
    ttl_s: float


class Guard:
    """The protection of one source. Safe for any number of concurrent callers on one event loop."""

    def __init__(self, name: str, clock: Clock, limits: Limits) -> None:
        self.name = name
        self._clock = clock
        self._limits = limits
        self._starts = tuple(Starts(window) for window in limits.windows)
        self._breaker = Breaker(limits.breaker_failures, limits.breaker_open_s, clock)
        self._in_flight = 0
        self._not_before = 0.0
        self._queue: deque[asyncio.Event] = deque()
        """Those that wait for a permission; the event says that something has changed."""
        self._flights: dict[str, _Flight] = {}
        self._cache: OrderedDict[str, _Entry] = OrderedDict()
        self._last_error: str | None = None

    # --- the one entrance -------------------------------------------------------------------------

    async def call(
        self,
        attempt: Callable[[float], Awaitable[T]],
        *,
        deadline: float,
        attempt_timeout_s: float,
        key: str | None = None,
        ttl_s: float = 0.0,
        max_age_s: float | None = None,
    ) -> Guarded[T]:
        """The value for ``key``, from memory or by ``attempt(timeout_s)``.

        ``attempt`` raises ``node.core.errors`` only: ``Unavailable`` and ``TimedOut`` are retried and count
        for the breaker, ``RateLimited`` sets the wait for everybody, anything else goes straight to the
        caller. It ends soon when cancelled, and its value is treated as immutable. ``key`` None means neither
        cached nor shared; equal keys must mean equal attempts. ``deadline`` is monotonic; values older than
        ``max_age_s`` are not served.

        Raises ``TimedOut``, ``RateLimited``, ``BreakerOpen``, ``Unavailable`` or what ``attempt`` raised.
        """
        limit = math.inf if max_age_s is None else max_age_s
        if key is not None and (fresh := self._cached(key, limit, stale=False)) is not None:
            return cast("Guarded[T]", fresh)
        try:
            value = await self._join(attempt, key, ttl_s, deadline, attempt_timeout_s)
        except (Unavailable, Rejected):
            if key is not None and (old := self._cached(key, limit, stale=True)) is not None:
                return cast("Guarded[T]", old)
            raise
        return Guarded(value)

    def snapshot(self) -> Snapshot:
        """The present state, without I/O."""
        now = self._clock.monotonic()
        return Snapshot(
            name=self.name,
            state=self._breaker.state,
            since=self._breaker.since,
            remaining=tuple((one.window, one.free(now)) for one in self._starts),
            not_before_s=max(0.0, self._not_before - now),
            reopens_s=self._breaker.wait_s,
            last_error=self._last_error,
            waiting=len(self._queue),
        )

    # --- cache ------------------------------------------------------------------------------------

    def _cached(self, key: str, max_age_s: float, *, stale: bool) -> Guarded[object] | None:
        entry = self._cache.get(key)
        if entry is None:
            return None
        age, doubt = self._clock.monotonic() - entry.fetched, self._clock.doubt
        # What was fetched before a doubt about the clock may be older than the seconds that were counted.
        is_stale = age >= entry.ttl_s or (doubt is not None and entry.fetched < doubt.since_s)
        if age > entry.ttl_s + self._limits.stale_for_s:
            del self._cache[key]
            return None
        if (is_stale and not stale) or age > max_age_s or (max_age_s <= 0 and not stale):
            return None
        self._cache.move_to_end(key)
        return Guarded(entry.value, stale=is_stale, age_s=age, from_cache=True)

    def _keep(self, key: str, value: object, ttl_s: float) -> None:
        if self._limits.cache_entries == 0 or ttl_s <= 0:
            return
        self._cache[key] = _Entry(value, self._clock.monotonic(), ttl_s)
        self._cache.move_to_end(key)
        while len(self._cache) > self._limits.cache_entries:
            self._cache.popitem(last=False)

    # --- single flight ----------------------------------------------------------------------------

    async def _join(
        self,
        attempt: Callable[[float], Awaitable[T]],
        key: str | None,
        ttl_s: float,
        deadline: float,
        attempt_timeout_s: float,
    ) -> T:
        now = self._clock.monotonic()
        if now >= deadline:
            raise TimedOut(f"{self.name}: no time left to ask")
        flight = self._flights.get(key) if key is not None else None
        if flight is None:
            flight = _Flight(deadline)
            flight.task = asyncio.create_task(self._fly(flight, attempt, key, ttl_s, attempt_timeout_s))
            flight.task.add_done_callback(_retrieve)
            if key is not None:
                self._flights[key] = flight
        elif flight.starts_at > deadline:
            raise self._rate_limited(flight.starts_at - now)
        flight.deadline = max(flight.deadline, deadline)
        task = cast("asyncio.Task[T]", flight.task)
        flight.waiters += 1
        try:
            if not await self._is_done_within(task, deadline - now):
                flight.abandoned_at_deadline = flight.waiters == 1
                raise TimedOut(f"{self.name} did not answer in time")
            return self._result(task)
        finally:
            flight.waiters -= 1
            if flight.waiters == 0 and not task.done():
                # Nobody is left to use the value; a newcomer starts afresh.
                if key is not None and self._flights.get(key) is flight:
                    del self._flights[key]
                task.cancel()

    async def _fly(
        self,
        flight: _Flight,
        attempt: Callable[[float], Awaitable[T]],
        key: str | None,
        ttl_s: float,
        attempt_timeout_s: float,
    ) -> T:
        try:
            value = await self._retry(flight, attempt, attempt_timeout_s)
            if key is not None:
                self._keep(key, value, ttl_s)
            return value
        finally:
            if key is not None and self._flights.get(key) is flight:
                del self._flights[key]

    # --- attempts ---------------------------------------------------------------------------------

    async def _retry(
        self, flight: _Flight, attempt: Callable[[float], Awaitable[T]], attempt_timeout_s: float
    ) -> T:
        last: NodeError | None = None

        async def once() -> T:
            nonlocal last
            try:
                return await self._once(flight, attempt, attempt_timeout_s)
            except Unavailable as exc:
                last = exc
                raise

        retrying = AsyncRetrying(
            sleep=self._clock.sleep,
            retry=retry_if_exception_type(Unavailable),
            wait=self._backoff,
            stop=lambda state: self._gives_up(state, flight),
            reraise=True,
        )
        try:
            return await retrying(once)
        except _NotAdmitted as exc:
            # What the source said first explains more than our refusal to ask it again.
            raise (last or exc.error) from exc

    def _backoff(self, state: RetryCallState) -> float:
        """Exponential with jitter: between half and one and a half of the step."""
        step = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** (state.attempt_number - 1))
        jittered: float = step * (0.5 + self._clock.random())
        return jittered

    def _gives_up(self, state: RetryCallState, flight: _Flight) -> bool:
        """A retry must have attempts left and begin before the deadline and after the asked wait."""
        starts = max(self._clock.monotonic() + state.upcoming_sleep, self._not_before)
        return state.attempt_number >= self._limits.attempts or starts >= flight.deadline

    async def _once(
        self, flight: _Flight, attempt: Callable[[float], Awaitable[T]], attempt_timeout_s: float
    ) -> T:
        probe = await self._admit(flight)
        started = self._clock.monotonic()
        failed: bool | None = None
        try:
            value = await self._within(attempt, min(attempt_timeout_s, flight.deadline - started))
            failed = False
            return value
        except RateLimited as exc:
            # Not a sick source; but a probe that is sent away has not shown it well either.
            failed = True if probe else None
            self._wait_for_source(exc.retry_after_s)
            self._note(exc)
            raise
        except TimedOut as exc:
            # An attempt that was given little time says nothing about the source.
            failed = self._had_its_time(started, attempt_timeout_s)
            self._note(exc)
            raise
        except Unavailable as exc:
            failed = True
            self._note(exc)
            raise
        except NodeError as exc:
            failed = False
            self._note(exc)
            raise
        except asyncio.CancelledError:
            if flight.abandoned_at_deadline:
                failed = self._had_its_time(started, attempt_timeout_s)
                self._note(TimedOut(f"{self.name} did not answer in time"))
            raise
        finally:
            self._in_flight -= 1
            self._breaker.leave(probe, failed)
            self._wake()

    async def _within(self, attempt: Callable[[float], Awaitable[T]], seconds: float) -> T:
        """The attempt's value, or ``TimedOut`` by our clock; the attempt is over on return."""
        task = asyncio.ensure_future(attempt(seconds))
        try:
            if not await self._is_done_within(task, seconds):
                raise TimedOut(f"{self.name} did not answer within {seconds:.1f} s")
            return self._result(task)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _is_done_within(self, task: asyncio.Future[T], seconds: float) -> bool:
        timer = asyncio.create_task(self._clock.sleep(seconds))
        waits: set[asyncio.Future[Any]] = {task, timer}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        return task.done()

    def _result(self, task: asyncio.Future[T]) -> T:
        if task.cancelled():
            raise Unavailable(f"{self.name}: the call was cancelled")
        return task.result()

    def _had_its_time(self, started: float, attempt_timeout_s: float) -> bool | None:
        return True if self._clock.monotonic() - started >= attempt_timeout_s / 2 else None

    def _wait_for_source(self, seconds: float) -> None:
        if not math.isfinite(seconds):
            seconds = RETRY_AFTER_MAX_S
        until = self._clock.monotonic() + min(max(0.0, seconds), RETRY_AFTER_MAX_S)
        self._not_before = max(self._not_before, until)

    def _note(self, exc: NodeError) -> None:
        self._last_error = str(exc)[:200]

    # --- permission -------------------------------------------------------------------------------

    async def _admit(self, flight: _Flight) -> bool:
        """Wait for breaker, concurrency, windows and the source's own wait, first come first served; take one
        permission. True when the attempt is the breaker's probe. Raises ``_NotAdmitted``."""
        turn = asyncio.Event()
        if len(self._queue) >= self._limits.waiters_max:
            now = self._clock.monotonic()
            raise _NotAdmitted(self._rate_limited(self._earliest(len(self._queue), now) - now))
        self._queue.append(turn)
        try:
            while True:
                now = self._clock.monotonic()
                ahead = self._queue.index(turn)
                flight.starts_at = self._earliest(ahead, now)
                self._check(flight, now)
                if ahead == 0 and flight.starts_at <= now and self._in_flight < self._limits.concurrency:
                    for starts in self._starts:
                        starts.take(now)
                    self._in_flight += 1
                    return self._breaker.enter()
                nap = flight.deadline - now
                if ahead == 0 and flight.starts_at > now:
                    nap = min(nap, flight.starts_at - now)
                turn.clear()
                await pause(self._clock, max(nap, _NAP_MIN_S), turn)
        finally:
            flight.starts_at = 0.0
            self._queue.remove(turn)
            self._wake()

    def _check(self, flight: _Flight, now: float) -> None:
        if self._breaker.refuses:
            wait = self._breaker.wait_s
            cause = f" ({self._last_error})" if self._last_error else ""
            raise _NotAdmitted(
                BreakerOpen(
                    f"{self.name} keeps failing{cause} and is asked again in {wait:.0f} s", retry_after_s=wait
                )
            )
        if flight.starts_at >= flight.deadline > now:
            raise _NotAdmitted(self._rate_limited(flight.starts_at - now))
        if now >= flight.deadline:
            raise _NotAdmitted(TimedOut(f"{self.name}: the turn did not come in time"))

    def _earliest(self, ahead: int, now: float) -> float:
        """When a caller behind ``ahead`` others may start, as far as time decides; ``now`` for at once."""
        return max([now, self._not_before, *(one.earliest(now, ahead) for one in self._starts)])

    def _rate_limited(self, wait_s: float) -> RateLimited:
        wait_s = max(wait_s, _NAP_MIN_S)
        return RateLimited(
            f"{self.name} may not be asked for another {math.ceil(wait_s)} s", retry_after_s=wait_s
        )

    def _wake(self) -> None:
        """Something changed: everybody in the queue looks again (it is short and bounded)."""
        for turn in self._queue:
            turn.set()


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Take the exception of a flight that nobody waits for any more, so that it is not reported as lost."""
    if not task.cancelled():
        task.exception()
