"""Blocks and records in one SQLite file, ``blocks.sqlite``: what this node remembers.

Promises: a block and the row that finds it commit together and are synced before ``add`` or ``put``
returns; every block is hashed again on its way out; a look-up stays an index look-up however many
records there are; withdrawals are kept in order so that an index can replay them.
It knows nothing of vectors, thresholds or peers' standing.

Format 2 (``PRAGMA user_version``), application id ``NSw1``. ``block`` holds bytes by multihash; ``record``
one row per record block with the columns it is found by and what it is worth (``rules``, rule 7: ``hits`` as
of ``used``, ``cost_us``, ``worth``); ``alias`` what was merged, each with its survivor; ``withdrawal`` the
change feed; ``total`` running sums kept by triggers, so that ``counts`` never scans. Times are seconds since
1970, ``confidence`` is in millionths, ``tags`` a JSON list. A file of format 1 is turned into one of format 2
when it is opened, in one transaction.

Deleting a block that a record names removes the record: its row loses block, keys, tags and kept text, stays
as ``removed`` (``withdrawn`` if it was), is reported by ``withdrawn_since`` and is not found by ``get``. A
removed record may come back with a new sequence; a withdrawn and deleted one is refused. A deleted tombstone
or validation still counts. A merged record whose block is deleted through ``blocks`` loses its alias too; one
whose block is only reclaimed keeps it, without its question's text.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from node.errors import CorruptState, NotFound, Rejected, Unavailable, Withdrawn
from node.ipfs.cid import DAG_CBOR, Cid
from node.model import Json
from node.ports import Alias, BlockChanges, BlockRef, BlockStore, Selection, StoredRecord, Use
from node.record import AnswerRecord, Record, TombstoneRecord, ValidationRecord, decode
from node.store import rules
from node.store.verifying import VerifyingBlockStore
from node.store.writer import Job, Schema, SqliteFile

_log = logging.getLogger(__name__)

T = TypeVar("T")

PAGE_BYTES = 16_384
"""Five records of 3 KB fill a page of 16 KiB: 67 MB for 20,000 of them against 83 MB with pages of 4 or 8
KiB, batched puts a quarter faster, single ones 5 % slower (measured)."""

_CHUNK = 500
"""CIDs in one statement: below SQLite's limit on variables, old versions included."""
_INTEGER_MAX = 2**63 - 1

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
                cost_us, at_s = rules.default_cost_us(record.source.kind), int(record.timestamp.timestamp())
                value = rules.Value(cost_us, 1.0, at_s, len(data))
                connection.execute(
                    "UPDATE record SET hits = ?, used = ?, cost_us = ?, worth = ?, source_kind = ?,"
                    " source_id = ?, tags = ? WHERE sequence = ?",
                    (value.uses, value.used_s, value.cost_us, value.worth, *_found_by(record), sequence),
                )
                if keyword_key is not None:
                    connection.execute(
                        "UPDATE record SET keyword_key = ? WHERE sequence = ? AND keyword_key IS NOT NULL",
                        (keyword_key(record.query), sequence),
                    )
    for statement in _SINCE_2:
        connection.execute(statement)


def _found_by(record: AnswerRecord) -> tuple[str, str, str | None]:
    """The columns ``source_kind``, ``source_id`` and ``tags``."""
    tags = orjson.dumps(list(record.tags)).decode() if record.tags else None
    return record.source.kind, record.source.id, tags


_SCHEMA = Schema(
    name="block store",
    application_id=int.from_bytes(b"NSw1", "big"),
    version=2,
    statements=_STATEMENTS + ";".join(_SINCE_2),
    synchronous="FULL",
    page_bytes=PAGE_BYTES,
    upgrades={1: _from_1_to_2},
)

_COLUMNS = (
    "SELECT r.sequence, r.multihash, r.state, r.origin, r.valid, r.invalid, r.kept, b.data, r.timestamp"
)
_SELECT = f"{_COLUMNS} FROM record AS r JOIN block AS b ON b.id = r.block_id"
_SELECT_VALUE = (
    "SELECT r.cost_us, r.hits, r.used, length(b.data) FROM record AS r JOIN block AS b ON b.id = r.block_id"
)
_SELECT_PLACE = "SELECT r.sequence, r.multihash, r.scope FROM record AS r"
_LIVE_ANSWER = "r.kind = 'answer' AND r.state = 'live'"
_FIND = {
    column: f"{_SELECT} WHERE {_LIVE_ANSWER} AND r.{column} = ? AND r.context IS ? AND r.scope = ?"
    " ORDER BY r.timestamp DESC, r.sequence DESC LIMIT ?"
    for column in rules.FIND_COLUMNS
}
_FIND_ALIASED = {
    column: f"{_COLUMNS} FROM alias AS a CROSS JOIN record AS r ON r.multihash = a.survivor"
    f" JOIN block AS b ON b.id = r.block_id"
    f" WHERE a.{column} = ? AND a.context IS ? AND a.scope = ? AND {_LIVE_ANSWER}"
    " ORDER BY r.timestamp DESC, r.sequence DESC LIMIT ?"
    for column in ("query_hash", "keyword_key")
}


