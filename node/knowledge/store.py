"""The documents of a node in one SQLite file (``documents.sqlite``): what is written, in whole documents.

Promises: a document becomes visible, changes and goes in one transaction, with its chunks, keywords, blocks
and the vectors that are there; a vector is kept once for all chunks of a scope that say the same, and goes
with the last of them; a block is given out only while a document of scope public has it; what is private is
sealed (``sealing``); a row that is not as it was written is not served; whoever listens hears which versions
no longer hold; each change waits in the file until the log has it (``entry``).

The tables are in ``schema``.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from node.core.caller import SCOPE_PUBLIC
from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld import unixfs_file
from node.core.ipld.cid import Cid
from node.knowledge import rows
from node.knowledge.metadata import Holds
from node.knowledge.model import Chunk
from node.knowledge.rows import CHUNKS, Changed, Row, Taken, Vectors, chunk_of
from node.knowledge.schema import ANY, SCHEMA
from node.knowledge.sealing import FILE, ScopeKey, Sealer
from node.store.file_store import FileStore
from node.store.writer import Hooks, SqliteFile

log = logging.getLogger("neuroswarm.documents")

_AT_ONCE = 64
"""Documents in one transaction of an erasure."""


class DocumentStore(FileStore):
    """One open file. ``listeners`` hear of every change once it is committed, in the event loop's thread."""

    def __init__(self, file: SqliteFile, sealer: Sealer) -> None:
        super().__init__(file)
        self.sealer = sealer
        self.blocks = PublicDocuments(file)
        self.listeners: list[Callable[[Changed], None]] = []
        self.unreadable: set[int] = set()
        """Documents of which a row was met that is not as it was written."""
        self.dropped: list[str] = []
        """In what folders documents lay that were dropped at the start: see ``rows.drop_unreadable``."""
        self.has_bad_words = False
        """The index of keywords is damaged, and to be made anew."""
        self._has_old_words = True

    @classmethod
    async def open(cls, path: Path) -> DocumentStore:
        """Open or create ``path``; its keys lie in the folder ``keys`` beside it. An erasure that was cut
        short is ended. Raises ``CorruptState`` and ``Unavailable``."""
        sealer = Sealer(path.parent / "keys" / FILE)
        gone: list[str] = []

        def prepare(connection: sqlite3.Connection) -> None:
            rows.tolerant(connection)
            gone.extend(sealer.load(connection))

        try:
            file = await SqliteFile.open(path, SCHEMA, hooks=Hooks(prepare=prepare))
        except BaseException:
            sealer.close()
            raise
        self = cls(file, sealer)
        for scope in gone:
            await self._erase_rest(scope)
        self.dropped = await self._file.write(rows.drop_unreadable, sealer)
        while await self._file.write(rows.seal_old, sealer, _AT_ONCE):
            pass
        return self

    async def close(self) -> None:
        """Idempotent."""
        await super().close()
        self.sealer.close()

    async def scrub(self) -> None:
        """Leave nothing of what was deleted on disk. Raises ``Unavailable``."""
        if self._has_old_words:  # nothing of what was deleted stays in the index's segments
            await self._file.run("INSERT INTO keyword (keyword) VALUES ('optimize')")
            self._has_old_words = False
        await self._file.scrub()

    # --- keys -------------------------------------------------------------------------------------

    async def key(self, scope: str) -> ScopeKey | None:
        """What is private of this scope is sealed with; None for what is not. Raises ``Unavailable``."""
        try:
            return self.sealer.key(scope)
        except NotFound:
            return self.sealer.hold(await self._file.write(self.sealer.begin, scope))

    async def erase(self, scope: str) -> int:
        """All that a private scope has: its key first. How many documents. Raises ``Unavailable``: what is
        left then nobody can read, and the next start deletes it."""
        names = [row["known_as"] for row in await self.of_scope(scope) if row["known_as"]]
        await self._file.write(self.sealer.destroy, scope)
        self._told(Changed(cids=tuple(names)))
        return await self._erase_rest(scope)

    async def _erase_rest(self, scope: str) -> int:
        count = 0
        while (gone := self._told(await self._file.write(rows.erase, self.sealer, scope, _AT_ONCE))).count:
            count += gone.count
        await self.scrub()
        return count

    # --- writing ----------------------------------------------------------------------------------

    async def put(self, taken: Taken, model: str = "", vectors: Vectors | None = None) -> Changed:
        """One document in place of the one at its path. Raises ``Rejected`` where its scope was erased since
        its ``key`` was asked for, ``Unavailable``: nothing of it is there."""
        return self._told(await self._file.write(rows.put, self.sealer, taken, model, vectors or {}))

    async def remove(self, ids: Sequence[int], *, missing: bool = False) -> Changed:
        """See ``rows.remove``. Raises ``Unavailable``."""
        job = partial(rows.remove, missing=missing)
        return self._told(await self._file.write(job, self.sealer, list(ids)))

    async def settle(self, folder: str, scope: str, holds: Mapping[str, Holds]) -> Changed:
        """What holds of the documents of a folder. Raises ``Unavailable``."""
        if not holds:
            return Changed()
        await self.key(scope)
        return self._told(await self._file.write(rows.settle, self.sealer, folder, scope, holds))

    async def touch(self, document: int, stamp: str) -> None:
        """The file was looked at again and has the bytes that it had."""
        await self._file.write(rows.change, self.sealer, document, {"stamp": stamp})

    async def describe(self, document: int, sha256: str, description: str, tags: Sequence[str]) -> None:
        """What a model says of a document with these bytes, apart from its text; it goes when they change.
        Tags that a manifest gives stand. Raises ``Unavailable``."""
        said = orjson.dumps(list(tags)).decode()
        job = partial(rows.describe, sha256=sha256, said=description, tags=said)
        self._told(await self._file.write(job, self.sealer, document))

    async def undescribed(self, limit: int) -> list[Row]:
        """Rows of documents that have a text and no description, the newest first."""
        has = "EXISTS (SELECT 1 FROM chunk WHERE document = d.id AND ordinal {})"
        ids = f"SELECT id FROM document d WHERE {has.format('>= 0')} AND NOT {has.format('< 0')}"
        where = f"id IN ({ids} ORDER BY id DESC LIMIT ?)"
        found = await self._file.read(self.rows_here, where, (limit,))
        return sorted(found, key=lambda row: -int(row["id"]))

    async def keep(self, model: str, vectors: Vectors) -> None:
        """Vectors of chunks that are there. Raises ``Unavailable``."""
        await self._file.write(rows.keep, self.sealer, model, vectors)
        self._told(Changed(hashes=tuple(vectors)))

    # --- reading ----------------------------------------------------------------------------------

    def rows_here(self, connection: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[Row]:
        """Rows of ``document``, by folder and path, as they were given, with ``known_as``; what is damaged
        is left out."""
        rows.tolerant(connection)
        found: list[dict[str, Any]] = []
        for row in connection.execute(f"SELECT * FROM document WHERE {where}", values):
            try:
                found.append(self.sealer.shown(row))
            except CorruptState as exc:
                self._met(row["id"], exc)
            except NotFound:
                continue
        found.sort(key=lambda row: (row["folder"], row["path"]))
        return list(found)

    def chunks_here(self, connection: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[Chunk]:
        """Chunks that are as they were written."""
        rows.tolerant(connection)
        found: list[Chunk] = []
        for row in connection.execute(f"{CHUNKS} WHERE {where}", values):
            try:
                found.append(chunk_of(row, self.sealer))
            except CorruptState as exc:
                self._met(row["document"], exc)
            except NotFound:
                continue
        return found

    def _met(self, document: int, exc: Exception) -> None:
        if document not in self.unreadable:
            self.unreadable.add(document)
            log.warning("event=document_damaged id=%d reason=%s", document, exc)

    async def of_folder(self, folder: str) -> list[Row]:
        """Rows of ``document``. Raises ``Unavailable``."""
        return await self._file.read(self.rows_here, "folder = ?", (folder,))

    async def of_scope(self, scope: str) -> list[Row]:
        """Rows of ``document``. Raises ``Unavailable``."""
        return await self._file.read(self.rows_here, "scope = ?", (scope,))

    async def all(self) -> list[Row]:
        """Rows of ``document``. Raises ``Unavailable``."""
        return await self._file.read(self.rows_here, "1", ())

    async def owed_again(self) -> list[Row]:
        """Documents whose chunks were lost, or of which a damaged one was met."""
        if self.has_bad_words:
            await self._file.write(rows.rebuild_words)
            self.has_bad_words = False
        met = orjson.dumps([*self.unreadable]).decode()
        self.unreadable.clear()
        where = "sha256 <> '' AND (is_owed OR id IN (SELECT value FROM json_each(?)))"
        return await self._file.read(self.rows_here, where, (met,))

    async def bytes_of(self, row: Row) -> bytes:
        """The bytes of a document's file. Raises ``NotFound``, ``CorruptState``, ``Rejected``."""

        def read(connection: sqlite3.Connection) -> bytes:
            return unixfs_file.read(
                Cid.parse(row["cid"]), partial(rows.block, connection, self.sealer, row["scope"])
            )

        return await self._file.read(read)

    async def folders(self) -> list[tuple[str, str]]:
        """Each folder, and the scope of what lies in it."""
        rows = await self._file.rows("SELECT folder, min(scope) FROM document GROUP BY folder")
        return [(row[0], row[1]) for row in rows]

    async def removed(self, folder: str) -> dict[str, str]:
        """Path → SHA-256, or names of these, of what was deleted by hand."""
        rows = await self._file.rows("SELECT path, sha256 FROM removed WHERE folder = ?", (folder,))
        return {row["path"]: row["sha256"] for row in rows}

    def is_removed(self, removed: Mapping[str, str], folder: str, path: str, sha256: str) -> bool:
        """Whether a file is one that ``removed`` tells of."""
        was = removed.get(path) or removed.get(self.sealer.path(folder, path))
        return was in (ANY, sha256, self.sealer.sha256(sha256))

    async def texts(self, document: int, limit: int) -> list[str]:
        """The texts of its first chunks, in order."""
        where = "document = ? AND ordinal >= 0 ORDER BY ordinal LIMIT ?"
        chunks = await self._file.read(self.chunks_here, where, (document, limit))
        return [chunk.text for chunk in chunks]

    async def unlogged(self, limit: int) -> list[Row]:
        """Changes that the log has not been told of: ``number``, ``scope``, ``event``, ``name``."""
        found = await self._file.rows("SELECT * FROM entry ORDER BY number LIMIT ?", (limit,))
        return [dict(row) for row in found]

    async def logged(self, number: int) -> None:
        """The log has the changes up to this one."""
        await self._file.run("DELETE FROM entry WHERE number <= ?", (number,))

    async def uids(self, scope: str) -> list[str]:
        """Of all documents of a scope, also those that cannot be read."""
        return [row[0] for row in await self._file.rows("SELECT uid FROM document WHERE scope = ?", (scope,))]

    async def counts(self) -> dict[str, int]:
        """``documents`` that are there, ``missing``, ``chunks``, ``bytes``; ``owed``: to be read again."""
        [row] = await self._file.rows(
            "SELECT count(*) FILTER (WHERE sha256 <> '') AS documents, "
            "count(*) FILTER (WHERE sha256 = '') AS missing, "
            "(SELECT count(*) FROM chunk WHERE ordinal >= 0) AS chunks, "
            "count(*) FILTER (WHERE is_owed AND sha256 <> '') AS owed, "
            "coalesce(sum(size), 0) AS bytes FROM document"
        )
        return dict(row)

    async def owed(self, model: str, limit: int) -> list[tuple[bytes, Chunk]]:
        """Chunks without a vector of this model, one of each text."""
        return await self._file.read(rows.owed, self.sealer, model, limit)

    async def known(self, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Those that have vectors of this model."""
        return await self._file.read(rows.known_hashes, model, hashes)

    async def saved(self, model: str, hashes: Sequence[bytes] | None) -> list[tuple[str, bytes, int, bytes]]:
        """(scope, hash, part, vector) of this model, of all or of these chunks."""
        return await self._file.read(rows.saved, self.sealer, model, hashes)

    def _told(self, changed: Changed) -> Changed:
        self._has_old_words |= changed.cleared
        for listener in self.listeners:
            listener(changed)
        return changed


class PublicDocuments:
    """A ``BlockStore`` of what anybody may have: blocks that a document of scope public consists of."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound``, ``CorruptState``, ``Unavailable``."""
        row = await self._file.row(
            "SELECT data FROM block WHERE multihash = ? AND EXISTS (SELECT 1 FROM link JOIN document ON id = "
            "document WHERE link.multihash = block.multihash AND scope = ?)",
            (cid.multihash, SCOPE_PUBLIC),
        )
        if row is None:
            raise NotFound(f"block {cid} is not here")
        if not cid.matches(row[0]):
            raise CorruptState(f"the block stored as {cid} has other bytes; take its document in again")
        return bytes(row[0])

    async def has(self, cid: Cid) -> bool:
        try:
            await self.get(cid)
        except NotFound:
            return False
        return True

    async def put(self, cid: Cid, data: bytes) -> None:
        raise Unavailable("blocks of documents come with their documents")

    async def delete(self, cid: Cid) -> None:
        """They go with their documents."""

    async def close(self) -> None:
        """The store closes the file."""


def stamped(moment: datetime) -> str:
    """As ``document.modified`` has it."""
    return moment.astimezone(UTC).isoformat()
