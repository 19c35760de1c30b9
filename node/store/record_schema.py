"""What a block file holds, by statements, and how a file of an older format becomes one of this format.

Format 3 (``PRAGMA user_version``), application id ``NSw1``. ``block`` holds bytes by multihash, sealed where
``key_id`` names the slot of a key (``record_keys``, ``private_rows``); ``record`` one row per record block
with the columns it is found by and what it is worth (``record_rules``, rule 7: ``hits`` as of ``used``,
``cost_us``, ``worth``); ``alias`` what was merged, each with its survivor; ``withdrawal`` the change feed;
``total`` running sums kept by triggers, so that ``counts`` never scans; ``spent_key`` slots that no row names
any more, until their keys are destroyed; ``note`` what is known of the file as a whole. Times are seconds
since 1970, ``confidence`` is in millionths, ``tags`` a JSON list.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial

import orjson

from node.core.errors import Rejected
from node.core.record import AnswerRecord, decode
from node.store import private_rows, record_rules
from node.store.record_keys import RecordKeys
from node.store.writer import Schema

_CHUNK = 500
SET_NOTE = "INSERT OR REPLACE INTO note VALUES (?, ?)"
NOTE = "SELECT value FROM note WHERE name = ?"
FORGET_NOTE = "DELETE FROM note WHERE name = ?"
SEALED_BY = "sealed_by"
"""Note: the name of the key file that opens what is sealed here."""
WIPE = "wipe"
"""Note: the file is still to be written anew, for what was freed in it once was not overwritten."""

PAGE_BYTES = 16_384
FORMAT = 3
"""Five records of 3 KB fill a page of 16 KiB: 67 MB for 20,000 of them against 83 MB with pages of 4 or 8
KiB, batched puts a quarter faster, single ones 5 % slower (measured)."""

_STATEMENTS = """
CREATE TABLE block (
    id INTEGER PRIMARY KEY,
    multihash BLOB NOT NULL UNIQUE,
    codec INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE record (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    multihash BLOB NOT NULL UNIQUE,
    block_id INTEGER REFERENCES block (id),
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('live', 'withdrawn', 'removed')),
    issuer TEXT NOT NULL,
    origin TEXT NOT NULL,
    scope TEXT NOT NULL,
    context TEXT,
    timestamp INTEGER NOT NULL,
    expires INTEGER,
    confidence INTEGER,
    query_hash TEXT,
    slot_key TEXT,
    keyword_key TEXT,
    embedding_digest TEXT,
    target BLOB,
    verdict TEXT,
    valid INTEGER NOT NULL DEFAULT 0,
    invalid INTEGER NOT NULL DEFAULT 0,
    kept TEXT,
    hits REAL NOT NULL DEFAULT 1,
    used INTEGER NOT NULL DEFAULT 0,
    cost_us INTEGER NOT NULL DEFAULT 1,
    worth REAL NOT NULL DEFAULT 0,
    source_kind TEXT,
    source_id TEXT,
    tags TEXT
);
CREATE INDEX record_query_hash ON record (query_hash, context, scope, timestamp)
    WHERE kind = 'answer' AND state = 'live';
CREATE INDEX record_slot_key ON record (slot_key, context, scope, timestamp)
    WHERE kind = 'answer' AND state = 'live' AND slot_key IS NOT NULL;
CREATE INDEX record_keyword_key ON record (keyword_key, context, scope, timestamp)
    WHERE kind = 'answer' AND state = 'live' AND keyword_key IS NOT NULL;
CREATE INDEX record_expires ON record (expires)
    WHERE kind = 'answer' AND state = 'live' AND expires IS NOT NULL;
CREATE INDEX record_target ON record (target, kind) WHERE target IS NOT NULL;
CREATE INDEX record_block ON record (block_id);
CREATE TABLE withdrawal (
    change INTEGER PRIMARY KEY AUTOINCREMENT,
    multihash BLOB NOT NULL UNIQUE,
    reason TEXT NOT NULL
);
CREATE TABLE total (
    blocks INTEGER NOT NULL, bytes INTEGER NOT NULL, records INTEGER NOT NULL, live INTEGER NOT NULL
);
INSERT INTO total VALUES (0, 0, 0, 0);
CREATE TRIGGER block_added AFTER INSERT ON block BEGIN
    UPDATE total SET blocks = blocks + 1, bytes = bytes + length(NEW.data);
