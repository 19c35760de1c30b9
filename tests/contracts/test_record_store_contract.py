"""The contract of ``RecordStore`` over every implementation; the in-memory one is the reference."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.model import Json
from node.core.normalise import normalise, query_hash
from node.core.ports import BlockRef, Selection, Use
from node.core.record import (
    AnswerRecord,
    Embedding,
    Record,
    RecordSource,
    TombstoneRecord,
    ValidationRecord,
    block_of,
)
from node.store import record_rules
from node.store.private_rows import SEALED_EXTRA_BYTES
from node.store.record_reads import NotPublic
from node.store.sqlite import SqliteStore
from tests.record_builders import SCOPES, START, Author
from tests.references.record_store import MemoryStore

Store: TypeAlias = MemoryStore | SqliteStore

PRIVATE = "private:local"
HOUR = timedelta(hours=1)


class Writer(Author):
    """Everything that it says has the scope under test, unless a test says otherwise."""

    scope = "shared"

    def answer(self, query: str = "What is IPFS?", **changes: Any) -> AnswerRecord:
        return super().answer(query, **({"scope": self.scope} | changes))

    def validation(self, target: Cid, verdict: str = "invalid", **changes: Any) -> ValidationRecord:
        return super().validation(target, verdict, **({"scope": self.scope} | changes))

    def tombstone(self, target: Cid, **changes: Any) -> TombstoneRecord:
        return super().tombstone(target, **({"scope": self.scope} | changes))


US = Writer(1)
PEER = Writer(2)
OTHER = Writer(3)


@pytest.fixture(params=["shared", PRIVATE])
def scope(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The whole contract holds for each: a private record is sealed, the others are not."""
    monkeypatch.setattr(Writer, "scope", request.param)
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, scope: str) -> AsyncIterator[Store]:
    assert US.scope == scope
    made: Store
    if request.param == "memory":
        made = MemoryStore(own_issuer=US.did)
    else:
        made = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
    yield made
    await made.close()


def cid_of(record: Record) -> Cid:
    return block_of(record)[0]


async def add_from(store: Store, author: Author, record: Record) -> Cid:
    """Add as the node would: our own records as local, a peer's under its issuer."""
    origin = "local" if author is US else author.did
    return (await store.records.add(record, origin=origin)).cid


async def some(store: Store, count: int, **changes: Any) -> list[Cid]:
    """``q 0``, ``q 1`` and so on."""
    return [(await store.records.add(US.answer(f"q {i}", **changes))).cid for i in range(count)]


async def withdrawn(store: Store) -> list[Cid]:
    """What was withdrawn, in order."""
    return [cid for _, cid in await store.records.withdrawn_since(0)]


async def state_of(store: Store, cid: Cid) -> str:
    return (await store.records.get(cid)).state


async def find(store: Store, query: str, **changes: object) -> list[str]:
    options = {"scopes": SCOPES, "context": None} | changes
    stored = await store.records.find("query_hash", query_hash(normalise(query)), **options)
    return [one.record.answer for one in stored]


# --- add and get ----------------------------------------------------------------------------------


async def test_an_added_record_is_a_block_and_a_row(store: Store) -> None:
    record = US.answer(slot_key="definition:ipfs", slots={"topic": "ipfs", "names": ("a", "b")})
    stored = await store.records.add(record, keyword_key="ipfs", kept={"extra": [1, {"x": None}]})
    assert (stored.record, stored.state, stored.origin) == (record, "live", "local")
    assert (stored.valid, stored.invalid, stored.sequence) == (0, 0, 1)
    assert stored.kept == {"extra": [1, {"x": None}]}
    assert await store.records.get(stored.cid) == stored
    cid, data = block_of(record)
    assert cid == stored.cid
    assert await store.blocks.get(cid) == data


async def test_adding_is_idempotent_by_cid(store: Store) -> None:
    record = US.answer()
    first = await store.records.add(record)
    again = await store.records.add(record, origin=PEER.did, keyword_key="other")
    assert again == first
    assert (await store.records.counts())["records"] == 1


async def test_a_record_that_is_not_what_its_signature_says_is_rejected(store: Store) -> None:
    good = US.answer()
    changes: tuple[dict[str, Any], ...] = (
        *({"answer": "something else"}, {"sig": b""}, {"sig": bytes(64)}, {"issuer": "nobody"}),
        {"confidence": -1},
    )
    for change in changes:
        with pytest.raises(Rejected):
            await store.records.add(replace(good, **change))
    assert set((await store.records.counts()).values()) == {0}


async def test_a_signed_record_that_could_not_be_read_back_is_rejected(store: Store) -> None:
    for bad in (
        *({"confidence": 1_000_001}, {"context": "not a digest"}, {"answer": "x" * 65_537}),
        {"tags": ("t",) * 33},
    ):
        with pytest.raises(Rejected):
            await store.records.add(US.answer(**bad))


async def test_texts_that_are_not_unicode_are_rejected(store: Store) -> None:
    good = US.answer()
    with pytest.raises(Rejected):
        await store.records.add(replace(good, query="\ud800"))
    with pytest.raises(Rejected):
        await store.records.add(replace(good, answer="\ud800"))
    with pytest.raises(Rejected):
        await store.records.add(good, kept={"x": 2**70})


async def test_absent_is_not_found(store: Store) -> None:
    stored = await store.records.add(US.answer())
    for cid in (Cid.of(b"nobody"), Cid(RAW, stored.cid.digest)):
        with pytest.raises(NotFound):
            await store.records.get(cid)


async def test_a_plain_block_is_not_a_record(store: Store) -> None:
    cid, data = block_of(US.answer())
    await store.blocks.put(cid, data)
    with pytest.raises(NotFound):
        await store.records.get(cid)
    assert (await store.records.add(US.answer())).cid == cid


# --- find -----------------------------------------------------------------------------------------


