"""Small facts that the node keeps between starts, in ``state.sqlite``: what was done once (meta), and
which record answered which request, so that feedback may name a request.

Nothing here was promised to anybody: requests wait up to ``FLUSH_S`` in memory and are written together, so
that a killed process may lose the last of them; the rest may lose its last moments in a power cut
(``synchronous=NORMAL``). Format 1 (``PRAGMA user_version``), application id ``NSs1``.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import OrderedDict
from pathlib import Path

from node.core.errors import NodeError, Rejected
from node.core.ipld.cid import Cid
from node.store.file_store import FileStore
from node.store.writer import Schema, SqliteFile

_log = logging.getLogger(__name__)

REQUESTS_MAX = 10_000
FLUSH_S = 1.0
ROWS_AT_ONCE = 250
KEY_CHARS_MAX = 256
VALUE_CHARS_MAX = 64 * 1024

_SEVERAL = b""
_REMEMBER = """
WITH new(id, cid) AS (VALUES {})
INSERT OR REPLACE INTO request (id, cid)
SELECT new.id, CASE WHEN old.cid IS NULL OR old.cid = new.cid THEN new.cid ELSE x'' END
FROM new LEFT JOIN request AS old ON old.id = new.id
"""
"""A request's record, or ``_SEVERAL`` where another one is kept for it already."""

SCHEMA = Schema(
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
        # The newest last; None: several records answered requests of this id.
        self._waiting: OrderedDict[str, Cid | None] = OrderedDict()
        self._flushing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, path: Path, *, requests_max: int = REQUESTS_MAX) -> StateStore:
        """Open or create the file; keeps the last ``requests_max`` requests."""
        return cls(await SqliteFile.open(path, SCHEMA, readers=1), requests_max)

    async def get_meta(self, key: str) -> str | None:
        """The value set last, or None."""
        row = await self._file.row("SELECT value FROM meta WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    async def set_meta(self, key: str, value: str) -> None:
        """Raises ``Rejected`` past the limits of this module."""
        if len(key) > KEY_CHARS_MAX or len(value) > VALUE_CHARS_MAX:
            raise Rejected(f"meta holds keys of {KEY_CHARS_MAX} and values of {VALUE_CHARS_MAX} characters")
        await self._file.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def remember_request(self, request_id: str, cid: Cid) -> None:
        """Keep which record answered a request; the oldest request is forgotten when there are too many.
        Callers may choose the ids of their requests: one that another record answered too names neither."""
        if len(request_id) > KEY_CHARS_MAX:
            raise Rejected(f"a request id has at most {KEY_CHARS_MAX} characters")
        before = self._waiting.pop(request_id, cid)
        self._waiting[request_id] = cid if before == cid else None
        if len(self._waiting) > self._requests_max:
            self._waiting.popitem(last=False)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_soon(), name="requests")

    async def cid_of_request(self, request_id: str) -> Cid | None:
        """The record that answered, or None when unknown or forgotten. Raises ``Rejected`` where several
        records did."""
        row = await self._file.row("SELECT cid FROM request WHERE id = ?", (request_id,))
        found = set() if row is None else {bytes(row[0])}
        if request_id in self._waiting:
            found.add(bytes(self._waiting[request_id] or _SEVERAL))
        if len(found) > 1 or _SEVERAL in found:
            raise Rejected("several requests had this id, and different entries answered them")
        return Cid.from_bytes(found.pop()) if found else None

    async def close(self) -> None:
        """Idempotent. What cannot be written any more is told and forgotten."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if self._waiting:
            try:
                await self._flush()
            except NodeError as exc:
                _log.warning("event=requests_not_kept count=%d reason=%s", len(self._waiting), exc)
        await super().close()

    async def _flush_soon(self) -> None:
        """Until nothing waits; what fails waits for the next request."""
        try:
            while self._waiting:
                await asyncio.sleep(FLUSH_S)
                await self._flush()
        except NodeError as exc:
            _log.warning("event=requests_wait count=%d reason=%s", len(self._waiting), exc)

    async def _flush(self) -> None:
        rows = list(self._waiting.items())

        def job(connection: sqlite3.Connection) -> None:
            # Many rows a statement: at each, the event loop's thread and this one change places.
            for some in (rows[at : at + ROWS_AT_ONCE] for at in range(0, len(rows), ROWS_AT_ONCE)):
                places = ",".join(["(?,?)"] * len(some))
                values = [value for request, cid in some for value in (request, bytes(cid or _SEVERAL))]
                statement = _REMEMBER.format(places)
                connection.execute(statement, values)
            connection.execute(
                "DELETE FROM request WHERE number <= (SELECT max(number) FROM request) - ?",
                (self._requests_max,),
            )

        await self._file.write(job)
        for request_id, cid in rows:
            if self._waiting.get(request_id) == cid:
                del self._waiting[request_id]
