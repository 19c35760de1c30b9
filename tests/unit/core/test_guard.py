"""The guard against a source that is slow, sick, strict or gone. All time is a ``ManualClock``'s."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from node.core.breaker import BreakerOpen
from node.core.errors import Forbidden, NodeError, NotFound, RateLimited, Rejected, TimedOut, Unavailable
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from tests.manual_clock import ManualClock

MINUTE = 60.0


class Source:
    """A source that follows a script: a value, an error to raise, or None to hang until released."""

    def __init__(self, clock: ManualClock, *script: object) -> None:
        self.clock = clock
        self.script = list(script)
        self.started: list[float] = []
        self.running = 0
        self.running_max = 0
        self.release = asyncio.Event()

    async def __call__(self, timeout_s: float) -> object:
        assert timeout_s > 0
        self.started.append(self.clock.monotonic())
        step = self.script.pop(0) if self.script else "value"
        self.running += 1
        self.running_max = max(self.running_max, self.running)
        try:
            if step is None:
                await self.release.wait()
                return "late value"
            await asyncio.sleep(0)
            if isinstance(step, BaseException):
                raise step
            return step
        finally:
            self.running -= 1


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(autouse=True)
async def no_task_left() -> AsyncIterator[None]:
    """Whatever a test does, the guard leaves no task behind."""
    before = asyncio.all_tasks()
    yield
    await settle()
    assert asyncio.all_tasks() - before <= {asyncio.current_task()}


USUAL = Limits(
    (Window(1_000, MINUTE),), attempts=3, breaker_failures=100, cache_entries=16, stale_for_s=600.0
)


def make(clock: ManualClock, **limits: Any) -> Guard:
    return Guard("source", clock, replace(USUAL, **limits))


async def settle(turns: int = 30) -> None:
    """Let everything run that can run without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def in_time(
    clock: ManualClock, task: asyncio.Task[Guarded[object]], step_s: float = 0.1
) -> Guarded[object]:
    """The task's result, moving the clock until it is done; an hour at most."""
    for _ in range(int(3_600 / step_s)):
        await settle()
        if task.done():
            return task.result()
        clock.advance(step_s)
    raise AssertionError("not done within an hour")


def begin(
    guard: Guard,
    attempt: Callable[[float], Awaitable[object]],
    *,
    key: str | None = "k",
    ttl_s: float = 30.0,
    within_s: float = 10.0,
    attempt_timeout_s: float = 2.0,
    max_age_s: float | None = None,
) -> asyncio.Task[Guarded[object]]:
    """A task for the guarded call."""
    deadline = guard._clock.monotonic() + within_s
    call = guard.call(
        attempt,
        key=key,
        ttl_s=ttl_s,
        deadline=deadline,
        attempt_timeout_s=attempt_timeout_s,
        max_age_s=max_age_s,
    )
    return asyncio.create_task(call)


async def finish(task: asyncio.Task[Guarded[object]]) -> Guarded[object]:
    await settle()
    assert task.done()
    return task.result()


async def ask(guard: Guard, attempt: Callable[[float], Awaitable[object]], **how: Any) -> Guarded[object]:
    """A call that ends without time passing."""
    return await finish(begin(guard, attempt, **how))


# --- cache and single flight --------------------------------------------------------------------------


async def test_two_hundred_equal_questions_are_one_attempt(clock: ManualClock) -> None:
    guard, source = make(clock), Source(clock, None)
    tasks = [begin(guard, source) for _ in range(200)]
    await settle()
    assert len(source.started) == 1
    source.release.set()
    await settle()
    assert {task.result().value for task in tasks} == {"late value"}
    assert guard.snapshot().remaining == ((Window(1_000, MINUTE), 999),)


async def test_fresh_values_come_from_memory_and_expire(clock: ManualClock) -> None:
    guard, source = make(clock), Source(clock, "one", "two")
    first = await ask(guard, source)
    clock.advance(29)
    second = await ask(guard, source)
    clock.advance(2)
    third = await ask(guard, source)
    assert [one.value for one in (first, second, third)] == ["one", "one", "two"]
    assert [one.from_cache for one in (first, second, third)] == [False, True, False]
    assert not any(one.stale for one in (first, second, third))


async def test_max_age_refuses_an_older_value(clock: ManualClock) -> None:
    guard, source = make(clock), Source(clock, "one", "two", "three")
    await ask(guard, source)
    assert (await ask(guard, source, max_age_s=0)).value == "two"
    clock.advance(10)
    assert (await ask(guard, source, max_age_s=10)).value == "two"
    assert (await ask(guard, source, max_age_s=5)).value == "three"


