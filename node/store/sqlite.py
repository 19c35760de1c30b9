"""Blocks and records in one SQLite file, ``blocks.sqlite``: what this node remembers.

Promises: a block and the row that finds it commit together and are synced before ``add`` or ``put``
returns; every block is hashed again on its way out; a look-up stays an index look-up however many
records there are; withdrawals are kept in order so that an index can replay them; a private record is kept
sealed under a key of its own (``private_rows``), which is on disk before the record and is destroyed with it.
It knows nothing of vectors, thresholds or peers' standing. What the file holds, ``record_schema`` says.

Deleting a block that a record names removes the record: its row loses block, keys, tags and kept text, stays
as ``removed`` (``withdrawn`` if it was), is reported by ``withdrawn_since`` and is not found by ``get``. A
removed record may come back with a new sequence; a withdrawn and deleted one is refused. A deleted tombstone
or validation still counts. A merged record whose block is deleted through ``blocks`` loses its alias too; one
whose block is only reclaimed keeps it, without its question's text.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from node.core.errors import CorruptState, NodeError, NotFound, Rejected, Unavailable, Withdrawn
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.model import Json
from node.core.ports import Alias, BlockChanges, BlockRef, BlockStore, Selection, StoredRecord, Use
from node.core.record import AnswerRecord, Record, TombstoneRecord, ValidationRecord
from node.store import private_rows, record_reads, record_rules
from node.store.private_rows import SEALED_EXTRA_BYTES
from node.store.record_keys import RecordKeys
from node.store.record_reads import (
    LIVE_ANSWER,
    SELECT,
    SELECT_PLACE,
    SELECT_VALUE,
    open_block,
    read_row,
    read_whole_rows,
    record_cid,
)
from node.store.record_schema import (
    EMPTY_ROW,
    FORGET_NOTE,
    NOTE,
    SEALED_BY,
    SET_NOTE,
    WIPE,
    KeywordKey,
    row_names,
    schema,
)
from node.store.verifying import VerifyingBlockStore
from node.store.writer import Job, SqliteFile

_log = logging.getLogger(__name__)

T = TypeVar("T")

SPENT_MAX = 64
"""Keys of replaced records that are gathered before they are destroyed together."""
_INTEGER_MAX = 2**63 - 1


def _seconds(when: datetime | None) -> int | None:
    return None if when is None else int(when.timestamp())


def _block(connection: sqlite3.Connection, keys: RecordKeys, cid: Cid) -> bytes | None:
    row = connection.execute(
        "SELECT multihash, key_id, data FROM block WHERE multihash = ?", (cid.multihash,)
    ).fetchone()
    return None if row is None else bytes(open_block(keys, *row))


# --- what one transaction does (writer thread) ----------------------------------------------------


def _put_block(connection: sqlite3.Connection, cid: Cid, data: bytes) -> int:
    """The block's row id. A damaged copy that is already there is replaced by the good one."""
    connection.execute(
        "INSERT INTO block (multihash, codec, data) VALUES (?, ?, ?)"
        " ON CONFLICT (multihash) DO UPDATE SET data = excluded.data"
        " WHERE data <> excluded.data AND key_id IS NULL",
        (cid.multihash, cid.codec, data),
    )
    row = connection.execute("SELECT id FROM block WHERE multihash = ?", (cid.multihash,)).fetchone()
    return int(row[0])


def _put_sealed(connection: sqlite3.Connection, keys: RecordKeys, checked: record_rules.Checked) -> int:
    """The row id of a private record's block. One that is already there and opens is left as it is; what
    else is there is replaced."""
    multihash = checked.cid.multihash
    keys.begin()
    row = connection.execute(
        "SELECT id, key_id, data FROM block WHERE multihash = ?", (multihash,)
    ).fetchone()
    if row is not None and row[1] is not None:
        try:
            if private_rows.open_record(keys, multihash, row[1], row[2])[0] == checked.data:
                return int(row[0])
        except NotFound:
            raise Withdrawn(f"record {checked.cid} is being erased here") from None
        except CorruptState as exc:
            _log.warning("event=record_sealed_anew cid=%s reason=%s", checked.cid, exc)
    if connection.execute(NOTE, (SEALED_BY,)).fetchone() != (keys.name,):
        connection.execute(SET_NOTE, (SEALED_BY, keys.name))
    slot, sealed = private_rows.seal_record(keys, multihash, checked.data, checked.kept)
    row = connection.execute(
        "INSERT INTO block (multihash, codec, data, key_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (multihash) DO UPDATE SET data = excluded.data, key_id = excluded.key_id RETURNING id",
        (multihash, checked.cid.codec, sealed, slot),
    ).fetchone()
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


