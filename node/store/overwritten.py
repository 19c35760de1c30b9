"""Texts of answers that were withdrawn (overwritten, called invalid, expired): kept for a while, for they
explain older decisions, and then taken off the disk.

A withdrawal has a number and no time. So the number that is the newest is noted with the time, again and
again, and what was withdrawn up to a note that is old enough goes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from node.core.ipld.cid import Cid
from node.store.record_reads import record_cid
from node.store.record_writes import delete_block

NOTES_MAX = 128
"""More than are made in the time that texts are kept."""
Note = tuple[int, int]
"""(seconds since 1970, the newest withdrawal then)."""


def reclaim(connection: sqlite3.Connection, change: int, limit: int) -> list[Cid]:
    """Delete the blocks of at most ``limit`` answers that were withdrawn up to ``change``; their rows stay,
    and they are not let in again."""
    rows = connection.execute(
        "SELECT r.multihash FROM record AS r JOIN withdrawal AS w ON w.multihash = r.multihash"
        " WHERE r.kind = 'answer' AND r.state = 'withdrawn' AND r.block_id IS NOT NULL AND w.change <= ?"
        " ORDER BY r.sequence LIMIT ?",
        (change, limit),
    ).fetchall()
    for (multihash,) in rows:
        delete_block(connection, multihash)
    return [record_cid(multihash) for (multihash,) in rows]


def noted(notes: Sequence[Note], now_s: int, change: int, kept_s: int) -> tuple[list[Note], int]:
    """The notes with this one, where it is time for one, and the newest change that is old enough to go (0:
    none). Notes of the future (the clock was set back) are made anew. Pure."""
    found = [one for one in notes if one[0] <= now_s]
    if not found or now_s - found[-1][0] >= kept_s / (NOTES_MAX - 4):
        found.append((now_s, change))
    old = [one for one in found if now_s - one[0] >= kept_s]
    return [*old[-1:], *(one for one in found if now_s - one[0] < kept_s)][-NOTES_MAX:], (
        old[-1][1] if old else 0
    )
