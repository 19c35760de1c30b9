"""Rounds with peers that are honest, slow, old, broken or lying. No network: links in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.audit.witnesses.ours import Witness, origin_hash
from node.core.errors import NotFound, RateLimited, Unavailable
from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, decode
from node.core.signed_note import CosignatureSigner, Note, cosigned, open_checkpoint
from node.peers.ports import PeerLink
from node.peers.rules.entry import Publish, Retract
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import Contact, Level, Position, Standing, SyncReport
from node.peers.sync.client import HttpPeer
from node.peers.sync.entries import MISSING_EVERY_S
from node.peers.sync.feed import CHUNK_BUNDLES
from node.peers.sync.follow import IDENTITY_EVERY_S, Limits, PeerSync
from tests.manual_clock import ManualClock
from tests.peer_builders import held_of
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore
from tests.simulators.peer import MemoryLink, PeerStandIn, Publishing, later
from tests.tlog_memory import private_key

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

    async def admit(
        self, root: str, ring: KeyRing, index: int, entry: Publish | None, cid: Cid, data: bytes
    ) -> str:
        self._note("admit", cid)
        record = decode(data)
        assert isinstance(record, AnswerRecord)
        if code := self.codes.get(cid):
            return code
        if code := ring.good(record.key, "node", record.timestamp):
            return code
        await self.store.hold([held_of(record, root, data, index)])
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
            self.witness,
            self.clock,
            link=self.links.__getitem__,
            told=self.links.__getitem__,
            others=lambda: self.helpers,
            evidence=self._keep,
            own_root=OWN,
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


@pytest.fixture
def world() -> World:
    return World()


def questions(peer: Publishing, count: int, start: int = 0) -> list[Cid]:
    return [peer.publish(f"What is number {number}?") for number in range(start, start + count)]


A = "http://a.example"


# --- honest peers ---------------------------------------------------------------------------------


async def test_what_is_published_arrives(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 5)
    link = await world.meet(peer)
    report = await world.sync.sync(A)
    assert (report.outcome, report.size, report.entries, report.fetched, report.held) == (
        "synced",
        5,
        5,
        5,
        5,
    )
    assert report.root == peer.root
    assert await world.held(peer) == set(cids)
    assert world.sync.reports == {A: report}
    assert (await world.store.contacts())[0].root == peer.root, "who proved to be there stays"
    assert link.asked.count("blocks") == 1
    more = questions(peer, 2, 5)
    assert (await world.sync.sync(A)).entries == 2
    assert await world.held(peer) == {*cids, *more}
    assert world.admitter.of("admit") == [str(cid) for cid in (*cids, *more)]


async def test_nothing_new_is_one_request(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 3)
    link = await world.meet(peer)
    await world.sync.sync(A)
    link.asked.clear()
    report = await world.sync.sync(A)
    assert (report.outcome, report.size, report.bytes) == ("unchanged", 3, 0)
    assert link.asked == ["checkpoint"]
    world.clock.advance(IDENTITY_EVERY_S)
    await world.sync.sync(A)
    assert link.asked == ["checkpoint", "certificates", "checkpoint"]


async def test_a_peer_that_has_published_nothing(world: World) -> None:
    peer = Publishing(1)
    await world.meet(peer)
    assert (await world.sync.sync(A)).outcome == "unchanged"
    questions(peer, 1)
    assert (await world.sync.sync(A)).outcome == "synced"


async def test_after_a_restart_the_rest_is_read(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 700)
    link = await world.meet(peer)
    await world.sync.sync(A)
    cids = questions(peer, 300, 700)
    world.restart()
    link.asked.clear()
    report = await world.sync.sync(A)
    assert (report.entries, report.fetched) == (300, 300)
    assert set(cids) <= await world.held(peer)
    assert (await world.position(peer)).size == 1_000


@pytest.mark.parametrize("sizes", [(1, 2), (255, 256, 257), (256, 512), (300, 5_000, 5_001), (4_096, 8_192)])
async def test_every_size_goes_on_from_every_other(sizes: tuple[int, ...]) -> None:
    world, peer = World(), Publishing(1)
    await world.meet(peer)
    record = peer.publish("What is IPFS?")
    for size in sizes:
        while len(peer.log.entries) < size:
            peer.enter(Publish(record, "generative", "ab" * 32, START))  # ended: nothing to fetch
        report = await world.sync.sync(A)
        assert report.outcome == "synced", report.reason
        found = await world.position(peer)
        assert found.size == size
    assert report.refused["expired"] == sizes[-1] - max(1, sizes[-2])


async def test_a_long_feed_is_read_in_rounds_of_bounded_size() -> None:
    world, peer = World(limits=Limits(entries=512)), Publishing(1)
    cids = questions(peer, 1_300)
    await world.meet(peer)
    outcomes = [(await world.sync.sync(A)).outcome for _ in range(4)]
    assert outcomes == ["partial", "partial", "synced", "unchanged"]
    assert await world.held(peer) == set(cids)
    assert len(world.admitter.of("admit")) == len(cids), "nothing is done twice"


async def test_a_round_ends_at_its_bytes() -> None:
    world, peer = World(limits=Limits(bytes=100_000)), Publishing(1)
    for number in range(600):
        peer.publish(f"What is {number}?", answer="long " * 100)
    await world.meet(peer)
    first = await world.sync.sync(A)
    assert first.outcome == "partial"
    assert first.bytes < 1_500_000
    while (await world.sync.sync(A)).outcome == "partial":
        pass
    assert len(await world.held(peer)) == 600


async def test_a_long_feed_needs_little_memory(world: World) -> None:
    """Chunks are of bounded size, and one follows the other only when it was acted on."""
    peer = Publishing(1)
    record = peer.publish("What is IPFS?")
    for _ in range(CHUNK_BUNDLES * 256 * 2):
        peer.enter(Publish(record, "generative", "ab" * 32, START))
    link = await world.meet(peer)
    seen: list[tuple[int, int]] = []

    def watch(what: str, of: object) -> None:
        position = world.store._roots[peer.root].position if peer.root in world.store._roots else None
        if what == "read" and str(of).startswith("tile/entries/"):
            seen.append((int(str(of)[13:16]), 0 if position is None else position.size))

    link.hook = watch
    await world.sync.sync(A)
    assert len(seen) == 2 * CHUNK_BUNDLES + 1
    assert all(number * 256 - done < CHUNK_BUNDLES * 256 for number, done in seen)


async def test_rounds_of_one_root_by_two_addresses_do_not_mix(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 600)
    await world.meet(peer, A)
    await world.meet(peer, "http://b.example")
    await asyncio.gather(world.sync.sync(A), world.sync.sync("http://b.example"), world.sync.sync(A))
    assert await world.held(peer) == set(cids)
    assert len(world.admitter.of("admit")) == 600


async def test_all_are_asked_a_few_at_a_time(world: World) -> None:
    running, most = 0, 0
    for number in range(10):
        peer = Publishing(number + 1)
        questions(peer, 1)
        link = await world.meet(peer, f"http://p{number}.example")
        original = link.checkpoint

        async def slow(
            etag: str | None = None, original: Callable[..., Any] = original
        ) -> tuple[bytes | None, str | None]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(5):
                await asyncio.sleep(0)
            running -= 1
            found: tuple[bytes | None, str | None] = await original(etag)
            return found

        link.checkpoint = slow  # type: ignore[method-assign]  # a link that takes its time
    reports = await world.sync.sync_all()
    assert [report.outcome for report in reports] == ["synced"] * 10
    assert most == 4


async def test_an_address_that_nobody_has_added(world: World) -> None:
    with pytest.raises(NotFound):
        await world.sync.sync("http://nobody.example")


# --- entries --------------------------------------------------------------------------------------


async def test_what_is_withdrawn_later_is_not_fetched(world: World) -> None:
    peer = Publishing(1)
    gone, stays, back = questions(peer, 3)
    peer.retract(gone)
    peer.retract(back, with_tombstone=False)
    peer.publish_record(peer.answer("What is number 2?"))
    await world.meet(peer)
    report = await world.sync.sync(A)
    assert world.admitter.of("admit") == [str(stays), str(back)]
    assert world.admitter.of("bury") == [str(gone)]
    assert world.admitter.of("retract") == [str(back)]
    assert (report.retracted, report.refused["retracted"]) == (2, 2)


async def test_a_late_copy_loses_to_the_tombstone(world: World) -> None:
    peer = Publishing(1)
    (cid,) = questions(peer, 1)
    peer.retract(cid)
    await world.meet(peer)
    await world.sync.sync(A)
    peer.publish_record(peer.answer("What is number 0?"))
    report = await world.sync.sync(A)
    assert report.refused == {"tombstoned": 1}
    assert world.admitter.of("admit") == []


async def test_a_withdrawal_whose_tombstone_cannot_be_had(world: World) -> None:
    peer = Publishing(1)
    (cid,) = questions(peer, 1)
    await world.meet(peer)
    await world.sync.sync(A)
    stone = peer.retract(cid)
    assert stone is not None
    data = peer.blocks.pop(stone)
    await world.sync.sync(A)
    assert world.admitter.of("retract") == [str(cid)]
    assert await world.held(peer) == set()
    peer.blocks[stone] = data
    world.clock.advance(MISSING_EVERY_S)
    await world.sync.sync(A)
    assert world.admitter.of("bury") == [str(cid)], "it is asked for again"


async def test_statements_and_keys_are_handed_on(world: World) -> None:
    peer = Publishing(1)
    (cid,) = questions(peer, 1)
    statement = peer.validate(cid)
    new = Author(50)
    peer.certify(new.did, "node", is_entered=True)
    peer.certificates.pop()
    record = new.answer("What is new?", issuer=peer.root, scope="public")
    peer.publish_record(record)
    await world.meet(peer)
    report = await world.sync.sync(A)
    assert report.held == 2, "the new key counts for what follows it"
    assert world.admitter.of("validation") == [str(statement)]
    assert len(await world.store.keys(peer.root)) == 3


async def test_a_revoked_key_counts_no_more_at_once(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 2)
    await world.meet(peer)
    await world.sync.sync(A)
    world.admitter.did.clear()
    peer.revoke(peer.node.did, "node", later(60))
    questions(peer, 1, 10)
    report = await world.sync.sync(A)
    assert world.admitter.did[0] == ("retier", peer.root), "before anything else"
    assert report.refused == {"key_revoked": 1}
    world.restart()
    questions(peer, 1, 20)
    assert (await world.sync.sync(A)).refused == {"key_revoked": 1}, "also after a restart"


async def test_a_key_that_another_root_has_signed_is_refused(world: World) -> None:
    peer, other = Publishing(1), Publishing(2)
    peer.certificates += other.certificates
    questions(peer, 1)
    await world.meet(peer)
    report = await world.sync.sync(A)
    assert (report.outcome, report.refused) == ("synced", {"key": 2})
    assert len(await world.store.keys(peer.root)) == 2


async def test_a_weighing_that_was_cut_off_is_finished(world: World) -> None:
    peer = Publishing(1)
    await world.meet(peer)
    await world.sync.sync(A)
    await world.store.begin(peer.root)
    world.admitter.did.clear()
    await world.sync.sync(A)
    assert world.admitter.did == [("retier", peer.root)]


async def test_an_entry_of_no_form_is_passed_over(world: World) -> None:
    peer = Publishing(1)
    peer.enter_raw(b'{"kind":"publish"}')
    peer.enter_raw(b'{"kind":"gossip","cid":"x"}')
    peer.log.append(b"\xff\x00 not even a leaf")
    (cid,) = questions(peer, 1)
    await world.meet(peer)
    report = await world.sync.sync(A)
    assert report.refused == {"malformed": 3}
    assert await world.held(peer) == {cid}
    assert (await world.store.counts(peer.root))["malformed"] == 3


async def test_what_is_held_is_not_fetched_again(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 3)
    for _ in range(3):
        peer.publish_record(peer.answer("What is number 1?"))
    link = await world.meet(peer)
    await world.sync.sync(A)
    assert link.asked.count("block") == len(cids)
    peer.publish_record(peer.answer("What is number 1?"))
    await world.sync.sync(A)
    assert link.asked.count("block") == len(cids)


async def test_where_a_root_has_no_room_nothing_more_is_fetched(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 400)
    world.admitter.codes = {cids[3]: "quota_records"}
    await world.meet(peer)
    report = await world.sync.sync(A)
    assert len(world.admitter.of("admit")) == 4
    assert report.refused == {"quota_records": 397}
    assert (await world.position(peer)).size == 400


# --- blocks that do not come ----------------------------------------------------------------------


async def test_others_are_asked_for_what_the_issuer_has_not(world: World) -> None:
    peer, helper = Publishing(1), Publishing(2)
    cids = questions(peer, 3)
    helper.blocks[cids[1]] = peer.blocks.pop(cids[1])
    await world.meet(peer)
    helping = MemoryLink(helper, "http://h.example")
    world.helpers = [helping, world.links[A]]
    report = await world.sync.sync(A)
    assert (report.held, report.refused) == (3, {})
    assert helping.asked == ["blocks", "block"]


@pytest.mark.parametrize("standing", [Standing("", Level.BLOCKED), Standing("", dropped="equivocation")])
async def test_who_is_not_listened_to_is_not_asked_either(world: World, standing: Standing) -> None:
    peer, bad = Publishing(1), Publishing(2)
    cids = questions(peer, 1)
    del peer.blocks[cids[0]]
    await world.meet(peer)
    helping = await world.meet(bad, "http://bad.example")
    await world.store.put_contact(Contact(helping.address, "operator", bad.root))
    await world.store.set_standing(replace(standing, root=bad.root))
    world.helpers = [helping]
    assert (await world.sync.sync(A)).refused == {"missing": 1}
    outcome = "blocked" if standing.level is Level.BLOCKED else "dropped"
    assert (await world.sync.sync(helping.address)).outcome == outcome
    assert helping.asked == []


async def test_what_nobody_has_is_asked_for_again_later(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 3)
    data = peer.blocks.pop(cids[2])
    link = await world.meet(peer)
    assert (await world.sync.sync(A)).refused == {"missing": 1}
    world.clock.advance(MISSING_EVERY_S - 1)
    peer.blocks[cids[2]] = data
    asked = link.asked.count("blocks")
    await world.sync.sync(A)
    world.clock.advance(1)
    report = await world.sync.sync(A)
    assert (report.outcome, report.held) == ("synced", 1)
    assert await world.held(peer) == set(cids)
    assert link.asked.count("blocks") <= asked + 1


async def test_blocks_that_nobody_has_do_not_make_us_flood_others(world: World) -> None:
    peer, helper = Publishing(1), Publishing(2)
    questions(peer, 3_000)
    peer.blocks.clear()
    await world.meet(peer)
    helping = MemoryLink(helper, "http://h.example")
    asked = 0

    def count(what: str, of: object) -> None:
        nonlocal asked
        assert isinstance(of, tuple)
        asked += len(of)

    helping.hook = count
    world.helpers = [helping]
    report = await world.sync.sync(A)
    assert report.refused == {"missing": 3_000}
    assert asked == 1_024


async def test_an_issuer_that_fails_while_it_gives(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 10)
    link = await world.meet(peer)
    given = 0

    def fail(what: str, of: object) -> None:
        nonlocal given
        if what == "block":
            given += 1
            if given == 5:
                raise Unavailable("it went away")

    link.hook = fail
    report = await world.sync.sync(A)
    assert (report.outcome, report.reason, report.held) == ("failed", "it went away", 4)
    assert (await world.position(peer)).size == 0, "what was not acted on is not behind us"
    report = await world.sync.sync(A)
    assert (report.outcome, report.fetched) == ("synced", 6)
    assert await world.held(peer) == set(cids)


async def test_our_own_store_fails_in_the_middle(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 600)
    await world.meet(peer)
    world.admitter.stop_at = 301
    assert (await world.sync.sync(A)).outcome == "failed"
    assert (await world.position(peer)).size == 256
    world.admitter.stop_at = None
    assert (await world.sync.sync(A)).outcome == "synced"
    assert await world.held(peer) == set(cids)


async def test_a_withdrawal_holds_though_nothing_can_be_fetched(world: World) -> None:
    peer = Publishing(1)
    (cid,) = questions(peer, 1)
    link = await world.meet(peer)
    await world.sync.sync(A)
    peer.certify(Author(50).did, "node", is_entered=True)
    peer.retract(cid)

    def fail(what: str, of: object) -> None:
        if what == "blocks":
            raise Unavailable("it gives nothing any more")

    link.hook = fail
    assert (await world.sync.sync(A)).outcome == "failed"
    assert await world.held(peer) == set()


# --- who is there ---------------------------------------------------------------------------------


async def test_another_root_at_the_address_is_refused(world: World) -> None:
    peer, other = Publishing(1), Publishing(2)
    questions(peer, 1)
    questions(other, 1)
    link = await world.meet(peer)
    await world.sync.sync(A)
    link.peer = other
    report = await world.sync.sync(A)
    assert report.outcome == "failed"
    assert report.reason.startswith("other_root: ")
    assert report.root == peer.root
    assert (await world.store.contacts())[0].root == peer.root
    assert await world.store.position(other.root) is None
    assert await world.store.keys(other.root) == []


async def test_who_only_says_a_name_is_not_believed(world: World) -> None:
    """A stranger shows the certificates of another root, and signs with a key of its own."""
    peer = Publishing(1)
    questions(peer, 1)
    peer.log.signer = peer.signer(Author(7).private)
    await world.meet(peer)
    report = await world.sync.sync(A)
    assert report.outcome == "failed"
    assert (await world.store.contacts())[0].root is None
    assert await world.store.keys(peer.root) == []
    assert world.admitter.did == []


async def test_this_node_itself_is_no_peer(world: World) -> None:
    peer = Publishing(99)
    assert peer.root == OWN
    await world.meet(peer)
    assert (await world.sync.sync(A)).reason.startswith("self: ")


async def test_a_log_key_that_is_new_is_asked_for(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 1)
    await world.meet(peer)
    await world.sync.sync(A)
    new = Author(44)
    peer.certify(new.did, "publications")
    peer.log.signer = peer.signer(new.private)
    questions(peer, 1, 1)
    assert (await world.sync.sync(A)).outcome == "synced"


async def test_the_log_of_another_use_is_refused(world: World) -> None:
    peer = Publishing(1)
    peer.certify(peer.log_did, "decisions")
    peer.origin = peer.origin.replace("publications", "decisions")
    peer.log.signer = peer.signer()
    questions(peer, 1)
    await world.meet(peer)
    assert (await world.sync.sync(A)).outcome == "failed"
    assert world.admitter.of("admit") == []


# --- lies about the log ---------------------------------------------------------------------------


def altered(path_start: str) -> Callable[[str, bytes], bytes]:
    def bend(path: str, data: bytes) -> bytes:
        return data[:-1] + bytes([data[-1] ^ 1]) if path.startswith(path_start) else data

    return bend


@pytest.mark.parametrize("path", ["checkpoint", "tile/entries/000", "tile/entries/003", "tile/0/", "tile/1/"])
async def test_altered_files_change_nothing_here(world: World, path: str) -> None:
    peer = Publishing(1)
    questions(peer, 100)
    link = await world.meet(peer)
    await world.sync.sync(A)
    did = len(world.admitter.did)
    for number in range(CHUNK_BUNDLES * 256 + 200):  # so that tiles are needed to prove a chunk
        peer.publish(f"What is more, {number}?") if number < 3 else peer.enter_raw(b'{"kind":"x"}')
    before = await world.position(peer)
    peer.bend = altered(path)
    report = await world.sync.sync(A)
    assert report.outcome == "failed"
    assert len(world.admitter.did) == did
    after = await world.position(peer)
    assert (after.size, after.edge) == (before.size, before.edge)
    assert world.cases == []
    peer.bend = None
    assert (await world.sync.sync(A)).outcome == "synced"
    assert link.asked


async def test_a_feed_that_breaks_off_in_the_middle(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 1)
    while len(peer.log.entries) < 4_990:
        peer.enter(Publish(cids[0], "generative", "ab" * 32, START))  # ended: nothing to fetch
    cids += questions(peer, 10, 10)
    link = await world.meet(peer)

    def cut(what: str, of: object) -> None:
        if what == "read" and str(of).startswith("tile/entries/017"):
            raise Unavailable("the line is cut")

    link.hook = cut
    report = await world.sync.sync(A)
    assert (report.outcome, report.entries) == ("failed", CHUNK_BUNDLES * 256)
    link.hook = None
    report = await world.sync.sync(A)
    assert (report.outcome, report.entries) == ("synced", 5_000 - CHUNK_BUNDLES * 256)
    assert await world.held(peer) == set(cids)
    assert len(world.admitter.of("admit")) == len(cids)


async def test_an_absurd_size_ends_at_the_first_missing_tile(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 3)
    huge = peer.log.note().split(b"\n")
    huge[1] = b"%d" % 2**62
    signed = Note(b"\n".join(huge[:3]) + b"\n", ())
    text = signed.text
    note = Note(text, (peer.signer().sign(text, 0),)).encode()
    peer.bend = lambda path, data: note if path == "checkpoint" else data
    link = await world.meet(peer)
    assert (await world.sync.sync(A)).outcome == "failed"
    assert len(link.asked) < 10


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


async def test_two_heads_of_one_size(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 300)
    await world.meet(peer)
    await world.sync.sync(A)
    peer.shown = peer.fork(290, 10)
    assert (await world.sync.sync(A)).outcome == "dropped"
    await is_evidence(world, peer)


async def test_two_heads_at_two_addresses(world: World) -> None:
    peer, twin = Publishing(1), Publishing(1)
    questions(peer, 20)
    twin.shown = peer.fork(10, 10)
    await world.meet(peer)
    await world.meet(twin, "http://b.example")
    outcomes = [report.outcome for report in await world.sync.sync_all()]
    assert sorted(outcomes) == ["dropped", "synced"]
    await is_evidence(world, peer)


@pytest.mark.parametrize("keeps", [0, 255, 256, 299])
async def test_a_larger_head_that_does_not_go_on(world: World, keeps: int) -> None:
    peer = Publishing(1)
    questions(peer, 300)
    await world.meet(peer)
    await world.sync.sync(A)
    did = len(world.admitter.did)
    peer.shown = peer.fork(keeps, 700)
    assert (await world.sync.sync(A)).outcome == "dropped"
    assert len(world.admitter.did) == did + 1, "nothing of it was acted on"
    await is_evidence(world, peer)


async def test_a_smaller_head_is_stale_and_no_evidence(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 300)
    await world.meet(peer)
    await world.sync.sync(A)
    peer.shown_size = 200
    report = await world.sync.sync(A)
    assert report.outcome == "failed"
    assert report.reason.startswith("stale: ")
    assert world.cases == []
    peer.shown_size = None
    assert (await world.sync.sync(A)).outcome == "unchanged"


async def test_a_smaller_head_of_another_history(world: World) -> None:
    """Where the larger tree is still to be had, it proves that the smaller one is not its beginning."""
    peer = Publishing(1)
    questions(peer, 300)
    await world.meet(peer)
    await world.sync.sync(A)
    other = peer.fork(100, 100)
    peer.bend = lambda path, data: other.note() if path == "checkpoint" else data
    assert (await world.sync.sync(A)).outcome == "dropped"
    await is_evidence(world, peer)


async def test_a_head_that_nothing_hashes_to_is_no_evidence(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 300)
    await world.meet(peer)
    await world.sync.sync(A)
    other = peer.fork(100, 500)
    peer.bend = lambda path, data: other.note() if path == "checkpoint" else data
    report = await world.sync.sync(A)
    assert report.outcome == "failed"
    assert world.cases == []
    assert (await world.position(peer)).size == 300


async def test_what_a_stolen_key_signed_is_forgotten_when_it_is_revoked(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 10)
    thief = peer.fork(5, 20)
    peer.shown = thief
    await world.meet(peer)
    assert (await world.sync.sync(A)).outcome == "synced"
    new = Author(44)
    peer.certify(new.did, "publications")
    peer.revoke(peer.log_did, "publications", later(60), is_entered=False)
    peer.log.signer = peer.signer(new.private)
    peer.shown = peer.log
    report = await world.sync.sync(A)
    assert (report.outcome, report.entries) == ("synced", 10)
    assert len(await world.held(peer)) == 10
    assert world.cases == []


async def test_a_new_epoch_is_read_from_its_beginning(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 10)
    link = await world.meet(peer)
    await world.sync.sync(A)
    after = Publishing(1, epoch=2)
    questions(after, 3, 100)
    link.peer = after
    report = await world.sync.sync(A)
    assert (report.outcome, report.entries) == ("synced", 3)
    link.peer = peer
    report = await world.sync.sync(A)
    assert report.reason.startswith("stale: ")


# --- pace -----------------------------------------------------------------------------------------


async def test_an_address_that_fails_is_left_alone_for_longer_and_longer(world: World) -> None:
    peer = Publishing(1)
    link = await world.meet(peer)

    def fail(what: str, of: object) -> None:
        raise Unavailable("nobody is there")

    link.hook = fail
    asked_at: list[float] = []
    for _ in range(2_000):
        before = len(link.asked)
        reports = await world.sync.sync_all()
        assert reports[0].outcome == "failed"
        if len(link.asked) > before:
            asked_at.append(world.clock.monotonic())
        world.clock.advance(10.0)
    waits = [after - before for before, after in pairwise(asked_at)]
    assert waits[:5] == [30, 60, 120, 240, 480]
    assert max(waits) == waits[-1] == 3_600
    assert world.sync.health()[0].status == "warn"
    link.hook = None
    assert (await world.sync.sync_all(is_hurried=True))[0].outcome == "unchanged"
    assert world.sync.health()[0].status == "pass"
    before = len(link.asked)
    await world.sync.sync_all()
    assert len(link.asked) > before, "what answers is asked each time"


async def test_a_peer_that_asks_to_wait_is_waited_for(world: World) -> None:
    peer = Publishing(1)
    link = await world.meet(peer)

    def wait(what: str, of: object) -> None:
        raise RateLimited("wait", retry_after_s=1_000)

    link.hook = wait
    await world.sync.sync_all()
    link.hook = None
    world.clock.advance(999)
    assert (await world.sync.sync_all())[0].outcome == "failed"
    world.clock.advance(1)
    assert (await world.sync.sync_all())[0].outcome == "unchanged"


async def test_a_round_that_takes_too_long_is_ended() -> None:
    world, peer = World(limits=Limits(seconds=60)), Publishing(1)
    questions(peer, 3)
    link = await world.meet(peer)
    reached = asyncio.Event()

    async def never(path: str, bytes_max: int) -> bytes:
        reached.set()
        await asyncio.Event().wait()
        return b""

    link.read = never  # type: ignore[method-assign]  # a link that hangs for good
    task = asyncio.create_task(world.sync.sync(A))
    await reached.wait()
    world.clock.advance(60)
    report = await task
    assert report.outcome == "failed"
    assert "more than 60 s" in report.reason


async def test_a_caller_that_leaves_ends_its_round(world: World) -> None:
    peer = Publishing(1)
    questions(peer, 3)
    link = await world.meet(peer)
    read, reached = link.read, asyncio.Event()

    async def never(path: str, bytes_max: int) -> bytes:
        reached.set()
        await asyncio.Event().wait()
        return b""

    link.read = never  # type: ignore[method-assign]  # a link that hangs for good
    task = asyncio.create_task(world.sync.sync(A))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    link.read = read  # type: ignore[method-assign]  # and is mended
    assert (await world.sync.sync(A)).outcome == "synced"


# --- peers of peers, the witness, mending ---------------------------------------------------------


@pytest.mark.parametrize("is_wanted", [True, False])
async def test_whom_peers_name(is_wanted: bool) -> None:
    world, peer = World(of_peers=is_wanted), Publishing(1)
    peer.named = [
        "http://127.0.0.1:5001",
        "http://10.0.0.7",
        "http://[::1]:80",
        "http://169.254.169.254",
        "http://localhost:8642",
        "http://intranet",
        "http://2130706433",
        "https://one.example/path",
        "ftp://one.example",
        A,
        *(f"https://p{number}.example" for number in range(40)),
    ]
    await world.meet(peer)
    await world.sync.sync(A)
    await world.sync.sync(A)
    named = [contact for contact in await world.store.contacts() if contact.address != A]
    assert [one.address for one in named] == [
        f"https://p{number}.example" for number in range(16)
    ] * is_wanted
    assert {one.source for one in named} <= {peer.root}


async def test_our_witness_cosigns_what_was_verified(tmp_path: Path) -> None:
    signer = CosignatureSigner("witness.example/w", private_key(5))
    witness = await Witness.open(tmp_path / "witness", lambda: [signer], [], ManualClock())
    world, peer = World(witness=witness), Publishing(1)
    await world.meet(peer)
    for size in (3, 300, 301):
        questions(peer, size - len(peer.log.entries), len(peer.log.entries))
        await world.sync.sync(A)
        note = witness.newest(origin_hash(peer.origin))
        assert open_checkpoint(note, [peer.signer().verifier]).checkpoint.size == size
        assert set(cosigned(Note.parse(note), [signer.verifier])) == {signer.name}
    peer.shown = peer.fork(300, 100)
    assert (await world.sync.sync(A)).outcome == "dropped"
    assert (
        open_checkpoint(witness.newest(origin_hash(peer.origin)), [peer.signer().verifier]).checkpoint.size
        == 301
    )
    await witness.close()


async def test_what_the_witness_was_shown_by_others_counts(tmp_path: Path) -> None:
    signer = CosignatureSigner("witness.example/w", private_key(5))
    witness = await Witness.open(tmp_path / "witness", lambda: [signer], [], ManualClock())
    world, peer = World(witness=witness), Publishing(1)
    questions(peer, 20)
    other = World(witness=witness)
    twin = Publishing(1)
    twin.log = twin.shown = peer.fork(10, 10)
    await other.meet(twin)
    await other.sync.sync(A)
    await world.meet(peer)
    assert (await world.sync.sync(A)).outcome == "dropped"
    await is_evidence(world, peer)
    await witness.close()


async def test_mending_brings_what_was_lost(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 300)
    gone = questions(peer, 2, 500)
    peer.retract(gone[0])
    peer.retract(gone[1], with_tombstone=False)
    await world.meet(peer)
    assert (await world.sync.mend(A)).outcome == "failed", "who was never read cannot be mended"
    world.clock.advance(100)
    await world.sync.sync(A)
    world.restart()
    lost = cids[::50]
    for cid in lost:
        await world.store.release(cid)
    world.admitter.did.clear()
    report = await world.sync.mend(A)
    assert (report.outcome, report.fetched) == ("synced", len(lost)), "and nothing that is kept"
    assert await world.held(peer) == set(cids)
    assert set(world.admitter.of("admit")) == {str(cid) for cid in lost}
    assert (await world.sync.mend(A)).outcome == "unchanged"


async def test_mending_does_not_bring_back_what_was_withdrawn_for_good(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 3)
    peer.retract(cids[0])
    await world.meet(peer)
    await world.sync.sync(A)
    peer.live[cids[0]] = peer.live[cids[1]]  # it says that it publishes it again
    assert (await world.sync.mend(A)).outcome == "unchanged"
    assert cids[0] not in await world.held(peer)


async def test_a_peer_that_compares_no_sets(world: World) -> None:
    peer = Publishing(1)
    link = await world.meet(peer)
    await world.sync.sync(A)

    def fail(what: str, of: object) -> None:
        if what == "reconcile":
            raise NotFound("there is no such route")

    link.hook = fail
    report = await world.sync.mend(A)
    assert report.outcome == "unchanged"
    assert "no sets" in report.reason


# --- over HTTP ------------------------------------------------------------------------------------


async def over_http(world: World, server: PeerStandIn, http: aiohttp.ClientSession) -> SyncReport:
    world.links[server.url] = HttpPeer(server.url, http, world.clock, timeout_s=5)
    await world.store.put_contact(Contact(server.url, "operator"))
    return await world.sync.sync(server.url)


async def test_an_honest_peer_over_http(world: World) -> None:
    peer = Publishing(1)
    cids = questions(peer, 600)
    stone = peer.retract(cids[0])
    async with aiohttp.ClientSession(auto_decompress=False) as http, PeerStandIn(peer) as server:
        report = await over_http(world, server, http)
        assert (report.outcome, report.entries, report.held) == ("synced", 601, 599)
        assert server.count("/peers/blocks") == 3
        assert server.count(f"/ipfs/{stone}") == 1, "one block is asked for by itself"
        assert (await world.sync.sync(server.url)).outcome == "unchanged"
        assert server.asked[-1] == ("GET", "/logs/publications/checkpoint")


@pytest.mark.parametrize(
    "mood",
    ["forged", "huge", "redirect", "gzip", "cut", "endless", "busy", "failing", "wrong_blocks", "nonsense"],
)
async def test_a_lying_peer_over_http(world: World, mood: str) -> None:
    peer = Publishing(1)
    questions(peer, 300)
    async with aiohttp.ClientSession(auto_decompress=False) as http, PeerStandIn(peer, mood) as server:
        report = await over_http(world, server, http)
        assert report.outcome == "failed"
        assert await world.held(peer) == set()
        assert (await world.store.position(peer.root) or Position(peer.root, "")).size == 0
        server.mood = "right"
        assert (await world.sync.sync(server.url)).held == 300
