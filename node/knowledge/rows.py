"""Rows of ``documents.sqlite`` as they are written and read: each function works over a connection, inside a
transaction that is not its own, and keeps what ``store`` promises."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from node.core.errors import CorruptState, NodeError, NotFound, Rejected
from node.core.ipld.cid import RAW, Cid
from node.knowledge.metadata import Holds
from node.knowledge.model import Chunk
from node.knowledge.schema import ANY, chunk_digest, digest_of, logged_as, new_name
from node.knowledge.sealing import ScopeKey, Sealer
from node.store.writer import insert

HASH_BYTES = 16
ABOUT_SCOPE = "about "
"""In front of a scope: vectors of descriptions lie apart from those of texts."""
ABOUT = -1
"""The ordinal of a document's description among its chunks, which is no part of its text."""
_UNSPACED = re.compile("([\u0e00-\u0eff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_FRESH = {
    "title": "",
    "status": "current",
    "last_modified": "",
    "effective": None,
    "supersedes": "[]",
    "conflict_with": "[]",
    "in_manifest": 0,
    "tags": "[]",
    "language": "",
    "description": "",
}
"""A document of which nothing is known but its file."""
CHUNKS = "SELECT c.*, d.scope, d.uid FROM chunk c JOIN document d ON d.id = c.document"
GONE = "what its tenant has was erased while it was taken in; send it again"

Row = Mapping[str, Any]
Vectors = Mapping[bytes, Sequence[bytes]]
"""By the hash of a chunk: of each window its vector in float16."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was read. ``row``: columns of ``document`` that come from the file alone; ``key``: of what
    is private the key of its scope, as it was when the reading began; ``before``: the id of the document that
    it stands for, where that is known."""

    row: Row
    chunks: Sequence[Chunk]
    blocks: Sequence[tuple[Cid, bytes]]
    key: ScopeKey | None = None
    before: int | None = None

    @property
    def hashes(self) -> list[bytes]:
        """Of each chunk."""
        return [hash_of(chunk, self.key) for chunk in self.chunks]


@dataclass(frozen=True, slots=True)
class Changed:
    """``hashes``: chunks whose vectors may now be looked for, or no longer. ``cids``: versions that no longer
    hold, by what they are ``known_as``. ``count``: documents, or chunks that were written; ``cleared``:
    whether words were taken out of the index."""

    hashes: tuple[bytes, ...] = ()
    cids: tuple[str, ...] = ()
    count: int = 0
    cleared: bool = False


def hash_of(chunk: Chunk, key: ScopeKey | None = None) -> bytes:
    """Names what is embedded of a chunk."""
    said = chunk.searched.encode()
    return (hashlib.sha256(said).digest() if key is None else key.name(b"chunk", said))[:HASH_BYTES]


def words_of(text: str) -> str:
    """A text as keywords are looked for in it: a writing without blanks by its characters."""
    return _UNSPACED.sub(r" \1 ", text)


def _clear_chunk(row: sqlite3.Row) -> Chunk:
    heading = ()
    with suppress(orjson.JSONDecodeError):  # damaged: what goes by it is told by the digest
        heading = tuple(orjson.loads(row["heading"]))
    return Chunk(
        row["id"], row["document"], row["ordinal"], row["text"], heading,
        row["start"], row["end"], row["page"],
    )  # fmt: skip


def chunk_of(row: sqlite3.Row, sealer: Sealer) -> Chunk:
    """A row of ``CHUNKS``. Raises ``CorruptState``, ``NotFound``."""
    if row["words"] is None:
        if row["digest"] != chunk_digest(dict(row)):
            raise CorruptState(f"chunk {row['id']} of a document is damaged")
        return _clear_chunk(row)
    key = sealer.key(row["scope"])
    assert key is not None
    text, heading, start, end, page = orjson.loads(key.open(_about(row), row["text"]))
    return Chunk(row["id"], row["document"], row["ordinal"], text, tuple(heading), start, end, page)


def _about(row: Mapping[str, Any] | sqlite3.Row) -> bytes:
    return f"{row['uid']}/{row['ordinal']}".encode()


def _about_vector(hash_: bytes, model: str, part: int) -> bytes:
    return b"%b/%d/%b" % (hash_, part, model.encode())


