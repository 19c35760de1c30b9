"""What came out about hits (labels), and which hit answered which request, in ``labels.sqlite``.

Bounded: the newest ``labels_max`` labels and ``requests_max`` requests are kept. No text is stored: records
are named by CID, questions by hash. Like the state file nothing here was promised to anybody:
``synchronous=NORMAL`` survives a killed process and may lose the last moments in a power cut. Format 1
(``PRAGMA user_version``), application id ``NSl1``.

What a label means, ``hit_label`` says; ``time`` is kept in milliseconds.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from node.core.errors import Rejected
from node.store.file_store import FileStore
from node.store.hit_label import Hit, Label
from node.store.writer import Schema, SqliteFile

LABELS_MAX = 100_000
REQUESTS_MAX = 10_000
TEXT_CHARS_MAX = 256
_NEAR_MAX = 16
_SEPARATOR = " "

_HIT = (
    "cid TEXT NOT NULL, kind TEXT NOT NULL, tier TEXT NOT NULL, similarity REAL, score REAL NOT NULL, "
    "u REAL, query_hash TEXT NOT NULL, near TEXT NOT NULL"
)
SCHEMA = Schema(
    name="label file",
    application_id=int.from_bytes(b"NSl1", "big"),
    version=1,
    statements=f"""
        CREATE TABLE label (
            number INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, verdict TEXT NOT NULL,
            time_ms INTEGER NOT NULL, {_HIT}
        );
        CREATE TABLE served (
            number INTEGER PRIMARY KEY AUTOINCREMENT, request TEXT NOT NULL UNIQUE, {_HIT}
        )
    """,
    synchronous="NORMAL",
    page_bytes=4_096,
)
_COLUMNS = ("cid", "kind", "tier", "similarity", "score", "u", "query_hash", "near")


class LabelStore(FileStore):
    """Build with ``open`` inside a running event loop. Methods raise ``Rejected`` for what is past the limits
    of this module and ``Unavailable`` when the disk says no."""

    def __init__(self, file: SqliteFile, labels_max: int, requests_max: int) -> None:
        super().__init__(file)
        self._labels_max = labels_max
        self._requests_max = requests_max

    @classmethod
    async def open(
        cls, path: Path, *, labels_max: int = LABELS_MAX, requests_max: int = REQUESTS_MAX
    ) -> LabelStore:
        """Open or create the file. Raises ``Unavailable``, ``CorruptState``."""
        return cls(await SqliteFile.open(path, SCHEMA, readers=1), labels_max, requests_max)

    async def add(self, label: Label) -> None:
        """Keep a label; the oldest is forgotten when there are too many."""
        _check(label.hit, label.source, label.verdict)
        time_ms = round(label.time.timestamp() * 1_000)
        row = {"source": label.source, "verdict": label.verdict, "time_ms": time_ms, **_values(label.hit)}
        await self._file.keep_newest("label", row, self._labels_max)

    async def newest(self, limit: int = LABELS_MAX) -> list[Label]:
        """The newest labels, oldest of them first."""
        rows = await self._file.rows("SELECT * FROM label ORDER BY number DESC LIMIT ?", (max(0, limit),))
        return [
            Label(
                _hit(row), row["source"], row["verdict"], datetime.fromtimestamp(row["time_ms"] / 1_000, UTC)
            )
            for row in reversed(rows)
        ]

    async def remember(self, request: str, hit: Hit) -> None:
        """Keep which hit answered a request, so that feedback may name the request."""
        _check(hit, request)
        await self._file.keep_newest("served", {"request": request, **_values(hit)}, self._requests_max)

    async def served(self, request: str) -> Hit | None:
        """The hit that answered, or None when there was none or it is forgotten."""
        row = await self._file.row("SELECT * FROM served WHERE request = ?", (request,))
        return None if row is None else _hit(row)

    async def forget(self, cids: Sequence[str]) -> None:
        """These records are erased: labels about them count on, without the hash of the question that was
        asked, which who guesses the question could check; which requests they answered is forgotten. Raises
        ``Unavailable``."""
        await self._file.write(forget, cids)


def forget(connection: sqlite3.Connection, cids: Sequence[str]) -> None:
    """What ``HitLabels.forget`` does, over an open file."""
    named = [(cid,) for cid in cids]
    connection.executemany("UPDATE label SET query_hash = '' WHERE cid = ?", named)
    connection.executemany("DELETE FROM served WHERE cid = ?", named)


def _check(hit: Hit, *texts: str) -> None:
    longest = max(map(len, (*texts, hit.cid, hit.kind, hit.tier, hit.query_hash, *hit.near)))
    if longest > TEXT_CHARS_MAX or len(hit.near) > _NEAR_MAX:
        raise Rejected(f"a label holds texts of {TEXT_CHARS_MAX} characters and {_NEAR_MAX} neighbours")
    if any(_SEPARATOR in cid for cid in hit.near):
        raise Rejected("a neighbour's CID holds a space")


def _values(hit: Hit) -> dict[str, Any]:
    """The columns of a hit; ``is_private`` is not kept."""
    return {name: getattr(hit, name) for name in _COLUMNS} | {"near": _SEPARATOR.join(hit.near)}


def _hit(row: sqlite3.Row) -> Hit:
    columns = {name: row[name] for name in _COLUMNS}
    return Hit(**{**columns, "near": tuple(row["near"].split())})
