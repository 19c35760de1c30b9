"""Puts a sound file in the place of a damaged one, which is kept under ``damaged/``.

Killed at any moment, the damaged file or the sound one is there, and the command may be repeated: the copy
comes first, then what the WAL holds is written into the damaged file, as SQLite would, and only then is the
file replaced. Blocking.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from node.core.errors import Unavailable
from node.core.files import DISK, translated
from node.store.disk_trouble import is_no_text
from node.store.salvage.pages import Value, Wal, of_wal, page_bytes_of
from node.store.salvage.tables import Salvage, Take, salvage, tables_of, take_none
from node.store.schema import Schema

DAMAGED = "damaged"
"""The folder beside a damaged file where a copy of it is kept."""
_SIDES = ("-wal", "-shm")
WAL_BYTES_MAX = 256 * 2**20
"""SQLite keeps its WAL below some megabytes; 256 MiB are read in half a second."""

T = TypeVar("T")
Fill = Callable[[sqlite3.Connection], tuple[Take, Callable[[Salvage], T]]]
"""Over the connection of the new file: what is handed to ``salvage``, and what is done with what it found."""


@dataclass(frozen=True, slots=True)
class Mended(Generic[T]):
    """``value``: what ``Fill`` made; ``kept``: where the damaged file lies now."""

    value: T
    kept: Path


def problem(path: Path) -> str:
    """What is wrong with the file's pages, indexes and texts; empty where nothing is, or there is no file.
    Raises ``Unavailable``."""
    if not path.exists():
        return ""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            said = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
            return _text_problem(connection) if said == "ok" else " ".join(said.split())[:200]
    except sqlite3.OperationalError as exc:
        raise Unavailable(f"{path} cannot be read: {exc}") from exc
    except (sqlite3.DatabaseError, UnicodeDecodeError) as exc:
        return str(exc)


def _text_problem(connection: sqlite3.Connection) -> str:
    """Read every row: the check of a file does not look at what texts consist of."""
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    try:
        for (name,) in names:
            for _ in connection.execute(f'SELECT * FROM "{name}"'):
                pass
    except sqlite3.OperationalError as exc:
        if is_no_text(exc):
            return f"a text in the table {name} is no UTF-8"
        raise
    return ""


def put_aside(path: Path, stamp: str) -> Path:
    """Move a file and its WAL into the folder of damaged ones; where it lies now. Raises ``Unavailable``."""
    kept = _copied(path, stamp)
    with translated(f"{path} cannot be moved aside"):
        for one in (path, *(path.with_name(path.name + side) for side in _SIDES)):
            one.unlink(missing_ok=True)
        DISK.sync_directory(path.parent)
    return kept


def torn_wal(path: Path, page_bytes: int) -> Wal | None:
    """The WAL of a file that nobody has open, where a frame of it is damaged, so that SQLite will drop that
    one and what lies behind it, and say nothing; else None. One over ``WAL_BYTES_MAX`` is not looked at.
    ``page_bytes``: where the file does not say it. Raises ``Unavailable``."""
    wal = wal_of(path)
    with translated(f"{wal} cannot be read"):
        if not wal.exists() or not 0 < wal.stat().st_size <= WAL_BYTES_MAX:
            return None
        head = b""
        if path.exists():
            with path.open("rb") as file:
                head = file.read(100)
        found = of_wal(wal.read_bytes(), page_bytes_of(head, page_bytes))
    return found if found.left else None


def keep_wal(path: Path, stamp: str) -> Path:
    """Keep a copy of a file's WAL among the damaged ones; where it lies. Raises ``Unavailable``."""
    return _copied(path, stamp, sides=_SIDES[:1])


def wal_of(path: Path) -> Path:
    """Where the WAL of a SQLite file lies."""
    return path.with_name(path.name + _SIDES[0])


def mend(path: Path, schema: Schema, stamp: str, fill: Fill[T]) -> Mended[T]:
    """Salvage what is whole into a new file of this schema and put that in the place of the damaged one.
    Raises ``Unavailable``."""
    kept = _copied(path, stamp)
    with translated(f"{path} cannot be replaced"):
        _settle_wal(path, schema)
        new = path.with_name(f".{path.name}.salvaged")
        for one in (new, *(new.with_name(new.name + side) for side in _SIDES)):
            one.unlink(missing_ok=True)
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            value = _written(path, new, schema, fill)
        except sqlite3.Error as exc:
            raise Unavailable(f"{path} cannot be salvaged: {exc}") from exc
        new.replace(path)
        DISK.sync_directory(path.parent)
    return Mended(value, kept)


def _written(path: Path, new: Path, schema: Schema, fill: Fill[T]) -> T:
    with closing(sqlite3.connect(new, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {schema.page_bytes}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(
            f"BEGIN IMMEDIATE; {schema.statements}; PRAGMA application_id = {schema.application_id}; "
            f"PRAGMA user_version = {schema.version};"
        )
        take, finish = fill(connection)
        value = finish(salvage(path, schema, take))
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
        return value


def all_rows(
    schema: Schema, *, derived: Collection[str] = (), reset: Mapping[str, Mapping[str, Value]] | None = None
) -> Fill[int]:
    """Every whole row as it is, but for ``derived`` tables, which triggers fill, and columns that are
    ``reset``, which they count; how many rows came."""

    def fill(connection: sqlite3.Connection) -> tuple[Take, Callable[[Salvage], int]]:
        def finish(done: Salvage) -> int:
            count = 0
            for name, table in tables_of(schema).items():
                if name in derived or name.startswith("sqlite_"):
                    continue
                names = [column.name for column in table.columns]
                marks = ", ".join("?" * len(names))
                statement = f"INSERT OR IGNORE INTO {name} ({', '.join(names)}) VALUES ({marks})"
                again = (reset or {}).get(name, {})
                for row in done.rows[name]:
                    values = [again.get(column, value) for column, value in zip(names, row, strict=True)]
                    with suppress(sqlite3.IntegrityError):
                        count += connection.execute(statement, values).rowcount
            return count

        return take_none, finish

    return fill


def _copied(path: Path, stamp: str, sides: Sequence[str] = ("", _SIDES[0])) -> Path:
    with translated(f"a copy of {path} cannot be kept"):
        folder = path.parent / DAMAGED
        DISK.make_directories(folder, 0o700)
        kept = folder / f"{stamp}-{path.name}"
        for side in sides:
            source = path.with_name(path.name + side)
            if source.exists():
                with source.open("rb") as here, kept.with_name(kept.name + side).open("wb") as there:
                    os.fchmod(there.fileno(), 0o600)
                    shutil.copyfileobj(here, there, 1 << 20)
                    there.flush()
                    os.fsync(there.fileno())
        DISK.sync_directory(folder)
    return kept.with_name(kept.name + sides[0])


def _settle_wal(path: Path, schema: Schema) -> None:
    wal = wal_of(path)
    if wal.exists():
        with path.open("r+b") as file:
            page_bytes = page_bytes_of(file.read(100), schema.page_bytes)
            for number, page in of_wal(wal.read_bytes(), page_bytes).committed.items():
                file.seek((number - 1) * page_bytes)
                file.write(page)
            file.flush()
            os.fsync(file.fileno())
    for side in _SIDES:
        path.with_name(path.name + side).unlink(missing_ok=True)
    DISK.sync_directory(path.parent)
