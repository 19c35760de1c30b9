"""Admission at work: what is served, what is kept aside, what wins, and that it is weighed anew."""

from __future__ import annotations

from datetime import timedelta

import orjson
import pytest

from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.record import block_of
from node.peers.rules import kept as beside
from node.peers.rules.admission import CODES, ClassLimit
from node.peers.rules.values import Level, Quota, Tier
from tests.admit_kit import US, Door, Issuer
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore

A, B, C = Issuer(1), Issuer(2), Issuer(3)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    """Rings are changed by tests."""
    global A, B, C
    A, B, C = Issuer(1), Issuer(2), Issuer(3)


def kinds(door: Door) -> list[str]:
    return [orjson.loads(leaf)["entry"]["reason"] for leaf in door.log.leaves()]


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
    assert kinds(door) == ["cid"]
    assert await door.take(A, A.answer("Q?", scope="shared")) == "scope"
    assert kinds(door) == ["cid", "scope"]
    door.clock.advance(3_601)
    assert await door.take(A, A.answer("R?"), b"other bytes") == "cid"
    assert kinds(door) == ["cid", "scope", "cid"]


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


# --- withdrawal -----------------------------------------------------------------------------------


async def test_a_tombstone_wins_before_after_and_over_a_restart() -> None:
    record = A.answer("What is a block?")
    cid, _ = block_of(record)
    door = Door()
    await door.certify(A, A.certificate)
    await door.stand(A)
    assert await door.retract(A, cid, buried=True) == "tombstoned"
    assert await door.take(A, record) == "tombstoned"
    door.admitter = door.opened()
    assert await door.take(A, record) == "tombstoned"
    assert await door.served(record) is None


async def test_a_tombstone_takes_a_served_record_away_for_good() -> None:
    door = Door()
    await door.certify(A, A.certificate)
    await door.stand(A)
    record = A.answer("What is a block?")
    cid, _ = block_of(record)
    assert await door.take(A, record) == "trusted"
    assert await door.retract(A, cid, buried=True) == "tombstoned"
    assert await door.served(record) is None
    assert not door.in_index(record)
    assert not await door.main.blocks.has(cid)
    assert await door.store.held(cid) is None
    door.admitter = door.opened()
    assert await door.take(A, record) == "tombstoned"
    # nor does another way in bring it back
    again = await door.records.add(record, origin=A.did)
    assert again.state == "withdrawn"


async def test_a_tombstone_by_anybody_else_does_nothing() -> None:
    door = Door()
    for one in (A, B):
        await door.certify(one, one.certificate)
        await door.stand(one)
    record = A.answer("What is a block?")
    cid, _ = block_of(record)
    await door.take(A, record)
    assert await door.retract(B, cid, buried=True) == "issuer"
    assert await door.served(record) is not None
    # entered in the right log, signed by the wrong hand: the log's word takes it out, but not for good
    assert await door.retract(A, cid, buried=True, by=B) == "withdrawn"
    assert await door.served(record) is None
    assert await door.take(A, record) == "trusted"


async def test_a_retraction_without_a_tombstone_withdraws_from_service() -> None:
    door = Door()
    await door.stand(A)
    record = A.answer("What is a block?")
    await door.take(A, record)
    assert await door.retract(A, block_of(record)[0]) == "withdrawn"
    assert await door.served(record) is None
    assert door.counted[("withdrawn", "retracted")] == 1
    assert await door.take(A, record) == "tombstoned", "whoever answers as another address of it"


async def test_withdrawals_that_are_read_again_take_no_more_room() -> None:
    door = Door(quota=Quota(records=2))
    first, second = Cid.of(b"first"), Cid.of(b"second")
    for _ in range(3):
        await door.retract(A, first)
    await door.retract(A, second)
    assert await door.store.tombstones([first, second], A.did) == {first, second}
    assert (await door.store.counts(A.did))["entombed"] == 2


async def test_who_is_no_longer_heard_takes_no_record_out_of_service() -> None:
    door = Door()
    await door.stand(A)
    await door.stand(B)
    record = A.answer("What is a block?")
    cid, _ = block_of(record)
    await door.take(A, record)
    said = B.says(cid, "invalid")
    assert await door.admitter.validation(B.did, B.ring, *block_of(said)) == "counted"
    assert await door.served(record) is None
    await door.stand(B, Level.UNKNOWN)
    await door.admitter.retier(B.did)
    assert await door.served(record) is not None


