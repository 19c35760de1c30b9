"""What is particular to the SQLite store: plans, group commit, reopening, damage inside the file."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from node.errors import CorruptState, NotFound
from node.ipfs.cid import Cid
from node.record import block_of
from node.store import sqlite as module
from node.store.sqlite import SqliteStore
from tests.record_builders import SCOPES, Author

US = Author(1)


async def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    store = await SqliteStore.open(path, own_issuer=US.did)
    kept = await store.records.add(US.answer(slot_key="k"), kept={"a": 1})
    gone = await store.records.add(US.answer("gone"))
    await store.records.withdraw(gone.cid, "test")
    later = US.answer("later")
    await store.records.add(US.tombstone(block_of(later)[0]))
    counts = await store.records.counts()
    feed = await store.records.withdrawn_since(0)
    await store.close()

    store = await SqliteStore.open(path, own_issuer=US.did)
    assert await store.records.since(0) == [kept]
    assert await store.records.counts() == counts
    assert await store.records.withdrawn_since(0) == feed
    assert (await store.records.add(later)).state == "withdrawn", "a pending withdrawal survives"
    new = await store.records.add(US.answer("new"))
    assert new.sequence > counts["last_sequence"]
    await store.close()


async def test_sequences_and_changes_never_repeat(tmp_path: Path) -> None:
    """Even when the rows with the highest numbers are gone and the file was closed."""
    path = tmp_path / "blocks.sqlite"
    seen: list[int] = []
    changes: list[int] = []
    for _ in range(3):
        store = await SqliteStore.open(path, own_issuer=US.did)
        stored = await store.records.add(US.answer())
        seen.append(stored.sequence)
        await store.blocks.delete(stored.cid)
        changes += [number for number, _ in await store.records.withdrawn_since(0)]
        await store.close()
    assert seen == sorted(set(seen))
    assert changes == sorted(set(changes))
    assert len(changes) == 3


async def test_a_hundred_adds_at_once_share_commits(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
    await asyncio.gather(*(store.records.add(US.answer(f"q {i}")) for i in range(100)))
    assert store.file.commits < 100
    assert (await store.records.counts())["live"] == 100
    await store.close()


async def test_look_ups_use_an_index(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)

    def plan(connection: sqlite3.Connection, statement: str, count: int) -> str:
        rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", (None,) * count).fetchall()
        return "; ".join(row[3] for row in rows)

    for column, statement in module._FIND.items():
        text = await store.file.read(lambda connection, s=statement: plan(connection, s, 4))
        assert f"USING INDEX record_{column} ({column}=? AND context=? AND scope=?)" in text
        assert "SCAN" not in text
        assert "TEMP B-TREE" not in text
    await store.close()


async def test_one_damaged_block_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    store = await SqliteStore.open(path, own_issuer=US.did)
    good, bad, swapped = [await store.records.add(US.answer(answer=text)) for text in ("good", "bad", "swap")]
    await store.close()
    connection = sqlite3.connect(path)
    connection.execute(
        "UPDATE block SET data = x'a0' WHERE multihash = ?",
        (bad.cid.multihash,),
    )
    connection.execute(
        "UPDATE block SET data = (SELECT data FROM block WHERE multihash = ?) WHERE multihash = ?",
        (good.cid.multihash, swapped.cid.multihash),
    )
    connection.commit()
    connection.close()

    store = await SqliteStore.open(path, own_issuer=US.did)
    cids = [good.cid, bad.cid, swapped.cid]
    found = await store.records.find("query_hash", good.record.query_hash, scopes=SCOPES, context=None)  # type: ignore[attr-defined] # an answer
    assert [one.cid for one in found] == [good.cid]
    assert list(await store.records.live(cids)) == [good.cid]
    assert [one.cid for one in await store.records.since(0, limit=1)] == [good.cid]
    for cid in (bad.cid, swapped.cid):
        with pytest.raises(CorruptState):
            await store.records.get(cid)
        with pytest.raises(CorruptState):
            await store.blocks.get(cid)
    repaired = await store.records.add(bad.record)
    assert repaired == bad, "a good copy that arrives replaces the damaged one"
    assert [one.cid for one in await store.records.since(good.sequence)] == [bad.cid]
    await store.close()


async def test_since_reads_past_a_run_of_damage(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    store = await SqliteStore.open(path, own_issuer=US.did)
    stored = [await store.records.add(US.answer(f"q {i}")) for i in range(9)]
    await store.file.write(
        lambda connection: connection.execute("UPDATE block SET data = x'a0' WHERE id < 9")
    )
    assert [one.cid for one in await store.records.since(0, limit=2)] == [stored[8].cid]
    await store.close()


async def test_deleting_an_unknown_block_changes_nothing(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
    await store.blocks.delete(Cid.of(b"x"))
    assert await store.records.withdrawn_since(0) == []
    with pytest.raises(NotFound):
        await store.blocks.get(Cid.of(b"x"))
    await store.close()