def _seconds(when: datetime | None) -> int | None:
    return None if when is None else int(when.timestamp())


def _record_cid(multihash: bytes) -> Cid:
    return Cid(DAG_CBOR, multihash[2:])


def _read_row(row: Sequence[Any]) -> StoredRecord:
    """One row of ``_SELECT``: the block is hashed again; its signature was checked when it came in."""
    sequence, multihash, state, origin, valid, invalid, kept, data, _ = row
    cid = _record_cid(multihash)
    if hashlib.sha256(data).digest() != cid.digest:
        raise CorruptState(
            f"the block of record {cid} has other bytes; delete it and fetch it from a peer or a backup"
        )
    try:
        record = decode(data, check_signature=False)
    except Rejected as exc:
        raise CorruptState(f"record {cid} does not decode any more: {exc}") from exc
    return StoredRecord(
        sequence=sequence,
        cid=cid,
        record=record,
        state=state,
        origin=origin,
        valid=valid,
        invalid=invalid,
        kept=None if kept is None else orjson.loads(kept),
    )


def _read_whole_rows(rows: Sequence[Sequence[Any]]) -> list[StoredRecord]:
    """The rows whose block is sound: one damaged block must not take the other answers with it."""
    found: list[StoredRecord] = []
    for row in rows:
        try:
            found.append(_read_row(row))
        except CorruptState as exc:
            _log.error("event=record_damaged sequence=%d reason=%s", row[0], exc)
    return found


# --- what one transaction does (writer thread) ----------------------------------------------------


def _put_block(connection: sqlite3.Connection, cid: Cid, data: bytes) -> int:
    """The block's row id. A damaged copy that is already there is replaced by the good one."""
    connection.execute(
        "INSERT INTO block (multihash, codec, data) VALUES (?, ?, ?)"
        " ON CONFLICT (multihash) DO UPDATE SET data = excluded.data WHERE data <> excluded.data",
        (cid.multihash, cid.codec, data),
    )
    row = connection.execute("SELECT id FROM block WHERE multihash = ?", (cid.multihash,)).fetchone()
    return int(row[0])


def _note_withdrawal(connection: sqlite3.Connection, multihash: bytes, reason: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO withdrawal (multihash, reason) VALUES (?, ?)", (multihash, reason[:256])
    )


def _recount(connection: sqlite3.Connection, target: bytes) -> None:
    """Count our own verdicts on ``target`` and the latest of each other issuer, if the target is here."""
    connection.execute(
        "WITH latest AS (SELECT verdict, row_number() OVER"
        " (PARTITION BY issuer, CASE origin WHEN 'local' THEN multihash END"
        " ORDER BY timestamp DESC, multihash DESC) AS place"
        " FROM record WHERE target = :target AND kind = 'validation' AND state <> 'withdrawn')"
        " UPDATE record SET"
        " valid = (SELECT count(*) FROM latest WHERE place = 1 AND verdict = 'valid'),"
        " invalid = (SELECT count(*) FROM latest WHERE place = 1 AND verdict = 'invalid')"
        " WHERE multihash = :target",
        {"target": target},
    )


def _withdraw(connection: sqlite3.Connection, multihash: bytes, reason: str) -> bool:
    row = connection.execute(
        "UPDATE record SET state = 'withdrawn' WHERE multihash = ? AND state = 'live' RETURNING kind, target",
        (multihash,),
    ).fetchone()
    if row is None:
        return False
    _note_withdrawal(connection, multihash, reason)
    if row[0] == "validation":
        _recount(connection, row[1])
    return True


