"""What one read does with an open block file: rows become records, checked and unsealed.

Promises: bounded index look-ups; every block is hashed again on its way out; what is damaged, or has lost its
key, is reported and left out where others are read with it. Runs in reader threads.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeAlias

import orjson

from node.core.errors import CorruptState, NotFound, Rejected
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.ports import Alias, BlockChanges, BlockRef, Selection, StoredRecord
from node.core.record import AnswerRecord, decode
from node.store import private_rows, record_rules
from node.store.disk_trouble import is_damage
from node.store.record_keys import RecordKeys

_log = logging.getLogger(__name__)

CHUNK = 500
"""CIDs in one statement: below SQLite's limit on variables, old versions included."""

_COLUMNS = (
    "SELECT r.sequence, r.multihash, r.state, r.origin, r.valid, r.invalid, r.kept, b.data, r.timestamp,"
    " b.key_id"
)
SELECT = f"{_COLUMNS} FROM record AS r JOIN block AS b ON b.id = r.block_id"
SELECT_VALUE = (
    "SELECT r.cost_us, r.hits, r.used, length(b.data), b.key_id"
    " FROM record AS r JOIN block AS b ON b.id = r.block_id"
)
SELECT_PLACE = "SELECT r.sequence, r.multihash, r.scope FROM record AS r"
VOICE_OF = f"coalesce(json_extract(kept, '$.{record_rules.VOICE}'), '')"
"""Of a verdict of ours (``record_rules``, rule 4)."""
LIVE_ANSWER = "r.kind = 'answer' AND r.state = 'live'"
FIND = {
    column: f"{SELECT} WHERE {LIVE_ANSWER} AND r.{column} = ? AND r.context IS ? AND r.scope = ?"
    " ORDER BY r.timestamp DESC, r.sequence DESC LIMIT ?"
    for column in record_rules.FIND_COLUMNS
}
FIND_ALIASED = {
    column: f"{_COLUMNS} FROM alias AS a CROSS JOIN record AS r ON r.multihash = a.survivor"
    f" JOIN block AS b ON b.id = r.block_id"
    f" WHERE a.{column} = ? AND a.context IS ? AND a.scope = ? AND {LIVE_ANSWER}"
    " ORDER BY r.timestamp DESC, r.sequence DESC LIMIT ?"
    for column in ("query_hash", "keyword_key")
}

_NUMBERS = {
    column: f"SELECT r.sequence FROM record AS r WHERE {LIVE_ANSWER} AND r.{column} = ? AND r.context IS ?"
    " AND r.scope = ? ORDER BY r.timestamp DESC, r.sequence DESC LIMIT ?"
    for column in record_rules.FIND_COLUMNS
}
_NUMBERED = f"{SELECT} WHERE r.sequence = ?"
_FOR_STRANGERS = (
    "SELECT CASE WHEN r.scope = 'public' AND r.state = 'live' THEN b.data END"
    " FROM record AS r LEFT JOIN block AS b ON b.id = r.block_id WHERE r.multihash = ?"
)
_PUBLIC_ANSWERS = (
    "SELECT query_hash, multihash, max(sequence) FROM record"
    " WHERE kind = 'answer' AND state = 'live' AND query_hash >= :first"
    " AND (:last = '' OR query_hash < :last) AND context IS NULL AND scope = 'public'"
    " GROUP BY query_hash ORDER BY query_hash LIMIT :limit"
)


class NotPublic(NotFound):
    """What was asked for is a record of this node, live or not, and not for strangers. Never told to them."""


def record_cid(multihash: bytes) -> Cid:
    return Cid(DAG_CBOR, multihash[2:])


def open_block(keys: RecordKeys, multihash: bytes, key_id: int | None, data: bytes) -> bytes:
    """A block's bytes, unsealed if they are sealed. Raises ``NotFound`` (its key was destroyed),
    ``CorruptState``."""
    return data if key_id is None else private_rows.open_record(keys, multihash, key_id, data)[0]


