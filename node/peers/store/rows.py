"""Rows of the table of peers as values and back, and what bounds the table (``node.peers.store.schema``).

Times are microseconds since 1970 UTC. ``FOREVER`` stands for no end.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from node.core.errors import CorruptState, Rejected
from node.core.ipld.cid import Cid
from node.core.record import UNIX_EPOCH, time_us
from node.peers.rules.values import Contact, Held, Level, Position, Standing, Tier

EDGE_HASH_BYTES = 32
FOREVER = 2**63 - 1
OTHER_CODE = "other"
"""Under which a root's refusals are counted once it has more codes than are kept apart."""
RIVALS_OF_ONE = 4
_NOTED = frozenset({"refuted", "valid", "invalid"})
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept at most. ``roots``: of which anything is known; ``statements``: of all roots together;
    past it the root with the most loses its oldest, so that nobody pushes others out."""

    contacts: int = 256
    roots: int = 16_384
    keys_of_root: int = 512
    codes_of_root: int = 64
    statements_of_root: int = 50_000
    statements: int = 500_000


def end_of(until: datetime | None) -> int:
    """As it is stored."""
    return FOREVER if until is None else time_us(until)


def time_of(stored: int) -> datetime:
    """Inverse of ``time_us``."""
    return UNIX_EPOCH + timedelta(microseconds=stored)


def hour_of(when: datetime) -> int:
    """Whole hours since 1970 UTC."""
    return (when - UNIX_EPOCH) // _HOUR


def held_values(held: Held, issuer: int) -> dict[str, Any]:
    """The columns of ``held``, by name."""
    return {
        "multihash": held.cid.multihash,
        "issuer": issuer,
        "tier": held.tier.value,
        "trust_ppm": held.trust_ppm,
        "received": time_us(held.received),
        "until": end_of(held.until),
        "log_index": held.log_index,
        "cid": bytes(held.cid),
        "key": held.key,
        "query_hash": held.query_hash,
        "slot_key": held.slot_key,
        "agreed": held.agreed,
        "data": held.data,
    }


def read_held(row: sqlite3.Row) -> Held | None:
    """A row of ``held_row``; None where the disk has damaged it: the bytes are not what their CID names."""
    try:
        cid, data = Cid.from_bytes(row["cid"], any_hash=True), bytes(row["data"])
        held = Held(
            cid=cid,
            data=data,
            issuer=row["did"],
            key=row["key"],
            tier=Tier(row["tier"]),
            query_hash=row["query_hash"],
            slot_key=row["slot_key"],
            agreed=row["agreed"],
            received=time_of(row["received"]),
            until=None if row["until"] == FOREVER else time_of(row["until"]),
            trust_ppm=row["trust_ppm"],
            log_index=row["log_index"],
        )
    except (Rejected, ValueError, TypeError, OverflowError):
        return None
    return held if cid.multihash == row["multihash"] and cid.matches(data) else None


def read_contact(row: sqlite3.Row) -> Contact:
    """A row of ``contact``."""
    added = None if row["added"] is None else time_of(row["added"])
    return Contact(row["address"], row["source"], row["root"], added)


def standing_values(one: Standing) -> tuple[Any, ...]:
    """The columns of ``standing`` but the number of its root."""
    return one.level.value, one.group, one.dropped, one.refuted, one.valid, one.invalid


def read_standing(row: sqlite3.Row) -> Standing:
    """A row of ``standing`` with its ``did``. Raises ``CorruptState``: it is the operator's own word."""
    try:
        level = Level(row["level"])
    except ValueError as exc:
        raise CorruptState(
            f"the table of peers has the unknown level {row['level']!r} for {row['did']}; set it again with "
            "neuroswarm peers trust, or restore the file from a backup"
        ) from exc
    return Standing(
        row["did"], level, row["trust_group"], row["dropped"], row["refuted"], row["valid"], row["invalid"]
    )


def check_position(position: Position) -> None:
    """Raises ``Rejected`` for an edge of anything but hashes."""
    if any(len(one) != EDGE_HASH_BYTES for one in position.edge):
        raise Rejected(f"a subtree's root has {EDGE_HASH_BYTES} bytes")


def read_position(row: sqlite3.Row) -> Position:
    """A row of ``position`` with its ``did``."""
    edge = bytes(row["edge"])
    hashes = tuple(edge[at : at + EDGE_HASH_BYTES] for at in range(0, len(edge), EDGE_HASH_BYTES))
    return Position(row["did"], row["origin"], row["size"], hashes, bytes(row["note"]))


def check_noted(what: str) -> None:
    """Raises ``Rejected``."""
    if what not in _NOTED:
        raise Rejected(f"what is noted of a root is one of {', '.join(sorted(_NOTED))}, not {what!r}")


def too_many_contacts(limits: Limits) -> str:
    return (
        f"{limits.contacts} peers are polled already, which is the limit; "
        "remove one with neuroswarm peers remove"
    )


def too_many_keys(limits: Limits) -> str:
    return f"{limits.keys_of_root} key records of this root are kept already, which is the limit"


def too_many_roots(limits: Limits) -> str:
    return f"something is kept of {limits.roots} roots already, which is the limit; this one has to wait"
