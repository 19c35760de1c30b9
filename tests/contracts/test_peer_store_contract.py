"""The contract of ``PeerStore`` over every implementation; the in-memory one is the reference."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from node.core.errors import CorruptState, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.peers.rules.values import Contact, Held, Level, Position, Standing, Summary, Tier, Usage
from node.peers.store.sqlite import FORGOTTEN_AT_ONCE, Limits, PeerStore
from tests import peer_builders
from tests.manual_clock import ManualClock
from tests.references.peer_store import MemoryPeerStore

Store: TypeAlias = MemoryPeerStore | PeerStore

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALICE, BOB, CAROL = "did:key:alice", "did:key:bob", "did:key:carol"
KEY = "did:key:node"
ROOT = Path(__file__).resolve().parents[2]
SMALL = Limits(contacts=3, roots=4, keys_of_root=2, codes_of_root=3, statements_of_root=3, statements=5)


@dataclass
class Place:
    """Where a store lives, so that it can be closed and opened again."""

    kind: str
    path: Path
    clock: ManualClock
    limits: Limits

    async def open(self) -> Store:
        if self.kind == "memory":
            return MemoryPeerStore(self.limits)
        return await PeerStore.open(self.path, self.clock, limits=self.limits)


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(request.param, tmp_path / "peers.sqlite", ManualClock(START), SMALL)


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    made = await place.open()
    yield made
    await made.close()


def block(number: int | str) -> tuple[Cid, bytes]:
    data = f"block {number}".encode()
    return Cid.of(data), data


def held(number: int | str, issuer: str = ALICE, **changes: Any) -> Held:
    cid, data = block(number)
    index = number if isinstance(number, int) else 0
    own = {"cid": cid, "data": data, "query_hash": f"hash of {number}", "log_index": index}
    return peer_builders.held(issuer, "00", **({"key": KEY, **own} | changes))


def contact(number: int, **changes: Any) -> Contact:
    return Contact(**({"address": f"http://peer{number}.example", "source": "operator"} | changes))


# --- contacts -----------------------------------------------------------------------------------------------


async def test_contacts_come_in_the_order_of_their_addition_and_are_replaced_in_place(store: Store) -> None:
    first, second = contact(2), contact(1, root=BOB, added=START)
    await store.put_contact(first)
    await store.put_contact(second)
    pinned = replace(first, root=ALICE, added=START + timedelta(microseconds=7))
    await store.put_contact(pinned)
    assert await store.contacts() == [pinned, second]


async def test_a_removed_contact_is_gone_and_comes_back_last(store: Store) -> None:
    await store.put_contact(contact(1))
    await store.put_contact(contact(2))
    assert await store.remove_contact(contact(1).address)
    assert not await store.remove_contact(contact(1).address)
    await store.put_contact(contact(1))
    assert await store.contacts() == [contact(2), contact(1)]


async def test_contacts_are_limited_but_those_that_are_there_can_be_replaced(store: Store) -> None:
    for number in range(SMALL.contacts):
        await store.put_contact(contact(number))
    with pytest.raises(Rejected, match="3 peers are polled already"):
        await store.put_contact(contact(9))
    await store.put_contact(contact(0, root=ALICE))
    assert len(await store.contacts()) == SMALL.contacts


def test_the_limits_are_those_that_the_port_promises() -> None:
    assert (Limits().contacts, Limits().keys_of_root) == (256, 512)


# --- standing -----------------------------------------------------------------------------------------------


async def test_a_root_that_nothing_is_known_of_has_the_default_standing(store: Store) -> None:
    assert await store.standing(ALICE) == Standing(ALICE)
    await store.count(ALICE, "held")
    assert await store.standings() == {}


async def test_standings_are_those_that_were_set(store: Store) -> None:
    alice = Standing(ALICE, Level.TRUSTED, "family", "", 1, 2, 3)
    bob = Standing(BOB, Level.BLOCKED, None, "equivocation")
    await store.set_standing(Standing(ALICE))
    await store.set_standing(alice)
    await store.set_standing(bob)
    assert await store.standing(ALICE) == alice
    assert await store.standings() == {ALICE: alice, BOB: bob}


async def test_a_note_adds_one_and_changes_nothing_else(store: Store) -> None:
    await store.set_standing(Standing(ALICE, Level.KNOWN, "family"))
    await asyncio.gather(*(store.note(ALICE, what) for what in ("refuted", "valid", "valid", "invalid")))
    await store.note(BOB, "invalid")
    assert await store.standings() == {
        ALICE: Standing(ALICE, Level.KNOWN, "family", "", 1, 2, 1),
        BOB: Standing(BOB, invalid=1),
    }
    with pytest.raises(Rejected, match="is one of invalid, refuted, valid"):
        await store.note(ALICE, "level")


async def test_unfinished_roots_are_those_begun_in_that_order(store: Store) -> None:
    for root in (BOB, ALICE, CAROL, ALICE):
        await store.begin(root)
    assert await store.unfinished() == [BOB, ALICE, CAROL]
    await store.finish(BOB)
    await store.finish("did:key:nobody")
    assert await store.unfinished() == [ALICE, CAROL]


# --- position, keys, counts ---------------------------------------------------------------------------------


async def test_a_position_is_kept_whole(store: Store) -> None:
    assert await store.position(ALICE) is None
    position = Position(ALICE, "example.org/log", 3, (b"a" * 32, b"b" * 32), b"note \xff")
    await store.set_position(replace(position, size=1, edge=()))
    await store.set_position(position)
    assert await store.position(ALICE) == position
    assert await store.position(BOB) is None
    with pytest.raises(Rejected, match="32 bytes"):
        await store.set_position(replace(position, edge=(b"short",)))


async def test_keys_come_in_order_and_are_limited_for_each_root(store: Store) -> None:
    for number in (2, 1):
        assert await store.add_key(ALICE, *block(number))
    assert not await store.add_key(ALICE, *block(2))
    with pytest.raises(Rejected, match="2 key records"):
        await store.add_key(ALICE, *block(3))
    assert await store.add_key(BOB, *block(2))
    assert await store.keys(ALICE) == [block(2)[1], block(1)[1]]
    assert await store.keys(CAROL) == []


async def test_counts_add_up_and_further_codes_are_counted_as_other(store: Store) -> None:
    await store.count(ALICE, "expired")
    await store.count(ALICE, "expired", 4)
    for code in ("cid", "issuer", "scope", "scope", "clock"):
        await store.count(ALICE, code)
    assert await store.counts(ALICE) == {"cid": 1, "expired": 5, "issuer": 1, "other": 3}
    assert await store.counts(BOB) == {}


async def test_roots_are_limited_and_one_that_is_only_counted_makes_room(store: Store) -> None:
    await store.hold([held(1, "did:key:0")])
    await store.begin("did:key:1")
    await store.set_standing(Standing("did:key:2"))
    await store.count("did:key:3", "cid")
    await store.add_key("did:key:4", *block(1))
    assert await store.counts("did:key:3") == {}
    with pytest.raises(Unavailable, match="4 roots"):
        await store.count("did:key:5", "cid")
    await store.count("did:key:4", "cid")
    assert await store.held(block(1)[0]) is not None
    assert await store.unfinished() == ["did:key:1"]


# --- held records -------------------------------------------------------------------------------------------


async def test_a_held_record_comes_back_whole(store: Store) -> None:
    times = {
        "received": START + timedelta(microseconds=123_457),
        "until": START + timedelta(3, microseconds=1),
    }
    record = held(1, tier=Tier.QUORUM, slot_key="price:btc", trust_ppm=654_321, log_index=2**40, **times)
    await store.hold([record])
    assert await store.held(record.cid) == record
    assert await store.held(block(2)[0]) is None
    assert await store.known([block(2)[0], record.cid]) == {record.cid}


async def test_a_record_that_is_held_again_replaces_the_first_one(store: Store) -> None:
    await store.hold([held(1), held(2)])
    again = held(1, BOB, query_hash="other", tier=Tier.TRUSTED)
    await store.hold([again])
    assert await store.held(again.cid) == again
    assert await store.rivals("hash of 1", None) == []
    assert await store.usage(ALICE, START) == Usage(1, len(held(2).data), 0)
    assert await store.usage(BOB, START) == Usage(1, len(again.data), 0)


async def test_what_is_held_of_a_root_comes_in_pages_in_the_order_of_multihashes(store: Store) -> None:
    records = sorted((held(number) for number in range(23)), key=lambda one: one.cid.multihash)
    await store.hold([*records, held("other", BOB)])
    found: list[Held] = []
    while page := await store.held_of(ALICE, after=found[-1].cid.multihash if found else b"", limit=5):
        assert len(page) <= 5
        found += page
    assert found == records
    assert await store.held_of(CAROL) == []
    assert await store.held_of(ALICE, limit=0) == []


async def test_rivals_have_the_query_or_the_slot_and_take_turns(store: Store) -> None:
    def at(number: int, issuer: str, query: str, slot: str | None = None) -> Held:
        received = START + timedelta(seconds=number)
        return held(number, issuer, query_hash=query, slot_key=slot, received=received)

    flood = [at(number, ALICE, "q", "s") for number in range(20)]
    bob = [at(30, BOB, "q"), at(31, BOB, "elsewhere", "s"), at(32, BOB, "elsewhere", "t")]
    carol = [at(40, CAROL, "elsewhere")]
    await store.hold([*flood, *bob, *carol])
    newest = flood[:-5:-1]
    assert await store.rivals("q", "s") == [bob[1], newest[0], bob[0], *newest[1:]]
    assert await store.rivals("q", None) == [bob[0], *newest]
    assert await store.rivals("q", "s", limit=2) == [bob[1], newest[0]]
    assert await store.rivals("none", "none") == []


async def test_of_two_rivals_at_one_time_the_later_entry_is_the_newer(store: Store) -> None:
    records = [held(number, query_hash="q", log_index=index) for number, index in enumerate((3, 9, 1, 7, 5))]
    await store.hold(records)
    assert [one.log_index for one in await store.rivals("q", None)] == [9, 7, 5, 3]


async def test_a_tier_changes_alone(store: Store) -> None:
    await store.hold([held(1)])
    await store.set_tier(block(1)[0], Tier.VERIFIED, 900_000)
    await store.set_tier(block(2)[0], Tier.VERIFIED, 900_000)
    assert await store.held(block(1)[0]) == held(1, tier=Tier.VERIFIED, trust_ppm=900_000)
    assert await store.held(block(2)[0]) is None


async def test_a_released_record_is_gone_from_everywhere(store: Store) -> None:
    record = held(1, slot_key="s", until=START)
    await store.hold([record])
    assert await store.release(record.cid)
    assert not await store.release(record.cid)
    assert await store.held(record.cid) is None
    assert await store.known([record.cid]) == set()
    assert await store.held_of(ALICE) == await store.rivals("hash of 1", "s") == []
    assert await store.ended(START) == []
    assert await store.usage(ALICE, START) == Usage()


async def test_ended_records_are_those_whose_end_is_past_first_ended_first(store: Store) -> None:
    ends = [held(number, until=START + timedelta(seconds=number)) for number in (3, 1, 2)]
    await store.hold([*ends, held(9)])
    await store.hold([held(1, until=START + timedelta(days=1))])
    later = START + timedelta(seconds=2)
    assert await store.ended(START) == []
    assert await store.ended(later) == await store.ended(later) == [block(2)[0]]
    assert await store.ended(START + timedelta(days=2), limit=2) == [block(2)[0], block(3)[0]]


async def test_forgetting_releases_all_of_one_root_and_leaves_what_it_said(store: Store) -> None:
    await store.hold([*(held(number) for number in range(7)), held("bob's", BOB)])
    await store.set_standing(Standing(ALICE, Level.BLOCKED))
    await store.set_position(Position(ALICE, "log", 7))
    await store.add_key(ALICE, *block("key"))
    await store.entomb(block(1)[0], ALICE, *block("stone"), None)
    await store.add_statement(*block("said"), ALICE, KEY, block(5)[0], "invalid", START)
    gone = await store.forget(ALICE)
    assert sorted(gone) == sorted(block(number)[0] for number in range(7))
    assert await store.held_of(ALICE) == []
    assert await store.position(ALICE) is None
    assert await store.usage(ALICE, START + timedelta(hours=1)) == Usage()
    assert await store.tombstones([block(1)[0]], ALICE) == {block(1)[0]}
    assert await store.keys(ALICE) == [block("key")[1]]
    assert (await store.standing(ALICE)).level is Level.BLOCKED
    assert len(await store.held_of(BOB)) == 1
    assert await store.forget(CAROL) == []


# --- tombstones and statements ------------------------------------------------------------------------------


async def test_a_tombstone_counts_for_its_issuer_only(store: Store) -> None:
    await store.entomb(block(1)[0], ALICE, *block("stone"), None)
    asked = [block(1)[0], block(2)[0]]
    assert await store.tombstones(asked, ALICE) == {block(1)[0]}
    assert await store.tombstones(asked, BOB) == set()


async def test_tombstones_past_their_end_go_and_the_longest_end_counts(place: Place, store: Store) -> None:
    second = timedelta(seconds=1)
    one, two, three = (block(number)[0] for number in (1, 2, 3))
    await store.entomb(one, ALICE, *block("stone 1"), START + second)
    await store.entomb(two, ALICE, *block("stone 2"), START + second)
    await store.entomb(two, ALICE, *block("stone 2"), START + 60 * second)
    await store.entomb(two, ALICE, *block("stone 2"), START + 2 * second)
    await store.entomb(three, ALICE, *block("stone 3"), START + second)
    await store.entomb(three, ALICE, *block("stone 3"), None)
    assert await store.tombstones([one, two, three], ALICE) == {one, two, three}
    place.clock.advance(30)
    await store.usage(ALICE, place.clock.now())
    await store.entomb(block(4)[0], BOB, *block("stone 4"), None)
    assert await store.tombstones([one, two, three], ALICE) == {two, three}
    place.clock.advance(10**9)
    await store.usage(ALICE, place.clock.now())
    await store.entomb(block(5)[0], BOB, *block("stone 5"), None)
    assert await store.tombstones([one, two, three], ALICE) == {three}


async def test_the_newest_statement_of_an_issuer_counts_in_whatever_order_they_come(store: Store) -> None:
    target = block("target")[0]

    async def say(name: str, issuer: str, verdict: str, seconds: int) -> bool:
        at = START + timedelta(seconds=seconds)
        return await store.add_statement(*block(name), issuer, KEY, target, verdict, at)

    assert await say("a", ALICE, "invalid", 2)
    assert await say("b", ALICE, "valid", 1)
    assert not await say("a", ALICE, "invalid", 2)
    assert await say("c", BOB, "valid", 3)
    assert await store.statements(target) == {ALICE: "invalid", BOB: "valid"}
    assert await say("d", ALICE, "valid", 9)
    assert await store.statements(target) == {ALICE: "valid", BOB: "valid"}
    assert await store.statements(block("other")[0]) == {}


async def test_what_an_issuer_spoke_of_comes_in_pages(store: Store) -> None:
    targets = [block(f"target {number}")[0] for number in range(3)]
    for number, target in enumerate(targets):
        await store.add_statement(*block(f"said {number}"), ALICE, KEY, target, "invalid", START)
    await store.add_statement(*block("of another"), BOB, KEY, block("elsewhere")[0], "invalid", START)
    in_order = sorted(targets, key=lambda one: one.multihash)
    assert await store.spoken_of(ALICE, limit=2) == in_order[:2]
    assert await store.spoken_of(ALICE, after=in_order[1].multihash) == in_order[2:]
    assert await store.spoken_of("did:key:nobody") == []


async def test_statements_made_at_one_time_count_the_same_in_any_order(place: Place) -> None:
    target = block("target")[0]
    said = [
        (*block(name), ALICE, KEY, target, verdict, START)
        for name, verdict in (("a", "valid"), ("b", "invalid"))
    ]
    found: list[dict[str, str]] = []
    for order in (said, said[::-1]):
        store = await replace(place, path=place.path.with_suffix(f".{len(found)}")).open()
        for one in order:
            await store.add_statement(*one)
        found.append(await store.statements(target))
        await store.close()
    assert found[0] == found[1]


async def test_a_root_with_too_many_statements_loses_its_oldest(store: Store) -> None:
    targets = [block(f"target {number}")[0] for number in range(5)]
    for number, target in enumerate(targets):
        await store.add_statement(*block(number), ALICE, KEY, target, "valid", START)
    said = [bool(await store.statements(target)) for target in targets]
    assert said == [False, False, True, True, True]


async def test_over_the_limit_of_all_statements_the_root_with_most_loses_its_oldest(store: Store) -> None:
    async def say(number: int, issuer: str) -> None:
        await store.add_statement(*block(number), issuer, KEY, block(f"t{number}")[0], "valid", START)

    for number in range(3):
        await say(number, ALICE)
    await say(3, BOB)
    await say(4, CAROL)
    await say(5, BOB)
    said = [number for number in range(6) if await store.statements(block(f"t{number}")[0])]
    assert said == [1, 2, 3, 4, 5]


async def test_a_tombstones_block_is_kept_with_it(store: Store) -> None:
    stone, data = block("stone 1")
    target, bare = block(1)[0], block(2)[0]
    await store.entomb(target, ALICE, stone, data, None)
    await store.entomb(bare, ALICE, bare, b"", None)
    named = [(target, stone), (bare, bare), (bare, stone), (target, block("another")[0])]
    assert await store.tombstone_blocks(named, ALICE) == {stone: data}
    assert await store.tombstone_blocks(named, BOB) == {}
    await store.entomb(bare, ALICE, *block("stone 2"), None)
    assert await store.tombstone_blocks([(bare, block("stone 2")[0])], ALICE) == dict([block("stone 2")])


async def test_statements_of_a_key_count_in_its_time_only(store: Store) -> None:
    hour = timedelta(hours=1)
    target = block("target")[0]

    async def say(name: str, key: str, verdict: str, hours: int, issuer: str = ALICE) -> None:
        await store.add_statement(*block(name), issuer, key, target, verdict, START + hours * hour)

    await say("a", "old", "valid", 1)
    await say("b", "old", "invalid", 3)
    await say("c", "stolen", "invalid", 2)
    await say("d", "old", "invalid", 9, BOB)
    assert await store.statements(target) == {ALICE: "invalid", BOB: "invalid"}
    assert await store.recount(ALICE, {"old": (START, START + 3 * hour)}) == 2
    assert await store.statements(target) == {ALICE: "valid", BOB: "invalid"}
    assert await store.recount(ALICE, {"old": (START, START + 3 * hour)}) == 0
    assert await store.recount(ALICE, {"old": (START + hour, START + 4 * hour)}) == 1
    assert await store.statements(target) == {ALICE: "invalid", BOB: "invalid"}
    assert await store.recount(ALICE, {}) == 2
    assert await store.statements(target) == {BOB: "invalid"}
    assert await store.spoken_of(ALICE) == [target]
    assert await store.recount(CAROL, {}) == 0


async def test_a_statement_that_does_not_count_is_known_and_makes_room_first(store: Store) -> None:
    targets = [block(f"target {number}")[0] for number in range(5)]
    said = [block(number) for number in range(5)]
    for number in range(3):
        key = "stolen" if number == 1 else "own"
        await store.add_statement(*said[number], ALICE, key, targets[number], "valid", START)
    await store.recount(ALICE, {"own": (START, START + timedelta(days=1))})
    names = [cid for cid, _ in said]
    assert await store.known_statements(names, ALICE) == set(names[:3])
    assert await store.known_statements(names, BOB) == set()
    assert not await store.add_statement(*said[1], ALICE, "stolen", targets[1], "valid", START)
    await store.add_statement(*said[3], ALICE, "own", targets[3], "valid", START)
    assert await store.known_statements(names, ALICE) == {names[0], names[2], names[3]}
    await store.add_statement(*said[4], ALICE, "own", targets[4], "valid", START)
    assert await store.known_statements(names, ALICE) == set(names[2:])


async def test_a_summary_counts_everything_once(place: Place, store: Store) -> None:
    assert await store.summary(START) == Summary(0, {}, 0, 0, 0, {}, Usage())
    await store.put_contact(contact(1, root=ALICE))
    await store.hold([held(1), held(2), held(3, BOB, data=b"x" * 90, cid=Cid.of(b"x" * 90))])
    await store.set_tier(block(2)[0], Tier.TRUSTED, 9)
    await store.set_tier(block(2)[0], Tier.TRUSTED, 10)
    await store.set_standing(Standing(ALICE, Level.KNOWN, "family"))
    await store.set_standing(Standing(BOB, Level.TRUSTED, "family"))
    await store.set_standing(Standing(CAROL, Level.BLOCKED, "others", dropped="equivocation"))
    await store.note(ALICE, "valid")
    await store.usage(ALICE, START)
    await store.add_statement(*block("said"), ALICE, KEY, block(1)[0], "valid", START)
    size = len(held(1).data)
    levels = {Level.KNOWN: 1, Level.TRUSTED: 1, Level.BLOCKED: 1}
    tiers = {Tier.UNTRUSTED: 2, Tier.TRUSTED: 1}
    assert await store.summary(START) == Summary(1, levels, 1, 1, 2 * size + 90, tiers, Usage(2, 90, 1))
    await store.release(block(2)[0])
    await store.forget(BOB)
    await store.set_standing(Standing(BOB, Level.UNKNOWN, "family"))
    await store.set_standing(Standing(ALICE, Level.KNOWN, None))
    place.clock.advance(3_600)
    levels = {Level.KNOWN: 1, Level.UNKNOWN: 1, Level.BLOCKED: 1}
    expected = Summary(1, levels, 1, 0, size, {Tier.UNTRUSTED: 1}, Usage(1, size, 0))
    assert await store.summary(place.clock.now()) == expected


async def test_usage_counts_the_statements_of_the_current_hour(place: Place, store: Store) -> None:
    async def say(number: int) -> None:
        await store.usage(ALICE, place.clock.now())
        at = START - timedelta(days=9)
        await store.add_statement(*block(number), ALICE, KEY, block("t")[0], "valid", at)

    await say(1)
    await say(2)
    await say(2)
    assert (await store.usage(ALICE, place.clock.now())).validations == 2
    place.clock.advance(3_600)
    assert (await store.usage(ALICE, place.clock.now())).validations == 0
    await say(3)
    assert await store.usage(ALICE, place.clock.now()) == Usage(0, 0, 1)


# --- on disk ------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Place:
    return Place("sqlite", tmp_path / "peers.sqlite", ManualClock(START), Limits())


def sql(disk: Place, statement: str) -> list[Any]:
    """What the file itself says, or is made to say."""
    with closing(sqlite3.connect(disk.path)) as rows, rows:
        return rows.execute(statement).fetchall()


async def test_everything_outlives_a_restart(disk: Place) -> None:
    store = await disk.open()
    record = held(1, until=START + timedelta(days=1), slot_key="s")
    position = Position(ALICE, "log", 1, (b"e" * 32,), b"note")
    await store.put_contact(contact(1, root=ALICE, added=START))
    await store.set_standing(Standing(ALICE, Level.TRUSTED, "g"))
    await store.begin(ALICE)
    await store.set_position(position)
    await store.add_key(ALICE, *block("key"))
    await store.hold([record])
    await store.entomb(block(7)[0], ALICE, *block("stone"), None)
    await store.add_statement(*block("said"), BOB, KEY, record.cid, "valid", START)
    await store.count(ALICE, "cid", 3)
    await store.close()
    await store.close()
    again = await disk.open()
    assert await again.contacts() == [contact(1, root=ALICE, added=START)]
    assert await again.standings() == {ALICE: Standing(ALICE, Level.TRUSTED, "g")}
    assert await again.unfinished() == [ALICE]
    assert await again.position(ALICE) == position
    assert await again.keys(ALICE) == [block("key")[1]]
    assert await again.held(record.cid) == record
    assert await again.tombstones([block(7)[0]], ALICE) == {block(7)[0]}
    assert await again.statements(record.cid) == {BOB: "valid"}
    assert await again.counts(ALICE) == {"cid": 3}
    assert await again.usage(ALICE, START) == Usage(1, len(record.data), 0)
    await again.close()
    with pytest.raises(Unavailable, match="closed"):
        await again.contacts()


def test_a_killed_process_leaves_what_it_acknowledged_and_sums_that_agree(disk: Place) -> None:
    command = [sys.executable, "-m", "tests.contracts.peer_store_child", str(disk.path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(120)]
        process.kill()
        said += process.stdout.readlines()
    acknowledged = [line.split() for line in said if line.endswith("\n")]
    asyncio.run(_check_what_was_left(disk, acknowledged))


async def _check_what_was_left(disk: Place, acknowledged: list[list[str]]) -> None:
    store = await disk.open()
    for what, number in acknowledged:
        if what == "held":
            assert await store.known([block(f"{number} too")[0]])
        elif what == "released":
            assert not await store.known([block(number)[0]])
        elif what == "entombed":
            assert await store.tombstones([block(number)[0]], ALICE)
        else:
            assert await store.statements(block(number)[0]) == {ALICE: "valid"}
    there = await store.held_of(ALICE, limit=10_000)
    assert await store.usage(ALICE, START) == replace(
        await store.usage(ALICE, START), records=len(there), bytes=sum(len(one.data) for one in there)
    )
    await store.close()
    [(stones,)], [(said,)] = (
        sql(disk, "SELECT count(*) FROM tombstone"),
        sql(disk, "SELECT count(*) FROM statement"),
    )
    summed = "SELECT tombstones, root.statements, total.statements FROM root, total"
    assert sql(disk, summed)[0] == (stones, said, said)


async def test_a_record_that_the_disk_has_damaged_is_let_go_when_it_is_read(disk: Place) -> None:
    store = await disk.open()
    records = [held(number, query_hash="q") for number in range(4)]
    await store.hold(records)
    await store.close()
    for number, damage in ((1, "data = X'00'"), (2, "data = X'00'"), (3, "tier = 'royal'")):
        name = records[number].cid.multihash.hex()
        sql(disk, f"UPDATE held SET {damage} WHERE multihash = X'{name}'")
    again = await disk.open()
    assert await again.held(records[1].cid) is None
    assert await again.known([one.cid for one in records]) == {records[n].cid for n in (0, 2, 3)}
    assert await again.rivals("q", None) == [records[0]]
    assert await again.held_of(ALICE) == [records[0]]
    assert await again.known([one.cid for one in records]) == {records[0].cid}
    await again.close()


async def test_a_forgetting_that_was_cut_off_goes_on(disk: Place) -> None:
    store = await disk.open()
    number = 2 * FORGOTTEN_AT_ONCE + 1
    await store.hold([held(one) for one in range(number)])
    forgetting = asyncio.create_task(store.forget(ALICE))
    while (await store.usage(ALICE, START)).records == number:
        await asyncio.sleep(0)
    forgetting.cancel()
    await asyncio.gather(forgetting, return_exceptions=True)
    left = (await store.usage(ALICE, START)).records
    assert len(await store.forget(ALICE)) <= left
    assert await store.held_of(ALICE) == []
    await store.close()


async def test_a_file_that_is_no_table_of_peers_says_so(disk: Place) -> None:
    disk.path.write_bytes(b"not a database " * 500)
    with pytest.raises(CorruptState, match="damaged or not a table of peers"):
        await disk.open()


async def test_a_file_of_another_program_and_a_newer_one_say_so(disk: Place) -> None:
    await (await disk.open()).close()
    for pragma, sentence in (
        ("user_version = 3", "written by a newer program"),
        ("application_id = 7", "is a table of peers whose header is damaged"),
        (f"application_id = {int.from_bytes(b'NSs1', 'big')}", "is not a table of peers"),
    ):
        sql(disk, f"PRAGMA {pragma}")
        with pytest.raises(CorruptState, match=sentence):
            await disk.open()


async def test_a_level_that_is_unknown_is_not_guessed(disk: Place) -> None:
    store = await disk.open()
    await store.set_standing(Standing(ALICE))
    await store.close()
    sql(disk, "UPDATE standing SET level = 'royal'")
    again = await disk.open()
    with pytest.raises(CorruptState, match="unknown level 'royal'"):
        await again.standing(ALICE)
    await again.close()


async def test_nothing_of_a_released_record_stays_on_disk_after_scrubbing(disk: Place) -> None:
    secret = b"the text that was withdrawn " * 4
    store = await PeerStore.open(disk.path, disk.clock)
    await store.hold([held(1), held(2, cid=Cid.of(secret), data=secret)])
    await store.release(Cid.of(secret))
    await store.scrub()
    left = b"".join(path.read_bytes() for path in disk.path.parent.iterdir())
    await store.close()
    assert block(1)[1] in left
    assert secret[:28] not in left


async def test_what_is_asked_often_goes_by_an_index(disk: Place) -> None:
    await (await disk.open()).close()
    plans = {
        asked: " ".join(row[3] for row in sql(disk, f"EXPLAIN QUERY PLAN {asked}"))
        for asked in (
            "SELECT * FROM held_row WHERE issuer = 1 AND multihash > X'00' ORDER BY multihash LIMIT 9",
            "SELECT min(issuer) FROM held WHERE query_hash = 'q' AND issuer > 3",
            "SELECT received, log_index, id FROM held WHERE slot_key = 's' AND issuer = 3 "
            "ORDER BY received DESC, log_index DESC, id DESC LIMIT 4",
            "SELECT cid FROM held WHERE until <= 9 ORDER BY until, multihash LIMIT 9",
            "SELECT id FROM tombstone WHERE until <= 9 LIMIT 9",
            "SELECT did, verdict FROM statement JOIN root ON root.id = issuer "
            "WHERE target = X'00' AND issuer = 2 AND counts = 1 ORDER BY at DESC, multihash DESC LIMIT 1",
            "SELECT min(issuer) FROM statement WHERE target = X'00' AND issuer > 2 AND counts = 1",
            "SELECT id FROM statement WHERE issuer = 7 ORDER BY counts, id LIMIT 1",
            "SELECT min(key) FROM statement WHERE issuer = 7 AND key > 'k'",
            "SELECT id FROM statement WHERE issuer = 7 AND key = 'k' AND counts = 1 AND at >= 9 LIMIT 9",
            "SELECT DISTINCT target FROM statement WHERE issuer = 7 AND target > X'00' "
            "ORDER BY target LIMIT 9",
            "SELECT id FROM root ORDER BY statements DESC, id LIMIT 1",
            *(f"SELECT max({what}) FROM root" for what in ("records", "bytes")),
            "SELECT max(taken) FROM root WHERE hour = 3",
        )
    }
    slow = {asked: plan for asked, plan in plans.items() if "SCAN held" in plan or "SCAN stat" in plan}
    assert not slow
    assert all("INDEX root_" in plan for asked, plan in plans.items() if asked.startswith("SELECT max("))
    assert not [asked for asked, plan in plans.items() if "FROM statement" in asked and "TEMP B-TREE" in plan]


@pytest.mark.parametrize("seed", range(3))
async def test_on_disk_it_says_what_the_one_in_memory_says(disk: Place, seed: int) -> None:
    """Any order of changes, compared after each by all that can be asked."""
    chance, limits = random.Random(seed), replace(SMALL, roots=20)
    memory = MemoryPeerStore(limits)
    on_disk = await PeerStore.open(disk.path, disk.clock, limits=limits)
    for _ in range(100):
        number, root, step = chance.randrange(12), chance.choice((ALICE, BOB, CAROL)), chance.randrange(10)
        now = disk.clock.now()
        asked = {"query_hash": f"q{number % 3}", "slot_key": f"s{number % 2}", "received": now}
        until = chance.choice((None, now + timedelta(seconds=number)))
        record = held(number, root, until=until, log_index=chance.randrange(3), **asked)
        assert await _change(memory, step, number, record) == await _change(on_disk, step, number, record)
        disk.clock.advance(chance.choice((0, 1, 900)))
        now = disk.clock.now()
        assert await _all_that_is_told(memory, now) == await _all_that_is_told(on_disk, now)
    await on_disk.close()


async def _change(store: Store, step: int, number: int, record: Held) -> object:
    cid, root = record.cid, record.issuer
    if step == 0:
        await store.hold([record])
    elif step == 1:
        return await store.release(cid)
    elif step == 2:
        await store.set_tier(cid, Tier.QUORUM, number)
    elif step == 3:
        await store.entomb(cid, root, *block(f"stone {number}"), record.until)
    elif step == 4:
        said = block(f"by {root} {number}")
        return await store.add_statement(*said, root, f"key {number % 3}", cid, str(number), record.received)
    elif step == 5:
        await store.count(root, f"code {number}", number)
    elif step == 6:
        await store.note(root, "valid")
    elif step == 7:
        moment = record.received
        times = (moment - timedelta(minutes=number * 5), moment - timedelta(minutes=number))
        return await store.recount(root, {f"key {number % 2}": times, "key 2": (START, moment)})
    elif step == 8:
        level = (Level.TRUSTED, Level.KNOWN, Level.UNKNOWN, Level.BLOCKED)[number % 4]
        group = (None, "g", "h")[number % 3]
        await store.set_standing(Standing(root, level, group, "equivocation" if number == 11 else ""))
    elif number == 0:
        return await store.forget(root)
    else:
        await store.begin(root)
    return None


async def _all_that_is_told(store: Store, now: datetime) -> list[object]:
    cids = [block(number)[0] for number in range(12)]
    told: list[object] = [await store.standings(), await store.unfinished(), await store.ended(now)]
    told += [await store.statements(cid) for cid in cids]
    told += [await store.summary(now)]
    told += [await store.rivals(f"q{n}", f"s{n}", limit=5) for n in range(3)]
    for root in (ALICE, BOB, CAROL):
        told += [await store.held_of(root), await store.usage(root, now), await store.counts(root)]
        told += [await store.tombstones(cids, root), await store.spoken_of(root)]
        told += [await store.known_statements([block(f"by {root} {n}")[0] for n in range(12)], root)]
        pairs = [(cid, block(f"stone {number}")[0]) for number, cid in enumerate(cids)]
        told += [await store.tombstone_blocks(pairs, root)]
    return told