async def test_found_by_each_column(store: Store) -> None:
    stored = await store.records.add(US.answer(slot_key="price:bitcoin:usd"), keyword_key="bitcoin price")
    await store.records.add(US.answer("something else"))
    for column, key in (
        ("query_hash", stored.record.query_hash),
        ("slot_key", "price:bitcoin:usd"),
        ("keyword_key", "bitcoin price"),
    ):
        assert await store.records.find(column, key, scopes=SCOPES, context=None) == [stored]
        assert await store.records.find(column, key + "x", scopes=SCOPES, context=None) == []
    with pytest.raises(Rejected):
        await store.records.find("answer", "x", scopes=SCOPES, context=None)


async def test_scope_is_a_hard_filter(store: Store) -> None:
    for scope in ("public", "shared", "private:local", "private:other"):
        await store.records.add(US.answer(scope=scope, answer=scope))
    assert sorted(await find(store, "What is IPFS")) == ["private:local", "public", "shared"]
    assert await find(store, "What is IPFS", scopes=("private:other",)) == ["private:other"]
    assert await find(store, "What is IPFS", scopes=()) == []
    assert await find(store, "What is IPFS", scopes=("private:%", "PUBLIC", "")) == []


async def test_context_is_a_hard_filter_and_null_is_its_own(store: Store) -> None:
    one, two = "1" * 64, "2" * 64
    for context in (None, one, two):
        await store.records.add(US.answer(context=context, answer=str(context)))
    assert await find(store, "What is IPFS") == ["None"]
    assert await find(store, "What is IPFS", context=one) == [one]
    assert await find(store, "What is IPFS", context="3" * 64) == []


async def test_newest_first_and_limited(store: Store) -> None:
    for hours in (3, 1, 2):
        await store.records.add(US.answer(answer=f"{hours}", timestamp=START + timedelta(hours=hours)))
    await store.records.add(US.answer(answer="3 again", timestamp=START + timedelta(hours=3), scope="public"))
    assert await find(store, "What is IPFS") == ["3 again", "3", "2", "1"]
    assert await find(store, "What is IPFS", limit=2) == ["3 again", "3"]
    assert await find(store, "What is IPFS", limit=0) == []


async def test_expired_records_are_found_and_withdrawn_ones_are_not(store: Store) -> None:
    await store.records.add(US.answer(answer="old", expires=START - timedelta(days=9)))
    gone = await store.records.add(US.answer(answer="gone"))
    await store.records.withdraw(gone.cid, "test")
    assert await find(store, "What is IPFS") == ["old"]


async def test_strange_keys_find_nothing(store: Store) -> None:
    await store.records.add(US.answer())
    for key in ("", "'; DROP TABLE record; --", "%", "\0", "x" * 70_000):
        assert await store.records.find("query_hash", key, scopes=SCOPES, context=None) == []


# --- live, since, withdrawals ---------------------------------------------------------------------


async def test_live_gives_only_live_answers(store: Store) -> None:
    keep, drop = await some(store, 2)
    word = await store.records.add(US.validation(keep, "valid"))
    await store.records.withdraw(drop, "test")
    found = await store.records.live([keep, keep, drop, word.cid, Cid.of(b"x")])
    assert list(found) == [keep]
    assert found[keep].valid == 1
    assert await store.records.live([]) == {}


async def test_live_takes_a_thousand_and_refuses_a_flood(store: Store) -> None:
    kept = await some(store, 3)
    absent = [Cid.of(str(i).encode()) for i in range(1_200)]
    assert set(await store.records.live([*absent, *kept])) == set(kept)
    with pytest.raises(Rejected):
        await store.records.live([Cid.of(b"x")] * 10_001)


async def test_since_replays_live_answers_in_order(store: Store) -> None:
    stored = await some(store, 6)
    await store.records.add(US.validation(stored[0], "valid"))
    await store.records.withdraw(stored[3], "test")
    expected = [*stored[:3], *stored[4:]]
    assert [one.cid for one in await store.records.since(0)] == expected
    replayed: list[Cid] = []
    watermark = 0
    while page := await store.records.since(watermark, limit=2):
        assert len(page) <= 2
        replayed += [one.cid for one in page]
        watermark = page[-1].sequence
    assert replayed == expected
    assert await store.records.since(2**80) == []


async def test_withdraw_once(store: Store) -> None:
    stored = await store.records.add(US.answer())
    assert await store.records.withdraw(stored.cid, "test") is True
    assert await store.records.withdraw(stored.cid, "test") is False
    assert await store.records.withdraw(Cid.of(b"x"), "test") is False
    assert await state_of(store, stored.cid) == "withdrawn"
    assert await store.blocks.has(stored.cid), "the block stays"


async def test_withdrawn_stays_withdrawn_when_it_comes_again(store: Store) -> None:
    record = US.answer()
    stored = await store.records.add(record)
    await store.records.withdraw(stored.cid, "test")
    assert (await store.records.add(record, origin=PEER.did)).state == "withdrawn"
    assert await find(store, "What is IPFS") == []


async def test_withdrawals_replay_in_order_and_only_once(store: Store) -> None:
    stored = await some(store, 5)
    for position in (3, 1, 4):
        await store.records.withdraw(stored[position], "test")
    feed = await store.records.withdrawn_since(0)
    assert [cid for _, cid in feed] == [stored[3], stored[1], stored[4]]
    numbers = [number for number, _ in feed]
    assert numbers == sorted(set(numbers))
    assert await store.records.withdrawn_since(0, limit=1) == feed[:1]
    assert await store.records.withdrawn_since(numbers[0]) == feed[1:]
    assert await store.records.withdrawn_since(numbers[-1]) == []


async def test_supersede_withdraws_in_the_same_step(store: Store) -> None:
    old = await store.records.add(US.answer(answer="old"))
    new = await store.records.add(US.answer(answer="new"), supersede=[old.cid, Cid.of(b"unknown")])
    assert await find(store, "What is IPFS") == ["new"]
    if US.scope == PRIVATE:
        assert not await store.blocks.has(old.cid), "gone with its key"
    else:
        assert await state_of(store, old.cid) == "withdrawn"
    same = await store.records.add(US.answer(answer="new"), supersede=[new.cid])
    assert same.state == "live", "a record does not supersede itself"


async def test_a_record_that_arrives_withdrawn_supersedes_nothing(store: Store) -> None:
    old = await store.records.add(US.answer(answer="old"))
    new = US.answer(answer="new")
    await store.records.add(US.tombstone(cid_of(new)))
    stored = await store.records.add(new, supersede=[old.cid])
    assert stored.state == "withdrawn"
    assert await find(store, "What is IPFS") == ["old"]