def tolerant(connection: sqlite3.Connection) -> None:
    """Let damaged texts be read: their row's digest tells that they are."""
    connection.text_factory = lambda data: data.decode("utf-8", "replace")


# --- in the writer thread ---------------------------------------------------------------------------


def _save(connection: sqlite3.Connection, sealer: Sealer, row: Row) -> int:
    """Write a whole row of ``document``, in place of the one of its id; its id."""
    stored = {name: value for name, value in row.items() if name != "known_as"}
    if (key := sealer.key(row["scope"])) is None:
        stored |= {"sealed": None, "digest": digest_of(row)}
    else:
        stored = sealer.hidden(key, stored)
    if "id" in stored:
        connection.execute(f"UPDATE document SET {_set(stored)} WHERE id = :id", stored)  # noqa: S608 - names of columns, ours
        return int(stored["id"])
    return int(connection.execute(insert("document", stored), stored).lastrowid or 0)


def _shown(sealer: Sealer, row: sqlite3.Row) -> dict[str, Any]:
    """What can be read of a row."""
    try:
        return sealer.shown(dict(row))
    except NodeError:
        return {**dict(row), "known_as": ""}


def clear(connection: sqlite3.Connection, document: int) -> list[bytes]:
    """Take a document's chunks, keywords and blocks away; the hashes of its chunks. Needs no key."""
    hashes: list[bytes] = []
    for row in connection.execute("SELECT * FROM chunk WHERE document = ?", (document,)).fetchall():
        sealed = row["words"] if "words" in row.keys() else None  # noqa: SIM118 - a row has no such names
        words = words_of(_clear_chunk(row).searched) if sealed is None else sealed
        gone = "INSERT INTO keyword (keyword, rowid, words) VALUES ('delete', ?, ?)"
        connection.execute(gone, (row["id"], words))
        hashes.append(row["hash"])
    connection.execute("DELETE FROM chunk WHERE document = ?", (document,))
    linked = connection.execute("SELECT multihash FROM link WHERE document = ?", (document,)).fetchall()
    connection.execute("DELETE FROM link WHERE document = ?", (document,))
    unused = "DELETE FROM block WHERE multihash = ? AND NOT EXISTS (SELECT 1 FROM link WHERE multihash = ?)"
    connection.executemany(unused, [(row[0], row[0]) for row in linked])
    return hashes


