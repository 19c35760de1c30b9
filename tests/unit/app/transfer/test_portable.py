"""The portable index in and out: repeated imports, records out of blocks, nothing twice or brought back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from node.app.transfer import index_file
from node.app.transfer.embed_index import embed_index
from node.app.transfer.fetched_blocks import Fetcher
from node.app.transfer.kept_export import drop
from node.app.transfer.portable import Keeping, PortableIndex
from node.cache.index.flat_index import FlatIndex
from node.cache.keys import keyword_key
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.normalise import normalise, query_hash
from node.core.ports import BlockStore, StoredRecord
from node.core.record import AnswerRecord, Embedding, RecordSource, block_of, decode, sign
from node.peers.rules.admission import ClassLimit
from node.peers.rules.standing import trust_ppm
from node.peers.rules.values import Level, Standing, Tier
from node.pipeline.understanding.route import Floors, Router
from node.store.remember import Questions, Remembered, Rememberer, owes_vector
from node.store.state import StateStore
from node.store.write_back import WriteBack
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel


class Chronicler(Author):
    """Writes down what stands in a book: of what a model says alone nothing is imported."""

    def answer(self, query: str = "What is IPFS?", **changes: Any) -> AnswerRecord:
        return super().answer(query, **({"source": RecordSource("documents", "chronicle.md")} | changes))


US, THEM = Chronicler(1), Chronicler(2)


class Signer:
    """An author as the identity of a node: root and node key in one."""

    def __init__(self, author: Author) -> None:
        self.root = self.node = author.did
        self.sign = author.private.sign


class Blocks:
    """What an import asks of the ``BlockStore`` of a daemon, which can misbehave: ``fault`` is raised, or
    awaited for."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}
        self.asked: list[Cid] = []
        self.fault: Exception | asyncio.Event | None = None
        self.at_once = self.most_at_once = 0

    def hold(self, record: AnswerRecord) -> Cid:
        cid, data = block_of(record)
        self.held[cid.multihash] = data
        return cid

    async def get(self, cid: Cid) -> bytes:
        self.asked.append(cid)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(0)
            if isinstance(self.fault, asyncio.Event):
                await self.fault.wait()
            elif self.fault is not None:
                raise self.fault
            if cid.multihash not in self.held:
                raise NotFound(f"no block {cid}")
            return self.held[cid.multihash]
        finally:
            self.at_once -= 1


class Node:
    """The stores of one node, and what an import did to them."""

    def __init__(self, folder: Path, state: StateStore, *, blocks: Blocks | None = None) -> None:
        self.path = folder / "index.json"
        self.clock = ManualClock(START)
        self.store = MemoryStore(own_issuer=US.did)
        self.embedder = HashEmbedder()
        self.index = FlatIndex(self.embedder.info.dim)
        self.semantics = OneModel(self.embedder, self.index)
        self.reported: list[Remembered] = []
        self.state = state
        meaning, written = self.semantics, WriteBack(16)
        self.rememberer = Rememberer(
            self.store.records, meaning, Signer(US), self.clock, written, Questions(keyword_key), self._report
        )
        self.portable = self.over(blocks)

    async def _report(self, outcome: Remembered) -> None:
        self.reported.append(outcome)

    def over(
        self,
        blocks: Blocks | None,
        publish: str = "none",
        limit: Callable[[AnswerRecord], ClassLimit] | None = None,
    ) -> PortableIndex:
        keeping = Keeping(self.store.records, self.rememberer, self.semantics, self.state)
        router, asked = Router([], Floors()), cast("BlockStore | None", blocks)
        return PortableIndex(
            keeping, router, self.clock, Signer(US), blocks=asked, publish=publish, class_limit=limit
        )

    async def take(self, entries: Any, **top: Any) -> int:
        text = json.dumps({"version": 1, "model": None, **top, "entries": entries})
        await asyncio.to_thread(self.path.write_text, text, encoding="utf-8")
        return await self.portable.import_changed(self.path)

    async def again(self) -> int:
        return await self.portable.import_changed(self.path)

    async def live(self) -> dict[str, StoredRecord]:
        found = await self.store.records.since(0)
        answers = [(one.record, one) for one in found if isinstance(one.record, AnswerRecord)]
        assert len({record.query for record, _ in answers}) == len(answers), "one record for a question"
        return {record.query: one for record, one in answers}


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateStore]:
    store = await StateStore.open(tmp_path / "state.sqlite")
    yield store
    await store.close()


