"""An honest node: the real ``Publisher``, ``PeerSync`` and ``Admitter`` over stores in memory.

Promises: a crash ends what runs and loses what was in those objects' memory, and nothing that was stored.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar, cast

from bench.swarmlab.loop import START, VirtualClock
from bench.swarmlab.net import Net
from node.audit.decisions.memory import MemoryLog as Decisions
from node.audit.log.committer import Compose
from node.audit.log.writer import TileLog
from node.audit.recorder import Recorder
from node.audit.tlog.tiles import Tile
from node.cache.index.flat_index import FlatIndex
from node.cache.keys import keyword_key
from node.core.caller import SCOPE_PUBLIC
from node.core.clock import Clock
from node.core.errors import NotFound
from node.core.ipld.cid import Cid
from node.core.metrics import Metrics
from node.core.normalise import normalise
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, KeyRecord, Record, block_of, decode, did_key, time_us
from node.core.signed_note import Ed25519Signer
from node.peers.ports import PeerLink
from node.peers.rules import entry as entries
from node.peers.rules.admission import ClassLimit
from node.peers.rules.entry import Publish
from node.peers.rules.keys import KeyRing
from node.peers.rules.reconcile import answer
from node.peers.rules.values import Level, Quota, Terms
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Admitter, Reading
from node.peers.sync.follow import PeerSync, Watch, Ways
from node.peers.sync.ledger import PeerLedger
from node.peers.sync.publish import Publisher, ReadBack
from node.peers.sync.serving import Serving
from node.store.record_rules import LOCAL
from tests.peer_builders import seeded
from tests.record_builders import Author
from tests.references.peer_store import MemoryPeerStore
from tests.references.record_store import MemoryStore
from tests.simulators.hash_embedder import HashEmbedder
from tests.simulators.semantics import OneModel
from tests.tlog_memory import MemoryLog

T = TypeVar("T")

QUESTIONS = (
    "how much is six times seven",
    "which weather has paris this afternoon",
    "who wrote the tragedy hamlet",
    "why do leaves turn red",
    "what does an octopus eat",
    "when did rome fall",
)
COMPUTED = normalise(QUESTIONS[0])
COMPUTED_ANSWER = "42"
LIVE_QUESTION = normalise(QUESTIONS[1])
LIVE_LIMIT_S = 3_600
QUORUM = 2
DIM = 16
_EMBEDDER = HashEmbedder(DIM, by_word=True)
_NO_LIMIT = ClassLimit("general", None, False)


class Keyed(Author):
    """An author by name; the same name is the same key."""

    def __init__(self, name: str) -> None:
        self.private = seeded(name)
        self.did = did_key(self.private.public_key().public_bytes_raw())


def class_limit(record: AnswerRecord) -> ClassLimit:
    """What every honest node reads from a question."""
    return ClassLimit("live", LIVE_LIMIT_S, True) if record.query == LIVE_QUESTION else _NO_LIMIT


async def recompute(record: AnswerRecord) -> bool | None:
    """One of the questions can be worked out."""
    return record.answer == COMPUTED_ANSWER if record.query == COMPUTED else None


class OwnLog:
    """What ``Publisher`` asks of a log, in memory; ``named``: answers that were entered."""

    def __init__(self, origin: str, key: Keyed, clock: Clock) -> None:
        self.memory = MemoryLog(signer=Ed25519Signer(origin, key.private))
        self.named: set[Cid] = set()
        self._clock = clock
        self._notes: dict[int, bytes] = {}

    def size(self) -> int:
        return len(self.memory.entries)

    def append(self, compose: Compose, attachment: bytes | None = None) -> Coroutine[Any, Any, int]:
        """Its place is taken when it is called; it is heard of later."""
        index = self.size()
        leaf = compose(index, time_us(self._clock.now()))
        self.memory.append(leaf)
        said = entries.read(index, leaf)
        if isinstance(said, Publish):
            self.named.add(said.cid)
        return self._place(index)

    async def _place(self, index: int) -> int:
        await asyncio.sleep(0)
        return index

    async def publish(self) -> None:
        """Its checkpoint is made when it is asked for."""

    async def read(self, first: int, end: int) -> Sequence[bytes]:
        await asyncio.sleep(0)
        return self.memory.entries[first:end]

    def note(self, size: int | None = None) -> bytes:
        size = self.size() if size is None else size
        if size not in self._notes:
            self._notes[size] = self.memory.note(size)
        return self._notes[size]

    def file(self, path: str) -> bytes:
        """Raises ``NotFound``."""
        tile = Tile.parse(path)
        if tile.index * 256 + tile.width > self.size() >> (8 * max(tile.level, 0)):
            raise NotFound(f"there is no {path}")
        return self.memory.tile_bytes(tile)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a node is built of: tests put something careless in the place of one."""

    admitter: Callable[..., Admitter] = Admitter


