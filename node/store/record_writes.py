"""What one transaction does with an open block file: records and blocks in, merged, withdrawn, deleted.

Promises: a job changes nothing outside the connection but the key file, whose new keys the caller gives back
if the job fails. Runs in the writer thread. The rules are in ``record_rules``; reads are in ``record_reads``.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from node.core.errors import CorruptState, NotFound, Withdrawn
from node.core.ipld.cid import Cid
from node.core.ports import StoredRecord, Use
from node.core.record import AnswerRecord, TombstoneRecord, ValidationRecord
from node.store import private_rows, record_reads, record_rules
from node.store.private_rows import SEALED_EXTRA_BYTES
from node.store.record_keys import RecordKeys
from node.store.record_reads import (
    LIVE_ANSWER,
    SELECT,
    SELECT_VALUE,
    VOICE_OF,
    read_row,
    read_whole_rows,
    record_cid,
)
from node.store.record_schema import EMPTY_ROW, FORGET_NOTE, NOTE, SEALED_BY, SET_NOTE, row_names
from node.store.writer import insert

_log = logging.getLogger(__name__)


def _seconds(when: datetime | None) -> int | None:
    return None if when is None else int(when.timestamp())


def put_block(connection: sqlite3.Connection, cid: Cid, data: bytes) -> int:
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
    if _sealed_by(connection) != keys.name:
        connection.execute(SET_NOTE, (SEALED_BY, keys.name))
    slot, sealed = private_rows.seal_record(keys, multihash, checked.data, checked.kept)
    row = connection.execute(
        "INSERT INTO block (multihash, codec, data, key_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (multihash) DO UPDATE SET data = excluded.data, key_id = excluded.key_id RETURNING id",
        (multihash, checked.cid.codec, sealed, slot),
    ).fetchone()
    return int(row[0])


def _sealed_by(connection: sqlite3.Connection) -> bytes | None:
    """The name of the key file that opens what is sealed here."""
    row = connection.execute(NOTE, (SEALED_BY,)).fetchone()
    return None if row is None else bytes(row[0])


def note_withdrawal(connection: sqlite3.Connection, multihash: bytes, reason: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO withdrawal (multihash, reason) VALUES (?, ?)", (multihash, reason[:256])
    )


def recount(connection: sqlite3.Connection, target: bytes) -> None:
    """Count the latest verdict on ``target`` of each voice, if the target is here (``record_rules``, 4)."""
    connection.execute(
        "WITH latest AS (SELECT verdict, row_number() OVER"
        f" (PARTITION BY issuer, CASE origin WHEN 'local' THEN {VOICE_OF} END"
        " ORDER BY CASE origin WHEN 'local' THEN sequence ELSE timestamp END DESC, multihash DESC) AS place"
        " FROM record WHERE target = :target AND kind = 'validation' AND state <> 'withdrawn')"
        " UPDATE record SET"
        " valid = (SELECT count(*) FROM latest WHERE place = 1 AND verdict = 'valid'),"
        " invalid = (SELECT count(*) FROM latest WHERE place = 1 AND verdict = 'invalid')"
        " WHERE multihash = :target",
        {"target": target},
    )


def withdraw(connection: sqlite3.Connection, multihash: bytes, reason: str) -> bool:
    row = connection.execute(
        "UPDATE record SET state = 'withdrawn' WHERE multihash = ? AND state = 'live' RETURNING kind, target",
        (multihash,),
    ).fetchone()
    if row is None:
        return False
    note_withdrawal(connection, multihash, reason)
    if row[0] == "validation":
        recount(connection, row[1])
    return True


def _withdrawn_before(
    connection: sqlite3.Connection, multihash: bytes, issuer: str, own_issuer: str
) -> str | None:
    """Why a record that arrives now is withdrawn already (rules 3 and 4), or None."""
    row = connection.execute(
        "SELECT kind FROM record WHERE target = :target AND state <> 'withdrawn' AND ("
        " (issuer = :own AND origin = 'local'"
        f" AND (kind = 'tombstone' OR (verdict = 'invalid' AND {VOICE_OF} = '')))"
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
        recount(connection, target)
        is_ours = record_rules.is_own_word(record.issuer, checked.origin, own_issuer)
        if record.verdict == "invalid" and is_ours and not checked.voice:
            withdraw(connection, target, "invalid")
            survivor = record_reads.survivor(connection, target)
            if survivor is not None:
                withdraw(connection, survivor, "invalid")
    elif isinstance(record, TombstoneRecord):
        target = Cid.parse(record.target).multihash
        row = connection.execute("SELECT issuer FROM record WHERE multihash = ?", (target,)).fetchone()
        if row is not None and record_rules.may_tombstone(record.issuer, checked.origin, row[0], own_issuer):
            withdraw(connection, target, "tombstone")
            _drop_alias(connection, target)


def columns_of(keys: RecordKeys, checked: record_rules.Checked) -> dict[str, object]:
    """What the row of a record says of it that is in its bytes, and whose word it is."""
    record = checked.record
    answer = record if isinstance(record, AnswerRecord) else None
    word = record if isinstance(record, ValidationRecord | TombstoneRecord) else None
    embedding = answer.embedding if answer else None
    names = row_names(keys, answer, checked.keyword_key) if answer else {}
    kept = None if checked.kept is None or record_rules.is_private(record.scope) else checked.kept.decode()
    return {
        "multihash": checked.cid.multihash,
        "kind": record.kind,
        "issuer": record.issuer,
        "origin": checked.origin,
        "scope": record.scope,
        "timestamp": _seconds(record.timestamp),
        "expires": _seconds(record.expires),
        "confidence": answer.confidence if answer else None,
        "embedding_digest": embedding.digest if embedding else None,
        "target": Cid.parse(word.target).multihash if word else None,
        "verdict": word.verdict if isinstance(word, ValidationRecord) else None,
        "kept": kept,
        "source_kind": answer.source.kind if answer else None,
        **names,
    }


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
    row = columns_of(keys, checked) | {"block_id": block_id, "state": state}
    connection.execute(insert("record", row), row)
    _set_value(connection, multihash, checked.value)
    recount(connection, multihash)
    if reason is not None:
        note_withdrawal(connection, multihash, reason)
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
    if not all(isinstance(one, int | float) for one in (cost_us, uses, used_s, size)):
        return None  # the row is damaged
    size -= 0 if key_id is None else SEALED_EXTRA_BYTES
    return record_rules.Value(max(1, int(cost_us)), max(1e-12, uses), int(used_s), max(1, size))


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
    withdraw(connection, other, "merged")


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
class Ties:
    """What a record that comes in does to others (``RecordStore.add``)."""

    supersede: tuple[bytes, ...]
    merge: tuple[bytes, ...]
    into: bytes | None


def add(
    connection: sqlite3.Connection,
    keys: RecordKeys,
    checked: record_rules.Checked,
    ties: Ties,
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
        block_id = put_block(connection, checked.cid, checked.data)
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


def delete_block(connection: sqlite3.Connection, multihash: bytes) -> None:
    """A record loses its block; its alias, if it was merged, stays."""
    row = connection.execute(
        EMPTY_ROW,
        (multihash,),
    ).fetchone()
    if row is not None and row[0] == "removed":
        note_withdrawal(connection, multihash, "removed")
    connection.execute("DELETE FROM alias WHERE survivor = ?", (multihash,))
    connection.execute("DELETE FROM block WHERE multihash = ?", (multihash,))


def delete_for_good(connection: sqlite3.Connection, multihash: bytes) -> None:
    delete_block(connection, multihash)
    _drop_alias(connection, multihash)


def _end(connection: sqlite3.Connection, multihash: bytes, reason: str) -> bool:
    """A record's time is over; a private one is deleted with its key (``record_rules``, rule 8)."""
    ended = withdraw(connection, multihash, reason)
    if ended:
        row = connection.execute("SELECT scope FROM record WHERE multihash = ?", (multihash,)).fetchone()
        if record_rules.is_private(row[0]):
            delete_block(connection, multihash)
    return ended