def _withdrawn_before(
    connection: sqlite3.Connection, multihash: bytes, issuer: str, own_issuer: str
) -> str | None:
    """Why a record that arrives now is withdrawn already (rules 3 and 4), or None."""
    row = connection.execute(
        "SELECT kind FROM record WHERE target = :target AND state <> 'withdrawn' AND ("
        " (issuer = :own AND origin = 'local' AND (kind = 'tombstone' OR verdict = 'invalid'))"
        " OR (kind = 'tombstone' AND issuer = :issuer AND issuer <> :own)) LIMIT 1",
        {"target": multihash, "own": own_issuer, "issuer": issuer},
    ).fetchone()
    if row is None:
        return None
    return "tombstone" if row[0] == "tombstone" else "invalid"


def _apply_word(connection: sqlite3.Connection, checked: rules.Checked, own_issuer: str) -> None:
    """A validation or tombstone that has just come in acts on its target, if that is here."""
    record = checked.record
    if isinstance(record, ValidationRecord):
        target = Cid.parse(record.target).multihash
        _recount(connection, target)
        if record.verdict == "invalid" and rules.is_own_word(record.issuer, checked.origin, own_issuer):
            _withdraw(connection, target, "invalid")
            survivor = _survivor(connection, target)
            if survivor is not None:
                _withdraw(connection, survivor, "invalid")
    elif isinstance(record, TombstoneRecord):
        target = Cid.parse(record.target).multihash
        row = connection.execute("SELECT issuer FROM record WHERE multihash = ?", (target,)).fetchone()
        if row is not None and rules.may_tombstone(record.issuer, checked.origin, row[0], own_issuer):
            _withdraw(connection, target, "tombstone")
            _drop_alias(connection, target)


def _insert_record(
    connection: sqlite3.Connection, checked: rules.Checked, block_id: int, own_issuer: str
) -> str:
    """Add the row, live or withdrawn on arrival, and return its state."""
    record, multihash = checked.record, checked.cid.multihash
    reason = _withdrawn_before(connection, multihash, record.issuer, own_issuer)
    state = rules.LIVE if reason is None else rules.WITHDRAWN
    answer = record if isinstance(record, AnswerRecord) else None
    word = record if isinstance(record, ValidationRecord | TombstoneRecord) else None
    embedding = answer.embedding if answer else None
    connection.execute(
        "INSERT INTO record (multihash, block_id, kind, state, issuer, origin, scope, context, timestamp,"
        " expires, confidence, query_hash, slot_key, keyword_key, embedding_digest, target, verdict, kept,"
        " source_kind, source_id, tags)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            multihash,
            block_id,
            record.kind,
            state,
            record.issuer,
            checked.origin,
            record.scope,
            answer.context if answer else None,
            _seconds(record.timestamp),
            _seconds(record.expires),
            answer.confidence if answer else None,
            answer.query_hash if answer else None,
            answer.slot_key if answer else None,
            checked.keyword_key if answer else None,
            embedding.digest if embedding else None,
            Cid.parse(word.target).multihash if word else None,
            word.verdict if isinstance(word, ValidationRecord) else None,
            None if checked.kept is None else checked.kept.decode(),
            *(_found_by(answer) if answer else (None, None, None)),
        ),
    )
    _set_value(connection, multihash, checked.value)
    _recount(connection, multihash)
    if reason is not None:
        _note_withdrawal(connection, multihash, reason)
    return state


def _set_value(connection: sqlite3.Connection, multihash: bytes, value: rules.Value) -> None:
    connection.execute(
        "UPDATE record SET hits = ?, used = ?, cost_us = ?, worth = ? WHERE multihash = ?",
        (value.uses, value.used_s, value.cost_us, value.worth, multihash),
    )


def _value(connection: sqlite3.Connection, multihash: bytes) -> rules.Value | None:
    """What a live answer is worth."""
    row = connection.execute(
        f"{_SELECT_VALUE} WHERE r.multihash = ? AND {_LIVE_ANSWER}",
        (multihash,),
    ).fetchone()
    return None if row is None else rules.Value(*row)


def _survivor(connection: sqlite3.Connection, multihash: bytes) -> bytes | None:
    row = connection.execute("SELECT survivor FROM alias WHERE multihash = ?", (multihash,)).fetchone()
    return None if row is None else bytes(row[0])


def _drop_alias(connection: sqlite3.Connection, multihash: bytes) -> None:
    connection.execute("DELETE FROM alias WHERE multihash = ?", (multihash,))


def _live_answer(connection: sqlite3.Connection, multihash: bytes) -> StoredRecord | None:
    """None also where its block is damaged: a record that comes in must not fail because of another."""
    rows = connection.execute(f"{_SELECT} WHERE r.multihash = ? AND {_LIVE_ANSWER}", (multihash,)).fetchall()
    return next(iter(_read_whole_rows(rows)), None)


