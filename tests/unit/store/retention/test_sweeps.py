"""Jobs as plain coroutines: expiry, eviction, the index following the store, the scheduler."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from node.cache.index import vector_file
from node.cache.index.flat_index import FlatIndex
from node.cache.index.vectors import IndexKeeper
from node.core.clock import SystemClock
from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.ports import EmbedderInfo, Vector
from node.core.record import Embedding
from node.core.scheduler import Scheduler
from node.store.retention.sweeps import evict, sweep
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore

US = Author(1)
INFO = EmbedderInfo("test-model", "ab" * 32, 4, 256)


def vector(number: int) -> Vector:
    numbers = np.array([1.0, number, number**2, 1.0], dtype=np.float32)
    return numbers / np.float32(np.linalg.norm(numbers))


def embedding(number: int) -> Embedding:
    return Embedding(INFO.model, INFO.digest, INFO.dim, vector(number).astype("<f4").tobytes())


async def test_the_sweep_withdraws_what_ended_and_drops_its_vectors() -> None:
    store, clock, index = MemoryStore(own_issuer=US.did), ManualClock(START), FlatIndex(4)
    for number, hours in enumerate((1, 2, 3)):
        kept = await store.records.add(US.answer(f"q{number}", expires=START + timedelta(hours=hours)))
        index.add(kept.cid, vector(number), scope="shared", context=None)
    clock.advance(2 * 3_600 + 1)
    assert await sweep(store.records, index, clock, grace_s=0) == 2
    assert len(index) == 1
    assert await sweep(store.records, index, clock, grace_s=0) == 0


async def test_eviction_holds_both_limits() -> None:
    store, clock, index = MemoryStore(own_issuer=US.did), ManualClock(START), FlatIndex(4)
    for number in range(20):
        kept = await store.records.add(US.answer(f"q{number:02}", confidence=800_000 + number))
        index.add(kept.cid, vector(number), scope="shared", context=None)
    assert await evict(store.records, index, clock, max_entries=15, max_bytes=10**9) == 5
    counts = await store.records.counts()
    assert (counts["live"], len(index)) == (15, 15)
    left = {one.record.confidence for one in await store.records.since(0)}
    assert min(left) == 800_005
    await evict(store.records, index, clock, max_entries=15, max_bytes=counts["bytes"] // 2)
    after = await store.records.counts()
    assert after["bytes"] <= counts["bytes"] // 2
    assert len(index) == after["live"]


async def test_the_index_follows_the_store_over_restarts(tmp_path: Path) -> None:
    store = MemoryStore(own_issuer=US.did)
    kept = [await store.records.add(US.answer(f"q{n}", embedding=embedding(n))) for n in range(5)]
    await store.records.add(US.answer("without"))
    keeper = await IndexKeeper.open(tmp_path, INFO, store.records)
    assert len(keeper.index) == 5
    await keeper.save()
    await store.records.withdraw(kept[0].cid, "test")
    await store.records.add(US.answer("late", embedding=embedding(9)))
    again = await IndexKeeper.open(tmp_path, INFO, store.records)
    assert len(again.index) == 5
    assert kept[0].cid not in again.index
    vector_file.path_for(tmp_path, INFO.digest).write_bytes(b"damaged")
    rebuilt = await IndexKeeper.open(tmp_path, INFO, store.records)
    assert len(rebuilt.index) == 5


async def test_a_failing_job_runs_again_and_does_not_stop_the_others() -> None:
    scheduler, failed, worked = Scheduler(SystemClock()), asyncio.Event(), asyncio.Event()

    async def fail() -> None:
        failed.set()
        raise Unavailable("not now")

    async def work() -> None:
        worked.set()

    scheduler.every(1, "fail", fail)
    scheduler.every(1, "work", work)
    scheduler.start()
    try:
        async with asyncio.timeout(20):
            await failed.wait()
            await worked.wait()
            failed.clear()
            await failed.wait()
    finally:
        scheduler.stop()
    scheduler.stop()


async def test_eviction_of_many_withdrawn_takes_few_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock = MemoryStore(own_issuer=US.did), ManualClock(START)
    for number in range(100):
        kept = await store.records.add(US.answer(f"gone {number}"))
        await store.records.withdraw(kept.cid, "test")
    for number in range(70):
        await store.records.add(US.answer(f"q{number}"))
    commits, reclaim = 0, store.records.reclaim

    async def counted(**asked: Any) -> list[Cid]:
        nonlocal commits
        commits += 1
        return await reclaim(**asked)

    monkeypatch.setattr(store.records, "reclaim", counted)
    await evict(store.records, FlatIndex(4), clock, max_entries=69, max_bytes=10**9)
    assert commits <= 8
    assert 42 <= (await store.records.counts())["live"] <= 69
