"""The contract of ``StoredEvidence``, over every store and embedder; the embedder by words knows
no meaning, the real one does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from node.answer.evidence.entries import StoredEvidence
from node.answer.evidence.relevance import Rule, packaged
from node.cache.index.flat_index import FlatIndex
from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.core.ports import Embedder, RecordStore, Relevant
from node.core.record import AnswerRecord, RecordCitation, RecordSource
from node.core.settings import Embed
from node.models.embedders.local import LocalEmbedder
from node.store.sqlite import SqliteStore
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel

US = Author(1)
SCOPES = ("public", "shared", "private:local")


@dataclass
class World:
    store: RecordStore
    semantics: OneModel
    evidence: StoredEvidence
    clock: ManualClock
    folder: Path
    rule: Rule

    async def tell(self, query: str, answer: str, kind: str = "client", **changes: object) -> Cid:
        record = US.answer(query, answer=answer, source=RecordSource(kind, "somebody"), **changes)
        stored = await self.store.add(record)
        [embedded] = await self.semantics.embed([record.query])
        self.semantics.keep(stored, embedded)
        return stored.cid

    async def settle(self) -> None:
        """Until every answer has its vector."""
        await self.find("anything")
        while self.evidence.waiting:
            await asyncio.sleep(0.001)  # vectors are made in a thread
            self.clock.advance(0.1)

    async def find(
        self, question: str, *, scopes: tuple[str, ...] = SCOPES, context: str | None = None, k: int = 3
    ) -> list[Relevant]:
        [embedded] = await self.semantics.embed([question])
        return await self.evidence.retrieve(question, embedded, scopes=scopes, context=context, k=k)

    async def answers(self, question: str, **how: object) -> list[str]:
        found = await self.find(question, **how)
        return [one.stored.record.answer for one in found if isinstance(one.stored.record, AnswerRecord)]


@pytest.fixture(params=["memory-words", "sqlite-words", "sqlite-minilm"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    kind, _, embedder_name = request.param.partition("-")
    embedder: Embedder
    rule = packaged()
    if embedder_name == "words":
        embedder = HashEmbedder(by_word=True)
        rule = Rule(embedder.info.digest, 0.4, 0.5, 0.6)
    else:
        embedder = await LocalEmbedder.load(Embed(), SystemClock())
    store: MemoryStore | SqliteStore
    if kind == "memory":
        store = MemoryStore(own_issuer=US.did)
    else:
        store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
    semantics = OneModel(embedder, FlatIndex(embedder.info.dim))
    clock = ManualClock(START)
    evidence = StoredEvidence(store.records, semantics, clock, tmp_path / "answers", rule=rule)
    await evidence.start()
    yield World(store.records, semantics, evidence, clock, tmp_path / "answers", rule)
    await evidence.close()
    await embedder.close()
    await store.close()


async def _three(world: World) -> None:
    await world.tell("Where is the spare key of the boat house?", "It hangs behind the blue oar.")
    await world.tell("Who repairs the outboard motors?", "Sanna Weir repairs them on Fridays.")
    await world.tell("What does a berth cost?", "A berth costs 310 crowns a year.")
    await world.settle()


async def test_an_entry_is_found_by_its_question_by_its_answer_and_by_a_rare_word(world: World) -> None:
    await _three(world)
    assert (await world.answers("the spare key of the boat house"))[0] == "It hangs behind the blue oar."
    assert (await world.answers("what hangs behind the blue oar"))[0] == "It hangs behind the blue oar."
    assert (await world.answers("Sanna Weir"))[0] == "Sanna Weir repairs them on Fridays."


async def test_what_is_beside_the_question_is_not_offered(world: World) -> None:
    await _three(world)
    assert await world.answers("Explain the photosynthesis of ferns") == []


async def test_most_relevant_first_and_at_most_k(world: World) -> None:
    await _three(world)
    found = await world.find("What does a berth cost a year?", k=1)
    assert len(found) == 1
    assert found[0].relevance >= world.rule.floor
    wide = await world.find("What does a berth in the boat house cost, and who repairs the motors?", k=3)
    assert [one.relevance for one in wide] == sorted((one.relevance for one in wide), reverse=True)


async def test_scope_and_context_are_a_hard_filter(world: World) -> None:
    secret, turn = "The code of the safe is with Ove.", "Only in that conversation."
    await world.tell("Who has the code of the safe?", secret, scope="private:other")
    await world.tell("Who has the code of the shed?", turn, context="c" * 64)
    await world.settle()
    assert secret not in await world.answers("Who has the code of the safe?")
    assert turn not in await world.answers("Who has the code of the shed?")
    assert await world.answers("Who has the code of the safe?", scopes=("private:other",)) == [secret]
    assert await world.answers("Who has the code of the shed?", context="c" * 64) == [turn]


async def test_what_a_model_said_is_never_evidence_alone_or_on_evidence(world: World) -> None:
    await world.tell("Who was the first harbour master?", "Surely it was John Smith.", "llm")
    cited = (RecordCitation("chronicle", "", "Ida Holm was it.", None),)
    await world.tell("Who was the first harbour master here?", "It was Ida Holt.", "llm", citations=cited)
    await world.tell("Who was harbour master first?", "Ida Holm was it.")
    await world.settle()
    assert await world.answers("Who was the first harbour master?") == ["Ida Holm was it."]


async def test_a_sum_is_no_evidence_and_what_a_source_said_is(world: World) -> None:
    await world.tell("How many days are from 1 March to 1 May?", "There are 61 days.", "adapter")
    cited = (RecordCitation("almanac", "", "The tide is high at noon.", None),)
    await world.tell("When is the tide high?", "The tide is high at noon.", "adapter", citations=cited)
    await world.settle()
    assert "There are 61 days." not in await world.answers("How many days are from March to May?")
    assert await world.answers("When is the tide high?") == ["The tide is high at noon."]


async def test_what_an_adapter_looked_up_live_is_no_evidence_for_other_questions(world: World) -> None:
    cited = (RecordCitation("clock", "", "It is noon in Lund.", None),)
    soon, late = START + timedelta(hours=1), START + timedelta(days=30)
    await world.tell(
        "What time is it in Lund?", "It is noon in Lund.", "adapter", citations=cited, expires=soon
    )
    await world.tell("When was Lund founded?", "Lund is of 990.", "adapter", citations=cited, expires=late)
    await world.tell("When does the bus to Lund go?", "At six.", expires=soon)
    await world.settle()
    found = await world.answers("What time is it in Lund, and when was it founded, and the bus?")
    assert "It is noon in Lund." not in found
    assert {"Lund is of 990.", "At six."} & set(found)


async def test_what_is_withdrawn_or_past_its_time_is_not_offered(world: World) -> None:
    gone = await world.tell("Where is the slipway?", "North of the pier.")
    await world.tell("Where is the crane?", "South of the pier.", expires=START + timedelta(hours=1))
    await world.settle()
    await world.store.add(US.tombstone(gone))
    assert "North of the pier." not in await world.answers("Where is the slipway?")
    assert (await world.answers("Where is the crane?"))[0] == "South of the pier."
    world.clock.advance(3_600)
    assert "South of the pier." not in await world.answers("Where is the crane?")


async def test_without_an_embedder_keywords_go_on(world: World) -> None:
    await _three(world)
    found = await world.evidence.retrieve("spare key boat house", None, scopes=SCOPES, context=None, k=3)
    assert len(found) == 1
    assert found[0].cosine is None


async def test_vectors_of_answers_survive_in_the_file_and_leave_it_with_the_entry(world: World) -> None:
    cid = await world.tell("Where is the spare key of the boat house?", "It hangs behind the blue oar.")
    await world.settle()
    await world.evidence.save()
    [file] = world.folder.iterdir()
    assert bytes(cid) in file.read_bytes()
    again = StoredEvidence(world.store, world.semantics, world.clock, world.folder, rule=world.rule)
    await again.start()
    assert not again.waiting or await _settled(again, world)
    await again.close()
    await world.store.add(US.tombstone(cid))
    await world.find("anything")
    await world.evidence.save()
    assert bytes(cid) not in file.read_bytes()


async def _settled(evidence: StoredEvidence, world: World) -> bool:
    while evidence.waiting:
        await asyncio.sleep(0.001)
        world.clock.advance(0.1)
    return True


async def test_peers_texts_however_many_and_near_leave_room_for_what_is_ours(world: World) -> None:
    asked = "What does a berth cost at the long pier?"
    source = RecordSource("documents", "prices.md")
    for number in range(40):
        said = US.answer(asked, answer=f"A berth costs {number} pearls.", source=source)
        stored = await world.store.add(said, origin="did:key:zPeer")
        [embedded] = await world.semantics.embed([said.query])
        world.semantics.keep(stored, embedded)
    await world.tell("What does a berth cost?", "A berth costs 310 crowns a year.")
    found = await world.answers(asked, k=4)
    assert "A berth costs 310 crowns a year." in found
    assert len(found) == 4


async def test_a_full_index_gives_up_what_was_looked_up_first_and_then_the_oldest(world: World) -> None:
    evidence = StoredEvidence(
        world.store, world.semantics, world.clock, world.folder / "small", rule=world.rule, entries_max=2
    )
    kept, world.evidence = world.evidence, evidence
    cited = (RecordCitation("somebody", "", "A berth costs 310 crowns.", ""),)
    await world.tell("What does a berth cost?", "A berth costs 310 crowns.", "adapter", citations=cited)
    await world.tell("Who repairs the outboard motors?", "Sanna Weir repairs them on Fridays.")
    await world.tell("Where is the spare key of the boat house?", "It hangs behind the blue oar.")
    assert "A berth costs 310 crowns." not in await world.answers("What does a berth cost?")
    sanna = "Sanna Weir repairs them on Fridays."
    assert sanna in await world.answers("Who repairs the outboard motors?")
    await world.tell("When is the regatta?", "The regatta is in June.")
    assert sanna not in await world.answers("Who repairs the outboard motors?")
    assert "The regatta is in June." in await world.answers("When is the regatta?")
    world.evidence = kept


async def test_one_answer_to_several_wordings_takes_one_place(world: World) -> None:
    for query in ("Where is the slipway?", "How do I find the slipway?", "What way to the slipway?"):
        await world.tell(query, "North of the pier.")
    await world.tell("Who built the slipway?", "Maren Brook built the slipway.")
    await world.settle()
    found = await world.answers("Where is the slipway?")
    assert found.count("North of the pier.") == 1
    assert "Maren Brook built the slipway." in found
