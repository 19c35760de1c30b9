"""Admission at work: what is served, what is kept aside, what wins, and that it is weighed anew."""

from __future__ import annotations

from datetime import timedelta

import pytest

from node.core.ipld.cid import Cid
from node.core.record import block_of
from node.peers.rules.admission import CODES, ClassLimit
from node.peers.rules.values import Level, Quota, Tier
from tests.admit_kit import US, Door, Issuer
from tests.record_builders import START

A, B, C = Issuer(1), Issuer(2), Issuer(3)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    """Rings are changed by tests."""
    global A, B, C
    A, B, C = Issuer(1), Issuer(2), Issuer(3)


# --- service --------------------------------------------------------------------------------------


async def test_the_word_of_a_trusted_root_is_served_in_its_name() -> None:
    door = Door()
    await door.stand(A)
    record = A.answer("What is a block?", confidence=900_000)
    assert await door.take(A, record) == "trusted"
    stored = await door.served(record)
    assert stored is not None
    assert (stored.origin, stored.record) == (A.did, record)
    assert stored.kept is not None
    assert stored.kept["tier"] == "trusted"
    assert stored.kept["until_s"] is None
    assert isinstance(stored.kept["trust_ppm"], int)
    assert 0 < stored.kept["trust_ppm"] <= 1_000_000
    assert stored.kept["embedding_owed"] is True
    assert door.in_index(record)
    assert door.embedder.embedded == [record.query]
    assert await door.take(A, record) == "known"
    assert door.counted == {("admitted", "trusted"): 1}


async def test_a_stranger_s_word_is_kept_aside_until_the_operator_says_otherwise() -> None:
    door = Door()
    record = A.answer("What is a block?")
    cid, _ = block_of(record)
    assert await door.take(A, record) == "held"
    assert await door.served(record) is None
    assert not door.in_index(record)
    assert not await door.records.find(
        "query_hash", record.query_hash, scopes=["public", "shared"], context=None
    )
    held = await door.store.held(cid)
    assert held is not None
    assert held.tier is Tier.UNTRUSTED

    await door.stand(A)
    await door.admitter.retier(A.did)
    assert await door.served(record) is not None
    assert door.in_index(record)

    await door.stand(A, Level.UNKNOWN)
    await door.admitter.retier(A.did)
    assert await door.served(record) is None
    assert not door.in_index(record)
    assert await door.store.held(cid) is not None

    await door.stand(A, Level.BLOCKED)
    await door.admitter.retier(A.did)
    assert await door.store.held(cid) is None
    assert await door.take(A, record) == "blocked"


async def test_a_class_that_ends_here_ends_the_record_here() -> None:
    door = Door()
    await door.stand(A)
    record = A.answer("price of x", expires=START + timedelta(days=30))
    door.limits["price of x"] = ClassLimit("price", 45, True)
    door.clock.advance(10)
    assert await door.take(A, record) == "trusted"
    stored = await door.served(record)
    assert stored is not None
    assert stored.kept is not None
    assert stored.kept["until_s"] == int(START.timestamp()) + 45
    door.clock.advance(40)
    assert await door.admitter.sweep() == 1
    assert await door.served(record) is None
    assert await door.store.held(block_of(record)[0]) is None
    assert await door.take(A, record) == "expired"


async def test_a_vector_from_the_wire_is_never_used_and_a_degenerate_one_of_ours_neither() -> None:
    door = Door()
    await door.stand(A)
    door.embedder.degenerate = "constant"
    record = A.answer("What is a block?")
    assert await door.take(A, record) == "degenerate"
    assert await door.served(record) is None
    door.embedder.degenerate = None
    await door.admitter.retier(A.did)
    assert door.in_index(record)


async def test_without_an_embedder_a_record_is_found_by_its_words_and_owes_its_vector() -> None:
    door = Door()
    await door.stand(A)
    door.embedder.failure = "away"
    record = A.answer("What is a block?")
    assert await door.take(A, record) == "trusted"
    assert await door.served(record) is not None
    assert not door.in_index(record)


# --- refusals -------------------------------------------------------------------------------------


