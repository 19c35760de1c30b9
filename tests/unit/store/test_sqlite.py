"""What is particular to the SQLite store: plans, group commit, reopening, damage inside the file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from datetime import timedelta

import pytest

from node.core.errors import CorruptState, NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.ports import Selection
from node.core.record import block_of
from node.store import record_reads as module
from node.store.record_keys import AHEAD
from node.store.sqlite import SPENT_MAX, SqliteStore
from tests.record_builders import SCOPES, START, Author
from tests.unit.store.conftest import Start

US = Author(1)


async def test_everything_is_there_after_reopening(start: Start) -> None:
    store = await start()
    kept = await store.records.add(US.answer(slot_key="k"), kept={"a": 1})
    gone = await store.records.add(US.answer("gone"))
    await store.records.withdraw(gone.cid, "test")
    later = US.answer("later")
    await store.records.add(US.tombstone(block_of(later)[0]))
    counts = await store.records.counts()
    feed = await store.records.withdrawn_since(0)
    store = await start()
    assert await store.records.since(0) == [kept]
    assert await store.records.counts() == counts
    assert await store.records.withdrawn_since(0) == feed
    assert (await store.records.add(later)).state == "withdrawn", "a pending withdrawal survives"
    assert (await store.records.add(US.answer("new"))).sequence > counts["last_sequence"]


async def test_sequences_and_changes_never_repeat(start: Start) -> None:
    """Even when the rows with the highest numbers are gone and the file was closed."""
    seen: list[int] = []
    changes: list[int] = []
    for _ in range(3):
        store = await start()
        stored = await store.records.add(US.answer())
        seen.append(stored.sequence)
        await store.blocks.delete(stored.cid)
        changes += [number for number, _ in await store.records.withdrawn_since(0)]
    assert seen == sorted(set(seen))
    assert changes == sorted(set(changes))
    assert len(changes) == 3


@pytest.mark.parametrize("column", module.FIND)
async def test_look_ups_use_an_index(start: Start, column: str) -> None:
    def plan(connection: sqlite3.Connection) -> str:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {module.FIND[column]}", (None,) * 4).fetchall()
        return "; ".join(row[3] for row in rows)

    text = await (await start()).file.read(plan)
    assert f"USING INDEX record_{column} ({column}=? AND context=? AND scope=?)" in text
    assert "SCAN" not in text
    assert "TEMP B-TREE" not in text


async def test_one_damaged_block_does_not_take_the_others_with_it(start: Start) -> None:
    store = await start()
    good, bad, swapped = [await store.records.add(US.answer(answer=text)) for text in ("good", "bad", "swap")]
    await store.close()
    with sqlite3.connect(store.file.path) as connection:
        connection.execute("UPDATE block SET data = x'a0' WHERE multihash = ?", (bad.cid.multihash,))
        connection.execute(
            "UPDATE block SET data = (SELECT data FROM block WHERE multihash = ?) WHERE multihash = ?",
            (good.cid.multihash, swapped.cid.multihash),
        )
    connection.close()
    store = await start()
    asked = US.answer().query_hash
    found = await store.records.find("query_hash", asked, scopes=SCOPES, context=None)
    assert [one.cid for one in found] == [good.cid]
    assert list(await store.records.live([good.cid, bad.cid, swapped.cid])) == [good.cid]
    assert [one.cid for one in await store.records.since(0, limit=1)] == [good.cid]
    for cid in (bad.cid, swapped.cid):
        for view in (store.records, store.blocks):
            with pytest.raises(CorruptState):
                await view.get(cid)
    repaired = await store.records.add(bad.record)
    assert repaired == bad, "a good copy that arrives replaces the damaged one"
    assert [one.cid for one in await store.records.since(good.sequence)] == [bad.cid]


async def test_since_reads_past_a_run_of_damage(start: Start) -> None:
    store = await start()
    stored = [await store.records.add(US.answer(f"q {i}")) for i in range(9)]
    await store.file.write(
        lambda connection: connection.execute("UPDATE block SET data = x'a0' WHERE id < 9")
    )
    assert [one.cid for one in await store.records.since(0, limit=2)] == [stored[8].cid]


async def test_deleting_an_unknown_block_changes_nothing(start: Start) -> None:
    store = await start()
    await store.blocks.delete(Cid.of(b"x"))
    assert await store.records.withdrawn_since(0) == []
    with pytest.raises(NotFound):
        await store.blocks.get(Cid.of(b"x"))


# --- private records ------------------------------------------------------------------------------

MINE = "private:local"


def slots(store: SqliteStore) -> list[bytes]:
    """The keys in the key file beside a store."""
    data = (store.file.path.parent / "keys" / "record_keys").read_bytes()[128:]
    return [data[at : at + 32] for at in range(0, len(data), 32)]


async def secret_of_the_only_one(store: SqliteStore) -> bytes:
    [[slot]] = await store.file.rows("SELECT key_id FROM block LIMIT 1")
    return slots(store)[int(slot)]


async def replace_one(store: SqliteStore, query: str) -> Cid:
    """A private record that another one has replaced."""
    old = await store.records.add(US.answer(query, scope=MINE))
    await store.records.add(US.answer(query, answer="new", scope=MINE), supersede=[old.cid])
    return old.cid


async def test_without_private_records_there_is_no_key_file(start: Start) -> None:
    store = await start()
    await store.records.add(US.answer())
    assert await store.records.find("query_hash", "x", scopes=[MINE], context=None) == []
    assert await store.records.select(Selection(tag="t")) == []
    await store.scrub()
    await store.close()
    assert not store.duty.keys.path.parent.exists()


async def test_keys_of_replaced_records_are_destroyed_together(start: Start) -> None:
    """The ciphertext goes with the commit, the key with the next expiry at the latest, or with the stop."""
    store = await start()
    old = await store.records.add(US.answer("q 0", scope=MINE))
    secret = await secret_of_the_only_one(store)
    await store.records.add(US.answer("q 0", answer="new", scope=MINE), supersede=[old.cid])
    assert not await store.blocks.has(old.cid)
    assert secret in slots(store), "gathered"
    await store.records.expire(START, grace_s=0)
    assert secret not in slots(store)
    for number in range(1, SPENT_MAX + 1):
        await replace_one(store, f"q {number}")
    assert not await store.file.rows("SELECT id FROM spent_key"), "enough of them"
    await replace_one(store, "last")
    live = (await store.records.counts())["live"]
    store = await start()
    [named] = await store.file.rows("SELECT count(*), count(DISTINCT key_id) FROM block")
    assert tuple(named) == (live, live)


@pytest.mark.parametrize("way", ["delete", "expire", "reclaim", "scrub"])
async def test_what_is_deleted_loses_its_key_at_once(start: Start, way: str) -> None:
    store = await start()
    stored = await store.records.add(US.answer(scope=MINE, expires=START))
    secret = await secret_of_the_only_one(store)
    if way == "delete":
        await store.blocks.delete(stored.cid)
    elif way == "expire":
        assert await store.records.expire(START + timedelta(hours=1), grace_s=0) == [stored.cid]
    elif way == "reclaim":
        assert await store.records.reclaim() == [stored.cid]
    else:
        await store.records.add(US.answer(answer="new", scope=MINE), supersede=[stored.cid])
        await store.scrub()
    assert secret not in slots(store)


@pytest.mark.parametrize("view", ["records", "blocks"])
async def test_a_record_that_is_deleted_while_it_is_read_is_not_here(
    start: Start, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    """Though another record has its slot of the key file by then."""
    store = await start()
    stored = await store.records.add(US.answer(scope=MINE))
    loop, real, calls = asyncio.get_running_loop(), os.pread, 0

    def pread(fd: int, count: int, offset: int) -> bytes:
        nonlocal calls
        calls += 1
        if calls > 1:
            return real(fd, count, offset)
        asyncio.run_coroutine_threadsafe(store.blocks.delete(stored.cid), loop).result()
        return b"k" * count

    monkeypatch.setattr(os, "pread", pread)
    with pytest.raises(NotFound):
        await getattr(store, view).get(stored.cid)
    assert calls == 1


async def test_a_private_block_that_came_first_as_a_plain_one_is_sealed(start: Start) -> None:
    store = await start()
    record = US.answer(answer="zanzibarquux", scope=MINE)
    cid, data = block_of(record)
    await store.blocks.put(cid, data)
    assert (await store.records.add(record)).record == record
    await store.blocks.put(cid, data)
    assert await store.blocks.get(cid) == data
    await store.scrub()
    assert b"zanzibarquux" not in store.file.path.read_bytes()


async def test_a_private_record_costs_no_sync_of_its_own(start: Start) -> None:
    store = await start()
    await store.records.add(US.answer("first", scope=MINE))
    before, commits = slots(store), store.file.commits
    await asyncio.gather(*(store.records.add(US.answer(f"q {i}", scope=MINE)) for i in range(100)))
    assert slots(store) == before, "the keys were there already"
    assert store.file.commits - commits < 100


async def test_a_record_that_is_refused_gives_its_slot_back(start: Start) -> None:
    store = await start()
    other = await store.records.add(US.answer("another", answer="another", scope=MINE))
    for number in range(AHEAD + 10):
        with pytest.raises(Rejected):
            await store.records.add(US.answer(f"q {number}", scope=MINE), merge=[other.cid])
    assert len(slots(store)) == AHEAD + 1, "one made for the slot that is taken"
    kept = [await store.records.add(US.answer(f"q {number}", scope=MINE)) for number in range(20)]
    for one in (other, *kept):
        assert (await store.records.get(one.cid)).record == one.record