def drop_unused(connection: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
    """Vectors of chunks of which none is left."""
    unused = "DELETE FROM vector WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM chunk WHERE hash = ?)"
    connection.executemany(unused, [(one, one) for one in hashes])


def put(
    connection: sqlite3.Connection, sealer: Sealer, taken: Taken, model: str, vectors: Vectors
) -> Changed:
    key, new = taken.key, taken.row
    if key is not None and not sealer.holds(key):
        raise Rejected(GONE)
    found = connection.execute(
        "SELECT * FROM document WHERE id = ? OR (folder = ? AND path IN (?, ?))",
        (taken.before, new["folder"], new["path"], sealer.path(new["folder"], new["path"])),
    ).fetchone()
    before = None if found is None else _shown(sealer, found)
    old = [] if before is None else clear(connection, before["id"])
    is_other = before is not None and before["sha256"] not in ("", new["sha256"])
    row = {**_FRESH, "uid": new_name(), "nonce": new_name(), **(before or {}), **new}
    if before is not None and is_other:  # what was said of the former bytes
        row |= {"description": "", "tags": "[]", "last_modified": ""}
    document = _save(connection, sealer, row | {"is_owed": 0})
    for cid, data in taken.blocks:
        name = cid.multihash if key is None else key.name(b"block", cid.multihash)
        bytes_ = data if key is None else key.seal(name, data)
        connection.execute("INSERT OR IGNORE INTO block VALUES (?, ?)", (name, bytes_))
        connection.execute("INSERT OR IGNORE INTO link VALUES (?, ?)", (document, name))
    described = [_description(row["description"])] if row["description"] else []
    hashes = [_add(connection, document, row["uid"], chunk, key) for chunk in (*taken.chunks, *described)]
    keep(connection, sealer, model, vectors)
    drop_unused(connection, old)
    for path in (new["path"], sealer.path(new["folder"], new["path"])):
        connection.execute("DELETE FROM removed WHERE folder = ? AND path = ?", (new["folder"], path))
    _enter(connection, row, "changed" if is_other else "again" if before and before["sha256"] else "new")
    cids = (before["known_as"],) if before is not None and is_other and before["known_as"] else ()
    return Changed(tuple({*old, *hashes}), cids, len(taken.chunks), bool(old))


def _add(
    connection: sqlite3.Connection, document: int, uid: str, chunk: Chunk, key: ScopeKey | None
) -> bytes:
    """One chunk with its words for the index; its hash."""
    hash_ = hash_of(chunk, key)
    at = {"document": document, "ordinal": chunk.ordinal, "hash": hash_}
    stored, words = _chunk_row(chunk, key, uid)
    number = connection.execute(insert("chunk", at | stored), at | stored).lastrowid
    connection.execute("INSERT INTO keyword (rowid, words) VALUES (?, ?)", (number, words))
    return hash_


def _description(said: str) -> Chunk:
    return Chunk(0, 0, ABOUT, said, (), 0, 0)


def describe(
    connection: sqlite3.Connection, sealer: Sealer, document: int, sha256: str, said: str, tags: str
) -> Changed:
    """What a model says of a document; nothing where its bytes are others by now. Tags that stand stay."""
    found = connection.execute("SELECT * FROM document WHERE id = ?", (document,)).fetchone()
    row = None if found is None else sealer.shown(found)
    if row is None or row["sha256"] != sha256 or row["description"]:
        return Changed()
    _save(
        connection, sealer, {**row, "description": said, "tags": tags if row["tags"] == "[]" else row["tags"]}
    )
    return Changed((_add(connection, document, row["uid"], _description(said), sealer.key(row["scope"])),))


def _chunk_row(chunk: Chunk, key: ScopeKey | None, uid: str) -> tuple[dict[str, Any], str]:
    """As it is stored, and its words for the index."""
    said = {"text": chunk.text, "start": chunk.start, "end": chunk.end, "page": chunk.page}
    if key is None:
        row = {**said, "ordinal": chunk.ordinal, "heading": orjson.dumps(chunk.heading).decode()}
        return {**row, "words": None, "digest": chunk_digest(row)}, words_of(chunk.searched)
    inside = orjson.dumps([chunk.text, chunk.heading, chunk.start, chunk.end, chunk.page])
    sealed = key.seal(_about({"uid": uid, "ordinal": chunk.ordinal}), inside)
    words = " ".join(key.words(words_of(chunk.searched)))
    hidden = {"text": sealed, "heading": "", "start": 0, "end": 0, "page": None}
    return {**hidden, "words": words, "digest": None}, words


def _enter(connection: sqlite3.Connection, row: Row, event: str) -> None:
    """A change, for the log."""
    said = (row["scope"], event, logged_as(row))
    connection.execute("INSERT INTO entry (scope, event, name) VALUES (?, ?, ?)", said)


def keep(connection: sqlite3.Connection, sealer: Sealer, model: str, vectors: Vectors) -> None:
    """Of chunks that are still there."""
    for hash_, parts in vectors.items():
        row = connection.execute(f"{CHUNKS} WHERE c.hash = ? LIMIT 1", (hash_,)).fetchone()
        if row is None or row["scope"] in sealer.lost:
            continue
        key = sealer.key(row["scope"])
        rows = [
            (hash_, model, part, data if key is None else key.seal(_about_vector(hash_, model, part), data))
            for part, data in enumerate(parts)
        ] or [(hash_, model, -1, b"")]
        connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)


_LISTED = "SELECT * FROM document WHERE id IN (SELECT value FROM json_each(?))"


def remove(connection: sqlite3.Connection, sealer: Sealer, ids: Sequence[int], *, missing: bool) -> Changed:
    """``missing``: their files are gone and the documents stay known; else nothing of them stays, but that
    their files are not to be taken in again as they are."""
    rows = connection.execute(_LISTED, (orjson.dumps(ids).decode(),)).fetchall()
    hashes: set[bytes] = set()
    for row in rows:
        hashes.update(clear(connection, row["id"]))
        if missing and (shown := sealer.shown(row)):
            _enter(connection, shown, "missing")
            gone = {"cid": None, "sha256": "", "stamp": "", "size": 0, "fields": "{}", "manifest": "[]"}
            gone |= {"is_owed": 0, "description": ""}
            _save(connection, sealer, shown | gone | {"status": "missing"})
        else:
            named = sealer.named(dict(row))
            forget(connection, named, named["sha256"])
    drop_unused(connection, hashes)
    cids = tuple(name for row in rows if (name := _shown(sealer, row)["known_as"]))
    return Changed(tuple(hashes), cids, len(rows), bool(hashes))


