"""A peer desk over stores in memory, with a scripted far side: what rounds come to, who answers where."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from node.audit.decisions.memory import MemoryLog
from node.audit.log.contradictions import Evidence
from node.audit.recorder import Recorder
from node.core.errors import Unavailable
from node.core.files import Files
from node.core.identity import Identity
from node.core.ipld.cid import Cid
from node.core.metrics import Metrics, Unlogged
from node.core.ports import AuditLog
from node.core.record import block_of
from node.peers.ports import PeerLink
from node.peers.rules.values import Quota, Standing, SyncReport, Terms
from node.peers.store.sqlite import PeerStore
from node.peers.sync.desk import Own, PeerDesk
from node.peers.sync.ledger import PeerLedger
from tests.manual_clock import ManualClock
from tests.references.peer_store import MemoryPeerStore

A, B = "http://127.0.0.1:8642", "http://127.0.0.1:8652"
QUOTA = Quota(records=10, bytes=1_000, validations_per_hour=5, near=2)


def identity(folder: Path, clock: ManualClock) -> Identity:
    """A new one."""
    return Identity.load_or_create(folder / "keys", clock.now())


@dataclass
class Far(PeerLink):
    """A peer as far as it says who it is. ``root`` None: it does not answer."""

    address: str
    root: str | None = None
    blocks_shown: list[bytes] = field(default_factory=list)

    @classmethod
    def of(cls, address: str, who: Identity) -> Far:
        return cls(address, who.root, [block_of(record)[1] for record in who.certificates()])

    async def certificates(self) -> tuple[str, list[bytes]]:
        if self.root is None:
            raise Unavailable(f"nobody answers at {self.address}")
        return self.root, self.blocks_shown

    async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
        raise Unavailable("only asked who it is")

    async def read(self, path: str, bytes_max: int) -> bytes:
        raise Unavailable("only asked who it is")

    async def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncIterator[tuple[Cid, bytes]]:
        for cid in cids[:0]:
            yield cid, b""

    async def reconcile(self, message: bytes) -> bytes:
        raise Unavailable("only asked who it is")

    async def peers(self) -> list[str]:
        return []


@dataclass
class Rounds:
    """What rounds come to, by address. Those in ``endless`` do not end."""

    results: dict[str, SyncReport] = field(default_factory=dict)
    endless: set[str] = field(default_factory=set)
    reports: dict[str, SyncReport] = field(default_factory=dict)

    async def sync(self, address: str) -> SyncReport:
        if address in self.endless:
            await asyncio.Event().wait()
        self.reports[address] = replace(self.results[address])  # each round has a report of its own
        return self.reports[address]

    async def sync_all(self, *, is_hurried: bool = False) -> list[SyncReport]:
        return [await self.sync(address) for address in self.results]


@dataclass
class Judged:
    """What was to be judged anew, with the standing that was on record by then."""

    store: PeerStore
    seen: list[Standing] = field(default_factory=list)

    async def retier(self, root: str) -> None:
        self.seen.append(await self.store.standing(root))
        await self.store.finish(root)


@dataclass
class Kit:
    desk: PeerDesk
    store: MemoryPeerStore
    rounds: Rounds
    judged: Judged
    clock: ManualClock
    own: Identity
    evidence: Evidence
    far: dict[str, Far]
    decisions: MemoryLog


def ledger_over(log: AuditLog, *, refuses: bool = True, unlogged: Unlogged | None = None) -> PeerLedger:
    """Enters what is decided about peers in this log."""
    recorder = Recorder(log, Metrics().unlogged if unlogged is None else unlogged, refuses=refuses)
    return PeerLedger(recorder, ManualClock(), "test")


def kit(folder: Path, store: MemoryPeerStore | None = None, ledger: PeerLedger | None = None) -> Kit:
    """A desk whose node is new. ``ledger``: over another log than ``decisions``."""
    clock, far = ManualClock(), dict[str, Far]()
    store = MemoryPeerStore() if store is None else store
    rounds, judged = Rounds(), Judged(store)
    own, evidence = identity(folder, clock), Evidence(folder / "evidence", Files())
    decisions = MemoryLog(own.decisions_origin, clock)

    def link(address: str) -> PeerLink:
        return far.get(address, Far(address))

    desk = PeerDesk(
        store,
        rounds,
        judged,
        clock,
        Own(own, lambda: 7, Terms(own.root, QUOTA, 2)),
        link,
        evidence,
        ledger_over(decisions) if ledger is None else ledger,
    )
    return Kit(desk, store, rounds, judged, clock, own, evidence, far, decisions)
