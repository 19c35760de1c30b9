"""Rounds in which something is missing, fails or takes too long. No network: links in memory."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from node.core.errors import RateLimited, Unavailable
from node.peers.rules.values import Contact, Level, Standing
from node.peers.sync.entries import MISSING_EVERY_S
from node.peers.sync.follow import Limits
from tests.follow_kit import A, World, questions
from tests.record_builders import Author
from tests.simulators.peer import MemoryLink, Publishing
from tests.unit.peers.sync.steps import failing, read


def hung(link: MemoryLink) -> asyncio.Event:
    """Make reads of the link hang for good; set when the first does."""
    reached = asyncio.Event()

    async def never(path: str, bytes_max: int) -> bytes:
        reached.set()
        await asyncio.Event().wait()
        return b""

    link.read = never
    return reached


@pytest.fixture
def helping(world: World) -> MemoryLink:
    """The way to another peer, which may have what an issuer has not."""
    helper = MemoryLink(Publishing(2), "http://h.example")
    world.helpers = [helper, world.links[A]]
    return helper


async def test_others_are_asked_for_what_it_has_not(
    world: World, peer: Publishing, helping: MemoryLink
) -> None:
    cids = questions(peer, 3)
    helping.peer.blocks[cids[1]] = peer.blocks.pop(cids[1])
    report = await world.sync.sync(A)
    assert (report.held, report.refused) == (3, {})
    assert helping.asked == ["blocks", "block"]


@pytest.mark.parametrize(
    ("standing", "outcome"),
    [(Standing("", Level.BLOCKED), "blocked"), (Standing("", dropped="equivocation"), "dropped")],
)
async def test_who_is_not_listened_to_is_not_asked_either(
    world: World, peer: Publishing, helping: MemoryLink, standing: Standing, outcome: str
) -> None:
    del peer.blocks[questions(peer, 1)[0]]
    bad = helping.peer.root
    world.links[helping.address] = helping
    await world.store.put_contact(Contact(helping.address, "operator", bad))
    await world.store.set_standing(replace(standing, root=bad))
    assert (await world.sync.sync(A)).refused == {"missing": 1}
    assert (await world.sync.sync(helping.address)).outcome == outcome
    assert helping.asked == []


async def test_what_nobody_has_is_asked_for_again(world: World, peer: Publishing, link: MemoryLink) -> None:
    cids = questions(peer, 3)
    data = peer.blocks.pop(cids[2])
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


async def test_what_nobody_has_makes_no_flood(world: World, peer: Publishing, helping: MemoryLink) -> None:
    questions(peer, 3_000)
    peer.blocks.clear()
    asked: list[object] = []

    def count(what: str, of: object) -> None:
        assert isinstance(of, tuple)
        asked.extend(of)

    helping.hook = count
    assert (await world.sync.sync(A)).refused == {"missing": 3_000}
    assert len(asked) == 1_024


async def test_an_issuer_that_fails_while_it_gives(world: World, peer: Publishing, link: MemoryLink) -> None:
    cids = questions(peer, 10)

    def fail(what: str, of: object) -> None:
        if link.asked.count("block") == 5:
            raise Unavailable("it went away")

    link.hook = fail
    report = await world.sync.sync(A)
    assert (report.outcome, report.reason, report.held) == ("failed", "it went away", 4)
    assert (await world.position(peer)).size == 0, "what was not acted on is not behind us"
    link.hook = None
    report = await world.sync.sync(A)
    assert (report.outcome, report.fetched) == ("synced", 6)
    assert await world.held(peer) == set(cids)


async def test_our_own_store_fails_in_the_middle(world: World, peer: Publishing) -> None:
    cids = questions(peer, 600)
    world.admitter.stop_at = 301
    assert (await world.sync.sync(A)).outcome == "failed"
    assert (await world.position(peer)).size == 256
    world.admitter.stop_at = None
    assert (await world.sync.sync(A)).outcome == "synced"
    assert await world.held(peer) == set(cids)


async def test_a_withdrawal_holds_without_its_blocks(
    world: World, peer: Publishing, link: MemoryLink
) -> None:
    [cid] = await read(world, peer, 1)
    peer.certify(Author(50).did, "node", is_entered=True)
    peer.retract(cid)
    link.hook = failing(Unavailable("it gives nothing any more"), "blocks")
    assert (await world.sync.sync(A)).outcome == "failed"
    assert await world.held(peer) == set()


async def test_an_address_that_fails_is_left_alone_ever_longer(world: World, link: MemoryLink) -> None:
    link.hook = failing(Unavailable("nobody is there"))
    asked_at: list[float] = []
    for _ in range(2_000):
        before = len(link.asked)
        assert (await world.sync.sync_all())[0].outcome == "failed"
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


async def test_a_peer_that_asks_to_wait_is_waited_for(world: World, link: MemoryLink) -> None:
    link.hook = failing(RateLimited("wait", retry_after_s=1_000))
    await world.sync.sync_all()
    link.hook = None
    world.clock.advance(999)
    assert (await world.sync.sync_all())[0].outcome == "failed"
    world.clock.advance(1)
    assert (await world.sync.sync_all())[0].outcome == "unchanged"


async def test_a_round_that_takes_too_long_is_ended(world: World, peer: Publishing, link: MemoryLink) -> None:
    world.limits = Limits(seconds=60)
    world.restart()
    questions(peer, 3)
    reached = hung(link)
    task = asyncio.create_task(world.sync.sync(A))
    await reached.wait()
    world.clock.advance(60)
    report = await task
    assert report.outcome == "failed"
    assert "more than 60 s" in report.reason


async def test_a_caller_that_leaves_ends_its_round(world: World, peer: Publishing, link: MemoryLink) -> None:
    questions(peer, 3)
    right, reached = link.read, hung(link)
    task = asyncio.create_task(world.sync.sync(A))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    link.read = right
    assert (await world.sync.sync(A)).outcome == "synced"
