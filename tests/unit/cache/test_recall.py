"""Recall over the in-memory store and the exact index: tiers, hard filters, liveness, staleness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType

import numpy as np

from node.cache.index.flat_index import FlatIndex
from node.cache.keys import keyword_key
from node.cache.recall import Limits, Recall, Recaller
from node.core.caller import Caller
from node.core.ipld.cid import Cid
from node.core.model import Kind, Query, Route, Source
from node.core.normalise import normalise
from node.core.ports import Embedded, StoredRecord, Vector
from node.core.record import RecordSource
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryRecords, MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel

US = Author(1)
DIM = 4
GENERATIVE = Route(Kind.GENERATIVE, (Source.CACHE,), 0.7, "test")
PRICE = Route(Kind.DETERMINISTIC, (Source.CACHE,), 0.9, "test", slots=MappingProxyType({}), key="price:x:usd")


def unit(*numbers: float) -> Vector:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.float32(np.linalg.norm(vector))


NEAR, FAR = unit(1, 0.1, 0, 0), unit(0, 0, 1, 0)


class Bench:
    """A recaller with its store; counts embeddings."""

    def __init__(self, records: MemoryRecords | None = None) -> None:
        self.store = MemoryStore(own_issuer=US.did)
        self.records = records or self.store.records
        self.index = FlatIndex(DIM)
        self.clock = ManualClock(START)
        self.embedded = 0
        self.info = HashEmbedder(DIM).info
        self.recaller = Recaller(
            self.records,
            OneModel(HashEmbedder(DIM), self.index),
            self.clock,
            Limits(),
            calibrated_on=self.info.digest,
        )

    async def keep(self, query: str, vector: Vector | None = None, **changes: object) -> StoredRecord:
        record = US.answer(query, **changes)
        stored = await self.records.add(record, keyword_key=keyword_key(record.query))
        if vector is not None:
            self.index.add(stored.cid, vector, scope=record.scope, context=record.context)
        return stored

    async def ask(
        self,
        text: str,
        route: Route = GENERATIVE,
        vector: Vector | None = NEAR,
        *,
        caller: Caller | None = None,
        context: str | None = None,
        max_age_s: int | None = None,
        clients_too: bool = False,
    ) -> Recall:
        async def embed() -> Embedded | None:
            self.embedded += 1
            return None if vector is None else Embedded(vector, self.info)

        query = Query(
            *("q", text, normalise(text), caller or Caller(), self.clock.now(), self.clock.monotonic() + 10),
            context=context,
            max_age_s=max_age_s,
        )
        return await self.recaller.recall(query, route, embed, clients_too=clients_too)


def found(recall: Recall) -> Cid | None:
    return None if recall.found is None else recall.found.stored.cid


def hit(recall: Recall) -> tuple[str, float | None]:
    assert recall.found is not None
    return recall.found.hit.kind, recall.found.hit.similarity


async def test_exact_comes_first_and_needs_no_embedding(bench: Bench) -> None:
    kept = await bench.keep("What is a heap?", NEAR)
    recall = await bench.ask("What is a heap?")
    assert (found(recall), hit(recall)) == (kept.cid, ("exact", 1.0))
    assert bench.embedded == 0


async def test_slots_meet_in_other_words_and_never_with_other_slots(bench: Bench) -> None:
    kept = await bench.keep("price of x", slot_key="price:x:usd", route="deterministic")
    recall = await bench.ask("x worth today", PRICE)
    assert (found(recall), hit(recall)) == (kept.cid, ("slot", None))
    assert bench.embedded == 0
    assert found(await bench.ask("price of x", replace(PRICE, key="price:y:usd"))) is None


async def test_semantic_needs_floor_confidence_and_no_veto(bench: Bench) -> None:
    kept = await bench.keep("How do I bake bread at home?", NEAR)
    assert found(await bench.ask("How can I bake bread at home?")) == kept.cid
    assert found(await bench.ask("How do I bake bread at home in Rome?")) is None
    assert found(await bench.ask("How can I bake bread at home", vector=FAR)) in (None, kept.cid)
    unsure = Bench()
    await unsure.keep("How do I bake bread at home?", NEAR, confidence=790_000)
    assert found(await unsure.ask("How can I bake bread at home?")) is None


async def test_scope_and_context_are_hard_filters(bench: Bench) -> None:
    mine = await bench.keep("Who am I to you?", NEAR, scope="private:ann")
    assert found(await bench.ask("Who am I to you?", caller=Caller(tenant="ann"))) == mine.cid
    assert found(await bench.ask("Who am I to you?", caller=Caller(tenant="bob"))) is None
    assert found(await bench.ask("Who am I to you?", caller=Caller(tenant="ann"), context="a" * 64)) is None


async def test_a_record_withdrawn_during_the_look_up_is_not_served() -> None:
    class Withdrawing(MemoryRecords):
        """Withdraws whatever was found before it can be served."""

        async def find(
            self, column: str, key: str, *, scopes: Sequence[str], context: str | None, limit: int = 8
        ) -> list[StoredRecord]:
            rows = await super().find(column, key, scopes=scopes, context=context, limit=limit)
            for row in rows:
                await self.withdraw(row.cid, "test")
            return rows

    bench = Bench(Withdrawing(MemoryStore(own_issuer=US.did), US.did))
    await bench.keep("What is a heap?")
    recall = await bench.ask("What is a heap?", vector=None)
    assert (recall.found, recall.code) == (None, "withdrawn")


class Told(MemoryRecords):
    """Counts its reads, and the changes that it acknowledged; what is found can be withdrawn at once."""

    reads = changes = 0
    withdraws = False

    async def find(
        self, column: str, key: str, *, scopes: Sequence[str], context: str | None, limit: int = 8
    ) -> list[StoredRecord]:
        self.reads += 1
        rows = await super().find(column, key, scopes=scopes, context=context, limit=limit)
        for row in rows if self.withdraws else ():
            await self.withdraw(row.cid, "test")
        return rows

    async def live(self, cids: Sequence[Cid]) -> dict[Cid, StoredRecord]:
        self.reads += 1
        return await super().live(cids)

    async def withdraw(self, cid: Cid, reason: str) -> bool:
        self.changes += 1
        return await super().withdraw(cid, reason)


async def test_what_was_read_is_read_again_only_after_a_change() -> None:
    records = Told(MemoryStore(own_issuer=US.did), US.did)
    bench = Bench(records)
    bench.recaller = Recaller(
        records,
        OneModel(HashEmbedder(DIM), bench.index),
        bench.clock,
        Limits(),
        calibrated_on=bench.info.digest,
        changes=lambda: records.changes,
    )
    kept = await bench.keep("What is a heap?", NEAR)
    query = Query("q", "", "What is a heap", Caller(), bench.clock.now(), bench.clock.monotonic() + 10)
    assert await bench.recaller.knows(query)
    assert found(await bench.ask("What is a heap?")) == kept.cid
    assert records.reads == 1
    assert found(await bench.ask("What is a heap?")) == kept.cid
    assert records.reads == 2, "what was found is not kept beyond one recall"

    assert await bench.recaller.knows(query)
    await records.withdraw(kept.cid, "test")
    assert (await bench.ask("What is a heap?", vector=None)).code == "nothing_near"
    await bench.keep("What is a stack?")
    records.withdraws = True
    assert (await bench.ask("What is a stack?", vector=None)).code == "withdrawn"


async def test_a_vector_whose_record_is_gone_is_not_a_candidate(bench: Bench) -> None:
    kept = await bench.keep("How do I bake bread at home?", NEAR)
    await bench.records.withdraw(kept.cid, "test")
    recall = await bench.ask("How can I bake bread at home?")
    assert (recall.found, recall.seen) == (None, ())


async def test_expired_records_miss_and_are_kept_for_staleness(bench: Bench) -> None:
    kept = await bench.keep("price of x", slot_key="price:x:usd", expires=START + timedelta(seconds=45))
    assert found(await bench.ask("x price", PRICE)) == kept.cid
    bench.clock.advance(45)
    late = await bench.ask("x price", PRICE)
    assert late.found is None
    assert late.expired is not None
    assert late.expired.cid == kept.cid


async def test_max_age_bounds_what_is_served(bench: Bench) -> None:
    await bench.keep("What is a heap?")
    bench.clock.advance(100)
    assert found(await bench.ask("What is a heap?", vector=None, max_age_s=99)) is None
    assert found(await bench.ask("What is a heap?", vector=None, max_age_s=100)) is not None


async def test_what_clients_stored_is_searched_whatever_its_class(bench: Bench) -> None:
    kept = await bench.keep("price of bread at home", NEAR)
    assert found(await bench.ask("cost of bread at home", PRICE)) is None
    assert found(await bench.ask("cost of bread at home", PRICE, clients_too=True)) == kept.cid


async def test_a_clients_word_does_not_stand_for_what_an_adapter_looks_up(bench: Bench) -> None:
    told = RecordSource("client", "somebody")
    kept = await bench.keep("price of x", slot_key="price:x:usd", source=told)
    with_adapter = replace(PRICE, adapter="coingecko")
    assert found(await bench.ask("price of x", with_adapter)) is None
    assert found(await bench.ask("price of x", with_adapter, clients_too=True)) == kept.cid
    assert found(await bench.ask("price of x", PRICE)) == kept.cid


async def test_without_an_embedder_keywords_still_meet(bench: Bench) -> None:
    kept = await bench.keep("What is a content identifier?")
    bench.recaller = Recaller(bench.records, OneModel(), bench.clock, Limits())
    recall = await bench.ask("what's a content identifier")
    assert (found(recall), hit(recall)[0]) == (kept.cid, "slot")
    assert found(await bench.ask("How does one name a block?")) is None
    assert bench.embedded == 0


async def test_a_vector_is_compared_in_the_index_of_its_own_model_only(bench: Bench) -> None:
    """The same numbers of another model mean something else."""
    await bench.keep("How do I bake bread at home?", NEAR)
    other_words = "Which loaf comes out well in a small oven?"
    assert len((await bench.ask(other_words)).seen) == 1
    bench.info = HashEmbedder(DIM, model="another").info
    assert bench.info.dim == DIM
    assert not (await bench.ask(other_words)).seen
    assert bench.embedded == 2
