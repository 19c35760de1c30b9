"""Near-duplicates at write-back: one candidate, every wording, and where each came from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from node.cache.index.flat_index import FlatIndex
from node.cache.keys import same_question
from node.core.ipld.cid import Cid
from node.core.model import Confidence, SourceRef
from node.core.normalise import normalise, query_hash
from node.core.ports import Embedded
from node.core.record import AnswerRecord
from node.store.remember import Memory
from tests.manual_clock import ManualClock
from tests.record_builders import SCOPES, START
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel
from tests.unit.cache.index.semantic_bench import US, memory, rememberer

HOUR_S = 3_600


def said(query: str, answer: str = "The spine of a ship.", **changes: object) -> Memory:
    fields: dict[str, object] = {"source": SourceRef("client", "ana"), "lifetime_s": HOUR_S}
    return memory(query, answer, **(fields | changes))


@dataclass
class Desk:
    """A rememberer that merges by the gate's word, over stores in memory."""

    store: MemoryStore = field(default_factory=lambda: MemoryStore(own_issuer=US.did))
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    embedder: HashEmbedder = field(default_factory=lambda: HashEmbedder(8))
    index: FlatIndex = field(default_factory=lambda: FlatIndex(8))

    def __post_init__(self) -> None:
        self.semantics = OneModel(self.embedder, self.index)
        self.rememberer = rememberer(self.store.records, self.semantics, self.clock)

    async def keep(self, one: Memory) -> tuple[str, Cid]:
        """What came of it, and the record that answers from now on."""
        self.clock.advance(1)
        outcome = await self.rememberer.keep(one)
        assert outcome.stored is not None
        return outcome.code, outcome.stored.cid

    async def served(self, query: str) -> list[str]:
        key = query_hash(normalise(query))
        found = await self.store.records.find("query_hash", key, scopes=SCOPES, context=None)
        return [str(one.cid) for one in found]

    async def live(self) -> list[str]:
        found = await self.store.records.since(0)
        return [one.record.query for one in found if isinstance(one.record, AnswerRecord)]


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_the_same_in_other_words_is_one_candidate_and_both_wordings_hit(desk: Desk) -> None:
    code, first = await desk.keep(said("What is a keel?"))
    assert code == "stored"
    code, second = await desk.keep(said("what is a keel", "The spine of  a ship."))
    assert (code, second) == ("merged", first)
    assert await desk.served("What is a keel?") == await desk.served("what is a keel") == [str(first)]
    assert len(desk.index) == 1
    [alias] = await desk.store.records.aliases(first)
    assert (alias.query, alias.source_kind, alias.source_id) == ("what is a keel", "client", "ana")


async def test_the_one_that_lives_longer_survives(desk: Desk) -> None:
    _, first = await desk.keep(said("What is a keel?"))
    code, second = await desk.keep(said("what is a keel", lifetime_s=9 * HOUR_S))
    assert code == "stored"
    assert second != first
    assert await desk.served("What is a keel?") == await desk.served("what is a keel") == [str(second)]
    assert await desk.live() == ["what is a keel"]
    assert len(desk.index) == 1
    assert first not in desk.index


async def test_the_surer_one_survives_and_neither_where_none_is_both(desk: Desk) -> None:
    _, first = await desk.keep(said("What is a keel?", confidence=Confidence(0.8, {})))
    code, second = await desk.keep(said("what is a keel", confidence=Confidence(0.9, {})))
    assert (code, await desk.live()) == ("stored", ["what is a keel"])
    longer = said("WHAT IS A KEEL", confidence=Confidence(0.85, {}), lifetime_s=9 * HOUR_S)
    code, third = await desk.keep(longer)
    assert code == "stored"
    assert sorted(await desk.live()) == ["WHAT IS A KEEL", "what is a keel"]
    assert len({first, second, third}) == 3