def _apply_word(connection: sqlite3.Connection, checked: record_rules.Checked, own_issuer: str) -> None:
    """A validation or tombstone that has just come in acts on its target, if that is here."""
    record = checked.record
    if isinstance(record, ValidationRecord):
        target = Cid.parse(record.target).multihash
        _recount(connection, target)
        if record.verdict == "invalid" and record_rules.is_own_word(
            record.issuer, checked.origin, own_issuer
        ):
            _withdraw(connection, target, "invalid")
            survivor = _survivor(connection, target)
            if survivor is not None:
                _withdraw(connection, survivor, "invalid")
    elif isinstance(record, TombstoneRecord):
        target = Cid.parse(record.target).multihash
        row = connection.execute("SELECT issuer FROM record WHERE multihash = ?", (target,)).fetchone()
        if row is not None and record_rules.may_tombstone(record.issuer, checked.origin, row[0], own_issuer):
            _withdraw(connection, target, "tombstone")
            _drop_alias(connection, target)


def _insert_record(
    connection: sqlite3.Connection,
    keys: RecordKeys,
    checked: record_rules.Checked,
    block_id: int,
    own_issuer: str,
) -> str:
    """Add the row, live or withdrawn on arrival, and return its state."""
    record, multihash = checked.record, checked.cid.multihash
    reason = _withdrawn_before(connection, multihash, record.issuer, own_issuer)
    state = record_rules.LIVE if reason is None else record_rules.WITHDRAWN
    answer = record if isinstance(record, AnswerRecord) else None
    word = record if isinstance(record, ValidationRecord | TombstoneRecord) else None
    embedding = answer.embedding if answer else None
    names = row_names(keys, answer, checked.keyword_key) if answer else {}
    kept = None if checked.kept is None or record_rules.is_private(record.scope) else checked.kept.decode()
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
            names.get("context"),
            _seconds(record.timestamp),
            _seconds(record.expires),
            answer.confidence if answer else None,
            names.get("query_hash"),
            names.get("slot_key"),
            names.get("keyword_key"),
            embedding.digest if embedding else None,
            Cid.parse(word.target).multihash if word else None,
            word.verdict if isinstance(word, ValidationRecord) else None,
            kept,
            answer.source.kind if answer else None,
            names.get("source_id"),
            names.get("tags"),
        ),
    )
    _set_value(connection, multihash, checked.value)
    _recount(connection, multihash)
    if reason is not None:
        _note_withdrawal(connection, multihash, reason)
    return state


def _set_value(connection: sqlite3.Connection, multihash: bytes, value: record_rules.Value) -> None:
    connection.execute(
        "UPDATE record SET hits = ?, used = ?, cost_us = ?, worth = ? WHERE multihash = ?",
        (value.uses, value.used_s, value.cost_us, value.worth, multihash),
    )


def _value(connection: sqlite3.Connection, multihash: bytes) -> record_rules.Value | None:
    """What a live answer is worth."""
    row = connection.execute(
        f"{SELECT_VALUE} WHERE r.multihash = ? AND {LIVE_ANSWER}",
        (multihash,),
    ).fetchone()
    if row is None:
        return None
    cost_us, uses, used_s, size, key_id = row
    return record_rules.Value(cost_us, uses, used_s, size if key_id is None else size - SEALED_EXTRA_BYTES)


def _survivor(connection: sqlite3.Connection, multihash: bytes) -> bytes | None:
    row = connection.execute("SELECT survivor FROM alias WHERE multihash = ?", (multihash,)).fetchone()
    return None if row is None else bytes(row[0])


def _drop_alias(connection: sqlite3.Connection, multihash: bytes) -> None:
    connection.execute("DELETE FROM alias WHERE multihash = ?", (multihash,))


