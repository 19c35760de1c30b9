"""Takes erased records out of a data directory that no node uses: one that is being restored, or the files of
an older backup. It leaves no tombstone; the row of such a record stays as withdrawn, so that the record is
not let in again. Blocking; raises ``CorruptState``, ``Unavailable``, and ``Rejected`` for an index file that
is none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from node.core.errors import CorruptState, Unavailable
from node.core.ipld.cid import Cid
from node.store import hit_labels, record_reads, record_writes, refuted_answers
from node.store.backup.index_entries import take_out
from node.store.salvage.files import DAMAGED

_REASON = "erased"


def _records(connection: sqlite3.Connection, cids: Sequence[Cid]) -> None:
    for cid in cids:
        said = record_reads.verdicts(connection, [cid.multihash])
        for one in (*said, cid):
            record_writes.withdraw_one(connection, one.multihash, _REASON)
            record_writes.delete_for_good(connection, one.multihash)


def _each(statement: str, connection: sqlite3.Connection, cids: Sequence[Cid]) -> None:
    connection.executemany(statement, [(cid.multihash,) for cid in cids])


_TABLES: Mapping[str, Callable[[sqlite3.Connection, Sequence[Cid]], None]] = {
    "blocks.sqlite": _records,
    "foreign.sqlite": partial(_each, "DELETE FROM block WHERE multihash = ?"),
    "refuted.sqlite": lambda connection, cids: refuted_answers.forget(connection, list(map(str, cids))),
    "labels.sqlite": lambda connection, cids: hit_labels.forget(connection, list(map(str, cids))),
    "peers.sqlite": partial(_each, "DELETE FROM held WHERE multihash = ?"),
}
FILES = (*_TABLES, "knowledge-index.kept.json")
"""What holds something of a record that was erased."""
Others = Mapping[str, Callable[[sqlite3.Connection, Sequence[str]], None]]
"""By name: further files that hold something of what was erased, and what takes it out by the lines of the
list."""
NEVER = f"{DAMAGED}/"
"""Copies of files that were damaged hold what they held, and nothing can be taken out of them: below this
folder of a data directory nothing is backed up or restored."""


def strike(path: Path, cids: Sequence[str], others: Others) -> bool:
    """Take these records out of one of ``FILES``, or what ``others`` knows out of one of theirs; whether the
    file was changed. Lines that are no CID are passed over. What was deleted is overwritten, and nothing
    waits beside the file."""
    if path.name not in _TABLES and path.name not in others:
        return take_out(path, frozenset(cids))
    named = [cid for text in cids if (cid := Cid.find(text, any_hash=True)) is not None]
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")
            before = connection.total_changes
            connection.execute("BEGIN IMMEDIATE")
            if path.name in others:
                others[path.name](connection, cids)
            else:
                _TABLES[path.name](connection, named)
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return connection.total_changes != before
        finally:
            connection.close()
    except sqlite3.OperationalError as exc:
        raise Unavailable(f"erased records cannot be taken out of {path}: {exc}") from exc
    except sqlite3.DatabaseError as exc:
        raise CorruptState(f"{path} is damaged: {exc}") from exc