def block(connection: sqlite3.Connection, keys: RecordKeys, cid: Cid) -> bytes | None:
    """Any block. Raises ``NotFound`` (its key was destroyed), ``CorruptState``."""
    row = connection.execute(
        "SELECT multihash, key_id, data FROM block WHERE multihash = ?", (cid.multihash,)
    ).fetchone()
    return None if row is None else bytes(open_block(keys, *row))


def one(connection: sqlite3.Connection, keys: RecordKeys, cid: Cid) -> StoredRecord | None:
    """A record in whatever state. Raises as ``read_row`` does."""
    row = connection.execute(f"{SELECT} WHERE r.multihash = ?", (cid.multihash,)).fetchone()
    return None if row is None else read_row(keys, row)


def survivor(connection: sqlite3.Connection, multihash: bytes) -> bytes | None:
    """What a merged record was merged into."""
    row = connection.execute("SELECT survivor FROM alias WHERE multihash = ?", (multihash,)).fetchone()
    return None if row is None else bytes(row[0])


Passed: TypeAlias = list[sqlite3.Error | CorruptState]
"""Why a look-up went on without something that is stored."""


def read_row(keys: RecordKeys, row: Sequence[Any]) -> StoredRecord:
    """One row of ``SELECT``: the block is hashed again; its signature was checked when it came in. Raises
    ``NotFound`` (its key was destroyed), ``CorruptState``."""
    sequence, multihash, state, origin, valid, invalid, kept, data, _, key_id = row
    cid = record_cid(multihash)
    if key_id is not None:
        try:
            data, kept = private_rows.open_record(keys, multihash, key_id, data)
        except NotFound as exc:
            raise NotFound(f"record {cid} is being erased: {exc}") from exc
        except CorruptState as exc:
            raise CorruptState(f"the private record {cid} cannot be read: {exc}") from exc
    if hashlib.sha256(data).digest() != cid.digest:
        raise CorruptState(
            f"the block of record {cid} has other bytes; delete it and fetch it from a peer or a backup"
        )
    try:
        record = decode(data, check_signature=False)
        said = None if kept is None else orjson.loads(kept)
    except (Rejected, orjson.JSONDecodeError) as exc:
        raise CorruptState(f"record {cid} does not decode any more: {exc}") from exc
    return StoredRecord(
        sequence=sequence,
        cid=cid,
        record=record,
        state=state,
        origin=origin,
        valid=valid,
        invalid=invalid,
        kept=said,
    )


def read_whole_rows(
    keys: RecordKeys, rows: Sequence[Sequence[Any]], passed: Passed | None = None
) -> list[StoredRecord]:
    """The rows whose block is sound: one damaged block must not take the other answers with it, nor one whose
    key was destroyed or is lost."""
    found: list[StoredRecord] = []
    for row in rows:
        try:
            found.append(read_row(keys, row))
        except NotFound:
            continue  # between the destruction of its key and its end
        except CorruptState as exc:
            _log.error("event=record_damaged sequence=%d reason=%s", row[0], exc)
            if passed is not None:
                passed.append(exc)
    return found


def find(
    connection: sqlite3.Connection,
    keys: RecordKeys,
    column: str,
    key: str,
    scopes: Sequence[str],
    context: str | None,
    limit: int,
    passed: Passed,
) -> list[StoredRecord]:
    """One bounded index look-up per scope, merged: other tenants' rows under the same key are never read."""
    rows: list[Sequence[Any]] = []
    for scope in dict.fromkeys(scopes):
        named: tuple[str | None, str | None] = key, context
        if record_rules.is_private(scope):
            if not keys.is_here:
                continue  # nothing private was ever stored
            named = private_rows.mark(keys, column, key), private_rows.mark(keys, "context", context)
        values = (*named, scope, limit)
        rows += _around_damage(connection, FIND[column], values, passed, _NUMBERS[column])
        if column in FIND_ALIASED:
            rows += _around_damage(connection, FIND_ALIASED[column], values, passed)
    found = sorted({row[0]: row for row in rows}.values(), key=lambda row: (row[8], row[0]), reverse=True)
    return read_whole_rows(keys, found[:limit], passed)


