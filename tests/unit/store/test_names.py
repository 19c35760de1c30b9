"""Which IPNS records are kept, for how long, and what a full, a damaged or an attacked store does."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from node.core.errors import CorruptState, NotFound, Rejected, Unavailable
from node.store.ipns_records import KEPT, Names
from tests.manual_clock import ManualClock
from tests.name_owner import HOUR, Owner

OWN = Owner(99)


@asynccontextmanager
async def opened(folder: Path, clock: ManualClock | None = None, names_max: int = 3) -> AsyncIterator[Names]:
    names = await Names.open(
        folder / "names.sqlite", clock or ManualClock(), own=OWN.name, names_max=names_max
    )
    try:
        yield names
    finally:
        await names.close()


async def test_what_was_put_is_served_also_after_a_restart(tmp_path: Path) -> None:
    clock, owner = ManualClock(), Owner()
    record = owner.record(clock.now(), ttl_s=90)
    async with opened(tmp_path, clock) as names:
        with pytest.raises(NotFound):
            await names.get(owner.name)
        assert await names.put(owner.name, record)
        assert await names.put(owner.name, record), "the same again"
    async with opened(tmp_path, clock) as names:
        assert await names.get(owner.name) == record
        clock.advance(3_600.5)
        kept = await names.look(owner.name)
        assert (kept.record.ttl_ns, kept.left_s) == (90 * 10**9, 47 * 3_600 - 1)


async def test_the_better_record_is_kept_in_whatever_order_they_come(tmp_path: Path) -> None:
    clock, owner = ManualClock(), Owner()
    low = owner.record(clock.now(), sequence=7, valid=40 * HOUR)
    middle = owner.record(clock.now(), sequence=8, valid=2 * HOUR)
    high = owner.record(clock.now(), sequence=8, valid=3 * HOUR)
    async with opened(tmp_path, clock) as names:
        for record, is_kept in ((low, True), (high, True), (middle, False), (low, False), (high, True)):
            assert await names.put(owner.name, record) is is_kept
            assert await names.get(owner.name) in (low, high)
        assert await names.get(owner.name) == high


async def test_an_expired_record_is_not_served_and_stands_in_no_ones_way(tmp_path: Path) -> None:
    clock, owner = ManualClock(), Owner()
    async with opened(tmp_path, clock) as names:
        assert await names.put(owner.name, owner.record(clock.now(), sequence=9, valid=HOUR))
        clock.advance(3_600)
        with pytest.raises(NotFound):
            await names.get(owner.name)
        assert await names.known(owner.name) is not None
        with pytest.raises(Rejected, match="expired"):
            await names.put(owner.name, owner.record(clock.now(), sequence=10, valid=timedelta(0)))
        later = owner.record(clock.now(), sequence=2)
        assert await names.put(owner.name, later)
        assert await names.get(owner.name) == later


async def test_only_the_owners_word_counts(tmp_path: Path) -> None:
    clock, owner, other = ManualClock(), Owner(1), Owner(2)
    record = owner.record(clock.now())
    async with opened(tmp_path, clock) as names:
        for bad in (other.record(clock.now()), b"", record[:-1], record + b"\0", bytes(20_000)):
            with pytest.raises(Rejected):
                await names.put(owner.name, bad)
        with pytest.raises(NotFound):
            await names.get(owner.name)


async def test_full_is_said_and_nothing_that_was_accepted_is_lost(tmp_path: Path) -> None:
    clock = ManualClock()
    short, long, longer, late = (Owner(seed) for seed in range(1, 5))
    async with opened(tmp_path, clock) as names:
        await names.set_own(OWN.name, OWN.record(clock.now()))  # ours takes nobody's room
        assert await names.put(short.name, short.record(clock.now(), valid=HOUR))
        for one in (long, longer):
            assert await names.put(one.name, one.record(clock.now()))
        with pytest.raises(Unavailable, match="3 names are kept here already"):
            await names.put(late.name, late.record(clock.now()))
        assert await names.put(long.name, long.record(clock.now(), sequence=2)), "a known one has its room"
        clock.advance(3_600)
        assert await names.put(late.name, late.record(clock.now())), "the expired one made room"
        for one in (long, longer, late, OWN):
            assert await names.get(one.name)
        assert await names.known(short.name) is None


async def test_a_strangers_record_that_is_not_given_again_makes_room(tmp_path: Path) -> None:
    clock, centuries = ManualClock(), timedelta(days=365 * 7_000)
    one, two, three, late = (Owner(seed) for seed in range(1, 5))
    async with opened(tmp_path, clock) as names:
        for owner in (one, two, three):
            assert await names.put(owner.name, owner.record(clock.now(), sequence=5, valid=centuries))
            assert (await names.look(owner.name)).left_s > 10**11
        clock.advance(HOUR.total_seconds())
        again = await names.get(one.name)
        assert await names.put(one.name, again), "given again is kept on"
        clock.advance((KEPT - HOUR).total_seconds())
        assert await names.get(one.name) == again
        with pytest.raises(NotFound):
            await names.get(two.name)
        older = two.record(clock.now(), sequence=4, valid=centuries)
        assert not await names.put(two.name, older), "nobody goes back by waiting"
        assert await names.put(late.name, late.record(clock.now()))
        assert [await names.known(owner.name) is None for owner in (one, two, three)] == [False, True, True]


async def test_what_the_operator_gives_has_neither_limit_nor_quota(tmp_path: Path) -> None:
    clock, year = ManualClock(), timedelta(days=365)
    stranger, *asked = (Owner(seed) for seed in range(1, 6))
    async with opened(tmp_path, clock, names_max=1) as names:
        assert await names.put(asked[0].name, asked[0].record(clock.now()))
        for owner in asked:
            assert await names.put(owner.name, owner.record(clock.now(), valid=year), by_operator=True)
        assert await names.put(stranger.name, stranger.record(clock.now())), "they take no stranger's room"
        newer = asked[1].record(clock.now(), sequence=2, valid=year)
        assert await names.put(asked[1].name, newer), "and anybody may bring a newer one"
        clock.advance(2 * KEPT.total_seconds())
        assert await names.get(asked[1].name) == newer
        for owner in asked:
            assert await names.get(owner.name)
    async with opened(tmp_path, clock, names_max=1) as names:
        assert await names.put(asked[2].name, asked[2].record(clock.now(), sequence=3)), "it is not ours"


async def test_nobody_else_changes_our_own_names(tmp_path: Path) -> None:
    clock, old = ManualClock(), Owner(98)
    async with opened(tmp_path, clock) as names:
        assert names.heard(OWN.name) == -1
        with pytest.raises(Rejected, match="publishes that name itself"):
            await names.put(OWN.name, OWN.record(clock.now(), sequence=5))
        with pytest.raises(NotFound):
            await names.get(OWN.name)
        assert names.heard(OWN.name) == 5
        mine = OWN.record(clock.now(), sequence=6)
        await names.set_own(OWN.name, mine)
        await names.set_own(old.name, old.record(clock.now(), sequence=3))
        assert await names.put(OWN.name, mine), "what we say ourselves is no news"
        with pytest.raises(Rejected, match="newer record of our own name"):
            await names.set_own(OWN.name, OWN.record(clock.now(), sequence=5))
        with pytest.raises(Rejected):
            await names.set_own(OWN.name, old.record(clock.now(), sequence=9))
    async with opened(tmp_path, clock) as names:
        with pytest.raises(Rejected, match="publishes that name itself"):
            await names.put(old.name, old.record(clock.now(), sequence=4))
        assert await names.get(OWN.name) == mine


async def test_a_record_that_the_disk_damaged_is_not_served_and_can_be_replaced(tmp_path: Path) -> None:
    clock, owner = ManualClock(), Owner()
    record = owner.record(clock.now())
    async with opened(tmp_path, clock) as names:
        await names.put(owner.name, record)
    with sqlite3.connect(tmp_path / "names.sqlite") as connection:
        connection.execute("UPDATE name SET data = ?", (record[:-1] + bytes([record[-1] ^ 1]),))
    connection.close()
    async with opened(tmp_path, clock) as names:
        with pytest.raises(NotFound):
            await names.get(owner.name)
        assert await names.put(owner.name, record)
        assert await names.get(owner.name) == record


async def test_another_file_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "names.sqlite").write_bytes(b"something else" * 100)
    with pytest.raises(CorruptState):
        async with opened(tmp_path):
            pass
