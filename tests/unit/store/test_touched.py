"""Whatever changes what answers a question, the store tells of it before the change is acknowledged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.normalise import normalise, query_hash
from node.core.record import block_of
from node.store.sqlite import SqliteStore
from node.store.touched import Touched
from tests.record_builders import START, Author
from tests.unit.store.conftest import Start

US, QUESTION = Author(1), "What is kept?"
KEY = query_hash(normalise(QUESTION))
Change = Callable[[SqliteStore, Cid], Awaitable[object]]


async def _verdict(store: SqliteStore, cid: Cid) -> None:
    await store.records.add(US.validation(cid))


async def _tombstone(store: SqliteStore, cid: Cid) -> None:
    await store.records.add(US.tombstone(cid))


CHANGES: dict[str, Change] = {
    "a newer one supersedes it": lambda store, cid: store.records.add(US.answer("other"), supersede=[cid]),
    "another to the same words": lambda store, cid: store.records.add(US.answer(QUESTION, answer="new")),
    "it becomes an alias": lambda store, cid: store.records.add(US.answer("other"), merge=[cid]),
    "it is withdrawn": lambda store, cid: store.records.withdraw(cid, "test"),
    "it is called invalid": _verdict,
    "it is erased": _tombstone,
    "its block goes": lambda store, cid: store.blocks.delete(cid),
    "it expires": lambda store, cid: store.records.expire(START + timedelta(days=2), grace_s=0),
    "it makes room": lambda store, cid: store.records.reclaim(),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_each_change_names_the_question(start: Start, what: str) -> None:
    store = await start()
    record = US.answer(QUESTION, expires=START + timedelta(days=1), answer="An answer to: other")
    stored = await store.records.add(record, keyword_key="kw2:kept")
    heard: list[Touched] = []
    store.on_touched(heard.append)
    before = store.changes()
    await CHANGES[what](store, stored.cid)
    assert store.changes() > before
    assert KEY in frozenset().union(*(one.keys for one in heard))


async def test_an_alias_is_found_by_words_of_its_own(start: Start) -> None:
    store = await start()
    old = await store.records.add(US.answer(QUESTION, answer="one"), keyword_key="kw2:kept")
    survivor = await store.records.add(US.answer("What stays?", answer="one"), merge=[old.cid])
    heard: list[Touched] = []
    store.on_touched(heard.append)
    await store.records.withdraw(old.cid, "test")
    assert {KEY, "kw2:kept"} <= heard[-1].keys
    heard.clear()
    await store.records.withdraw(survivor.cid, "test")
    assert query_hash("What stays") in heard[-1].keys


async def test_slots_and_private_scopes_are_named(start: Start) -> None:
    store = await start()
    heard: list[Touched] = []
    store.on_touched(heard.append)
    await store.records.add(US.answer("price of btc", slot_key="price:bitcoin:usd"))
    assert heard.pop() == Touched(frozenset({query_hash("price of btc"), "price:bitcoin:usd"}), frozenset())
    mine = await store.records.add(US.answer(QUESTION, scope="private:local"))
    assert heard.pop() == Touched(frozenset(), frozenset({"private:local"}))
    await store.records.shred([mine.cid])
    assert heard.pop().scopes == {"private:local"}


async def test_what_changes_no_answer_is_not_told(start: Start) -> None:
    store = await start()
    stored = await store.records.add(US.answer(QUESTION))
    heard: list[Touched] = []
    store.on_touched(heard.append)
    other = US.answer("x")
    await store.blocks.put(*block_of(other))
    with pytest.raises(Rejected):
        await store.records.find("no column", "x", scopes=("shared",), context=None)
    await store.records.add(US.validation(stored.cid, "valid"))
    assert heard == []