END;
CREATE TRIGGER block_changed AFTER UPDATE OF data ON block BEGIN
    UPDATE total SET bytes = bytes + length(NEW.data) - length(OLD.data);
END;
CREATE TRIGGER block_deleted AFTER DELETE ON block BEGIN
    UPDATE total SET blocks = blocks - 1, bytes = bytes - length(OLD.data);
END;
CREATE TRIGGER record_added AFTER INSERT ON record BEGIN
    UPDATE total SET records = records + (NEW.block_id IS NOT NULL),
        live = live + (NEW.kind = 'answer' AND NEW.state = 'live');
END;
CREATE TRIGGER record_changed AFTER UPDATE OF state, block_id ON record BEGIN
    UPDATE total SET records = records + (NEW.block_id IS NOT NULL) - (OLD.block_id IS NOT NULL),
        live = live + (NEW.kind = 'answer' AND NEW.state = 'live')
            - (OLD.kind = 'answer' AND OLD.state = 'live');
END;
CREATE TRIGGER record_deleted AFTER DELETE ON record BEGIN
    UPDATE total SET records = records - (OLD.block_id IS NOT NULL),
        live = live - (OLD.kind = 'answer' AND OLD.state = 'live');
END;
"""

_VALUE_COLUMNS = (
    "hits REAL NOT NULL DEFAULT 1",
    "used INTEGER NOT NULL DEFAULT 0",
    "cost_us INTEGER NOT NULL DEFAULT 1",
    "worth REAL NOT NULL DEFAULT 0",
    "source_kind TEXT",
    "source_id TEXT",
    "tags TEXT",
)
_SINCE_2 = (
    "CREATE INDEX record_spent ON record (sequence)"
    " WHERE kind = 'answer' AND state = 'withdrawn' AND block_id IS NOT NULL",
    "CREATE INDEX record_worth ON record (worth, confidence, sequence)"
    " WHERE kind = 'answer' AND state = 'live'",
    "CREATE TABLE alias ("
    " multihash BLOB PRIMARY KEY,"
    " survivor BLOB NOT NULL,"
    " query_hash TEXT NOT NULL,"
    " keyword_key TEXT,"
    " context TEXT,"
    " scope TEXT NOT NULL,"
    " source_kind TEXT NOT NULL,"
    " source_id TEXT NOT NULL,"
    " timestamp INTEGER NOT NULL,"
    " origin TEXT NOT NULL)",
    "CREATE INDEX alias_query_hash ON alias (query_hash, context, scope)",
    "CREATE INDEX alias_keyword_key ON alias (keyword_key, context, scope) WHERE keyword_key IS NOT NULL",
    "CREATE INDEX alias_survivor ON alias (survivor, timestamp, multihash)",
)


_SINCE_3 = (
    "ALTER TABLE block ADD COLUMN key_id INTEGER",
    "CREATE INDEX block_key ON block (key_id) WHERE key_id IS NOT NULL",
    "ALTER TABLE alias ADD COLUMN key_id INTEGER",
    "ALTER TABLE alias ADD COLUMN sealed BLOB",
    "CREATE INDEX alias_key ON alias (key_id) WHERE key_id IS NOT NULL",
    "CREATE TABLE spent_key (id INTEGER PRIMARY KEY)",
    "CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TRIGGER block_deleted_key AFTER DELETE ON block WHEN OLD.key_id IS NOT NULL"
    " BEGIN INSERT OR IGNORE INTO spent_key VALUES (OLD.key_id); END",
    "CREATE TRIGGER block_changed_key AFTER UPDATE OF key_id ON block"
    " WHEN OLD.key_id IS NOT NULL AND NEW.key_id IS NOT OLD.key_id"
    " BEGIN INSERT OR IGNORE INTO spent_key VALUES (OLD.key_id); END",
    "CREATE TRIGGER alias_deleted_key AFTER DELETE ON alias WHEN OLD.key_id IS NOT NULL"
    " BEGIN INSERT OR IGNORE INTO spent_key VALUES (OLD.key_id); END",
)

KeywordKey = Callable[[str], str | None]
"""The key of a question, as look-ups make it now."""


def _from_1_to_2(connection: sqlite3.Connection, keyword_key: KeywordKey | None = None) -> None:
    """Answers get what the columns of format 2 say of them, read from their blocks. Keyword keys are made
    anew, where somebody says how: those of format 1 are never asked for any more."""
    for column in _VALUE_COLUMNS:
        connection.execute(f"ALTER TABLE record ADD COLUMN {column}")
    sequence = 0
    while rows := connection.execute(
        "SELECT r.sequence, b.data FROM record AS r JOIN block AS b ON b.id = r.block_id"
        " WHERE r.kind = 'answer' AND r.sequence > ? ORDER BY r.sequence LIMIT ?",
        (sequence, _CHUNK),
    ).fetchall():
        for sequence, data in rows:
            try:
                record = decode(data, check_signature=False)
            except Rejected:
                continue  # damaged: it is not given out, and worth nothing
            if isinstance(record, AnswerRecord):
                cost_us, at_s = (
                    record_rules.default_cost_us(record.source.kind),
                    int(record.timestamp.timestamp()),
                )
                value = record_rules.Value(cost_us, 1.0, at_s, len(data))
                connection.execute(
                    "UPDATE record SET hits = ?, used = ?, cost_us = ?, worth = ?, source_kind = ?,"
                    " source_id = ?, tags = ? WHERE sequence = ?",
                    (value.uses, value.used_s, value.cost_us, value.worth, *found_by(record), sequence),
                )
                if keyword_key is not None:
                    connection.execute(
                        "UPDATE record SET keyword_key = ? WHERE sequence = ? AND keyword_key IS NOT NULL",
                        (keyword_key(record.query), sequence),
                    )
    for statement in _SINCE_2:
        connection.execute(statement)


def found_by(record: AnswerRecord) -> tuple[str, str, str | None]:
    """The columns ``source_kind``, ``source_id`` and ``tags``."""
    tags = orjson.dumps(list(record.tags)).decode() if record.tags else None
    return record.source.kind, record.source.id, tags


NAMED = ("context", "query_hash", "slot_key", "keyword_key", "source_id", "tags")
EMPTY_ROW = (
    "UPDATE record SET block_id = NULL, context = NULL,"
    " query_hash = NULL, slot_key = NULL, keyword_key = NULL, kept = NULL, source_id = NULL, tags = NULL,"
    " state = CASE state WHEN 'live' THEN 'removed' ELSE state END"
    " WHERE multihash = ? AND block_id IS NOT NULL RETURNING state"
)
"""A record loses its block and what it is found by."""


def row_names(keys: RecordKeys, record: AnswerRecord, keyword_key: str | None) -> dict[str, str | None]:
    """The columns ``NAMED``, by which an answer is found: what they say; of a private one names for it."""
    _, source_id, tags = found_by(record)
    columns = {
        "context": record.context,
        "query_hash": record.query_hash,
        "slot_key": record.slot_key,
        "keyword_key": keyword_key,
        "source_id": source_id,
    }
    if record_rules.is_private(record.scope):
        columns = {column: private_rows.mark(keys, column, value) for column, value in columns.items()}
        marks = [private_rows.mark(keys, "tag", tag) for tag in record.tags]
        tags = orjson.dumps(marks).decode() if marks else None
    return columns | {"tags": tags}


def _from_2_to_3(connection: sqlite3.Connection, keys: RecordKeys) -> None:
    """Private records are sealed; those that were superseded or have expired go, as they do from now on."""
    for statement in _SINCE_3:
        connection.execute(statement)
    if connection.execute(_ANY_PRIVATE).fetchone() is None:
        return
    keys.begin()
    keys.claim(())
    connection.execute(SET_NOTE, (SEALED_BY, keys.name))
    connection.execute(SET_NOTE, (WIPE, b""))  # older programs did not wipe what they freed
    _drop_ended(connection)
    after = 0
    while rows := connection.execute(_PRIVATE_RECORDS, (after, _CHUNK)).fetchall():
        for _, multihash, block_id, keyword_key, kept, data in rows:
            text = None if kept is None else kept.encode()
            slot, sealed = private_rows.seal_record(keys, multihash, data, text)
            connection.execute("UPDATE block SET data = ?, key_id = ? WHERE id = ?", (sealed, slot, block_id))
            names: dict[str, str | None] = {}
            try:
                record = decode(data, check_signature=False)
            except Rejected:
                record = None  # damaged: it is not given out, and found by nothing
            if isinstance(record, AnswerRecord):
                names = row_names(keys, record, keyword_key)
            connection.execute(
                "UPDATE record SET context = ?, query_hash = ?, slot_key = ?, keyword_key = ?,"
                " source_id = ?, tags = ?, kept = NULL WHERE multihash = ?",
                (*(names.get(column) for column in NAMED), multihash),
            )
        after = rows[-1][0]
    _seal_aliases(connection, keys)


_ANY_PRIVATE = "SELECT 1 FROM record WHERE scope NOT IN ('shared', 'public') LIMIT 1"
_PRIVATE_RECORDS = (
    "SELECT r.sequence, r.multihash, r.block_id, r.keyword_key, r.kept, b.data"
    " FROM record AS r JOIN block AS b ON b.id = r.block_id"
    " WHERE r.scope NOT IN ('shared', 'public') AND r.sequence > ? ORDER BY r.sequence LIMIT ?"
)
_ENDED = (
    "SELECT r.multihash, r.block_id FROM record AS r JOIN withdrawal AS w ON w.multihash = r.multihash"
    " WHERE r.scope NOT IN ('shared', 'public') AND r.state = 'withdrawn' AND r.block_id IS NOT NULL"
    " AND w.reason IN ('superseded', 'expired')"
)


def _drop_ended(connection: sqlite3.Connection) -> None:
    for multihash, block_id in connection.execute(_ENDED).fetchall():
        connection.execute(EMPTY_ROW, (multihash,))
        connection.execute("DELETE FROM alias WHERE survivor = ?", (multihash,))
        connection.execute("DELETE FROM block WHERE id = ?", (block_id,))


def _seal_aliases(connection: sqlite3.Connection, keys: RecordKeys) -> None:
    rows = connection.execute(
        "SELECT multihash, query_hash, source_id, context, keyword_key FROM alias"
        " WHERE scope NOT IN ('shared', 'public')"
    ).fetchall()
    for multihash, query_hash, source_id, context, keyword_key in rows:
        slot, sealed = private_rows.seal_alias(keys, multihash, query_hash, source_id)
        connection.execute(
            "UPDATE alias SET query_hash = ?, context = ?, keyword_key = ?, source_id = '', key_id = ?,"
            " sealed = ? WHERE multihash = ?",
            (
                private_rows.mark(keys, "query_hash", query_hash),
                private_rows.mark(keys, "context", context),
                private_rows.mark(keys, "keyword_key", keyword_key),
                slot,
                sealed,
                multihash,
            ),
        )


def schema(keys: RecordKeys, keyword_key: KeywordKey | None) -> Schema:
    """The schema of a block file whose private records are sealed with ``keys``."""
    return Schema(
        name="block store",
        application_id=int.from_bytes(b"NSw1", "big"),
        version=FORMAT,
        statements=_STATEMENTS + ";".join((*_SINCE_2, *_SINCE_3)),
        synchronous="FULL",
        page_bytes=PAGE_BYTES,
        upgrades={1: partial(_from_1_to_2, keyword_key=keyword_key), 2: partial(_from_2_to_3, keys=keys)},
    )
