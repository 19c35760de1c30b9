"""The store under faults: killed at any moment, full disk, read-only file, damaged bytes, cut WAL."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld.cid import Cid
from node.core.ports import Selection
from node.core.record import AnswerRecord, block_of
from node.store import record_reads
from node.store.sqlite import SqliteStore
from tests.faults.kill_kit import ROOT, told_until_killed
from tests.record_builders import SCOPES, Author
from tests.unit.store.test_sqlite_upgrade import version_of, write_format_1

US = Author(1)


def child(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.faults.store_child", *arguments]


def run_child(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        child(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


async def everything_since(store: SqliteStore) -> list[Cid]:
    found: list[Cid] = []
    watermark = 0
    while page := await store.records.since(watermark, limit=100):
        found += [one.cid for one in page]
        watermark = page[-1].sequence
    return found


@pytest.mark.parametrize("scope", ["shared", "private:local"])
async def test_killed_at_any_moment_nothing_acknowledged_is_lost(tmp_path: Path, scope: str) -> None:
    path = tmp_path / "blocks.sqlite"
    added: set[Cid] = set()
    withdrawn: set[Cid] = set()
    for number, lines in enumerate((1, 2, 5, 11, 24, 50, 83, 120)):
        run = f"run{number}"
        newest: dict[str, Cid] = {}
        for what, text, chain in told_until_killed("store_child", "write", path, run, scope, lines=lines):
            cid = Cid.parse(text)
            (withdrawn if what == "withdrawn" else added).add(cid)
            if chain != "-":
                newest[chain] = cid

        store = await SqliteStore.open(path, own_issuer=US.did)
        live = await everything_since(store)
        feed = [cid for _, cid in await store.records.withdrawn_since(0, limit=10_000)]
        assert len(live) == len(set(live))
        assert len(feed) == len(set(feed))
        assert not set(live) & set(feed)
        assert added <= set(live) | set(feed), "acknowledged and lost"
        assert withdrawn <= set(feed), "withdrawal acknowledged and lost"
        for cid in added:
            if scope == "shared" or cid in live:  # a private one that was replaced is deleted
                assert block_of((await store.records.get(cid)).record)[0] == cid
        for chain, cid in newest.items():
            heads = await store.records.find("slot_key", f"{run}:{chain}", scopes=SCOPES, context=None)
            assert len(heads) == 1, "a record and what it supersedes change together"
            if cid in live:
                assert heads[0].cid == cid
            else:
                assert heads[0].cid not in added | {cid}, "what was acknowledged last, or what came after it"
        await check_the_keys(store)
        await check_the_tables(store, set(live))
        await store.close()


async def test_killed_at_any_moment_aliases_equal_records(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    for number, lines in enumerate((1, 4, 13, 30, 61)):
        run = f"run{number}"
        said = told_until_killed("store_child", "merge", path, run, lines=lines)
        store = await SqliteStore.open(path, own_issuer=US.did)
        live = set(await everything_since(store))
        feed = {cid for _, cid in await store.records.withdrawn_since(0, limit=10_000)}
        assert not live & feed
        buried = {Cid.parse(text) for what, text, _ in said if what == "buried"}
        assert buried <= feed
        for what, text, _ in said:
            cid = Cid.parse(text)
            assert cid in live | feed, "acknowledged and lost"
            stored = await store.records.get(cid)
            assert isinstance(stored.record, AnswerRecord)
            found = await store.records.find(
                "query_hash", stored.record.query_hash, scopes=SCOPES, context=None
            )
            survivor = await store.records.survivor(cid)
            end = cid if survivor is None else survivor
            assert [one.cid for one in found] == ([end] if end in live else [])
            assert what != "merged" or survivor is not None, "merged and without its survivor"
        await check_the_tables(store, live)
        await check_the_aliases(store)
        await store.close()


async def check_the_keys(store: SqliteStore) -> None:
    """Each sealed block opens, and no key is named twice."""

    def job(connection: sqlite3.Connection) -> None:
        slots = [
            slot
            for table in ("block", "alias")
            for (slot,) in connection.execute(f"SELECT key_id FROM {table} WHERE key_id IS NOT NULL")
        ]
        assert len(slots) == len(set(slots))
        for row in connection.execute("SELECT multihash, key_id, data FROM block"):
            assert hashlib.sha256(record_reads.open_block(store.duty.keys, *row)).digest() == row[0][2:]

    await store.file.read(job)


async def check_the_aliases(store: SqliteStore) -> None:
    """Each alias is a withdrawn record, its survivor a record that is itself no alias."""

    def job(connection: sqlite3.Connection) -> None:
        rows = connection.execute(
            "SELECT r.state, s.kind, a.survivor IN (SELECT multihash FROM alias)"
            " FROM alias AS a LEFT JOIN record AS r ON r.multihash = a.multihash"
            " LEFT JOIN record AS s ON s.multihash = a.survivor"
        ).fetchall()
        assert set(map(tuple, rows)) <= {("withdrawn", "answer", 0)}

    await store.file.read(job)


def test_killed_while_it_upgrades_the_file_is_old_or_new(tmp_path: Path) -> None:
    """At moments all over the upgrade; the last child is let finish."""
    path = tmp_path / "blocks.sqlite"
    records = [US.answer(f"q {number}", answer="x" * 2_000, tags=("t",)) for number in range(600)]
    write_format_1(path, [(record, "live") for record in records])
    for patience_s in (0.0, 0.01, 0.04, None):
        with subprocess.Popen(
            child("open", str(path)), cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("opening")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience_s)
            process.kill()
        assert version_of(path) in (1, 3)
    assert version_of(path) == 3

    async def check() -> None:
        store = await SqliteStore.open(path, own_issuer=US.did)
        assert len(await store.records.select(Selection(tag="t"), limit=10_000)) == len(records)
        await check_the_tables(store, {block_of(record)[0] for record in records})
        await store.close()

    asyncio.run(check())


async def check_the_tables(store: SqliteStore, live: set[Cid]) -> None:
    """The feed equals the live rows, the running sums equal a count, each row has its block."""

    def job(connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT multihash FROM record WHERE kind = 'answer' AND state = 'live'")
        assert {multihash for (multihash,) in rows} == {cid.multihash for cid in live}
        sums = connection.execute("SELECT blocks, bytes, records, live FROM total").fetchone()
        counted = connection.execute(
            "SELECT (SELECT count(*) FROM block), (SELECT sum(length(data)) FROM block),"
            " (SELECT count(*) FROM record WHERE block_id IS NOT NULL),"
            " (SELECT count(*) FROM record WHERE kind = 'answer' AND state = 'live')"
        ).fetchone()
        assert tuple(sums) == tuple(counted)
        assert sums[0] == sums[2], "a block and its row commit together"
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []

    await store.file.read(job)


def test_a_full_disk_is_a_reason_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    result = run_child("fill", str(path))
    assert len(result["kept"]) > 3
    assert result["readable"] == result["kept"], "what was kept stays readable while the disk is full"
    assert result["records"] == len(result["kept"])
    assert len(result["reasons"]) >= 1
    assert all(str(path) in reason for reason in result["reasons"])

    async def check() -> None:
        store = await SqliteStore.open(path, own_issuer=US.did)
        assert (await store.records.counts())["records"] == len(result["kept"]) + 1
        await check_the_tables(store, set(await everything_since(store)))
        assert (await store.records.get(Cid.parse(result["after"]))).state == "live"
        await store.close()

    asyncio.run(check())


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user of this machine can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="neuroswarm-test-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_a_read_only_file_is_read_and_not_written(open_folder: Path) -> None:
    result = run_child("read-only", str(open_folder / "blocks.sqlite"))
    assert len(result["reasons"]) == 2
    assert all("readonly" in reason for reason in result["reasons"])
    assert result["found"] == [True]
    assert result["records"] == 1


async def make_store(path: Path, count: int, scope: str = "shared") -> dict[Cid, AnswerRecord]:
    store = await SqliteStore.open(path, own_issuer=US.did)
    records = [US.answer(f"q {i}", answer="x" * 3_000, scope=scope) for i in range(count)]
    await asyncio.gather(*(store.records.add(record) for record in records))
    await store.close()
    return {block_of(record)[0]: record for record in records}


async def look_at_everything(path: Path, records: dict[Cid, AnswerRecord]) -> dict[str, int]:
    """Outcomes by kind; anything wrong that is given out as right fails here."""
    outcomes: dict[str, int] = defaultdict(int)
    try:
        store = await SqliteStore.open(path, own_issuer=US.did)
    except CorruptState as exc:
        return {"refused": int(str(path) in str(exc))}
    for cid, record in records.items():
        try:
            assert (await store.records.get(cid)).record == record
            assert await store.blocks.get(cid) == block_of(record)[1]
            outcomes["right"] += 1
        except (CorruptState, NotFound, Unavailable) as exc:
            outcomes[type(exc).__name__] += 1
    for read in (store.records.since(0), store.records.live(list(records))):
        try:
            found = await read
        except (CorruptState, Unavailable):
            continue
        stored = found if isinstance(found, list) else list(found.values())
        assert all(one.record == records[one.cid] for one in stored)
    await store.close()
    return outcomes


@pytest.mark.parametrize("scope", ["shared", "private:local"])
async def test_damaged_bytes_are_never_given_out_as_right(tmp_path: Path, scope: str) -> None:
    """A run of bytes changed at 40 places over the whole file, one at a time."""
    whole = tmp_path / "whole.sqlite"
    records = await make_store(whole, 50, scope)
    sound = whole.read_bytes()
    total: dict[str, int] = defaultdict(int)
    for number in range(40):
        path = tmp_path / f"{number}.sqlite"
        at = number * len(sound) // 40 + 13
        path.write_bytes(sound[:at] + bytes(b ^ 0xA5 for b in sound[at : at + 16]) + sound[at + 16 :])
        for kind, count in (await look_at_everything(path, records)).items():
            total[kind] += count
    assert total["CorruptState"] + total["refused"] >= 10, "the damage is seen where it hits"
    assert total["right"] > 20 * len(records), "and elsewhere everything is still there"


async def test_a_truncated_file_is_refused_or_right(tmp_path: Path) -> None:
    whole = tmp_path / "whole.sqlite"
    records = await make_store(whole, 30)
    sound = whole.read_bytes()
    for number in range(1, 8):
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(sound[: number * len(sound) // 8])
        assert (await look_at_everything(path, records)).get("right", 0) == 0


async def test_a_torn_wal_loses_only_its_tail(tmp_path: Path) -> None:
    """As after a power cut: the WAL ends anywhere; what its whole commits hold is there, in order."""
    path = tmp_path / "blocks.sqlite"
    store = await SqliteStore.open(path, own_issuer=US.did)
    cids = [(await store.records.add(US.answer(f"q {i}"))).cid for i in range(12)]
    main, wal = path.read_bytes(), path.with_name("blocks.sqlite-wal").read_bytes()
    await store.close()
    lengths = []
    for number in range(13):
        torn = tmp_path / f"torn{number}.sqlite"
        torn.write_bytes(main)
        torn.with_name(f"{torn.name}-wal").write_bytes(wal[: number * len(wal) // 12])
        store = await SqliteStore.open(torn, own_issuer=US.did)
        found = await everything_since(store)
        assert found == cids[: len(found)], "a prefix, in order"
        await check_the_tables(store, set(found)) if found else None
        lengths.append(len(found))
        await store.close()
    assert lengths[0] == 0
    assert lengths[-1] == 12
    assert lengths == sorted(lengths)


async def test_a_missing_key_file_is_said_and_what_to_type_works(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    records = await make_store(path, 5, "private:local")
    store = await SqliteStore.open(path, own_issuer=US.did)
    shared = await store.records.add(US.answer("ours"))
    await store.close()
    keys = tmp_path / "keys" / "record_keys"
    aside = keys.rename(tmp_path / "aside")
    for _ in range(2):
        with pytest.raises(CorruptState, match=f"{keys} is missing, and 5 private records"):
            await SqliteStore.open(path, own_issuer=US.did)
        assert not keys.exists()
    aside.rename(keys)
    both = records | {shared.cid: US.answer("ours")}
    assert (await look_at_everything(path, both))["right"] == 6, "the copy is put back"

    keys.write_bytes(b"")
    store = await SqliteStore.open(path, own_issuer=US.did)
    assert (await store.records.counts())["live"] == 1, "given up, as the owner asked"
    assert (await store.records.get(shared.cid)) == shared
    again = await store.records.add(US.answer("mine again", scope="private:local"))
    await store.close()
    store = await SqliteStore.open(path, own_issuer=US.did)
    assert (await store.records.get(again.cid)) == again
    await store.close()


async def test_a_damaged_or_foreign_key_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blocks.sqlite"
    await make_store(path, 5, "private:local")
    (tmp_path / "other").mkdir()
    await make_store(tmp_path / "other" / "blocks.sqlite", 1, "private:local")
    keys = tmp_path / "keys" / "record_keys"
    sound = keys.read_bytes()
    for at in (0, 40, 80, 120):
        keys.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        with pytest.raises(CorruptState, match="damaged or no file of record keys"):
            await SqliteStore.open(path, own_issuer=US.did)
    keys.write_bytes(sound[:100])
    with pytest.raises(CorruptState, match="damaged or no file of record keys"):
        await SqliteStore.open(path, own_issuer=US.did)
    keys.write_bytes((tmp_path / "other" / "keys" / "record_keys").read_bytes())
    with pytest.raises(CorruptState, match="belongs to another block store"):
        await SqliteStore.open(path, own_issuer=US.did)
    keys.write_bytes(sound)
    await (await SqliteStore.open(path, own_issuer=US.did)).close()


async def test_lost_keys_take_only_their_records(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A key file that is older than the newest records: they are reported and passed over."""
    path = tmp_path / "blocks.sqlite"
    records = await make_store(path, 300, "private:local")
    keys = tmp_path / "keys" / "record_keys"
    keys.write_bytes(keys.read_bytes()[: 128 + 32 * 100])
    store = await SqliteStore.open(path, own_issuer=US.did)
    found = await store.records.since(0, limit=1_000)
    assert len(found) == 100
    assert len(await store.records.live(list(records))) == 100
    assert "put the newest copy back" in caplog.text
    lost = next(cid for cid in records if cid not in {one.cid for one in found})
    for reading in (store.records.get(lost), store.blocks.get(lost)):
        with pytest.raises(CorruptState):
            await reading
    query_hash = records[lost].query_hash
    assert await store.records.find("query_hash", query_hash, scopes=SCOPES, context=None) == []
    again = await store.records.add(records[lost])
    assert again.record == records[lost], "a good copy that arrives is sealed anew"
    await store.blocks.delete(found[0].cid)
    await store.close()
    assert (await look_at_everything(path, records))["right"] == 100


async def test_a_key_file_that_cannot_be_written_refuses_private_records_alone(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b"in the way of the folder")
    store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
    with pytest.raises(Unavailable, match="record_keys"):
        await store.records.add(US.answer("mine", scope="private:local"))
    assert (await store.records.add(US.answer("ours"))).state == "live"
    assert (await store.records.counts())["records"] == 1
    await store.close()
