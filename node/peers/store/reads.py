"""What one read of the table of peers finds, from sums and by going from issuer to issuer in an index: how
much one of them has there does not matter."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TypeAlias

from node.peers.rules.values import Level, Summary, Tier, Usage
from node.peers.store.rows import RIVALS_OF_ONE

_Age: TypeAlias = tuple[int, int, int]


def integer(connection: sqlite3.Connection, statement: str, *values: object) -> int:
    """The number that a statement finds; 0 for none."""
    row = connection.execute(statement, values).fetchone()
    return int((row and row[0]) or 0)


def summary(connection: sqlite3.Connection, hour: int) -> Summary:
    """From sums and the ends of indexes: what is held is not looked at."""
    sums: dict[str, dict[str, int]] = {}
    for row in connection.execute("SELECT kind, name, count FROM tally WHERE kind != 'group'"):
        sums.setdefault(row["kind"], {})[row["name"]] = row["count"]

    return Summary(
        contacts=integer(connection, "SELECT count(*) FROM contact"),
        levels={level: count for level in Level if (count := sums.get("level", {}).get(level.value))},
        dropped=sums.get("dropped", {}).get("", 0),
        groups=integer(connection, "SELECT count(*) FROM tally WHERE kind = 'group'"),
        bytes=sums.get("bytes", {}).get("", 0),
        tiers={tier: count for tier in Tier if (count := sums.get("tier", {}).get(tier.value))},
        fullest=Usage(
            integer(connection, "SELECT max(records) FROM root"),
            integer(connection, "SELECT max(bytes) FROM root"),
            integer(connection, "SELECT max(taken) FROM root WHERE hour = ?", hour),
        ),
    )


def statements(connection: sqlite3.Connection, target: bytes) -> dict[str, str]:
    """Each issuer's newest verdict that counts."""
    next_issuer = "SELECT min(issuer) FROM statement WHERE target = ? AND issuer > ? AND counts = 1"
    newest = (
        "SELECT did, verdict FROM statement JOIN root ON root.id = issuer "
        "WHERE target = ? AND issuer = ? AND counts = 1 ORDER BY at DESC, multihash DESC LIMIT 1"
    )
    return {
        row["did"]: row["verdict"]
        for issuer in _issuers(connection, next_issuer, target)
        for row in connection.execute(newest, (target, issuer))
    }


def _issuers(connection: sqlite3.Connection, next_issuer: str, asked: str | bytes) -> Iterator[int]:
    """Goes from issuer to issuer in an index: how many rows one of them has there does not matter."""
    issuer = 0
    while (found := connection.execute(next_issuer, (asked, issuer)).fetchone()[0]) is not None:
        issuer = int(found)
        yield issuer


def rivals(connection: sqlite3.Connection, query_hash: str, slot_key: str | None) -> list[int]:
    """Numbers of rows, everybody's newest first, then everybody's second, and so on."""
    ages: dict[int, set[_Age]] = {}
    for column, asked in (("query_hash", query_hash), ("slot_key", slot_key)):
        if asked is None:
            continue
        next_issuer = f"SELECT min(issuer) FROM held WHERE {column} = ? AND issuer > ?"
        newest = (
            f"SELECT received, log_index, id FROM held WHERE {column} = ? AND issuer = ? "
            "ORDER BY received DESC, log_index DESC, id DESC LIMIT ?"
        )
        for issuer in _issuers(connection, next_issuer, asked):
            found = connection.execute(newest, (asked, issuer, RIVALS_OF_ONE))
            ages.setdefault(issuer, set()).update((row[0], row[1], row[2]) for row in found)
    ranked = [
        (rank, age)
        for found_of_one in ages.values()
        for rank, age in enumerate(sorted(found_of_one, reverse=True)[:RIVALS_OF_ONE])
    ]
    ranked.sort(key=lambda pair: (pair[0], -pair[1][0], -pair[1][1], -pair[1][2]))
    return [age[2] for _, age in ranked]