def _around_damage(
    connection: sqlite3.Connection,
    statement: str,
    values: Sequence[object],
    passed: Passed,
    numbers: str | None = None,
) -> list[Sequence[Any]]:
    """The rows of a statement. Where a page of the file is damaged, those of the records that ``numbers``
    finds, without reading them, and that are on sound pages: a look-up goes on with the next candidate."""
    try:
        return connection.execute(statement, values).fetchall()
    except sqlite3.DatabaseError as exc:
        if not is_damage(exc):
            raise
        _log.error("event=page_damaged reason=%s", exc)
        passed.append(exc)
    found: list[Sequence[Any]] = []
    if numbers is not None:
        for (number,) in _around_damage(connection, numbers, values, passed):
            found += _around_damage(connection, _NUMBERED, (number,), passed)
    return found


def aliases(connection: sqlite3.Connection, keys: RecordKeys, survivor: bytes) -> list[Alias]:
    """What was merged into a record, oldest first; what cannot be read is left out."""
    rows = connection.execute(_ALIASES, (survivor,)).fetchall()
    found: list[Alias] = []
    for row in rows:
        try:
            found.append(_alias(keys, row))
        except NotFound:
            continue
        except CorruptState as exc:
            _log.error("event=alias_damaged cid=%s reason=%s", record_cid(row[0]), exc)
    return found


_ALIASES = (
    "SELECT a.multihash, a.query_hash, a.source_kind, a.source_id, a.timestamp, a.origin, a.key_id, a.sealed,"
    " b.data, b.key_id FROM alias AS a JOIN record AS r ON r.multihash = a.multihash"
    " LEFT JOIN block AS b ON b.id = r.block_id"
    " WHERE a.survivor = ? ORDER BY a.timestamp, a.multihash"
)


def _alias(keys: RecordKeys, row: Sequence[Any]) -> Alias:
    multihash, key, kind, source_id, timestamp, origin, key_id, sealed, data, block_key = row
    if key_id is not None:
        key, source_id = private_rows.open_alias(keys, multihash, key_id, sealed)
    return Alias(
        cid=record_cid(multihash),
        query_hash=key,
        query=None if data is None else _question(open_block(keys, multihash, block_key, data)),
        source_kind=kind,
        source_id=source_id,
        timestamp=datetime.fromtimestamp(timestamp, UTC),
        origin=origin,
    )


def _question(data: bytes) -> str | None:
    try:
        record = decode(data, check_signature=False)
    except Rejected:
        return None
    return record.query if isinstance(record, AnswerRecord) else None


def select(
    connection: sqlite3.Connection, keys: RecordKeys, selection: Selection, after: int, limit: int
) -> list[BlockRef]:
    where, values = [f"{LIVE_ANSWER} AND r.sequence > :after"], dict[str, Any](after=after, limit=limit)
    if selection.cid is not None:
        where.append("r.multihash = :cid")
        values["cid"] = selection.cid.multihash
    for column, asked in (
        ("query_hash", selection.query_hash),
        ("keyword_key", selection.keyword_key),
    ):
        if asked is not None:
            names = f"{column} IN (:{column}, :{column}_name)"
            where.append(f"(r.{names} OR r.multihash IN (SELECT survivor FROM alias WHERE {names}))")
            values[column] = asked
            values[f"{column}_name"] = private_rows.mark_if_any(keys, column, asked)
    if selection.source is not None:
        where.append("(r.source_kind = :source OR r.source_id IN (:source, :source_name))")
        values["source"] = selection.source
        values["source_name"] = private_rows.mark_if_any(keys, "source_id", selection.source)
    if selection.before is not None:
        where.append("r.timestamp < :before")
        values["before"] = selection.before.timestamp()
    if selection.tag is not None:
        where.append(
            "r.tags IS NOT NULL AND EXISTS"
            " (SELECT 1 FROM json_each(r.tags) WHERE json_each.value IN (:tag, :tag_name))"
        )
        values["tag"] = selection.tag
        values["tag_name"] = private_rows.mark_if_any(keys, "tag", selection.tag)
    if selection.scopes is not None:
        scopes = {f"scope{number}": scope for number, scope in enumerate(selection.scopes)}
        where.append(f"r.scope IN ({', '.join(f':{name}' for name in scopes)})")
        values |= scopes
    rows = connection.execute(
        f"{SELECT_PLACE} WHERE {' AND '.join(where)} ORDER BY r.sequence LIMIT :limit",
        values,
    ).fetchall()
    return [_place(row) for row in rows]


