"""Admission at work: withdrawals, keys, statements, and what changes with a root."""

from __future__ import annotations

from datetime import timedelta

import pytest

from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, block_of
from node.peers.rules import kept as beside
from node.peers.rules.values import Level, Quota, Tier
from tests.admit_kit import Door, Issuer
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore


@pytest.fixture
async def block(door: Door, friend: Issuer) -> AnswerRecord:
    """A record of a trusted issuer, whose keys are known, in service."""
    record = friend.answer("What is a block?")
    assert await door.take(friend, record) == "trusted"
    return record


async def weigh(door: Door, issuer: Issuer, level: Level) -> None:
    """The operator's word on a root, and what follows from it."""
    await door.stand(issuer, level)
    await door.admitter.retier(issuer.did)


# --- withdrawal -----------------------------------------------------------------------------------


async def test_a_tombstone_wins_before_after_and_over_a_restart(door: Door, friend: Issuer) -> None:
    record = friend.answer("What is a block?")
    await door.certify(friend, friend.certificate)
    assert await door.retract(friend, block_of(record)[0], buried=True) == "tombstoned"
    assert await door.take(friend, record) == "tombstoned"
    door.admitter = door.opened()
    assert await door.take(friend, record) == "tombstoned"
    assert await door.served(record) is None


async def test_a_tombstone_takes_away_what_is_served(door: Door, a: Issuer, block: AnswerRecord) -> None:
    cid, _ = block_of(block)
    assert await door.retract(a, cid, buried=True) == "tombstoned"
    assert await door.served(block) is None
    assert not door.in_index(block)
    assert not await door.main.blocks.has(cid)
    assert await door.store.held(cid) is None
    door.admitter = door.opened()
    assert await door.take(a, block) == "tombstoned"
    # nor does another way in bring it back
    assert (await door.records.add(block, origin=a.did)).state == "withdrawn"


async def test_nobody_else_s_tombstone_counts(door: Door, a: Issuer, b: Issuer, block: AnswerRecord) -> None:
    cid, _ = block_of(block)
    await door.certify(b, b.certificate)
    await door.stand(b)
    assert await door.retract(b, cid, buried=True) == "issuer"
    assert await door.served(block) is not None
    # entered in the right log, signed by the wrong hand: the log's word takes it out, but not for good
    assert await door.retract(a, cid, buried=True, by=b) == "withdrawn"
    assert await door.served(block) is None
    assert await door.take(a, block) == "trusted"


async def test_a_bare_retraction_withdraws_from_service(door: Door, a: Issuer, block: AnswerRecord) -> None:
    assert await door.retract(a, block_of(block)[0]) == "withdrawn"
    assert await door.served(block) is None
    assert door.counted[("withdrawn", "retracted")] == 1
    assert await door.take(a, block) == "tombstoned", "whoever answers as another address of it"


async def test_withdrawals_that_are_read_again_take_no_more_room(a: Issuer) -> None:
    door = Door(quota=Quota(records=2))
    first, second = Cid.of(b"first"), Cid.of(b"second")
    for target in (first, first, first, second):
        await door.retract(a, target)
    assert await door.store.tombstones([first, second], a.did) == {first, second}
    assert (await door.store.counts(a.did))["entombed"] == 2


async def test_who_is_no_longer_heard_takes_nothing_out(door: Door, b: Issuer, block: AnswerRecord) -> None:
    await door.stand(b)
    said = b.says(block_of(block)[0], "invalid")
    assert await door.admitter.validation(b.did, b.ring, *block_of(said)) == "counted"
    assert await door.served(block) is None
    await weigh(door, b, Level.UNKNOWN)
    assert await door.served(block) is not None


async def test_tombstones_for_what_is_not_here_are_bounded(a: Issuer) -> None:
    door = Door(quota=Quota(records=2))
    await door.certify(a, a.certificate)
    targets = [Cid.of(str(number).encode()) for number in range(3)]
    said = [await door.retract(a, target, buried=True) for target in targets]
    assert said == ["tombstoned", "tombstoned", "withdrawn"]
    assert await door.store.tombstones(targets, a.did) == set(targets[:2])


# --- keys -----------------------------------------------------------------------------------------


async def test_a_revoked_key_takes_its_records_out(door: Door, a: Issuer, block: AnswerRecord) -> None:
    door.recomputed["4"] = True
    computed = a.answer("2+2", answer="4")
    assert await door.take(a, computed) == "verified"
    imported = a.answer("What came with an index?")
    await door.records.add(imported, origin=a.did)
    door.clock.advance(7_200)
    await door.certify(a, a.revoke())
    await door.admitter.retier(a.did)
    for one in (block, computed, imported):
        assert await door.served(one) is None
    assert {one.tier for one in await door.store.held_of(a.did)} == {Tier.UNTRUSTED}
    assert await door.take(a, a.answer("And another?")) == "key_revoked"


@pytest.mark.usefixtures("groups")
async def test_a_revoked_key_of_one_group_ends_the_quorum_of_others(door: Door, a: Issuer, b: Issuer) -> None:
    ours, theirs = (one.answer("Who wrote it?", answer="Mary Shelley") for one in (a, b))
    await door.take(a, ours)
    await door.take(b, theirs)
    assert await door.served(ours) is not None
    await door.certify(b, b.revoke())
    await door.admitter.retier(b.did)
    assert [await door.served(one) for one in (ours, theirs)] == [None, None]


# --- statements -----------------------------------------------------------------------------------


