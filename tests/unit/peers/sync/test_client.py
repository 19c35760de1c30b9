"""The HTTP client of a peer against an honest peer and against every kind of lie and delay, over loopback."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import aiohttp
import pytest

from node.core.errors import NodeError, NotFound, RateLimited, Rejected, TimedOut, Unavailable
from node.core.ipld.cid import Cid
from node.core.ipld.dagcbor import BLOCK_BYTES_MAX
from node.core.record import block_of
from node.peers.rules.reconcile import Client, SortedSet
from node.peers.sync.blocks import PeerBlocks
from node.peers.sync.client import BULK_AGAIN_S, HttpPeer
from tests.desk_kit import Far
from tests.follow_kit import questions
from tests.manual_clock import ManualClock
from tests.simulators.peer import PeerStandIn, Publishing

T = TypeVar("T")
TIMEOUT_S = 5.0


@dataclass
class There:
    """A peer on loopback and the link to it."""

    peer: Publishing
    server: PeerStandIn
    link: HttpPeer
    clock: ManualClock

    async def got(self, cids: Sequence[Cid], bytes_max: int = 2**20) -> dict[Cid, bytes]:
        return {cid: data async for cid, data in self.link.blocks(cids, bytes_max)}

    async def in_the_end(self, work: Awaitable[T]) -> T:
        """The outcome of a call whose answer does not come: the clock goes on once it was asked."""
        task = asyncio.ensure_future(work)
        await self.server.wait_asked(len(self.server.asked) + 1)
        while not task.done():
            self.clock.advance(1.0)
            await asyncio.sleep(0.001)  # the bytes that did come pass through the sockets
        return await task


@pytest.fixture
async def there(peer: Publishing) -> AsyncIterator[There]:
    clock = ManualClock()
    async with aiohttp.ClientSession(auto_decompress=False) as http, PeerStandIn(peer) as server:
        yield There(peer, server, HttpPeer(server.url, http, clock, timeout_s=TIMEOUT_S), clock)


# --- honest ---------------------------------------------------------------------------------------


async def test_who_it_is(there: There) -> None:
    assert await there.link.certificates() == (there.peer.root, there.peer.certificates)
    assert all(one["Accept-Encoding"] == "identity" for one in there.server.headers)


async def test_a_checkpoint_is_fetched_once(there: There) -> None:
    questions(there.peer, 1)
    note, etag = await there.link.checkpoint()
    assert note == there.peer.log.note()
    assert etag is not None
    assert await there.link.checkpoint(etag) == (None, etag)
    questions(there.peer, 1, 1)
    assert (await there.link.checkpoint(etag))[0] == there.peer.log.note()


async def test_files_of_the_log(there: There) -> None:
    questions(there.peer, 300)
    assert await there.link.read("tile/0/000", 8_192) == there.peer.file("tile/0/000")
    with pytest.raises(NotFound):
        await there.link.read("tile/0/007", 8_192)
    with pytest.raises(Rejected, match="more than 100 bytes"):
        await there.link.read("tile/0/000", 100)


@pytest.mark.parametrize("has_bulk", [True, False])
async def test_blocks(there: There, has_bulk: bool) -> None:
    cids = questions(there.peer, 5)
    there.server.has_bulk = has_bulk
    found = await there.got([*cids, Cid.of(b"nobody has this")])
    assert found == {cid: there.peer.blocks[cid] for cid in cids}
    assert there.server.count("/peers/blocks") == 1
    await there.got(cids[:2])
    again = "what is not there is not asked for"
    assert there.server.count("/peers/blocks") == (2 if has_bulk else 1), again
    there.clock.advance(BULK_AGAIN_S)
    await there.got(cids[:2])
    assert there.server.count("/peers/blocks") == (3 if has_bulk else 2)


async def test_what_was_not_asked_for_is_passed_over(there: There) -> None:
    wanted, _ = questions(there.peer, 2)
    assert await there.got([wanted, wanted]) == {wanted: there.peer.blocks[wanted]}


async def test_sets_are_compared(there: There) -> None:
    cids = questions(there.peer, 40)
    client = Client(SortedSet())
    message: bytes | None = client.first()
    while message is not None:
        message = client.take(await there.link.reconcile(message))
    assert set(client.missing) == {cid.digest for cid in cids}


async def test_whom_it_names(there: There) -> None:
    there.peer.named = [f"https://p{number}.example" for number in range(100)]
    assert await there.link.peers() == there.peer.named[:64]


# --- lies -----------------------------------------------------------------------------------------


async def one_by_one(there: There) -> None:
    there.server.has_bulk = False
    await there.got([*there.peer.blocks])


CALLS: dict[str, Callable[[There], Awaitable[object]]] = {
    "certificates": lambda there: there.link.certificates(),
    "checkpoint": lambda there: there.link.checkpoint(),
    "read": lambda there: there.link.read("tile/entries/000.p/1", 65_537),
    "blocks": lambda there: there.got([*there.peer.blocks]),
    "one by one": one_by_one,
}


@pytest.mark.parametrize(
    ("mood", "call", "error", "says"),
    [
        ("redirect", "certificates", Rejected, None),
        ("gzip", "certificates", Rejected, "compressed"),
        ("gzip", "read", Rejected, "compressed"),
        ("busy", "certificates", RateLimited, None),
        ("failing", "certificates", Unavailable, None),
        ("cut", "certificates", Unavailable, None),
        ("cut", "blocks", Unavailable, None),
        ("nonsense", "certificates", Rejected, None),
        ("huge", "checkpoint", Rejected, "more than"),
        ("endless", "read", Rejected, "more than"),
        ("wrong_blocks", "blocks", Rejected, None),
        ("wrong_blocks", "one by one", Rejected, None),
    ],
)
async def test_what_is_no_answer(
    there: There, mood: str, call: str, error: type[NodeError], says: str | None
) -> None:
    questions(there.peer, 8)
    there.server.mood = mood
    async with PeerStandIn(Publishing(2)) as elsewhere:
        there.server.redirect_to = f"{elsewhere.url}/peers/identity"
        with pytest.raises(error, match=says):
            await CALLS[call](there)
        assert elsewhere.asked == [], "no redirect is followed"


async def test_a_wait_that_is_asked_for_is_told(there: There) -> None:
    there.server.mood = "busy"
    with pytest.raises(RateLimited) as caught:
        await there.link.checkpoint()
    assert caught.value.retry_after_s == 600


async def test_a_bomb_is_not_unpacked(there: There) -> None:
    there.peer.bend = lambda path, data: gzip.compress(bytes(2**24), 9)
    with pytest.raises(NodeError):
        await there.link.read("tile/0/000", 8_192)


@pytest.mark.parametrize("mood", ["hang", "drip"])
async def test_what_does_not_come_ends_in_time(there: There, mood: str) -> None:
    questions(there.peer, 1)
    there.server.mood = mood
    with pytest.raises(TimedOut):
        await there.in_the_end(there.link.checkpoint())
    assert there.clock.monotonic() < 1_000 + 2 * TIMEOUT_S


async def test_a_caller_that_leaves_is_let_go(there: There) -> None:
    there.server.mood = "hang"
    task = asyncio.create_task(there.link.checkpoint())
    await there.server.wait_asked(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("has_bulk", [True, False])
async def test_more_bytes_than_were_asked_for(there: There, has_bulk: bool) -> None:
    there.server.has_bulk = has_bulk
    blocks = [bytes([number]) * BLOCK_BYTES_MAX for number in range(2)]
    there.peer.blocks = {Cid.of(data): data for data in blocks}
    with pytest.raises(Rejected, match="more than"):
        await there.got(list(there.peer.blocks), 1_000)


async def test_nobody_there(there: There) -> None:
    await there.server.__aexit__()
    with pytest.raises(Unavailable):
        await there.link.certificates()


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"{}"),
        b'{"root": 5, "certificates": []}',
        b'{"root": "x", "certificates": 7}',
        b'{"root": "x", "certificates": [5]}',
        b'{"root": "x", "certificates": ["%"]}',
    ],
)
async def test_identities_that_are_none(there: There, body: bytes) -> None:
    there.server.instead = body
    with pytest.raises(Rejected):
        await there.link.certificates()


async def test_more_certificates_than_anybody_needs(there: There) -> None:
    there.peer.certificates = [block_of(there.peer.answer("What is IPFS?"))[1]] * 65
    with pytest.raises(Rejected):
        await there.link.certificates()


# --- one block, from whoever has it ---------------------------------------------------------------

DATA = b"a block"
CID = Cid.of(DATA)


@dataclass
class Daemon:
    problem: NodeError | None = None

    async def get(self, cid: Cid) -> bytes:
        if self.problem is not None:
            raise self.problem
        return DATA


@dataclass
class Holder(Far):
    address: str = "http://a.example"
    problem: NodeError | None = None
    has: dict[Cid, bytes] = field(default_factory=dict)

    async def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncIterator[tuple[Cid, bytes]]:
        if self.problem is not None:
            raise self.problem
        for cid in self.has:
            yield cid, self.has[cid]


AWAY, LIES, NOTHING = Holder(problem=Unavailable("away")), Holder(problem=Rejected("lies")), Holder()
HAS_IT = Holder(has={CID: DATA})


@pytest.mark.parametrize(
    ("daemon", "links"),
    [
        (Daemon(), []),
        (Daemon(Unavailable("away")), [AWAY, LIES, NOTHING, HAS_IT]),
        (Daemon(NotFound("not here")), [AWAY, LIES, NOTHING, HAS_IT]),
    ],
)
async def test_a_block_comes_from_the_daemon_or_a_peer(daemon: Daemon, links: list[Holder]) -> None:
    assert await PeerBlocks(daemon, lambda: links).get(CID) == DATA


async def test_nobody_has_a_block_or_somebody_who_may_was_away() -> None:
    with pytest.raises(NotFound):
        await PeerBlocks(None, lambda: [NOTHING, LIES]).get(CID)
    with pytest.raises(Unavailable, match="away"):
        await PeerBlocks(None, lambda: [AWAY, NOTHING]).get(CID)
