"""A table of peers of format 1 becomes one of format 2: nothing is lost, and each statement has its key."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from node.core.errors import CorruptState
from node.core.ipld.cid import Cid
from node.core.record import block_of, time_us
from node.peers.rules.values import Held, Level, Standing, Summary, Tier, Usage
from node.peers.store.sqlite import SqlitePeerStore
from tests.admit_kit import Door, Issuer
from tests.manual_clock import ManualClock
from tests.peer_builders import held_of
from tests.record_builders import START

FORMAT_1 = """CREATE TABLE contact (
    number INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL UNIQUE, source TEXT NOT NULL, root TEXT,
    added INTEGER
);
CREATE TABLE root (
    id INTEGER PRIMARY KEY AUTOINCREMENT, did TEXT NOT NULL UNIQUE,
    records INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, keys INTEGER NOT NULL DEFAULT 0,
    tombstones INTEGER NOT NULL DEFAULT 0, statements INTEGER NOT NULL DEFAULT 0,
    hour INTEGER NOT NULL DEFAULT 0, taken INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX root_statements ON root (statements);
CREATE TABLE standing (
    root INTEGER PRIMARY KEY REFERENCES root (id), level TEXT NOT NULL, trust_group TEXT,
    dropped TEXT NOT NULL, refuted INTEGER NOT NULL, valid INTEGER NOT NULL, invalid INTEGER NOT NULL
);
CREATE TABLE begun (
    number INTEGER PRIMARY KEY AUTOINCREMENT, root INTEGER NOT NULL UNIQUE REFERENCES root (id)
);
CREATE TABLE position (
    root INTEGER PRIMARY KEY REFERENCES root (id), origin TEXT NOT NULL, size INTEGER NOT NULL,
    edge BLOB NOT NULL, note BLOB NOT NULL
);
CREATE TABLE count (
    root INTEGER NOT NULL REFERENCES root (id) ON DELETE CASCADE, code TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (root, code)
) WITHOUT ROWID;
CREATE TABLE key (
    number INTEGER PRIMARY KEY AUTOINCREMENT, root INTEGER NOT NULL REFERENCES root (id),
    multihash BLOB NOT NULL, data BLOB NOT NULL, UNIQUE (root, multihash)
);
CREATE TABLE held (
    id INTEGER PRIMARY KEY AUTOINCREMENT, multihash BLOB NOT NULL UNIQUE,
    issuer INTEGER NOT NULL REFERENCES root (id),
    tier TEXT NOT NULL, trust_ppm INTEGER NOT NULL, received INTEGER NOT NULL, until INTEGER NOT NULL,
    log_index INTEGER NOT NULL, cid BLOB NOT NULL, key TEXT NOT NULL, query_hash TEXT NOT NULL, slot_key TEXT,
    agreed TEXT NOT NULL, data BLOB NOT NULL
);
CREATE INDEX held_issuer ON held (issuer, multihash);
CREATE INDEX held_query ON held (query_hash, issuer, received, log_index);
CREATE INDEX held_slot ON held (slot_key, issuer, received, log_index) WHERE slot_key IS NOT NULL;
CREATE INDEX held_until ON held (until);
CREATE VIEW held_row AS
    SELECT held.id AS id, held.multihash AS multihash, held.issuer AS issuer, cid, data, did, key, tier,
        query_hash, slot_key, agreed, received, until, trust_ppm, log_index
    FROM held JOIN root ON root.id = held.issuer;
CREATE TABLE tombstone (
    id INTEGER PRIMARY KEY, issuer INTEGER NOT NULL REFERENCES root (id), target BLOB NOT NULL,
    cid BLOB NOT NULL, data BLOB NOT NULL, until INTEGER NOT NULL, UNIQUE (issuer, target)
);
CREATE INDEX tombstone_until ON tombstone (until);
CREATE TABLE statement (
    id INTEGER PRIMARY KEY AUTOINCREMENT, multihash BLOB NOT NULL UNIQUE,
    issuer INTEGER NOT NULL REFERENCES root (id),
    target BLOB NOT NULL, verdict TEXT NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX statement_target ON statement (target, issuer, at, multihash);
CREATE INDEX statement_issuer ON statement (issuer, id);
CREATE TABLE total (statements INTEGER NOT NULL);
INSERT INTO total VALUES (0);
CREATE TRIGGER held_added AFTER INSERT ON held BEGIN
    UPDATE root SET records = records + 1, bytes = bytes + length(NEW.data) WHERE id = NEW.issuer;
END;
CREATE TRIGGER held_deleted AFTER DELETE ON held BEGIN
    UPDATE root SET records = records - 1, bytes = bytes - length(OLD.data) WHERE id = OLD.issuer;
END;
CREATE TRIGGER key_added AFTER INSERT ON key BEGIN
    UPDATE root SET keys = keys + 1 WHERE id = NEW.root;
END;
CREATE TRIGGER tombstone_added AFTER INSERT ON tombstone BEGIN
    UPDATE root SET tombstones = tombstones + 1 WHERE id = NEW.issuer;
END;
CREATE TRIGGER tombstone_deleted AFTER DELETE ON tombstone BEGIN
    UPDATE root SET tombstones = tombstones - 1 WHERE id = OLD.issuer;
END;
CREATE TRIGGER statement_added AFTER INSERT ON statement BEGIN
    UPDATE root SET statements = statements + 1 WHERE id = NEW.issuer;
    UPDATE total SET statements = statements + 1;
END;
CREATE TRIGGER statement_deleted AFTER DELETE ON statement BEGIN
    UPDATE root SET statements = statements - 1 WHERE id = OLD.issuer;
    UPDATE total SET statements = statements - 1;
END
"""


def row_of(rows: sqlite3.Connection, did: str) -> int:
    return int(rows.execute("INSERT INTO root (did) VALUES (?) RETURNING id", (did,)).fetchone()[0])


def held_by(issuer: Issuer) -> Held:
    record = issuer.answer("What is held?")
    return held_of(record, issuer.did, block_of(record)[1], 1)


def write_format_1(path: Path, issuer: Issuer, targets: list[Cid]) -> None:
    """A root with a held record, a statement on each of ``targets`` and one that the disk has damaged."""
    rows = sqlite3.connect(path)
    rows.executescript(f"{FORMAT_1}; PRAGMA application_id = {int.from_bytes(b'NSp1', 'big')}")
    rows.execute("PRAGMA user_version = 1")
    number, other = row_of(rows, issuer.did), row_of(rows, "did:key:other")
    one = held_by(issuer)
    rows.execute(
        "INSERT INTO held (multihash, issuer, tier, trust_ppm, received, until, log_index, cid, key, "
        "query_hash, slot_key, agreed, data) VALUES (?, ?, 'trusted', 0, 0, ?, 1, ?, ?, 'q', NULL, 'a', ?)",
        (one.cid.multihash, number, 2**63 - 1, bytes(one.cid), one.key, one.data),
    )
    standing = "INSERT INTO standing VALUES (?, ?, ?, ?, 0, 0, 0)"
    rows.execute(standing, (number, "trusted", "family", ""))
    rows.execute(standing, (other, "known", "family", "equivocation"))
    add = "INSERT INTO statement (multihash, issuer, target, verdict, at, data) VALUES (?, ?, ?, ?, ?, ?)"
    for target in targets:
        cid, data = block_of(issuer.says(target, "invalid"))
        rows.execute(add, (cid.multihash, number, target.multihash, "invalid", time_us(START), data))
    damaged = Cid.of(b"damaged").multihash
    rows.execute(add, (damaged, number, targets[0].multihash, "invalid", time_us(START), b"\xff"))
    rows.commit()
    rows.close()


async def test_statements_get_the_key_that_their_own_bytes_name(tmp_path: Path) -> None:
    path, issuer = tmp_path / "peers.sqlite", Issuer(1)
    targets = [Cid.of(b"target %d" % number) for number in range(3)]
    write_format_1(path, issuer, targets)
    store = await SqlitePeerStore.open(path, ManualClock(START))
    assert [await store.statements(target) for target in targets] == [{issuer.did: "invalid"}] * 3
    assert await store.known_statements([Cid.of(b"damaged")], issuer.did) == set()
    assert await store.unfinished() == [issuer.did], "its keys are held against what they signed once more"
    span = (START - timedelta(days=1), START + timedelta(days=1))
    assert await store.recount(issuer.did, {issuer.node.did: span}) == 0
    assert await store.recount(issuer.did, {issuer.root.did: span}) == 3
    assert [await store.statements(target) for target in targets] == [{}, {}, {}]
    await store.close()


async def test_sums_are_made_of_what_was_there_and_kept_from_then_on(tmp_path: Path) -> None:
    path, issuer = tmp_path / "peers.sqlite", Issuer(1)
    write_format_1(path, issuer, [Cid.of(b"target")])
    one = held_by(issuer)
    store = await SqlitePeerStore.open(path, ManualClock(START))
    levels = {Level.TRUSTED: 1, Level.KNOWN: 1}
    size = len(one.data)
    was = Summary(0, levels, 1, 1, size, {Tier.TRUSTED: 1}, Usage(1, size, 0))
    assert await store.summary(START) == was
    await store.release(one.cid)
    await store.set_standing(Standing(issuer.did, Level.BLOCKED))
    levels = {Level.BLOCKED: 1, Level.KNOWN: 1}
    assert await store.summary(START) == Summary(0, levels, 1, 1, 0, {}, Usage())
    await store.close()
    again = await SqlitePeerStore.open(path, ManualClock(START))
    assert (await again.summary(START)).levels == levels
    await again.close()


async def test_a_key_that_was_revoked_before_is_held_against_its_statements_at_the_start(
    tmp_path: Path,
) -> None:
    path, issuer, other = tmp_path / "peers.sqlite", Issuer(1), Issuer(2)
    answered = other.answer()
    target = block_of(answered)[0]
    write_format_1(path, issuer, [target])
    store = await SqlitePeerStore.open(path, ManualClock(START))
    door = Door(store=store)
    await door.stand(other)
    await door.certify(issuer, issuer.certificate)
    await door.certify(issuer, issuer.revoke())
    assert await door.take(other, answered) == "outvoted"
    await door.admitter.resume()
    assert await store.statements(target) == {}
    assert await door.served(answered) is not None
    await store.close()


async def test_a_newer_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "peers.sqlite"
    write_format_1(path, Issuer(1), [Cid.of(b"target")])
    rows = sqlite3.connect(path)
    rows.execute("PRAGMA user_version = 9")
    rows.close()
    with pytest.raises(CorruptState, match="written by a newer program"):
        await SqlitePeerStore.open(path, ManualClock(START))