async def test_statements_of_groups_take_a_record_out_and_those_of_strangers_weigh_nothing(
    door: Door, a: Issuer, b: Issuer, c: Issuer, block: AnswerRecord
) -> None:
    cid, _ = block_of(block)
    assert await door.validate(b, b.says(cid, "invalid")) == "counted"
    assert await door.served(block) is not None
    await door.stand(b, Level.KNOWN, "south")
    await door.stand(c, Level.KNOWN, "east")
    assert await door.validate(c, c.says(cid, "invalid")) == "counted"
    assert await door.validate(c, c.says(cid, "invalid")) == "known"
    assert await door.served(block) is None
    await door.admitter.retier(a.did)
    assert await door.served(block) is None
    # it held before the record came as well
    early = Door()
    await early.stand(a)
    await early.stand(b, Level.KNOWN, "south")
    await early.validate(b, b.says(cid, "invalid"))
    assert await early.take(a, block) == "outvoted"


async def test_statements_are_checked_and_bounded(a: Issuer, b: Issuer) -> None:
    door, target = Door(quota=Quota(validations_per_hour=2)), Cid.of(b"x")
    assert await door.validate(a, b.says(target, "invalid")) == "issuer"
    assert await door.validate(a, a.node.validation(target, issuer=a.did)) == "scope"
    stranger = Author(77).validation(target, issuer=a.did, scope="public")
    assert await door.validate(a, stranger) == "unknown_key"
    ahead = a.node.validation(target, issuer=a.did, scope="public", timestamp=START + timedelta(hours=1))
    assert await door.validate(a, ahead) == "clock"
    said = [await door.validate(a, a.says(target, "invalid", number)) for number in range(3)]
    assert said == ["counted", "counted", "quota_validations"]
    door.clock.advance(3_700)
    assert await door.validate(a, a.says(target, "invalid", 9)) == "counted"


# --- everything of one root -----------------------------------------------------------------------


@pytest.mark.parametrize("ends", ["blocked", "retracted", "outvoted"])
async def test_what_an_index_names_outlives_distrust_alone(
    door: Door, a: Issuer, b: Issuer, ends: str
) -> None:
    record = a.answer("What came with an index?")
    cid, _ = block_of(record)
    named = beside.imported(beside.beside(Tier.TRUSTED, 980_000, None, is_slot_key_read=False))
    await door.records.add(record, origin=a.did, kept=named)
    assert await door.take(a, record) == "held"
    for level in (Level.TRUSTED, Level.UNKNOWN):
        await weigh(door, a, level)
        assert await door.served(record) is not None
    match ends:
        case "blocked":
            await weigh(door, a, Level.BLOCKED)
        case "retracted":
            await door.retract(a, cid)
        case "outvoted":
            await door.stand(a)
            await door.stand(b, Level.KNOWN, "south")
            await door.validate(b, b.says(cid, "invalid"))
    assert await door.served(record) is None


async def test_who_contradicts_itself_is_served_no_more_however_it_came_in(door: Door, a: Issuer) -> None:
    await door.stand(a, Level.TRUSTED, "north")
    records = [a.answer(f"Question {number} of ours?") for number in range(5)]
    for one in records:
        assert await door.take(a, one) == "trusted"
    imported = a.answer("What came with an index?")
    await door.records.add(imported, origin=a.did)
    await door.admitter.drop(a.did, "equivocation")
    assert (await door.store.standing(a.did)).dropped == "equivocation"
    for one in (*records, imported):
        assert await door.served(one) is None
    assert not await door.store.held_of(a.did)
    assert await door.take(a, a.answer("And another?")) == "dropped"
    assert door.counted[("withdrawn", "dropped")] == 6


class Breaking(MemoryPeerStore):
    """Fails at the n-th change of a tier: as a kill would cut it off."""

    left = 10**9

    async def set_tier(self, cid: Cid, tier: Tier, trust_ppm: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise Unavailable("cut off")
        await super().set_tier(cid, tier, trust_ppm)


async def test_a_weighing_that_was_cut_off_is_finished_after_a_restart(a: Issuer) -> None:
    store = Breaking()
    door = Door(store=store)
    records = [a.answer(f"Question {number} of ours?") for number in range(6)]
    for one in records:
        await door.take(a, one)
    store.left = 3
    with pytest.raises(Unavailable):
        await weigh(door, a, Level.TRUSTED)
    assert await store.unfinished() == [a.did]
    store.left = 10**9
    door.admitter = door.opened()
    await door.admitter.resume()
    assert await store.unfinished() == []
    for one in records:
        assert await door.served(one) is not None
    assert {one.tier for one in await store.held_of(a.did)} == {Tier.TRUSTED}


# --- crowding -------------------------------------------------------------------------------------

FILLER = "please do tell me now how tall the great old tower of our city really is today for"


@pytest.mark.parametrize("count", [60, pytest.param(5_000, marks=pytest.mark.slow)])
async def test_one_issuer_cannot_crowd_a_neighbourhood(a: Issuer, b: Issuer, count: int) -> None:
    door = Door(quota=Quota(near=8))
    await door.stand(a)
    await door.stand(b)
    for number in range(count):
        await door.take(a, a.answer(f"{FILLER} number {number}", answer=f"{number} metres"))
    honest = b.answer(f"{FILLER} everybody", answer="300 metres")
    assert await door.take(b, honest) == "trusted"
    assert sum(one.origin == a.did for one in await door.records.since(0)) == 8
    assert door.counted[("held", "crowd")] == count - 8
    assert door.in_index(honest)


SAME = ["What is a heap?", "what is a heap", "What is a heap", "what's a heap", "What is  the heap?"]


async def test_questions_with_the_same_key_words_are_few_too(door: Door, friend: Issuer) -> None:
    """Where no vector can be had."""
    door.embedder.failure = "away"
    asked = [*SAME, "heap what is a"]
    codes = [await door.take(friend, friend.answer(one, answer=one)) for one in asked]
    assert codes.count("trusted") <= 4
