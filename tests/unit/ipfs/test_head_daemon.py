"""The head in a daemon: what it needs is pinned there, its name leads to it, and a daemon that is away, new,
emptied or ahead of us is met as what it is. Over the stand-in in both dialects, and over real daemons."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from node.core.clock import SystemClock
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.ipfs.head import EVERY_S, Head
from node.ipfs.head_daemon import CHECK_EVERY_S
from node.ipfs.index_pages import HeadBlock, parse_index
from node.ipfs.kubo import KuboBlockStore
from tests.engines import JsIpfs, Kubo
from tests.head_world import World
from tests.name_owner import Owner
from tests.simulators.kubo import KuboStandIn
from tests.unit.ipfs.test_head import after


@asynccontextmanager
async def at_work(world: World, url: str, timeout_s: float = 30) -> AsyncIterator[Head]:
    async with (
        aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http,
        world.job(KuboBlockStore(url, http, SystemClock(), timeout_s=timeout_s)) as head,
    ):
        yield head


def told(head: Head) -> bool:
    output = head.health().output
    return "the daemon publishes it" in output and head.health().status == "pass"


async def blocks_of(world: World, head: Cid) -> set[Cid]:
    index = HeadBlock.parse(await world.shelf.get(head)).index
    return {head, index, *parse_index(await world.shelf.get(index)).values()}


@pytest.mark.parametrize("dialect", ["kubo", "js-ipfs"])
async def test_the_daemon_has_the_newest_head_pinned_and_named(world: World, dialect: str) -> None:
    own = world.owners[0].name
    await world.answer("Who won?")
    async with KuboStandIn(dialect) as daemon:
        async with at_work(world, daemon.url) as head:
            await world.rest()
            assert told(head)
            first = head.cid
            assert first is not None
            assert daemon.pinned() == await blocks_of(world, first)
            if dialect == "kubo":
                assert daemon.names == {own: head.record}
            else:
                [(name, record)] = daemon.names.items()
                assert name != own
                assert head.health().output.endswith(f"under its own key, as /ipns/{name.text}")
                assert ipns.decode(record, name).value == f"/ipfs/{first}"
            await world.answer("Who lost?")
            await world.rest(head.changed)
            await after(world, EVERY_S)
            newest = head.cid
            assert newest not in (None, first)
            assert any(f"/ipfs/{newest}".encode() in one for one in daemon.names.values())
            assert newest is not None
            assert daemon.pinned() == await blocks_of(world, newest)
            assert daemon.holds(first), "that is left to the daemon's garbage collection"
        puts = daemon.count("block/put")
        async with at_work(world, daemon.url) as head:
            await world.until(lambda: told(head))
        assert daemon.count("block/put") == puts, "nothing is given twice"


async def test_a_daemon_that_is_away_holds_up_nothing(world: World) -> None:
    daemon = KuboStandIn()
    async with daemon:
        pass
    async with at_work(world, daemon.url) as head:
        await world.until(lambda: head.health().status == "warn")
        assert "the daemon is told later" in head.health().output
        assert head.record is not None
        first = head.cid
        await world.answer("Who won?")
        await world.rest(head.changed)
        await after(world, EVERY_S)
        assert head.cid != first
        async with daemon:
            await after(world, 200)
            assert told(head)
            assert daemon.names == {world.owners[0].name: head.record}


@pytest.mark.parametrize("ahead", [0, 10_000])
async def test_a_daemon_that_knows_a_newer_record_is_outdone(world: World, ahead: int) -> None:
    """This node's state is older than what it has published."""
    owner = world.owners[0]
    now = int(world.clock.now().timestamp())
    known = owner.record(world.clock.now(), sequence=now + ahead, value="/ipfs/bafkqaaa")
    async with KuboStandIn(names={owner.name: known}) as daemon, at_work(world, daemon.url) as head:
        await world.until(lambda: daemon.names[owner.name] != known)
        assert daemon.names[owner.name] == head.record
        assert world.last.sequence > now + ahead
        assert world.last.value == f"/ipfs/{head.cid}"


async def test_a_name_that_the_network_never_finds_is_published(world: World) -> None:
    async with KuboStandIn(searches=True) as daemon, at_work(world, daemon.url, timeout_s=0.3) as head:
        await world.until(lambda: world.owners[0].name in daemon.names or head.health().status == "warn")
        assert daemon.names == {world.owners[0].name: head.record}


