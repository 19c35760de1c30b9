"""Admission at work: what is served, what is kept aside, what wins, and that it is weighed anew."""

from __future__ import annotations

from datetime import timedelta

import pytest

from node.core.ipld.cid import Cid
from node.core.record import block_of
from node.peers.rules.admission import CODES, ClassLimit
from node.peers.rules.values import Level, Quota, Tier
from node.peers.sync.admit import Arrived
from tests.admit_kit import US, Door, Issuer
from tests.record_builders import START
from tests.unit.peers.sync.steps import kept

HOUR, MINUTE = timedelta(hours=1), timedelta(seconds=60)
RIGHT, WRONG = "Mary Shelley", "Nobody"

# --- service --------------------------------------------------------------------------------------


async def test_the_word_of_a_trusted_root_is_served_in_its_name(door: Door, friend: Issuer) -> None:
    record = friend.answer("What is a block?", confidence=900_000)
    assert await door.take(friend, record) == "trusted"
    stored = await door.served(record)
    assert stored is not None
    assert (stored.origin, stored.record) == (friend.did, record)
    found = await kept(door, record)
    assert (found["tier"], found["until_s"], found["embedding_owed"]) == ("trusted", None, True)
    assert isinstance(found["trust_ppm"], int)
    assert 0 < found["trust_ppm"] <= 1_000_000
    assert door.in_index(record)
    assert door.embedder.embedded == [record.query]
    assert await door.take(friend, record) == "known"
    assert door.counted == {("admitted", "trusted"): 1}


async def test_a_stranger_s_word_is_kept_aside_until_the_operator_speaks(door: Door, a: Issuer) -> None:
    record = a.answer("What is a block?")
    cid, _ = block_of(record)

    async def serves() -> bool:
        assert door.in_index(record) == (await door.served(record) is not None)
        return door.in_index(record)

    assert await door.take(a, record) == "held"
    assert not await serves()
    hashed = await door.records.find(
        "query_hash", record.query_hash, scopes=["public", "shared"], context=None
    )
    assert not hashed
    held = await door.store.held(cid)
    assert held is not None
    assert held.tier is Tier.UNTRUSTED

    await door.stand(a)
    await door.admitter.retier(a.did)
    assert await serves()

    await door.stand(a, Level.UNKNOWN)
    await door.admitter.retier(a.did)
    assert not await serves()
    assert await door.store.held(cid) is not None

    await door.stand(a, Level.BLOCKED)
    await door.admitter.retier(a.did)
    assert await door.store.held(cid) is None
    assert await door.take(a, record) == "blocked"


async def test_a_class_that_ends_here_ends_the_record_here(door: Door, friend: Issuer) -> None:
    record = friend.answer("price of x", expires=START + timedelta(days=30))
    door.limits["price of x"] = ClassLimit("price", 45, True)
    door.clock.advance(10)
    assert await door.take(friend, record) == "trusted"
    assert (await kept(door, record))["until_s"] == int(START.timestamp()) + 45
    door.clock.advance(40)
    assert await door.admitter.sweep() == 1
    assert await door.served(record) is None
    assert await door.store.held(block_of(record)[0]) is None
    assert await door.take(friend, record) == "expired"


async def test_no_vector_from_the_wire_is_used_nor_a_degenerate_one(door: Door, friend: Issuer) -> None:
    door.embedder.degenerate = "constant"
    record = friend.answer("What is a block?")
    assert await door.take(friend, record) == "degenerate"
    assert await door.served(record) is None
    door.embedder.degenerate = None
    await door.admitter.retier(friend.did)
    assert door.in_index(record)


async def test_without_an_embedder_a_record_is_found_by_its_words(door: Door, friend: Issuer) -> None:
    door.embedder.failure = "away"
    record = friend.answer("What is a block?")
    assert await door.take(friend, record) == "trusted"
    assert await door.served(record) is not None
    assert not door.in_index(record)


# --- refusals -------------------------------------------------------------------------------------