async def test_reclaim_takes_the_withdrawn_then_the_least_worth(store: Store) -> None:
    sure = await store.records.add(US.answer("sure", confidence=950_000))
    unsure = await store.records.add(US.answer("unsure", confidence=810_000))
    gone = await store.records.add(US.answer("gone", confidence=990_000))
    await store.records.withdraw(gone.cid, "test")
    assert await store.records.reclaim(limit=1) == [gone.cid]
    assert (await store.records.counts())["live"] == 2
    assert await store.records.reclaim(limit=1) == [unsure.cid]
    assert await find(store, "unsure") == []
    assert not await store.blocks.has(unsure.cid)
    assert list(await store.records.live([sure.cid, unsure.cid])) == [sure.cid]
    assert unsure.cid in await withdrawn(store)
    assert await store.records.reclaim() == [sure.cid]
    assert await store.records.reclaim() == []


async def test_expire_withdraws_what_ended_more_than_the_grace_ago(store: Store) -> None:
    cids = {
        hours: (await store.records.add(US.answer(f"q {hours}", expires=START + timedelta(hours=hours)))).cid
        for hours in (3, 1, 2)
    }
    await store.records.add(US.answer("for ever"))
    now = START + timedelta(hours=3)
    assert await store.records.expire(now, grace_s=3_600) == [cids[1]]
    assert await store.records.expire(now, grace_s=3_600) == []
    later = now + timedelta(seconds=1)
    assert await store.records.expire(later, grace_s=0, limit=1) == [cids[2]]
    assert await store.records.expire(later, grace_s=0) == [cids[3]]
    assert await withdrawn(store) == [cids[1], cids[2], cids[3]]
    assert (await store.records.counts())["live"] == 1


# --- value ----------------------------------------------------------------------------------------

NOW_S = int(START.timestamp())


async def order_of_reclaim(store: Store, **changes: object) -> list[str]:
    """The questions of all answers in the order in which they make room."""
    questions = {one.cid: one.record.query for one in await store.records.since(0)}
    gone: list[str] = []
    while page := await store.records.reclaim(limit=1, **changes):
        gone += [questions.get(cid, "withdrawn") for cid in page]
    return gone


async def test_what_is_used_more_stays_longer(store: Store) -> None:
    kept = await some(store, 4, answer="x" * 500)
    await store.records.note_uses([Use(kept[0], 5, NOW_S + 10), Use(kept[1], 1, NOW_S + 10)])
    await store.records.note_uses([Use(kept[1], 1, NOW_S + 20), Use(kept[3], 1, NOW_S + 10)])
    assert await order_of_reclaim(store) == ["q 2", "q 3", "q 1", "q 0"]


async def test_old_uses_fade(store: Store) -> None:
    kept = await some(store, 2, answer="x" * 500)
    await store.records.note_uses([Use(kept[0], 40, NOW_S)])
    await store.records.note_uses([Use(kept[1], 4, NOW_S + 10 * record_rules.HALF_LIFE_S)])
    assert await order_of_reclaim(store) == ["q 0", "q 1"]


async def test_what_cost_more_stays_longer_and_size_counts_against(store: Store) -> None:
    await store.records.add(US.answer("cheap", answer="x" * 500), cost_us=1_000_000)
    await store.records.add(US.answer("dear", answer="x" * 500), cost_us=9_000_000)
    await store.records.add(US.answer("dear and large", answer="x" * 50_000), cost_us=9_000_000)
    assert await order_of_reclaim(store) == ["dear and large", "cheap", "dear"]


async def test_what_nobody_timed_costs_by_its_source(store: Store) -> None:
    for kind in ("adapter", "llm", "documents"):
        source = RecordSource(kind, "an-id"[: 12 - len(kind)])
        await store.records.add(US.answer(f"{kind:<9}.", answer="x" * 9_000, source=source))
    assert await order_of_reclaim(store) == ["adapter .", "documents.", "llm ."]


async def test_among_equals_the_less_sure_and_the_older_go_first(store: Store) -> None:
    for query, confidence in (("q1", 900_000), ("q2", 810_000), ("q3", 900_000)):
        await store.records.add(US.answer(query, answer="x" * 500, confidence=confidence))
    assert await order_of_reclaim(store) == ["q2", "q1", "q3"]


async def test_the_expired_go_after_the_withdrawn_and_before_the_living(store: Store) -> None:
    for query, hours in (("late", 2), ("living", 5), ("early", 1)):
        await store.records.add(US.answer(query, expires=START + timedelta(hours=hours)), cost_us=10**9)
    await store.records.add(US.answer("worthless"), cost_us=1)
    gone = await store.records.add(US.answer("gone"), cost_us=10**9)
    await store.records.withdraw(gone.cid, "test")
    now = START + timedelta(hours=2)
    assert await order_of_reclaim(store, now=now) == ["withdrawn", "early", "late", "worthless", "living"]


async def test_uses_pass_on_to_what_supersedes(store: Store) -> None:
    old = await store.records.add(US.answer("much used", answer="x" * 500))
    await store.records.note_uses([Use(old.cid, 50, NOW_S)])
    await store.records.add(US.answer("much used", answer="y" * 500), supersede=[old.cid])
    await store.records.add(US.answer("used once", answer="x" * 500))
    replaced = [] if US.scope == PRIVATE else ["withdrawn"]
    assert await order_of_reclaim(store) == [*replaced, "used once", "much used"]


async def test_uses_of_what_is_not_live_are_passed_over_and_floods_refused(store: Store) -> None:
    gone = await store.records.add(US.answer("gone"))
    await store.records.withdraw(gone.cid, "test")
    await store.records.note_uses([Use(gone.cid, 1, NOW_S), Use(Cid.of(b"x"), 1, NOW_S)])
    await store.records.note_uses([])
    for bad in (Use(gone.cid, 0, NOW_S), Use(gone.cid, 1, -1), Use(gone.cid, 2**40, 1)):
        with pytest.raises(Rejected):
            await store.records.note_uses([bad])
    with pytest.raises(Rejected):
        await store.records.note_uses([Use(gone.cid, 1, NOW_S)] * 10_001)


