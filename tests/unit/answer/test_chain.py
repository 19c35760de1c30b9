"""Who is asked, for how long, and who is left alone: the chain of engines under a clock that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from node.answer import chain
from node.core.errors import BrokeOff, NodeError, RateLimited, Rejected, TimedOut, Unavailable
from node.core.model import Check, Draft, Json
from node.core.ports import Generator, OnText, Prompt
from node.models.deadline import within
from node.models.generators.queue import RETRY_UNKNOWN_S
from tests.manual_clock import ManualClock

T = TypeVar("T")
PROMPT = Prompt("", "Why?")
HANGS = -1.0


class Scripted:
    """An engine whose next answers are a script: seconds to take, then a text or an error. The last line of
    the script is repeated."""

    def __init__(self, *script: tuple[float, str | NodeError], name: str = "one", slots: int = 1) -> None:
        self.clock = ManualClock()
        self.script = list(script)
        self.name = name
        self.timeouts: list[float] = []
        self.running = self.running_max = self.closed = 0
        self.alive: Check = Check(name, "pass", "lives")
        self.slots = slots

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        self.timeouts.append(timeout_s)
        takes_s, said = self.script[0] if len(self.script) == 1 else self.script.pop(0)
        self.running += 1
        self.running_max = max(self.running_max, self.running)
        try:
            work = asyncio.Event().wait() if takes_s == HANGS else self.clock.sleep(takes_s)
            await within(self.clock, timeout_s, work, f"{self.name} did not answer in time")
        finally:
            self.running -= 1
        if isinstance(said, NodeError):
            raise said
        return Draft(said, self.name, "m")

    async def probe(self) -> Check:
        return self.alive

    async def close(self) -> None:
        self.closed += 1

    def comes_back(self) -> None:
        self.script = [(0.0, "I am back.")]


def up(name: str = "one") -> Scripted:
    return Scripted((0.0, f"{name} says so."), name=name)


def hung(name: str = "one") -> Scripted:
    return Scripted((HANGS, ""), name=name)


def dead(name: str = "one") -> Scripted:
    return Scripted((0.0, Unavailable(f"{name} is not reachable")), name=name)


def slow(takes_s: float, name: str = "a", slots: int = 1) -> Scripted:
    return Scripted((takes_s, "Slowly."), name=name, slots=slots)


async def settle() -> None:
    """Let everybody go on who can."""
    for _ in range(100):
        await asyncio.sleep(0)


async def drive(clock: ManualClock, *work: Awaitable[T], step_s: float = 0.5) -> list[T]:
    """The results, with time moved on whenever nobody can go on."""
    task = asyncio.gather(*work)
    for _ in range(2_000):
        await settle()
        if task.done():
            break
        clock.advance(step_s)
    assert task.done()
    return await task


class Line:
    """A chain of engines under one clock, and those who ask it."""

    def __init__(self, *engines: Generator, timeout_s: float | None = 45, queue_max: int = 8) -> None:
        self.clock = ManualClock()
        self.began = self.clock.monotonic()
        for engine in engines:
            if isinstance(engine, Scripted):
                engine.clock = self.clock
        self.chain = chain.Chain(engines, self.clock, queue_max=queue_max, timeout_s=timeout_s)

    @property
    def first(self) -> chain.Engine:
        return self.chain.engines[0]

    def passed(self) -> float:
        return self.clock.monotonic() - self.began

    async def put(
        self, left_s: float = 60.0, read: Callable[[Draft], str] = lambda draft: draft.text, **more: Any
    ) -> chain.Result[str]:
        return await self.chain.first(PROMPT, read, deadline=self.clock.monotonic() + left_s, **more)

    async def ask(self, left_s: float = 60.0, **more: Any) -> chain.Result[str]:
        """One question, alone."""
        [result] = await drive(self.clock, self.put(left_s, **more))
        return result

    async def crowd(self, *left_s: float) -> list[chain.Result[str]]:
        """Questions that come at once, each with so much time."""
        return await drive(self.clock, *(self.put(one) for one in left_s))

    async def status(self) -> str:
        return (await self.first.probe()).status


def trace(result: chain.Result[str]) -> list[str]:
    return [f"{step.outcome} {step.reason}" for step in result.steps]


def outcomes(result: chain.Result[str]) -> list[str]:
    return [step.outcome for step in result.steps]


def values(results: Sequence[chain.Result[str]]) -> list[str | None]:
    return [result.value for result in results]


# --- time -----------------------------------------------------------------------------------------


async def test_a_hanging_first_engine_leaves_time_for_all_behind_it() -> None:
    engines = [hung("a"), hung("b"), up("c")]
    line = Line(*engines)
    result = await line.ask()
    assert result.value == "c says so."
    assert engines[0].timeouts == [pytest.approx(60 - chain.FALLBACK_RESERVE_S - 2 * chain.NEXT_RESERVE_S)]
    assert engines[1].timeouts[0] == pytest.approx(chain.NEXT_RESERVE_S, abs=1.0)
    assert engines[2].timeouts[0] == pytest.approx(chain.NEXT_RESERVE_S, abs=1.0)
    assert line.passed() < 60 - chain.FALLBACK_RESERVE_S
    assert outcomes(result) == ["timeout", "timeout"]


@pytest.mark.parametrize(
    ("left_s", "timeout_s", "engines", "first_s"),
    [(60, 45, 1, 45), (60, 45, 2, 45), (60, 45, 3, 39), (60, None, 1, 59), (3, 45, 2, 1.0), (3, 45, 3, 2 / 3),
     (1.6, 45, 3, 0.6), (4, 1, 3, 1)],
)  # fmt: skip
async def test_shares(left_s: float, timeout_s: float | None, engines: int, first_s: float) -> None:
    made = [up(str(number)) for number in range(engines)]
    assert (await Line(*made, timeout_s=timeout_s).ask(left_s)).value
    assert made[0].timeouts == [pytest.approx(first_s)]


@pytest.mark.parametrize("left_s", [0.0, 1.0, 1.4, -5.0])
async def test_without_time_nobody_is_asked(left_s: float) -> None:
    engine = up()
    result = await Line(engine).ask(left_s)
    assert (result.value, engine.timeouts) == (None, [])
    assert trace(result) == ["skipped one: no time left before the deadline"]
    assert result.failures == ("no time was left for a language model",)


async def test_all_engines_hanging_ends_before_the_deadline() -> None:
    line = Line(hung("a"), hung("b"), hung("c"))
    result = await line.ask()
    assert (result.value, outcomes(result)) == (None, ["timeout"] * 3)
    assert line.passed() <= 60.0


async def test_a_driver_that_forgets_its_timeout_is_ended_too() -> None:
    class Forgetful(Scripted):
        async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
            await asyncio.Event().wait()
            raise AssertionError

    line = Line(Forgetful((0, "")), up("b"))
    assert (await line.ask()).value == "b says so."
    assert line.passed() < 50


# --- failing over ---------------------------------------------------------------------------------


async def test_the_reason_of_each_engine_is_kept() -> None:
    missing = "a package is missing; type: make model"
    result = await Line(dead("a"), chain.NoGenerator("b", missing), up("c")).ask()
    assert result.value == "c says so."
    assert trace(result) == ["unavailable a: a is not reachable", f"unavailable b: {missing}"]
    assert result.failures == ("a is not reachable", missing)


async def test_a_rejected_answer_is_not_its_engines_failure() -> None:
    first = up("a")
    line = Line(first, up("b"))

    def picky(draft: Draft) -> str:
        if draft.engine == "a":
            raise Rejected("it was no answer")
        return draft.text

    for _ in range(3):
        result = await line.ask(read=picky)
        assert result.value == "b says so."
        assert trace(result) == ["rejected a: it was no answer"]
    assert len(first.timeouts) == 3
    assert line.first.is_up
    first.script = [(0.0, Rejected("it was empty"))]
    await line.ask()
    assert line.first.is_up


# --- left alone after failing ---------------------------------------------------------------------


async def test_a_failed_engine_is_skipped_with_its_reason_and_tried_again() -> None:
    first = dead("a")
    line = Line(first, up("b"))
    for asked, pause_s in enumerate((1, 2, 4, 5, 5), start=1):
        assert trace(await line.ask()) == ["unavailable a: a is not reachable"]
        assert len(first.timeouts) == asked
        line.clock.advance(pause_s - 0.75)
        result = await line.ask()
        assert result.value == "b says so."
        assert trace(result) == [f"skipped a: failed {pause_s - 0.75:.0f} s ago: a is not reachable"]
        assert len(first.timeouts) == asked
        line.clock.advance(0.75)
    first.script = [(0.0, "a says so.")]
    assert (await line.ask()).value == "a says so."
    assert line.first.is_up
    first.script = [(0.0, Unavailable("gone"))]
    await line.ask()
    line.clock.advance(1.0)  # the pauses begin anew
    await line.ask()
    assert len(first.timeouts) == 8


async def test_what_failed_in_an_instant_is_asked_again_when_no_other_is_left() -> None:
    alone = dead()
    line = Line(alone, chain.NoGenerator("two", "it is missing"))
    for _ in range(3):
        assert trace(await line.ask())[0] == "unavailable one: one is not reachable"
    alone.comes_back()
    assert (await line.ask()).value == "I am back."


async def test_what_hung_twice_costs_nobody_its_time_again_until_the_pause_is_over() -> None:
    alone = hung()
    line = Line(alone)
    for _ in range(2):
        assert trace(await line.ask()) == ["timeout one: one did not answer in time"]
    passed = line.passed()
    result = await line.ask()
    assert line.passed() == passed
    assert trace(result) == ["busy one: failed 0 s ago: one did not answer in time"]
    assert result.retry_after_s == chain.SOON_S
    assert result.failures == ("one did not answer in time",)
    line.clock.advance(2.0)
    alone.comes_back()
    assert (await line.ask()).value == "I am back."


async def test_questions_wait_for_the_trial_of_what_was_too_slow_once() -> None:
    alone = Scripted((HANGS, ""), (3.0, "Now."), (0.0, "And now."))
    line = Line(alone)
    await line.ask()
    assert sorted(values(await line.crowd(60, 60, 60))) == ["And now.", "And now.", "Now."]
    assert alone.running_max == 1
    assert line.first.is_up


async def test_who_waited_for_a_trial_that_failed_is_told_to_come_again() -> None:
    line = Line(hung())
    await line.ask()
    outcomes_of = sorted(outcomes(one)[-1] for one in await line.crowd(60, 80, 80))
    assert outcomes_of == ["busy", "busy", "timeout"]


async def test_who_has_no_time_for_the_pause_is_refused_at_once() -> None:
    line = Line(hung())
    await line.ask()
    passed = line.passed()
    assert outcomes(await line.ask(chain.FALLBACK_RESERVE_S + 1.0)) == ["busy"]
    assert line.passed() == passed


async def test_one_trial_at_a_time() -> None:
    first = hung("a")
    line = Line(first, up("b"))
    await line.ask()
    line.clock.advance(chain.PAUSE_MAX_S)
    results = await line.crowd(*[60] * 9)
    assert values(results) == ["b says so."] * 9
    assert len(first.timeouts) == 2
    said = [result.steps[0].reason for result in results if result.steps[0].outcome == "busy"]
    assert len(said) == 8
    assert all("another question is trying it" in reason for reason in said)


async def test_a_trial_that_is_cancelled_leaves_the_next_one_free() -> None:
    first = hung("a")
    line = Line(first)
    await line.ask()
    line.clock.advance(chain.PAUSE_MAX_S)
    trial = asyncio.create_task(line.put())
    await settle()
    assert first.running == 1
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert first.running == 0
    first.comes_back()
    assert (await line.ask()).value == "I am back."


@pytest.mark.parametrize(("asked_s", "waits_s"), [(30.0, 30.0), (0.0, 1.0), (1e9, chain.LEAVE_ALONE_MAX_S)])
async def test_an_engine_that_asks_for_a_wait_is_left_alone_by_everybody(
    asked_s: float, waits_s: float
) -> None:
    line = Line(Scripted((0.0, RateLimited("slow down", retry_after_s=asked_s)), (0.0, "Now.")))
    assert trace(await line.ask()) == ["rate_limited one: slow down"]
    line.clock.advance(waits_s - 0.1)
    assert outcomes(await line.ask()) == ["skipped"]
    assert await line.status() == "warn"
    line.clock.advance(0.2)
    assert (await line.ask()).value == "Now."
    assert await line.status() == "pass"


# --- many at once ---------------------------------------------------------------------------------


async def test_one_generation_at_a_time_and_a_bounded_number_waiting() -> None:
    engine = slow(2.0)
    line = Line(engine, queue_max=3)
    results = await line.crowd(*[60] * 50)
    assert engine.running_max == 1
    assert values(results).count("Slowly.") == 4
    busy = [result for result in results if result.value is None]
    assert all(trace(result) == ["busy a: a is busy and 3 questions wait already"] for result in busy)
    assert {(result.steps[0].ms, result.retry_after_s) for result in busy} == {(0, RETRY_UNKNOWN_S)}
    assert line.first.is_up


async def test_twenty_at_once_are_served_in_order_and_nobody_is_turned_away_before_his_deadline() -> None:
    engine = slow(5.0)
    line = Line(engine, queue_max=64)
    await line.ask()
    await line.ask()
    began = line.passed()
    ended: list[tuple[int, float]] = []

    async def asker(number: int) -> chain.Result[str]:
        result = await line.put()
        ended.append((number, line.passed() - began))
        return result

    results = await drive(line.clock, *(asker(number) for number in range(20)))
    served = [number for number, result in enumerate(results) if result.value is not None]
    assert served == list(range(11)), "as many as fit into the time, first come first served"
    assert [number for number, _ in ended[:11]] == served
    assert all(seconds >= 60 - chain.FALLBACK_RESERVE_S for _, seconds in ended[11:])
    assert outcomes(results[11])[-1] == "timeout", "it had the turn, and too little time"
    for number in range(12, 20):
        assert outcomes(results[number])[-1] == "busy"
        assert results[number].retry_after_s in (1, 2, 3, 4, 5), "nobody is left in the queue by then"
    assert engine.running_max == 1


@pytest.mark.parametrize(
    ("pause_s", "served"),
    [
        (0.0, ["first", "first", "b", "c", "d"]),  # and the queue was full when e came
        (1.0, ["first", "b", "first", "c", "d", "e"]),  # b took the turn that was free meanwhile
    ],
)
async def test_an_asker_of_two_generations_is_not_overtaken_by_those_who_came_later(
    pause_s: float, served: list[str]
) -> None:
    engine = slow(5.0)
    line = Line(engine, queue_max=3)
    order: list[str] = []

    async def asker(name: str, comes_s: float, generations: int = 1) -> None:
        await line.clock.sleep(comes_s)
        deadline = line.clock.monotonic() + 60
        for left in reversed(range(generations)):
            result = await line.put(deadline - line.clock.monotonic())
            if result.value is not None:
                order.append(name)
            if left and pause_s:
                await line.clock.sleep(pause_s)

    later = (asker(name, comes_s) for name, comes_s in (("b", 1), ("c", 2), ("d", 3), ("e", 5.5)))
    await drive(line.clock, asker("first", 0.0, 2), *later)
    assert order == served
    assert engine.running_max == 1


async def test_who_came_first_is_told_the_wait_of_those_before_him_only() -> None:
    line = Line(slow(4.0))
    await line.ask()
    results = await line.crowd(60, 60, 60, 30)
    assert trace(results[-1]) == ["waited a: 0 questions waited before it, expected wait 4 s"]


async def test_the_wait_is_told_when_it_begins_and_in_the_trace() -> None:
    line = Line(slow(4.0), queue_max=64)
    await line.ask()
    told: list[tuple[str, Mapping[str, Json]]] = []
    results = await drive(line.clock, *(line.put(tell=lambda *event: told.append(event)) for _ in range(3)))
    assert told == [
        ("wait", {"engine": "a", "ahead": 0, "wait_s": 4.0}),
        ("wait", {"engine": "a", "ahead": 1, "wait_s": 8.0}),
    ]
    assert trace(results[2]) == ["waited a: 1 questions waited before it, expected wait 8 s"]
    assert results[2].steps[0].ms == 8_000


async def test_as_many_at_once_as_the_engine_has_slots() -> None:
    engine = slow(5.0, slots=3)
    line = Line(engine)
    assert values(await line.crowd(*[60] * 9)) == ["Slowly."] * 9
    assert engine.running_max == 3
    assert line.passed() == pytest.approx(15, abs=1)


async def test_who_has_no_time_left_for_an_answer_lets_those_behind_go_first() -> None:
    """Else everybody in a crowd would be cut short in turn."""
    engine = slow(10.0)
    line = Line(engine)
    for _ in range(2):
        await line.ask()
    assert values(await line.crowd(60, 13, 40)) == ["Slowly.", None, "Slowly."]
    assert len(engine.timeouts) == 4


async def test_a_full_queue_fails_over_at_once() -> None:
    results = await Line(slow(2.0), up("b"), queue_max=2).crowd(*[60] * 9)
    assert values(results) == ["Slowly."] * 3 + ["b says so."] * 3 + [None] * 3
    assert all(result.ms == 0 for result in results[3:])


async def test_where_the_turn_would_come_too_late_a_free_engine_is_asked_first() -> None:
    line = Line(slow(20.0), up("b"))
    for _ in range(2):
        await line.ask()
    results = await line.crowd(*[60] * 6)
    assert values(results) == ["Slowly."] * 2 + ["b says so."] * 4
    assert "its turn would come in 40 s; another engine is free" in results[-1].steps[0].reason
    assert results[-1].ms == 0
    assert line.first.is_up


async def test_who_was_sent_to_another_engine_that_fails_still_waits_for_the_first() -> None:
    line = Line(slow(20.0), dead("b"))
    for _ in range(2):
        await line.ask()
    assert outcomes((await line.crowd(60, 60, 60))[2]) == ["put_off", "unavailable", "waited", "timeout"]


async def test_an_engine_that_breaks_off_is_asked_once_more_in_the_same_request() -> None:
    engine = Scripted((3.0, BrokeOff("it was killed")), (1.0, "Again."))
    told: list[str] = []
    assert (await Line(engine).ask(tell=lambda event, _: told.append(event))).value == "Again."
    assert engine.timeouts == [45, 42]
    assert told == ["reset"], "what was heard of the first is void"
    engine.script = [(3.0, BrokeOff("it was killed"))]
    assert trace(await Line(engine).ask()) == ["unavailable one: it was killed"]
    assert len(engine.timeouts) == 4, "once and no more"


async def test_a_question_that_waited_too_long_is_not_its_engines_failure() -> None:
    engine = slow(20.0)
    line = Line(engine)
    results = await line.crowd(60, 60, 60)
    assert values(results) == ["Slowly.", "Slowly.", None]
    assert outcomes(results[-1]) == ["waited", "timeout"]
    assert engine.timeouts[2] == 19, "nobody else wants the turn"
    assert line.first.is_up
    fresh = Scripted((40.0, "Slowly."), (HANGS, ""), name="a")
    line = Line(fresh)
    assert values(await line.crowd(60, 60)) == ["Slowly.", None]
    assert len(fresh.timeouts) == 2
    assert line.first.is_up, "five seconds of forty-five say nothing about it"


async def test_a_hang_is_waited_out_once_not_once_for_each_that_waits() -> None:
    engine = hung()
    line = Line(engine)
    results = await line.crowd(*[60] * 20)
    assert len(engine.timeouts) == 1
    assert line.passed() < 50
    assert {one for result in results for one in outcomes(result)} == {"busy", "timeout", "waited"}


async def test_waiting_for_the_turn_is_bounded_by_the_question_not_by_the_queue() -> None:
    line = Line(slow(9.0))
    first, second = await line.crowd(60, 5)
    assert (first.value, second.value) == ("Slowly.", None)
    assert outcomes(second) == ["waited", "busy"]
    assert second.steps[1].ms <= 5_000
    assert second.retry_after_s == RETRY_UNKNOWN_S
    assert line.first.is_up


async def test_cancelling_one_leaves_its_turn_to_the_next() -> None:
    engine = Scripted((HANGS, ""), (0.0, "Next."))
    line = Line(engine)
    first = asyncio.create_task(line.put())
    await settle()
    second = asyncio.create_task(line.put())
    await settle()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await second).value == "Next."
    assert engine.running_max == 1


# --- health ---------------------------------------------------------------------------------------


async def test_health_knows_a_failure_that_the_engine_does_not_know_of_and_forgets_it() -> None:
    engine = Scripted((0.0, Unavailable("out of memory")))
    line = Line(engine)
    assert await line.status() == "pass"
    await line.ask()
    check = await line.first.probe()
    assert (check.status, check.since) == ("warn", line.clock.now())
    assert "failed 0 s ago: out of memory" in check.output
    line.clock.advance(chain.PAUSE_MAX_S)
    assert await line.status() == "pass"
    await line.ask()
    engine.comes_back()
    await line.ask()
    assert await line.status() == "pass"


async def test_an_engine_that_was_seen_dead_and_is_alive_is_asked_at_once() -> None:
    first = hung("a")
    line = Line(first)
    await line.ask()
    first.alive = Check("a", "warn", "not there")
    assert await line.status() == "warn"
    first.alive = Check("a", "pass")
    first.comes_back()
    assert await line.status() == "pass"
    assert (await line.ask()).value == "I am back."


async def test_one_that_is_missing_says_what_to_type() -> None:
    engine = Line(chain.NoGenerator("llama_cpp", "a package is missing; type: make model")).first
    check = await engine.probe()
    assert (check.name, check.status) == ("llama_cpp", "warn")
    assert "type: make model" in check.output
    assert not engine.is_up
    with pytest.raises(Unavailable, match="make model"):
        await engine.generate(PROMPT, timeout_s=1)
    await engine.close()


async def test_an_engine_is_a_generator() -> None:
    inner = up()
    line = Line(inner)
    engine: Generator = line.first
    assert (await engine.generate(PROMPT, timeout_s=1)).text == "one says so."
    inner.script = [(HANGS, "")]
    with pytest.raises(TimedOut):
        await drive(line.clock, engine.generate(PROMPT, timeout_s=1))
    await engine.close()
    assert inner.closed == 1
