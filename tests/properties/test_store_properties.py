"""Whatever is done to them, the store in memory and the one in SQLite hold and give the same."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.core.errors import NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.ports import Selection, Use
from node.core.record import AnswerRecord, RecordSource, block_of
from node.store.sqlite import SqliteStore
from tests.record_builders import SCOPES, START, Author
from tests.references.record_store import MemoryStore

US = Author(1)
QUESTIONS = tuple(f"q{number}" for number in range(4))


def answer(number: int, scope: str) -> AnswerRecord:
    """One of 32 records over four questions, two answers, two times and two kinds of source."""
    question, said, when, kind = number % 4, number // 4 % 2, number // 8 % 2, number // 16 % 2
    return US.answer(
        QUESTIONS[question],
        answer=f"answer {said}",
        timestamp=START + timedelta(hours=when),
        expires=START + timedelta(hours=5 + when) if said else None,
        confidence=800_000 + number,
        tags=("t",) if when else (),
        source=RecordSource("llm" if kind else "client", "x"),
        scope=scope,
    )


@dataclass(frozen=True, slots=True)
class World:
    """The records of one scope."""

    scope: str
    records: tuple[AnswerRecord, ...]
    cids: tuple[Cid, ...]

    @classmethod
    def of(cls, scope: str) -> World:
        records = tuple(answer(number, scope) for number in range(COUNT))
        return cls(scope, records, tuple(block_of(record)[0] for record in records))


COUNT = 32
WORLDS = [World.of(scope) for scope in ("shared", "private:local")]
ONE = st.integers(0, COUNT - 1)
FEW = st.lists(ONE, max_size=2)
STEP = st.one_of(
    st.tuples(st.just("add"), ONE, FEW, FEW, st.none() | ONE, st.none() | st.integers(1, 10**7)),
    st.tuples(st.just("use"), st.lists(st.tuples(ONE, st.integers(1, 50), st.integers(-900_000, 900_000)))),
    st.tuples(st.just("withdraw"), ONE),
    st.tuples(st.just("invalid"), ONE, st.integers(0, 1)),
    st.tuples(st.just("bury"), ONE),
    st.tuples(st.just("delete"), ONE),
    st.tuples(st.just("shred"), ONE),
    st.tuples(st.just("expire"), st.integers(0, 8)),
    st.tuples(st.just("reclaim"), st.integers(0, 3), st.integers(0, 8)),
)
Store = MemoryStore | SqliteStore


async def act(store: Store, world: World, step: tuple[Any, ...]) -> object:
    """Do one step; what came of it."""
    records, scope = store.records, world.scope
    match step:
        case ("add", one, supersede, merge, into, cost_us):
            stored = await records.add(
                world.records[one],
                keyword_key=f"kw:{one % 4}",
                supersede=[world.cids[other] for other in supersede],
                merge=[world.cids[other] for other in merge],
                into=None if into is None else world.cids[into],
                cost_us=cost_us,
            )
            return stored.cid, stored.state
        case ("use", uses):
            start_s = int(START.timestamp())
            await records.note_uses([Use(world.cids[one], hits, start_s + at) for one, hits, at in uses])
            return None
        case ("withdraw", one):
            return await records.withdraw(world.cids[one], "test")
        case ("invalid", one, number):
            word = US.validation(world.cids[one], "invalid", statement=f"{number:032x}", scope=scope)
            return (await records.add(word)).state
        case ("bury", one):
            return (await records.add(US.tombstone(world.cids[one], scope=scope))).state
        case ("delete", one):
            await store.blocks.delete(world.cids[one])
            return None
        case ("shred", one):
            await records.shred([world.cids[one]])
            return await records.shredded()
        case ("expire", hours):
            return await records.expire(START + timedelta(hours=hours), grace_s=0)
        case ("reclaim", limit, hours):
            return await records.reclaim(limit=limit, now=START + timedelta(hours=hours))
    raise AssertionError(step)


async def tried(work: Awaitable[object]) -> object:
    try:
        return await work
    except (Rejected, NotFound) as exc:
        return type(exc)


async def seen(store: Store, world: World) -> dict[str, object]:
    """Everything that can be asked of a store; sealed bytes are a little longer."""
    records = store.records
    counts = await records.counts()
    if world.scope != "shared":
        del counts["bytes"]
    return {
        "counts": counts,
        "live": sorted(str(cid) for cid in await records.live(world.cids)),
        "since": [one.cid for one in await records.since(0)],
        "withdrawn": await records.withdrawn_since(0),
        "changes": await records.block_changes(0, 0),
        "found": [
            [one.cid for one in await records.find(column, key, scopes=SCOPES, context=None)]
            for number in range(4)
            for column, key in (
                ("query_hash", world.records[number].query_hash),
                ("keyword_key", f"kw:{number}"),
            )
        ],
        "verdicts": [await records.verdicts([cid]) for cid in world.cids],
        "here": [await tried(records.get(cid)) for cid in world.cids],
        "blocks": [await store.blocks.has(cid) for cid in world.cids],
        "aliases": {cid: await records.aliases(cid) for cid in world.cids},
        "survivors": {cid: await records.survivor(cid) for cid in world.cids},
        "selected": [
            await records.select(selection)
            for selection in (
                Selection(tag="t"),
                Selection(source="llm"),
                Selection(query_hash=world.records[0].query_hash),
                Selection(keyword_key="kw:1"),
                Selection(before=START + timedelta(minutes=1), scopes=(world.scope,)),
            )
        ],
    }


def check_whole(view: dict[str, Any]) -> None:
    """An alias is served by what is live and is no candidate itself; nobody is merged into itself."""
    live: set[str] = set(view["live"])
    for survivor, aliases in view["aliases"].items():
        for alias in aliases:
            assert alias.cid != survivor
            assert str(alias.cid) not in live
            assert view["survivors"][alias.cid] == survivor
    found: list[Cid] = [cid for page in view["found"] for cid in page]
    assert {str(cid) for cid in found} <= live


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(WORLDS), st.lists(STEP, min_size=1, max_size=25))
def test_both_stores_agree_on_any_sequence(world: World, steps: list[tuple[Any, ...]]) -> None:
    async def run(path: Path) -> None:
        memory = MemoryStore(own_issuer=US.did)
        file = await SqliteStore.open(path, own_issuer=US.did)
        try:
            for step in steps:
                outcomes = [await tried(act(store, world, step)) for store in (memory, file)]
                assert outcomes[0] == outcomes[1], step
            views = [await seen(store, world) for store in (memory, file)]
            assert views[0] == views[1]
            check_whole(views[0])
            order = [await store.records.reclaim(now=START) for store in (memory, file)]
            assert order[0] == order[1]
        finally:
            await memory.close()
            await file.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder) / "blocks.sqlite"))
