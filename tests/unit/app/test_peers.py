"""What the composition root itself decides about peers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from node.app.links import Links
from node.app.peers import forget_held
from node.core.errors import NotFound
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.core.settings import load
from node.peers.sync.client import HttpPeer
from node.store.ipns_records import Names
from tests.manual_clock import ManualClock
from tests.peer_builders import held
from tests.references.peer_store import MemoryPeerStore

OURS, THEIRS = IpnsName.of(bytes(32)), IpnsName.of(bytes(range(32)))


async def test_what_is_erased_is_not_taken_from_its_issuer_again() -> None:
    store = MemoryPeerStore()
    one, other = held("did:key:a"), replace(held("did:key:b"), cid=Cid.of(b"another"))
    await store.hold([one, other])
    await forget_held(store, [str(one.cid), str(Cid.of(b"never held"))])
    assert await store.held(one.cid) is None
    assert await store.tombstones([one.cid, other.cid], "did:key:a") == {one.cid}
    assert await store.held(other.cid) == other


async def test_each_address_has_one_link_of_its_kind(tmp_path: Path) -> None:
    clock = ManualClock()
    names = await Names.open(tmp_path / "names.sqlite", clock, own=OURS)
    settings = load({}, flags={"peers": {"urls": ["http://127.0.0.1:9/", THEIRS.peer_id]}})
    try:
        async with aiohttp.ClientSession() as http:
            links = Links(settings, http, names, None, clock)
            assert [link.address for link in links.over_http()] == ["http://127.0.0.1:9"]
            assert isinstance(links.to("http://127.0.0.1:9"), HttpPeer)
            assert links.to(THEIRS.text) is links.to(THEIRS.text)
            assert links.to(THEIRS.text).address == THEIRS.text
            links.forget_others([THEIRS.text])
            assert links.over_http() == []
            with pytest.raises(NotFound, match=THEIRS.text):
                await links.to(THEIRS.text).checkpoint()
    finally:
        await names.close()
