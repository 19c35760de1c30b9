"""Which versions of which documents answers were made from, in ``used_documents.sqlite``, so that the answers
go when their documents change.

An answer carries a tag for each version of a document that it is made from; here stands which tags were ever
given. A row is written before the first answer with its tag is stored. A version that no longer holds is
withdrawn again and again for ``SETTLED_S``, and only then forgotten: an answer that was being made when the
document changed is stored behind the change. What was cut in between is found at the start, by comparing
with the documents that are there. What was made from a document that is removed or erased is erased; from
another version, withdrawn. Format 2 (``PRAGMA user_version``), application id ``NSu1``.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from node.knowledge.model import Document
from node.store.file_store import FileStore
from node.store.writer import Schema, SqliteFile


def _from_1(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE used ADD COLUMN is_erased INTEGER NOT NULL DEFAULT 0")


SCHEMA = Schema(
    name="file of used documents",
    application_id=int.from_bytes(b"NSu1", "big"),
    version=2,
    upgrades={1: _from_1},
    statements="CREATE TABLE used (cid TEXT NOT NULL, version TEXT NOT NULL, is_erased INTEGER NOT NULL "
    "DEFAULT 0, PRIMARY KEY (cid, version)) WITHOUT ROWID",
    synchronous="FULL",
    page_bytes=4_096,
)
TAGS_MAX = 8
SETTLED_S = 1_200.0
"""Longer than any request lasts (``server.request_timeout_s`` is 600 at most) with the write behind it."""
_VERSION_CHARS = 16
_ROUNDS_MAX = 100

Used: TypeAlias = tuple[str, str]
"""What a document is known as, and what held of it: see ``used_of``."""
Withdraw = Callable[[str], Awaitable[object]]
"""Withdraw stored answers that have this tag, a thousand at most; true where there were any. Raises
``Unavailable``."""


def used_of(document: Document) -> Used | None:
    """The document as an answer was made from it: its bytes and what holds of it; None for one without
    bytes."""
    if document.cid is None:
        return None
    named = document.known_as or str(document.cid)
    holds = (
        named,
        document.scope,
        document.status,
        document.effective,
        document.supersedes,
        document.conflict_with,
    )
    return named, hashlib.sha256(repr(holds).encode()).hexdigest()[:_VERSION_CHARS]


def tag_of(used: Used) -> str:
    """What an answer from this version is tagged with."""
    return f"document:{used[1]}"


def tags(used: Iterable[Used]) -> tuple[str, ...]:
    """Of all documents of one answer."""
    return tuple(dict.fromkeys(map(tag_of, used)))[:TAGS_MAX]


class UsedDocuments(FileStore):
    """Build with ``open``. Methods raise ``Unavailable`` where the disk says no."""

    def __init__(self, file: SqliteFile) -> None:
        super().__init__(file)
        self._known: set[Used] = set()
        self._erased: set[str] = set()
        """What is known as one of these is removed or erased."""
        self._gone: dict[Used, float] = {}
        """Since when, on the monotonic clock, a version does not hold."""
        self._busy = asyncio.Lock()

    @classmethod
    async def open(cls, path: Path) -> UsedDocuments:
        """Open or create the file. Raises ``Unavailable``, ``CorruptState``."""
        self = cls(await SqliteFile.open(path, SCHEMA, readers=1))
        for row in await self._file.rows("SELECT cid, version, is_erased FROM used"):
            self._known.add((row[0], row[1]))
            self._erased |= {row[0]} if row[2] else set()
        return self

    async def note(self, used: Sequence[Used]) -> None:
        """An answer may be stored from these: before it is."""
        for one in dict.fromkeys(used):
            if one not in self._known:
                await self._file.run("INSERT OR IGNORE INTO used (cid, version) VALUES (?, ?)", one)
                self._known.add(one)

    def knows(self, cids: Iterable[str]) -> bool:
        """Whether an answer may have been made from one of these."""
        named = {*cids}
        return any(cid in named for cid, _ in self._known)

    async def erased(self, names: Sequence[str]) -> None:
        """What is known so is about to be removed or erased."""
        for name in names:
            if self.knows([name]):
                await self._file.run("UPDATE used SET is_erased = 1 WHERE cid = ?", (name,))
                self._erased.add(name)

    @property
    def has_work(self) -> bool:
        """Whether versions are known that no longer hold."""
        return bool(self._gone)

    async def compare(
        self, documents: Iterable[Document], withdraw: Withdraw, now: float, erase: Withdraw | None = None
    ) -> int:
        """Withdraw what was made from anything else than these, and ``erase`` what was made from one that is
        removed; of how many versions that was. ``now`` on the monotonic clock. Raises ``Unavailable``: what
        is owed still is known still."""
        async with self._busy:
            there = {used_of(one) for one in documents}
            self._gone = {one: self._gone.get(one, now) for one in self._known if one not in there}
            for one, since in [*self._gone.items()]:
                take = erase if erase is not None and one[0] in self._erased else withdraw
                for _ in range(_ROUNDS_MAX):
                    if not await take(tag_of(one)):
                        break
                if now - since >= SETTLED_S:
                    await self._file.run("DELETE FROM used WHERE cid = ? AND version = ?", one)
                    self._known.discard(one)
                    del self._gone[one]
                    if not self.knows(one[:1]):
                        self._erased.discard(one[0])
            return len(self._gone)
