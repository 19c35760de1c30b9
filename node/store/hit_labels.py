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

from node.core.errors import Rejected
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
_SCHEMA = Schema(
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
_COLUMNS = "cid, kind, tier, similarity, score, u, query_hash, near"


class LabelStore:
    """Build with ``open`` inside a running event loop. Methods raise ``Rejected`` for what is past the limits
    of this module and ``Unavailable`` when the disk says no."""

    def __init__(self, file: SqliteFile, labels_max: int, requests_max: int) -> None:
        self._file = file
        self._labels_max = labels_max
        self._requests_max = requests_max

    @classmethod
    async def open(
        cls, path: Path, *, labels_max: int = LABELS_MAX, requests_max: int = REQUESTS_MAX
    ) -> LabelStore:
        """Open or create the file. Raises ``Unavailable``, ``CorruptState``."""
        return cls(await SqliteFile.open(path, _SCHEMA, readers=1), labels_max, requests_max)

    async def add(self, label: Label) -> None:
        """Keep a label; the oldest is forgotten when there are too many."""
        _check(label.hit, label.source, label.verdict)
        values = (label.source, label.verdict, round(label.time.timestamp() * 1_000), *_values(label.hit))

        def job(connection: sqlite3.Connection) -> None:
            number = connection.execute(
                f"INSERT INTO label (source, verdict, time_ms, {_COLUMNS}) "  # noqa: S608 - constants
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
                values,
            ).fetchone()[0]
            connection.execute("DELETE FROM label WHERE number <= ?", (number - self._labels_max,))

        await self._file.write(job)

    async def newest(self, limit: int = LABELS_MAX) -> list[Label]:
        """The newest labels, oldest of them first."""
        rows = await self._file.read(
            lambda connection: connection.execute(
                f"SELECT source, verdict, time_ms, {_COLUMNS} FROM label "  # noqa: S608 - constants
                "ORDER BY number DESC LIMIT ?",
                (max(0, limit),),
            ).fetchall()
        )
        return [
            Label(_hit(row[3:]), row[0], row[1], datetime.fromtimestamp(row[2] / 1_000, UTC))
            for row in reversed(rows)
        ]

    async def remember(self, request: str, hit: Hit) -> None:
        """Keep which hit answered a request, so that feedback may name the request."""
        _check(hit, request)
        values = (request, *_values(hit))

        def job(connection: sqlite3.Connection) -> None:
            number = connection.execute(
                f"INSERT OR REPLACE INTO served (request, {_COLUMNS}) "  # noqa: S608 - constants
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
                values,
            ).fetchone()[0]
            connection.execute("DELETE FROM served WHERE number <= ?", (number - self._requests_max,))

        await self._file.write(job)

    async def served(self, request: str) -> Hit | None:
        """The hit that answered, or None when there was none or it is forgotten."""
        row = await self._file.read(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM served WHERE request = ?",  # noqa: S608 - constants
                (request,),
            ).fetchone()
        )
        return None if row is None else _hit(row)

    async def forget(self, cids: Sequence[str]) -> None:
        """These records are erased: labels about them count on, without the hash of the question that was
        asked, which who guesses the question could check; which requests they answered is forgotten. Raises
        ``Unavailable``."""
        named = [(cid,) for cid in cids]

        def job(connection: sqlite3.Connection) -> None:
            connection.executemany("UPDATE label SET query_hash = '' WHERE cid = ?", named)
            connection.executemany("DELETE FROM served WHERE cid = ?", named)

        await self._file.write(job)

    async def scrub(self) -> None:
        """Leave nothing of what was forgotten on disk. Raises ``Unavailable``."""
        await self._file.scrub()

    async def close(self) -> None:
        """Idempotent."""
        await self._file.close()


def _check(hit: Hit, *texts: str) -> None:
    longest = max(map(len, (*texts, hit.cid, hit.kind, hit.tier, hit.query_hash, *hit.near)))
    if longest > TEXT_CHARS_MAX or len(hit.near) > _NEAR_MAX:
        raise Rejected(f"a label holds texts of {TEXT_CHARS_MAX} characters and {_NEAR_MAX} neighbours")
    if any(_SEPARATOR in cid for cid in hit.near):
        raise Rejected("a neighbour's CID holds a space")


def _values(hit: Hit) -> tuple[object, ...]:
    near = _SEPARATOR.join(hit.near)
    return (hit.cid, hit.kind, hit.tier, hit.similarity, hit.score, hit.u, hit.query_hash, near)


def _hit(row: tuple[str, str, str, float | None, float, float | None, str, str]) -> Hit:
    return Hit(*row[:7], near=tuple(row[7].split(_SEPARATOR)) if row[7] else ())
