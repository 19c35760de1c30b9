"""One node that follows peers, and an admitter that tells what it was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from node.audit.witnesses.ours import Witness
from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, decode
from node.core.signed_note import open_checkpoint
from node.peers.ports import PeerLink
from node.peers.rules.entry import Retract
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import Contact, Position
from node.peers.sync.admit import Arrived
from node.peers.sync.follow import Limits, PeerSync, Watch, Ways
from tests.manual_clock import ManualClock
from tests.peer_builders import held_of
from tests.record_builders import Author
from tests.references.peer_store import MemoryPeerStore
from tests.simulators.peer import MemoryLink, Publishing, later

OWN = Author(99).did


class RecordingAdmitter:
    """Holds whatever is signed by the issuer, and tells what it was told."""

    def __init__(self, store: MemoryPeerStore) -> None:
        self.store = store
        self.did: list[tuple[str, str]] = []
        self.codes: dict[Cid, str] = {}
        self.stop_at: int | None = None

    def _note(self, what: str, of: object) -> None:
        if self.stop_at is not None and len(self.did) >= self.stop_at:
            raise Unavailable("the disk is full")
        self.did.append((what, str(of)))

    def of(self, what: str) -> list[str]:
        return [of for one, of in self.did if one == what]

    async def admit(self, root: str, ring: KeyRing, arrived: Sequence[Arrived]) -> list[str]:
        return [await self._admit(root, ring, one) for one in arrived]

    async def _admit(self, root: str, ring: KeyRing, one: Arrived) -> str:
        self._note("admit", one.cid)
        record = decode(one.data)
        assert isinstance(record, AnswerRecord)
        if code := self.codes.get(one.cid):
            return code
        if code := ring.good(record.key, "node", record.timestamp):
            return code
        await self.store.hold([held_of(record, root, one.data, one.index)])
        return "held"

    async def retract(self, root: str, entry: Retract, tombstone_block: bytes | None) -> str:
        self._note("retract" if tombstone_block is None else "bury", entry.cid)
        await self.store.release(entry.cid)
        if tombstone_block is not None and entry.tombstone is not None:
            await self.store.entomb(entry.cid, root, entry.tombstone, tombstone_block, None)
        return "withdrawn"

    async def validation(self, root: str, ring: KeyRing, cid: Cid, data: bytes) -> str:
        self._note("validation", cid)
        return "counted"

    async def retier(self, root: str) -> None:
        self._note("retier", root)
        await self.store.finish(root)

    async def drop(self, root: str, reason: str) -> None:
        self._note("drop", reason)
        await self.store.set_standing(replace(await self.store.standing(root), dropped=reason))


@dataclass
class World:
    """One node that follows peers."""

    clock: ManualClock = field(default_factory=lambda: ManualClock(later(3_600)))
    store: MemoryPeerStore = field(default_factory=MemoryPeerStore)
    links: dict[str, PeerLink] = field(default_factory=dict)
    helpers: list[PeerLink] = field(default_factory=list)
    cases: list[tuple[str, Mapping[str, bytes]]] = field(default_factory=list)
    witness: Witness | None = None
    limits: Limits = field(default_factory=Limits)
    of_peers: bool = False

    def __post_init__(self) -> None:
        self.admitter = RecordingAdmitter(self.store)
        self.restart()

    def restart(self) -> None:
        """What is only in memory is gone."""
        self.sync = PeerSync(
            self.store,
            self.admitter,
            self.clock,
            Ways(self.links.__getitem__, self.links.__getitem__, lambda: self.helpers),
            Watch(self._keep, self.witness),
            OWN,
            of_peers=self.of_peers,
            limits=self.limits,
        )

    async def _keep(self, root: str, notes: Mapping[str, bytes]) -> None:
        self.cases.append((root, dict(notes)))

    async def meet(self, peer: Publishing, address: str = "http://a.example") -> MemoryLink:
        link = MemoryLink(peer, address)
        self.links[address] = link
        await self.store.put_contact(Contact(address, "operator"))
        return link

    async def held(self, peer: Publishing) -> set[Cid]:
        return {one.cid for one in await self.store.held_of(peer.root, limit=100_000)}

    async def position(self, peer: Publishing) -> Position:
        found = await self.store.position(peer.root)
        assert found is not None
        return found


def questions(peer: Publishing, count: int, start: int = 0) -> list[Cid]:
    return [peer.publish(f"What is number {number}?") for number in range(start, start + count)]


A = "http://a.example"


async def is_evidence(world: World, peer: Publishing) -> None:
    """Both notes hold, and everybody can see it."""
    [(root, notes)] = world.cases
    assert root == peer.root
    verifier = peer.signer().verifier
    held, shown = (open_checkpoint(notes[role], [verifier]).checkpoint for role in ("held", "shown"))
    assert held.origin == shown.origin == peer.origin
    assert held != shown
    assert world.admitter.of("drop") == ["equivocation"]
    link = world.links[A]
    assert isinstance(link, MemoryLink)
    link.asked.clear()
    report = await world.sync.sync(A)
    assert (report.outcome, report.reason, link.asked) == ("dropped", "equivocation", [])
    assert world.sync.health()[0].status == "warn"