async def test_js_ipfs_publishes_again_with_every_renewal(world: World) -> None:
    async with KuboStandIn("js-ipfs") as daemon, at_work(world, daemon.url) as head:
        await world.rest()
        first = head.cid
        assert daemon.count("name/publish") == 1
        await after(world, CHECK_EVERY_S + 1)
        assert daemon.count("name/publish") == 1, "it was told already"
        await after(world, 12 * 3_600 + 60)
        await world.rest()
        assert (head.cid, daemon.count("name/publish")) == (first, 2)


async def test_a_dropped_names_last_record_is_told_too(world: World) -> None:
    old, new = world.owners[0], Owner(2)
    async with KuboStandIn() as daemon, at_work(world, daemon.url) as head:
        await world.until(lambda: told(head))
        await head.lead_over(old.key, new.name)
        world.owners[:] = [new]
        head.settle()
        world.clock.advance(EVERY_S)
        await world.until(lambda: new.name in daemon.names)
        await world.until(lambda: f"/ipns/{new.name.text}".encode() in daemon.names[old.name])


async def test_an_older_record_in_the_daemon_is_replaced(world: World) -> None:
    owner = world.owners[0]
    known = owner.record(world.clock.now(), sequence=3)
    async with KuboStandIn(names={owner.name: known}) as daemon, at_work(world, daemon.url) as head:
        await world.until(lambda: told(head))
        assert daemon.names == {owner.name: head.record}
        assert len(world.seen) == 1


async def test_an_emptied_daemon_is_given_everything_again(world: World) -> None:
    await world.answer("Who won?")
    async with KuboStandIn() as daemon, at_work(world, daemon.url) as head:
        await world.rest()
        assert told(head)
        daemon.lose_everything()
        await after(world, CHECK_EVERY_S + 1)
        assert daemon.names == {world.owners[0].name: head.record}
        assert head.cid is not None
        assert daemon.pinned() == await blocks_of(world, head.cid)


async def test_a_refusal_is_said_and_tried_again(world: World) -> None:
    async with KuboStandIn(faults={"routing/put": "no peers today"}) as daemon:
        async with at_work(world, daemon.url) as head:
            await world.until(lambda: "no peers today" in head.health().output)
            assert head.health().status == "warn"
            daemon.faults.clear()
            await after(world, 10)
            assert told(head)


async def test_old_names_are_told_too(world: World) -> None:
    old, new = world.owners[0], Owner(2)
    async with KuboStandIn() as daemon, at_work(world, daemon.url) as head:
        await world.until(lambda: told(head))
        world.owners.insert(0, new)
        head.changed()
        world.clock.advance(EVERY_S)
        await world.until(lambda: new.name in daemon.names)
        await world.until(lambda: f"/ipns/{new.name.text}".encode() in daemon.names[old.name])


async def test_without_the_daemon_its_head_is_forgotten(world: World) -> None:
    async with KuboStandIn() as daemon, at_work(world, daemon.url) as head:
        await world.until(lambda: told(head))
        first = head.cid
    assert first is not None
    await world.answer("Who won?")
    async with world.job() as head:
        await world.until(lambda: head.cid not in (None, first))
        await after(world, 400)
    assert not await world.shelf.has(first)


@pytest.mark.engine("js_ipfs")
async def test_the_head_in_js_ipfs(world: World, js_ipfs: JsIpfs) -> None:
    await world.answer("Who won?")
    async with at_work(world, js_ipfs.url) as head:
        await world.until(lambda: told(head))
        name = IpnsName.parse(head.health().output.rpartition("/ipns/")[2]).peer_id  # all that it resolves
        async with (
            aiohttp.ClientSession(trust_env=False) as http,
            http.post(f"{js_ipfs.url}/api/v0/name/resolve", params={"arg": f"/ipns/{name}"}) as response,
        ):
            assert (await response.json(content_type=None)) == {"Path": f"/ipfs/{head.cid}"}


@pytest.mark.engine("kubo")
async def test_the_head_in_a_real_kubo(world: World, real_kubo: Kubo) -> None:
    await world.answer("Who won?")
    async with at_work(world, real_kubo.url) as head:
        await world.until(lambda: told(head))