# --- the ways in which a record ends ---------------------------------------------------------------


async def end(store: Store, cid: Cid, way: str, scope: str) -> None:
    """``cid`` is of a record of this scope that expires an hour after ``START``."""
    if way == "withdraw":
        await store.records.withdraw(cid, "test")
    elif way == "invalid":
        await store.records.add(US.validation(cid, "invalid", scope=scope))
    elif way == "tombstone":
        await store.records.add(US.tombstone(cid, scope=scope))
    elif way == "expire":
        await store.records.expire(START + timedelta(hours=2), grace_s=0)
    elif way == "delete":
        await store.blocks.delete(cid)
    else:
        await store.records.reclaim()


WAYS = ("withdraw", "invalid", "tombstone", "expire", "delete", "reclaim")

# --- merging --------------------------------------------------------------------------------------

OLD, NEW = "What is IPFS", "what is  ipfs"


async def merged_pair(store: Store, **changes: object) -> tuple[Cid, Cid]:
    """(survivor, alias): the newer took the older one in."""
    old = await store.records.add(US.answer(OLD, answer="A network."), keyword_key="kw:ipfs")
    options = {"keyword_key": "kw:what ipfs", "merge": [old.cid]} | changes
    new = await store.records.add(US.answer(NEW, answer="A  network."), **options)
    assert new.state == "live"
    return new.cid, old.cid


async def served(store: Store, query: str, **changes: object) -> list[Cid]:
    options = {"scopes": SCOPES, "context": None} | changes
    key = query_hash(normalise(query))
    return [one.cid for one in await store.records.find("query_hash", key, **options)]


async def test_a_merged_record_answers_by_its_survivor(store: Store) -> None:
    survivor, alias = await merged_pair(store)
    assert await served(store, OLD) == await served(store, NEW) == [survivor]
    for key in ("kw:ipfs", "kw:what ipfs"):
        found = await store.records.find("keyword_key", key, scopes=SCOPES, context=None)
        assert [one.cid for one in found] == [survivor]
    assert list(await store.records.live([survivor, alias])) == [survivor], "one candidate"
    assert [one.cid for one in await store.records.since(0)] == [survivor]
    assert await withdrawn(store) == [alias]
    assert (await store.records.counts())["live"] == 1
    assert await served(store, OLD, scopes=("public",)) == []
    assert await served(store, OLD, context="1" * 64) == []


async def test_provenance_is_kept(store: Store) -> None:
    survivor, alias = await merged_pair(store)
    [one] = await store.records.aliases(survivor)
    assert (one.cid, one.query, one.query_hash) == (alias, OLD, query_hash(OLD))
    assert (one.source_kind, one.source_id, one.timestamp) == ("llm", "test-model", START)
    assert await store.records.survivor(alias) == survivor
    assert await store.records.survivor(survivor) is None
    assert await store.records.aliases(alias) == []
    assert (await store.records.get(alias)).record.query == OLD
    assert await store.records.reclaim(limit=1) == [alias], "its block may go"
    [one] = await store.records.aliases(survivor)
    assert (one.query, one.query_hash) == (None, query_hash(OLD))
    assert await served(store, OLD) == [survivor], "its wording stays"


async def test_a_newcomer_may_become_the_alias(store: Store) -> None:
    old = await store.records.add(US.answer(OLD, answer="A network."))
    new = await store.records.add(US.answer(NEW, answer="A network."), into=old.cid)
    assert new.state == "withdrawn"
    assert await store.records.survivor(new.cid) == old.cid
    assert await served(store, OLD) == await served(store, NEW) == [old.cid]
    await store.records.withdraw(old.cid, "test")
    late = await store.records.add(US.answer(NEW, answer="A network!"), into=old.cid)
    assert late.state == "live", "nothing to merge into any more"


@pytest.mark.parametrize("way", WAYS)
async def test_aliases_go_out_of_service_with_their_survivor(store: Store, way: str) -> None:
    old = await store.records.add(US.answer(OLD, answer="A network."))
    new = await store.records.add(US.answer(NEW, answer="A network.", expires=START + HOUR), merge=[old.cid])
    await end(store, new.cid, way, US.scope)
    assert await served(store, OLD) == await served(store, NEW) == []
    assert await store.records.find("keyword_key", "kw:ipfs", scopes=SCOPES, context=None) == []


async def test_our_verdict_on_a_merged_record_meets_what_is_served(store: Store) -> None:
    survivor, alias = await merged_pair(store)
    await add_from(store, PEER, PEER.validation(alias, "invalid"))
    assert await state_of(store, survivor) == "live", "a peer's word takes nothing"
    await store.records.add(US.validation(alias, "invalid"))
    assert await state_of(store, survivor) == "withdrawn"


@pytest.mark.parametrize("way", ["tombstone", "withdraw", "delete"])
async def test_a_merged_record_that_is_taken_back_loses_its_wording_only(store: Store, way: str) -> None:
    survivor, alias = await merged_pair(store)
    if way == "tombstone":
        await store.records.add(US.tombstone(alias))
    elif way == "withdraw":
        assert await store.records.withdraw(alias, "test") is False
    else:
        await store.blocks.delete(alias)
    assert await served(store, OLD) == []
    assert await served(store, NEW) == [survivor]
    assert await store.records.aliases(survivor) == []


MERGED = {
    "answer": "A network.", "slot_key": "definition:ipfs", "slots": {"topic": "ipfs"},
    "embedding": Embedding("m", "1" * 64, 4, bytes(16)),
}  # fmt: skip


async def test_merging_never_crosses_what_must_stay_apart(store: Store) -> None:
    old = await store.records.add(US.answer(OLD, **MERGED))
    for change in (
        *({"scope": "public"}, {"context": "1" * 64}, {"answer": "A network of peers."}, {"embedding": None}),
        *({"slot_key": "definition:ipns"}, {"embedding": Embedding("m", "2" * 64, 4, bytes(16))}),
        {"source": RecordSource("client", "somebody")},
    ):
        other = US.answer(NEW, **(MERGED | change))
        for options in ({"merge": [old.cid]}, {"into": old.cid}):
            with pytest.raises(Rejected, match="differs"):
                await store.records.add(other, **options)
    with pytest.raises(Rejected, match="origin"):
        await store.records.add(PEER.answer(NEW, **MERGED), origin=PEER.did, merge=[old.cid])
    assert await state_of(store, old.cid) == "live"
    assert (await store.records.counts())["records"] == 1