def forget(connection: sqlite3.Connection, row: Row | sqlite3.Row, sha256: str = ANY) -> None:
    """Delete a row of ``document``; a file with these bytes that lies in its folder is not taken in again."""
    connection.execute("DELETE FROM document WHERE id = ?", (row["id"],))
    if not row["folder"].startswith("@"):
        named = (row["folder"], row["path"], sha256)
        connection.execute("INSERT OR REPLACE INTO removed VALUES (?, ?, ?)", named)


def erase(connection: sqlite3.Connection, sealer: Sealer, scope: str, limit: int) -> Changed:
    """Some of what is left of a scope whose key was destroyed; a count of 0 where nothing was."""
    look = "SELECT id FROM document WHERE scope = ? LIMIT ?"
    ids = [row[0] for row in connection.execute(look, (scope, limit))]
    if not ids:
        sealer.forget(connection, scope)
    return remove(connection, sealer, ids, missing=False)


def settle(
    connection: sqlite3.Connection, sealer: Sealer, folder: str, scope: str, holds: Mapping[str, Holds]
) -> Changed:
    """Write what holds of each document of a folder where it is not what is there."""
    cids: list[str] = []
    count = 0
    known = []
    for stored in connection.execute("SELECT * FROM document WHERE folder = ?", (folder,)).fetchall():
        with suppress(NodeError):  # what cannot be read now stays as it is
            known.append(sealer.shown(stored))
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
        _save(connection, sealer, {**row, **columns})
        count += 1
        if row["cid"] is not None and row["last_modified"]:
            cids.append(row["known_as"])
            _enter(connection, row, "holds")
    for path in holds.keys() - {row["path"] for row in known}:
        blank = dict.fromkeys(
            ("sha256", "stamp", "media_type", "modified", "own_title", "note", "profile"), ""
        )
        ghost = {**blank, "scope": scope, "folder": folder, "path": path, "size": 0, "fields": "{}"}
        named = {"cid": None, "manifest": "[]", "uid": new_name(), "nonce": new_name()}
        _save(connection, sealer, {**_FRESH, **ghost, **named, **_columns(holds[path])})
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


def change(connection: sqlite3.Connection, sealer: Sealer, document: int, columns: Row) -> None:
    """Some columns of a document that may be gone."""
    row = connection.execute("SELECT * FROM document WHERE id = ?", (document,)).fetchone()
    if row is not None:
        _save(connection, sealer, {**sealer.shown(row), **columns})


def seal_old(connection: sqlite3.Connection, sealer: Sealer, limit: int) -> int:
    """Documents that a file of format 1 holds in the clear; of how many. Their chunks are named anew, so
    their vectors are made anew."""
    look = "SELECT * FROM document WHERE scope NOT IN ('public', 'shared') AND sealed IS NULL LIMIT ?"
    rows = connection.execute(look, (limit,)).fetchall()
    for row in rows:
        key = sealer.hold(sealer.begin(connection, row["scope"]))
        chunks = connection.execute("SELECT * FROM chunk WHERE document = ? ORDER BY ordinal", (row["id"],))
        taken = [_clear_chunk(chunk) for chunk in chunks.fetchall() if chunk["ordinal"] != ABOUT]
        blocks = "SELECT multihash, data FROM block JOIN link USING (multihash) WHERE document = ?"
        held = connection.execute(blocks, (row["id"],)).fetchall()
        drop_unused(connection, clear(connection, row["id"]))
        shown = sealer.shown(row)
        put(
            connection,
            sealer,
            Taken(shown, taken, [(_of_multihash(one[0]), one[1]) for one in held], key, row["id"]),
            "",
            {},
        )
    return len(rows)