def expire(connection: sqlite3.Connection, before_s: float, limit: int) -> list[Cid]:
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


def reclaim(connection: sqlite3.Connection, now_s: int, limit: int) -> list[Cid]:
    reclaimed: list[bytes] = []
    for statement in _RECLAIM:
        left = limit - len(reclaimed)
        rows = connection.execute(statement, {"limit": left, "now": now_s}).fetchall() if left else []
        for (multihash,) in rows:
            delete_block(connection, multihash)
            reclaimed.append(multihash)
    return [record_cid(multihash) for multihash in reclaimed]


def shred(connection: sqlite3.Connection, keys: RecordKeys, multihashes: Sequence[bytes]) -> frozenset[int]:
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
        withdraw(connection, multihash, "erased")
    return frozenset(slots)


def claim(connection: sqlite3.Connection, keys: RecordKeys) -> frozenset[int]:
    """Tell the key file which of its slots are in use; those of them whose key was destroyed."""
    return keys.claim(
        slot
        for (slot,) in connection.execute(
            "SELECT key_id FROM block WHERE key_id IS NOT NULL UNION ALL"
            " SELECT key_id FROM alias WHERE key_id IS NOT NULL UNION ALL SELECT id FROM spent_key"
        )
    )


def check_keys(connection: sqlite3.Connection, keys: RecordKeys) -> bool:
    """Whether sealed records are to be given up, as the owner wishes (an empty key file was put there).
    Raises ``CorruptState`` where the key file is missing or another one."""
    [sealed] = connection.execute("SELECT count(*) FROM block WHERE key_id IS NOT NULL").fetchone()
    if not sealed or (keys.is_here and _sealed_by(connection) == keys.name):
        return False
    if keys.is_here and keys.was_empty:
        return True
    what = "belongs to another block store" if keys.is_here else "is missing"
    raise CorruptState(
        f"{keys.path} {what}, and {sealed} private records cannot be read without their keys; put the newest "
        f"copy of it back, or make it an empty file (`: > {keys.path}`) to go on without these records"
    )


def give_up_sealed(connection: sqlite3.Connection) -> int:
    """Delete every record that was sealed; how many."""
    rows = connection.execute("SELECT multihash FROM block WHERE key_id IS NOT NULL").fetchall()
    for (multihash,) in rows:
        delete_for_good(connection, multihash)
    connection.execute("DELETE FROM alias WHERE key_id IS NOT NULL")
    connection.execute("DELETE FROM spent_key")  # of a file that is not there any more
    connection.execute(FORGET_NOTE, (SEALED_BY,))
    return len(rows)


def withdraw_one(connection: sqlite3.Connection, multihash: bytes, reason: str) -> bool:
    """A merged record has only its wording to lose."""
    _drop_alias(connection, multihash)
    return withdraw(connection, multihash, reason)


def note_uses(connection: sqlite3.Connection, uses: Sequence[Use]) -> None:
    for use in uses:
        value = _value(connection, use.cid.multihash)
        if value is not None:
            _set_value(connection, use.cid.multihash, value.used(use.hits, use.at_s))
