"""Rows out of damaged files: what SQLite wrote is read, what it did not write is not."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from node.store.salvage.files import all_rows, mend, problem
from node.store.salvage.pages import Image, of_wal
from node.store.salvage.tables import Salvage, salvage
from node.store.schema import Schema

SCHEMA = Schema(
    name="test file",
    application_id=int.from_bytes(b"NSt1", "big"),
    version=1,
    statements="""
        CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, data BLOB, share REAL);
        CREATE TABLE word (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
        ALTER TABLE thing ADD COLUMN more INTEGER DEFAULT 7
    """,
    synchronous="FULL",
    page_bytes=1_024,
)


def made(path: Path, count: int = 400) -> None:
    """With rows of every type, long ones that overflow, and interior pages."""
    rng = random.Random(1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size = 1024")
        connection.executescript(SCHEMA.statements)
        connection.execute("BEGIN")
        for number in range(1, count):
            data = None if number % 7 == 0 else rng.randbytes(rng.choice((0, 3, 900, 5_000)))
            row = (number * 3, f"thing {number} \N{SNOWMAN}", data, number / 3 if number % 2 else -number)
            connection.execute("INSERT INTO thing (id, name, data, share) VALUES (?, ?, ?, ?)", row)
            connection.execute("INSERT INTO word VALUES (?, ?)", (f"word {number}", -(2 ** (number % 60))))
        connection.execute("COMMIT")


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
            for name in ("thing", "word")
        }


def found(done: Salvage) -> dict[str, list[tuple[object, ...]]]:
    return {"thing": list(done.rows["thing"]), "word": sorted(done.rows["word"], key=lambda row: str(row[0]))}


def test_a_sound_file_is_read_as_sqlite_reads_it(tmp_path: Path) -> None:
    made(path := tmp_path / "file.sqlite")
    done = salvage(path, SCHEMA)
    assert found(done) == rows_of(path)
    assert not done.torn
    assert "thing" not in done.torn_keys


def test_ids_of_any_sign_are_read(tmp_path: Path) -> None:
    made(path := tmp_path / "file.sqlite", 3)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number in (-(2**63), -(2**63) + 1, -1, 0, 2**63 - 1):
            connection.execute("INSERT INTO thing (id, name) VALUES (?, ?)", (number, f"thing {number}"))
    assert found(salvage(path, SCHEMA)) == rows_of(path)


@pytest.mark.parametrize("page", [1, 2, 3, 5, 40])
def test_a_lost_page_takes_its_own_rows_only(tmp_path: Path, page: int) -> None:
    """Also the first page, which holds the schema, and pages that lead to others."""
    made(path := tmp_path / "file.sqlite")
    before = rows_of(path)
    data = bytearray(path.read_bytes())
    data[(page - 1) * 1_024 : page * 1_024] = bytes(1_024)
    path.write_bytes(data)
    after = found(salvage(path, SCHEMA))
    for name in before:
        assert set(after[name]) <= set(before[name]), "nothing that was not written"
        if (page, name) != (1, "word"):  # without the schema its pages look like those of an index
            assert len(after[name]) >= len(before[name]) - 40


def test_rows_that_only_the_wal_holds_come_too(tmp_path: Path) -> None:
    path = tmp_path / "file.sqlite"
    made(path, 10)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("INSERT INTO word VALUES ('late', 1)")
        connection.execute("DELETE FROM thing WHERE id = 3")
        copy = tmp_path / "copy.sqlite"
        copy.write_bytes(path.read_bytes())
        wal = path.with_name("file.sqlite-wal").read_bytes()
        expected = rows_of(path)
    copy.with_name("copy.sqlite-wal").write_bytes(wal)
    assert found(salvage(copy, SCHEMA)) == expected
    whole = of_wal(wal, 1_024)
    assert whole.committed
    assert not whole.left
    assert not of_wal(b"\0" * 200, 1_024).committed


def wal_of_commits(path: Path, count: int) -> bytes:
    """A WAL with so many commits of a page each."""
    made(path, 10)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(count):
            connection.execute("UPDATE word SET number = ? WHERE name = 'word 3'", (number + 2,))
        return path.with_name(f"{path.name}-wal").read_bytes()


def test_what_sqlite_drops_behind_a_damaged_frame_is_seen(tmp_path: Path) -> None:
    """SQLite itself reads as far as ``committed`` says; a cut-off frame or a missing commit is no damage."""
    path, frame = tmp_path / "file.sqlite", 24 + 1_024
    wal = wal_of_commits(path, 6)
    before = path.read_bytes()
    assert len(wal) == 32 + 6 * frame
    for damaged in range(6):
        for inside in (3, 9, 20, 24 + 500):  # number, salt, checksum, page
            torn = bytearray(wal)
            torn[32 + damaged * frame + inside] ^= 1
            seen = of_wal(bytes(torn), 1_024)
            assert len(seen.committed) == min(1, damaged)
            has_other_salt = inside == 9
            # A damaged checksum is what the next frame is held against.
            commits = 5 - damaged - (inside == 20)
            assert seen.has_commit == (commits > 0), (damaged, inside)
            assert bool(seen.left) == (commits > 0 or not has_other_salt)
            copy = tmp_path / "copy.sqlite"
            copy.write_bytes(before)
            copy.with_name("copy.sqlite-wal").write_bytes(torn)
            with closing(sqlite3.connect(copy)) as connection:
                assert connection.execute("PRAGMA wal_checkpoint").fetchone()[1] == damaged
    for length in (32 + 5 * frame + 100, 32 + 5 * frame, 100):
        assert not of_wal(wal[:length], 1_024).left, "nothing but cut off"
    head = bytearray(wal)
    head[17] ^= 1
    seen = of_wal(bytes(head), 1_024)
    assert not seen.committed
    assert seen.has_commit, "a damaged header takes all of them"


def test_no_bytes_make_it_fail_or_run_on() -> None:
    rng = random.Random(2)
    for _ in range(300):
        data = bytearray(rng.randbytes(4 * 512))
        for page in range(4):
            data[page * 512] = rng.choice((0x0D, 0x0A, 0x05, 0x02, 0))
        image = Image(bytes(data), 512)
        for number in range(1, 6):
            list(image.cells(number))
            image.children(number)


def test_a_mended_file_is_sound_and_the_damaged_one_is_kept(tmp_path: Path) -> None:
    made(path := tmp_path / "file.sqlite")
    before = path.read_bytes()
    damaged = before[:20_480] + b"\xee" * 1_024 + before[21_504:]
    path.write_bytes(damaged)
    assert problem(path)
    done = mend(path, SCHEMA, "then", all_rows(SCHEMA))
    assert problem(path) == ""
    assert done.kept.read_bytes() == damaged
    assert sum(map(len, rows_of(path).values())) == done.value
    assert path.stat().st_mode & 0o777 == 0o600
