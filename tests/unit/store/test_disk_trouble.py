"""What the disk refuses of a file stays noted until it is proven that it does so no more."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.core.errors import CorruptState, Unavailable
from node.store.writer import Schema, SqliteFile

SCHEMA = Schema(
    name="test file",
    application_id=77,
    version=3,
    statements="CREATE TABLE item (value TEXT)",
    synchronous="FULL",
    page_bytes=4_096,
)
LONG = "x" * 20_000


@pytest.fixture
async def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteFile]:
    monkeypatch.setattr("node.store.writer.TRY_AGAIN_S", 0.01)
    opened = await SqliteFile.open(tmp_path / "test.sqlite", SCHEMA)
    yield opened
    await opened.close()


def store(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO item VALUES (?)", (LONG,))


def nothing(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM item WHERE value = 'never'")


async def test_a_commit_that_changes_nothing_does_not_prove_that_there_is_room(
    file: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.store.writer.TRY_AGAIN_S", 3_600)
    await file.run("PRAGMA max_page_count = 1")
    with pytest.raises(Unavailable, match="full"):
        await file.write(store)
    await file.write(nothing)
    assert "full" in file.trouble.write
    assert file.trouble.turned_away == 1
    await file.run("PRAGMA max_page_count = 1000")
    await file.write(store)
    assert not file.trouble


async def test_it_is_tried_again_though_nobody_writes(file: SqliteFile) -> None:
    file.trouble.refused(1, sqlite3.OperationalError("disk I/O error"))
    file.trouble.unread(error(sqlite3.SQLITE_IOERR))
    assert await file.rows("SELECT * FROM item") == []
    async with asyncio.timeout(10):
        while file.trouble:
            await asyncio.sleep(0)
    assert file.trouble.turned_away == 1, "it is not forgotten"


def error(code: int) -> sqlite3.Error:
    made = sqlite3.OperationalError("disk I/O error")
    made.sqlite_errorcode = code
    return made


async def test_a_page_that_cannot_be_read_is_noted_until_all_can(file: SqliteFile) -> None:
    await file.write(store)
    await file.scrub()
    whole = file.path.read_bytes()
    with file.path.open("r+b") as opened:
        opened.seek(SCHEMA.page_bytes)
        opened.write(bytes(SCHEMA.page_bytes))
    with pytest.raises(CorruptState):
        await file.rows("SELECT * FROM item")
    assert file.trouble.read
    await file.write(lambda connection: file.trouble.try_again(connection))
    assert file.trouble.read, "tried, and still so"
    file.path.write_bytes(whole)
    async with asyncio.timeout(10):
        while file.trouble:
            await asyncio.sleep(0)