def _merge(connection: sqlite3.Connection, other: bytes, survivor: bytes, *, timed: bool) -> None:
    """The live answer ``other`` becomes an alias of the live answer ``survivor``, with its own aliases."""
    _follow(connection, other, survivor, timed=timed)
    connection.execute(
        "INSERT OR REPLACE INTO alias (multihash, survivor, query_hash, keyword_key, context, scope,"
        " source_kind, source_id, timestamp, origin)"
        " SELECT multihash, ?, query_hash, keyword_key, context, scope, source_kind, source_id, timestamp,"
        " origin FROM record WHERE multihash = ?",
        (survivor, other),
    )
    _take_aliases(connection, other, survivor)
    _withdraw(connection, other, "merged")


def _follow(connection: sqlite3.Connection, other: bytes, survivor: bytes, *, timed: bool) -> None:
    """The uses of ``other`` pass on to what takes its place, and its cost, unless that was ``timed``."""
    value, old = _value(connection, survivor), _value(connection, other)
    if value is not None and old is not None:
        _set_value(connection, survivor, value.following(old, timed=timed))


def _take_aliases(connection: sqlite3.Connection, other: bytes, survivor: bytes) -> None:
    connection.execute("UPDATE alias SET survivor = ? WHERE survivor = ?", (survivor, other))
    connection.execute(
        "DELETE FROM alias WHERE survivor = ? AND multihash NOT IN (SELECT multihash FROM alias"
        " WHERE survivor = ? ORDER BY timestamp DESC, multihash DESC LIMIT ?)",
        (survivor, survivor, rules.ALIASES_MAX),
    )


def _supersede(connection: sqlite3.Connection, checked: rules.Checked, other: bytes) -> None:
    """A live record gives way to a newer one; the same answer to the same question keeps its aliases."""
    multihash, record = checked.cid.multihash, checked.record
    _follow(connection, other, multihash, timed=checked.cost_us is not None)
    has_aliases = connection.execute("SELECT 1 FROM alias WHERE survivor = ? LIMIT 1", (other,)).fetchone()
    if has_aliases:
        old = _live_answer(connection, other)
        if old is not None and rules.inherits(record, old.record):
            _take_aliases(connection, other, multihash)
    _withdraw(connection, other, "superseded")


def _merged_into(connection: sqlite3.Connection, checked: rules.Checked, into: bytes) -> bool:
    """Whether the record that has just come in became an alias of ``into``."""
    survivor = _live_answer(connection, into)
    if survivor is None:
        return False
    rules.check_merge(checked.record, checked.origin, survivor.record, survivor.origin)
    _merge(connection, checked.cid.multihash, into, timed=True)
    return True


def _take_wording(connection: sqlite3.Connection, checked: rules.Checked) -> None:
    """Our newest answer to this very question: no alias with the same wording answers it any more."""
    record = checked.record
    if isinstance(record, AnswerRecord) and checked.origin == rules.LOCAL:
        connection.execute(
            "DELETE FROM alias WHERE query_hash = ? AND context IS ? AND scope = ? AND source_kind = ?"
            " AND origin = ? AND survivor <> ?",
            (
                record.query_hash,
                record.context,
                record.scope,
                record.source.kind,
                rules.LOCAL,
                checked.cid.multihash,
            ),
        )


@dataclass(frozen=True, slots=True)
class _Ties:
    """What a record that comes in does to others (``RecordStore.add``)."""

    supersede: tuple[bytes, ...]
    merge: tuple[bytes, ...]
    into: bytes | None


def _add(
    connection: sqlite3.Connection, checked: rules.Checked, ties: _Ties, own_issuer: str
) -> StoredRecord:
    multihash = checked.cid.multihash
    block_id = _put_block(connection, checked.cid, checked.data)
    row = connection.execute(
        "SELECT state, block_id FROM record WHERE multihash = ?", (multihash,)
    ).fetchone()
    if row is not None and row[0] == "removed":
        connection.execute("DELETE FROM record WHERE multihash = ?", (multihash,))
        connection.execute("DELETE FROM withdrawal WHERE multihash = ?", (multihash,))
        row = None
    if row is None:
        state = _insert_record(connection, checked, block_id, own_issuer)
        into = ties.into
        if state == rules.LIVE and into is not None and _merged_into(connection, checked, into):
            state = rules.WITHDRAWN
        if state == rules.LIVE:
            _apply_word(connection, checked, own_issuer)
    else:
        state = row[0]
        if row[1] is None:
            raise Withdrawn(f"record {checked.cid} was withdrawn and deleted here")
    if state == rules.LIVE:
        for other in ties.supersede:
            if other != multihash:
                _supersede(connection, checked, other)
        for other in ties.merge:
            old = None if other == multihash else _live_answer(connection, other)
            if old is not None:
                rules.check_merge(checked.record, checked.origin, old.record, old.origin)
                _merge(connection, other, multihash, timed=checked.cost_us is not None)
        _take_wording(connection, checked)
    stored = connection.execute(f"{_SELECT} WHERE r.multihash = ?", (multihash,)).fetchone()
    return _read_row(stored)


