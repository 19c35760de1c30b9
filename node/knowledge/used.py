"""Which versions of which documents answers were made from, in ``used_documents.sqlite``, so that the answers
go when their documents change.

An answer carries the CIDs of its documents as tags; here stands that such tags were ever given, and for
which version. A row is written before the first answer with its tag is stored, and goes after the last is
withdrawn: what was cut in between is found again at the start, by comparing with the documents that are
there. Format 1 (``PRAGMA user_version``), application id ``NSu1``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from node.knowledge.model import Document
from node.store.file_store import FileStore
from node.store.writer import Schema, SqliteFile

SCHEMA = Schema(
    name="file of used documents",
    application_id=int.from_bytes(b"NSu1", "big"),
    version=1,
    statements="CREATE TABLE used (cid TEXT NOT NULL, version TEXT NOT NULL, PRIMARY KEY (cid, version)) "
    "WITHOUT ROWID",
    synchronous="FULL",
    page_bytes=4_096,
)
TAGS_MAX = 8
_VERSION_CHARS = 16

Used: TypeAlias = tuple[str, str]
"""A document's CID, and what held of it: see ``used_of``."""
Withdraw = Callable[[str], Awaitable[object]]
"""Withdraw every stored answer that has this tag. Raises ``Unavailable``."""


def used_of(document: Document) -> Used | None:
    """The document as an answer was made from it: its bytes and what holds of it; None for one without
    bytes."""
    if document.cid is None:
        return None
    holds = (document.scope, document.status, document.effective, document.supersedes, document.conflict_with)
    return str(document.cid), hashlib.sha256(repr(holds).encode()).hexdigest()[:_VERSION_CHARS]


def tag_of(cid: str) -> str:
    """What an answer from this document is tagged with."""
    return f"document:{cid}"


def tags(used: Iterable[Used]) -> tuple[str, ...]:
    """Of all documents of one answer."""
    return tuple(dict.fromkeys(tag_of(cid) for cid, _ in used))[:TAGS_MAX]


class UsedDocuments(FileStore):
    """Build with ``open``. Methods raise ``Unavailable`` where the disk says no."""

    def __init__(self, file: SqliteFile) -> None:
        super().__init__(file)
        self._known: set[Used] = set()

    @classmethod
    async def open(cls, path: Path) -> UsedDocuments:
        """Open or create the file. Raises ``Unavailable``, ``CorruptState``."""
        self = cls(await SqliteFile.open(path, SCHEMA, readers=1))
        self._known = {(row[0], row[1]) for row in await self._file.rows("SELECT cid, version FROM used")}
        return self

    async def note(self, used: Sequence[Used]) -> None:
        """An answer may be stored from these: before it is."""
        for one in dict.fromkeys(used):
            if one not in self._known:
                await self._file.run("INSERT OR IGNORE INTO used VALUES (?, ?)", one)
                self._known.add(one)

    async def fell(self, cids: Iterable[str], withdraw: Withdraw) -> int:
        """Versions that no longer hold: withdraw what was made from them; of how many that was."""
        gone = set(cids)
        return await self._withdraw([one for one in self._known if one[0] in gone], withdraw)

    async def compare(self, documents: Iterable[Document], withdraw: Withdraw) -> int:
        """Withdraw what was made from anything else than these; of how many documents that was."""
        there = {used_of(one) for one in documents}
        return await self._withdraw([one for one in self._known if one not in there], withdraw)

    async def _withdraw(self, gone: Sequence[Used], withdraw: Withdraw) -> int:
        for one in gone:
            await withdraw(tag_of(one[0]))
            await self._file.run("DELETE FROM used WHERE cid = ? AND version = ?", one)
            self._known.discard(one)
        return len(gone)
