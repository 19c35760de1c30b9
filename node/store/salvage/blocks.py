"""Makes a sound block store of what is whole in a damaged one.

Rules:
1. A block is whole if its bytes hash to its name, or open with its key. The columns of a record's row that
   its bytes say are made from them again; state, origin and worth are the row's own.
2. What withdraws comes first: rows of withdrawals, what their index still names, tombstones and verdicts,
   what a newer answer replaced, what was merged. Nothing that any of these names comes back.
3. A record of our own whose row is lost comes back from its block, unless the table of withdrawals is torn
   too: then nobody can say whether it was withdrawn. Another's record whose row is lost is lost: what stood
   beside it was our judgement.
4. A record whose block is lost keeps an empty row, so that the same record may come again; it is named as
   lost where it was live. So is one that only an index still names.
5. Numbers of records and changes are never given twice.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from node.core.errors import CorruptState, NotFound, Rejected
from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.record import AnswerRecord, Record, decode
from node.store import private_rows, record_rules
from node.store import record_writes as writes
from node.store.record_keys import RecordKeys
from node.store.record_reads import record_cid
from node.store.record_schema import NAMED, SEALED_BY, SET_NOTE, KeywordKey
from node.store.salvage.pages import Value
from node.store.salvage.tables import Salvage, Table
from node.store.writer import insert

_log = logging.getLogger("neuroswarm.store")

_MULTIHASH = b"\x12\x20"
_MULTIHASH_BYTES = 34
_STATES = ("live", "withdrawn", "removed")
_WORDS_FIRST = {"key": 0, "tombstone": 1, "validation": 2, "answer": 3}


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """``whole`` records came with their rows, ``from_block`` without; ``lost`` are named."""

    whole: int
    from_block: int
    lost: tuple[Cid, ...]


def is_name(value: Value) -> bool:
    """Whether a value is the multihash of a record."""
    return isinstance(value, bytes) and len(value) == _MULTIHASH_BYTES and value.startswith(_MULTIHASH)


class Rebuilding:
    """Into an empty store of this format, over ``connection``, in one transaction: hand ``take`` to
    ``salvage``, then call ``finish``. Blocking."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        tables: Mapping[str, Table],
        keys: RecordKeys,
        own_issuer: str,
        keyword_key: KeywordKey | None,
    ) -> None:
        self._connection = connection
        self._names = {name: [column.name for column in table.columns] for name, table in tables.items()}
        self._keys = keys
        self._own = own_issuer
        self._keyword_key = keyword_key
        self._blocks: dict[bytes, int] = {}
        self._unsound = set[bytes]()

    def take(self, table: str, row: tuple[Value, ...]) -> bool:
        """A block, once it is read: it is written, if it is whole, and not held in memory."""
        if table != "block":
            return False
        block: dict[str, Any] = dict(zip(self._names["block"], row, strict=True))
        multihash = block["multihash"]
        if not is_name(multihash) and block["codec"] == DAG_CBOR:
            return True
        if multihash in self._blocks:
            return True
        if self._opened(multihash, block["key_id"], block["data"]) is None:
            self._unsound.add(multihash)
            return True
        self._put("block", block)
        self._blocks[multihash] = block["id"]
        return True

    def finish(self, done: Salvage) -> Rebuilt:
        """Everything else. Raises ``sqlite3.Error``, ``NodeError``."""
        for table in ("spent_key", "note"):
            for row in self._rows(done, table):
                self._put(table, row)
        if self._keys.is_here:  # what is sealed here opened with these keys
            self._connection.execute(SET_NOTE, (SEALED_BY, self._keys.name))
        gone = self._withdrawals(done)
        rows, lost = self._records(done)
        self._sequences(done)
        aliased = self._aliases(done, rows)
        is_known = "withdrawal" not in done.torn & done.torn_keys
        back, unknown = self._without_row(rows, gone | aliased, is_known=is_known)
        lost |= unknown
        for name in self._named(done) - rows.keys() - gone.keys() - self._blocks.keys():
            lost[name] = None
        for multihash, state in rows.items():
            if state == "live" and multihash in gone | aliased:
                writes.withdraw(self._connection, multihash, (gone | aliased)[multihash])
            elif state != "live" and multihash not in gone:
                writes.note_withdrawal(self._connection, multihash, "salvaged")
        self._superseded()
        return Rebuilt(len(rows) - len(lost.keys() & rows.keys()), back, tuple(map(record_cid, lost)))

    # --- parts ------------------------------------------------------------------------------------

    def _rows(self, done: Salvage, table: str) -> list[dict[str, Any]]:
        return [dict(zip(self._names[table], row, strict=True)) for row in done.rows[table]]

    def _put(self, table: str, row: Mapping[str, Any]) -> bool:
        """Whether the row was taken: one that contradicts another is not."""
        try:
            self._connection.execute(insert(table, row), row)
        except sqlite3.IntegrityError as exc:
            _log.warning("event=row_left_out table=%s reason=%s", table, exc)
            return False
        return True

    def _opened(self, multihash: bytes, key_id: object, data: object) -> bytes | None:
        """A block's bytes; empty where its key was destroyed; None where it is not whole."""
        if not isinstance(data, bytes):
            return None
        try:
            if key_id is not None:
                assert isinstance(key_id, int)
                data = private_rows.open_record(self._keys, multihash, key_id, data)[0]
            return data if _MULTIHASH + hashlib.sha256(data).digest() == multihash else None
        except NotFound:
            return b""
        except (CorruptState, ValueError):
            return None

    def _record(self, multihash: bytes) -> tuple[Record, bytes] | None:
        """The record in a whole block."""
        row = self._connection.execute(
            "SELECT key_id, data FROM block WHERE multihash = ?", (multihash,)
        ).fetchone()
        opened = self._opened(multihash, *row)
        with suppress(Rejected):
            return None if not opened else (decode(opened, check_signature=False), opened)
        return None

    def _withdrawals(self, done: Salvage) -> dict[bytes, str]:
        gone: dict[bytes, str] = {}
        for row in self._rows(done, "withdrawal"):
            if is_name(row["multihash"]) and self._put("withdrawal", row):
                gone[row["multihash"]] = row["reason"]
        for name in {key for values in done.keys["withdrawal"] for key in values if is_name(key)}:
            if name not in gone:
                assert isinstance(name, bytes)
                gone[name] = "salvaged"
                writes.note_withdrawal(self._connection, name, "salvaged")
        return gone

    def _records(self, done: Salvage) -> tuple[dict[bytes, str], dict[bytes, None]]:
        """The rows of records: what state each has now, and which live ones have lost their block."""
        states: dict[bytes, str] = {}
        lost: dict[bytes, None] = {}
        for row in self._rows(done, "record"):
            multihash = row["multihash"]
            if not is_name(multihash) or row["state"] not in _STATES or multihash in states:
                continue
            if row["block_id"] is not None and multihash in self._blocks:
                row["block_id"] = self._blocks[multihash]
                found = self._record(multihash)
                if found is not None:
                    row |= self._said(row, *found)
            elif row["block_id"] is not None:
                row |= {"block_id": None, **dict.fromkeys((*NAMED, "kept"))}
                if row["state"] == "live":
                    row["state"] = "removed"
                    lost[multihash] = None
            if self._put("record", row):
                states[multihash] = row["state"]
        for multihash in states:
            writes.recount(self._connection, multihash)
        return states, lost

    def _said(self, row: Mapping[str, Any], record: Record, data: bytes) -> dict[str, Any]:
        """What the record's bytes say of it, in the columns of its row."""
        checked = record_rules.Checked(Cid.of(data), data, record, row["origin"], None, None)
        columns = writes.columns_of(self._keys, checked)
        return {name: value for name, value in columns.items() if name not in ("keyword_key", "kept")}

    def _aliases(self, done: Salvage, states: Mapping[bytes, str]) -> dict[bytes, str]:
        """What was merged is withdrawn, whether or not its row says so."""
        merged: dict[bytes, str] = {}
        for row in self._rows(done, "alias"):
            if is_name(row["multihash"]):
                merged[row["multihash"]] = "merged"
                if row["multihash"] in states and states.get(row["survivor"]) == "live":
                    self._put("alias", row)
        return merged

    def _sequences(self, done: Salvage) -> None:
        said = {str(row["name"]): row["seq"] for row in self._rows(done, "sqlite_sequence")}
        for table, column in (("record", "sequence"), ("withdrawal", "change")):
            [most] = self._connection.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            self._connection.execute(
                "INSERT INTO sqlite_sequence VALUES (?, ?)", (table, max(most, said.get(table, 0)))
            )

    def _without_row(
        self, states: Mapping[bytes, str], gone: Mapping[bytes, str], *, is_known: bool
    ) -> tuple[int, dict[bytes, None]]:
        """Rule 3: records whose block is whole and whose row is lost. How many came back, and which not."""
        found: list[tuple[int, Any, bytes, Record]] = [
            (_WORDS_FIRST[one[0].kind], one[0].timestamp, multihash, one[0])
            for multihash in self._blocks
            if multihash not in states and (one := self._record(multihash)) is not None
        ]
        back, lost = 0, dict[bytes, None]()
        for _, _, multihash, record in sorted(found, key=lambda one: one[:3]):
            is_own, is_answer = record.issuer == self._own, isinstance(record, AnswerRecord)
            if is_answer and not (is_own and is_known):
                lost |= {} if multihash in gone else {multihash: None}
                self._connection.execute("DELETE FROM block WHERE multihash = ?", (multihash,))
                continue
            keyword = None
            if self._keyword_key is not None and isinstance(record, AnswerRecord):
                keyword = self._keyword_key(record.query)
            origin = record_rules.LOCAL if is_own else record.issuer
            try:
                checked = record_rules.check(record, origin=origin, keyword_key=keyword, kept=None)
                writes.add(self._connection, self._keys, checked, writes.Ties((), (), None), self._own)
            except Rejected as exc:
                _log.warning("event=record_left_out cid=%s reason=%s", record_cid(multihash), exc)
                continue
            if multihash in gone:
                writes.withdraw(self._connection, multihash, gone[multihash])
            back += 1
        return back, lost

    def _superseded(self) -> None:
        """What a live answer of ours says that it replaced is not live beside it."""
        rows = self._connection.execute(
            "SELECT multihash FROM record WHERE kind = 'answer' AND state = 'live' AND origin = 'local'"
        ).fetchall()
        for (multihash,) in rows:
            found = self._record(multihash)
            if found is not None and isinstance(found[0], AnswerRecord) and found[0].supersedes:
                old = Cid.parse(found[0].supersedes).multihash
                writes.withdraw(self._connection, old, "superseded")

    def _named(self, done: Salvage) -> set[bytes]:
        """The records that indexes and damaged blocks still name."""
        keys = (key for table in ("block", "record") for values in done.keys[table] for key in values[:1])
        return {key for key in keys if isinstance(key, bytes) and is_name(key)} | {
            name for name in self._unsound if is_name(name)
        }
