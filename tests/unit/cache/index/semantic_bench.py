"""A node's memory with embedders that tests own: stores, switches, kills, and compares index with records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from node.cache.index import engine as watched
from node.cache.index import filling
from node.cache.index.embedders import Pace, SwitchingSemantics
from node.cache.index.engine import Choice
from node.cache.keys import keyword_key, same_question
from node.core.clock import Clock
from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.model import Confidence, SourceRef
from node.core.normalise import normalise
from node.core.ports import Embedded, Embedder, RecordStore, Semantics, StoredRecord, Vector
from node.core.record import AnswerRecord
from node.store import remember
from node.store.remember import Memory, Questions, Remembered, Rememberer, Report, owes_vector
from node.store.state import StateStore
from node.store.write_back import WriteBack
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder

US = Author(1)
DIM = 16
PATIENCE_S = 20.0
"""Of the test, not of the node: nothing here takes so long unless it hangs."""


class Signer:
    """Signs as ``US``."""

    root = node = US.did

    def sign(self, data: bytes) -> bytes:
        return US.private.sign(data)


def memory(query: str, answer: str = "", **changes: object) -> Memory:
    fields: dict[str, object] = {
        "request_id": "r",
        "query": normalise(query),
        "answer": answer or f"An answer to: {query}",
        "route": "generative",
        "source": SourceRef("llm", "test"),
        "confidence": Confidence(0.9, {}),
        "scope": "shared",
        "lifetime_s": None,
    }
    return Memory(**(fields | changes))


async def durable(outcome: Remembered) -> None:
    """What is said of an answer that is in the store now, as all are in these tests."""
    assert outcome.is_durable, outcome


def rememberer(
    records: RecordStore,
    semantics: Semantics,
    clock: Clock,
    *,
    questions: Questions | None = None,
    signer: remember.Signer | None = None,
    report: Report = durable,
) -> Rememberer:
    """Ours, which merges by the gate's word."""
    questions = questions or Questions(keyword_key, same_question)
    return Rememberer(records, semantics, signer or Signer(), clock, WriteBack(64), questions, report)


def model_of(stored: StoredRecord) -> str | None:
    """The digest of the model whose vector the record has; None: it has none."""
    assert isinstance(stored.record, AnswerRecord)
    return None if stored.record.embedding is None else stored.record.embedding.digest