def _delete(connection: sqlite3.Connection, multihash: bytes) -> None:
    row = connection.execute(
        "UPDATE record SET block_id = NULL,"
        " query_hash = NULL, slot_key = NULL, keyword_key = NULL, kept = NULL, source_id = NULL, tags = NULL,"
        " state = CASE state WHEN 'live' THEN 'removed' ELSE state END"
        " WHERE multihash = ? AND block_id IS NOT NULL RETURNING state",
        (multihash,),
    ).fetchone()
    if row is not None and row[0] == "removed":
        _note_withdrawal(connection, multihash, "removed")
    connection.execute("DELETE FROM alias WHERE survivor = ?", (multihash,))
    connection.execute("DELETE FROM block WHERE multihash = ?", (multihash,))


def _delete_for_good(connection: sqlite3.Connection, multihash: bytes) -> None:
    _delete(connection, multihash)
    _drop_alias(connection, multihash)


def _expire(connection: sqlite3.Connection, before_s: float, limit: int) -> list[Cid]:
    rows = connection.execute(
        "SELECT multihash FROM record"
        " WHERE kind = 'answer' AND state = 'live' AND expires IS NOT NULL AND expires < ?"
        " ORDER BY expires, sequence LIMIT ?",
        (before_s, limit),
    ).fetchall()
    return [_record_cid(multihash) for (multihash,) in rows if _withdraw(connection, multihash, "expired")]


_RECLAIM = (
    "SELECT multihash FROM record WHERE kind = 'answer' AND state = 'withdrawn' AND block_id IS NOT NULL"
    " ORDER BY sequence LIMIT :limit",
    "SELECT multihash FROM record WHERE kind = 'answer' AND state = 'live' AND expires IS NOT NULL"
    " AND expires <= :now ORDER BY expires, sequence LIMIT :limit",
    "SELECT multihash FROM record WHERE kind = 'answer' AND state = 'live'"
    " ORDER BY worth, confidence, sequence LIMIT :limit",
)


def _reclaim(connection: sqlite3.Connection, now_s: int, limit: int) -> list[Cid]:
    reclaimed: list[bytes] = []
    for statement in _RECLAIM:
        left = limit - len(reclaimed)
        rows = connection.execute(statement, {"limit": left, "now": now_s}).fetchall() if left else []
        for (multihash,) in rows:
            _delete(connection, multihash)
            reclaimed.append(multihash)
    return [_record_cid(multihash) for multihash in reclaimed]


def _withdraw_one(connection: sqlite3.Connection, multihash: bytes, reason: str) -> bool:
    """A merged record has only its wording to lose."""
    _drop_alias(connection, multihash)
    return _withdraw(connection, multihash, reason)


def _note_uses(connection: sqlite3.Connection, uses: Sequence[Use]) -> None:
    for use in uses:
        value = _value(connection, use.cid.multihash)
        if value is not None:
            _set_value(connection, use.cid.multihash, value.used(use.hits, use.at_s))


# --- what one read does (reader thread) -----------------------------------------------------------


def _find(
    connection: sqlite3.Connection,
    column: str,
    key: str,
    scopes: Sequence[str],
    context: str | None,
    limit: int,
) -> list[StoredRecord]:
    """One bounded index look-up per scope, merged: other tenants' rows under the same key are never read."""
    rows: list[Sequence[Any]] = []
    for scope in dict.fromkeys(scopes):
        rows += connection.execute(_FIND[column], (key, context, scope, limit)).fetchall()
        if column in _FIND_ALIASED:
            rows += connection.execute(_FIND_ALIASED[column], (key, context, scope, limit)).fetchall()
    found = sorted({row[0]: row for row in rows}.values(), key=lambda row: (row[8], row[0]), reverse=True)
    return _read_whole_rows(found[:limit])