async def test_what_is_refused_is_counted_by_reason_and_a_flood_makes_one_entry_an_hour() -> None:
    door = Door()
    await door.stand(A)
    for number in range(300):
        record = A.answer(f"Question {number}?")
        assert await door.take(A, record, b"other bytes") == "cid"
    assert door.counted == {("refused", "cid"): 300}
    assert await door.store.counts(A.did) == {"cid": 300}
    assert door.entered() == ["cid"]
    assert await door.take(A, A.answer("Q?", scope="shared")) == "scope"
    assert door.entered() == ["cid", "scope"]
    door.clock.advance(3_601)
    assert await door.take(A, A.answer("R?"), b"other bytes") == "cid"
    assert door.entered() == ["cid", "scope", "cid"]


async def test_our_own_record_does_not_come_back_as_a_peer_s() -> None:
    door = Door()
    record = US.answer("Ours?", scope="public")
    ours = await door.records.add(record)
    cid, data = block_of(record)
    assert await door.admitter.admit(US.did, A.ring, 0, None, cid, data) == "own"
    await door.stand(A)
    assert await door.admitter.admit(A.did, A.ring, 0, None, cid, data) == "issuer"
    assert (await door.records.live([cid]))[cid] == ours
    assert await door.retract(A, cid) == "withdrawn"
    assert (await door.records.live([cid]))[cid] == ours


async def test_the_privacy_gate_hears_of_peers_records() -> None:
    door = Door()
    await door.stand(A)
    door.private.add("Where does Ann live")
    assert await door.take(A, A.answer("Where does Ann live?")) == "private"
    assert not await door.store.held_of(A.did)


async def test_a_root_has_its_quota_of_records_and_of_bytes() -> None:
    door = Door(quota=Quota(records=2))
    for number in range(2):
        assert await door.take(A, A.answer(f"Question {number}?")) == "held"
    assert await door.take(A, A.answer("One more?")) == "quota_records"
    assert await door.take(B, B.answer("One more?")) == "held"
    small = Door(quota=Quota(bytes=2_000))
    assert await small.take(A, A.answer("Long?", answer="word " * 500)) == "quota_bytes"


async def test_every_code_is_a_known_one() -> None:
    door = Door()
    await door.stand(A)
    door.recomputed["wrong"] = False
    await door.take(A, A.answer("Q?", answer="wrong"))
    await door.take(A, A.answer("R?"), b"x")
    await door.retract(A, Cid.of(b"x"), buried=True, by=B)
    reasons = {reason for result, reason in door.counted if result in ("refused", "held")}
    assert reasons <= set(CODES)


# --- recomputing ----------------------------------------------------------------------------------


async def test_what_is_recomputed_here_is_verified_whoever_says_it() -> None:
    door = Door()
    door.recomputed["4"] = True
    record = A.answer("2+2", answer="4")
    assert await door.take(A, record) == "verified"
    stored = await door.served(record)
    assert stored is not None
    assert stored.kept is not None
    assert (stored.kept["tier"], stored.kept["trust_ppm"]) == ("verified", 1_000_000)
    await door.admitter.retier(A.did)
    assert await door.served(record) == stored


async def test_what_is_found_wrong_here_is_served_by_no_trust() -> None:
    door = Door()
    door.recomputed["5"] = False
    record = A.answer("2+2", answer="5")
    assert await door.take(A, record) == "refuted"
    assert (await door.store.standing(A.did)).refuted == 1
    await door.stand(A)
    await door.admitter.retier(A.did)
    assert await door.served(record) is None
    # and it neither speaks for anybody else's nor takes the place of the issuer's better one
    better = A.answer("2+2", answer="four")
    assert await door.take(A, better) == "trusted"


# --- quorum ---------------------------------------------------------------------------------------


async def test_two_groups_that_agree_make_a_quorum_for_both() -> None:
    door = Door()
    await door.stand(A, Level.KNOWN, "north")
    await door.stand(B, Level.KNOWN, "south")
    ours, theirs = (one.answer("Who wrote it?", answer="Mary  Shelley") for one in (A, B))
    assert await door.take(A, ours) == "held"
    assert await door.take(B, theirs) == "quorum"
    assert await door.served(ours) is not None
    assert await door.retract(B, block_of(theirs)[0]) == "withdrawn"
    assert await door.served(theirs) is None
    assert await door.served(ours) is None