async def test_merging_what_is_not_live_is_nothing(store: Store) -> None:
    gone = await store.records.add(US.answer(OLD, answer="A network."))
    await store.records.withdraw(gone.cid, "test")
    new = await store.records.add(US.answer(NEW, answer="A network."), merge=[gone.cid, Cid.of(b"x")])
    assert (new.state, await store.records.aliases(new.cid)) == ("live", [])


async def test_chains_of_merging_end_at_one_survivor(store: Store) -> None:
    cids: list[Cid] = []
    for number in range(4):
        wording = US.answer(f"wording {number}", answer="A.", timestamp=START + timedelta(seconds=number))
        cids.append((await store.records.add(wording, merge=cids[-1:])).cid)
    assert [one.cid for one in await store.records.aliases(cids[-1])] == cids[:3]
    assert [await served(store, f"wording {number}") for number in range(4)] == [[cids[-1]]] * 4


async def test_aliases_of_one_record_are_bounded(store: Store) -> None:
    survivor = await store.records.add(US.answer("the first", answer="A."))
    for number in range(record_rules.ALIASES_MAX + 3):
        wording = US.answer(f"wording {number}", answer="A.", timestamp=START + timedelta(seconds=number))
        await store.records.add(wording, into=survivor.cid)
    aliases = await store.records.aliases(survivor.cid)
    assert [one.query for one in aliases] == [f"wording {n}" for n in range(3, record_rules.ALIASES_MAX + 3)]


async def test_a_new_answer_of_ours_takes_over_its_wording(store: Store) -> None:
    survivor, alias = await merged_pair(store)
    other = await store.records.add(US.answer(OLD, answer="Something else."))
    assert await served(store, OLD) == [other.cid]
    assert await served(store, NEW) == [survivor]
    assert await store.records.survivor(alias) is None


async def test_the_same_said_again_keeps_its_aliases_and_another_answer_does_not(store: Store) -> None:
    survivor, _ = await merged_pair(store)
    later = START + HOUR
    same = US.answer(NEW, answer="A network.", timestamp=later)
    again = await store.records.add(same, supersede=[survivor])
    assert await served(store, OLD) == [again.cid]
    other = await store.records.add(US.answer(NEW, answer="Not that."), supersede=[again.cid])
    assert await served(store, OLD) == []
    assert await served(store, NEW) == [other.cid]


async def test_uses_add_up_when_records_merge(store: Store) -> None:
    old = await store.records.add(US.answer("q1", answer="x" * 500))
    await store.records.note_uses([Use(old.cid, 9, NOW_S)])
    await store.records.add(US.answer("q2", answer="x" * 500), merge=[old.cid])
    await store.records.add(US.answer("q3", answer="x" * 500))
    assert await order_of_reclaim(store) == ["withdrawn", "q3", "q2"]


# --- what is public -------------------------------------------------------------------------------


async def test_a_public_block_is_found_by_its_multihash(store: Store) -> None:
    for record in (US.answer(scope="public"), US.key_record(PEER.did)):
        stored = await store.records.add(record)
        for cid in (stored.cid, Cid(RAW, stored.cid.digest)):
            assert await store.public_block(cid) == block_of(record)[1]


@pytest.mark.parametrize("way", [*WAYS, "merge"])
async def test_what_ended_is_not_public_any_more(store: Store, way: str) -> None:
    one = await store.records.add(US.answer(scope="public", answer="A.", expires=START + HOUR))
    assert await store.public_block(one.cid)
    if way == "merge":
        await store.records.add(US.answer("Another", scope="public", answer="A."), merge=[one.cid])
    else:
        await end(store, one.cid, way, "public")
    with pytest.raises(NotPublic):
        await store.public_block(one.cid)


async def test_what_is_not_public_is_told_apart_from_what_is_no_record(store: Store) -> None:
    here = [(await store.records.add(US.answer(scope=scope))).cid for scope in ("shared", "private:local")]
    for cid in here:
        with pytest.raises(NotPublic):
            await store.public_block(cid)
    raw = b"a raw block"
    await store.blocks.put(Cid.of(raw, RAW), raw)
    for cid in (Cid.of(raw, RAW), Cid.of(b"x")):
        with pytest.raises(NotFound) as caught:
            await store.public_block(cid)
        assert not isinstance(caught.value, NotPublic)


async def test_of_many_blocks_the_public_ones_until_they_are_enough(store: Store) -> None:
    first, second = [(await store.records.add(US.answer(query, scope="public"))) for query in ("a?", "b?")]
    hidden = await store.records.add(US.answer("c?", scope="shared"))
    nowhere = Cid.of(b"nobody has this")
    blocks = {stored.cid: block_of(stored.record)[1] for stored in (first, second)}
    asked = [nowhere, hidden.cid, first.cid, second.cid]
    assert await store.public_blocks(asked, 2**20) == {nowhere: None, **blocks}
    assert await store.public_blocks(asked, 1) == {nowhere: None, first.cid: blocks[first.cid]}
    assert await store.public_blocks([second.cid, first.cid], 1) == {second.cid: blocks[second.cid]}
    assert await store.public_blocks([], 1) == {}