async def test_without_a_key_nothing_is_shared(clock: ManualClock) -> None:
    guard, source = make(clock), Source(clock)
    tasks = [begin(guard, source, key=None) for _ in range(3)]
    await settle()
    assert all(task.done() for task in tasks)
    assert len(source.started) == 3


async def test_cache_is_bounded(clock: ManualClock) -> None:
    guard, source = make(clock, cache_entries=3), Source(clock)
    for name in "abcd":
        await ask(guard, source, key=name)
    await ask(guard, source, key="d")
    assert len(source.started) == 4
    await ask(guard, source, key="a")
    assert len(source.started) == 5


async def test_one_leaver_does_not_disturb_the_others(clock: ManualClock) -> None:
    guard, source = make(clock), Source(clock, None)
    first, second = begin(guard, source), begin(guard, source)
    await settle()
    first.cancel()
    await settle()
    assert first.cancelled()
    assert source.running == 1
    source.release.set()
    assert (await finish(second)).value == "late value"


async def test_when_all_leave_the_attempt_is_cancelled_and_nothing_stays_taken(clock: ManualClock) -> None:
    guard, source = make(clock, concurrency=1), Source(clock, None)
    tasks = [begin(guard, source) for _ in range(5)]
    await settle()
    for task in tasks:
        task.cancel()
    await settle()
    assert all(task.cancelled() for task in tasks)
    assert source.running == 0
    assert guard._in_flight == 0
    assert (await ask(guard, source)).value == "value"


async def test_cancelling_while_waiting_for_a_turn_leaks_nothing(clock: ManualClock) -> None:
    guard, source = make(clock, concurrency=1), Source(clock, None)
    holder = begin(guard, source, key="a")
    waiting = [begin(guard, source, key=name) for name in "bcd"]
    await settle()
    assert guard.snapshot().waiting == 3
    waiting[0].cancel()
    waiting[1].cancel()
    await settle()
    assert guard.snapshot().waiting == 1
    source.release.set()
    await settle()
    assert holder.done()
    assert waiting[2].done()
    assert guard.snapshot().waiting == guard._in_flight == 0


async def test_each_waiter_keeps_its_own_deadline(clock: ManualClock) -> None:
    guard, source = make(clock), Source(clock, None)
    short = begin(guard, source, within_s=1, attempt_timeout_s=8)
    await settle()
    long = begin(guard, source, within_s=8, attempt_timeout_s=8)
    await settle()
    clock.advance(1)
    with pytest.raises(TimedOut):
        await finish(short)
    # The attempt had been given one second; the patient caller gets another.
    assert (await in_time(clock, long)).value == "value"


# --- stale if error -----------------------------------------------------------------------------------


FAILURES = [Unavailable("down"), Rejected("rubbish"), RateLimited("slow", retry_after_s=900)]


@pytest.mark.parametrize("error", FAILURES)
async def test_an_expired_value_is_served_marked_when_the_source_fails(
    clock: ManualClock, error: NodeError
) -> None:
    guard, source = make(clock, attempts=1), Source(clock, "old", error)
    await ask(guard, source)
    clock.advance(100)
    got = await ask(guard, source)
    assert (got.value, got.stale, got.from_cache, got.age_s) == ("old", True, True, 100.0)


async def test_staleness_is_bounded(clock: ManualClock) -> None:
    guard, source = make(clock, attempts=1, stale_for_s=60), Source(clock, "old", Unavailable("down"))
    await ask(guard, source)
    clock.advance(91)
    with pytest.raises(Unavailable, match="down"):
        await ask(guard, source)


async def test_stale_respects_max_age_and_a_clear_no(clock: ManualClock) -> None:
    guard = make(clock, attempts=1)
    source = Source(clock, "old", Unavailable("down"), NotFound("gone"))
    await ask(guard, source)
    clock.advance(100)
    with pytest.raises(Unavailable):
        await ask(guard, source, max_age_s=50)
    with pytest.raises(NotFound):
        await ask(guard, source)


# --- deadlines ----------------------------------------------------------------------------------------


async def test_a_hanging_attempt_ends_by_the_clock_and_is_cancelled(clock: ManualClock) -> None:
    guard, source = make(clock, attempts=1), Source(clock, None)
    task = begin(guard, source, within_s=10, attempt_timeout_s=2)
    await settle()
    clock.advance(1.9)
    await settle()
    assert not task.done()
    clock.advance(0.2)
    with pytest.raises(TimedOut):
        await finish(task)
    await settle()
    assert source.running == 0