def _among(
    connection: sqlite3.Connection, statement: str, values: Sequence[object], behind: str = ""
) -> Iterator[Sequence[Any]]:
    """Rows of a statement whose last column is one of ``values``, however many these are."""
    for start in range(0, len(values), CHUNK):
        chunk = tuple(values[start : start + CHUNK])
        yield from connection.execute(f"{statement} IN ({', '.join('?' * len(chunk))}) {behind}", chunk)


def _place(row: Sequence[Any]) -> BlockRef:
    """A row of ``SELECT_PLACE``."""
    return BlockRef(row[0], record_cid(row[1]), row[2])


def live(
    connection: sqlite3.Connection, keys: RecordKeys, multihashes: Sequence[bytes], passed: Passed
) -> list[StoredRecord]:
    asked = f"{SELECT} WHERE {LIVE_ANSWER} AND r.multihash"
    try:
        rows = list(_among(connection, asked, multihashes))
    except sqlite3.DatabaseError as exc:
        if not is_damage(exc):
            raise
        one_by_one = (_around_damage(connection, f"{asked} = ?", (one,), passed) for one in multihashes)
        rows = [row for found in one_by_one for row in found]
    return read_whole_rows(keys, rows, passed)


def since(connection: sqlite3.Connection, keys: RecordKeys, sequence: int, limit: int) -> list[StoredRecord]:
    """Reads on past damaged rows: an empty list must mean that there is nothing more."""
    found: list[StoredRecord] = []
    while len(found) < limit:
        behind = f"WHERE {LIVE_ANSWER} AND r.sequence > ? ORDER BY r.sequence LIMIT ?"
        values = (sequence, limit - len(found))
        try:
            rows = connection.execute(f"{SELECT} {behind}", values).fetchall()
            last = rows[-1][0] if rows else None
        except sqlite3.DatabaseError as exc:
            if not is_damage(exc):
                raise
            numbers = connection.execute(f"SELECT r.sequence FROM record AS r {behind}", values).fetchall()
            rows = [row for number in numbers for row in _around_damage(connection, _NUMBERED, number, [])]
            last = numbers[-1][0] if numbers else None
        if last is None:
            break
        found += read_whole_rows(keys, rows)
        sequence = last
    return found


def public_block(connection: sqlite3.Connection, cid: Cid) -> bytes:
    """Raises ``NotFound``, ``NotPublic``, ``CorruptState``."""
    row = connection.execute(_FOR_STRANGERS, (cid.multihash,)).fetchone()
    if row is None:
        raise NotFound(f"no record {cid} is here")
    if row[0] is None:
        raise NotPublic(f"the record {cid} is not public, or not live")
    if hashlib.sha256(row[0]).digest() != cid.digest:
        raise CorruptState(f"the public block {cid} has other bytes; fetch it again from a peer")
    return bytes(row[0])


def known(connection: sqlite3.Connection, multihashes: Sequence[bytes]) -> set[bytes]:
    """Those of these that have a row, whatever is left of the record."""
    return {row[0] for row in _among(connection, "SELECT multihash FROM record WHERE multihash", multihashes)}


def gone_for_good(connection: sqlite3.Connection, multihashes: Sequence[bytes]) -> set[bytes]:
    """Those of these that are withdrawn, or that a tombstone is about."""
    asked = (
        "SELECT multihash FROM record WHERE state = 'withdrawn' AND multihash",
        "SELECT target FROM record WHERE kind = 'tombstone' AND target",
    )
    return {row[0] for statement in asked for row in _among(connection, statement, multihashes)}