async def test_public_answers_are_the_newest_of_each_question_in_order(store: Store) -> None:
    def key(query: str) -> str:
        return query_hash(normalise(query))

    public: dict[str, Any] = {"scope": "public"}
    for query in ("one", "two", "three", "four"):
        later = START + timedelta(days=9)
        await store.records.add(US.answer(query, answer="older", timestamp=later, **public))
    newest: dict[str, Cid] = {}
    for query in ("one", "two", "three"):
        newest[key(query)] = (await store.records.add(US.answer(query, **public))).cid
    gone = await store.records.add(US.answer("four", **public))
    await store.records.withdraw(gone.cid, "test")
    await store.records.add(US.answer("one", context="1" * 64, **public))
    await store.records.add(US.answer("one"))
    await store.records.add(US.answer("five", scope="private:local"))
    await store.records.add(US.validation(gone.cid, "valid", **public))

    everything = await store.records.public_answers("", "")
    assert [one for one, _ in everything] == sorted([*newest, key("four")])
    assert {one: cid for one, cid in everything if one in newest} == newest
    first, second, third, fourth = everything
    assert await store.records.public_answers(second[0], fourth[0]) == [second, third]
    assert await store.records.public_answers(first[0] + "0", "", limit=1) == [second]
    assert await store.records.public_answers(second[0], second[0]) == []
    assert await store.records.public_answers("", "", limit=0) == []


# --- select ---------------------------------------------------------------------------------------


async def test_select_combines_its_fields(store: Store) -> None:
    async def add(query: str, **changes: object) -> Cid:
        return (await store.records.add(US.answer(query, **changes), keyword_key=query.casefold())).cid

    coins = RecordSource("adapter", "coingecko")
    one = await add("One", tags=("a", "b"), source=coins)
    earlier, client = START - timedelta(days=2), RecordSource("client", "local")
    two = await add("Two", tags=("b",), scope="public", source=client, timestamp=earlier)
    three = await add("Three", scope="private:x", source=coins, tags=("a%", 'b"'))
    gone = await add("Gone", tags=("a",))
    await store.records.withdraw(gone, "test")

    async def chosen(**fields: object) -> list[Cid]:
        return [ref.cid for ref in await store.records.select(Selection(**fields))]

    wanted: list[tuple[dict[str, object], list[Cid]]] = [
        ({"cid": two}, [two]),
        ({"cid": gone}, []),
        ({"query_hash": query_hash("One")}, [one]),
        ({"keyword_key": "one"}, [one]),
        ({"source": "adapter"}, [one, three]),
        ({"source": "coingecko"}, [one, three]),
        ({"before": START}, [two]),
        ({"tag": "b"}, [one, two]),
        ({"tag": 'b"'}, [three]),
        ({"tag": "a"}, [one]),
        ({"scopes": (US.scope, "public")}, [one, two]),
        ({"scopes": ()}, []),
        ({"tag": "b", "source": "client"}, [two]),
        ({"tag": "b", "scopes": ("private:x",)}, []),
    ]
    for fields, found in wanted:
        assert await chosen(**fields) == found, fields
    with pytest.raises(Rejected):
        await chosen()
    with pytest.raises(Rejected):
        await chosen(scopes=tuple(map(str, range(65))))
    [ref] = await store.records.select(Selection(cid=two))
    assert (ref.number, ref.scope) == ((await store.records.get(two)).sequence, "public")


async def test_select_goes_on_where_it_stopped(store: Store) -> None:
    cids = await some(store, 5, tags=("t",))
    found: list[Cid] = []
    after = 0
    while page := await store.records.select(Selection(tag="t"), after=after, limit=2):
        found += [ref.cid for ref in page]
        after = page[-1].number
    assert found == cids


async def test_select_finds_a_survivor_by_its_aliases(store: Store) -> None:
    survivor, _ = await merged_pair(store)
    for selection in (Selection(query_hash=query_hash(OLD)), Selection(keyword_key="kw:ipfs")):
        assert [ref.cid for ref in await store.records.select(selection)] == [survivor]


# --- validations and tombstones -------------------------------------------------------------------


async def test_verdicts_count_once_per_issuer_the_latest(store: Store) -> None:
    target = (await store.records.add(US.answer())).cid
    later = START + HOUR
    await add_from(store, PEER, PEER.validation(target, "invalid"))
    await add_from(store, PEER, PEER.validation(target, "valid", timestamp=later))
    await add_from(store, PEER, PEER.validation(target, "valid", timestamp=later, note="still"))
    await add_from(store, OTHER, OTHER.validation(target, "invalid"))
    stored = await store.records.get(target)
    assert (stored.valid, stored.invalid, stored.state) == (1, 1, "live")


async def test_our_own_verdicts_count_once_for_each_voice_the_latest(store: Store) -> None:
    shared: dict[str, Any] = {"scope": "shared"}
    target = (await store.records.add(US.answer(**shared))).cid
    said = (("ana", "invalid"), ("ana", "valid"), ("", "valid"), ("", "valid"), ("bo", "invalid"))
    for number, (voice, verdict) in enumerate(said):
        kept: dict[str, Json] | None = {"voice": voice} if voice else None
        word = US.validation(target, verdict, statement=f"{number:032x}", **shared)
        last = await store.records.add(word, kept=kept)
    stored = await store.records.get(target)
    assert (stored.valid, stored.invalid, stored.state) == (2, 1, "live")
    voices = await store.records.voices(target)
    assert {voice: verdict for voice, (verdict, _) in voices.items()} == {
        "ana": "valid",
        "": "valid",
        "bo": "invalid",
    }
    assert voices["bo"][1] == last.cid
    assert await store.records.voices(Cid.of(b"x")) == {}


async def test_a_tenant_s_verdict_does_not_withdraw_what_comes_in_later(store: Store) -> None:
    record = US.answer(scope="shared")
    target = block_of(record)[0]
    await store.records.add(US.validation(target, "invalid", scope="shared"), kept={"voice": "ana"})
    assert (await store.records.add(record)).state == "live"
    assert (await store.records.get(target)).invalid == 1


async def test_our_own_invalid_withdraws_and_a_valid_does_not_bring_back(store: Store) -> None:
    target = (await store.records.add(US.answer())).cid
    await store.records.add(US.validation(target, "invalid"))
    assert await state_of(store, target) == "withdrawn"
    await store.records.add(US.validation(target, "valid", timestamp=START + HOUR))
    stored = await store.records.get(target)
    assert (stored.state, stored.valid, stored.invalid) == ("withdrawn", 1, 0)


async def test_a_stranger_who_claims_our_issuer_withdraws_nothing(store: Store) -> None:
    target = (await store.records.add(US.answer())).cid
    for forged in (PEER.validation(target, "invalid", issuer=US.did), PEER.tombstone(target, issuer=US.did)):
        await store.records.add(forged, origin=PEER.did)
    assert await state_of(store, target) == "live"


