"""Who is asked, for how long, and who is left alone: the chain of engines under a clock that tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import TypeVar

import pytest

from node.answer.chain import (
    FALLBACK_RESERVE_S,
    LEAVE_ALONE_MAX_S,
    NEXT_RESERVE_S,
    PAUSE_MAX_S,
    Chain,
    NoGenerator,
    Result,
)
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

    def __init__(self, clock: ManualClock, *script: tuple[float, str | NodeError], name: str = "one") -> None:
        self._clock = clock
        self.script = list(script)
        self.name = name
        self.timeouts: list[float] = []
        self.running = self.running_max = self.closed = 0
        self.alive: Check = Check(name, "pass", "lives")
        self.slots = 1

    async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
        self.timeouts.append(timeout_s)
        takes_s, said = self.script[0] if len(self.script) == 1 else self.script.pop(0)
        self.running += 1
        self.running_max = max(self.running_max, self.running)
        try:
            work = asyncio.Event().wait() if takes_s == HANGS else self._clock.sleep(takes_s)
            await within(self._clock, timeout_s, work, f"{self.name} did not answer in time")
        finally:
            self.running -= 1
        if isinstance(said, NodeError):
            raise said
        return Draft(said, self.name, "m")

    async def probe(self) -> Check:
        return self.alive

    async def close(self) -> None:
        self.closed += 1


def up(clock: ManualClock, name: str = "one") -> Scripted:
    return Scripted(clock, (0.0, f"{name} says so."), name=name)


def hung(clock: ManualClock, name: str = "one") -> Scripted:
    return Scripted(clock, (HANGS, ""), name=name)


def dead(clock: ManualClock, name: str = "one") -> Scripted:
    return Scripted(clock, (0.0, Unavailable(f"{name} is not reachable")), name=name)


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


def chain(clock: ManualClock, *engines: Generator, timeout_s: float | None = 45, queue_max: int = 8) -> Chain:
    return Chain(engines, clock, queue_max=queue_max, timeout_s=timeout_s)


async def ask(clock: ManualClock, one: Chain, *, left_s: float = 60.0) -> Result[str]:
    """One question, alone."""
    [result] = await drive(clock, put(clock, one, left_s=left_s))
    return result


async def put(clock: ManualClock, one: Chain, *, left_s: float = 60.0) -> Result[str]:
    return await one.first(PROMPT, lambda draft: draft.text, deadline=clock.monotonic() + left_s)


def trace(result: Result[str]) -> list[str]:
    return [f"{step.outcome} {step.reason}" for step in result.steps]


# --- time -----------------------------------------------------------------------------------------


async def test_a_hanging_first_engine_leaves_time_for_all_behind_it() -> None:
    clock = ManualClock()
    engines = [hung(clock, "a"), hung(clock, "b"), up(clock, "c")]
    began = clock.monotonic()
    result = await ask(clock, chain(clock, *engines))
    assert result.value == "c says so."
    assert engines[0].timeouts == [pytest.approx(60 - FALLBACK_RESERVE_S - 2 * NEXT_RESERVE_S)]
    assert engines[1].timeouts[0] == pytest.approx(NEXT_RESERVE_S, abs=1.0)
    assert engines[2].timeouts[0] == pytest.approx(NEXT_RESERVE_S, abs=1.0)
    assert clock.monotonic() - began < 60 - FALLBACK_RESERVE_S
    assert [line.split()[0] for line in trace(result)] == ["timeout", "timeout"]


@pytest.mark.parametrize(
    ("left_s", "timeout_s", "engines", "first_s"),
    [(60, 45, 1, 45), (60, 45, 2, 45), (60, 45, 3, 39), (60, None, 1, 59), (3, 45, 2, 1.0), (3, 45, 3, 2 / 3),
     (1.6, 45, 3, 0.6), (4, 1, 3, 1)],
)  # fmt: skip
async def test_shares(left_s: float, timeout_s: float | None, engines: int, first_s: float) -> None:
    clock = ManualClock()
    made = [up(clock, str(number)) for number in range(engines)]
    assert (await ask(clock, chain(clock, *made, timeout_s=timeout_s), left_s=left_s)).value
    assert made[0].timeouts == [pytest.approx(first_s)]


@pytest.mark.parametrize("left_s", [0.0, 1.0, 1.4, -5.0])
async def test_without_time_nobody_is_asked(left_s: float) -> None:
    clock = ManualClock()
    engine = up(clock)
    result = await ask(clock, chain(clock, engine), left_s=left_s)
    assert result.value is None
    assert engine.timeouts == []
    assert trace(result) == ["skipped one: no time left before the deadline"]
    assert result.failures == ("no time was left for a language model",)


async def test_all_engines_hanging_ends_before_the_deadline() -> None:
    clock = ManualClock()
    began = clock.monotonic()
    result = await ask(clock, chain(clock, hung(clock, "a"), hung(clock, "b"), hung(clock, "c")))
    assert result.value is None
    assert clock.monotonic() - began <= 60.0
    assert [step.outcome for step in result.steps] == ["timeout"] * 3


async def test_a_driver_that_forgets_its_timeout_is_ended_too() -> None:
    class Forgetful(Scripted):
        async def generate(self, prompt: Prompt, *, timeout_s: float, on_text: OnText | None = None) -> Draft:
            await asyncio.Event().wait()
            raise AssertionError

    clock = ManualClock()
    began = clock.monotonic()
    result = await ask(clock, chain(clock, Forgetful(clock, (0, "")), up(clock, "b")))
    assert result.value == "b says so."
    assert clock.monotonic() - began < 50


# --- failing over ---------------------------------------------------------------------------------


async def test_the_reason_of_each_engine_is_kept() -> None:
    clock = ManualClock()
    engines = (dead(clock, "a"), NoGenerator("b", "a package is missing; type: make model"), up(clock, "c"))
    result = await ask(clock, chain(clock, *engines))
    assert result.value == "c says so."
    assert trace(result) == [
        "unavailable a: a is not reachable",
        "unavailable b: a package is missing; type: make model",
    ]
    assert result.failures == ("a is not reachable", "a package is missing; type: make model")


async def test_a_rejected_answer_is_not_its_engines_failure() -> None:
    clock = ManualClock()
    first = up(clock, "a")
    one = chain(clock, first, up(clock, "b"))

    def picky(draft: Draft) -> str:
        if draft.engine == "a":
            raise Rejected("it was no answer")
        return draft.text

    for _ in range(3):
        [result] = await drive(clock, one.first(PROMPT, picky, deadline=clock.monotonic() + 60))
        assert result.value == "b says so."
        assert trace(result) == ["rejected a: it was no answer"]
    assert len(first.timeouts) == 3
    assert one.engines[0].is_up
    first.script = [(0.0, Rejected("it was empty"))]
    await ask(clock, one)
    assert one.engines[0].is_up


# --- left alone after failing ---------------------------------------------------------------------


async def test_a_failed_engine_is_skipped_with_its_reason_and_tried_again() -> None:
    clock = ManualClock()
    first = dead(clock, "a")
    one = chain(clock, first, up(clock, "b"))
    for asked, pause_s in enumerate((1, 2, 4, 5, 5), start=1):
        assert trace(await ask(clock, one)) == ["unavailable a: a is not reachable"]
        assert len(first.timeouts) == asked
        clock.advance(pause_s - 0.75)
        result = await ask(clock, one)
        assert result.value == "b says so."
        assert trace(result) == [f"skipped a: failed {pause_s - 0.75:.0f} s ago: a is not reachable"]
        assert len(first.timeouts) == asked
        clock.advance(0.75)
    first.script = [(0.0, "a says so.")]
    assert (await ask(clock, one)).value == "a says so."
    assert one.engines[0].is_up
    first.script = [(0.0, Unavailable("gone"))]
    await ask(clock, one)
    clock.advance(1.0)  # the pauses begin anew
    await ask(clock, one)
    assert len(first.timeouts) == 8


async def test_what_failed_in_an_instant_is_asked_again_when_no_other_is_left() -> None:
    clock = ManualClock()
    alone = dead(clock)
    one = chain(clock, alone, NoGenerator("two", "it is missing"))
    for _ in range(3):
        assert trace(await ask(clock, one))[0] == "unavailable one: one is not reachable"
    alone.script = [(0.0, "I am back.")]
    assert (await ask(clock, one)).value == "I am back."


async def test_what_hung_costs_nobody_its_time_again_until_the_pause_is_over() -> None:
    clock = ManualClock()
    alone = hung(clock)
    one = chain(clock, alone)
    assert trace(await ask(clock, one)) == ["timeout one: one did not answer in time"]
    began = clock.monotonic()
    result = await ask(clock, one)
    assert clock.monotonic() == began
    assert trace(result) == ["skipped one: failed 0 s ago: one did not answer in time"]
    assert result.failures == ("one did not answer in time",)
    clock.advance(1.0)
    alone.script = [(0.0, "I am back.")]
    assert (await ask(clock, one)).value == "I am back."


async def test_one_trial_at_a_time() -> None:
    clock = ManualClock()
    first = hung(clock, "a")
    one = chain(clock, first, up(clock, "b"))
    await ask(clock, one)
    clock.advance(PAUSE_MAX_S)
    results = await drive(clock, *(put(clock, one) for _ in range(9)))
    assert [result.value for result in results] == ["b says so."] * 9
    assert len(first.timeouts) == 2
    said = [result.steps[0].reason for result in results if result.steps[0].outcome == "skipped"]
    assert len(said) == 8
    assert all("another question is trying it" in reason for reason in said)


async def test_a_trial_that_is_cancelled_leaves_the_next_one_free() -> None:
    clock = ManualClock()
    first = hung(clock, "a")
    one = chain(clock, first)
    await ask(clock, one)
    clock.advance(PAUSE_MAX_S)
    trial = asyncio.create_task(put(clock, one))
    await settle()
    assert first.running == 1
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert first.running == 0
    first.script = [(0.0, "I am back.")]
    assert (await ask(clock, one)).value == "I am back."


@pytest.mark.parametrize(("asked_s", "waits_s"), [(30.0, 30.0), (0.0, 1.0), (1e9, LEAVE_ALONE_MAX_S)])
async def test_an_engine_that_asks_for_a_wait_is_left_alone_by_everybody(
    asked_s: float, waits_s: float
) -> None:
    clock = ManualClock()
    alone = Scripted(clock, (0.0, RateLimited("slow down", retry_after_s=asked_s)), (0.0, "Now."))
    one = chain(clock, alone)
    assert trace(await ask(clock, one)) == ["rate_limited one: slow down"]
    clock.advance(waits_s - 0.1)
    assert [step.outcome for step in (await ask(clock, one)).steps] == ["skipped"]
    assert (await one.engines[0].probe()).status == "warn"
    clock.advance(0.2)
    assert (await ask(clock, one)).value == "Now."
    assert (await one.engines[0].probe()).status == "pass"


# --- many at once ---------------------------------------------------------------------------------


async def test_one_generation_at_a_time_and_a_bounded_number_waiting() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (2.0, "Slowly."), name="a")
    one = chain(clock, slow, queue_max=3)
    results = await drive(clock, *(put(clock, one) for _ in range(50)))
    assert slow.running_max == 1
    assert [result.value for result in results].count("Slowly.") == 4
    busy = [result for result in results if result.value is None]
    assert all(trace(result) == ["busy a: a is busy and 3 questions wait already"] for result in busy)
    assert all(result.steps[0].ms == 0 for result in busy)
    assert all(result.retry_after_s == RETRY_UNKNOWN_S for result in busy)
    assert one.engines[0].is_up


async def test_twenty_at_once_are_served_in_order_and_nobody_is_turned_away_before_his_deadline() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (5.0, "Slowly."), name="a")
    one = chain(clock, slow, queue_max=64)
    await ask(clock, one)
    await ask(clock, one)
    began = clock.monotonic()
    ended: list[tuple[int, float]] = []

    async def asker(number: int) -> Result[str]:
        result = await put(clock, one)
        ended.append((number, clock.monotonic() - began))
        return result

    results = await drive(clock, *(asker(number) for number in range(20)))
    served = [number for number, result in enumerate(results) if result.value is not None]
    assert served == list(range(11)), "as many as fit into the time, first come first served"
    assert [number for number, _ in ended[:11]] == served
    assert all(seconds >= 60 - FALLBACK_RESERVE_S for _, seconds in ended[11:])
    assert results[11].steps[-1].outcome == "timeout", "it had the turn, and too little time"
    for number in range(12, 20):
        assert results[number].steps[-1].outcome == "busy"
        assert results[number].retry_after_s in (1, 2, 3, 4, 5), "nobody is left in the queue by then"
    assert slow.running_max == 1


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
    clock = ManualClock()
    slow = Scripted(clock, (5.0, "Slowly."), name="a")
    one = chain(clock, slow, queue_max=3)
    order: list[str] = []

    async def asker(name: str, comes_s: float, generations: int = 1) -> None:
        await clock.sleep(comes_s)
        deadline = clock.monotonic() + 60
        for left in reversed(range(generations)):
            result = await one.first(PROMPT, lambda draft: draft.text, deadline=deadline)
            if result.value is not None:
                order.append(name)
            if left and pause_s:
                await clock.sleep(pause_s)

    later = (asker(name, comes_s) for name, comes_s in (("b", 1), ("c", 2), ("d", 3), ("e", 5.5)))
    await drive(clock, asker("first", 0.0, 2), *later)
    assert order == served
    assert slow.running_max == 1


async def test_who_came_first_is_told_the_wait_of_those_before_him_only() -> None:
    clock = ManualClock()
    one = chain(clock, Scripted(clock, (4.0, "Slowly."), name="a"))
    await ask(clock, one)
    early = clock.monotonic() + 30
    results = await drive(
        clock,
        *(put(clock, one) for _ in range(3)),
        one.first(PROMPT, lambda draft: draft.text, deadline=early),
    )
    assert trace(results[-1]) == ["waited a: 0 questions waited before it, expected wait 4 s"]


async def test_the_wait_is_told_when_it_begins_and_in_the_trace() -> None:
    clock = ManualClock()
    one = chain(clock, Scripted(clock, (4.0, "Slowly."), name="a"), queue_max=64)
    await ask(clock, one)
    told: list[tuple[str, Mapping[str, Json]]] = []

    def listen(event: str, facts: Mapping[str, Json]) -> None:
        told.append((event, facts))

    async def asker() -> Result[str]:
        deadline = clock.monotonic() + 60
        return await one.first(PROMPT, lambda draft: draft.text, deadline=deadline, tell=listen)

    results = await drive(clock, *(asker() for _ in range(3)))
    assert told == [
        ("wait", {"engine": "a", "ahead": 0, "wait_s": 4.0}),
        ("wait", {"engine": "a", "ahead": 1, "wait_s": 8.0}),
    ]
    assert trace(results[2]) == ["waited a: 1 questions waited before it, expected wait 8 s"]
    assert results[2].steps[0].ms == 8_000


async def test_as_many_at_once_as_the_engine_has_slots() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (5.0, "Slowly."), name="a")
    slow.slots = 3
    began = clock.monotonic()
    results = await drive(clock, *(put(clock, chain_) for chain_ in [chain(clock, slow)] * 9))
    assert [result.value for result in results] == ["Slowly."] * 9
    assert slow.running_max == 3
    assert clock.monotonic() - began == pytest.approx(15, abs=1)


async def test_who_has_no_time_left_for_an_answer_lets_those_behind_go_first() -> None:
    """Else everybody in a crowd would be cut short in turn."""
    clock = ManualClock()
    slow = Scripted(clock, (10.0, "Slowly."), name="a")
    one = chain(clock, slow)
    for _ in range(2):
        await ask(clock, one)
    results = await drive(clock, put(clock, one), put(clock, one, left_s=13), put(clock, one, left_s=40))
    assert [result.value for result in results] == ["Slowly.", None, "Slowly."]
    assert len(slow.timeouts) == 4


async def test_a_full_queue_fails_over_at_once() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (2.0, "Slowly."), name="a")
    one = chain(clock, slow, up(clock, "b"), queue_max=2)
    results = await drive(clock, *(put(clock, one) for _ in range(9)))
    assert [result.value for result in results] == ["Slowly."] * 3 + ["b says so."] * 3 + [None] * 3
    assert all(result.ms == 0 for result in results[3:])


async def test_where_the_turn_would_come_too_late_a_free_engine_is_asked_first() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (20.0, "Slowly."), name="a")
    one = chain(clock, slow, up(clock, "b"))
    for _ in range(2):
        await ask(clock, one)
    results = await drive(clock, *(put(clock, one) for _ in range(6)))
    assert [result.value for result in results] == ["Slowly."] * 2 + ["b says so."] * 4
    assert "its turn would come in 40 s; another engine is free" in results[-1].steps[0].reason
    assert results[-1].ms == 0
    assert one.engines[0].is_up


async def test_who_was_sent_to_another_engine_that_fails_still_waits_for_the_first() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (20.0, "Slowly."), name="a")
    one = chain(clock, slow, dead(clock, "b"))
    for _ in range(2):
        await ask(clock, one)
    results = await drive(clock, *(put(clock, one) for _ in range(3)))
    assert [step.outcome for step in results[2].steps] == ["put_off", "unavailable", "waited", "timeout"]


async def test_an_engine_that_breaks_off_is_asked_once_more_in_the_same_request() -> None:
    clock = ManualClock()
    engine = Scripted(clock, (3.0, BrokeOff("it was killed")), (1.0, "Again."))
    told: list[str] = []
    result = await drive(
        clock,
        chain(clock, engine).first(
            PROMPT,
            lambda draft: draft.text,
            deadline=clock.monotonic() + 60,
            tell=lambda event, _: told.append(event),
        ),
    )
    assert [one.value for one in result] == ["Again."]
    assert engine.timeouts == [45, 42]
    assert told == ["reset"], "what was heard of the first is void"
    engine.script = [(3.0, BrokeOff("it was killed"))]
    one = chain(clock, engine)
    assert trace(await ask(clock, one)) == ["unavailable one: it was killed"]
    assert len(engine.timeouts) == 4, "once and no more"


async def test_a_question_that_waited_too_long_is_not_its_engines_failure() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (20.0, "Slowly."), name="a")
    one = chain(clock, slow)
    results = await drive(clock, *(put(clock, one) for _ in range(3)))
    assert [result.value for result in results] == ["Slowly.", "Slowly.", None]
    assert [step.outcome for step in results[-1].steps] == ["waited", "timeout"]
    assert slow.timeouts[2] == 19, "nobody else wants the turn"
    assert one.engines[0].is_up
    fresh = Scripted(clock, (40.0, "Slowly."), (HANGS, ""), name="a")
    one = chain(clock, fresh)
    first, second = await drive(clock, put(clock, one), put(clock, one))
    assert (first.value, second.value) == ("Slowly.", None)
    assert len(fresh.timeouts) == 2
    assert one.engines[0].is_up, "five seconds of forty-five say nothing about it"


async def test_a_hang_is_waited_out_once_not_once_for_each_that_waits() -> None:
    clock = ManualClock()
    engine = hung(clock)
    one = chain(clock, engine)
    began = clock.monotonic()
    results = await drive(clock, *(put(clock, one) for _ in range(20)))
    assert len(engine.timeouts) == 1
    assert clock.monotonic() - began < 50
    outcomes = [step.outcome for result in results for step in result.steps]
    assert sorted(set(outcomes)) == ["busy", "skipped", "timeout", "waited"]


async def test_waiting_for_the_turn_is_bounded_by_the_question_not_by_the_queue() -> None:
    clock = ManualClock()
    slow = Scripted(clock, (9.0, "Slowly."), name="a")
    one = chain(clock, slow)
    first, second = await drive(clock, put(clock, one), put(clock, one, left_s=5.0))
    assert first.value == "Slowly."
    assert second.value is None
    assert [step.outcome for step in second.steps] == ["waited", "busy"]
    assert second.steps[1].ms <= 5_000
    assert second.retry_after_s == RETRY_UNKNOWN_S
    assert one.engines[0].is_up


async def test_cancelling_one_leaves_its_turn_to_the_next() -> None:
    clock = ManualClock()
    engine = Scripted(clock, (HANGS, ""), (0.0, "Next."))
    one = chain(clock, engine)
    first = asyncio.create_task(put(clock, one))
    await settle()
    second = asyncio.create_task(put(clock, one))
    await settle()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await second).value == "Next."
    assert engine.running_max == 1


# --- health ---------------------------------------------------------------------------------------


async def status(one: Chain) -> str:
    [engine] = one.engines
    return (await engine.probe()).status


async def test_health_knows_a_failure_that_the_engine_does_not_know_of_and_forgets_it() -> None:
    clock = ManualClock()
    engine = Scripted(clock, (0.0, Unavailable("out of memory")))
    one = chain(clock, engine)
    assert await status(one) == "pass"
    await ask(clock, one)
    check = await one.engines[0].probe()
    assert check.status == "warn"
    assert "failed 0 s ago: out of memory" in check.output
    assert check.since == clock.now()
    clock.advance(PAUSE_MAX_S)
    assert await status(one) == "pass"
    await ask(clock, one)
    engine.script = [(0.0, "Back.")]
    await ask(clock, one)
    assert await status(one) == "pass"


async def test_an_engine_that_was_seen_dead_and_is_alive_is_asked_at_once() -> None:
    clock = ManualClock()
    first = hung(clock, "a")
    one = chain(clock, first)
    await ask(clock, one)
    first.alive = Check("a", "warn", "not there")
    assert await status(one) == "warn"
    first.alive = Check("a", "pass")
    first.script = [(0.0, "I am back.")]
    assert await status(one) == "pass"
    assert (await ask(clock, one)).value == "I am back."


async def test_one_that_is_missing_says_what_to_type() -> None:
    [engine] = chain(
        ManualClock(), NoGenerator("llama_cpp", "a package is missing; type: make model")
    ).engines
    check = await engine.probe()
    assert (check.name, check.status) == ("llama_cpp", "warn")
    assert "type: make model" in check.output
    assert not engine.is_up
    with pytest.raises(Unavailable, match="make model"):
        await engine.generate(PROMPT, timeout_s=1)
    await engine.close()


async def test_an_engine_is_a_generator() -> None:
    clock = ManualClock()
    inner = up(clock)
    engines: Sequence[Generator] = chain(clock, inner).engines
    assert (await engines[0].generate(PROMPT, timeout_s=1)).text == "one says so."
    inner.script = [(HANGS, "")]
    with pytest.raises(TimedOut):
        await drive(clock, engines[0].generate(PROMPT, timeout_s=1))
    await engines[0].close()
    assert inner.closed == 1
