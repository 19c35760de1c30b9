"""Small facts that the node keeps between starts, in ``state.sqlite``: what was done once (meta), and
which record answered which request, so that feedback may name a request.

Nothing here was promised to anybody: ``synchronous=NORMAL`` survives a killed process and may lose the last
moments in a power cut. Format 1 (``PRAGMA user_version``), application id ``NSs1``.
"""

from __future__ import annotations

from pathlib import Path

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.store.writer import FileStore, Schema, SqliteFile

REQUESTS_MAX = 10_000
KEY_CHARS_MAX = 256
VALUE_CHARS_MAX = 64 * 1024

_SCHEMA = Schema(
    name="state file",
    application_id=int.from_bytes(b"NSs1", "big"),
    version=1,
    statements="""
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE request (
            number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, cid BLOB NOT NULL
        )
    """,
    synchronous="NORMAL",
    page_bytes=4_096,
)


class StateStore(FileStore):
    """Build with ``open`` inside a running event loop. Raises ``Unavailable``, ``CorruptState``."""

    def __init__(self, file: SqliteFile, requests_max: int) -> None:
        super().__init__(file)
        self._requests_max = requests_max

    @classmethod
    async def open(cls, path: Path, *, requests_max: int = REQUESTS_MAX) -> StateStore:
        """Open or create the file; keeps the last ``requests_max`` requests."""
        return cls(await SqliteFile.open(path, _SCHEMA, readers=1), requests_max)

    async def get_meta(self, key: str) -> str | None:
        """The value set last, or None."""
        row = await self._file.row("SELECT value FROM meta WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    async def set_meta(self, key: str, value: str) -> None:
        """Raises ``Rejected`` past the limits of this module."""
        if len(key) > KEY_CHARS_MAX or len(value) > VALUE_CHARS_MAX:
            raise Rejected(f"meta holds keys of {KEY_CHARS_MAX} and values of {VALUE_CHARS_MAX} characters")
        await self._file.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    async def remember_request(self, request_id: str, cid: Cid) -> None:
        """Keep which record answered a request; the oldest request is forgotten when there are too many."""
        if len(request_id) > KEY_CHARS_MAX:
            raise Rejected(f"a request id has at most {KEY_CHARS_MAX} characters")
        await self._file.keep_newest("request", {"id": request_id, "cid": bytes(cid)}, self._requests_max)

    async def cid_of_request(self, request_id: str) -> Cid | None:
        """The record that answered, or None when unknown or forgotten."""
        row = await self._file.row("SELECT cid FROM request WHERE id = ?", (request_id,))
        return None if row is None else Cid.from_bytes(row[0])