async def test_only_we_or_the_issuer_can_tombstone(store: Store) -> None:
    ours = (await store.records.add(US.answer("ours"))).cid
    theirs = await add_from(store, PEER, PEER.answer("theirs"))
    both = await add_from(store, PEER, PEER.answer("both"))
    await add_from(store, OTHER, OTHER.tombstone(theirs))
    await add_from(store, PEER, PEER.tombstone(ours))
    assert (await state_of(store, ours), await state_of(store, theirs)) == ("live", "live")
    await add_from(store, PEER, PEER.tombstone(theirs))
    await add_from(store, US, US.tombstone(both))
    assert (await state_of(store, theirs), await state_of(store, both)) == ("withdrawn", "withdrawn")


WORDS: Mapping[str, Callable[[Cid], tuple[Author, Record]]] = {
    "own tombstone": lambda cid: (US, US.tombstone(cid)),
    "own invalid": lambda cid: (US, US.validation(cid, "invalid")),
    "issuer's tombstone": lambda cid: (PEER, PEER.tombstone(cid)),
    "other's tombstone": lambda cid: (OTHER, OTHER.tombstone(cid)),
    "other's invalid": lambda cid: (OTHER, OTHER.validation(cid, "invalid")),
    "issuer's own invalid": lambda cid: (PEER, PEER.validation(cid, "invalid")),
}


@pytest.mark.parametrize("word", sorted(WORDS))
@pytest.mark.parametrize("word_first", [True, False])
async def test_a_word_acts_alike_before_and_after_a_target(store: Store, word: str, word_first: bool) -> None:
    target = PEER.answer()
    author, record = WORDS[word](cid_of(target))
    steps = [(author, record), (PEER, target)]
    for who, what in steps if word_first else reversed(steps):
        await add_from(store, who, what)
    withdraws = word in ("own tombstone", "own invalid", "issuer's tombstone")
    stored = await store.records.get(cid_of(target))
    assert stored.state == ("withdrawn" if withdraws else "live")
    assert stored.invalid == (1 if "invalid" in word else 0)
    assert bool(await find(store, "What is IPFS")) is not withdraws
    assert await withdrawn(store) == [stored.cid] * withdraws


async def test_any_order_of_arrival_ends_alike(store: Store) -> None:
    """Three verdicts, their target and the withdrawal of one verdict: 120 orders, one outcome."""
    outcomes = set()
    for number, order in enumerate(itertools.permutations(range(5))):
        target = PEER.answer(f"question {number}")
        verdicts = [
            PEER.validation(cid_of(target), "valid"),
            OTHER.validation(cid_of(target), "invalid"),
            OTHER.validation(cid_of(target), "valid", timestamp=START + HOUR),
        ]
        steps = [(PEER, target), (PEER, verdicts[0]), (OTHER, verdicts[1]), (OTHER, verdicts[2])]
        steps.append((OTHER, OTHER.tombstone(cid_of(verdicts[2]))))
        for step in order:
            await add_from(store, *steps[step])
        stored = await store.records.get(cid_of(target))
        outcomes.add((stored.state, stored.valid, stored.invalid))
    assert outcomes == {("live", 1, 1)}


async def test_key_records_are_kept_and_are_no_answers(store: Store) -> None:
    stored = await store.records.add(US.key_record(PEER.did))
    assert (await store.records.get(stored.cid)).record == US.key_record(PEER.did)
    assert await store.records.since(0) == []
    counts = await store.records.counts()
    assert (counts["records"], counts["live"]) == (1, 0)


# --- verdicts and erasure -------------------------------------------------------------------------


async def test_verdicts_are_found_by_their_target(store: Store) -> None:
    one, two, three = await some(store, 3)
    said = [
        (await store.records.add(US.validation(target, verdict, statement=f"{number:032x}"))).cid
        for number, (target, verdict) in enumerate(((one, "valid"), (two, "valid"), (one, "invalid")))
    ]
    await store.records.add(US.tombstone(one))
    theirs = await add_from(store, PEER, PEER.validation(one, "valid"))
    assert await store.records.verdicts([one]) == [said[0], said[2], theirs]
    assert await store.records.verdicts([three, Cid.of(b"x")]) == await store.records.verdicts([]) == []
    await store.records.withdraw(theirs, "test")
    await store.blocks.delete(said[0])
    many = [Cid.of(str(number).encode()) for number in range(1_200)]
    assert set(await store.records.verdicts([*many, one, two])) == {said[2], theirs, said[1]}


async def test_a_private_record_once_shredded_is_gone_at_once_and_for_good(store: Store, scope: str) -> None:
    record = US.answer(tags=("t",))
    stored = await store.records.add(record, keyword_key="words")
    other = await store.records.add(US.answer("Another"))
    word = await store.records.add(US.validation(stored.cid, "valid", note="my word"))
    await store.records.shred([stored.cid, word.cid, Cid.of(b"x")])
    if scope != PRIVATE:
        assert await store.records.get(stored.cid) == replace(stored, valid=1), "there is no key to destroy"
        assert await store.records.shredded() == []
        return
    for cid in (stored.cid, word.cid):
        assert not await store.blocks.has(cid)
        for reading in (store.records.get(cid), store.blocks.get(cid)):
            with pytest.raises(NotFound):
                await reading
    assert await find(store, "What is IPFS") == []
    assert await store.records.select(Selection(tag="t")) == []
    assert [one.cid for one in await store.records.since(0)] == [other.cid]
    assert stored.cid in await withdrawn(store)
    assert [ref.cid for ref in await store.records.shredded()] == [stored.cid, word.cid]
    assert await store.records.place(stored.cid) == BlockRef(stored.sequence, stored.cid, scope)
    with pytest.raises(Rejected):
        await store.records.add(record)
    await store.records.shred([stored.cid])
    await store.blocks.delete(stored.cid)
    assert [(ref.cid, ref.scope) for ref in await store.records.shredded()] == [(word.cid, scope)]
    assert await store.records.shredded(limit=0) == []
    for cid in (stored.cid, Cid(RAW, word.cid.digest)):
        with pytest.raises(NotFound):
            await store.records.place(cid)
    with pytest.raises(Rejected):
        await store.records.add(record)
    assert (await store.records.get(other.cid)) == other


