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
from node.peers.store.sqlite import PeerStore
from tests.admit_kit import Door, Issuer
from tests.manual_clock import ManualClock
from tests.peer_builders import held_of
from tests.record_builders import START

FORMAT_1 = Path(__file__).with_name("format_1.sql").read_text("utf-8")


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
    store = await PeerStore.open(path, ManualClock(START))
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
    store = await PeerStore.open(path, ManualClock(START))
    levels = {Level.TRUSTED: 1, Level.KNOWN: 1}
    size = len(one.data)
    was = Summary(0, levels, 1, 1, size, {Tier.TRUSTED: 1}, Usage(1, size, 0))
    assert await store.summary(START) == was
    await store.release(one.cid)
    await store.set_standing(Standing(issuer.did, Level.BLOCKED))
    levels = {Level.BLOCKED: 1, Level.KNOWN: 1}
    assert await store.summary(START) == Summary(0, levels, 1, 1, 0, {}, Usage())
    await store.close()
    again = await PeerStore.open(path, ManualClock(START))
    assert (await again.summary(START)).levels == levels
    await again.close()


async def test_a_key_that_was_revoked_is_held_against_its_statements_at_the_start(tmp_path: Path) -> None:
    path, issuer, other = tmp_path / "peers.sqlite", Issuer(1), Issuer(2)
    answered = other.answer()
    target = block_of(answered)[0]
    write_format_1(path, issuer, [target])
    store = await PeerStore.open(path, ManualClock(START))
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
        await PeerStore.open(path, ManualClock(START))
