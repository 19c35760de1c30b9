"""The writer thread: group commit, isolation of failures, bounds, orderly end."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from node.core.errors import CorruptState, Rejected, Unavailable
from node.store.writer import BATCH_MAX, Hooks, Schema, SqliteFile

SCHEMA = Schema(
    name="test file",
    application_id=77,
    version=3,
    statements="CREATE TABLE item (value INTEGER PRIMARY KEY CHECK (value < 1000))",
    synchronous="FULL",
    page_bytes=4_096,
)


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    opened = await SqliteFile.open(tmp_path / "test.sqlite", SCHEMA, queue_max=300)
    yield opened
    await opened.close()


def insert(value: int) -> Callable[[sqlite3.Connection], int]:
    def job(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO item VALUES (?)", (value,))
        return value

    return job


def values(connection: sqlite3.Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT value FROM item ORDER BY value")]


def names_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


class Gate:
    """Holds the writer thread inside a job, so that what is sent meanwhile waits together."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._entered = asyncio.Event()
        self._open = threading.Event()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()

        def job(_: sqlite3.Connection) -> None:
            loop.call_soon_threadsafe(self._entered.set)
            self._open.wait(30)

        self._task = asyncio.create_task(self._file.write(job))
        await self._entered.wait()

    async def __aexit__(self, *_: object) -> None:
        self._open.set()
        await self._task


async def send(file: SqliteFile, *jobs: Callable[[sqlite3.Connection], int]) -> list[asyncio.Task[int]]:
    """Start the writes and let each reach the queue."""
    tasks = [asyncio.create_task(file.write(job)) for job in jobs]
    await asyncio.sleep(0)
    return tasks


async def test_writes_that_wait_together_share_a_commit(file: SqliteFile) -> None:
    async with Gate(file):
        tasks = await send(file, *(insert(i) for i in range(100)))
    assert await asyncio.gather(*tasks) == list(range(100))
    assert file.commits == 2, "the gate's and one for the hundred"


async def test_a_batch_is_bounded(file: SqliteFile) -> None:
    async with Gate(file):
        tasks = await send(file, *(insert(i) for i in range(BATCH_MAX + 1)))
    await asyncio.gather(*tasks)
    assert file.commits == 3


async def test_a_failing_write_takes_nothing_with_it(file: SqliteFile) -> None:
    def reject_after_writing(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO item VALUES (500)")
        raise Rejected("no")

    def bind_nonsense(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO item VALUES (501)")
        connection.execute("SELECT ?", ("\ud800",))
        return 0

    async with Gate(file):
        jobs = (insert(1), insert(1), reject_after_writing, insert(5_000), bind_nonsense, insert(2))
        tasks = await send(file, *jobs)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in outcomes] == [int, Rejected, Rejected, Rejected, Rejected, int]
    assert await file.read(values) == [1, 2]
    assert file.commits == 2


async def test_a_programming_error_fails_its_batch_and_nothing_after(file: SqliteFile) -> None:
    def wrong(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO item VALUES (1)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await file.write(wrong)
    assert await file.write(insert(2)) == 2
    assert await file.read(values) == [2]


async def test_a_full_queue_refuses_at_once(file: SqliteFile) -> None:
    async with Gate(file):
        tasks = await send(file, *(insert(i) for i in range(300)))
        with pytest.raises(Unavailable, match="300 writes"):
            await file.write(insert(900))
    await asyncio.gather(*tasks)
    assert await file.write(insert(900)) == 900


async def test_reads_are_bounded_too(tmp_path: Path) -> None:
    file = await SqliteFile.open(tmp_path / "test.sqlite", SCHEMA, queue_max=1, readers=1)
    release = threading.Event()
    task = asyncio.create_task(file.offload(lambda: release.wait(30)))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="1 reads"):
        await file.read(values)
    release.set()
    await task
    assert await file.read(values) == []
    await file.close()


async def test_a_cancelled_write_is_skipped_while_it_waits(file: SqliteFile) -> None:
    async with Gate(file):
        tasks = await send(file, insert(1), insert(2), insert(3))
        tasks[1].cancel()
        await asyncio.wait({tasks[1]})
    await asyncio.gather(tasks[0], tasks[2])
    assert await file.read(values) == [1, 3]


async def test_readers_cannot_write(file: SqliteFile) -> None:
    with pytest.raises(Unavailable, match="readonly"):
        await file.read(insert(1))
    assert await file.read(values) == []


async def test_a_reader_sees_one_state(file: SqliteFile) -> None:
    loop = asyncio.get_running_loop()
    looked, written = asyncio.Event(), threading.Event()

    def look_twice(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        before = values(connection)
        loop.call_soon_threadsafe(looked.set)
        written.wait(30)
        return before, values(connection)

    reading = asyncio.create_task(file.read(look_twice))
    await looked.wait()
    await file.write(insert(1))
    written.set()
    assert await reading == ([], [])
    assert await file.read(values) == [1]


async def test_close_finishes_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "test.sqlite"
    file = await SqliteFile.open(path, SCHEMA)
    async with Gate(file):
        tasks = await send(file, insert(1), insert(2))
        closing = [asyncio.create_task(file.close()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="closed"):
            await file.write(insert(3))
    await asyncio.gather(*tasks, *closing)
    await file.close()
    with pytest.raises(Unavailable, match="closed"):
        await file.read(values)
    assert names_in(tmp_path) == ["test.sqlite"], "the WAL is merged"
    again = await SqliteFile.open(path, SCHEMA)
    assert await again.read(values) == [1, 2]
    await again.close()


async def test_a_cancelled_close_goes_on(file: SqliteFile) -> None:
    async with Gate(file):
        closing = asyncio.create_task(file.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
    await file.close()


async def test_the_file_is_private(file: SqliteFile) -> None:
    assert file.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("CREATE TABLE theirs (x)", "is not a"),
        ("PRAGMA user_version = 4", "newer"),
        ("PRAGMA user_version = 2", "unknown format"),
        ("", "damaged"),
    ],
    ids=["foreign", "newer", "older", "garbage"],
)
async def test_another_file_is_refused_by_name(tmp_path: Path, statement: str, words: str) -> None:
    path = tmp_path / "file.sqlite"
    if statement.startswith("PRAGMA"):
        await (await SqliteFile.open(path, SCHEMA)).close()
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()
    if not statement:
        path.write_bytes(b"this is not a database" * 1_000)
    before = path.read_bytes()
    with pytest.raises(CorruptState, match=words) as caught:
        await SqliteFile.open(path, SCHEMA)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before, "nothing is overwritten"


async def test_an_impossible_path_is_unavailable(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "such" / "folder.sqlite"):
        with pytest.raises(Unavailable):
            await SqliteFile.open(path, SCHEMA)


async def test_an_empty_file_is_a_first_start_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    path.touch()
    file = await SqliteFile.open(path, SCHEMA)
    assert await file.write(insert(1)) == 1
    await file.close()


async def test_a_transaction_that_the_disk_refuses_is_told(tmp_path: Path) -> None:
    told: list[None] = []
    hooks = Hooks(after_rollback=lambda: told.append(None))
    file = await SqliteFile.open(tmp_path / "test.sqlite", SCHEMA, hooks=hooks)

    def refused(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("the disk is full")

    await file.write(insert(1))
    assert told == []
    with pytest.raises(Unavailable, match="full"):
        await file.write(refused)
    assert told == [None]
    await file.close()
