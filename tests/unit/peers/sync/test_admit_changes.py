"""Admission at work: withdrawals, keys, statements, and what changes with a root."""

from __future__ import annotations

from datetime import timedelta

import pytest

from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.record import block_of
from node.peers.rules import kept as beside
from node.peers.rules.values import Level, Quota, Tier
from tests.admit_kit import Door, Issuer
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore

A, B, C = Issuer(1), Issuer(2), Issuer(3)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    """Rings are changed by tests."""
    global A, B, C
    A, B, C = Issuer(1), Issuer(2), Issuer(3)


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
