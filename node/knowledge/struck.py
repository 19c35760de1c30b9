"""Takes documents that were removed out of a ``documents.sqlite`` that no node uses: one that is being
restored, or that of an older backup. Needs no key, and reads files of format 1 too.

A line of the list of what was erased names a document by its ``uid``, which says nothing of it. Its file is
not taken in again where it lies in a folder, whatever its bytes are, before somebody asks (``--again``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from node.knowledge.rows import clear, drop_unused, forget
from node.knowledge.schema import first_uid

_LINE = "document:"


def line_of(uid: str) -> str:
    """The line for a document."""
    return _LINE + uid


def strike(connection: sqlite3.Connection, lines: Sequence[str]) -> None:
    """Other lines are passed over. Nothing of the documents stays in the file."""
    gone = {line.removeprefix(_LINE) for line in lines if line.startswith(_LINE)}
    if not gone:
        return
    has_uids = connection.execute("PRAGMA user_version").fetchone()[0] > 1
    hashes: set[bytes] = set()
    for row in connection.execute("SELECT * FROM document").fetchall():
        if (row["uid"] if has_uids else first_uid(row)) in gone:
            hashes.update(clear(connection, row["id"]))
            forget(connection, row)
    drop_unused(connection, hashes)
    if hashes:
        connection.execute("INSERT INTO keyword (keyword) VALUES ('optimize')")