async def test_tombstones_for_what_is_not_here_are_bounded() -> None:
    door = Door(quota=Quota(records=2))
    await door.certify(A, A.certificate)
    targets = [Cid.of(str(number).encode()) for number in range(3)]
    said = [await door.retract(A, target, buried=True) for target in targets]
    assert said == ["tombstoned", "tombstoned", "withdrawn"]
    assert await door.store.tombstones(targets, A.did) == set(targets[:2])


# --- keys -----------------------------------------------------------------------------------------


async def test_a_revoked_key_takes_its_records_out_at_once() -> None:
    door = Door()
    await door.certify(A, A.certificate)
    await door.stand(A)
    door.recomputed["4"] = True
    records = [A.answer("What is a block?"), A.answer("2+2", answer="4")]
    assert [await door.take(A, one) for one in records] == ["trusted", "verified"]
    imported = A.answer("What came with an index?")
    await door.records.add(imported, origin=A.did)
    door.clock.advance(7_200)
    await door.certify(A, A.revoke())
    await door.admitter.retier(A.did)
    for one in (*records, imported):
        assert await door.served(one) is None
    assert {one.tier for one in await door.store.held_of(A.did)} == {Tier.UNTRUSTED}
    assert await door.take(A, A.answer("And another?")) == "key_revoked"


async def test_a_revoked_key_of_one_group_ends_the_quorum_of_others() -> None:
    door = Door()
    await door.certify(B, B.certificate)
    await door.stand(A, Level.KNOWN, "north")
    await door.stand(B, Level.KNOWN, "south")
    records = [one.answer("Who wrote it?", answer="Mary Shelley") for one in (A, B)]
    await door.take(A, records[0])
    await door.take(B, records[1])
    assert await door.served(records[0]) is not None
    await door.certify(B, B.revoke())
    await door.admitter.retier(B.did)
    for one in records:
        assert await door.served(one) is None


# --- statements -----------------------------------------------------------------------------------


async def test_statements_of_groups_take_a_record_out_and_those_of_strangers_weigh_nothing() -> None:
    door = Door()
    await door.stand(A)
    record = A.answer("Who wrote it?")
    cid, _ = block_of(record)
    await door.take(A, record)
    assert await door.validate(B, B.says(cid, "invalid")) == "counted"
    assert await door.served(record) is not None
    await door.stand(B, Level.KNOWN, "south")
    await door.stand(C, Level.KNOWN, "east")
    assert await door.validate(C, C.says(cid, "invalid")) == "counted"
    assert await door.validate(C, C.says(cid, "invalid")) == "known"
    assert await door.served(record) is None
    await door.admitter.retier(A.did)
    assert await door.served(record) is None
    # it held before the record came as well
    early = Door()
    await early.stand(A)
    await early.stand(B, Level.KNOWN, "south")
    await early.validate(B, B.says(cid, "invalid"))
    assert await early.take(A, record) == "outvoted"


async def test_statements_are_checked_and_bounded() -> None:
    door = Door(quota=Quota(validations_per_hour=2))
    target = Cid.of(b"x")
    assert await door.validate(A, B.says(target, "invalid")) == "issuer"
    assert await door.validate(A, A.node.validation(target, issuer=A.did)) == "scope"
    stranger = Author(77).validation(target, issuer=A.did, scope="public")
    assert await door.validate(A, stranger) == "unknown_key"
    ahead = A.node.validation(target, issuer=A.did, scope="public", timestamp=START + timedelta(hours=1))
    assert await door.validate(A, ahead) == "clock"
    said = [await door.validate(A, A.says(target, "invalid", number)) for number in range(3)]
    assert said == ["counted", "counted", "quota_validations"]
    door.clock.advance(3_700)
    assert await door.validate(A, A.says(target, "invalid", 9)) == "counted"


# --- everything of one root -----------------------------------------------------------------------


