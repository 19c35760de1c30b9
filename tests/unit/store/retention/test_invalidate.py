"""Invalidation while others look things up, and its bounds."""

from __future__ import annotations

import pytest

from node.cache.index.flat_index import FlatIndex
from node.cache.recall import Limits, Recaller
from node.core.caller import Caller
from node.core.ipld.cid import Cid
from node.core.model import Kind, Query, Route
from node.core.normalise import query_hash
from node.core.ports import BlockRef, Embedded, RecordStore, Selection, StoredRecord
from node.store.retention.invalidate import SHOWN_MAX, invalidate
from tests.manual_clock import ManualClock
from tests.record_builders import SCOPES, START
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel
from tests.unit.cache.index.semantic_bench import US, memory, rememberer

MOST = SHOWN_MAX + 5


class Desk:
    """Write-back, look-ups and invalidation over one memory."""

    def __init__(self) -> None:
        self.store = MemoryStore(own_issuer=US.did)
        self.clock = ManualClock(START)
        self.embedder, self.index = HashEmbedder(8), FlatIndex(8)
        self.semantics = OneModel(self.embedder, self.index)
        self.entered: list[Cid] = []
        self.rememberer = rememberer(self.store.records, self.semantics, self.clock)
        self.recaller = self.recaller_over(self.store.records)

    def recaller_over(self, records: RecordStore) -> Recaller:
        digest = self.embedder.info.digest
        return Recaller(records, self.semantics, self.clock, Limits(), calibrated_on=digest)

    async def enter(self, ref: BlockRef) -> None:
        assert await self.store.records.live([ref.cid])  # the log comes first
        self.entered.append(ref.cid)

    async def run(self, selection: Selection, *, dry_run: bool = False) -> tuple[int, int, int]:
        done = await invalidate(
            self.store.records, self.rememberer, self.enter, selection, dry_run=dry_run, most=MOST
        )
        return done.matched, done.withdrawn, len(done.cids)

    def query(self, text: str) -> Query:
        return Query("id", text, text, Caller(), self.clock.now(), self.clock.monotonic() + 9)


ROUTE = Route(Kind.GENERATIVE, floor=0.5, sources=(), reason="")


async def test_a_record_that_goes_during_a_look_up_is_not_served() -> None:
    """It goes while the question is embedded, between the first look and the last."""
    desk = Desk()
    await desk.rememberer.keep(memory("What is a keel"))
    question = "Tell me of the spine of vessels"

    async def embed() -> Embedded | None:
        assert (await desk.run(Selection(query_hash=query_hash("What is a keel"))))[1] == 1
        return Embedded(desk.embedder.vector_of("What is a keel"), desk.embedder.info)

    recall = await desk.recaller.recall(desk.query(question), ROUTE, embed, clients_too=True)
    assert recall.found is None
    assert len(desk.index) == 0


class Late:
    """A store in which a record goes right after it was found."""

    def __init__(self, desk: Desk, gone: Selection) -> None:
        self.desk, self.gone, self.found = desk, gone, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.desk.store.records, name)

    async def find(
        self, column: str, key: str, *, scopes: tuple[str, ...], context: str | None, limit: int = 8
    ) -> list[StoredRecord]:
        found = await self.desk.store.records.find(column, key, scopes=scopes, context=context, limit=limit)
        if found:
            self.found += 1
            await self.desk.run(self.gone)
        return found


@pytest.mark.parametrize("wording", ["What is a keel", "what is a keel"])
async def test_a_survivor_that_goes_after_it_was_found_is_not_served_under_any_wording(wording: str) -> None:
    desk = Desk()
    for text in ("What is a keel", "what is a keel"):
        await desk.rememberer.keep(memory(text, "The spine of a ship."))
    assert (await desk.store.records.counts())["live"] == 1
    late = Late(desk, Selection(query_hash=query_hash(wording)))
    recaller = desk.recaller_over(late)

    async def embed() -> Embedded | None:
        return None

    recall = await recaller.recall(desk.query(wording), ROUTE, embed, clients_too=True)
    assert recall.found is None
    assert late.found >= 1


async def test_one_call_is_bounded_and_the_next_goes_on() -> None:
    desk = Desk()
    total = MOST + 20
    for number in range(total):
        await desk.store.records.add(US.answer(f"q {number}", tags=("t",)))
    await desk.store.records.add(US.answer("other"))
    chosen = Selection(tag="t")
    assert await desk.run(chosen, dry_run=True) == (total, 0, SHOWN_MAX)
    assert desk.entered == []
    assert await desk.run(chosen) == (total, MOST, SHOWN_MAX)
    assert await desk.run(chosen) == (20, 20, 20)
    assert await desk.run(chosen) == (0, 0, 0)
    assert len(set(desk.entered)) == len(desk.entered) == total
    found = await desk.store.records.find("query_hash", query_hash("other"), scopes=SCOPES, context=None)
    assert len(found) == 1
