"""Records that are admitted together come to the same as those admitted one after the other."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, block_of
from node.peers.rules.entry import Publish
from node.peers.rules.values import Quota
from node.peers.sync.admit import Arrived
from tests.admit_kit import Door, Issuer
from tests.record_builders import START

LONG = "Which of the old harbour lights near the northern fish market was repaired first by keeper"
"""Questions of these words and a number are near-duplicates of each other."""


def arrived(issuer: Issuer, record: AnswerRecord) -> Arrived:
    cid, data = block_of(record)
    issuer.entries += 1
    return Arrived(issuer.entries, Publish(cid, "general", record.query_hash, record.expires), cid, data)


async def together(door: Door, issuer: Issuer, records: list[AnswerRecord]) -> list[str]:
    await door.certify(issuer, issuer.certificate)
    lot = [arrived(issuer, record) for record in records]
    return await door.admitter.admit(issuer.did, issuer.ring, lot)


async def state(door: Door, records: list[AnswerRecord]) -> dict[Cid, tuple[object, ...]]:
    """What is held and served of each."""
    out: dict[Cid, tuple[object, ...]] = {}
    for record in records:
        cid, _ = block_of(record)
        held, served = await door.store.held(cid), await door.served(record)
        out[cid] = (
            None if held is None else (held.tier, held.trust_ppm, held.agreed),
            None if served is None else (served.origin, served.kept),
            door.in_index(record),
        )
    return out


def some_records(rng: random.Random, issuer: Issuer) -> list[AnswerRecord]:
    """Answers to few questions, so that many are rivals, repeats and near-duplicates."""
    records = {}
    for number in range(rng.randint(2, 24)):
        query = rng.choice(
            [f"What is thing {rng.randint(1, 5)}?", f"{LONG} {rng.randint(1, 12)}?", f"Who is {number}?"]
        )
        record = issuer.answer(
            query,
            answer=rng.choice(["Yes, it is.", "No, it is not."]),
            timestamp=START + timedelta(seconds=rng.randint(0, 3_000)),
            slot_key=rng.choice([None, None, "slot:1", "slot:2"]),
            scope=rng.choice(["public"] * 9 + ["shared"]),
        )
        records[block_of(record)[0]] = record
    return list(records.values())


@pytest.mark.parametrize(
    "seed", [*range(15), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(15, 60))]
)
async def test_together_as_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    quota = Quota(near=rng.choice([2, 4, 8]), records=rng.choice([1_000, 12]))
    issuers = [Issuer(1), Issuer(2)]
    doors = Door(quota=quota), Door(quota=quota)
    every: list[AnswerRecord] = []
    for issuer in issuers:
        for door in doors:
            await door.stand(issuer, group=f"g{issuer.did[-4:]}")
    for issuer in issuers:
        records = some_records(rng, issuer)
        every += records
        for record in records:
            if rng.random() < 0.2:
                for door in doors:
                    door.recomputed[record.answer] = True
        at_once = await together(doors[0], issuer, records)
        one_by_one = [(await together(doors[1], issuer, [record]))[0] for record in records]
        if quota.records == 1_000:
            assert at_once == one_by_one
    if quota.records == 1_000:
        assert await state(doors[0], every) == await state(doors[1], every)
        assert doors[0].counted == doors[1].counted
    for issuer in issuers:
        usage = await doors[0].store.usage(issuer.did, START)
        assert usage.records <= quota.records


async def test_a_lot_never_brings_more_than_its_issuer_may_hold() -> None:
    door, friend = Door(quota=Quota(records=5)), Issuer(1)
    await door.stand(friend)
    outcomes = await together(door, friend, [friend.answer(f"Who is {number}?") for number in range(9)])
    assert outcomes == ["trusted"] * 5 + ["quota_records"] * 4
    assert (await door.store.usage(friend.did, START)).records == 5


async def test_what_is_refuted_counts_against_its_issuer_before_the_rest_of_the_lot() -> None:
    door, friend = Door(), Issuer(1)
    await door.stand(friend)
    false = friend.answer("What is 2 + 2?", answer="5")
    door.recomputed["5"] = False
    outcomes = await together(door, friend, [friend.answer("Who is it?"), false])
    assert outcomes == ["trusted", "refuted"]
    assert (await door.store.standing(friend.did)).refuted == 1
    alone, other = Door(), Issuer(1)
    await alone.stand(other)
    await together(alone, other, [other.answer("Who is it?")])
    cid, _ = block_of(friend.answer("Who is it?"))
    held, before = await door.store.held(cid), await alone.store.held(cid)
    assert held is not None
    assert before is not None
    assert held.trust_ppm < before.trust_ppm


async def test_what_becomes_withdrawn_while_a_lot_is_looked_at_stays_out() -> None:
    door, friend = Door(), Issuer(1)
    await door.stand(friend)
    records = [friend.answer(f"Who is {number}?") for number in range(4)]
    gone, _ = block_of(records[2])
    looking, go_on = asyncio.Event(), asyncio.Event()
    recompute = door.admitter._reading.recompute

    async def slow(record: AnswerRecord) -> bool | None:
        looking.set()
        await go_on.wait()
        return await recompute(record)

    door.admitter._reading = replace(door.admitter._reading, recompute=slow)
    taking = asyncio.create_task(together(door, friend, records))
    await looking.wait()
    await door.retract(friend, gone)
    go_on.set()
    assert await taking == ["trusted", "trusted", "tombstoned", "trusted"]
    assert await door.served(records[2]) is None