async def test_what_has_ended_speaks_for_nobody() -> None:
    door = Door()
    await door.stand(A, Level.KNOWN, "north")
    await door.stand(B, Level.KNOWN, "south")
    soon = START + timedelta(seconds=60)
    await door.take(A, A.answer("Who wrote it?", answer="Mary Shelley", expires=soon))
    door.clock.advance(61)
    theirs = B.answer("Who wrote it?", answer="Mary Shelley")
    assert await door.take(B, theirs) == "held"
    # and a quorum ends with the record that made it
    until = soon + timedelta(seconds=60)
    again = A.answer("Who wrote it?", answer="Mary Shelley", timestamp=soon, expires=until)
    assert await door.take(A, again) == "quorum"
    assert await door.served(theirs) is not None
    door.clock.advance(61)
    await door.admitter.sweep()
    assert await door.served(theirs) is None


async def test_fifty_keys_of_one_group_are_one_voice() -> None:
    door = Door()
    lying = [Issuer(seed) for seed in range(10, 60)]
    for one in lying:
        await door.stand(one, Level.KNOWN, "mill")
        assert await door.take(one, one.answer("Who wrote it?", answer="Nobody")) == "held"
    assert not await door.records.since(0)


async def test_strangers_lift_nobody() -> None:
    door = Door()
    for one in (A, B, C):
        assert await door.take(one, one.answer("Who wrote it?", answer="Nobody")) == "held"


async def test_a_trusted_root_that_says_otherwise_ends_a_quorum() -> None:
    door = Door()
    await door.stand(A, Level.KNOWN, "north")
    await door.stand(B, Level.KNOWN, "south")
    wrong = [one.answer("Who wrote it?", answer="Nobody") for one in (A, B)]
    await door.take(A, wrong[0])
    assert await door.take(B, wrong[1]) == "quorum"
    await door.stand(C)
    right = C.answer("Who wrote it?", answer="Mary Shelley")
    assert await door.take(C, right) == "trusted"
    assert [await door.served(one) is None for one in (*wrong, right)] == [True, True, False]


async def test_a_slot_key_that_our_reading_does_not_give_makes_nobody_agree() -> None:
    """One group names the slots of another question, to be lifted by whoever answers that one."""
    door = Door(slot_key=lambda record: "price:bitcoin:usd" if "bitcoin" in record.query else None)
    await door.stand(A, Level.KNOWN, "north")
    await door.stand(B, Level.KNOWN, "south")
    honest = A.answer("price of bitcoin", answer="70,000 USD", slot_key="price:bitcoin:usd")
    lying = B.answer("price of dogecoin", answer="70,000 USD", slot_key="price:bitcoin:usd")
    assert await door.take(A, honest) == "held"
    assert await door.take(B, lying) == "held"
    assert await door.served(honest) is None
    await door.stand(B)
    await door.admitter.retier(B.did)
    stored = await door.served(lying)
    assert stored is not None
    assert stored.kept is not None
    assert stored.kept["slot_key_read"] is False


# --- newer and older ------------------------------------------------------------------------------


async def test_a_newer_record_takes_the_place_of_the_older_one_in_either_order() -> None:
    older = A.answer("Who leads?", answer="Ann", timestamp=START - timedelta(hours=2))
    newer = A.answer("Who leads?", answer="Bob", timestamp=START - timedelta(hours=1))
    for first, second, code in ((older, newer, "trusted"), (newer, older, "superseded")):
        door = Door()
        await door.stand(A)
        assert await door.take(A, first) == "trusted"
        assert await door.take(A, second) == code
        assert await door.served(older) is None
        assert await door.served(newer) is not None
        assert not door.in_index(older)
        assert door.in_index(newer)
        assert [one.cid for one in await door.store.held_of(A.did)] == [block_of(newer)[0]]


async def test_nobody_supersedes_what_is_ours_or_another_s() -> None:
    door = Door()
    await door.stand(A)
    await door.stand(B)
    early = START - timedelta(hours=2)
    ours = US.answer("Who leads?", scope="public", answer="Ann", timestamp=early)
    theirs = B.answer("Who leads?", answer="Ann", timestamp=early)
    await door.records.add(ours)
    await door.take(B, theirs)
    newer = A.answer(
        "Who leads?", answer="Bob", timestamp=START - timedelta(hours=1), supersedes=str(block_of(ours)[0])
    )
    assert await door.take(A, newer) == "trusted"
    for record in (ours, theirs, newer):
        assert await door.served(record) is not None