async def test_a_flood_of_refusals_is_counted_and_makes_one_entry_an_hour(door: Door, friend: Issuer) -> None:
    for number in range(300):
        assert await door.take(friend, friend.answer(f"Question {number}?"), b"other bytes") == "cid"
    assert door.counted == {("refused", "cid"): 300}
    assert await door.store.counts(friend.did) == {"cid": 300}
    assert door.entered() == ["cid"]
    assert await door.take(friend, friend.answer("Q?", scope="shared")) == "scope"
    assert door.entered() == ["cid", "scope"]
    door.clock.advance(3_601)
    assert await door.take(friend, friend.answer("R?"), b"other bytes") == "cid"
    assert door.entered() == ["cid", "scope", "cid"]


async def test_our_own_record_does_not_come_back_as_a_peer_s(door: Door, a: Issuer) -> None:
    record = US.answer("Ours?", scope="public")
    ours = await door.records.add(record)
    cid, data = block_of(record)
    assert await door.admitter.admit(US.did, a.ring, [Arrived(0, None, cid, data)]) == ["own"]
    await door.stand(a)
    assert await door.admitter.admit(a.did, a.ring, [Arrived(0, None, cid, data)]) == ["issuer"]
    assert (await door.records.live([cid]))[cid] == ours
    assert await door.retract(a, cid) == "withdrawn"
    assert (await door.records.live([cid]))[cid] == ours


async def test_the_privacy_gate_hears_of_peers_records(door: Door, friend: Issuer) -> None:
    door.private.add("Where does Ann live")
    assert await door.take(friend, friend.answer("Where does Ann live?")) == "private"
    assert not await door.store.held_of(friend.did)


async def test_a_root_has_its_quota_of_records_and_of_bytes(a: Issuer, b: Issuer) -> None:
    door = Door(quota=Quota(records=2))
    for number in range(2):
        assert await door.take(a, a.answer(f"Question {number}?")) == "held"
    assert await door.take(a, a.answer("One more?")) == "quota_records"
    assert await door.take(b, b.answer("One more?")) == "held"
    small = Door(quota=Quota(bytes=2_000))
    assert await small.take(a, a.answer("Long?", answer="word " * 500)) == "quota_bytes"


async def test_every_code_is_a_known_one(door: Door, friend: Issuer, b: Issuer) -> None:
    door.recomputed["wrong"] = False
    await door.take(friend, friend.answer("Q?", answer="wrong"))
    await door.take(friend, friend.answer("R?"), b"x")
    await door.retract(friend, Cid.of(b"x"), buried=True, by=b)
    reasons = {reason for result, reason in door.counted if result in ("refused", "held")}
    assert reasons <= set(CODES)


# --- recomputing ----------------------------------------------------------------------------------


async def test_what_is_recomputed_here_is_verified_whoever_says_it(door: Door, a: Issuer) -> None:
    door.recomputed["4"] = True
    record = a.answer("2+2", answer="4")
    assert await door.take(a, record) == "verified"
    found = await kept(door, record)
    assert (found["tier"], found["trust_ppm"]) == ("verified", 1_000_000)
    before = await door.served(record)
    await door.admitter.retier(a.did)
    assert await door.served(record) == before


async def test_what_is_found_wrong_here_is_served_by_no_trust(door: Door, a: Issuer) -> None:
    door.recomputed["5"] = False
    record = a.answer("2+2", answer="5")
    assert await door.take(a, record) == "refuted"
    assert (await door.store.standing(a.did)).refuted == 1
    await door.stand(a)
    await door.admitter.retier(a.did)
    assert await door.served(record) is None
    # and it neither speaks for anybody else's nor takes the place of the issuer's better one
    assert await door.take(a, a.answer("2+2", answer="four")) == "trusted"