@pytest.fixture
def node(tmp_path: Path, state: StateStore) -> Node:
    return Node(tmp_path, state)


@pytest.fixture
def blocks() -> Blocks:
    return Blocks()


@pytest.fixture
def fed(tmp_path: Path, state: StateStore, blocks: Blocks) -> Node:
    """A node whose import may ask for blocks."""
    return Node(tmp_path, state, blocks=blocks)


def entry(query: str, **more: Any) -> dict[str, Any]:
    return {"query": query, "answer": f"About {query}", "source": "starter", "confidence": 0.9, **more}


def asked(count: int) -> list[dict[str, Any]]:
    return [entry(f"Question {n}?") for n in range(count)]


def answer_of(stored: StoredRecord) -> str:
    assert isinstance(stored.record, AnswerRecord)
    return stored.record.answer


def embedding_of(node: Node, text: str) -> Embedding:
    info = node.embedder.info
    vector = node.embedder.vector_of(text).astype("<f4").tobytes()
    return Embedding(info.model, info.digest, info.dim, vector)


def of_record(record: AnswerRecord, *left_out: str, **more: Any) -> dict[str, Any]:
    """The entry that an export writes for a record."""
    value = {
        "cid": str(block_of(record)[0]),
        "query_hash": record.query_hash,
        "query": record.query,
        "answer": record.answer,
        "source": record.source.id,
        "confidence": record.confidence / 1_000_000,
    }
    return {name: item for name, item in value.items() if name not in left_out} | more


# --- again and again ------------------------------------------------------------------------------


async def test_an_unchanged_file_is_imported_once(node: Node) -> None:
    assert await node.take(asked(150)) == 150
    before = await node.live()
    assert await node.again() == 0
    assert len(node.reported) == 150
    assert await node.live() == before


async def test_a_changed_file_adds_what_is_new_and_nothing_twice(node: Node) -> None:
    items = asked(100)
    await node.take(items)
    before = await node.live()
    assert await node.take([entry("New?"), *items]) == 1
    now = await node.live()
    assert now.keys() - before.keys() == {"New"}
    assert {query: now[query].cid for query in before} == {query: one.cid for query, one in before.items()}
    assert len(node.reported) == 101, "what is known leaves no entry in the log"


async def test_what_was_withdrawn_here_does_not_come_back(node: Node) -> None:
    items = [entry("A"), entry("B"), entry("C")]
    await node.take(items)
    live = await node.live()
    await node.rememberer.validate(live["A"], "invalid", None)
    await node.store.records.withdraw(live["B"].cid, "evicted")
    assert await node.take([*items, entry("D")]) == 1
    assert (await node.live()).keys() == {"C", "D"}


async def test_a_file_that_asks_for_it_gets_embeddings_here_and_no_other(node: Node) -> None:
    """The starter index: the file has no vectors, the records owe them; so do those that lay here before."""
    await node.take([entry("A")])
    assert node.semantics.kept == [((await node.live())["A"], None)]
    assert not owes_vector((await node.live())["A"])
    assert await node.take([entry("A"), entry("B")], embed_at_import=True) == 2
    live = await node.live()
    assert all(owes_vector(one) for one in live.values())
    assert await node.take([entry("A"), entry("B")], embed_at_import=True, note="again") == 0
    assert (await node.live()).keys() == live.keys()
    assert await node.take([entry("C")], embed_at_import="yes") == 1
    assert not owes_vector((await node.live())["C"])


async def test_an_answer_that_was_edited_in_the_file_replaces_the_old_one(node: Node) -> None:
    await node.take([entry("A")])
    await node.take([entry("A", answer="Better")])
    assert answer_of((await node.live())["A"]) == "Better"