async def test_no_call_outlives_its_deadline_whatever_the_retries(clock: ManualClock) -> None:
    guard, source = make(clock, attempts=50), Source(clock, *([None] * 50))
    start = clock.monotonic()
    task = begin(guard, source, within_s=5, attempt_timeout_s=2)
    with pytest.raises(TimedOut):
        await in_time(clock, task)
    assert clock.monotonic() - start <= 5.2
    assert len(source.started) <= 3


async def test_a_past_deadline_asks_nothing(clock: ManualClock) -> None:
    guard, source = make(clock), Source(clock)
    with pytest.raises(TimedOut):
        await ask(guard, source, within_s=0)
    assert source.started == []


async def test_a_clock_that_runs_between_two_readings_does_not_delay_a_call() -> None:
    class Running(ManualClock):
        def monotonic(self) -> float:
            self._mono += 1e-6
            return self._mono

    clock = Running()
    guard, source = make(clock), Source(clock)
    assert (await ask(guard, source)).value == "value"


# --- retries ------------------------------------------------------------------------------------------


async def test_transient_errors_are_retried_with_jittered_growing_waits(clock: ManualClock) -> None:
    class Dice(ManualClock):
        rolls = itertools.cycle([0.0, 0.9])

        def random(self) -> float:
            return next(self.rolls)

    dice = Dice()
    guard = make(dice, attempts=3)
    source = Source(dice, Unavailable("502"), TimedOut("slow"), "third")
    got = await in_time(dice, begin(guard, source), 0.01)
    assert got.value == "third"
    waits = [b - a for a, b in itertools.pairwise(source.started)]
    assert waits[0] == pytest.approx(0.2 * 0.5, abs=0.011)
    assert waits[1] == pytest.approx(0.4 * 1.4, abs=0.011)


async def test_retries_are_counted_and_every_attempt_takes_a_permission(clock: ManualClock) -> None:
    guard = make(clock, attempts=3)
    source = Source(clock, *[Unavailable("503")] * 9)
    with pytest.raises(Unavailable, match="503"):
        await in_time(clock, begin(guard, source))
    assert len(source.started) == 3
    assert guard.snapshot().remaining[0][1] == 997


@pytest.mark.parametrize("error", [Rejected("rubbish"), NotFound("no"), Forbidden("key"), KeyError("bug")])
async def test_lasting_errors_are_not_retried(clock: ManualClock, error: Exception) -> None:
    guard, source = make(clock), Source(clock, error)
    with pytest.raises(type(error)):
        await ask(guard, source)
    assert len(source.started) == 1
    assert guard._in_flight == 0


async def test_the_source_s_own_words_survive_our_refusal_of_a_retry(clock: ManualClock) -> None:
    guard = make(clock, windows=(Window(1, MINUTE),))
    source = Source(clock, Unavailable("502 from the source"))
    with pytest.raises(Unavailable, match="502 from the source"):
        await in_time(clock, begin(guard, source))
    assert len(source.started) == 1


# --- windows ------------------------------------------------------------------------------------------


def worst(starts: list[float], seconds: float) -> int:
    """The most starts in any half-open stretch of that length."""
    return max((sum(1 for t in starts if at <= t < at + seconds - 1e-9) for at in starts), default=0)


async def test_no_window_is_exceeded_in_an_hour_of_pressure(clock: ManualClock) -> None:
    windows = (Window(2, 1.0), Window(10, MINUTE), Window(200, 1_800.0))
    guard, source = make(clock, windows=windows, attempts=2), Source(clock)
    source.script = [Unavailable("503") if n % 7 == 0 else "ok" for n in range(10_000)]
    names = itertools.count()
    pending: set[asyncio.Task[Guarded[object]]] = set()
    begun = clock.monotonic()
    refused = 0
    while clock.monotonic() < begun + 3_600:
        pending |= {begin(guard, source, key=str(next(names)), within_s=20) for _ in range(2)}
        await settle()
        done = {task for task in pending if task.done()}
        refused += sum(isinstance(task.exception(), RateLimited) for task in done)
        pending -= done
        clock.advance(3.7)
    for task in pending:
        task.cancel()
    for window in windows:
        assert worst(source.started, window.seconds) <= window.count
    # Protection, not paralysis: the tightest long window is used up.
    assert len(source.started) >= 390
    assert refused > 0