async def test_what_the_operators_index_names_outlives_distrust_and_nothing_worse() -> None:
    for ends in ("blocked", "retracted", "outvoted"):
        door = Door()
        record = A.answer("What came with an index?")
        cid, _ = block_of(record)
        named = beside.imported(beside.beside(Tier.TRUSTED, 980_000, None, is_slot_key_read=False))
        await door.records.add(record, origin=A.did, kept=named)
        assert await door.take(A, record) == "held"
        for level in (Level.TRUSTED, Level.UNKNOWN):
            await door.stand(A, level)
            await door.admitter.retier(A.did)
            assert await door.served(record) is not None
        if ends == "blocked":
            await door.stand(A, Level.BLOCKED)
            await door.admitter.retier(A.did)
        elif ends == "retracted":
            await door.retract(A, cid)
        else:
            await door.stand(A)
            await door.stand(B, Level.KNOWN, "south")
            await door.validate(B, B.says(cid, "invalid"))
        assert await door.served(record) is None


async def test_who_contradicts_itself_is_served_no_more_however_it_came_in() -> None:
    door = Door()
    await door.stand(A, Level.TRUSTED, "north")
    records = [A.answer(f"Question {number} of ours?") for number in range(5)]
    for one in records:
        assert await door.take(A, one) == "trusted"
    imported = A.answer("What came with an index?")
    await door.records.add(imported, origin=A.did)
    await door.admitter.drop(A.did, "equivocation")
    assert (await door.store.standing(A.did)).dropped == "equivocation"
    for one in (*records, imported):
        assert await door.served(one) is None
    assert not await door.store.held_of(A.did)
    assert await door.take(A, A.answer("And another?")) == "dropped"
    assert door.counted[("withdrawn", "dropped")] == 6


class Breaking(MemoryPeerStore):
    """Fails at the n-th change of a tier: as a kill would cut it off."""

    left = 10**9

    async def set_tier(self, cid: Cid, tier: Tier, trust_ppm: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise Unavailable("cut off")
        await super().set_tier(cid, tier, trust_ppm)


async def test_a_weighing_that_was_cut_off_is_finished_after_a_restart() -> None:
    store = Breaking()
    door = Door(store=store)
    records = [A.answer(f"Question {number} of ours?") for number in range(6)]
    for one in records:
        await door.take(A, one)
    await door.stand(A)
    store.left = 3
    with pytest.raises(Unavailable):
        await door.admitter.retier(A.did)
    assert await store.unfinished() == [A.did]
    store.left = 10**9
    door.admitter = door.opened()
    await door.admitter.resume()
    assert await store.unfinished() == []
    for one in records:
        assert await door.served(one) is not None
    assert {one.tier for one in await store.held_of(A.did)} == {Tier.TRUSTED}


# --- crowding -------------------------------------------------------------------------------------

FILLER = "please do tell me now how tall the great old tower of our city really is today for"


async def _crowd(door: Door, count: int) -> None:
    for number in range(count):
        await door.take(A, A.answer(f"{FILLER} number {number}", answer=f"{number} metres"))


async def _found_beside(count: int) -> None:
    door = Door(quota=Quota(near=8))
    for one in (A, B):
        await door.stand(one)
    await _crowd(door, count)
    honest = B.answer(f"{FILLER} everybody", answer="300 metres")
    assert await door.take(B, honest) == "trusted"
    live = await door.records.since(0)
    assert sum(one.origin == A.did for one in live) == 8
    assert door.counted[("held", "crowd")] == count - 8
    assert door.in_index(honest)


async def test_one_issuer_cannot_crowd_a_neighbourhood() -> None:
    await _found_beside(60)


@pytest.mark.slow
async def test_five_thousand_near_duplicates_round_one_question() -> None:
    await _found_beside(5_000)


async def test_questions_with_the_same_key_words_are_few_too() -> None:
    """Where no vector can be had."""
    door = Door()
    await door.stand(A)
    door.embedder.failure = "away"
    same = [
        "What is a heap?",
        "what is a heap",
        "What is a heap",
        "what's a heap",
        "What is  the heap?",
        "heap what is a",
    ]
    codes = [await door.take(A, A.answer(one, answer=one)) for one in same]
    assert codes.count("trusted") <= 4
