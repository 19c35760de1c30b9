"""While the clock is in doubt nothing is withdrawn for its age, and no checkpoint is signed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from node.cache.index.flat_index import FlatIndex
from node.core.clock_rule import Doubt
from node.store.retention.sweeps import evict, sweep
from tests.log_kit import leaves, opened
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore

US = Author(1)


def doubted() -> ManualClock:
    clock = ManualClock(START + timedelta(days=30))
    clock.doubt = Doubt("for a test", START, 0.0)
    return clock


async def test_sweeps_expire_nothing_and_still_make_room() -> None:
    store, clock = MemoryStore(own_issuer=US.did), doubted()
    for number in range(4):
        await store.records.add(US.answer(f"q{number}", expires=START + timedelta(days=1)))
    assert await sweep(store.records, FlatIndex(4), clock, grace_s=0) == 0
    assert await evict(store.records, FlatIndex(4), clock, max_entries=3, max_bytes=10**9) == 1
    assert (await store.records.counts())["live"] == 3
    clock.doubt = None
    assert await sweep(store.records, FlatIndex(4), clock, grace_s=0) == 3


async def test_the_log_signs_later_what_it_took_in_doubt(tmp_path: Path) -> None:
    clock = doubted()
    log = await opened(tmp_path, clock)
    entry = {"v": 1, "kind": "policy", "event": "start"}
    place = await log.append(entry, private_texts={})
    assert await log.receipt(place.index, timeout_s=5) is None
    check = log.health()
    assert check.status == "warn"
    assert "in doubt" in check.output
    assert log.tile_log.published is None
    await log.close()
    clock.doubt = None
    log = await opened(tmp_path, clock)
    assert log.tile_log.published is not None
    assert await log.receipt(place.index, timeout_s=5) is not None
    await log.close()
    assert (await leaves(tmp_path / "log"))[place.index].entry == entry


async def test_a_log_in_doubt_signs_as_soon_as_the_clock_is_believed(tmp_path: Path) -> None:
    clock = doubted()
    log = await opened(tmp_path, clock)
    place = await log.append({"v": 1, "kind": "policy", "event": "start"}, private_texts={})
    clock.doubt = None
    assert await log.receipt(place.index, timeout_s=10) is not None
    await log.close()