async def test_no_double_burst_at_the_edge_of_a_window(clock: ManualClock) -> None:
    guard, source = make(clock, windows=(Window(10, MINUTE),), concurrency=100), Source(clock)
    clock.advance(59)
    for name in range(10):
        await ask(guard, source, key=str(name))
    clock.advance(2)
    with pytest.raises(RateLimited) as caught:
        await ask(guard, source, key="next", within_s=10)
    assert caught.value.retry_after_s == pytest.approx(58)


async def test_a_slot_is_awaited_only_when_it_comes_in_time(clock: ManualClock) -> None:
    guard, source = make(clock, windows=(Window(1, 5.0),)), Source(clock)
    await ask(guard, source, key="a")
    patient = begin(guard, source, key="b", within_s=6)
    await settle()
    assert not patient.done()
    with pytest.raises(RateLimited) as caught:
        await ask(guard, source, key="c", within_s=6)
    assert caught.value.retry_after_s == pytest.approx(10), "one is ahead already"
    clock.advance(5)
    await finish(patient)
    assert len(source.started) == 2


async def test_joining_a_flight_that_starts_too_late_is_refused_at_once(clock: ManualClock) -> None:
    guard, source = make(clock, windows=(Window(1, 5.0),)), Source(clock)
    await ask(guard, source, key="a")
    patient = begin(guard, source, key="b", within_s=9)
    await settle()
    with pytest.raises(RateLimited):
        await ask(guard, source, key="b", within_s=1)
    clock.advance(5)
    await finish(patient)


async def test_waiting_places_are_bounded(clock: ManualClock) -> None:
    guard, source = make(clock, concurrency=1, waiters_max=2), Source(clock, None)
    tasks = [begin(guard, source, key=str(n)) for n in range(4)]
    await settle()
    assert [task.done() for task in tasks] == [False, False, False, True]
    assert isinstance(tasks[3].exception(), RateLimited)
    source.release.set()
    await settle(100)
    assert all(task.done() for task in tasks)


async def test_concurrency_is_capped(clock: ManualClock) -> None:
    guard, source = make(clock, concurrency=3), Source(clock, *[None] * 10)
    tasks = [begin(guard, source, key=str(n)) for n in range(10)]
    await settle()
    assert source.running == 3
    source.release.set()
    await settle(100)
    assert all(task.done() for task in tasks)
    assert source.running_max == 3


# --- the source's own wait ----------------------------------------------------------------------------


async def test_retry_after_holds_for_all_callers(clock: ManualClock) -> None:
    guard = make(clock)
    source = Source(clock, RateLimited("too many", retry_after_s=119))
    with pytest.raises(RateLimited) as first:
        await ask(guard, source, key="a")
    assert first.value.retry_after_s == 119
    for name in "bcd":
        with pytest.raises(RateLimited) as caught:
            await ask(guard, source, key=name)
        assert caught.value.retry_after_s == pytest.approx(119)
    assert len(source.started) == 1
    assert guard.snapshot().not_before_s == pytest.approx(119)
    clock.advance(119)
    await ask(guard, source, key="e")
    assert len(source.started) == 2


async def test_a_short_wait_of_the_source_is_sat_out_by_everybody(clock: ManualClock) -> None:
    guard = make(clock)
    source = Source(clock, RateLimited("too many", retry_after_s=3))
    first = begin(guard, source, key="a")
    await settle()
    second = begin(guard, source, key="b")
    begun = clock.monotonic()
    assert [(await in_time(clock, task)).value for task in (first, second)] == ["value", "value"]
    assert all(at >= begun + 3 for at in source.started[1:])
    assert len(source.started) == 3


async def test_a_waiting_caller_learns_of_a_new_wait_at_once(clock: ManualClock) -> None:
    guard, source = make(clock, concurrency=1, attempts=1), Source(clock, None)

    async def limited(_: float) -> object:
        await source.release.wait()
        raise RateLimited("too many", retry_after_s=500)

    first = begin(guard, limited, key="a")
    second = begin(guard, source, key="b")
    await settle()
    source.release.set()
    await settle()
    for task in (first, second):
        with pytest.raises(RateLimited):
            await finish(task)
    assert source.started == []


@pytest.mark.parametrize("wait", [math.inf, math.nan, 10**12])
async def test_an_absurd_wait_is_capped_at_an_hour(clock: ManualClock, wait: float) -> None:
    guard = make(clock, attempts=1)
    with pytest.raises(RateLimited):
        await ask(guard, Source(clock, RateLimited("x", retry_after_s=wait)))
    assert guard.snapshot().not_before_s == 3_600


# --- breaker ------------------------------------------------------------------------------------------


