"""What the disk refuses of one SQLite file, until it has been tried again and does not.

Promises: what is refused stays noted until a write was really synced, or the whole file was really read over
a connection that remembers nothing; a commit that changed nothing proves nothing. After a sync that failed
the kernel may have given up the pages and call them clean, so that another sync alone would prove nothing:
SQLite writes again what was not synced (in its log from the last synced commit on, in the file from the last
checkpoint on), and then syncs.

Blocking. Noting is for any thread.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

CHECK_BYTES_MAX = 128 * 2**20
"""Up to this size a file is checked as a whole when opened (0.04 s for 80 MB, measured); above it damage
shows when a page is read, and every block is hashed again anyway."""
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_UNREAD = DAMAGED | {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
"""SQLite says ``SQLITE_CORRUPT`` also where the system says EIO."""
_REFUSED = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
_TIMEOUT_S = 5.0


def primary_code(exc: sqlite3.Error) -> int:
    """SQLite's result code, without what it says more closely."""
    code: int = getattr(exc, "sqlite_errorcode", 0)
    return code & 0xFF


def is_damage(exc: sqlite3.Error) -> bool:
    """Whether an error says that the file's bytes are not what was written."""
    return primary_code(exc) in DAMAGED or is_no_text(exc)


def is_no_text(exc: sqlite3.Error) -> bool:
    """Whether a text in the file is no UTF-8. Python's sqlite3 says so without a result code, and quotes the
    text; SQLite's own checks do not look at it."""
    return str(exc).startswith("Could not decode to UTF-8")


def said_of(exc: sqlite3.Error) -> str:
    """What an error says, without the text that it quotes."""
    return "a text in it is no UTF-8" if is_no_text(exc) else str(exc)


def disorder(connection: sqlite3.Connection, bytes_max: int) -> str:
    """What is wrong with the order of a file's pages, or empty; of a file over ``bytes_max`` only its first
    page is read. Raises ``sqlite3.Error``."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    if pages * connection.execute("PRAGMA page_size").fetchone()[0] > bytes_max:
        return ""
    found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    return "" if found == "ok" else " ".join(found.split())[:200]


class DiskTrouble:
    """Of one open file; true while there is any. ``write`` and ``read`` say why the last such call was
    refused, empty where all is well."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.write = ""
        self.read = ""
        self.turned_away = 0
        """Writes since the file was opened that the disk refused."""

    def __bool__(self) -> bool:
        return bool(self.write or self.read)

    def refused(self, count: int, exc: sqlite3.Error) -> None:
        """So many writes were turned away."""
        self.turned_away += count
        self.write = str(exc)

    def failed(self, exc: sqlite3.Error) -> None:
        """One statement of a write failed; noted where the disk is to blame."""
        if primary_code(exc) in DAMAGED:
            self.read = str(exc)
        elif primary_code(exc) in _REFUSED:
            self.refused(1, exc)

    def unread(self, exc: sqlite3.Error) -> None:
        """Something could not be read; noted where the disk is to blame."""
        if primary_code(exc) in _UNREAD:
            self.read = str(exc)

    def written(self) -> None:
        """A write was taken and synced."""
        self.write = ""

    def try_again(self, connection: sqlite3.Connection) -> None:
        """Write a page that says the same as before, read the file, and note what comes of it."""
        try:
            if self.write:
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(f"PRAGMA user_version = {version}")
                connection.execute("COMMIT")
                self.write = ""
        except sqlite3.Error as exc:
            self.write = str(exc)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        try:
            if self.read:
                self.read = self._look()
        except sqlite3.Error as exc:
            self.read = str(exc)

    def _look(self) -> str:
        uri = f"{self._path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=_TIMEOUT_S)) as connection:
            return disorder(connection, CHECK_BYTES_MAX)
