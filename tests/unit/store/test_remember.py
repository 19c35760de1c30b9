"""What a record says of its vector: the model that made it, or that one is owed; what may become public."""

from __future__ import annotations

from typing import Any

import pytest

from node.cache.index.flat_index import FlatIndex
from node.cache.keys import keyword_key
from node.core.model import Citation, SourceRef
from node.core.ports import Embedded
from node.core.record import AnswerRecord
from node.store.record_rules import scope_for
from node.store.remember import OWED, Memory, Questions, owes_vector
from tests.manual_clock import ManualClock
from tests.record_builders import START
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel
from tests.unit.cache.index.semantic_bench import US, memory, model_of, rememberer


class Desk:
    """A rememberer over stores in memory."""

    def __init__(self) -> None:
        self.store = MemoryStore(own_issuer=US.did)
        self.embedder = HashEmbedder(8)
        self.index = FlatIndex(8)
        self.semantics = OneModel(self.embedder, self.index)
        questions = Questions(keyword_key, is_personal=lambda query: "my boat" in query)
        clock = ManualClock(START)
        self.rememberer = rememberer(self.store.records, self.semantics, clock, questions=questions)

    async def keep(self, one: Memory) -> tuple[AnswerRecord, bool]:
        """The record, and whether it owes a vector."""
        outcome = await self.rememberer.keep(one)
        assert outcome.code == "stored"
        assert outcome.stored is not None
        assert isinstance(outcome.stored.record, AnswerRecord)
        return outcome.stored.record, owes_vector(outcome.stored)


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_a_vector_is_stored_with_the_model_that_made_it_whatever_serves_now(desk: Desk) -> None:
    other = HashEmbedder(8, model="before the switch")
    vector = other.vector_of("What is a keel")
    record, owes = await desk.keep(memory("What is a keel", vector=Embedded(vector, other.info)))
    assert record.embedding is not None
    assert (record.embedding.model, record.embedding.digest) == (other.info.model, other.info.digest)
    assert record.embedding.vector == vector.astype("<f4").tobytes()
    assert not owes
    assert not desk.embedder.embedded


async def test_a_record_is_embedded_now_by_what_serves(desk: Desk) -> None:
    record, owes = await desk.keep(memory("What is a keel"))
    assert record.embedding is not None
    assert record.embedding.digest == desk.embedder.info.digest
    assert not owes
    assert len(desk.index) == 1


@pytest.mark.parametrize(
    ("way", "failure", "owes"),
    [("now", "gone", True), ("later", None, True), ("never", None, False), ("never", "gone", False)],
)
async def test_who_owes_a_vector(way: str, failure: str | None, owes: bool, desk: Desk) -> None:
    desk.embedder.failure = failure
    kept = {"curator": "ana"}
    outcome = await desk.rememberer.keep(memory("What is a keel", embed=way, kept=kept))
    assert outcome.stored is not None
    assert model_of(outcome.stored) is None
    assert owes_vector(outcome.stored) is owes
    assert outcome.stored.kept == ({**kept, OWED: True} if owes else kept)
    assert desk.semantics.kept == [(outcome.stored, None)]
    assert not desk.embedder.embedded


async def test_a_question_beyond_the_window_is_owed_one_by_a_wider_model(desk: Desk) -> None:
    record, owes = await desk.keep(memory("word " * 300 + "end"))
    assert record.embedding is None
    assert owes


async def test_what_was_erased_within_this_second_can_be_said_again(desk: Desk) -> None:
    for _ in range(3):
        outcome = await desk.rememberer.keep(memory("What is a keel"))
        assert outcome.stored is not None
        assert outcome.stored.state == "live"
        await desk.rememberer.bury_at(outcome.stored.cid, outcome.stored.record.scope, "client_delete")
        await desk.store.blocks.delete(outcome.stored.cid)


WHO = "jane.doe@example.com"


@pytest.mark.parametrize(
    ("query", "more", "scope"),
    [
        ("What is a keel", {}, "public"),
        ("What is my boat called", {}, "shared"),
        (f"What does {WHO} sail", {}, "shared"),
        ("What is a keel", {"answer": f"Ask {WHO}."}, "shared"),
        ("What is a keel", {"tags": (WHO,)}, "shared"),
        ("What is a keel", {"source": SourceRef("client", WHO)}, "shared"),
        ("What is a keel", {"source": SourceRef("client", "x", f"https://example.com/{WHO}")}, "shared"),
        ("What is a keel", {"citations": (Citation("a book", "p. 1", f"said {WHO}"),)}, "shared"),
        ("What is a keel", {"slots": {"topic": WHO}, "slot_key": f"news:{WHO}"}, "shared"),
    ],
)
async def test_nothing_personal_becomes_public_wherever_it_stands(
    query: str, more: dict[str, Any], scope: str
) -> None:
    said = {"source": SourceRef("documents", "chronicle.md")} | more
    record, _ = await Desk().keep(memory(query, scope="public", **said))
    assert record.scope == scope


async def test_what_is_not_to_be_public_is_not_screened() -> None:
    for scope in ("shared", "private:acme"):
        record, _ = await Desk().keep(memory(f"Who is {WHO}", scope=scope))
        assert record.scope == scope


ALONE = {"source": SourceRef("llm", "ollama/llama3.2")}


async def test_what_a_model_said_on_no_evidence_is_never_public() -> None:
    record, _ = await Desk().keep(memory("What is a keel", scope="public", **ALONE))
    assert (record.scope, record.is_unverified) == ("shared", True)
    cited = {**ALONE, "citations": (Citation("chronicle.md"),)}
    record, _ = await Desk().keep(memory("What is a keel", scope="public", **cited))
    assert (record.scope, record.is_unverified) == ("public", False)
    for publish in ("none", "sourced", "grounded", "all"):
        for scope in ("shared", "public"):
            assert scope_for(scope, publish, ALONE["source"], False) == "shared"


async def test_a_correction_names_what_it_corrects(desk: Desk) -> None:
    wrong = await desk.rememberer.keep(memory("What is a keel", answer="A sail."))
    assert wrong.stored is not None
    await desk.rememberer.validate(wrong.stored, "invalid", None)
    person = {"source": SourceRef("client", "ana"), "supersedes": wrong.stored.cid}
    record, _ = await desk.keep(memory("What is a keel", answer="A fin.", **person))
    assert record.supersedes == str(wrong.stored.cid)