async def test_a_shredded_record_takes_what_its_aliases_say_with_it(store: Store) -> None:
    survivor, alias = await merged_pair(store)
    await store.records.shred([survivor])
    assert len(await store.records.aliases(survivor)) == (0 if US.scope == PRIVATE else 1)
    assert await served(store, OLD) == await served(store, NEW) == ([] if US.scope == PRIVATE else [survivor])
    await store.records.shred([alias])


@pytest.mark.parametrize("way", ["superseded", "expired"])
async def test_a_private_record_whose_time_is_over_is_deleted(store: Store, scope: str, way: str) -> None:
    """Rule 8."""
    end = START + HOUR
    record = US.answer(expires=end)
    stored = await store.records.add(record)
    if way == "superseded":
        await store.records.add(US.answer(answer="new"), supersede=[stored.cid])
    else:
        assert await store.records.expire(end + timedelta(seconds=1), grace_s=0) == [stored.cid]
    assert await store.blocks.has(stored.cid) is (scope != PRIVATE)
    assert await withdrawn(store) == [stored.cid]
    if scope == PRIVATE:
        with pytest.raises(Rejected):
            await store.records.add(record)
    else:
        assert (await store.records.add(record)).state == "withdrawn"


# --- deletion -------------------------------------------------------------------------------------


async def test_deleting_the_block_removes_the_record(store: Store) -> None:
    record = US.answer(slot_key="k")
    stored = await store.records.add(record, keyword_key="words", kept={"a": 1})
    await store.blocks.delete(stored.cid)
    with pytest.raises(NotFound):
        await store.records.get(stored.cid)
    assert await find(store, "What is IPFS") == []
    assert await store.records.since(0) == []
    assert await store.records.withdraw(stored.cid, "test") is False
    assert await withdrawn(store) == [stored.cid]
    counts = await store.records.counts()
    assert (counts["records"], counts["live"], counts["blocks"], counts["bytes"]) == (0, 0, 0, 0)


async def test_a_removed_record_may_come_back_as_new(store: Store) -> None:
    record = US.answer()
    stored = await store.records.add(record)
    await store.blocks.delete(stored.cid)
    again = await store.records.add(record)
    assert again.state == "live"
    assert again.sequence > stored.sequence
    assert await store.records.withdrawn_since(0) == [], "an index must not drop what is live again"
    assert [one.cid for one in await store.records.since(stored.sequence)] == [stored.cid]


async def test_a_withdrawn_and_deleted_record_does_not_come_back(store: Store) -> None:
    record = US.answer()
    stored = await store.records.add(record)
    await store.records.withdraw(stored.cid, "erased")
    await store.blocks.delete(stored.cid)
    with pytest.raises(Rejected):
        await store.records.add(record)
    assert not await store.blocks.has(stored.cid), "erased means erased"


async def test_a_deleted_tombstone_still_counts(store: Store) -> None:
    record = US.answer()
    tombstone = await store.records.add(US.tombstone(cid_of(record)))
    await store.blocks.delete(tombstone.cid)
    assert (await store.records.add(record)).state == "withdrawn"


# --- the whole ------------------------------------------------------------------------------------


async def test_counts_follow_every_change(store: Store) -> None:
    stored = [await store.records.add(US.answer(f"q {i}")) for i in range(4)]
    word = await store.records.add(US.validation(stored[0].cid, "valid"))
    await store.records.withdraw(stored[1].cid, "test")
    await store.blocks.delete(stored[2].cid)
    raw = b"a raw block"
    await store.blocks.put(Cid.of(raw, RAW), raw)
    held = [stored[0], stored[1], stored[3], word]
    extra = SEALED_EXTRA_BYTES if US.scope == PRIVATE and isinstance(store, SqliteStore) else 0
    size = sum(len(block_of(one.record)[1]) + extra for one in held) + len(raw)
    counted = {"records": 4, "live": 2, "blocks": 5, "bytes": size, "last_sequence": word.sequence}
    assert await store.records.counts() == counted


async def test_the_newest_and_how_many_of_some_scopes(store: Store) -> None:
    day = timedelta(days=1)
    added = [await store.records.add(US.answer(f"q {i}", timestamp=START + i * day)) for i in range(4)]
    await store.records.add(US.answer("of another", scope="private:other"))
    await store.records.add(US.validation(added[0].cid, "valid"))
    await store.records.withdraw(added[1].cid, "test")
    newest, tally = store.records.newest, store.records.tally
    mine = (US.scope, "public")
    assert [one.cid for one in await newest(scopes=mine)] == [added[i].cid for i in (3, 2, 0)]
    assert [one.cid for one in await newest(scopes=mine, limit=1)] == [added[3].cid]
    assert await newest(scopes=()) == []
    assert await tally(scopes=mine) == 3
    assert await tally(scopes=mine, since=START + 2 * day) == 2
    assert await tally(scopes=mine, since=START, before=START + 3 * day) == 2
    assert await tally(scopes=("private:other",)) == 1
    assert await tally(scopes=()) == 0
    many = tuple(f"private:{i}" for i in range(1_000))
    for call in (newest(scopes=many), tally(scopes=many)):
        with pytest.raises(Rejected):
            await call


async def test_adds_at_once_get_distinct_sequences(store: Store) -> None:
    stored = await asyncio.gather(*(store.records.add(US.answer(f"q {i}")) for i in range(40)))
    assert len({one.sequence for one in stored}) == 40
    assert len(await store.records.since(0)) == 40


async def test_a_cancelled_add_leaves_the_store_usable(store: Store) -> None:
    task = asyncio.create_task(store.records.add(US.answer("cancelled")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert (await store.records.add(US.answer("cancelled"))).state == "live"


async def test_close_is_idempotent_and_final(store: Store) -> None:
    await store.records.close()
    await store.records.close()
    assert not await store.blocks.has(Cid.of(b"x")), "the other view lives on"
    await store.close()
    with pytest.raises(Unavailable):
        await store.records.counts()
    with pytest.raises(Unavailable):
        await store.records.add(US.answer())
