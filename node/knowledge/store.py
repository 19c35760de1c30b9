"""The documents of a node in one SQLite file (``documents.sqlite``): what is written, in whole documents.

Promises: a document becomes visible, changes and goes in one transaction, with its chunks, keywords, blocks
and the vectors that are there; a vector is kept once for all chunks that say the same, and goes with the last
of them; a block is given out only while a document of scope public has it; whoever listens hears the CIDs of
versions that no longer hold.

Format 1 (``PRAGMA user_version``), application id ``NSd1``. ``document.folder`` is the absolute path of the
folder that it lies in, or ``@`` and the scope of an upload; ``sha256`` is empty while its file is not there,
``stamp`` tells whether a file is the one that was read. ``chunk.hash`` is of what is embedded; ``vector`` has
one row for each window of it (``part``), in float16, or part -1 where nothing of it can be embedded.
``keyword`` is an FTS5 index without its text. ``removed``: what was deleted by hand and lies there still.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from node.core.caller import SCOPE_PUBLIC
from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld.cid import Cid
from node.knowledge.metadata import Holds
from node.knowledge.model import Chunk
from node.store.file_store import FileStore
from node.store.writer import Schema, SqliteFile, insert

PAGE_BYTES = 16_384
SCHEMA = Schema(
    name="store of documents",
    application_id=int.from_bytes(b"NSd1", "big"),
    version=1,
    statements="""
