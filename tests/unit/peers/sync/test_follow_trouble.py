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


@pytest.fixture
def world() -> World:
    return World()


# --- blocks that do not come ----------------------------------------------------------------------


def hung(link: MemoryLink) -> asyncio.Event:
    """Make reads of the link hang for good; set when the first does."""
    reached = asyncio.Event()

    async def never(path: str, bytes_max: int) -> bytes:
        reached.set()
        await asyncio.Event().wait()
        return b""

    link.read = never  # type: ignore[method-assign]  # a link that hangs for good
    return reached


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
    reached = hung(link)
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
    read, reached = link.read, hung(link)
    task = asyncio.create_task(world.sync.sync(A))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    link.read = read  # type: ignore[method-assign]  # and is mended
    assert (await world.sync.sync(A)).outcome == "synced"
