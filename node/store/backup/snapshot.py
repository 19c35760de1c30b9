"""SQLite files as they were at one moment, copied while others go on writing them.

The moment: the writers' locks of all files are held together, which takes milliseconds, and a read
transaction is begun on each. What is copied afterwards, by SQLite's online backup, is what those transactions
see. Page by page: an unchanged page lies where it lay before, so that its part need not be copied again.

Source: SQLite, "SQLite Backup API" and "Write-Ahead Logging".
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from node.core.errors import CorruptState, Unavailable

LOCK_S = 0.5
"""How long a lock is waited for while others are held: below what a writer bears."""
TRIES = 60
PAUSE_S = 1.0
_PAGES = 2_048
"""Copied between two looks at whether to stop."""
_TAKEN = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


@contextmanager
def at_one_moment(
    paths: Sequence[Path], stop: threading.Event
) -> Iterator[Mapping[Path, sqlite3.Connection]]:
    """Connections that see these files as of one moment, as long as the context lasts. Raises
    ``Unavailable`` where one of them is being rewritten for a minute or more, or where told to ``stop``."""
    with ExitStack() as stack:
        for _ in range(TRIES):
            try:
                found = _begun(paths)
            except sqlite3.OperationalError as exc:
                if exc.sqlite_errorcode & 0xFF not in _TAKEN:
                    raise Unavailable(f"a file of the data directory cannot be read: {exc}") from exc
            except sqlite3.DatabaseError as exc:
                raise CorruptState(f"a file of the data directory is damaged: {exc}") from exc
            else:
                for connection in found.values():
                    stack.callback(connection.close)
                yield found
                return
            if stop.wait(PAUSE_S):
                raise Unavailable("the backup was stopped")
        raise Unavailable("a file of the data directory is being rewritten; try again later")


def _begun(paths: Sequence[Path]) -> dict[Path, sqlite3.Connection]:
    found: dict[Path, sqlite3.Connection] = {}
    with ExitStack() as locks, ExitStack() as undo:
        for path in paths:
            lock = _connection(path, "rw")
            locks.callback(lock.close)  # which rolls back: nothing was written
            lock.execute("BEGIN IMMEDIATE")
        for path in paths:
            found[path] = reader = _connection(path, "ro")
            undo.callback(reader.close)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchone()  # which begins to read
        undo.pop_all()
    return found


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=LOCK_S, isolation_level=None, check_same_thread=False)


def copy(source: sqlite3.Connection, target: Path, stop: threading.Event) -> None:
    """The file that ``source`` sees, whole, at a path where nothing lies. Raises ``CorruptState`` where the
    copy does not hold, ``Unavailable`` (the disk, stopped)."""

    def look(_status: int, _left: int, _pages: int) -> None:
        if stop.is_set():
            raise Unavailable("the backup was stopped")

    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        copied = sqlite3.connect(target, isolation_level=None)
        try:
            copied.execute("PRAGMA synchronous = OFF")  # it is read back at once, and made anew after a crash
            source.backup(copied, pages=_PAGES, progress=look)
        finally:
            copied.close()
    except sqlite3.DatabaseError as exc:
        raise Unavailable(f"{target.name} cannot be copied: {exc}") from exc
    check(target)


def check(path: Path) -> None:
    """Whether each page of a file that nobody writes hangs together. Raises ``CorruptState``."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        try:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.DatabaseError as exc:
        found = str(exc)
    if found != "ok":
        raise CorruptState(f"{path.name} is damaged ({str(found)[:200]}); see neuroswarm doctor")


def format_of(path: Path) -> int:
    """The ``user_version`` of a file that nobody writes. Raises ``CorruptState``."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as found:
            return int(found.execute("PRAGMA user_version").fetchone()[0])
    except sqlite3.DatabaseError as exc:
        raise CorruptState(f"{path.name} is damaged: {exc}") from exc
