"""The writer: group commit, commitments, opening again."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from node.clock import ManualClock
from node.errors import CorruptState, Misconfigured, Rejected, Unavailable
from node.governance import chain
from node.governance.commitments import KeyTable
from node.governance.log import BATCH_ENTRIES_MAX, BEHIND_50MS, QUEUE_ENTRIES_MAX, ChainLog
from node.governance.verify import read_entries, verify_folder

ORIGIN = "did:key:zTest.neuroswarm/decisions"
CANARY = "zanzibar canary question"


async def opened(path: Path, **options: Any) -> ChainLog:
    return await ChainLog.open(path / "log", ORIGIN, ManualClock(), keys=path / "keys", **options)


def written(path: Path, count: int, **options: Any) -> bytes:
    """A log of ``count`` entries, closed; its bytes."""

    async def run() -> None:
        log = await opened(path, **options)
        for number in range(count):
            await log.append({"kind": "answer", "n": number}, private_texts={"query": f"{CANARY} {number}"})
        await log.close()

    asyncio.run(run())
    return (path / "log" / chain.FILE_NAME).read_bytes()


def test_waiting_appends_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs: list[int] = []
    real = os.fsync
    gate = threading.Event()

    def slow(fd: int) -> None:
        """Holds the first batch's sync until all others wait, as a busy disk would."""
        gate.wait(10)
        syncs.append(fd)
        real(fd)

    async def run() -> None:
        log = await opened(tmp_path)
        monkeypatch.setattr(os, "fsync", slow)
        tasks = [asyncio.create_task(log.append({"n": n}, private_texts={"q": "x"})) for n in range(200)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks), "nothing is acknowledged before it is synced"
        gate.set()
        await asyncio.gather(*tasks)
        assert log.size() == 200
        assert log.head()[0] == 200
        await log.close()

    asyncio.run(run())
    batches_at_most = 1 + 2  # the one under way, and the rest of 200 in one or two
    assert len(syncs) <= 2 * batches_at_most, "two syncs a batch: keys, then lines"
    assert verify_folder(tmp_path / "log", origin=ORIGIN).size == 200
    assert BATCH_ENTRIES_MAX >= 200


def test_every_append_is_synced_before_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: dict[str, int] = {}
    real = os.fsync

    def noting(fd: int) -> None:
        real(fd)
        synced[str(Path(f"/proc/self/fd/{fd}").readlink())] = os.fstat(fd).st_size

    async def run() -> list[tuple[int, int]]:
        log = await opened(tmp_path)
        monkeypatch.setattr(os, "fsync", noting)
        sizes = []
        for number in range(5):
            await log.append({"n": number}, private_texts={"q": "x"})
            sizes.append((synced[str(file)], synced[str(tmp_path / "keys")]))
        await log.close()
        return sizes

    file = tmp_path / "log" / chain.FILE_NAME
    sizes = asyncio.run(run())
    ends = [0]
    for line in file.read_bytes().splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    assert [lines for lines, _ in sizes] == ends[1:]
    assert [keys for _, keys in sizes] == [64 + 32 * n for n in range(1, 6)]


def test_reopening_goes_on_where_it_ended(tmp_path: Path) -> None:
    before = written(tmp_path, 3)
    after = written(tmp_path, 2)
    assert after.startswith(before), "valid lines are never rewritten"
    report = verify_folder(tmp_path / "log", origin=ORIGIN)
    assert (report.ok, report.size) == (True, 5)
    assert [link.entry["n"] for link in read_entries(tmp_path / "log")] == [0, 1, 2, 0, 1]
    assert [link.index for link in read_entries(tmp_path / "log")] == [0, 1, 2, 3, 4]


def test_time_is_the_clocks(tmp_path: Path) -> None:
    written(tmp_path, 1)
    [link] = read_entries(tmp_path / "log")
    assert link.time_us == 1_767_225_600_000_000  # 2026-01-01T00:00:00Z


def test_behind_answers_at_once_and_writes_soon(tmp_path: Path) -> None:
    async def run() -> None:
        log = await opened(tmp_path, durability=BEHIND_50MS)
        places = [await log.append({"n": n}, private_texts={"q": "x"}) for n in range(50)]
        assert [place.index for place in places] == list(range(50))
        assert log.size() == 50
        assert await log.forget(49) is True, "a key can be destroyed before its line is on disk"
        assert log.head()[0] == 50
        await log.close()

    asyncio.run(run())
    assert verify_folder(tmp_path / "log", origin=ORIGIN).size == 50


def test_behind_close_writes_what_is_queued(tmp_path: Path) -> None:
    written(tmp_path, 300, durability=BEHIND_50MS)
    assert verify_folder(tmp_path / "log").size == 300