async def test_equal_questions_in_one_file(node: Node) -> None:
    """The later one counts, as if they had come one by one; a second import changes nothing."""
    items = [entry("A?", answer="one"), entry("A", answer="two"), entry(" A ", answer="two")]
    await node.take(items)
    first = await node.live()
    assert answer_of(first["A"]) == "two"
    await node.take([*items, entry("B")])
    assert (await node.live())["A"].cid == first["A"].cid


async def test_a_failed_import_is_tried_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    real = node.store.records.add

    async def full(record: Any, **more: Any) -> StoredRecord:
        if record.query == "Question 70":
            raise Unavailable("no space left")
        return await real(record, **more)

    monkeypatch.setattr(node.store.records, "add", full)
    assert await node.take(asked(100)) == 99
    monkeypatch.undo()
    assert await node.again() == 1
    assert len(await node.live()) == 100
    assert await node.again() == 0


async def test_missing_and_damaged_files_are_no_reason_to_stop(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    assert await node.again() == 0
    await asyncio.to_thread(node.path.write_text, '[{"query": "A", "answer": "b"}')
    assert await node.again() == 0
    assert "not JSON at byte" in caplog.text
    assert await node.live() == {}
    assert await node.take([7, entry("A"), entry("B", cid="no cid")]) == 1
    assert "entry 0" in caplog.text
    assert "entry 2" in caplog.text


async def test_the_note_of_an_older_program_is_no_reason_to_pass_over_the_file(node: Node) -> None:
    for note in ('{"entries": 3, "at": "2026-01-01T00:00:00+00:00"}', "no json", "[]"):
        await node.state.set_meta("knowledge-index-imported", note)
        await node.take([entry(f"After {note}")])
    assert len(await node.live()) == 3


async def test_expired_and_hash_only_entries_are_left_out(node: Node) -> None:
    items = [
        entry("Old", expires="2025-01-01T00:00:00Z"),
        {"query_hash": "ab" * 32, "answer": "x"},
        entry("Fresh", expires="2027-01-01T00:00:00Z"),
    ]
    assert await node.take(items) == 1
    assert (await node.live()).keys() == {"Fresh"}


# --- embeddings that came later -------------------------------------------------------------------


async def test_embeddings_made_by_batch_embed_reach_the_node(node: Node) -> None:
    items = [entry(f"Question {n}?", curator="ana") for n in range(5)]
    await node.take(items)
    before = await node.live()
    assert len(node.index) == 0
    await embed_index(node.path, node.embedder, limit=3, clock=node.clock)
    node.clock.advance(60)
    assert await node.again() == 3
    now = await node.live()
    assert len(now) == 5
    for number in range(5):
        query = f"Question {number}"
        old, new = before[query], now[query]
        assert isinstance(new.record, AnswerRecord)
        assert isinstance(old.record, AnswerRecord)
        if number >= 3:
            assert new == old
            continue
        assert new.record.embedding is not None
        assert new.record.embedding.digest == node.embedder.info.digest
        assert new.record.supersedes == str(old.cid)
        assert new.kept == old.kept == {"curator": "ana"}
        assert (new.record.answer, new.record.source) == (old.record.answer, old.record.source)
        [found] = node.index.search(node.embedder.vector_of(query), scopes=["shared"], context=None, k=1)
        assert found.cid == new.cid
        assert found.similarity == pytest.approx(1.0, abs=1e-5)
    assert len(node.index) == 3
    await embed_index(node.path, node.embedder, clock=node.clock)
    assert await node.again() == 2
    assert await node.again() == 0
    assert len(node.index) == 5


async def test_an_embedding_of_another_model_makes_the_node_owe_one(node: Node) -> None:
    await node.take([entry("A"), entry("B")])
    await embed_index(node.path, HashEmbedder(16), limit=1, clock=node.clock)
    assert await node.again() == 1
    live = await node.live()
    assert owes_vector(live["A"])
    assert not owes_vector(live["B"])
    assert live["A"].record.embedding is None
    await embed_index(node.path, HashEmbedder(16), clock=node.clock)
    assert await node.again() == 1
    assert owes_vector((await node.live())["B"])


# --- records out of blocks ------------------------------------------------------------------------


async def test_an_index_and_a_daemon_make_a_node(fed: Node, blocks: Blocks) -> None:
    """Ours, shared and public, with a vector and without; one has nothing but the CID and the hash."""
    records = [
        US.answer("With vector", embedding=embedding_of(fed, "With vector")),
        US.answer("Public", scope="public", expires=START + timedelta(days=1)),
        US.answer("Hash only", tags=("a", "b")),
    ]
    for record in records:
        blocks.hold(record)
    items = [of_record(records[0]), of_record(records[1]), of_record(records[2], "query", "answer", mine=7)]
    assert await fed.take(items) == 3
    live = await fed.live()
    for record in records:
        stored = live[record.query]
        assert (stored.cid, stored.origin) == (block_of(record)[0], "local")
        assert stored.record == decode(record.encode())
    assert live["Hash only"].kept == {"mine": 7}
    assert len(fed.index) == 1
    assert fed.reported == []
    assert await fed.again() == 0
    assert len(blocks.asked) == 3


async def test_another_nodes_public_record_is_taken_as_its_word(fed: Node, blocks: Blocks) -> None:
    record = THEM.answer("Theirs", scope="public", embedding=embedding_of(fed, "else"))
    blocks.hold(record)
    assert await fed.take([of_record(record)]) == 1
    stored = (await fed.live())["Theirs"]
    assert (stored.cid, stored.origin) == (block_of(record)[0], THEM.did)
    assert len(fed.index) == 0, "another's vector is a hint, not a fact"
    assert owes_vector(stored)


async def test_the_operators_file_is_the_operators_word_on_the_records_that_it_names(
    fed: Node, blocks: Blocks
) -> None:
    record = THEM.answer("Theirs", scope="public")
    priced = THEM.answer("Priced", scope="public", expires=START + timedelta(days=30))
    blocks.hold(record)
    blocks.hold(priced)
    fed.portable = fed.over(
        blocks, limit=lambda one: ClassLimit("price", 45 if one.query == "Priced" else None, True)
    )
    # what the file says beside them cannot raise their share, and an end that it gives holds
    end = int(START.timestamp()) + 3_600
    told = of_record(record, tier="local", trust_ppm=9_000_000, until_s=end, mine=7)
    assert await fed.take([told, of_record(priced)]) == 2
    live = await fed.live()
    kept = live["Theirs"].kept
    assert kept is not None
    assert (kept["tier"], kept["until_s"], kept["mine"]) == ("trusted", end, 7)
    assert kept["trust_ppm"] == trust_ppm(Standing(THEM.did, Level.TRUSTED), Tier.TRUSTED)
    priced_kept = live["Priced"].kept
    assert priced_kept is not None
    assert priced_kept["until_s"] == int(START.timestamp()) + 45
    fed.clock.advance(60)
    late = THEM.answer("Priced", scope="public", answer="An hour ago", expires=START + timedelta(days=30))
    blocks.hold(late)
    assert await fed.take([of_record(late, answer=None)]) == 0


async def test_what_is_here_already_is_not_fetched(fed: Node, blocks: Blocks) -> None:
    record = US.answer("Here")
    stored = await fed.store.records.add(record)
    gone = US.answer("Gone")
    await fed.store.records.add(gone)
    await fed.store.records.withdraw(block_of(gone)[0], "invalid")
    blocks.hold(gone)
    assert await fed.take([of_record(record), of_record(gone)]) == 0
    assert blocks.asked == []
    assert (await fed.live()).keys() == {"Here"}
    assert (await fed.live())["Here"].cid == stored.cid


async def test_an_edited_text_beside_an_old_cid_counts(fed: Node, blocks: Blocks) -> None:
    record = US.answer("A")
    await fed.store.records.add(record)
    assert await fed.take([of_record(record, answer="Edited")]) == 1
    assert "Edited" in [answer_of(one) for one in await fed.store.records.since(0)]


def forged(record: AnswerRecord, author: Author) -> AnswerRecord:
    """``record`` as somebody else would make it: it claims the issuer and is signed by another key."""
    return sign(replace(record, key=author.did, sig=b""), author.private.sign)


BAD: list[tuple[str, AnswerRecord]] = [
    ("not public", THEM.answer("Q", scope="shared")),
    ("private", US.answer("Q", scope="private:ana")),
    ("not its own", forged(US.answer("Q"), THEM)),
    ("not its own", forged(US.answer("Q", scope="public"), THEM)),
    ("expired", US.answer("Q", expires=START - timedelta(seconds=1))),
    ("future", US.answer("Q", timestamp=START + timedelta(days=2))),
    ("another question", US.answer("Something else")),
    ("not the entry's", US.answer("Q", answer="Something else")),
]


@pytest.mark.parametrize(("reason", "record"), BAD)
async def test_a_record_that_may_not_be_taken_costs_nothing(
    fed: Node, blocks: Blocks, caplog: pytest.LogCaptureFixture, reason: str, record: AnswerRecord
) -> None:
    """The entry's own text is taken, and a person is told."""
    cid = blocks.hold(record)
    assert await fed.take([entry("Q", answer="An answer to: Q", cid=str(cid))]) == 1
    stored = (await fed.live())["Q"]
    assert stored.cid != cid
    assert stored.kept == {"imported_cid": str(cid)}
    assert reason in caplog.text
    assert "entry 0" in caplog.text


Q = US.answer("Q")
CID, DATA = block_of(Q)
TOMB_CID, TOMB = block_of(US.tombstone(CID))


@pytest.mark.parametrize(
    ("cid", "data"),
    [
        pytest.param(CID, US.answer("Other").encode(), id="other"),
        pytest.param(CID, DATA[:-1], id="cut"),
        pytest.param(None, b"\xa1\x61a\x1b", id="noise"),
        pytest.param(None, b"\0" * 300_000, id="huge"),
        pytest.param(None, DATA.replace(Q.sig, b"\0" * 64), id="unsigned"),
        pytest.param(TOMB_CID, TOMB, id="tombstone"),
    ],
)
async def test_a_block_that_lies_costs_nothing(
    fed: Node, blocks: Blocks, cid: Cid | None, data: bytes
) -> None:
    cid = cid or Cid.of(data)
    blocks.held[cid.multihash] = data
    assert await fed.take([entry("Q", cid=str(cid)), {"query_hash": query_hash("Q"), "cid": str(cid)}]) == 1
    assert (await fed.live())["Q"].cid != cid
    with pytest.raises(NotFound):
        await fed.store.records.get(cid)


@pytest.mark.parametrize("fault", [NotFound("no"), Unavailable("away"), Rejected("no such hash")])
async def test_without_the_block_the_text_is_taken_and_the_rest_waits(
    fed: Node, blocks: Blocks, fault: Exception
) -> None:
    late = US.answer("Late")
    blocks.hold(late)
    blocks.fault = fault
    text = of_record(US.answer("Has text"))
    assert await fed.take([text, of_record(late, "query", "answer")]) == 1
    assert (await fed.live()).keys() == {"Has text"}
    blocks.fault = None
    fed.portable = fed.over(None)
    assert await fed.again() == 0, "without blocks there is nothing to try again"
    fed.portable = fed.over(blocks)
    assert await fed.again() == 1
    assert (await fed.live())["Late"].cid == block_of(late)[0]
    assert await fed.again() == 0


@pytest.mark.parametrize("hangs", [False, True], ids=["away", "hangs"])
async def test_a_daemon_that_is_away_or_hangs_is_not_asked_for_ever(
    fed: Node, blocks: Blocks, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    monkeypatch.setattr(Fetcher, "EACH_S", 0.01)
    blocks.fault = asyncio.Event() if hangs else Unavailable("connection refused")
    records = [US.answer(f"Question {n}") for n in range(100)]
    assert await fed.take([of_record(record) for record in records]) == 100
    assert len(blocks.asked) <= Fetcher.FAILURES_MAX + Fetcher.AT_ONCE


async def test_fetching_has_an_end_as_a_whole(fed: Node, blocks: Blocks) -> None:
    records = [US.answer(f"Question {n}") for n in range(100)]
    for record in records:
        blocks.hold(record)
    real = blocks.get

    async def slow(cid: Cid) -> bytes:
        fed.clock.advance(1.0)
        return await real(cid)

    blocks.get = slow
    assert await fed.take([of_record(record) for record in records]) == 100
    assert Fetcher.ALL_S <= len(blocks.asked) <= Fetcher.ALL_S + Fetcher.AT_ONCE + 1
    assert 1 < blocks.most_at_once <= Fetcher.AT_ONCE


async def test_a_cid_of_something_else_than_a_record_is_not_asked_for(fed: Node, blocks: Blocks) -> None:
    items = [
        entry("A", cid=str(Cid.of(b"About A", RAW))),
        {"query_hash": "ab" * 32, "cid": str(Cid.of(b"x", RAW))},
    ]
    assert await fed.take(items) == 1
    assert blocks.asked == []


# --- out and in -----------------------------------------------------------------------------------


async def test_what_a_model_said_on_no_evidence_is_not_imported(fed: Node, blocks: Blocks) -> None:
    alone = US.answer("Alone", source=RecordSource("llm", "ollama/llama3.2"))
    assert await fed.take([of_record(alone, unverified=True)]) == 0
    blocks.hold(alone)
    assert await fed.take([of_record(alone)]) == 0


async def test_an_export_is_an_import(fed: Node, blocks: Blocks, tmp_path: Path) -> None:
    await fed.take([entry("A", votes=3), entry("B")], mine=1)
    await embed_index(fed.path, fed.embedder, limit=1, clock=fed.clock)
    await fed.again()
    export = tmp_path / "export.json"
    assert await fed.portable.export(export) == 2
    for stored in (await fed.live()).values():
        assert isinstance(stored.record, AnswerRecord)
        blocks.hold(stored.record)
    state = await StateStore.open(tmp_path / "other.sqlite")
    other = Node(tmp_path, state, blocks=blocks)
    try:
        assert await other.portable.import_changed(export) == 2
        mine, theirs = await fed.live(), await other.live()
        cids = [{query: one.cid for query, one in live.items()} for live in (mine, theirs)]
        assert cids[0] == cids[1]
        assert theirs["A"].kept == {"votes": 3}
        assert len(other.index) == 1
        again = tmp_path / "again.json"
        await other.portable.export(again)
        first, second = await asyncio.to_thread(lambda: (index_file.read(export), index_file.read(again)))
        assert {one.key: one for one in first.entries} == {one.key: one for one in second.entries}
        assert len(first.entries) == len(second.entries)
    finally:
        await state.close()


async def test_what_the_operator_wrote_is_shared_and_a_copy_of_others_words_is_not(node: Node) -> None:
    node.portable = node.over(None, publish="sourced")
    scopes = {
        "What is written by the operator": "public",
        "What was public before": "public",
        "What was kept here": "shared",
        "What a peer said": "shared",
        "My name is Ada Wren, what is my name": "shared",
    }
    more: list[dict[str, str]] = [{}, {"scope": "public"}, {"scope": "shared"}]
    more += [{"scope": "public", "origin": "did:key:z6Mkpeer"}, {}]
    assert await node.take([entry(query, **one) for query, one in zip(scopes, more, strict=True)]) == 5
    assert {query: one.record.scope for query, one in (await node.live()).items()} == scopes


async def test_normalised_questions_meet(node: Node) -> None:
    await node.take([entry("  What   is it?? ")])
    assert (await node.live()).keys() == {normalise("What is it")}


async def test_a_copy_that_cannot_be_deleted_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be deleted"):
        await drop(tmp_path)
    await drop(tmp_path / "none")
