"""A node's door for peers with everything in memory, and issuers that knock at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from node.audit.decisions.memory import MemoryLog
from node.audit.recorder import Recorder
from node.cache.index.flat_index import FlatIndex
from node.cache.keys import keyword_key
from node.core.ipld.cid import Cid
from node.core.metrics import Metrics
from node.core.ports import RecordStore, StoredRecord
from node.core.record import AnswerRecord, KeyRecord, RecordSource, ValidationRecord, block_of
from node.peers.rules.admission import ClassLimit
from node.peers.rules.entry import Publish, Retract
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import Level, Quota, Terms
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter, Arrived, Reading
from node.peers.sync.ledger import PeerLedger
from node.peers.sync.serving import Serving
from node.store.sqlite import SqliteStore
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel

US = Author(200)
DIM = 64


class Issuer:
    """A root and the node key that it has certified, like every node."""

    def __init__(self, seed: int) -> None:
        self.root = Author(seed)
        self.node = Author(seed + 100)
        self.did = self.root.did
        self.ring = KeyRing(self.did)
        self.certificate = self.certify()
        self.entries = 0

    def certify(self, **changes: Any) -> KeyRecord:
        record = self.root.key_record(
            self.node.did, **({"not_before": START.replace(day=1, hour=0)} | changes)
        )
        self.ring.add(record)
        return record

    def revoke(self) -> KeyRecord:
        return self.certify(timestamp=START.replace(hour=13), not_after=START.replace(hour=13))

    def answer(self, query: str = "What is IPFS?", **changes: Any) -> AnswerRecord:
        own = {"issuer": self.did, "scope": "public", "source": RecordSource("documents", "chronicle.md")}
        return self.node.answer(query, **(own | changes))

    def says(self, target: Cid, verdict: str, number: int = 0) -> ValidationRecord:
        statement = f"{number:032x}"
        return self.node.validation(target, verdict, issuer=self.did, scope="public", statement=statement)


class Door:
    """``Admitter`` over stores in memory. ``recomputed``: what recomputing says of a query, else nothing."""

    def __init__(
        self,
        *,
        quota: Quota | None = None,
        quorum: int = 2,
        store: PeerStore | None = None,
        main: MemoryStore | SqliteStore | None = None,
        clock: ManualClock | None = None,
        slot_key: Callable[[AnswerRecord], str | None] = lambda record: record.slot_key,
    ) -> None:
        self.clock = clock or ManualClock(START)
        self.main = main or MemoryStore(own_issuer=US.did)
        self.records: RecordStore = self.main.records
        self.index = FlatIndex(DIM)
        self.embedder = HashEmbedder(DIM, by_word=True)
        self.semantics = OneModel(self.embedder, self.index)
        self.store = store or MemoryPeerStore()
        self.log = MemoryLog("test", self.clock)
        self.counted: Counter[tuple[str, str]] = Counter()
        self.recomputed: dict[str, bool] = {}
        self.private: set[str] = set()
        self.limits: dict[str, ClassLimit] = {}
        self.quota = quota or Quota()
        self.quorum = quorum
        self.slot_key = slot_key
        self.admitter = self.opened()

    def entered(self) -> list[str]:
        """The reasons in the log."""
        return [orjson.loads(leaf)["entry"]["reason"] for leaf in self.log.leaves()]

    def opened(self) -> Admitter:
        """Another run of the program over the same stores."""

        async def recompute(record: AnswerRecord) -> bool | None:
            return self.recomputed.get(record.answer)

        def is_private(record: AnswerRecord) -> str | None:
            return "name" if record.query in self.private else None

        def count(result: str, reason: str) -> None:
            self.counted[(result, reason)] += 1

        def limit(record: AnswerRecord) -> ClassLimit:
            return self.limits.get(record.query, ClassLimit("general", None, False))

        serving = Serving(
            self.records,
            self.main.blocks,
            self.semantics,
            keyword_key=keyword_key,
            slot_key=self.slot_key,
            near=self.quota.near,
        )
        recorder = Recorder(self.log, Metrics().unlogged, refuses=False)
        return Admitter(
            self.store,
            serving,
            self.clock,
            Reading(limit, recompute, is_private),
            Terms(US.did, self.quota, self.quorum),
            PeerLedger(recorder, self.clock, "test"),
            count,
        )

    async def stand(self, issuer: Issuer, level: Level = Level.TRUSTED, group: str | None = None) -> None:
        """The operator's word on a root."""
        await self.store.set_standing(
            replace(await self.store.standing(issuer.did), level=level, group=group)
        )

    async def take(self, issuer: Issuer, record: AnswerRecord, data: bytes | None = None) -> str:
        """As if the issuer's log had brought this record, or other bytes under its CID."""
        await self.certify(issuer, issuer.certificate)
        cid, block = block_of(record)
        issuer.entries += 1
        entry = Publish(cid, "general", record.query_hash, record.expires)
        arrived = Arrived(issuer.entries, entry, cid, block if data is None else data)
        [outcome] = await self.admitter.admit(issuer.did, issuer.ring, [arrived])
        return outcome

    async def certify(self, issuer: Issuer, record: KeyRecord) -> None:
        """As if a sync had brought a key record."""
        cid, data = block_of(record)
        await self.store.add_key(issuer.did, cid, data)

    async def retract(
        self, issuer: Issuer, target: Cid, *, buried: bool = False, by: Issuer | None = None
    ) -> str:
        signer = by or issuer
        stone = signer.node.tombstone(target, issuer=signer.did, scope="public")
        cid, data = block_of(stone)
        entry = Retract(target, "erased", cid if buried else None)
        return await self.admitter.retract(issuer.did, entry, data if buried else None)

    async def validate(self, issuer: Issuer, record: ValidationRecord) -> str:
        cid, data = block_of(record)
        return await self.admitter.validation(issuer.did, issuer.ring, cid, data)

    async def served(self, record: AnswerRecord) -> StoredRecord | None:
        """The record as look-ups find it."""
        cid, _ = block_of(record)
        return (await self.records.live([cid])).get(cid)

    def in_index(self, record: AnswerRecord) -> bool:
        vector = self.embedder.vector_of(record.query)
        near = self.index.search(vector, scopes=["public"], context=None, k=1_000)
        return block_of(record)[0] in {one.cid for one in near}
