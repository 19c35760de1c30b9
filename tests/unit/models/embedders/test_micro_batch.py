"""The queue before the model, with an engine whose batches the test holds and lets go."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from node.core.errors import NodeError, Unavailable
from node.core.ports import Vector
from node.core.settings import Embed
from node.models.embedders.micro_batch import BATCH_CHARS_MAX, REMEMBERED_MAX, MicroBatcher
from tests.manual_clock import ManualClock


class Engine:
    """Embeds a text as its length. While ``gate`` is shut a batch waits in the worker thread; a text that
    starts with ``bad`` fails its batch."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.batches: list[list[str]] = []
        self.started: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        self.threads: set[str] = set()

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]

    def run(self, texts: list[str]) -> list[Vector | None]:
        self.threads.add(threading.current_thread().name)
        self.started.put(texts)
        assert self.gate.wait(20)
        self.batches.append(texts)
        if any(text.startswith("bad") for text in texts):
            raise OverflowError("the engine choked")
        return [None if text == "long" else np.array([len(text)], np.float32) for text in texts]

    async def batch_begins(self) -> list[str]:
        return await asyncio.to_thread(self.started.get, True, 20)


class Bench:
    def __init__(self, *, queue_max: int = 100, remembered_max: int = REMEMBERED_MAX) -> None:
        self.engine = Engine()
        self.clock = ManualClock()
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="engine")
        settings = Embed(batch_max=4, queue_max=queue_max)
        self.batcher = MicroBatcher(self.run, settings, self.clock, remembered_max=remembered_max)
        self.tasks: list[asyncio.Task[list[Vector | None]]] = []

    async def run(self, texts: list[str]) -> list[Vector | None]:
        """As the local embedder does it."""
        return await asyncio.get_running_loop().run_in_executor(self.executor, self.engine.run, texts)

    def ask(self, *texts: str) -> asyncio.Task[list[Vector | None]]:
        task = asyncio.create_task(self.batcher.embed(list(texts)))
        self.tasks.append(task)
        return task

    async def occupy(self) -> asyncio.Task[list[Vector | None]]:
        """A batch that stays in the engine until the gate opens."""
        self.engine.gate.clear()
        task = self.ask("occupied")
        assert await self.engine.batch_begins() == ["occupied"]
        return task

    async def let_go(self) -> None:
        """Once all that was asked is queued the gate opens, and all is answered."""
        await asyncio.sleep(0)
        self.engine.gate.set()
        await asyncio.gather(*self.tasks)


@pytest.fixture
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    made = Bench(**getattr(request, "param", {}))
    yield made
    made.engine.gate.set()
    await made.batcher.close()
    await asyncio.gather(*made.tasks, return_exceptions=True)
    made.executor.shutdown()


def _lengths(vectors: list[Vector | None]) -> list[int | None]:
    return [None if vector is None else int(vector[0]) for vector in vectors]


async def test_order_and_repetitions_are_kept(bench: Bench) -> None:
    texts = ["ccc", "a", "long", "ccc", "bb", "dddd", "eeeee"]
    assert _lengths(await bench.ask(*texts)) == [3, 1, None, 3, 2, 4, 5]
    assert sorted(bench.engine.texts) == sorted(set(texts))
    assert bench.batcher.embedded_total == 5
    assert bench.batcher.batches_total == len(bench.engine.batches) == 2


async def test_idle_engine_starts_at_once_and_gathers_meanwhile(bench: Bench) -> None:
    await bench.occupy()
    for n in range(7):
        bench.ask(f"q{n}")
    await asyncio.sleep(0)
    assert bench.batcher.queued == 7
    bench.engine.gate.set()
    await asyncio.gather(*bench.tasks)
    assert [len(batch) for batch in bench.engine.batches] == [1, 4, 3]
    assert len(bench.engine.threads) == 1


async def test_callers_of_one_turn_share_a_batch(bench: Bench) -> None:
    await asyncio.gather(bench.ask("a"), bench.ask("b"), bench.ask("c"))
    assert bench.engine.batches == [["a", "b", "c"]]