def public_blocks(
    connection: sqlite3.Connection, cids: Sequence[Cid], bytes_max: int
) -> dict[Cid, bytes | None]:
    """None: no record. Left out: what ``public_block`` refuses, and records behind ``bytes_max``. At most
    ``CHUNK`` CIDs."""
    names = {cid: cid.multihash for cid in cids}
    here = known(connection, list(names.values()))
    found: dict[Cid, bytes | None] = {cid: None for cid, name in names.items() if name not in here}
    for cid, name in names.items():
        if bytes_max <= 0:
            break
        if name in here:
            try:
                data = found[cid] = public_block(connection, cid)
            except (NotFound, CorruptState):
                continue
            bytes_max -= len(data)
    return found


def public_answers(
    connection: sqlite3.Connection, first: str, last: str, limit: int
) -> list[tuple[str, Cid]]:
    rows = connection.execute(_PUBLIC_ANSWERS, {"first": first, "last": last, "limit": limit})
    return [(key, record_cid(multihash)) for key, multihash, _ in rows]


def block_changes(connection: sqlite3.Connection, sequence: int, change: int, limit: int) -> BlockChanges:
    withdrawn = connection.execute(
        "SELECT w.change, w.multihash, r.scope, w.reason IN ('expired', 'removed') FROM withdrawal AS w"
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
        tuple(
            BlockRef(number, record_cid(multihash), scope, bool(gave_way))
            for number, multihash, scope, gave_way in withdrawn
        ),
        tuple(map(_place, written)),
    )


def newest(
    connection: sqlite3.Connection, keys: RecordKeys, scopes: Sequence[str], limit: int
) -> list[StoredRecord]:
    rows = connection.execute(
        f"{SELECT} WHERE {LIVE_ANSWER} AND r.scope IN ({', '.join('?' * len(scopes))})"
        " ORDER BY r.sequence DESC LIMIT ?",
        (*scopes, limit),
    ).fetchall()
    return read_whole_rows(keys, rows)


def tally(
    connection: sqlite3.Connection, scopes: Sequence[str], since: datetime | None, before: datetime | None
) -> int:
    least = float("-inf") if since is None else since.timestamp()
    end = float("inf") if before is None else before.timestamp()
    marks = ", ".join("?" * len(scopes))
    (number,) = connection.execute(
        f"SELECT count(*) FROM record AS r WHERE {LIVE_ANSWER} AND r.scope IN ({marks})"
        " AND r.timestamp >= ? AND r.timestamp < ?",
        (*scopes, least, end),
    ).fetchone()
    return int(number)


def counts(connection: sqlite3.Connection) -> dict[str, int]:
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


def verdicts(connection: sqlite3.Connection, targets: Sequence[bytes]) -> list[Cid]:
    """The validations about these records that are here, by the index of what is said about what."""
    asked = "SELECT multihash FROM record WHERE kind = 'validation' AND block_id IS NOT NULL AND target"
    return [record_cid(row[0]) for row in _among(connection, asked, targets, "ORDER BY sequence")]


def voices(connection: sqlite3.Connection, target: bytes, own_issuer: str) -> dict[str, tuple[str, Cid]]:
    """By voice the latest verdict of ours on a record that counts, and the CID that it is signed as."""
    rows = connection.execute(
        f"SELECT {VOICE_OF}, verdict, multihash FROM record WHERE target = ? AND kind = 'validation'"
        " AND issuer = ? AND origin = 'local' AND state <> 'withdrawn' ORDER BY sequence",
        (target, own_issuer),
    ).fetchall()
    return {voice: (verdict, record_cid(multihash)) for voice, verdict, multihash in rows}


def shredded(connection: sqlite3.Connection, slots: Sequence[int], limit: int) -> list[BlockRef]:
    """Records whose keys were destroyed and that are still here."""
    asked = f"{SELECT_PLACE} JOIN block AS b ON b.id = r.block_id WHERE b.key_id"
    return [_place(row) for row in islice(_among(connection, asked, slots), limit)]
