"""Where an unfinished embedding run keeps its vectors: ``<index>.embedding``, SQLite, beside the index.

Promises: what ``put`` has returned from survives a killed process; after a power cut the file is sound and
may lack the last moments. Vectors are found by model and question, so a later run takes them up whatever
became of the index meanwhile. Memory is bounded by SQLite's page cache. A file that is no database any more
is begun anew, for it holds nothing that cannot be made again.

Blocking, one call at a time. Knows nothing of the index's format.
"""

from __future__ import annotations

import contextlib
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from node.core.errors import Unavailable
from node.core.ports import EmbedderInfo

_APPLICATION_ID = int.from_bytes(b"NSe1", "big")
_SCHEMA = f"""
    BEGIN IMMEDIATE;
    CREATE TABLE vector (
        model TEXT NOT NULL, key BLOB NOT NULL, data BLOB NOT NULL, run INTEGER NOT NULL,
        PRIMARY KEY (model, key)
    ) WITHOUT ROWID;
    PRAGMA application_id = {_APPLICATION_ID};
    COMMIT;
"""
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def scratch_path(index: Path) -> Path:
    """Where an unfinished run on ``index`` keeps its vectors."""
    return index.with_name(index.name + ".embedding")


class Scratch:
    """The open file. Build with ``open``; the caller holds the lock of the index."""

    def __init__(self, path: Path, connection: sqlite3.Connection, info: EmbedderInfo) -> None:
        self._path = path
        self._connection = connection
        self._model = f"{info.model} {info.digest} {info.dim}"
        self._bytes = 4 * info.dim
        found = connection.execute("SELECT coalesce(max(run), 0) FROM vector").fetchone()[0]
        self._run = int(found) + 1

    @classmethod
    def open(cls, path: Path, info: EmbedderInfo) -> Scratch:
        """Open or create. Raises ``Unavailable`` (disk; or something else has that name)."""
        with _translated(path):
            try:
                return cls(path, _connect(path), info)
            except sqlite3.DatabaseError as exc:
                if getattr(exc, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                    raise
            _remove(path)
            return cls(path, _connect(path), info)

    def is_older(self, key: str) -> bool | None:
        """Whether the vector for ``key`` was left by an earlier run; None where there is none."""
        with _translated(self._path):
            row = self._connection.execute(
                "SELECT run, length(data) FROM vector WHERE model = ? AND key = ?",
                (self._model, bytes.fromhex(key)),
            ).fetchone()
        return None if row is None or row[1] != self._bytes else bool(row[0] < self._run)

    def get(self, key: str) -> bytes | None:
        """The vector: float32, little endian."""
        with _translated(self._path):
            row = self._connection.execute(
                "SELECT data FROM vector WHERE model = ? AND key = ?", (self._model, bytes.fromhex(key))
            ).fetchone()
        return None if row is None or len(row[0]) != self._bytes else bytes(row[0])

    def put(self, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Keep vectors by key."""
        rows = [(self._model, bytes.fromhex(key), data, self._run) for key, data in vectors]
        with _translated(self._path):
            self._connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)
            self._connection.commit()

    def older(self) -> int:
        """How many vectors of this model earlier runs left."""
        with _translated(self._path):
            row = self._connection.execute(
                "SELECT count(*) FROM vector WHERE model = ? AND run < ?", (self._model, self._run)
            ).fetchone()
        return int(row[0])

    def close(self) -> None:
        """Idempotent."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def delete(self) -> None:
        """Close and remove: everything in it stands in the index."""
        self.close()
        with _translated(self._path):
            _remove(self._path)


def _connect(path: Path) -> sqlite3.Connection:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise Unavailable(f"{path} is not a file of this program: move it away")
    connection = sqlite3.connect(path, timeout=0, check_same_thread=False)
    try:
        # Exclusive: no shared-memory file, and it works on network file systems too.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            connection.executescript(_SCHEMA)
        elif connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise Unavailable(f"{path} is not a file of this program: move it away")
    except BaseException:
        connection.close()
        raise
    return connection


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as exc:
        raise Unavailable(f"{path} cannot be used: {exc}") from exc