async def until(condition: Callable[[], object]) -> None:
    """Let the background work until the condition holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


@dataclass
class SemanticBench:
    """``engines``: what can be loaded, by name of the engine; a name that is missing is away."""

    folder: Path
    store: MemoryStore = field(default_factory=lambda: MemoryStore(own_issuer=US.did))
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    engines: dict[str, HashEmbedder] = field(default_factory=dict)
    loads: list[str] = field(default_factory=list)
    save_every: int = 32
    state: StateStore | None = None
    semantics: SwitchingSemantics | None = None
    rememberer: Rememberer | None = None

    def engine(self, name: str, dim: int = DIM) -> HashEmbedder:
        """A new embedder under this name; engines of one dimension differ in every vector."""
        made = self.engines[name] = HashEmbedder(dim, model=name)
        return made

    async def load(self, choice: Choice) -> Embedder:
        self.loads.append(choice.engine)
        embedder = self.engines.get(choice.engine)
        if embedder is None:
            raise Unavailable(f"{choice.engine} is not there")
        if embedder.hang is not None:
            await embedder.hang.wait()
        return embedder

    async def start(self, engine: str, *, start_wait_s: float = PATIENCE_S) -> SwitchingSemantics:
        if self.state is None:
            self.state = await StateStore.open(self.folder / "state.sqlite")
        self.semantics = await SwitchingSemantics.open(
            self.folder / "index",
            Choice(engine),
            self.load,
            self.store.records,
            self.state,
            self.clock,
            Pace(start_wait_s, self.save_every),
        )

        questions = Questions(keyword_key)
        self.rememberer = rememberer(self.store.records, self.semantics, self.clock, questions=questions)
        return self.semantics

    async def stop(self) -> None:
        """As a node stops."""
        assert self.semantics is not None
        await self.semantics.close()
        self.revive()

    async def kill(self) -> None:
        """Nothing more is written."""
        assert self.semantics is not None
        self.semantics._is_closed = True
        tasks = set(self.semantics._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self.revive()

    def revive(self) -> None:
        """Engines outlive the node: the next start may load them again."""
        for embedder in self.engines.values():
            embedder._is_closed = False

    async def end(self) -> None:
        if self.semantics is not None:
            for embedder in self.engines.values():
                if embedder.hang is not None:
                    embedder.hang.set()
            await self.semantics.close()
        if self.state is not None:
            await self.state.close()

    async def keep(self, query: str, answer: str = "", **changes: object) -> StoredRecord:
        assert self.rememberer is not None
        outcome = await self.rememberer.keep(memory(query, answer, **changes))
        assert outcome.stored is not None
        return outcome.stored

    async def bury(self, stored: StoredRecord) -> None:
        assert self.rememberer is not None
        await self.rememberer.bury_at(stored.cid, stored.record.scope, "test")

    async def found(self, query: str) -> Cid | None:
        """The record that look-up by meaning finds for these very words; None also while none can be made."""
        assert self.semantics is not None
        try:
            [embedded] = await self.semantics.embed([normalise(query)])
        except Unavailable:
            return None
        return None if embedded is None else self.nearest(embedded)

    def nearest(self, embedded: Embedded) -> Cid | None:
        assert self.semantics is not None
        index = self.semantics.index(embedded.info)
        if index is None:
            return None
        near = index.search(embedded.vector, scopes=["shared"], context=None, k=1)
        return near[0].cid if near and near[0].similarity > 0.999 else None

    def served(self) -> str:
        """The model that serves."""
        assert self.semantics is not None
        return self.semantics.info.model

    async def serves(self, embedder: Embedder) -> None:
        """Until the embedder's model serves."""
        await until(lambda: self.served() == embedder.info.model)

    def rows(self) -> dict[Cid, Vector]:
        """What the serving index holds."""
        assert self.semantics is not None
        assert self.semantics._serving is not None
        index = self.semantics._serving.keeper.index
        return {
            cid: vector for rows in index.rows() for cid, vector in zip(rows.cids, rows.vectors, strict=True)
        }

    def retry(self) -> None:
        """After the longest time that a failed try may rest."""
        self.clock.advance(filling.BACKOFF_MAX_S)

    async def probe(self, after_s: float = watched.PROBE_AFTER_S) -> None:
        assert self.semantics is not None
        self.clock.advance(after_s)
        await self.semantics.probe()

    async def assert_index_is_records(self, embedder: HashEmbedder) -> None:
        """Every live record that had or is owed a vector has one of this embedder; nothing else is there."""
        rows = self.rows()
        wanted = {}
        for stored in await self.store.records.since(0, limit=10_000):
            record = stored.record
            assert isinstance(record, AnswerRecord)
            if record.embedding is not None or owes_vector(stored):
                wanted[stored.cid] = embedder.vector_of(record.query)
        assert set(rows) == set(wanted)
        for cid, vector in wanted.items():
            assert np.allclose(rows[cid], vector, atol=1e-5)

    def check(self, name: str) -> tuple[str, str]:
        """(status, output) of a health check; empty when there is none of that name."""
        assert self.semantics is not None
        for check in self.semantics.health():
            if check.name == name:
                return check.status, check.output
        return "", ""

    def status(self, name: str) -> str:
        return self.check(name)[0]

    async def passes(self, name: str) -> None:
        """Until this health check passes."""
        await until(lambda: self.status(name) == "pass")

    @property
    def files(self) -> int:
        return len(list((self.folder / "index").glob("*")))
