"""Rounds with peers that are honest, slow or old. No network: links in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.audit.witnesses.ours import Witness, origin_hash
from node.core.errors import NotFound
from node.core.signed_note import Checkpoint, CosignatureSigner, Note, cosigned, open_checkpoint
from node.peers.rules.entry import Publish
from node.peers.sync.entries import AT_ONCE, MISSING_EVERY_S
from node.peers.sync.feed import CHUNK_BUNDLES
from node.peers.sync.follow import IDENTITY_EVERY_S, Limits
from tests.follow_kit import A, World, is_evidence, questions
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author
from tests.simulators.peer import MemoryLink, Publishing, later
from tests.tlog_memory import private_key
from tests.unit.peers.sync.steps import failing, read

# --- honest peers ---------------------------------------------------------------------------------


async def test_what_is_published_arrives(world: World, peer: Publishing, link: MemoryLink) -> None:
    cids = questions(peer, 5)
    report = await world.sync.sync(A)
    found = (report.outcome, report.size, report.entries, report.fetched, report.held, report.root)
    assert found == ("synced", 5, 5, 5, 5, peer.root)
    assert await world.held(peer) == set(cids)
    assert world.sync.reports == {A: report}
    assert (await world.store.contacts())[0].root == peer.root, "who proved to be there stays"
    assert link.asked.count("blocks") == 1
    more = questions(peer, 2, 5)
    assert (await world.sync.sync(A)).entries == 2
    assert await world.held(peer) == {*cids, *more}
    assert world.admitter.of("admit") == [str(cid) for cid in (*cids, *more)]


async def test_nothing_new_is_one_request(world: World, peer: Publishing, link: MemoryLink) -> None:
    await read(world, peer, 3)
    link.asked.clear()
    report = await world.sync.sync(A)
    assert (report.outcome, report.size, report.bytes) == ("unchanged", 3, 0)
    assert link.asked == ["checkpoint"]
    world.clock.advance(IDENTITY_EVERY_S)
    await world.sync.sync(A)
    assert link.asked == ["checkpoint", "certificates", "checkpoint"]


async def test_a_peer_that_has_published_nothing(world: World, peer: Publishing) -> None:
    assert (await world.sync.sync(A)).outcome == "unchanged"
    questions(peer, 1)
    assert (await world.sync.sync(A)).outcome == "synced"


async def test_after_a_restart_the_rest_is_read(world: World, peer: Publishing) -> None:
    await read(world, peer, 700)
    cids = questions(peer, 300, 700)
    world.restart()
    report = await world.sync.sync(A)
    assert (report.entries, report.fetched) == (300, 300)
    assert set(cids) <= await world.held(peer)
    assert (await world.position(peer)).size == 1_000


@pytest.mark.parametrize("sizes", [(1, 2), (255, 256, 257), (256, 512), (300, 5_000, 5_001), (4_096, 8_192)])
async def test_each_size_goes_on_from_another(world: World, peer: Publishing, sizes: tuple[int, ...]) -> None:
    record = peer.publish("What is IPFS?")
    for size in sizes:
        while len(peer.log.entries) < size:
            peer.enter(Publish(record, "generative", "ab" * 32, START))  # ended: nothing to fetch
        report = await world.sync.sync(A)
        assert report.outcome == "synced", report.reason
        assert (await world.position(peer)).size == size
    assert report.refused["expired"] == sizes[-1] - max(1, sizes[-2])


async def test_a_long_feed_is_read_in_rounds_of_bounded_size(world: World, peer: Publishing) -> None:
    world.limits = Limits(entries=512)
    world.restart()
    cids = questions(peer, 1_300)
    outcomes = [(await world.sync.sync(A)).outcome for _ in range(4)]
    assert outcomes == ["partial", "partial", "synced", "unchanged"]
    assert await world.held(peer) == set(cids)
    assert len(world.admitter.of("admit")) == len(cids), "nothing is done twice"


async def test_a_round_ends_at_its_bytes(world: World, peer: Publishing) -> None:
    world.limits = Limits(bytes=100_000)
    world.restart()
    for number in range(600):
        peer.publish(f"What is {number}?", answer="long " * 100)
    first = await world.sync.sync(A)
    assert first.outcome == "partial"
    assert first.bytes < 1_500_000
    while (await world.sync.sync(A)).outcome == "partial":
        pass
    assert len(await world.held(peer)) == 600


async def test_a_long_feed_needs_little_memory(world: World, peer: Publishing, link: MemoryLink) -> None:
    """Chunks are of bounded size, and one follows the other only when it was acted on."""
    record = peer.publish("What is IPFS?")
    for _ in range(CHUNK_BUNDLES * 256 * 2):
        peer.enter(Publish(record, "generative", "ab" * 32, START))
    seen: list[tuple[int, int]] = []

    def watch(what: str, of: object) -> None:
        position = world.store._roots[peer.root].position if peer.root in world.store._roots else None
        if what == "read" and str(of).startswith("tile/entries/"):
            seen.append((int(str(of)[13:16]), 0 if position is None else position.size))

    link.hook = watch
    await world.sync.sync(A)
    assert len(seen) == 2 * CHUNK_BUNDLES + 1
    assert all(number * 256 - done < CHUNK_BUNDLES * 256 for number, done in seen)


async def test_rounds_of_one_root_by_two_addresses_do_not_mix(world: World, peer: Publishing) -> None:
    cids = questions(peer, 600)
    await world.meet(peer, "http://b.example")
    await asyncio.gather(world.sync.sync(A), world.sync.sync("http://b.example"), world.sync.sync(A))
    assert await world.held(peer) == set(cids)
    assert len(world.admitter.of("admit")) == 600


async def test_all_are_asked_a_few_at_a_time() -> None:
    world, running, most = World(), 0, 0

    class Slow(MemoryLink):
        """Takes its time."""

        async def checkpoint(self, etag: str | None = None) -> tuple[bytes | None, str | None]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(5):
                await asyncio.sleep(0)
            running -= 1
            return await super().checkpoint(etag)

    for number in range(10):
        peer, address = Publishing(number + 1), f"http://p{number}.example"
        questions(peer, 1)
        await world.meet(peer, address)
        world.links[address] = Slow(peer, address)
    assert [report.outcome for report in await world.sync.sync_all()] == ["synced"] * 10
    assert most == 4


async def test_an_address_that_nobody_has_added(world: World) -> None:
    with pytest.raises(NotFound):
        await world.sync.sync("http://nobody.example")


# --- entries --------------------------------------------------------------------------------------


async def test_what_is_withdrawn_later_is_not_fetched(world: World, peer: Publishing) -> None:
    gone, stays, back = questions(peer, 3)
    peer.retract(gone)
    peer.retract(back, with_tombstone=False)
    questions(peer, 1, 2)
    report = await world.sync.sync(A)
    assert world.admitter.of("admit") == [str(stays), str(back)]
    assert world.admitter.of("bury") == [str(gone)]
    assert world.admitter.of("retract") == [str(back)]
    assert (report.retracted, report.refused["retracted"]) == (2, 2)


async def test_a_late_copy_loses_to_the_tombstone(world: World, peer: Publishing) -> None:
    peer.retract(*questions(peer, 1))
    await world.sync.sync(A)
    questions(peer, 1)
    assert (await world.sync.sync(A)).refused == {"tombstoned": 1}
    assert world.admitter.of("admit") == []


async def test_a_withdrawal_whose_tombstone_cannot_be_had(world: World, peer: Publishing) -> None:
    [cid] = await read(world, peer, 1)
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


async def test_statements_and_keys_are_handed_on(world: World, peer: Publishing) -> None:
    [cid] = questions(peer, 1)
    statement = peer.validate(cid)
    new = Author(50)
    peer.certify(new.did, "node", is_entered=True)
    peer.certificates.pop()
    peer.publish_record(new.answer("What is new?", issuer=peer.root, scope="public"))
    assert (await world.sync.sync(A)).held == 2, "the new key counts for what follows it"
    assert world.admitter.of("validation") == [str(statement)]
    assert len(await world.store.keys(peer.root)) == 3


async def test_a_revoked_key_counts_no_more_at_once(world: World, peer: Publishing) -> None:
    await read(world, peer, 2)
    world.admitter.did.clear()
    peer.revoke(peer.node.did, "node", later(60))
    questions(peer, 1, 10)
    report = await world.sync.sync(A)
    assert world.admitter.did[0] == ("retier", peer.root), "before anything else"
    assert report.refused == {"key_revoked": 1}
    world.restart()
    questions(peer, 1, 20)
    assert (await world.sync.sync(A)).refused == {"key_revoked": 1}, "also after a restart"


async def test_a_key_that_another_root_has_signed_is_refused(world: World, peer: Publishing) -> None:
    peer.certificates += Publishing(2).certificates
    questions(peer, 1)
    report = await world.sync.sync(A)
    assert (report.outcome, report.refused) == ("synced", {"key": 2})
    assert len(await world.store.keys(peer.root)) == 2


async def test_a_weighing_that_was_cut_off_is_finished(world: World, peer: Publishing) -> None:
    await world.sync.sync(A)
    await world.store.begin(peer.root)
    world.admitter.did.clear()
    await world.sync.sync(A)
    assert world.admitter.did == [("retier", peer.root)]


async def test_an_entry_of_no_form_is_passed_over(world: World, peer: Publishing) -> None:
    peer.enter_raw(b'{"kind":"publish"}')
    peer.enter_raw(b'{"kind":"gossip","cid":"x"}')
    peer.log.append(b"\xff\x00 not even a leaf")
    cids = questions(peer, 1)
    assert (await world.sync.sync(A)).refused == {"malformed": 3}
    assert await world.held(peer) == set(cids)
    assert (await world.store.counts(peer.root))["malformed"] == 3


async def test_what_is_held_is_not_fetched_again(world: World, peer: Publishing, link: MemoryLink) -> None:
    cids = questions(peer, 3)
    for _ in range(3):
        questions(peer, 1, 1)
    await world.sync.sync(A)
    await read(world, peer, 1, 1)
    assert link.asked.count("block") == len(cids)


async def test_where_a_root_has_no_room_nothing_more_is_fetched(world: World, peer: Publishing) -> None:
    cids = questions(peer, 400)
    world.admitter.codes = {cids[3]: "quota_records"}
    report = await world.sync.sync(A)
    assert len(world.admitter.of("admit")) == AT_ONCE
    assert report.refused == {"quota_records": 400 - AT_ONCE + 1}
    assert (await world.position(peer)).size == 400


# --- peers of peers, the witness, mending ---------------------------------------------------------

INSIDE = ["http://127.0.0.1:5001", "http://10.0.0.7", "http://[::1]:80", "http://169.254.169.254"]
NO_NAMES = ["http://localhost:8642", "http://intranet", "http://2130706433", "https://one.example/path"]
PUBLIC = [f"https://p{number}.example" for number in range(40)]


@pytest.mark.parametrize("is_wanted", [True, False])
async def test_whom_peers_name(world: World, peer: Publishing, is_wanted: bool) -> None:
    world.of_peers = is_wanted
    world.restart()
    peer.named = [*INSIDE, *NO_NAMES, "ftp://one.example", A, *PUBLIC]
    await world.sync.sync(A)
    await world.sync.sync(A)
    named = [contact for contact in await world.store.contacts() if contact.address != A]
    assert [one.address for one in named] == PUBLIC[:16] * is_wanted
    assert {one.source for one in named} <= {peer.root}


SIGNER = CosignatureSigner("witness.example/w", private_key(5))


@pytest.fixture
async def witness(world: World, tmp_path: Path) -> AsyncIterator[Witness]:
    """Our witness, which sees what ``world`` verifies."""
    made = world.witness = await Witness.open(tmp_path / "witness", lambda: [SIGNER], [], ManualClock())
    world.restart()
    yield made
    await made.close()


async def test_our_witness_cosigns_what_is_verified(world: World, peer: Publishing, witness: Witness) -> None:
    def newest(note: bytes) -> Checkpoint:
        return open_checkpoint(note, [peer.signer().verifier]).checkpoint

    for size in (3, 300, 301):
        await read(world, peer, size - len(peer.log.entries), len(peer.log.entries))
        note = witness.newest(origin_hash(peer.origin))
        assert newest(note).size == size
        assert set(cosigned(Note.parse(note), [SIGNER.verifier])) == {SIGNER.name}
    peer.shown = peer.fork(300, 100)
    assert (await world.sync.sync(A)).outcome == "dropped"
    assert newest(witness.newest(origin_hash(peer.origin))).size == 301


async def test_what_others_showed_the_witness_counts(
    world: World, peer: Publishing, witness: Witness
) -> None:
    questions(peer, 20)
    other, twin = World(witness=witness), Publishing(1)
    twin.log = twin.shown = peer.fork(10, 10)
    await other.meet(twin)
    await other.sync.sync(A)
    assert (await world.sync.sync(A)).outcome == "dropped"
    await is_evidence(world, peer)


async def test_mending_brings_what_was_lost(world: World, peer: Publishing) -> None:
    cids, gone = questions(peer, 300), questions(peer, 2, 500)
    peer.retract(gone[0])
    peer.retract(gone[1], with_tombstone=False)
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


async def test_mending_brings_back_nothing_that_was_withdrawn_for_good(
    world: World, peer: Publishing
) -> None:
    cids = questions(peer, 3)
    peer.retract(cids[0])
    await world.sync.sync(A)
    peer.live[cids[0]] = peer.live[cids[1]]  # it says that it publishes it again
    assert (await world.sync.mend(A)).outcome == "unchanged"
    assert cids[0] not in await world.held(peer)


async def test_a_peer_that_compares_no_sets(world: World, link: MemoryLink) -> None:
    await world.sync.sync(A)
    link.hook = failing(NotFound("there is no such route"), "reconcile")
    report = await world.sync.mend(A)
    assert report.outcome == "unchanged"
    assert "no sets" in report.reason