async def test_similar_lengths_go_together_and_the_oldest_always_goes(bench: Bench) -> None:
    await bench.occupy()
    sizes = [10, 300, 11, 290, 12, 295, 13, 305]
    for size in sizes:
        bench.ask("x" * size)
    await bench.let_go()
    assert [sorted(map(len, batch)) for batch in bench.engine.batches[1:]] == [
        [10, 11, 12, 13],
        [295, 300, 305],  # four would be more than a batch may hold
        [290],
    ]
    assert all(len(batch) * max(map(len, batch)) <= BATCH_CHARS_MAX for batch in bench.engine.batches)


async def test_a_text_beyond_the_batch_limit_goes_alone(bench: Bench) -> None:
    await asyncio.gather(bench.ask("x" * 5_000), bench.ask("y"))
    assert [list(map(len, batch)) for batch in bench.engine.batches] == [[5_000], [1]]


async def test_interactive_first_yet_bulk_goes_on(bench: Bench) -> None:
    await bench.occupy()
    bench.ask(*(f"bulk{n}" for n in range(8)))
    await asyncio.sleep(0)
    for n in range(40):
        bench.ask(f"now{n:02}")
    await bench.let_go()
    kinds = [batch[0][:3] for batch in bench.engine.batches[1:]]
    assert kinds == ["now"] * 4 + ["bul"] + ["now"] * 4 + ["bul"] + ["now"] * 2
    assert all(len({text[:3] for text in batch}) == 1 for batch in bench.engine.batches)


async def test_a_bulk_text_that_somebody_now_waits_for_moves_up(bench: Bench) -> None:
    await bench.occupy()
    bulk = bench.ask(*(f"bulk{n}" for n in range(12)))
    await asyncio.sleep(0)
    now = bench.ask("bulk11")
    await asyncio.sleep(0)
    bench.engine.gate.set()
    assert _lengths(await now) == [6]
    assert bench.engine.batches[1] == ["bulk11"]
    assert _lengths(await bulk) == [5] * 10 + [6] * 2
    assert sum(batch.count("bulk11") for batch in bench.engine.batches) == 1


async def test_the_same_text_is_never_embedded_twice(bench: Bench) -> None:
    await bench.occupy()
    queued = [bench.ask("same"), bench.ask("same", "other"), bench.ask("same", "x", "y")]
    running = bench.ask("occupied")
    await asyncio.sleep(0)
    bench.engine.gate.set()
    await asyncio.gather(*queued, running)
    later = bench.ask("same")
    assert (await later)[0] is (await queued[0])[0]
    assert sorted(bench.engine.texts) == ["occupied", "other", "same", "x", "y"]


async def test_too_long_is_remembered_too(bench: Bench) -> None:
    assert await bench.ask("long") == await bench.ask("long") == [None]
    assert bench.engine.batches == [["long"]]


@pytest.mark.parametrize("bench", [{"remembered_max": 2}], indirect=True)
async def test_memory_is_bounded_and_forgets_the_least_recent(bench: Bench) -> None:
    for text in ("a", "b", "a", "c", "a", "b"):
        await bench.ask(text)
    assert bench.engine.batches == [["a"], ["b"], ["c"], ["b"]]


@pytest.mark.parametrize("bench", [{"queue_max": 3}], indirect=True)
async def test_a_full_queue_refuses_at_once_and_lanes_do_not_starve_each_other(bench: Bench) -> None:
    await bench.occupy()
    bulk = bench.ask(*(f"bulk{n}" for n in range(10)))
    interactive = [bench.ask(f"now{n}") for n in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="queue is full"):
        await bench.ask("one too many")
    with pytest.raises(Unavailable, match="queue is full"):
        await bench.ask("b1", "b2", "b3")
    joined = bench.ask("now0")  # waits for a text that is queued anyway
    await asyncio.sleep(0)
    bench.engine.gate.set()
    await asyncio.gather(bulk, joined, *interactive)
    assert len(await bulk) == 10
    await bench.ask("one too many")


async def test_a_long_bulk_call_holds_only_a_part_of_the_queue(bench: Bench) -> None:
    await bench.occupy()
    bulk = bench.ask(*(f"text {n}" for n in range(500)))
    await asyncio.sleep(0)
    assert 0 < bench.batcher.queued <= 64
    bench.engine.gate.set()
    assert len(await bulk) == 500