def _aliases(connection: sqlite3.Connection, survivor: bytes) -> list[Alias]:
    rows = connection.execute(
        "SELECT a.multihash, a.query_hash, a.source_kind, a.source_id, a.timestamp, a.origin, b.data"
        " FROM alias AS a JOIN record AS r ON r.multihash = a.multihash"
        " LEFT JOIN block AS b ON b.id = r.block_id"
        " WHERE a.survivor = ? ORDER BY a.timestamp, a.multihash",
        (survivor,),
    ).fetchall()
    return [
        Alias(
            cid=_record_cid(multihash),
            query_hash=key,
            query=None if data is None else _question(data),
            source_kind=kind,
            source_id=source_id,
            timestamp=datetime.fromtimestamp(timestamp, UTC),
            origin=origin,
        )
        for multihash, key, kind, source_id, timestamp, origin, data in rows
    ]


def _question(data: bytes) -> str | None:
    try:
        record = decode(data, check_signature=False)
    except Rejected:
        return None
    return record.query if isinstance(record, AnswerRecord) else None


def _select(connection: sqlite3.Connection, selection: Selection, after: int, limit: int) -> list[BlockRef]:
    where, values = [f"{_LIVE_ANSWER} AND r.sequence > :after"], dict[str, Any](after=after, limit=limit)
    if selection.cid is not None:
        where.append("r.multihash = :cid")
        values["cid"] = selection.cid.multihash
    if selection.query_hash is not None:
        where.append(
            "(r.query_hash = :query OR r.multihash IN (SELECT survivor FROM alias WHERE query_hash = :query))"
        )
        values["query"] = selection.query_hash
    if selection.keyword_key is not None:
        where.append(
            "(r.keyword_key = :words OR r.multihash IN"
            " (SELECT survivor FROM alias WHERE keyword_key = :words))"
        )
        values["words"] = selection.keyword_key
    if selection.source is not None:
        where.append("(r.source_kind = :source OR r.source_id = :source)")
        values["source"] = selection.source
    if selection.before is not None:
        where.append("r.timestamp < :before")
        values["before"] = selection.before.timestamp()
    if selection.tag is not None:
        where.append(
            "r.tags IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(r.tags) WHERE json_each.value = :tag)"
        )
        values["tag"] = selection.tag
    if selection.scopes is not None:
        scopes = {f"scope{number}": scope for number, scope in enumerate(selection.scopes)}
        where.append(f"r.scope IN ({', '.join(f':{name}' for name in scopes)})")
        values |= scopes
    rows = connection.execute(
        f"{_SELECT_PLACE} WHERE {' AND '.join(where)} ORDER BY r.sequence LIMIT :limit",
        values,
    ).fetchall()
    return [BlockRef(number, _record_cid(multihash), scope) for number, multihash, scope in rows]


def _live(connection: sqlite3.Connection, multihashes: Sequence[bytes]) -> list[StoredRecord]:
    rows: list[Sequence[Any]] = []
    for start in range(0, len(multihashes), _CHUNK):
        chunk = multihashes[start : start + _CHUNK]
        marks = ", ".join("?" * len(chunk))
        rows += connection.execute(
            f"{_SELECT} WHERE {_LIVE_ANSWER} AND r.multihash IN ({marks})", tuple(chunk)
        ).fetchall()
    return _read_whole_rows(rows)


def _since(connection: sqlite3.Connection, sequence: int, limit: int) -> list[StoredRecord]:
    """Reads on past damaged rows: an empty list must mean that there is nothing more."""
    found: list[StoredRecord] = []
    while len(found) < limit:
        rows = connection.execute(
            f"{_SELECT} WHERE {_LIVE_ANSWER} AND r.sequence > ? ORDER BY r.sequence LIMIT ?",
            (sequence, limit - len(found)),
        ).fetchall()
        if not rows:
            break
        found += _read_whole_rows(rows)
        sequence = rows[-1][0]
    return found


