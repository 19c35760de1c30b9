"""Addresses that peers name, and the way that leads to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from node.app.links import Links
from node.core.identity import Identity
from node.core.ipld.ipns import IpnsName
from node.core.settings import load
from node.peers.ports import PeerLink
from node.peers.rules.values import Contact
from node.peers.sync.client import HttpPeer
from node.peers.sync.follow import PeerSync, Watch, Ways
from node.peers.sync.peers_of_peers import is_told
from node.store.ipns_records import Names
from tests.desk_kit import A, Far, Kit
from tests.follow_kit import OWN, World
from tests.manual_clock import ManualClock
from tests.simulators.peer import MemoryLink, Publishing

HERE, THERE = "http://127.0.0.1:8642", "http://a.example"


async def named(world: World, peer: Publishing, address: str) -> set[str]:
    """Whom this node polls once it has read ``peer``, found at ``address``, apart from that."""
    await world.meet(peer, address)
    assert (await world.sync.sync(address)).outcome in ("synced", "unchanged")
    return {contact.address for contact in await world.store.contacts()} - {address}


@pytest.mark.parametrize("address", [HERE, THERE])
async def test_who_is_on_this_machine_may_name_others_on_it(address: str) -> None:
    peer = Publishing(1)
    peer.named = ["http://127.0.0.1:8652", "http://localhost:8652", "http://10.0.0.7", "https://b.example"]
    inside = {"http://127.0.0.1:8652"} if address == HERE else set[str]()
    assert await named(World(of_peers=True), peer, address) == {"https://b.example", *inside}


async def test_whom_a_peer_has_named_names_nobody_on_this_machine() -> None:
    world, peer, other = World(of_peers=True), Publishing(1), Publishing(2)
    peer.named, other.named = ["http://127.0.0.1:8652"], ["http://127.0.0.1:1", "https://c.example"]
    assert await named(world, peer, HERE) == {"http://127.0.0.1:8652"}
    link = await world.meet(other, "http://127.0.0.1:8652")
    contacts = {contact.address: contact for contact in await world.store.contacts()}
    await world.store.put_contact(replace(contacts[link.address], source=peer.root))
    assert (await world.sync.sync(link.address)).outcome in ("synced", "unchanged")
    assert {one.address for one in await world.store.contacts()} == {HERE, link.address, "https://c.example"}


async def test_each_is_reached_by_the_way_of_who_named_it() -> None:
    world, one = World(), Publishing(1)
    await world.meet(one, THERE)
    await world.meet(Publishing(2), "http://b.example")
    await world.store.put_contact(Contact("http://b.example", one.root))
    ways: list[tuple[str, str]] = []

    def way(kind: str, address: str) -> PeerLink:
        ways.append((kind, address))
        return world.links[address]

    sync = PeerSync(
        world.store,
        world.admitter,
        world.clock,
        Ways(lambda address: way("ours", address), lambda address: way("told", address), list),
        Watch(world._keep),
        OWN,
    )
    await sync.sync_all()
    assert sorted(ways) == [("ours", THERE), ("told", "http://b.example")]


async def test_a_link_is_as_free_as_who_named_its_address(tmp_path: Path) -> None:
    clock = ManualClock()
    name = IpnsName.of(bytes(range(32)))
    names = await Names.open(tmp_path / "names.sqlite", clock, own=IpnsName.of(bytes(32)))
    settings = load({}, flags={"peers": {"urls": [THERE]}})

    def is_free(link: PeerLink) -> bool:
        assert isinstance(link, HttpPeer)
        return not link.is_told

    try:
        async with aiohttp.ClientSession() as http:
            links = Links(settings, http, names, None, clock)
            assert is_free(links.to(THERE))
            told = links.told("https://b.example")
            assert not is_free(told)
            assert links.told("https://b.example") is told
            assert is_free(links.to("https://b.example")), "the operator has named it as well"
            assert links.told(name.text) is links.to(name.text), "a name leads nowhere by itself"
    finally:
        await names.close()


@pytest.mark.parametrize(("source", "then"), [("did:key:z6MkPeer", "operator"), ("settings", "settings")])
async def test_who_is_added_is_the_operators_word(k: Kit, other: Identity, source: str, then: str) -> None:
    k.far[A] = Far.of(A, other)
    await k.store.put_contact(Contact(A, source, other.root))
    await k.desk.add(A)
    [contact] = await k.store.contacts()
    assert contact == Contact(A, then, other.root)
    assert not is_told(contact)


async def test_a_node_that_is_named_to_itself_is_no_peer_of_its_own() -> None:
    world, peer, itself = World(of_peers=True), Publishing(1), Publishing(2)
    here = "http://127.0.0.1:8652"
    peer.named = [here]
    assert await named(world, peer, HERE) == {here}
    link = world.links[here] = MemoryLink(itself, here)
    world.sync._own_root = itself.root
    assert (await world.sync.sync(here)).outcome == "failed"
    for _ in range(2):
        assert [report.address for report in await world.sync.sync_all()] == [HERE]
        assert [contact.address for contact in await world.store.contacts()] == [HERE]
    assert link.asked == ["certificates"]
    await world.store.put_contact(Contact(here, "operator"))
    assert (await world.sync.sync(here)).outcome == "failed"
    assert len(await world.store.contacts()) == 2, "what the operator has named is the operator's to remove"
