"""Rounds with peers that lie about who they are or what they have published."""

from __future__ import annotations

from collections.abc import Callable

import aiohttp
import pytest

from node.core.errors import Unavailable
from node.core.signed_note import Note
from node.peers.rules.entry import Publish
from node.peers.rules.values import Contact, Position, SyncReport
from node.peers.sync.client import HttpPeer
from node.peers.sync.feed import CHUNK_BUNDLES
from tests.follow_kit import OWN, A, World, is_evidence, questions
from tests.record_builders import START, Author
from tests.simulators.peer import MemoryLink, PeerStandIn, Publishing, later
from tests.unit.peers.sync.steps import failing, read


async def test_another_root_at_an_address_is_refused(
    world: World, peer: Publishing, link: MemoryLink
) -> None:
    await read(world, peer, 1)
    other = link.peer = Publishing(2)
    questions(other, 1)
    report = await world.sync.sync(A)
    assert (report.outcome, report.root) == ("failed", peer.root)
    assert report.reason.startswith("other_root: ")
    assert (await world.store.contacts())[0].root == peer.root
    assert await world.store.position(other.root) is None
    assert await world.store.keys(other.root) == []


async def test_who_only_says_a_name_is_not_believed(world: World, peer: Publishing) -> None:
    """A stranger shows the certificates of another root, and signs with a key of its own."""
    questions(peer, 1)
    peer.log.signer = peer.signer(Author(7).private)
    assert (await world.sync.sync(A)).outcome == "failed"
    assert (await world.store.contacts())[0].root is None
    assert await world.store.keys(peer.root) == []
    assert world.admitter.did == []


async def test_this_node_itself_is_no_peer(world: World, link: MemoryLink) -> None:
    link.peer = Publishing(99)
    assert link.peer.root == OWN
    assert (await world.sync.sync(A)).reason.startswith("self: ")


async def test_a_log_key_that_is_new_is_asked_for(world: World, peer: Publishing) -> None:
    await read(world, peer, 1)
    new = Author(44)
    peer.certify(new.did, "publications")
    peer.log.signer = peer.signer(new.private)
    questions(peer, 1, 1)
    assert (await world.sync.sync(A)).outcome == "synced"


async def test_the_log_of_another_use_is_refused(world: World, peer: Publishing) -> None:
    peer.certify(peer.log_did, "decisions")
    peer.origin = peer.origin.replace("publications", "decisions")
    peer.log.signer = peer.signer()
    questions(peer, 1)
    assert (await world.sync.sync(A)).outcome == "failed"
    assert world.admitter.of("admit") == []


def altered(path_start: str) -> Callable[[str, bytes], bytes]:
    def bend(path: str, data: bytes) -> bytes:
        return data[:-1] + bytes([data[-1] ^ 1]) if path.startswith(path_start) else data

    return bend


def heading(note: bytes) -> Callable[[str, bytes], bytes]:
    """Show this checkpoint over the log's own files."""
    return lambda path, data: note if path == "checkpoint" else data


@pytest.mark.parametrize("path", ["checkpoint", "tile/entries/000", "tile/entries/003", "tile/0/", "tile/1/"])
async def test_altered_files_change_nothing_here(world: World, peer: Publishing, path: str) -> None:
    await read(world, peer, 100)
    did = len(world.admitter.did)
    for number in range(CHUNK_BUNDLES * 256 + 200):  # so that tiles are needed to prove a chunk
        peer.publish(f"What is more, {number}?") if number < 3 else peer.enter_raw(b'{"kind":"x"}')
    before = await world.position(peer)
    peer.bend = altered(path)
    assert (await world.sync.sync(A)).outcome == "failed"
    assert len(world.admitter.did) == did
    after = await world.position(peer)
    assert (after.size, after.edge) == (before.size, before.edge)
    assert world.cases == []
    peer.bend = None
    assert (await world.sync.sync(A)).outcome == "synced"


async def test_a_feed_that_breaks_off_in_the_middle(world: World, peer: Publishing, link: MemoryLink) -> None:
    cids = questions(peer, 1)
    while len(peer.log.entries) < 4_990:
        peer.enter(Publish(cids[0], "generative", "ab" * 32, START))  # ended: nothing to fetch
    cids += questions(peer, 10, 10)
    link.hook = failing(Unavailable("the line is cut"), "read", "tile/entries/017")
    report = await world.sync.sync(A)
    assert (report.outcome, report.entries) == ("failed", CHUNK_BUNDLES * 256)
    link.hook = None
    report = await world.sync.sync(A)
    assert (report.outcome, report.entries) == ("synced", 5_000 - CHUNK_BUNDLES * 256)
    assert await world.held(peer) == set(cids)
    assert len(world.admitter.of("admit")) == len(cids)