def _live_answer(connection: sqlite3.Connection, keys: RecordKeys, multihash: bytes) -> StoredRecord | None:
    """None also where its block is damaged: a record that comes in must not fail because of another."""
    rows = connection.execute(f"{SELECT} WHERE r.multihash = ? AND {LIVE_ANSWER}", (multihash,)).fetchall()
    return next(iter(read_whole_rows(keys, rows)), None)


def _merge(
    connection: sqlite3.Connection, keys: RecordKeys, old: StoredRecord, survivor: bytes, *, timed: bool
) -> None:
    """The live answer ``old`` becomes an alias of the live answer ``survivor``, with its own aliases."""
    other = old.cid.multihash
    _follow(connection, other, survivor, timed=timed)
    _drop_alias(connection, other)
    connection.execute(
        "INSERT INTO alias (multihash, survivor, query_hash, keyword_key, context, scope,"
        " source_kind, source_id, timestamp, origin)"
        " SELECT multihash, ?, query_hash, keyword_key, context, scope, source_kind, source_id, timestamp,"
        " origin FROM record WHERE multihash = ?",
        (survivor, other),
    )
    if isinstance(old.record, AnswerRecord) and record_rules.is_private(old.record.scope):
        record = old.record
        slot, sealed = private_rows.seal_alias(keys, other, record.query_hash, record.source.id)
        connection.execute(
            "UPDATE alias SET source_id = '', key_id = ?, sealed = ? WHERE multihash = ?",
            (slot, sealed, other),
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
        (survivor, survivor, record_rules.ALIASES_MAX),
    )


def _supersede(
    connection: sqlite3.Connection, keys: RecordKeys, checked: record_rules.Checked, other: bytes
) -> None:
    """A live record gives way to a newer one; the same answer to the same question keeps its aliases."""
    multihash, record = checked.cid.multihash, checked.record
    _follow(connection, other, multihash, timed=checked.cost_us is not None)
    has_aliases = connection.execute("SELECT 1 FROM alias WHERE survivor = ? LIMIT 1", (other,)).fetchone()
    if has_aliases:
        old = _live_answer(connection, keys, other)
        if old is not None and record_rules.inherits(record, old.record):
            _take_aliases(connection, other, multihash)
    _end(connection, other, "superseded")


def _merged_into(
    connection: sqlite3.Connection, keys: RecordKeys, checked: record_rules.Checked, into: bytes
) -> bool:
    """Whether the record that has just come in became an alias of ``into``."""
    survivor, newcomer = (_live_answer(connection, keys, one) for one in (into, checked.cid.multihash))
    if survivor is None or newcomer is None:
        return False
    record_rules.check_merge(checked.record, checked.origin, survivor.record, survivor.origin)
    _merge(connection, keys, newcomer, into, timed=True)
    return True


