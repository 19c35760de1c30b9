"""The HTTP client of a peer against an honest peer and against every kind of lie and delay, over loopback."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import aiohttp
import pytest

from node.core.errors import NodeError, NotFound, RateLimited, Rejected, TimedOut, Unavailable
from node.core.ipld.cid import Cid
from node.core.ipld.dagcbor import BLOCK_BYTES_MAX
from node.core.record import block_of
from node.peers.rules.reconcile import Client, SortedSet
from node.peers.sync.client import BULK_AGAIN_S, HttpPeer
from tests.manual_clock import ManualClock
from tests.simulators.peer import PeerStandIn, Publishing

T = TypeVar("T")
TIMEOUT_S = 5.0


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def link(server: PeerStandIn, http: aiohttp.ClientSession, clock: ManualClock) -> HttpPeer:
    return HttpPeer(server.url, http, clock, timeout_s=TIMEOUT_S)


async def got(peer: HttpPeer, cids: list[Cid], bytes_max: int = 2**20) -> dict[Cid, bytes]:
    return {cid: data async for cid, data in peer.blocks(cids, bytes_max)}


async def in_the_end(server: PeerStandIn, clock: ManualClock, work: Awaitable[T]) -> T:
    """The outcome of a call whose answer does not come: the clock goes on once it was asked."""
    task = asyncio.ensure_future(work)
    await server.wait_asked(len(server.asked) + 1)
    while not task.done():
        clock.advance(1.0)
        await asyncio.sleep(0.001)  # the bytes that did come pass through the sockets
    return await task


# --- honest ---------------------------------------------------------------------------------------


async def test_who_it_is(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    async with PeerStandIn(peer) as server:
        assert await link(server, http, clock).certificates() == (peer.root, peer.certificates)
        assert all(one["Accept-Encoding"] == "identity" for one in server.headers)


async def test_a_checkpoint_is_fetched_once(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    peer.publish("What is IPFS?")
    async with PeerStandIn(peer) as server:
        one = link(server, http, clock)
        note, etag = await one.checkpoint()
        assert note == peer.log.note()
        assert etag is not None
        assert await one.checkpoint(etag) == (None, etag)
        peer.publish("What is a CID?")
        assert (await one.checkpoint(etag))[0] == peer.log.note()


async def test_files_of_the_log(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    for number in range(300):
        peer.publish(f"What is {number}?")
    async with PeerStandIn(peer) as server:
        one = link(server, http, clock)
        assert await one.read("tile/0/000", 8_192) == peer.file("tile/0/000")
        with pytest.raises(NotFound):
            await one.read("tile/0/007", 8_192)
        with pytest.raises(Rejected, match="more than 100 bytes"):
            await one.read("tile/0/000", 100)


@pytest.mark.parametrize("has_bulk", [True, False])
async def test_blocks(http: aiohttp.ClientSession, clock: ManualClock, has_bulk: bool) -> None:
    peer = Publishing(1)
    cids = [peer.publish(f"What is {number}?") for number in range(5)]
    async with PeerStandIn(peer, has_bulk=has_bulk) as server:
        one = link(server, http, clock)
        assert await got(one, [*cids, Cid.of(b"nobody has this")]) == {cid: peer.blocks[cid] for cid in cids}
        assert server.count("/peers/blocks") == 1
        await got(one, cids[:2])
        assert server.count("/peers/blocks") == (2 if has_bulk else 1), "what is not there is not asked for"
        clock.advance(BULK_AGAIN_S)
        await got(one, cids[:2])
        assert server.count("/peers/blocks") == (3 if has_bulk else 2)


async def test_what_was_not_asked_for_is_passed_over(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    wanted, other = peer.publish("What is IPFS?"), peer.publish("What is a CID?")
    async with PeerStandIn(peer) as server:
        found = await got(link(server, http, clock), [wanted, wanted])
        assert found == {wanted: peer.blocks[wanted]}
        assert other not in found


async def test_sets_are_compared(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    cids = [peer.publish(f"What is {number}?") for number in range(40)]
    async with PeerStandIn(peer) as server:
        client = Client(SortedSet())
        message: bytes | None = client.first()
        while message is not None:
            message = client.take(await link(server, http, clock).reconcile(message))
        assert set(client.missing) == {cid.digest for cid in cids}


async def test_whom_it_names(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    peer.named = [f"https://p{number}.example" for number in range(100)]
    async with PeerStandIn(peer) as server:
        assert await link(server, http, clock).peers() == peer.named[:64]


# --- lies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mood", "error"),
    [
        ("redirect", Rejected),
        ("gzip", Rejected),
        ("busy", RateLimited),
        ("failing", Unavailable),
        ("cut", Unavailable),
        ("nonsense", Rejected),
    ],
)
async def test_an_answer_that_is_none(
    http: aiohttp.ClientSession, clock: ManualClock, mood: str, error: type[NodeError]
) -> None:
    peer = Publishing(1)
    async with PeerStandIn(peer, mood) as server, PeerStandIn(Publishing(2)) as elsewhere:
        server.redirect_to = f"{elsewhere.url}/peers/identity"
        with pytest.raises(error):
            await link(server, http, clock).certificates()
        assert elsewhere.asked == [], "no redirect is followed"


async def test_a_wait_that_is_asked_for_is_told(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    async with PeerStandIn(Publishing(1), "busy") as server:
        with pytest.raises(RateLimited) as caught:
            await link(server, http, clock).checkpoint()
        assert caught.value.retry_after_s == 600


async def test_a_checkpoint_without_an_end(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    async with PeerStandIn(Publishing(1), "huge") as server:
        with pytest.raises(Rejected, match="more than"):
            await link(server, http, clock).checkpoint()


async def test_a_bundle_without_an_end(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    peer.publish("What is IPFS?")
    async with PeerStandIn(peer, "endless") as server:
        with pytest.raises(Rejected, match="more than"):
            await link(server, http, clock).read("tile/entries/000.p/1", 65_537)


async def test_a_bomb_is_not_unpacked(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    peer.bend = lambda path, data: gzip.compress(bytes(2**24), 9)
    async with PeerStandIn(peer) as server:
        one = link(server, http, clock)
        with pytest.raises(NodeError):
            await one.read("tile/0/000", 8_192)
        server.mood = "gzip"
        with pytest.raises(Rejected, match="compressed"):
            await one.read("tile/0/000", 8_192)


@pytest.mark.parametrize("mood", ["hang", "drip"])
async def test_what_does_not_come_ends_in_time(
    http: aiohttp.ClientSession, clock: ManualClock, mood: str
) -> None:
    peer = Publishing(1)
    peer.publish("What is IPFS?")
    async with PeerStandIn(peer, mood) as server:
        with pytest.raises(TimedOut):
            await in_the_end(server, clock, link(server, http, clock).checkpoint())
        assert clock.monotonic() < 1_000 + 2 * TIMEOUT_S


async def test_a_caller_that_leaves_is_let_go(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    async with PeerStandIn(Publishing(1), "hang") as server:
        task = asyncio.create_task(link(server, http, clock).checkpoint())
        await server.wait_asked(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("has_bulk", [True, False])
async def test_other_bytes_for_a_cid(http: aiohttp.ClientSession, clock: ManualClock, has_bulk: bool) -> None:
    peer = Publishing(1)
    cids = [peer.publish(f"What is {number}?") for number in range(3)]
    async with PeerStandIn(peer, "wrong_blocks", has_bulk=has_bulk) as server:
        with pytest.raises(Rejected):
            await got(link(server, http, clock), cids)


@pytest.mark.parametrize("has_bulk", [True, False])
async def test_more_bytes_than_were_asked_for(
    http: aiohttp.ClientSession, clock: ManualClock, has_bulk: bool
) -> None:
    peer = Publishing(1)
    cids = []
    for number in range(2):
        data = bytes([number]) * BLOCK_BYTES_MAX
        cids.append(Cid.of(data))
        peer.blocks[cids[-1]] = data
    async with PeerStandIn(peer, has_bulk=has_bulk) as server:
        with pytest.raises(Rejected, match="more than"):
            await got(link(server, http, clock), cids, 1_000)


async def test_blocks_that_are_cut_off(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    cids = [peer.publish(f"What is {number}?") for number in range(8)]
    async with PeerStandIn(peer, "cut") as server:
        with pytest.raises(Unavailable):
            await got(link(server, http, clock), cids)


async def test_nobody_there(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    async with PeerStandIn(Publishing(1)) as server:
        one = link(server, http, clock)
    with pytest.raises(Unavailable):
        await one.certificates()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"root": 5, "certificates": []}',
        b'{"root": "x", "certificates": 7}',
        b'{"root": "x", "certificates": [5]}',
        b'{"root": "x", "certificates": ["%"]}',
    ],
)
async def test_identities_that_are_none(http: aiohttp.ClientSession, clock: ManualClock, body: bytes) -> None:
    async with PeerStandIn(Publishing(1)) as server:
        server.instead = body
        with pytest.raises(Rejected):
            await link(server, http, clock).certificates()


async def test_more_certificates_than_anybody_needs(http: aiohttp.ClientSession, clock: ManualClock) -> None:
    peer = Publishing(1)
    peer.certificates = [block_of(peer.answer("What is IPFS?"))[1]] * 65
    async with PeerStandIn(peer) as server:
        with pytest.raises(Rejected):
            await link(server, http, clock).certificates()