# --- quorum ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("groups")
async def test_two_groups_that_agree_make_a_quorum_for_both(door: Door, a: Issuer, b: Issuer) -> None:
    ours, theirs = (one.answer("Who wrote it?", answer="Mary  Shelley") for one in (a, b))
    assert await door.take(a, ours) == "held"
    assert await door.take(b, theirs) == "quorum"
    assert await door.served(ours) is not None
    assert await door.retract(b, block_of(theirs)[0]) == "withdrawn"
    assert await door.served(theirs) is None
    assert await door.served(ours) is None


@pytest.mark.usefixtures("groups")
async def test_what_has_ended_speaks_for_nobody(door: Door, a: Issuer, b: Issuer) -> None:
    soon = START + MINUTE
    await door.take(a, a.answer("Who wrote it?", answer=RIGHT, expires=soon))
    door.clock.advance(61)
    theirs = b.answer("Who wrote it?", answer=RIGHT)
    assert await door.take(b, theirs) == "held"
    # and a quorum ends with the record that made it
    again = a.answer("Who wrote it?", answer=RIGHT, timestamp=soon, expires=soon + MINUTE)
    assert await door.take(a, again) == "quorum"
    assert await door.served(theirs) is not None
    door.clock.advance(61)
    await door.admitter.sweep()
    assert await door.served(theirs) is None


@pytest.mark.usefixtures("groups")
async def test_a_trusted_root_ends_a_quorum_against_it(door: Door, a: Issuer, b: Issuer, c: Issuer) -> None:
    wrong = [one.answer("Who wrote it?", answer=WRONG) for one in (a, b)]
    await door.take(a, wrong[0])
    assert await door.take(b, wrong[1]) == "quorum"
    await door.stand(c)
    right = c.answer("Who wrote it?", answer=RIGHT)
    assert await door.take(c, right) == "trusted"
    assert [await door.served(one) is None for one in (*wrong, right)] == [True, True, False]


@pytest.mark.usefixtures("groups")
async def test_a_slot_key_that_we_do_not_read_makes_nobody_agree(door: Door, a: Issuer, b: Issuer) -> None:
    """One group names the slots of another question, to be lifted by whoever answers that one."""
    door.slot_key = lambda record: "price:bitcoin:usd" if "bitcoin" in record.query else None
    door.admitter = door.opened()
    price = {"answer": "70,000 USD", "slot_key": "price:bitcoin:usd"}
    honest, lying = a.answer("price of bitcoin", **price), b.answer("price of dogecoin", **price)
    assert await door.take(a, honest) == "held"
    assert await door.take(b, lying) == "held"
    assert await door.served(honest) is None
    await door.stand(b)
    await door.admitter.retier(b.did)
    assert (await kept(door, lying))["slot_key_read"] is False


# --- newer and older ------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["trusted", "superseded"])
async def test_the_newer_of_two_records_stays_in_either_order(door: Door, friend: Issuer, code: str) -> None:
    older = friend.answer("Who leads?", answer="Ann", timestamp=START - 2 * HOUR)
    newer = friend.answer("Who leads?", answer="Bob", timestamp=START - HOUR)
    first, second = (older, newer) if code == "trusted" else (newer, older)
    assert await door.take(friend, first) == "trusted"
    assert await door.take(friend, second) == code
    assert await door.served(older) is None
    assert await door.served(newer) is not None
    assert (door.in_index(older), door.in_index(newer)) == (False, True)
    assert [one.cid for one in await door.store.held_of(friend.did)] == [block_of(newer)[0]]


async def test_nobody_supersedes_what_is_ours_or_another_s(door: Door, friend: Issuer, b: Issuer) -> None:
    await door.stand(b)
    early = {"answer": "Ann", "timestamp": START - 2 * HOUR}
    ours, theirs = US.answer("Who leads?", scope="public", **early), b.answer("Who leads?", **early)
    await door.records.add(ours)
    await door.take(b, theirs)
    supersedes = str(block_of(ours)[0])
    newer = friend.answer("Who leads?", answer="Bob", timestamp=START - HOUR, supersedes=supersedes)
    assert await door.take(friend, newer) == "trusted"
    for record in (ours, theirs, newer):
        assert await door.served(record) is not None