class Honest:
    """``links`` and ``others`` are set before the first step."""

    def __init__(self, number: int, clock: VirtualClock, net: Net, rng: random.Random, parts: Parts) -> None:
        self.number = number
        self.address = f"http://node-{number}.example"
        self.clock = clock
        self.rng = rng
        self.root_key = Keyed(f"{number} root")
        self.root = self.root_key.did
        self.log_key = Keyed(f"{number} log")
        self.log = OwnLog(
            f"{self.root.removeprefix('did:key:')}.neuroswarm/publications", self.log_key, clock
        )
        self.main = MemoryStore(own_issuer=self.root)
        self.store = MemoryPeerStore()
        self.links: dict[str, PeerLink] = {}
        self.others: list[PeerLink] = []
        self.evidence: dict[str, Mapping[str, bytes]] = {}
        self.running: set[asyncio.Task[None]] = set()
        self.key_blocks: list[bytes] = []
        self.deleted: set[Cid] = set()
        self.ever: dict[Cid, int] = {}
        """Every answer that was ever said: when, in seconds since 1970."""
        self.ring = KeyRing(self.root)
        self._key_number = 0
        self.key = Keyed(f"{number} node 0")
        self._net = net
        self._parts = parts
        self._semantics = OneModel(_EMBEDDER, FlatIndex(DIM))
        self._decisions = Decisions(f"decisions {number}", clock)
        self._build()

    def _build(self) -> None:
        """Another run of the program."""
        self.publisher = Publisher(
            self.main.records,
            cast("TileLog", self.log),
            self.clock,
            ReadBack(self.log.read),
            own=self.root,
            class_of=lambda record: class_limit(record).name,
        )
        serving = Serving(
            self.main.records,
            self.main.blocks,
            self._semantics,
            keyword_key=keyword_key,
            slot_key=lambda record: None,
            near=Quota().near,
        )
        recorder = Recorder(self._decisions, Metrics().unlogged, refuses=False)
        self.admitter = self._parts.admitter(
            self.store,
            serving,
            self.clock,
            Reading(class_limit, recompute, _is_private, _at_once),
            Terms(self.root, Quota(), QUORUM),
            PeerLedger(recorder, self.clock, "swarm"),
            self._count,
        )
        self.sync = PeerSync(
            cast("PeerStore", self.store),  # it passes the same contract
            self.admitter,
            self.clock,
            Ways(self.links.__getitem__, self.links.__getitem__, lambda: self.others),
            Watch(self._keep),
            self.root,
        )

    def _count(self, result: str, reason: str) -> None:
        self._net.counts[f"{result} {reason}"] += 1
        self._net.trace(self.number, result, reason)

    async def _keep(self, root: str, notes: Mapping[str, bytes]) -> None:
        self.evidence[root] = notes

    async def crash(self) -> None:
        """Whatever runs is cut off where it waits; then the node starts again."""
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
        self._build()
        await self.admitter.resume()

    # --- what it says -----------------------------------------------------------------------------------

    async def certify(self, key: Keyed, use: str, **changes: Any) -> None:
        now = self.clock.now()
        fields = {"timestamp": now, "not_before": START, "not_after": START + timedelta(days=700)}
        record = self.root_key.key_record(key.did, use=use, **(fields | changes))
        self.ring.add(record)
        self.key_blocks.append(block_of(record)[1])
        await self.main.records.add(record)

    async def rotate(self, *, is_stolen: bool) -> None:
        """Another node key; what a stolen one has signed counts no more, and is said anew in part."""
        self._key_number += 1
        old, self.key = self.key, Keyed(f"{self.number} node {self._key_number}")
        now = self.clock.now()
        await self.certify(self.key, "node")
        await self.certify(old, "node", not_after=now if is_stolen else now + timedelta(seconds=1))
        if not is_stolen:
            await asyncio.sleep(2)
            return
        for stored in await self.own():
            record = stored.record
            if isinstance(record, AnswerRecord) and record.key == old.did and self.rng.random() < 0.4:
                await self.say(record.query, record.answer, record.expires)

    async def say(self, query: str, text: str, expires: Any = None) -> None:
        """An answer, in the place of the former one."""
        earlier = [
            one.cid for one in await self.own() if getattr(one.record, "query", "") == normalise(query)
        ]
        record = self.key.answer(
            query,
            issuer=self.root,
            scope=SCOPE_PUBLIC,
            timestamp=self.clock.now(),
            answer=text,
            expires=expires,
        )
        stored = await self.main.records.add(record, supersede=earlier, keyword_key=keyword_key(query))
        self.ever[stored.cid] = time_us(record.timestamp) // 1_000_000

    async def delete(self, cid: Cid) -> None:
        self.deleted.add(cid)
        stone = self.key.tombstone(cid, issuer=self.root, scope=SCOPE_PUBLIC, timestamp=self.clock.now())
        await self.main.records.add(stone)

    async def vouch(self, cid: Cid, verdict: str) -> None:
        record = self.key.validation(
            cid,
            verdict,
            issuer=self.root,
            scope=SCOPE_PUBLIC,
            timestamp=self.clock.now(),
            statement=f"{self.rng.getrandbits(128):032x}",
        )
        await self.main.records.add(record)

    async def stand(self, root: str, level: Level, group: str | None = None) -> None:
        """The operator's word."""
        await self.store.set_standing(replace(await self.store.standing(root), level=level, group=group))
        await self.admitter.retier(root)

    # --- what it has ------------------------------------------------------------------------------------

    async def answers(self) -> list[StoredRecord]:
        """Live answers, whoever's."""
        return [
            one
            for one in await self.main.records.since(0, limit=1_000)
            if isinstance(one.record, AnswerRecord)
        ]

    async def own(self) -> list[StoredRecord]:
        return [one for one in await self.answers() if one.origin == LOCAL]

    async def known_ring(self, root: str) -> KeyRing:
        """The root's keys as this node was told."""
        ring = KeyRing(root)
        for data in await self.store.keys(root):
            record = _decoded(data)
            if isinstance(record, KeyRecord):
                ring.add(record)
        return ring

    # --- Remote -----------------------------------------------------------------------------------------

    def certificates(self, caller: int) -> tuple[str, list[bytes]]:
        return self.root, self.key_blocks[-64:]

    def note(self, caller: int) -> bytes:
        return self.log.note()

    def file(self, caller: int, path: str) -> bytes:
        return self.log.file(path)

    async def some_blocks(self, cids: Sequence[Cid], bytes_max: int) -> list[tuple[Cid, bytes]]:
        found = await self.main.public_blocks(cids, bytes_max)
        return [(cid, data) for cid, data in found.items() if data is not None]

    def reconciled(self, message: bytes) -> bytes:
        return answer(self.publisher.published, message)


@lru_cache(maxsize=4_096)
def _decoded(data: bytes) -> Record:
    return decode(data, check_signature=False)


async def _at_once(work: Callable[[], T]) -> T:
    """No thread: a seed has to repeat exactly."""
    return work()


def _is_private(record: AnswerRecord) -> str | None:
    return None
