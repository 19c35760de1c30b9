"""The tables of ``documents.sqlite``, and how a file of an older format becomes one of this.

Format 2 (``PRAGMA user_version``), application id ``NSd1``. ``document.folder`` is the absolute path of the
folder that it lies in, or ``@`` and the scope of an upload; ``sha256`` is empty while its file is not there,
``stamp`` tells whether a file is the one that was read. ``uid`` names the document as long as it is here,
whatever its bytes, and says nothing of it; ``nonce``: for ``logged_as``. ``chunk.hash`` is of what is
embedded; ``vector`` has one row for each window of it (``part``), in float16, or part -1 where nothing of it
can be embedded. ``keyword`` is an FTS5 index without its text. ``removed``: what was deleted by hand and lies
there still, by names of its path and of the hash that it had, or ``ANY``. ``entry``: changes that the log has
not been told of. ``digest`` covers a row that is not sealed. What is private lies as ``sealing`` says.
``is_owed``: it has to be read again from its blocks, for its chunks were lost.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from node.core.caller import SCOPE_PUBLIC
from node.core.clock import random_bytes
from node.store.writer import Schema

PAGE_BYTES = 16_384
ANY = "*"
"""In ``removed``: whatever bytes the file has."""
_NEW_1 = """
CREATE TABLE scope_key (scope TEXT PRIMARY KEY, slot INTEGER NOT NULL, sealed BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, event TEXT NOT NULL, name TEXT NOT NULL
)
"""
_COLUMNS_1 = (
    ("document", "uid", "TEXT NOT NULL DEFAULT ''"),
    ("document", "nonce", "TEXT NOT NULL DEFAULT ''"),
    ("document", "sealed", "BLOB"),
    ("document", "digest", "BLOB"),
    ("document", "is_owed", "INTEGER NOT NULL DEFAULT 0"),
    ("chunk", "words", "TEXT"),
    ("chunk", "digest", "BLOB"),
)
DIGESTED = (
    *("uid", "scope", "folder", "path", "cid", "sha256", "media_type", "size", "modified", "own_title"),
    *("fields", "manifest", "title", "status", "last_modified", "effective", "supersedes", "conflict_with"),
    *("in_manifest", "tags", "language", "description"),
)
MADE = ("chunk", "vector", "keyword", *(f"keyword_{one}" for one in ("data", "idx", "docsize", "config")))
"""Tables that are made anew from what the others hold."""
_OF_A_CHUNK = ("ordinal", "heading", "text", "start", "end", "page")
_DIGEST_BYTES = 8


def digest_of(row: Mapping[str, Any], names: Iterable[str] = DIGESTED) -> bytes:
    """What tells whether a row is as it was written: of a document, or of these columns."""
    said = orjson.dumps([row[name] for name in names])
    return hashlib.sha256(said).digest()[:_DIGEST_BYTES]


def chunk_digest(row: Mapping[str, Any]) -> bytes:
    """``digest_of`` a chunk."""
    return digest_of(row, _OF_A_CHUNK)


def new_name() -> str:
    """For ``uid`` and ``nonce``: 32 random hex digits."""
    return random_bytes(16).hex()


def logged_as(row: Mapping[str, Any]) -> str:
    """What a version of a document is called where its hash must not stand: its CID where that is public,
    else 32 hex digits that say nothing once the document and its nonce are gone; empty where it has no
    bytes."""
    if not row["cid"] or row["scope"] == SCOPE_PUBLIC:
        return row["cid"] or ""
    return hmac.digest(row["nonce"].encode(), row["cid"].encode(), "sha256").hex()[:32]


def first_uid(row: Mapping[str, Any]) -> str:
    """The ``uid`` of a document that a file of format 1 holds."""
    said = f"{row['id']}\0{row['folder']}\0{row['path']}"
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def _from_1(connection: sqlite3.Connection) -> None:
    """What is private is sealed by whoever has the keys, as soon as the file is open."""
    for table, name, kind in _COLUMNS_1:
        connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
    for statement in _NEW_1.split(";"):
        connection.execute(statement)
    for row in connection.execute("SELECT * FROM document").fetchall():
        full = {**dict(row), "uid": first_uid(row)}
        told = (full["uid"], new_name(), digest_of(full), row["id"])
        connection.execute("UPDATE document SET uid = ?, nonce = ?, digest = ? WHERE id = ?", told)
    last = 0
    while page := connection.execute(
        "SELECT * FROM chunk WHERE id > ? ORDER BY id LIMIT 1000", (last,)
    ).fetchall():
        last = page[-1]["id"]
        made = [(chunk_digest(row), row["id"]) for row in page]
        connection.executemany("UPDATE chunk SET digest = ? WHERE id = ?", made)


SCHEMA = Schema(
    name="store of documents",
    application_id=int.from_bytes(b"NSd1", "big"),
    version=2,
    upgrades={1: _from_1},
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
    uid TEXT NOT NULL DEFAULT '',
    nonce TEXT NOT NULL DEFAULT '',
    sealed BLOB,
    digest BLOB,
    is_owed INTEGER NOT NULL DEFAULT 0,
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
    words TEXT,
    digest BLOB,
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
);
"""
    + _NEW_1,
    synchronous="FULL",
    page_bytes=PAGE_BYTES,
)