async def test_saying_it_again_writes_nothing(desk: Desk) -> None:
    _, first = await desk.keep(said("What is a keel?"))
    await desk.keep(said("what is a keel"))
    before = await desk.store.records.counts()
    for _ in range(3):
        assert await desk.keep(said("what is a keel")) == ("known", first)
        assert await desk.keep(said("What is a keel?")) == ("known", first)
    assert await desk.store.records.counts() == before
    assert await desk.keep(said("what is a keel", source=SourceRef("client", "bo"))) == ("merged", first)
    assert [one.source_id for one in await desk.store.records.aliases(first)] == ["ana", "bo"]


async def test_saying_it_again_late_renews_its_life(desk: Desk) -> None:
    _, first = await desk.keep(said("What is a keel?"))
    desk.clock.advance(0.4 * HOUR_S)
    assert await desk.keep(said("What is a keel?")) == ("known", first)
    desk.clock.advance(0.3 * HOUR_S)
    code, second = await desk.keep(said("What is a keel?"))
    assert (code, second != first) == ("stored", True)
    assert await desk.served("What is a keel?") == [str(second)]
    assert len(desk.index) == 1
    desk.clock.advance(0.9 * HOUR_S)
    assert await desk.served("What is a keel?") == [str(second)]
    forever = said("Who sails?", lifetime_s=None)
    _, third = await desk.keep(forever)
    desk.clock.advance(99 * HOUR_S)
    assert await desk.keep(forever) == ("known", third)


@pytest.mark.parametrize(
    "changes",
    [
        {"answer": "A bird."},
        {"scope": "private:local"},
        {"context": "1" * 64},
        {"source": SourceRef("llm", "m")},
        {"slot_key": "ship:keel", "slots": {"topic": "keel"}},
    ],
)
async def test_what_must_stay_apart_stays_apart(changes: dict[str, object], desk: Desk) -> None:
    await desk.keep(said("What is a keel?"))
    code, _ = await desk.keep(replace(said("what is a keel"), **changes))
    assert code == "stored"
    assert len(await desk.live()) == 2


async def test_vectors_of_two_models_stay_apart(desk: Desk) -> None:
    await desk.keep(said("What is a keel?"))
    other = HashEmbedder(8, model="another")
    vector = Embedded(other.vector_of("what is a keel"), other.info)
    code, _ = await desk.keep(said("what is a keel", vector=vector))
    assert (code, len(await desk.live())) == ("stored", 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Is a keel 5 m long?", "Is a keel 6 m long?"),
        ("What is a keel?", "What is not a keel?"),
        ("Who beat Leeds?", "Who did Leeds beat?"),
        ("How much is 5 mW?", "How much is 5 MW?"),
        ("What is a keel?", "Why is a keel?"),
    ],
)
async def test_other_questions_with_the_same_answer_stay_apart(one: str, other: str, desk: Desk) -> None:
    await desk.keep(said(one, "Yes."))
    code, _ = await desk.keep(said(other, "Yes."))
    assert (code, len(await desk.live())) == ("stored", 2)
    assert same_question(one, other) is same_question(other, one) is False


async def test_a_new_answer_to_an_alias_answers_its_wording_only(desk: Desk) -> None:
    _, first = await desk.keep(said("What is a keel?"))
    await desk.keep(said("what is a keel"))
    code, other = await desk.keep(said("what is a keel", "A bird."))
    assert code == "stored"
    assert await desk.served("what is a keel") == [str(other)]
    assert await desk.served("What is a keel?") == [str(first)]


async def test_what_is_expired_takes_nobody_in(desk: Desk) -> None:
    await desk.keep(said("What is a keel?"))
    desk.clock.advance(HOUR_S + 1)
    code, second = await desk.keep(said("what is a keel"))
    assert code == "stored"
    assert await desk.served("what is a keel") == [str(second)]


async def test_an_invalid_alias_takes_its_survivor_out_of_the_index(desk: Desk) -> None:
    _, first = await desk.keep(said("What is a keel?"))
    await desk.keep(said("what is a keel"))
    [alias] = await desk.store.records.aliases(first)
    await desk.rememberer.validate(await desk.store.records.get(alias.cid), "invalid", None)
    assert await desk.live() == []
    assert first not in desk.index
