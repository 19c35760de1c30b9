"""What feedback called invalid, in ``refuted.sqlite``: questions with the answers that were wrong.

Of a record that only its owner may read no text is stored here, but its CID: the text is in the record, which
is sealed. Bounded: the newest ``rows_max`` are kept. Rows go with the record that they are about, or with
their question. Like the state file nothing here was promised to anybody: ``synchronous=NORMAL``. Format 1
(``PRAGMA user_version``), application id ``NSr1``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from node.core.normalise import query_hash
from node.store.file_store import FileStore
from node.store.record_rules import is_private
from node.store.writer import Schema, SqliteFile

ROWS_MAX = 1_024
ANSWER_CHARS_MAX = 4_000
"""As much of an answer as ``language.same_answer`` reads."""

SCHEMA = Schema(
    name="file of refuted answers",
    application_id=int.from_bytes(b"NSr1", "big"),
    version=1,
    statements="""
        CREATE TABLE refuted (
            number INTEGER PRIMARY KEY AUTOINCREMENT, cid TEXT NOT NULL, scope TEXT NOT NULL, context TEXT,
            tenant TEXT NOT NULL, time_ms INTEGER NOT NULL, source_kind TEXT NOT NULL,
            query_hash TEXT, query TEXT, answer TEXT, slot_key TEXT
        );
        CREATE INDEX refuted_cid ON refuted (cid);
        CREATE INDEX refuted_query ON refuted (query_hash)
    """,
    synchronous="NORMAL",
    page_bytes=4_096,
)


@dataclass(frozen=True, slots=True)
class RefutedRow:
    """``query`` and ``answer`` are None where they stand in the private record only. ``cid`` is empty for an
    answer that was never a record."""

    cid: str
    scope: str
    tenant: str
    time: datetime
    source_kind: str
    query: str | None = None
    answer: str | None = None
    context: str | None = None
    slot_key: str | None = None


class RefutedStore(FileStore):
    """Build with ``open`` in a running event loop. Methods raise ``Unavailable`` where the disk says no."""

    def __init__(self, file: SqliteFile, rows_max: int) -> None:
        super().__init__(file)
        self._rows_max = rows_max

    @classmethod
    async def open(cls, path: Path, *, rows_max: int = ROWS_MAX) -> RefutedStore:
        """Open or create the file. Raises ``Unavailable``, ``CorruptState``."""
        return cls(await SqliteFile.open(path, SCHEMA, readers=1), rows_max)

    async def add(self, row: RefutedRow) -> None:
        """Keep a row; the oldest is forgotten when there are too many."""
        is_open = row.query is not None and not is_private(row.scope)
        query = row.query if is_open else None
        values = {
            "cid": row.cid,
            "scope": row.scope,
            "context": row.context if is_open else None,
            "tenant": row.tenant,
            "time_ms": round(row.time.timestamp() * 1_000),
            "source_kind": row.source_kind,
            "query_hash": None if query is None else query_hash(query),
            "query": query,
            "answer": (row.answer or "")[:ANSWER_CHARS_MAX] if is_open else None,
            "slot_key": row.slot_key if is_open else None,
        }
        await self._file.keep_newest("refuted", values, self._rows_max)

    async def rows(self) -> list[RefutedRow]:
        """All of them, oldest first."""
        found = await self._file.rows(
            "SELECT cid, scope, tenant, time_ms, source_kind, query, answer, context, slot_key"
            " FROM refuted ORDER BY number"
        )
        return [
            RefutedRow(cid, scope, tenant, datetime.fromtimestamp(time_ms / 1_000, UTC), *rest)
            for cid, scope, tenant, time_ms, *rest in found
        ]

    async def forget(self, cids: Sequence[str]) -> None:
        """These records are erased."""
        await self._file.write(forget, cids)

    async def take_back(self, cid: str, scope: str) -> None:
        """It is not wrong after all for whoever may see this scope."""
        await self._file.run("DELETE FROM refuted WHERE cid = ? AND scope = ?", (cid, scope))

    async def forget_question(self, key: str) -> None:
        """Every answer to the question with this hash is erased, also of records that are here no more."""
        await self._file.run("DELETE FROM refuted WHERE query_hash = ?", (key,))


def forget(connection: sqlite3.Connection, cids: Sequence[str]) -> None:
    """What ``RefutedStore.forget`` does, over an open file."""
    connection.executemany("DELETE FROM refuted WHERE cid = ?", [(cid,) for cid in cids])