async def test_an_absurd_size_ends_at_a_missing_tile(
    world: World, peer: Publishing, link: MemoryLink
) -> None:
    questions(peer, 3)
    origin, _, root = peer.log.note().split(b"\n")[:3]
    text = b"%s\n%d\n%s\n" % (origin, 2**62, root)
    peer.bend = heading(Note(text, (peer.signer().sign(text, 0),)).encode())
    assert (await world.sync.sync(A)).outcome == "failed"
    assert len(link.asked) < 10


@pytest.mark.parametrize(("keeps", "more"), [(290, 10), (0, 700), (255, 700), (256, 700), (299, 700)])
async def test_a_head_that_does_not_go_on(world: World, peer: Publishing, keeps: int, more: int) -> None:
    await read(world, peer, 300)
    did = len(world.admitter.did)
    peer.shown = peer.fork(keeps, more)
    assert (await world.sync.sync(A)).outcome == "dropped"
    assert len(world.admitter.did) == did + 1, "nothing of it was acted on"
    await is_evidence(world, peer)


async def test_two_heads_at_two_addresses(world: World, peer: Publishing) -> None:
    questions(peer, 20)
    twin = Publishing(1)
    twin.shown = peer.fork(10, 10)
    await world.meet(twin, "http://b.example")
    outcomes = [report.outcome for report in await world.sync.sync_all()]
    assert sorted(outcomes) == ["dropped", "synced"]
    await is_evidence(world, peer)


async def test_a_smaller_head_is_stale_and_no_evidence(world: World, peer: Publishing) -> None:
    await read(world, peer, 300)
    peer.shown_size = 200
    report = await world.sync.sync(A)
    assert report.outcome == "failed"
    assert report.reason.startswith("stale: ")
    assert world.cases == []
    peer.shown_size = None
    assert (await world.sync.sync(A)).outcome == "unchanged"


async def test_a_smaller_head_of_another_history(world: World, peer: Publishing) -> None:
    """Where the larger tree is still to be had, it proves that the smaller one is not its beginning."""
    await read(world, peer, 300)
    peer.bend = heading(peer.fork(100, 100).note())
    assert (await world.sync.sync(A)).outcome == "dropped"
    await is_evidence(world, peer)


async def test_a_head_that_nothing_hashes_to_is_no_evidence(world: World, peer: Publishing) -> None:
    await read(world, peer, 300)
    peer.bend = heading(peer.fork(100, 500).note())
    assert (await world.sync.sync(A)).outcome == "failed"
    assert world.cases == []
    assert (await world.position(peer)).size == 300


async def test_what_a_stolen_key_signed_is_forgotten_once_revoked(world: World, peer: Publishing) -> None:
    questions(peer, 10)
    peer.shown = peer.fork(5, 20)  # by the thief
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


async def test_a_new_epoch_is_read_from_its_start(world: World, peer: Publishing, link: MemoryLink) -> None:
    await read(world, peer, 10)
    link.peer = Publishing(1, epoch=2)
    questions(link.peer, 3, 100)
    report = await world.sync.sync(A)
    assert (report.outcome, report.entries) == ("synced", 3)
    link.peer = peer
    assert (await world.sync.sync(A)).reason.startswith("stale: ")


async def over_http(world: World, server: PeerStandIn, http: aiohttp.ClientSession) -> SyncReport:
    world.links[server.url] = HttpPeer(server.url, http, world.clock, timeout_s=5)
    await world.store.put_contact(Contact(server.url, "operator"))
    return await world.sync.sync(server.url)


async def test_an_honest_peer_over_http(world: World, peer: Publishing) -> None:
    stone = peer.retract(questions(peer, 600)[0])
    async with aiohttp.ClientSession(auto_decompress=False) as http, PeerStandIn(peer) as server:
        report = await over_http(world, server, http)
        assert (report.outcome, report.entries, report.held) == ("synced", 601, 599)
        assert server.count("/peers/blocks") == 3
        assert server.count(f"/ipfs/{stone}") == 1, "one block is asked for by itself"
        assert (await world.sync.sync(server.url)).outcome == "unchanged"
        assert server.asked[-1] == ("GET", "/logs/publications/checkpoint")


BODIES = ["huge", "gzip", "cut", "endless", "wrong_blocks", "nonsense"]


@pytest.mark.parametrize("mood", [*BODIES, "forged", "redirect", "busy", "failing"])
async def test_a_lying_peer_over_http(world: World, peer: Publishing, mood: str) -> None:
    questions(peer, 300)
    async with aiohttp.ClientSession(auto_decompress=False) as http, PeerStandIn(peer, mood) as server:
        assert (await over_http(world, server, http)).outcome == "failed"
        assert await world.held(peer) == set()
        assert (await world.store.position(peer.root) or Position(peer.root, "")).size == 0
        server.mood = "right"
        assert (await world.sync.sync(server.url)).held == 300