CREATE TABLE document (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    folder TEXT NOT NULL,
    path TEXT NOT NULL,
    cid TEXT,
    sha256 TEXT NOT NULL,
    stamp TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified TEXT NOT NULL,
    own_title TEXT NOT NULL,
    fields TEXT NOT NULL,
    manifest TEXT NOT NULL,
    note TEXT NOT NULL,
    profile TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'current',
    last_modified TEXT NOT NULL DEFAULT '',
    effective TEXT,
    supersedes TEXT NOT NULL DEFAULT '[]',
    conflict_with TEXT NOT NULL DEFAULT '[]',
    in_manifest INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '[]',
    language TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    UNIQUE (folder, path)
);
CREATE INDEX document_by_scope ON document (scope);
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES document (id),
    ordinal INTEGER NOT NULL,
    heading TEXT NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    page INTEGER,
    hash BLOB NOT NULL,
    UNIQUE (document, ordinal)
);
CREATE INDEX chunk_by_hash ON chunk (hash);
CREATE TABLE vector (
    hash BLOB NOT NULL,
    model TEXT NOT NULL,
    part INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (hash, model, part)
) WITHOUT ROWID;
CREATE TABLE block (multihash BLOB PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE link (
    document INTEGER NOT NULL REFERENCES document (id),
    multihash BLOB NOT NULL REFERENCES block (multihash),
    PRIMARY KEY (document, multihash)
) WITHOUT ROWID;
CREATE INDEX link_by_block ON link (multihash);
CREATE TABLE removed (
    folder TEXT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (folder, path)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE keyword USING fts5 (
    words, content = '', tokenize = "unicode61 remove_diacritics 2"
)
""",
    synchronous="FULL",
    page_bytes=PAGE_BYTES,
)
HASH_BYTES = 16
ABOUT = -1
"""The ordinal of a document's description among its chunks, which is no part of its text."""
_UNSPACED = re.compile("([\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af])")

Row = Mapping[str, Any]
Vectors = Mapping[bytes, Sequence[bytes]]
"""By the hash of a chunk: of each window its vector in float16."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was read. ``row``: columns of ``document`` that come from the file alone."""

    row: Row
    chunks: Sequence[Chunk]
    blocks: Sequence[tuple[Cid, bytes]]


@dataclass(frozen=True, slots=True)
class Changed:
    """``hashes``: chunks whose vectors may now be looked for, or no longer. ``cids``: versions that no longer
    hold. ``count``: documents, or chunks that were written."""

    hashes: tuple[bytes, ...] = ()
    cids: tuple[str, ...] = ()
    count: int = 0


def hash_of(chunk: Chunk) -> bytes:
    """Names what is embedded of a chunk."""
    return hashlib.sha256(chunk.searched.encode()).digest()[:HASH_BYTES]


def words_of(text: str) -> str:
    """A text as keywords are looked for in it: a writing without blanks by its characters."""
    return _UNSPACED.sub(r" \1 ", text)


def _chunk(row: sqlite3.Row) -> Chunk:
    return Chunk(
        row["id"], row["document"], row["ordinal"], row["text"], tuple(orjson.loads(row["heading"])),
        row["start"], row["end"], row["page"],
    )  # fmt: skip


# --- in the writer thread ---------------------------------------------------------------------------


def _clear(connection: sqlite3.Connection, document: int) -> list[bytes]:
    """Take a document's chunks, keywords and blocks away; the hashes of its chunks."""
    hashes: list[bytes] = []
    for row in connection.execute("SELECT * FROM chunk WHERE document = ?", (document,)).fetchall():
        gone = "INSERT INTO keyword (keyword, rowid, words) VALUES ('delete', ?, ?)"
        connection.execute(gone, (row["id"], words_of(_chunk(row).searched)))
        hashes.append(row["hash"])
    connection.execute("DELETE FROM chunk WHERE document = ?", (document,))
    linked = connection.execute("SELECT multihash FROM link WHERE document = ?", (document,)).fetchall()
    connection.execute("DELETE FROM link WHERE document = ?", (document,))
    unused = "DELETE FROM block WHERE multihash = ? AND NOT EXISTS (SELECT 1 FROM link WHERE multihash = ?)"
    connection.executemany(unused, [(row[0], row[0]) for row in linked])
    return hashes


def _add(connection: sqlite3.Connection, document: int, chunk: Chunk) -> bytes:
    """One chunk with its keywords; its hash."""
    hash_ = hash_of(chunk)
    row = {
        "document": document, "ordinal": chunk.ordinal, "text": chunk.text, "start": chunk.start,
        "end": chunk.end, "page": chunk.page, "hash": hash_, "heading": orjson.dumps(chunk.heading).decode(),
    }  # fmt: skip
    number = connection.execute(insert("chunk", row), row).lastrowid
    words = (number, words_of(chunk.searched))
    connection.execute("INSERT INTO keyword (rowid, words) VALUES (?, ?)", words)
    return hash_


def _describe(connection: sqlite3.Connection, document: int, sha256: str, said: str, tags: str) -> Changed:
    """Nothing where its bytes are others by now."""
    known = connection.execute(
        "UPDATE document SET description = ?, tags = iif(tags = '[]', ?, tags) "
        "WHERE id = ? AND sha256 = ? AND description = ''",
        (said, tags, document, sha256),
    )
    return Changed((_add(connection, document, _about(said)),)) if known.rowcount else Changed()


def _about(description: str) -> Chunk:
    return Chunk(0, 0, ABOUT, description, (), 0, 0)


def _drop_unused(connection: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
    unused = "DELETE FROM vector WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM chunk WHERE hash = ?)"
    connection.executemany(unused, [(one, one) for one in hashes])


def _put(connection: sqlite3.Connection, taken: Taken, model: str, vectors: Vectors) -> Changed:
    named = (taken.row["folder"], taken.row["path"])
    before = connection.execute(
        "SELECT id, scope, cid, sha256, description FROM document WHERE folder = ? AND path = ?", named
    ).fetchone()
    old: list[bytes] = []
    if before is None:
        document = connection.execute(insert("document", taken.row), taken.row).lastrowid
    else:
        document = before["id"]
        old = _clear(connection, document)
        connection.execute(
            f"UPDATE document SET {_set(taken.row)} WHERE id = :id", {**taken.row, "id": document}
        )
    is_other = before is not None and before["sha256"] not in ("", taken.row["sha256"])
    if is_other:  # what was said of the former bytes
        former = "UPDATE document SET description = '', tags = '[]', last_modified = '' WHERE id = ?"
        connection.execute(former, (document,))
    for cid, data in taken.blocks:
        connection.execute("INSERT OR IGNORE INTO block VALUES (?, ?)", (cid.multihash, data))
        connection.execute("INSERT OR IGNORE INTO link VALUES (?, ?)", (document, cid.multihash))
    assert document is not None
    hashes = [_add(connection, document, chunk) for chunk in taken.chunks]
    if before is not None and not is_other and before["description"]:
        hashes.append(_add(connection, document, _about(before["description"])))
    _keep(connection, model, vectors)
    _drop_unused(connection, old)
    connection.execute("DELETE FROM removed WHERE folder = ? AND path = ?", named)
    cids = (before["cid"],) if is_other and before["cid"] else ()
    return Changed(tuple({*old, *hashes}), cids, len(taken.chunks))


def _keep(connection: sqlite3.Connection, model: str, vectors: Vectors) -> None:
    """Of chunks that are still there."""
    for hash_, parts in vectors.items():
        if connection.execute("SELECT 1 FROM chunk WHERE hash = ?", (hash_,)).fetchone() is None:
            continue
        rows = [(hash_, model, part, data) for part, data in enumerate(parts)] or [(hash_, model, -1, b"")]
        connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)


_LISTED = "SELECT * FROM document WHERE id IN (SELECT value FROM json_each(?))"


def _remove(connection: sqlite3.Connection, ids: Sequence[int], *, missing: bool) -> Changed:
    """``missing``: their files are gone and the documents stay known; else nothing of them stays, but that
    their files are not to be taken in again as they are."""
    rows = connection.execute(_LISTED, (orjson.dumps(ids).decode(),)).fetchall()
    hashes: set[bytes] = set()
    for row in rows:
        hashes.update(_clear(connection, row["id"]))
        if missing:
            gone = "UPDATE document SET cid = NULL, sha256 = '', stamp = '', size = 0, fields = '{}', "
            gone += "description = '', manifest = '[]', status = 'missing' WHERE id = ?"
            connection.execute(gone, (row["id"],))
        else:
            connection.execute("DELETE FROM document WHERE id = ?", (row["id"],))
            if not row["folder"].startswith("@"):
                named = (row["folder"], row["path"], row["sha256"])
                connection.execute("INSERT OR REPLACE INTO removed VALUES (?, ?, ?)", named)
    _drop_unused(connection, hashes)
    if hashes and not missing:  # nothing of what was deleted stays in the index's segments
        connection.execute("INSERT INTO keyword (keyword) VALUES ('optimize')")
    cids = tuple(row["cid"] for row in rows if row["cid"] is not None)
    return Changed(tuple(hashes), cids, len(rows))


def _settle(connection: sqlite3.Connection, folder: str, scope: str, holds: Mapping[str, Holds]) -> Changed:
    """Write what holds of each document of a folder where it is not what is there."""
    cids: list[str] = []
    count = 0
    known = connection.execute("SELECT * FROM document WHERE folder = ?", (folder,)).fetchall()
    for row in known:
        one = holds.get(row["path"])
        if one is None or (row["sha256"] == "" and row["modified"] == "" and not one.in_manifest):
            connection.execute("DELETE FROM document WHERE id = ?", (row["id"],))  # no manifest names it now
            continue
        columns = _columns(one)
        for name in ("language", "tags"):  # what was found out otherwise stays
            if not getattr(one, name):
                del columns[name]
        if all(row[name] == value for name, value in columns.items()):
            continue
        connection.execute(
            f"UPDATE document SET {_set(columns)} WHERE id = :id",
            {**columns, "id": row["id"]},
        )
        count += 1
        if row["cid"] is not None and row["last_modified"]:
            cids.append(row["cid"])
    for path in holds.keys() - {row["path"] for row in known}:
        blank = dict.fromkeys(
            ("sha256", "stamp", "media_type", "modified", "own_title", "note", "profile"), ""
        )
        ghost = {**blank, "scope": scope, "folder": folder, "path": path, "size": 0, "fields": "{}"}
        row = {**ghost, "manifest": "[]", **_columns(holds[path])}
        connection.execute(insert("document", row), row)
        count += 1
    return Changed(cids=tuple(cids), count=count)


def _set(row: Iterable[str]) -> str:
    return ", ".join(f"{name} = :{name}" for name in row)


def _columns(one: Holds) -> dict[str, Any]:
    return {
        "title": one.title,
        "status": one.status,
        "last_modified": one.last_modified.isoformat(),
        "effective": None if one.effective is None else one.effective.isoformat(),
        "supersedes": orjson.dumps(one.supersedes).decode(),
        "conflict_with": orjson.dumps(one.conflict_with).decode(),
        "in_manifest": int(one.in_manifest),
        "tags": orjson.dumps(one.tags).decode(),
        "language": one.language,
    }


def _owed(connection: sqlite3.Connection, model: str, limit: int) -> list[tuple[bytes, Chunk]]:
    has = "SELECT 1 FROM vector v WHERE v.hash = c.hash AND v.model = ?"
    look = f"SELECT * FROM chunk c WHERE NOT EXISTS ({has}) GROUP BY hash ORDER BY id LIMIT ?"
    rows = connection.execute(look, (model, limit)).fetchall()
    return [(row["hash"], _chunk(row)) for row in rows]


def _known_hashes(connection: sqlite3.Connection, model: str, hashes: Sequence[bytes]) -> set[bytes]:
    look = "SELECT 1 FROM vector WHERE hash = ? AND model = ?"
    return {one for one in hashes if connection.execute(look, (one, model)).fetchone() is not None}


# --- the store ----------------------------------------------------------------------------------------


class DocumentStore(FileStore):
    """One open file. ``listeners`` hear of every change once it is committed, in the event loop's thread."""

    def __init__(self, file: SqliteFile) -> None:
        super().__init__(file)
        self.blocks = PublicDocuments(file)
        self.listeners: list[Callable[[Changed], None]] = []

    @classmethod
    async def open(cls, path: Path) -> DocumentStore:
        """Open or create ``path``. Raises ``CorruptState`` and ``Unavailable``."""
        return cls(await SqliteFile.open(path, SCHEMA))

    async def put(self, taken: Taken, model: str = "", vectors: Vectors | None = None) -> Changed:
        """One document in place of the one at its path. Raises ``Unavailable``: nothing of it is there."""
        return self._told(await self._file.write(_put, taken, model, vectors or {}))

    async def remove(self, ids: Sequence[int], *, missing: bool = False) -> Changed:
        """See ``_remove``. Raises ``Unavailable``."""
        return self._told(await self._file.write(partial(_remove, missing=missing), list(ids)))

    async def settle(self, folder: str, scope: str, holds: Mapping[str, Holds]) -> Changed:
        """What holds of the documents of a folder. Raises ``Unavailable``."""
        return self._told(await self._file.write(_settle, folder, scope, holds))

    async def touch(self, document: int, stamp: str) -> None:
        """The file was looked at again and has the bytes that it had."""
        await self._file.run("UPDATE document SET stamp = ? WHERE id = ?", (stamp, document))

    async def describe(self, document: int, sha256: str, description: str, tags: Sequence[str]) -> None:
        """What a model says of a document with these bytes, apart from its text; it goes when they change.
        Tags that a manifest gives stand. Raises ``Unavailable``."""
        said = orjson.dumps(list(tags)).decode()
        self._told(await self._file.write(_describe, document, sha256, description, said))

    async def undescribed(self, limit: int) -> list[Row]:
        """Rows of documents that have a text and no description, the newest first."""
        has_text = "EXISTS (SELECT 1 FROM chunk WHERE document = document.id AND ordinal >= 0)"
        look = f"SELECT * FROM document WHERE description = '' AND {has_text} ORDER BY id DESC LIMIT ?"
        return [dict(row) for row in await self._file.rows(look, (limit,))]

    async def of_folder(self, folder: str) -> list[Row]:
        """Rows of ``document``. Raises ``Unavailable``."""
        rows = await self._file.rows("SELECT * FROM document WHERE folder = ? ORDER BY path", (folder,))
        return [dict(row) for row in rows]

    async def folders(self) -> list[tuple[str, str]]:
        """Each folder, and the scope of what lies in it."""
        rows = await self._file.rows("SELECT folder, min(scope) FROM document GROUP BY folder")
        return [(row[0], row[1]) for row in rows]

    async def removed(self, folder: str) -> dict[str, str]:
        """Path → SHA-256 of what was deleted by hand."""
        rows = await self._file.rows("SELECT path, sha256 FROM removed WHERE folder = ?", (folder,))
        return {row["path"]: row["sha256"] for row in rows}

    async def texts(self, document: int, limit: int) -> list[str]:
        """The texts of its first chunks, in order."""
        look = "SELECT text FROM chunk WHERE document = ? AND ordinal >= 0 ORDER BY ordinal LIMIT ?"
        return [str(row[0]) for row in await self._file.rows(look, (document, limit))]

    async def counts(self) -> dict[str, int]:
        """``documents`` that are there, ``missing``, ``chunks``, ``bytes``."""
        [row] = await self._file.rows(
            "SELECT count(*) FILTER (WHERE sha256 <> '') AS documents, "
            "count(*) FILTER (WHERE sha256 = '') AS missing, "
            "(SELECT count(*) FROM chunk WHERE ordinal >= 0) AS chunks, "
            "coalesce(sum(size), 0) AS bytes FROM document"
        )
        return dict(row)

    async def owed(self, model: str, limit: int) -> list[tuple[bytes, Chunk]]:
        """Chunks without a vector of this model, one of each text."""
        return await self._file.read(_owed, model, limit)

    async def known(self, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Those that have vectors of this model."""
        return await self._file.read(_known_hashes, model, hashes)

    async def keep(self, model: str, vectors: Vectors) -> None:
        """Vectors of chunks that are there. Raises ``Unavailable``."""
        await self._file.write(_keep, model, vectors)
        self._told(Changed(hashes=tuple(vectors)))

    def _told(self, changed: Changed) -> Changed:
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