async def trip(guard: Guard, clock: ManualClock, failures: int) -> None:
    for n in range(failures):
        with pytest.raises(Unavailable):
            await ask(guard, Source(clock, Unavailable("down")), key=f"trip{n}")


async def test_open_answers_at_once_with_reason_and_time(clock: ManualClock) -> None:
    guard, source = make(clock, attempts=1, breaker_failures=3), Source(clock)
    await trip(guard, clock, 3)
    clock.advance(10)
    with pytest.raises(BreakerOpen, match="down") as caught:
        await ask(guard, source)
    assert caught.value.retry_after_s == pytest.approx(20)
    assert source.started == []
    snapshot = guard.snapshot()
    assert (snapshot.state, snapshot.last_error) == ("open", "down")
    assert snapshot.reopens_s == pytest.approx(20)
    assert (clock.now() - snapshot.since).total_seconds() == pytest.approx(10)


async def test_half_open_sends_exactly_one_probe_of_twenty(clock: ManualClock) -> None:
    guard, source = make(clock, attempts=1, breaker_failures=3, concurrency=20), Source(clock, None)
    await trip(guard, clock, 3)
    clock.advance(30)
    tasks = [begin(guard, source, key=str(n)) for n in range(20)]
    await settle()
    assert len(source.started) == 1
    assert sum(task.done() and isinstance(task.exception(), BreakerOpen) for task in tasks) == 19
    source.release.set()
    await settle()
    assert sum(task.exception() is None for task in tasks) == 1
    assert guard.snapshot().state == "closed"


async def test_a_failed_probe_opens_again_and_a_lost_one_is_replaced(clock: ManualClock) -> None:
    guard = make(clock, attempts=1, breaker_failures=2)
    await trip(guard, clock, 2)
    clock.advance(30)
    await trip(guard, clock, 1)
    assert guard.snapshot().state == "open"
    clock.advance(30)
    hanging = Source(clock, None)
    probe = begin(guard, hanging)
    await settle()
    assert hanging.running == 1
    probe.cancel()
    await settle()
    assert guard.snapshot().state == "half_open"
    await ask(guard, Source(clock))
    assert guard.snapshot().state == "closed"


async def test_only_consecutive_failures_count_and_a_clear_answer_is_none(clock: ManualClock) -> None:
    guard = make(clock, attempts=1, breaker_failures=3)
    for error in (Rejected("rubbish"), NotFound("no"), Forbidden("key")) * 3:
        with pytest.raises(type(error)):
            await ask(guard, Source(clock, error))
    await trip(guard, clock, 2)
    await ask(guard, Source(clock), key="good")
    await trip(guard, clock, 2)
    assert guard.snapshot().state == "closed"


@pytest.mark.parametrize(
    ("calls", "within_s", "state"),
    [(3, 2.0, "open"), (6, 0.1, "closed")],
    ids=["hangs", "callers in a hurry"],
)
async def test_hangs_open_the_breaker_though_callers_leave_first_and_callers_in_a_hurry_do_not(
    clock: ManualClock, calls: int, within_s: float, state: str
) -> None:
    guard = make(clock, attempts=1, breaker_failures=3)
    for n in range(calls):
        task = begin(guard, Source(clock, None), key=str(n), within_s=within_s, attempt_timeout_s=2)
        await settle()
        clock.advance(within_s)
        with pytest.raises(TimedOut):
            await finish(task)
    await settle()
    assert guard.snapshot().state == state


async def test_those_in_the_queue_are_sent_away_when_the_breaker_opens(clock: ManualClock) -> None:
    guard, source = make(clock, attempts=1, breaker_failures=1, concurrency=1), Source(clock)

    async def fails(_: float) -> object:
        await source.release.wait()
        raise Unavailable("down")

    first, second = begin(guard, fails, key="a"), begin(guard, source, key="b")
    await settle()
    source.release.set()
    await settle()
    with pytest.raises(BreakerOpen):
        await finish(second)
    assert isinstance(first.exception(), Unavailable)
    assert source.started == []


async def test_a_stale_value_bridges_an_open_breaker(clock: ManualClock) -> None:
    guard = make(clock, attempts=1, breaker_failures=2)
    await ask(guard, Source(clock, "old"))
    clock.advance(40)
    await trip(guard, clock, 2)
    got = await ask(guard, Source(clock))
    assert (got.value, got.stale) == ("old", True)


def test_wrong_limits_are_refused(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="window"):
        Window(0, 1.0)
    with pytest.raises(ValueError, match="start at 1"):
        make(clock, concurrency=0)
