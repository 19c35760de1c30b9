"""Second samples: bounded, one at a time, for quiet moments only; and what the walk makes of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from node.core.model import Answer, Confidence
from node.pipeline.replies import Sample
from node.pipeline.second_sample import TRIES, SecondSamples
from node.pipeline.storing import Second
from tests.manual_clock import ManualClock
from tests.record_builders import START
from tests.unit.answer.test_rescore import entries
from tests.unit.cache.index.semantic_bench import until
from tests.unit.peers.sync.test_admit_poison import Node


class Patient(ManualClock):
    """Time passes when somebody waits."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Bench:
    def __init__(self, **more: Any) -> None:
        self.is_busy = False
        self.began: list[str] = []
        self.done: list[str] = []
        self.go = asyncio.Event()
        self.samples = SecondSamples(Patient(START), deadline_s=30, busy=lambda: self.is_busy, **more)

    def submit(self, key: str) -> bool:
        async def sample(deadline: float) -> None:
            self.began.append(key)
            await self.go.wait()
            self.done.append(key)

        return self.samples.submit(key, sample)


async def test_one_at_a_time_each_key_once_and_a_bounded_number() -> None:
    bench = Bench(queue_max=2)
    assert bench.submit("a")
    assert bench.submit("b")
    assert bench.submit("a"), "it waits already"
    assert not bench.submit("c"), "there is no room"
    await until(lambda: bench.began)
    assert bench.began == ["a"]
    bench.go.set()
    await until(lambda: not bench.samples.pending())
    assert bench.done == ["a", "b"]
    assert bench.submit("c")
    await bench.samples.close()
    assert not bench.submit("d")
    assert bench.samples.pending() == 0


async def test_it_waits_for_quiet_and_gives_way_to_whoever_comes() -> None:
    bench = Bench()
    bench.is_busy = True
    bench.submit("a")
    for _ in range(20):
        await asyncio.sleep(0)
    assert bench.began == []
    for attempt in range(1, TRIES + 1):
        bench.is_busy = False
        await until(lambda attempt=attempt: len(bench.began) == attempt)
        bench.is_busy = True
        await until(lambda attempt=attempt: attempt < TRIES or not bench.samples.pending())
        for _ in range(20):
            await asyncio.sleep(0)
    assert bench.done == []
    assert bench.samples.pending() == 0
    await bench.samples.close()


async def test_one_that_fails_ends_alone() -> None:
    bench = Bench()

    async def fails(deadline: float) -> None:
        raise RuntimeError("a fault")

    bench.samples.submit("a", fails)
    bench.go.set()
    bench.submit("b")
    await until(lambda: not bench.samples.pending())
    assert bench.done == ["b"]
    await bench.samples.close()


# --- in the walk ----------------------------------------------------------------------------------

Work = Callable[[float], Awaitable[None]]


class Walk(Node):
    """A node whose model says what ``says`` holds in turn; agreement alone decides."""

    def __init__(self, *says: str) -> None:
        self.queued: dict[Hashable, Work] = {}
        said = iter(says)
        super().__init__(
            lambda prompt: next(said),
            second=Second(self._submit, _agreement),
            confidence_min=0.95,
        )

    def _submit(self, key: Hashable, work: Work) -> bool:
        self.queued[key] = work
        return True

    async def sample(self) -> None:
        [(key, work)] = self.queued.items()
        del self.queued[key]
        await work(self.door.clock.monotonic() + 30)


def _agreement(first: Sample, second: Sample) -> Confidence:
    assert first.query is second.query
    return Confidence(0.97 if first.composed.text == second.composed.text else 0.4, {})


SAID = "The bridge of TownA was built by Ada Wren in the long summer of the great flood."


def _told(answer: Answer) -> tuple[bool, str | None, bool]:
    return answer.stored, answer.store_reason, answer.draft


async def test_an_answer_that_lacks_agreement_is_stored_when_a_second_sample_agrees() -> None:
    walk = Walk(SAID, SAID)
    assert _told(await walk.ask("TownA")) == (False, "being checked", False)
    assert _told(await walk.ask("TownA")) == (False, "being checked", True)
    assert not walk.remembered
    await walk.sample()
    [remembered] = walk.remembered
    assert remembered.memory.confidence.value == 0.97
    after = await walk.ask("TownA")
    assert after.hit is not None
    assert (after.text, after.unverified) == (SAID, True)


async def test_an_answer_that_a_second_sample_contradicts_stays_a_draft() -> None:
    walk = Walk(SAID, "The bridge of TownA was built by Bo Lind, who never saw it finished at all.")
    await walk.ask("TownA")
    await walk.sample()
    assert not walk.remembered
    [entry] = [one for one in entries(walk.door.log) if one["kind"] == "store"]
    assert (entry["outcome"], entry["reason"]) == ("skipped", "samples_disagree")
    assert _told(await walk.ask("TownA")) == (False, "confidence too low", True)
    assert not walk.queued, "nobody asks a third time"
