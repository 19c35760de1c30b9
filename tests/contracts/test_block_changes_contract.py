"""``RecordStore.block_changes``: what a copy of the blocks follows, over both stores."""

from __future__ import annotations

from datetime import timedelta

import pytest

from node.core.ipld.cid import RAW, Cid
from node.core.ports import BlockRef
from tests.contracts.test_record_store_contract import OTHER, US, Store, cid_of, store
from tests.record_builders import START

__all__ = ["store"]  # the fixture


@pytest.fixture
def scope() -> str:
    """That of records of which nothing else is said."""
    return "shared"


async def add(store: Store, name: str, **changes: object) -> Cid:
    return (await store.records.add(US.answer(name, **changes))).cid


async def test_live_records_of_every_kind_come_in_order_with_their_scope(store: Store) -> None:
    public = await add(store, "One?", scope="public")
    private = await add(store, "Two?", scope="private:local")
    judged = (await store.records.add(US.validation(public, "valid", scope="public"))).cid
    key = (await store.records.add(US.key_record(OTHER.did))).cid
    buried = (await store.records.add(US.tombstone(cid_of(US.answer("Never here?"))))).cid
    await store.blocks.put(Cid.of(b"no record", RAW), b"no record")
    changes = await store.records.block_changes(0, 0)
    scopes = {public: "public", private: "private:local", judged: "public", key: "public", buried: "shared"}
    assert [(ref.cid, ref.scope) for ref in changes.written] == list(scopes.items())
    numbers = [ref.number for ref in changes.written]
    assert numbers == sorted(set(numbers))
    assert changes.withdrawn == ()
    later = await store.records.block_changes(numbers[1], 0, limit=2)
    assert later.written == changes.written[2:4]


async def test_what_ended_is_only_withdrawn_whatever_ended_it(store: Store) -> None:
    withdrawn, expired, deleted, superseded, judged, kept = [
        await add(store, f"{name}?", expires=expires)
        for name, expires in (
            *(("withdrawn", None), ("expired", START), ("deleted", None)),
            *(("superseded", None), ("judged", None), ("kept", None)),
        )
    ]
    await store.records.withdraw(withdrawn, "test")
    await store.records.expire(START + timedelta(seconds=1), grace_s=0)
    await store.blocks.delete(deleted)
    newer = (await store.records.add(US.answer("newer?"), supersede=[superseded])).cid
    word = (await store.records.add(US.validation(judged))).cid
    changes = await store.records.block_changes(0, 0)
    assert [ref.cid for ref in changes.withdrawn] == [withdrawn, expired, deleted, superseded, judged]
    assert {ref.scope for ref in changes.withdrawn} == {"shared"}
    assert [ref.cid for ref in changes.withdrawn if ref.gave_way] == [expired, deleted]
    assert [ref.cid for ref in changes.written] == [kept, newer, word]
    second = changes.withdrawn[1].number
    assert (await store.records.block_changes(0, second)).withdrawn == changes.withdrawn[2:]


async def test_what_came_back_is_written_and_not_withdrawn(store: Store) -> None:
    cid = await add(store, "One?")
    await store.blocks.delete(cid)
    assert await add(store, "One?") == cid
    changes = await store.records.block_changes(0, 0)
    assert changes.withdrawn == ()
    assert changes.written == (BlockRef(2, cid, "shared"),)


async def test_what_was_withdrawn_before_its_block_went_did_not_give_way(store: Store) -> None:
    gone, evicted = await add(store, "One?"), await add(store, "Two?")
    await store.records.withdraw(gone, "test")
    assert set(await store.records.reclaim(limit=2)) == {gone, evicted}
    changes = await store.records.block_changes(0, 0)
    assert {ref.cid: ref.gave_way for ref in changes.withdrawn} == {gone: False, evicted: True}


async def test_limits_and_numbers_out_of_range(store: Store) -> None:
    await add(store, "One?")
    everything = await store.records.block_changes(-5, -5)
    assert len(everything.written) == 1
    assert (await store.records.block_changes(0, 0, limit=0)).written == ()
    assert (await store.records.block_changes(2**80, 2**80)).written == ()