def _block_changes(connection: sqlite3.Connection, sequence: int, change: int, limit: int) -> BlockChanges:
    withdrawn = connection.execute(
        "SELECT w.change, w.multihash, r.scope FROM withdrawal AS w"
        " JOIN record AS r ON r.multihash = w.multihash"
        " WHERE w.change > ? ORDER BY w.change LIMIT ?",
        (change, limit),
    ).fetchall()
    written = connection.execute(
        "SELECT sequence, multihash, scope FROM record"
        " WHERE sequence > ? AND state = 'live' AND block_id IS NOT NULL ORDER BY sequence LIMIT ?",
        (sequence, limit),
    ).fetchall()
    return BlockChanges(
        tuple(BlockRef(number, _record_cid(multihash), scope) for number, multihash, scope in withdrawn),
        tuple(BlockRef(number, _record_cid(multihash), scope) for number, multihash, scope in written),
    )


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    blocks, size, records, live = connection.execute(
        "SELECT blocks, bytes, records, live FROM total"
    ).fetchone()
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'record'").fetchone()
    return {
        "records": records,
        "live": live,
        "blocks": blocks,
        "bytes": size,
        "last_sequence": 0 if last is None else last[0],
    }


# --- the two views --------------------------------------------------------------------------------


class _View:
    """Half of a store: closing both halves closes the file, in whatever order."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._closed = False

    @property
    def _file(self) -> SqliteFile:
        if self._closed:
            raise Unavailable("the block store is closed")
        return self._store.file

    async def _change(self, job: Job[T]) -> T:
        """A write that a copy of the records has to follow."""
        value = await self._file.write(job)
        self._store.on_change()
        return value

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._store.open_views -= 1
        if self._store.open_views == 0:
            await self._store.file.close()


class _SqliteBlocks(_View):
    """The unchecked ``BlockStore``; ``SqliteStore.blocks`` is this one inside ``VerifyingBlockStore``."""

    async def put(self, cid: Cid, data: bytes) -> None:
        await self._file.write(lambda connection: _put_block(connection, cid, data))

    async def get(self, cid: Cid) -> bytes:
        row = await self._file.read(
            lambda connection: connection.execute(
                "SELECT data FROM block WHERE multihash = ?", (cid.multihash,)
            ).fetchone()
        )
        if row is None:
            raise NotFound(f"block {cid} is not here")
        return bytes(row[0])

    async def has(self, cid: Cid) -> bool:
        row = await self._file.read(
            lambda connection: connection.execute(
                "SELECT 1 FROM block WHERE multihash = ?", (cid.multihash,)
            ).fetchone()
        )
        return row is not None

    async def delete(self, cid: Cid) -> None:
        await self._change(lambda connection: _delete_for_good(connection, cid.multihash))


class SqliteRecords(_View):
    """The ``RecordStore``."""

    def __init__(self, store: SqliteStore, own_issuer: str) -> None:
        super().__init__(store)
        self._own_issuer = own_issuer

    async def add(
        self,
        record: Record,
        *,
        origin: str = rules.LOCAL,
        supersede: Sequence[Cid] = (),
        keyword_key: str | None = None,
        kept: Mapping[str, Json] | None = None,
        cost_us: int | None = None,
        merge: Sequence[Cid] = (),
        into: Cid | None = None,
    ) -> StoredRecord:
        checked = await self._file.offload(
            lambda: rules.check(record, origin=origin, keyword_key=keyword_key, kept=kept, cost_us=cost_us)
        )
        ties = _Ties(
            tuple(cid.multihash for cid in supersede),
            tuple(cid.multihash for cid in merge),
            None if into is None or into == checked.cid else into.multihash,
        )
        return await self._change(lambda connection: _add(connection, checked, ties, self._own_issuer))

    async def get(self, cid: Cid) -> StoredRecord:
        def job(connection: sqlite3.Connection) -> StoredRecord | None:
            row = connection.execute(f"{_SELECT} WHERE r.multihash = ?", (cid.multihash,)).fetchone()
            return None if row is None else _read_row(row)

        stored = None if cid.codec != DAG_CBOR else await self._file.read(job)
        if stored is None:
            raise NotFound(f"record {cid} is not here")
        return stored

    async def find(
        self,
        column: str,
        key: str,
        *,
        scopes: Sequence[str],
        context: str | None,
        limit: int = 8,
    ) -> list[StoredRecord]:
        """Raises ``Rejected`` for an unknown column or more than ``rules.SCOPES_MAX`` scopes."""
        rules.check_find(column, len(scopes))
        allowed, most = tuple(scopes), rules.clamp_limit(limit)
        return await self._file.read(
            lambda connection: _find(connection, column, key, allowed, context, most)
        )

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        """Raises ``Rejected`` for more than ``rules.LIMIT_MAX`` CIDs."""
        if len(cids) > rules.LIMIT_MAX:
            raise Rejected(f"at most {rules.LIMIT_MAX} records are read at once")
        wanted = [cid.multihash for cid in dict.fromkeys(cids) if cid.codec == DAG_CBOR]
        stored = await self._file.read(lambda connection: _live(connection, wanted))
        return {one.cid: one for one in stored}

    async def since(self, sequence: int, *, limit: int = 1_000) -> list[StoredRecord]:
        start, most = min(sequence, _INTEGER_MAX), rules.clamp_limit(limit)
        return await self._file.read(lambda connection: _since(connection, start, most))

    async def withdrawn_since(self, change: int, *, limit: int = 1_000) -> list[tuple[int, Cid]]:
        """Apply these before what ``since`` gives: a removed record may have come back since."""
        start, most = min(change, _INTEGER_MAX), rules.clamp_limit(limit)
        rows = await self._file.read(
            lambda connection: connection.execute(
                "SELECT change, multihash FROM withdrawal WHERE change > ? ORDER BY change LIMIT ?",
                (start, most),
            ).fetchall()
        )
        return [(number, _record_cid(multihash)) for number, multihash in rows]

    async def block_changes(self, sequence: int, change: int, *, limit: int = 1_000) -> BlockChanges:
        after, since, most = min(sequence, _INTEGER_MAX), min(change, _INTEGER_MAX), rules.clamp_limit(limit)
        return await self._file.read(lambda connection: _block_changes(connection, after, since, most))

    async def withdraw(self, cid: Cid, reason: str) -> bool:
        return await self._change(lambda connection: _withdraw_one(connection, cid.multihash, reason))

    async def expire(self, now: datetime, *, grace_s: int, limit: int = 1_000) -> list[Cid]:
        before_s, most = now.timestamp() - grace_s, rules.clamp_limit(limit)
        return await self._change(lambda connection: _expire(connection, before_s, most))

    async def reclaim(self, *, now: datetime | None = None, limit: int = 1_000) -> list[Cid]:
        now_s, most = -1 if now is None else int(now.timestamp()), rules.clamp_limit(limit)
        return await self._change(lambda connection: _reclaim(connection, now_s, most))

    async def note_uses(self, uses: Sequence[Use]) -> None:
        rules.check_uses(uses)
        noted = [use for use in uses if use.cid.codec == DAG_CBOR]
        await self._file.write(lambda connection: _note_uses(connection, noted))

    async def aliases(self, cid: Cid) -> list[Alias]:
        return await self._file.read(lambda connection: _aliases(connection, cid.multihash))

    async def survivor(self, cid: Cid) -> Cid | None:
        found = await self._file.read(lambda connection: _survivor(connection, cid.multihash))
        return None if found is None else _record_cid(found)

    async def select(self, selection: Selection, *, after: int = 0, limit: int = 1_000) -> list[BlockRef]:
        rules.check_selection(selection)
        start, most = min(after, _INTEGER_MAX), rules.clamp_limit(limit)
        return await self._file.read(lambda connection: _select(connection, selection, start, most))

    async def counts(self) -> dict[str, int]:
        return await self._file.read(_counts)


class SqliteStore:
    """One open file and its two views, ``blocks`` and ``records``. ``on_change`` is called on the event loop
    after each committed change of records; it must be quick and must not raise."""

    def __init__(self, file: SqliteFile, own_issuer: str) -> None:
        self.file = file
        self.on_change: Callable[[], None] = lambda: None
        self.open_views = 2
        self.blocks: BlockStore = VerifyingBlockStore(_SqliteBlocks(self))
        self.records = SqliteRecords(self, own_issuer)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        own_issuer: str,
        queue_max: int = 1_024,
        readers: int = 2,
        keyword_key: KeywordKey | None = None,
    ) -> SqliteStore:
        """Open or create ``path``. ``own_issuer`` is this node's root did:key: whose verdict ``invalid``
        withdraws. ``keyword_key`` makes the keys of an older file anew (about half a millisecond a record,
        once). Raises ``CorruptState`` (damaged, foreign, newer) and ``Unavailable``."""
        schema = replace(_SCHEMA, upgrades={1: partial(_from_1_to_2, keyword_key=keyword_key)})
        return cls(await SqliteFile.open(path, schema, queue_max=queue_max, readers=readers), own_issuer)

    async def scrub(self) -> None:
        """Leave nothing of deleted blocks and rows on disk. Raises ``Unavailable``."""
        await self.file.scrub()

    async def close(self) -> None:
        """Close both views and the file. Idempotent."""
        await self.blocks.close()
        await self.records.close()