def drop_unreadable(connection: sqlite3.Connection, sealer: Sealer) -> list[str]:
    """Documents that nobody can tell from others any more: their row is damaged, or the row of their key is
    lost. Their files are read again; what was uploaded has to be sent again. In what folders they lay."""
    folders: list[str] = []
    for row in connection.execute("SELECT * FROM document").fetchall():
        try:
            sealer.shown(dict(row))
        except NodeError:
            if row["scope"] in sealer.lost:
                continue  # its key may be put back
            drop_unused(connection, clear(connection, row["id"]))
            connection.execute("DELETE FROM document WHERE id = ?", (row["id"],))
            folders.append(row["folder"])
    return folders


def rebuild_words(connection: sqlite3.Connection) -> None:
    """The index of keywords, anew from the chunks."""
    connection.execute("INSERT INTO keyword (keyword) VALUES ('delete-all')")
    for row in connection.execute("SELECT * FROM chunk ORDER BY id"):
        words = words_of(_clear_chunk(row).searched) if row["words"] is None else row["words"]
        connection.execute("INSERT INTO keyword (rowid, words) VALUES (?, ?)", (row["id"], words))


def block(connection: sqlite3.Connection, sealer: Sealer, scope: str, cid: Cid) -> bytes:
    """A block of a document of this scope. Raises ``NotFound``, ``CorruptState``."""
    key = sealer.key(scope)
    name = cid.multihash if key is None else key.name(b"block", cid.multihash)
    row = connection.execute("SELECT data FROM block WHERE multihash = ?", (name,)).fetchone()
    if row is None:
        raise NotFound(f"block {cid} is not here")
    data = bytes(row[0]) if key is None else key.open(name, row[0])
    if not cid.matches(data):
        raise CorruptState(f"the block {cid} has other bytes")
    return data


def _of_multihash(multihash: bytes) -> Cid:
    return Cid(RAW, multihash[2:])


# --- reading ----------------------------------------------------------------------------------------


def owed(connection: sqlite3.Connection, sealer: Sealer, model: str, limit: int) -> list[tuple[bytes, Chunk]]:
    has = "SELECT 1 FROM vector v WHERE v.hash = c.hash AND v.model = ?"
    tolerant(connection)
    lost = "d.scope NOT IN (SELECT value FROM json_each(?))"
    look = f"{CHUNKS} WHERE NOT EXISTS ({has}) AND {lost} GROUP BY c.hash ORDER BY c.id LIMIT ?"
    rows = connection.execute(look, (model, orjson.dumps([*sealer.lost]).decode(), limit)).fetchall()
    found: list[tuple[bytes, Chunk]] = []
    for row in rows:
        with suppress(NodeError):
            found.append((row["hash"], chunk_of(row, sealer)))
    return found


def known_hashes(connection: sqlite3.Connection, model: str, hashes: Sequence[bytes]) -> set[bytes]:
    look = "SELECT 1 FROM vector WHERE hash = ? AND model = ?"
    return {one for one in hashes if connection.execute(look, (one, model)).fetchone() is not None}


_SAVED = (
    "SELECT DISTINCT c.ordinal < 0, d.scope, v.hash, v.part, v.data "
    "FROM vector v JOIN chunk c ON c.hash = v.hash "
)
_JOINED = _SAVED + "JOIN document d ON d.id = c.document WHERE v.model = ? AND v.part >= 0"


def saved(
    connection: sqlite3.Connection, sealer: Sealer, model: str, hashes: Sequence[bytes] | None
) -> list[tuple[str, bytes, int, bytes]]:
    """(scope, hash, part, vector) of what is stored, or of these chunks; ``ABOUT_SCOPE`` stands in front of
    the scope where it is a description's."""
    look = _JOINED if hashes is None else f"{_JOINED} AND v.hash = ?"
    asked = [(model,)] if hashes is None else [(model, one) for one in hashes]
    found: list[tuple[str, bytes, int, bytes]] = []
    for values in asked:
        for is_about, scope, hash_, part, data in connection.execute(look, values):
            with suppress(NodeError):
                key = sealer.key(scope)
                about = _about_vector(hash_, model, part)
                opened = data if key is None else key.open(about, data)
                found.append((f"{ABOUT_SCOPE}{scope}" if is_about else scope, hash_, part, opened))
    return found