async def test_cancelled_callers_cost_no_computation(bench: Bench) -> None:
    await bench.occupy()
    gone = [bench.ask("gone1"), bench.ask("gone2", "shared"), bench.ask("gone3", "gone4", "gone5")]
    stays = bench.ask("shared")
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    assert bench.batcher.queued == 1
    bench.engine.gate.set()
    assert _lengths(await stays) == [6]
    assert bench.engine.batches == [["occupied"], ["shared"]]


async def test_cancelled_in_the_same_turn_as_the_batch_is_chosen(bench: Bench) -> None:
    occupied = await bench.occupy()
    gone, stays = bench.ask("gone"), bench.ask("stays")
    await asyncio.sleep(0)
    occupied.add_done_callback(lambda _: gone.cancel())
    bench.engine.gate.set()
    assert _lengths(await stays) == [5]
    await asyncio.gather(gone, return_exceptions=True)
    assert bench.batcher.queued == 0


async def test_cancelling_a_running_call_leaves_the_engine_usable(bench: Bench) -> None:
    task = await bench.occupy()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    follower = bench.ask("occupied")  # joins the batch that still runs
    await asyncio.sleep(0)
    bench.engine.gate.set()
    assert _lengths(await follower) == [8]
    assert bench.engine.batches == [["occupied"]]


async def test_a_failure_reaches_only_the_callers_of_its_batch(bench: Bench) -> None:
    await bench.occupy()
    first = [bench.ask("bad"), bench.ask("ok1"), bench.ask("ok2", "ok3")]
    second = bench.ask("fine1")
    await asyncio.sleep(0)
    bench.engine.gate.set()
    outcomes = await asyncio.gather(*first, return_exceptions=True)
    assert all(isinstance(outcome, Unavailable) for outcome in outcomes)
    assert len({id(outcome) for outcome in outcomes}) == 3
    assert isinstance(outcomes[0], NodeError)
    assert isinstance(outcomes[0].__cause__, OverflowError)
    assert _lengths(await second) == [5]
    assert bench.batcher.failure is None
    assert _lengths(await bench.ask("ok1")) == [3]  # a failure is not remembered


async def test_a_failure_is_known_until_the_next_success(bench: Bench) -> None:
    with pytest.raises(Unavailable, match="the engine choked"):
        await bench.ask("bad")
    assert bench.batcher.failure == "the engine choked"
    await bench.ask("good")
    assert bench.batcher.failure is None


async def test_an_engine_that_returns_too_few_is_a_failure() -> None:
    async def short(texts: list[str]) -> list[Vector | None]:
        return [None] * (len(texts) - 1)

    batcher = MicroBatcher(short, Embed(batch_max=4, queue_max=4), ManualClock())
    with pytest.raises(Unavailable, match="1 vectors for 2 texts"):
        await batcher.embed(["a", "b"])
    await batcher.close()


async def test_durations_come_from_the_clock_and_are_bounded(bench: Bench) -> None:
    await bench.occupy()
    bench.clock.advance(0.25)
    bench.engine.gate.set()
    await asyncio.gather(*bench.tasks)
    assert list(bench.batcher.durations_s) == [0.25]
    assert bench.batcher.durations_s.maxlen is not None


async def test_close_gives_up_a_batch_that_does_not_end(bench: Bench) -> None:
    running = await bench.occupy()
    assert not await bench.batcher.close(grace_s=0)
    with pytest.raises(Unavailable, match="closed"):
        await running
    bench.engine.gate.set()
    assert await bench.batcher.close()


async def test_close_refuses_what_waits_and_finishes_what_runs(bench: Bench) -> None:
    running = await bench.occupy()
    waiting = [bench.ask("w1"), bench.ask("b1", "b2", "b3")]
    await asyncio.sleep(0)
    closing = asyncio.create_task(bench.batcher.close())
    await asyncio.sleep(0)
    for task in waiting:
        with pytest.raises(Unavailable, match="closed"):
            await task
    bench.engine.gate.set()
    assert await closing
    assert _lengths(await running) == [8]
    assert bench.batcher.is_closed
    with pytest.raises(Unavailable, match="closed"):
        await bench.batcher.embed(["w1"])