def test_commitments_can_be_opened_with_the_key_and_no_longer_without(tmp_path: Path) -> None:
    written(tmp_path, 2)
    [first, second] = read_entries(tmp_path / "log")
    table = KeyTable.open(tmp_path / "keys", ORIGIN)
    key, other = table.get(0), table.get(1)
    table.close()
    assert key is not None
    assert other is not None
    assert key != other, "each entry has its own key"
    assert first.entry["commitments"] == {"query": chain.commitment(key, f"{CANARY} 0")}

    async def forget() -> None:
        log = await opened(tmp_path)
        assert await log.forget(0) is True
        await log.close()

    asyncio.run(forget())
    data = (tmp_path / "keys").read_bytes()
    assert key not in data, "the key itself is overwritten"
    assert other in data
    assert verify_folder(tmp_path / "log", origin=ORIGIN).ok, "the log still verifies"
    assert second.entry["commitments"] == {"query": chain.commitment(other, f"{CANARY} 1")}


def test_no_text_is_anywhere_on_disk(tmp_path: Path) -> None:
    written(tmp_path, 20)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    for path in files:
        assert b"canary" not in path.read_bytes()


def test_the_key_table_is_for_its_owner(tmp_path: Path) -> None:
    written(tmp_path, 1)
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o600


def test_two_writers_cannot_share_a_log(tmp_path: Path) -> None:
    async def run() -> None:
        log = await opened(tmp_path)
        with pytest.raises(Unavailable, match="another process"):
            await opened(tmp_path)
        await log.append({"n": 1}, private_texts={})
        await log.close()
        again = await opened(tmp_path)
        assert again.size() == 1
        await again.close()

    asyncio.run(run())


def test_another_origin_is_refused(tmp_path: Path) -> None:
    data = written(tmp_path, 1)

    async def run() -> None:
        with pytest.raises(CorruptState, match="origin"):
            await ChainLog.open(tmp_path / "log", "other/decisions", ManualClock(), keys=tmp_path / "keys2")

    asyncio.run(run())
    assert (tmp_path / "log" / chain.FILE_NAME).read_bytes() == data


def test_the_key_table_of_another_log_is_refused(tmp_path: Path) -> None:
    KeyTable.open(tmp_path / "keys", "other/decisions").close()
    with pytest.raises(CorruptState, match="key table"):
        written(tmp_path, 1)


@pytest.mark.parametrize("origin", ["", "two words", "a+b", "line\nbreak", "naïve"])
async def test_bad_origins(tmp_path: Path, origin: str) -> None:
    with pytest.raises(Misconfigured):
        await ChainLog.open(tmp_path / "log", origin, ManualClock(), keys=tmp_path / "keys")


async def test_bad_durability(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="durability"):
        await opened(tmp_path, durability="sometimes")


def test_a_full_queue_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    real = os.fsync

    def stuck(fd: int) -> None:
        gate.wait(20)
        real(fd)

    async def run() -> None:
        log = await opened(tmp_path)
        monkeypatch.setattr(os, "fsync", stuck)
        tasks = [asyncio.create_task(log.append({}, private_texts={})) for _ in range(QUEUE_ENTRIES_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="full"):
            await log.append({}, private_texts={})
        gate.set()
        await asyncio.gather(*tasks)
        await log.append({}, private_texts={})
        await log.close()

    asyncio.run(run())
    assert verify_folder(tmp_path / "log").size == QUEUE_ENTRIES_MAX + 1


def test_close_writes_what_waits(tmp_path: Path) -> None:
    async def run() -> None:
        log = await opened(tmp_path)
        tasks = [asyncio.create_task(log.append({"n": n}, private_texts={})) for n in range(20)]
        await asyncio.sleep(0)
        await log.close()
        assert {place.index for place in await asyncio.gather(*tasks)} == set(range(20))

    asyncio.run(run())
    assert verify_folder(tmp_path / "log").size == 20


def test_lost_acknowledged_lines_show_in_a_repair_entry(tmp_path: Path) -> None:
    """Someone cut whole lines off: the chain is right, but the key table remembers more."""
    lines = written(tmp_path, BATCH_ENTRIES_MAX + 50).splitlines(keepends=True)
    (tmp_path / "log" / chain.FILE_NAME).write_bytes(b"".join(lines[:10]))
    written(tmp_path, 1)
    links = list(read_entries(tmp_path / "log", origin=ORIGIN))
    assert links[10].entry["kind"] == "repair"
    assert links[10].entry["keys_without_entry"] == BATCH_ENTRIES_MAX + 40
    assert (tmp_path / "keys").stat().st_size == 64 + 12 * 32, "keys of entries that are gone are gone too"


def test_read_entries_names_the_damage(tmp_path: Path) -> None:
    data = written(tmp_path, 3)
    (tmp_path / "log" / chain.FILE_NAME).write_bytes(data.replace(b'"n":1', b'"n":7'))
    with pytest.raises(Rejected, match="entry 1"):
        list(read_entries(tmp_path / "log"))