def _take_wording(connection: sqlite3.Connection, keys: RecordKeys, checked: record_rules.Checked) -> None:
    """Our newest answer to this very question: no alias with the same wording answers it any more."""
    record = checked.record
    if isinstance(record, AnswerRecord) and checked.origin == record_rules.LOCAL:
        names = row_names(keys, record, None)
        connection.execute(
            "DELETE FROM alias WHERE query_hash = ? AND context IS ? AND scope = ? AND source_kind = ?"
            " AND origin = ? AND survivor <> ?",
            (
                names["query_hash"],
                names["context"],
                record.scope,
                record.source.kind,
                record_rules.LOCAL,
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
    connection: sqlite3.Connection,
    keys: RecordKeys,
    checked: record_rules.Checked,
    ties: _Ties,
    own_issuer: str,
) -> StoredRecord:
    multihash = checked.cid.multihash
    row = connection.execute(
        "SELECT state, block_id FROM record WHERE multihash = ?", (multihash,)
    ).fetchone()
    if row is not None and row[0] == "removed":
        connection.execute("DELETE FROM record WHERE multihash = ?", (multihash,))
        connection.execute("DELETE FROM withdrawal WHERE multihash = ?", (multihash,))
        row = None
    if row is not None and row[1] is None:
        raise Withdrawn(f"record {checked.cid} was withdrawn and deleted here")
    if record_rules.is_private(checked.record.scope):
        block_id = _put_sealed(connection, keys, checked)
    else:
        block_id = _put_block(connection, checked.cid, checked.data)
    if row is None:
        state = _insert_record(connection, keys, checked, block_id, own_issuer)
        into = ties.into
        if state == record_rules.LIVE and into is not None and _merged_into(connection, keys, checked, into):
            state = record_rules.WITHDRAWN
        if state == record_rules.LIVE:
            _apply_word(connection, checked, own_issuer)
    else:
        state = row[0]
    if state == record_rules.LIVE:
        for other in ties.supersede:
            if other != multihash:
                _supersede(connection, keys, checked, other)
        for other in ties.merge:
            old = None if other == multihash else _live_answer(connection, keys, other)
            if old is not None:
                record_rules.check_merge(checked.record, checked.origin, old.record, old.origin)
                _merge(connection, keys, old, multihash, timed=checked.cost_us is not None)
        _take_wording(connection, keys, checked)
    stored = connection.execute(f"{SELECT} WHERE r.multihash = ?", (multihash,)).fetchone()
    return read_row(keys, stored)


def _delete(connection: sqlite3.Connection, multihash: bytes) -> None:
    row = connection.execute(
        EMPTY_ROW,
        (multihash,),
    ).fetchone()
    if row is not None and row[0] == "removed":
        _note_withdrawal(connection, multihash, "removed")
    connection.execute("DELETE FROM alias WHERE survivor = ?", (multihash,))
    connection.execute("DELETE FROM block WHERE multihash = ?", (multihash,))


def _delete_for_good(connection: sqlite3.Connection, multihash: bytes) -> None:
    _delete(connection, multihash)
    _drop_alias(connection, multihash)


def _end(connection: sqlite3.Connection, multihash: bytes, reason: str) -> bool:
    """A record's time is over; a private one is deleted with its key (``record_rules``, rule 8)."""
    ended = _withdraw(connection, multihash, reason)
    if ended:
        row = connection.execute("SELECT scope FROM record WHERE multihash = ?", (multihash,)).fetchone()
        if record_rules.is_private(row[0]):
            _delete(connection, multihash)
    return ended


def _expire(connection: sqlite3.Connection, before_s: float, limit: int) -> list[Cid]:
    rows = connection.execute(
        "SELECT multihash FROM record"
        " WHERE kind = 'answer' AND state = 'live' AND expires IS NOT NULL AND expires < ?"
        " ORDER BY expires, sequence LIMIT ?",
        (before_s, limit),
    ).fetchall()
    return [record_cid(multihash) for (multihash,) in rows if _end(connection, multihash, "expired")]


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
    return [record_cid(multihash) for multihash in reclaimed]


def _shred(connection: sqlite3.Connection, keys: RecordKeys, multihashes: Sequence[bytes]) -> frozenset[int]:
    """Destroy the keys of these records and of the aliases that stand for them or that they stand for, and
    withdraw them; the slots. What is not sealed is left as it is."""
    sealed: list[bytes] = []
    slots: set[int] = set()
    for multihash in multihashes:
        row = connection.execute("SELECT key_id FROM block WHERE multihash = ?", (multihash,)).fetchone()
        if row is not None and row[0] is not None:
            sealed.append(multihash)
            slots.add(row[0])
        aliases = connection.execute(
            "SELECT key_id FROM alias WHERE (multihash = ? OR survivor = ?) AND key_id IS NOT NULL",
            (multihash, multihash),
        )
        slots |= {key_id for (key_id,) in aliases}
    keys.destroy(sorted(slots))
    for multihash in sealed:
        _withdraw(connection, multihash, "erased")
    return frozenset(slots)


def _claim(connection: sqlite3.Connection, keys: RecordKeys) -> frozenset[int]:
    """Tell the key file which of its slots are in use; those of them whose key was destroyed."""
    return keys.claim(
        slot
        for (slot,) in connection.execute(
            "SELECT key_id FROM block WHERE key_id IS NOT NULL UNION ALL"
            " SELECT key_id FROM alias WHERE key_id IS NOT NULL UNION ALL SELECT id FROM spent_key"
        )
    )


def _check_keys(connection: sqlite3.Connection, keys: RecordKeys) -> bool:
    """Whether sealed records are to be given up, as the owner wishes (an empty key file was put there).
    Raises ``CorruptState`` where the key file is missing or another one."""
    [sealed] = connection.execute("SELECT count(*) FROM block WHERE key_id IS NOT NULL").fetchone()
    named = connection.execute(NOTE, (SEALED_BY,)).fetchone()
    if not sealed or (keys.is_here and named == (keys.name,)):
        return False
    if keys.is_here and keys.was_empty:
        return True
    what = "belongs to another block store" if keys.is_here else "is missing"
    raise CorruptState(
        f"{keys.path} {what}, and {sealed} private records cannot be read without their keys; put the newest "
        f"copy of it back, or make it an empty file (`: > {keys.path}`) to go on without these records"
    )


def _give_up_sealed(connection: sqlite3.Connection) -> int:
    """Delete every record that was sealed; how many."""
    rows = connection.execute("SELECT multihash FROM block WHERE key_id IS NOT NULL").fetchall()
    for (multihash,) in rows:
        _delete_for_good(connection, multihash)
    connection.execute("DELETE FROM alias WHERE key_id IS NOT NULL")
    connection.execute("DELETE FROM spent_key")  # of a file that is not there any more
    connection.execute(FORGET_NOTE, (SEALED_BY,))
    return len(rows)


def _withdraw_one(connection: sqlite3.Connection, multihash: bytes, reason: str) -> bool:
    """A merged record has only its wording to lose."""
    _drop_alias(connection, multihash)
    return _withdraw(connection, multihash, reason)


def _note_uses(connection: sqlite3.Connection, uses: Sequence[Use]) -> None:
    for use in uses:
        value = _value(connection, use.cid.multihash)
        if value is not None:
            _set_value(connection, use.cid.multihash, value.used(use.hits, use.at_s))


# --- keys that nothing names any more ------------------------------------------------------------


class _KeyDuty:
    """Destroys the keys of what is gone, after the commit with which it went; in the writer thread. What is
    deleted, expired or evicted loses its key at once. Where a record was only replaced, the ciphertext is
    gone at once, and keys are gathered until there are ``SPENT_MAX`` of them, or until the next expiry, scrub
    or stop."""

    def __init__(self, keys: RecordKeys) -> None:
        self.keys = keys
        self.is_urgent = True  # what an earlier run left
        self.shredded: frozenset[int] = frozenset()

    def urgent(self, _: sqlite3.Connection) -> None:
        """A job that only asks for it."""
        self.is_urgent = True

    def after_commit(self, connection: sqlite3.Connection) -> None:
        """Only when keys are gone from the disk are they struck from the list, and only then may their slots
        be used anew. Raises ``Unavailable``; the list stays, and the next commit tries again."""
        self.keys.settle()
        slots = [slot for (slot,) in connection.execute("SELECT id FROM spent_key ORDER BY id").fetchall()]
        if slots and (self.is_urgent or len(slots) >= SPENT_MAX):
            self.keys.destroy(slots)
            connection.execute("DELETE FROM spent_key")
            self.keys.free(slots)
            self.shredded -= frozenset(slots)
        self.is_urgent = False


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

    @property
    def _keys(self) -> RecordKeys:
        return self._store.duty.keys

    async def _read_again(self, job: Job[T]) -> T:
        """A read of one record. Its key may have gone to another one after this read began, so what does not
        open is read again, and is then not there."""
        try:
            return await self._file.read(job)
        except CorruptState:
            return await self._file.read(job)

    async def _change(self, job: Job[T], *, is_urgent: bool = False) -> T:
        """A write that a copy of the records has to follow; ``is_urgent``: what it deletes loses its key with
        this commit."""

        duty = self._store.duty

        def guarded(connection: sqlite3.Connection) -> T:
            duty.is_urgent |= is_urgent
            taken = duty.keys.taken
            try:
                return job(connection)
            except BaseException:
                duty.keys.give_back(taken)
                raise

        value = await self._file.write(guarded)
        self._store.on_change()
        return value

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._store.open_views -= 1
        if self._store.open_views == 0:
            await self._store.shut()


class _SqliteBlocks(_View):
    """The unchecked ``BlockStore``; ``SqliteStore.blocks`` is this one inside ``VerifyingBlockStore``."""

    async def put(self, cid: Cid, data: bytes) -> None:
        await self._file.write(lambda connection: _put_block(connection, cid, data))

    async def get(self, cid: Cid) -> bytes:
        data = await self._read_again(lambda connection: _block(connection, self._keys, cid))
        if data is None:
            raise NotFound(f"block {cid} is not here")
        return data

    async def has(self, cid: Cid) -> bool:
        row = await self._file.read(
            lambda connection: connection.execute(
                "SELECT key_id FROM block WHERE multihash = ?", (cid.multihash,)
            ).fetchone()
        )
        return row is not None and row[0] not in self._store.duty.shredded

    async def delete(self, cid: Cid) -> None:
        await self._change(lambda connection: _delete_for_good(connection, cid.multihash), is_urgent=True)


class SqliteRecords(_View):
    """The ``RecordStore``."""

    def __init__(self, store: SqliteStore, own_issuer: str) -> None:
        super().__init__(store)
        self._own_issuer = own_issuer

    async def add(
        self,
        record: Record,
        *,
        origin: str = record_rules.LOCAL,
        supersede: Sequence[Cid] = (),
        keyword_key: str | None = None,
        kept: Mapping[str, Json] | None = None,
        cost_us: int | None = None,
        merge: Sequence[Cid] = (),
        into: Cid | None = None,
    ) -> StoredRecord:
        checked = await self._file.offload(
            lambda: record_rules.check(
                record, origin=origin, keyword_key=keyword_key, kept=kept, cost_us=cost_us
            )
        )
        ties = _Ties(
            tuple(cid.multihash for cid in supersede),
            tuple(cid.multihash for cid in merge),
            None if into is None or into == checked.cid else into.multihash,
        )
        return await self._change(
            lambda connection: _add(connection, self._keys, checked, ties, self._own_issuer)
        )

    async def get(self, cid: Cid) -> StoredRecord:
        def job(connection: sqlite3.Connection) -> StoredRecord | None:
            row = connection.execute(f"{SELECT} WHERE r.multihash = ?", (cid.multihash,)).fetchone()
            return None if row is None else read_row(self._keys, row)

        stored = None if cid.codec != DAG_CBOR else await self._read_again(job)
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
        """Raises ``Rejected`` for an unknown column or more than ``record_rules.SCOPES_MAX`` scopes."""
        record_rules.check_find(column, len(scopes))
        allowed, most = tuple(scopes), record_rules.clamp_limit(limit)
        return await self._file.read(
            lambda connection: record_reads.find(connection, self._keys, column, key, allowed, context, most)
        )

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        """Raises ``Rejected`` for more than ``record_rules.LIMIT_MAX`` CIDs."""
        if len(cids) > record_rules.LIMIT_MAX:
            raise Rejected(f"at most {record_rules.LIMIT_MAX} records are read at once")
        wanted = [cid.multihash for cid in dict.fromkeys(cids) if cid.codec == DAG_CBOR]
        stored = await self._file.read(lambda connection: record_reads.live(connection, self._keys, wanted))
        return {one.cid: one for one in stored}

    async def since(self, sequence: int, *, limit: int = 1_000) -> list[StoredRecord]:
        start, most = min(sequence, _INTEGER_MAX), record_rules.clamp_limit(limit)
        return await self._file.read(
            lambda connection: record_reads.since(connection, self._keys, start, most)
        )

    async def withdrawn_since(self, change: int, *, limit: int = 1_000) -> list[tuple[int, Cid]]:
        """Apply these before what ``since`` gives: a removed record may have come back since."""
        start, most = min(change, _INTEGER_MAX), record_rules.clamp_limit(limit)
        rows = await self._file.read(
            lambda connection: connection.execute(
                "SELECT change, multihash FROM withdrawal WHERE change > ? ORDER BY change LIMIT ?",
                (start, most),
            ).fetchall()
        )
        return [(number, record_cid(multihash)) for number, multihash in rows]

    async def block_changes(self, sequence: int, change: int, *, limit: int = 1_000) -> BlockChanges:
        after, since, most = (
            min(sequence, _INTEGER_MAX),
            min(change, _INTEGER_MAX),
            record_rules.clamp_limit(limit),
        )
        return await self._file.read(
            lambda connection: record_reads.block_changes(connection, after, since, most)
        )

    async def public_answers(self, first: str, last: str, *, limit: int = 10_000) -> list[tuple[str, Cid]]:
        most = record_rules.clamp_limit(limit)
        rows = await self._file.read(
            lambda connection: record_reads.public_answers(connection, first, last, most)
        )
        return [(key, record_cid(multihash)) for key, multihash in rows]

    async def withdraw(self, cid: Cid, reason: str) -> bool:
        return await self._change(lambda connection: _withdraw_one(connection, cid.multihash, reason))

    async def expire(self, now: datetime, *, grace_s: int, limit: int = 1_000) -> list[Cid]:
        before_s, most = now.timestamp() - grace_s, record_rules.clamp_limit(limit)
        return await self._change(lambda connection: _expire(connection, before_s, most), is_urgent=True)

    async def reclaim(self, *, now: datetime | None = None, limit: int = 1_000) -> list[Cid]:
        now_s, most = -1 if now is None else int(now.timestamp()), record_rules.clamp_limit(limit)
        return await self._change(lambda connection: _reclaim(connection, now_s, most), is_urgent=True)

    async def note_uses(self, uses: Sequence[Use]) -> None:
        record_rules.check_uses(uses)
        noted = [use for use in uses if use.cid.codec == DAG_CBOR]
        await self._file.write(lambda connection: _note_uses(connection, noted))

    async def aliases(self, cid: Cid) -> list[Alias]:
        return await self._file.read(
            lambda connection: record_reads.aliases(connection, self._keys, cid.multihash)
        )

    async def survivor(self, cid: Cid) -> Cid | None:
        found = await self._file.read(lambda connection: _survivor(connection, cid.multihash))
        return None if found is None else record_cid(found)

    async def select(self, selection: Selection, *, after: int = 0, limit: int = 1_000) -> list[BlockRef]:
        record_rules.check_selection(selection)
        start, most = min(after, _INTEGER_MAX), record_rules.clamp_limit(limit)
        return await self._file.read(
            lambda connection: record_reads.select(connection, self._keys, selection, start, most)
        )

    async def verdicts(self, cids: Sequence[Cid]) -> list[Cid]:
        """The validations about these records that are here, in whatever state. Raises ``Unavailable``."""
        targets = [cid.multihash for cid in cids]
        found = await self._file.read(lambda connection: record_reads.verdicts(connection, targets))
        return [record_cid(multihash) for multihash in found]

    async def place(self, cid: Cid) -> BlockRef:
        """Where a record is whose block is here, whether or not that can be read. Raises ``NotFound``,
        ``Unavailable``."""
        row = await self._file.read(
            lambda connection: connection.execute(
                f"{SELECT_PLACE} WHERE r.multihash = ? AND r.block_id IS NOT NULL", (cid.multihash,)
            ).fetchone()
        )
        if row is None or cid.codec != DAG_CBOR:
            raise NotFound(f"record {cid} is not here")
        return BlockRef(row[0], cid, row[2])

    async def shred(self, cids: Sequence[Cid]) -> None:
        """Make private records unreadable for good and withdraw them: their keys are gone from the disk on
        return, those of their aliases too. Others are left as they are. Raises ``Unavailable``."""
        named, duty = [cid.multihash for cid in cids], self._store.duty

        def job(connection: sqlite3.Connection) -> None:
            duty.shredded |= _shred(connection, duty.keys, named)

        await self._change(job)

    async def shredded(self, *, limit: int = 1_000) -> list[BlockRef]:
        """Records whose keys were destroyed by ``shred`` and that were not deleted yet. Raises
        ``Unavailable``."""
        slots, most = sorted(self._store.duty.shredded), record_rules.clamp_limit(limit)
        return await self._file.read(lambda connection: record_reads.shredded(connection, slots, most))

    async def newest(self, *, scopes: Sequence[str], limit: int = 100) -> list[StoredRecord]:
        record_rules.check_scopes(len(scopes))
        most = record_rules.clamp_limit(limit)
        return await self._file.read(
            lambda connection: record_reads.newest(connection, self._keys, scopes, most)
        )

    async def tally(
        self, *, scopes: Sequence[str], since: datetime | None = None, before: datetime | None = None
    ) -> int:
        record_rules.check_scopes(len(scopes))
        return await self._file.read(lambda connection: record_reads.tally(connection, scopes, since, before))

    async def counts(self) -> dict[str, int]:
        return await self._file.read(record_reads.counts)


class SqliteStore:
    """One open file and its two views, ``blocks`` and ``records``. ``on_change`` is called on the event loop
    after each committed change of records; it must be quick and must not raise."""

    def __init__(self, file: SqliteFile, duty: _KeyDuty, own_issuer: str) -> None:
        self.file = file
        self.duty = duty
        self.on_change: Callable[[], None] = lambda: None
        self.open_views = 2
        self._shutting: asyncio.Task[None] | None = None
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
        keys: Path | None = None,
    ) -> SqliteStore:
        """Open or create ``path``. ``own_issuer`` is this node's root did:key: whose verdict ``invalid``
        withdraws. ``keyword_key`` makes the keys of an older file anew (about half a millisecond a record,
        once). ``keys`` is the file of record keys, ``keys/record_keys`` beside ``path`` unless said
        otherwise; it is made with the first private record. Raises ``CorruptState`` (damaged, foreign, newer;
        keys that are missing or another store's) and ``Unavailable``."""
        table = await asyncio.to_thread(RecordKeys.open, keys or path.parent / "keys" / "record_keys")
        duty = _KeyDuty(table)
        try:
            file = await SqliteFile.open(
                path,
                schema(table, keyword_key),
                queue_max=queue_max,
                readers=readers,
                after_commit=duty.after_commit,
                after_rollback=table.give_back,
            )
        except BaseException:
            table.close()
            raise
        store = cls(file, duty, own_issuer)
        try:
            await store._make_ready()
        except BaseException:
            await store.close()
            raise
        return store

    async def _make_ready(self) -> None:
        keys = self.duty.keys
        if await self.file.read(lambda connection: _check_keys(connection, keys)):
            given_up = await self.file.write(_give_up_sealed)
            _log.error("event=records_given_up count=%d reason=the file of their keys was emptied", given_up)
        self.duty.shredded = await self.file.read(lambda connection: _claim(connection, keys))
        if await self.file.read(lambda connection: connection.execute(NOTE, (WIPE,)).fetchone()):
            try:
                await self.file.compact()
                await self.file.write(lambda connection: connection.execute(FORGET_NOTE, (WIPE,)))
            except Unavailable as exc:
                _log.warning("event=wipe_put_off reason=%s; the next start tries again", exc)

    def mark(self, text: str) -> str:
        """A name for ``text`` that says nothing of it to whoever lacks the key file; empty while there is
        none, for then nothing private is here."""
        keys = self.duty.keys
        return keys.mark("label", text) if keys.is_here else ""

    async def public_block(self, cid: Cid) -> bytes:
        """The bytes of a live record of scope public, found by multihash and hashed again: what a stranger
        may have. Raises ``NotFound``, ``NotPublic`` for another record of this node, whatever is left of it,
        ``CorruptState``, ``Unavailable``."""
        return await self.file.read(lambda connection: record_reads.public_block(connection, cid))

    async def public_blocks(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes | None]:
        """What ``public_block`` says of at most ``record_reads.CHUNK`` of them, in one read. None: it is no
        record of this node. Left out: what may not be had, what is damaged, and the records behind those
        that have ``bytes_max`` or more together. Raises ``Unavailable``."""
        return await self.file.read(
            lambda connection: record_reads.public_blocks(connection, cids, bytes_max)
        )

    async def stored(self) -> list[Cid]:
        """Every block. For a file with few of them. Raises ``Unavailable``."""
        rows = await self.file.read(
            lambda connection: connection.execute("SELECT codec, multihash FROM block").fetchall()
        )
        return [Cid(int(codec), bytes(multihash)[2:]) for codec, multihash in rows]

    async def scrub(self) -> None:
        """Leave nothing of deleted blocks, rows and keys on disk. Raises ``Unavailable``."""
        await self.file.write(self.duty.urgent)
        await self.file.scrub()

    async def shut(self) -> None:
        """Both views are closed: close the file and the keys. Idempotent."""
        if self._shutting is None:
            self._shutting = asyncio.create_task(self._shut(), name=f"shut {self.file.path.name}")
        await asyncio.shield(self._shutting)

    async def _shut(self) -> None:
        try:
            await self.file.write(self.duty.urgent)
        except NodeError as exc:
            _log.warning("event=keys_left reason=%s; the next start destroys them", exc)
        await self.file.close()
        self.duty.keys.close()

    async def close(self) -> None:
        """Close both views and the file. Idempotent."""
        await self.blocks.close()
        await self.records.close()
