"""A peer that is read by its IPNS name, block by block, from a source that may lack blocks, lie or hang."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from node.audit.log.reader import LogReader
from node.audit.tlog.tiles import tiles_at
from node.core.errors import NodeError, NotFound, Rejected, TimedOut, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.ipld.ipns import IpnsName
from node.core.merkle import check_consistency
from node.core.record import format_time
from node.ipfs.index_pages import HeadBlock
from node.ipfs.log_head import PAGE_ENTRIES, Head, completed_between, split
from node.peers.rules.values import Contact
from node.peers.sync.block_link import BlockPeer
from tests.follow_kit import World, questions
from tests.manual_clock import ManualClock
from tests.name_owner import HOUR, Owner
from tests.record_builders import START
from tests.simulators.peer import Publishing, later

TIMEOUT_S = 5.0
T = TypeVar("T")


class Net:
    """Records and blocks as some network has them."""

    def __init__(self) -> None:
        self.clock = ManualClock(later(3_600))
        self.blocks: dict[Cid, bytes] = {}
        self.records: dict[IpnsName, bytes] = {}
        self.asked: list[Cid] = []
        self.hangs: set[Cid] = set()
        self.sequence = 0

    async def get(self, cid: Cid) -> bytes:
        self.asked.append(cid)
        if cid in self.hangs:
            await asyncio.Event().wait()
        if cid not in self.blocks:
            raise NotFound(f"nobody has {cid}")
        return self.blocks[cid]

    async def record(self, name: IpnsName) -> bytes:
        if name not in self.records:
            raise NotFound(f"nobody has a record of {name.text}")
        return self.records[name]

    def link(self, owner: Owner) -> BlockPeer:
        return BlockPeer(owner.name, self.record, self, self.clock, timeout_s=TIMEOUT_S)

    def put(self, data: bytes, codec: int) -> Cid:
        cid = Cid.of(data, codec)
        self.blocks[cid] = data
        return cid

    def publish(self, peer: Publishing, owner: Owner) -> None:
        """The head of the peer under the owner's name."""
        self.blocks |= peer.blocks
        log = Cid.of(self._log_head(peer).encode())
        index = self.put(b"\xa0", 0x71)
        head = HeadBlock(peer.root, owner.name.text, format_time(START), log, None, index).encode()
        self.point(owner, f"/ipfs/{self.put(head, 0x71)}")

    def point(self, owner: Owner, value: str) -> None:
        self.sequence += 1
        self.records[owner.name] = owner.record(self.clock.now(), sequence=self.sequence, value=value)

    def _log_head(self, peer: Publishing) -> Head:
        size, prev, done = peer.size, None, 0
        while done + PAGE_ENTRIES <= size:
            end = done + PAGE_ENTRIES
            page = Head(peer.origin, end, None, self._files(peer, done, end), prev)
            prev, done = self.put(page.encode(), 0x71), end
        edge = {tile.path: self._parts(peer, tile.path) for tile in tiles_at(size)}
        new = self._files(peer, done, size) | edge
        head = Head(peer.origin, size, self.put(peer.file("checkpoint"), RAW), new, prev)
        self.put(head.encode(), 0x71)
        return head

    def _files(self, peer: Publishing, old: int, new: int) -> dict[str, tuple[Cid, ...]]:
        return {path: self._parts(peer, path) for path in completed_between(old, new)}

    def _parts(self, peer: Publishing, path: str) -> tuple[Cid, ...]:
        return tuple(self.put(part, RAW) for part in split(peer.file(path)))


class Named:
    """A peer that is published under a name, with its link."""

    def __init__(self, net: Net, count: int = 3) -> None:
        self.net = net
        self.peer, self.owner = Publishing(1), Owner(1)
        self.cids = questions(self.peer, count)
        self.publish()
        self.link = net.link(self.owner)

    def publish(self) -> None:
        self.net.publish(self.peer, self.owner)


@pytest.fixture
def net() -> Net:
    return Net()


@pytest.fixture
def named(net: Net) -> Named:
    return Named(net)


def keys_in_the_log(peer: Publishing, *uses: tuple[str, str]) -> None:
    """Its keys are named by its log alone."""
    peer.certificates.clear()
    for subject, use in uses:
        peer.certify(subject, use, is_entered=True)


async def test_a_name_leads_to_everything(net: Net) -> None:
    peer, owner = Publishing(1), Owner(1)
    keys_in_the_log(peer, (peer.node.did, "node"))
    cids = questions(peer, 300)
    net.publish(peer, owner)
    link = net.link(owner)
    assert link.address == owner.name.text
    assert await link.certificates() == (peer.root, peer.certificates)
    note, etag = await link.checkpoint()
    assert note == peer.log.note()
    assert await link.checkpoint(etag) == (None, etag)
    assert await link.read("tile/entries/000", 2**24) == peer.file("tile/entries/000")
    found = {cid: data async for cid, data in link.blocks([*cids, Cid.of(b"nobody")], 2**24)}
    assert found == {cid: peer.blocks[cid] for cid in cids}
    assert await link.peers() == []
    with pytest.raises(NotFound):
        await link.reconcile(b"")
    for path in ("tile/entries/009", "tile/0/000.p/7", "vkey", "checkpoint"):
        with pytest.raises(NotFound):
            await link.read(path, 2**24)
    with pytest.raises(Rejected, match="more than 10 bytes"):
        await link.read("tile/entries/000", 10)


async def test_a_node_follows_a_name(net: Net) -> None:
    peer, owner = Publishing(1), Owner(1)
    keys_in_the_log(peer, (peer.node.did, "node"), (peer.log_did, "publications"))
    cids = questions(peer, 20)
    net.publish(peer, owner)
    world, link = World(clock=net.clock), net.link(owner)
    world.links[link.address] = link
    await world.store.put_contact(Contact(link.address, "operator"))
    report = await world.sync.sync(link.address)
    assert (report.outcome, report.held, report.root) == ("synced", 20, peer.root), report.reason
    assert (await world.sync.sync(link.address)).outcome == "unchanged"
    cids += questions(peer, 1, 20)
    net.publish(peer, owner)
    assert (await world.sync.sync(link.address)).entries == 1
    assert world.admitter.of("admit") == [str(cid) for cid in cids]
    assert (await world.sync.mend(link.address)).outcome == "unchanged"
    assert world.cases == []


@pytest.mark.slow
async def test_pages_of_a_long_log(net: Net) -> None:
    named = Named(net, 0)
    peer, link = named.peer, named.link
    for number in range(2 * PAGE_ENTRIES + 300):
        peer.log.append(b"%d" % number)
    named.publish()
    await link.checkpoint()
    for path in ("tile/entries/000", "tile/entries/300", "tile/0/511", "tile/1/001", "tile/2/000.p/2"):
        assert await link.read(path, 2**24) == peer.file(path)
    old, new = PAGE_ENTRIES - 1, peer.size
    proof = await LogReader(link).consistency(old, new)
    check_consistency(old, peer.log.root(old), new, peer.log.root(), proof)
    asked = len(net.asked)
    for number in range(PAGE_ENTRIES):
        peer.log.append(b"more %d" % number)
    named.publish()
    await link.checkpoint()
    assert await link.read("tile/entries/000", 2**24) == peer.file("tile/entries/000")
    assert len(net.asked) - asked <= 6, "pages that are known are not walked again"


async def test_a_name_that_leads_to_another(net: Net, named: Named) -> None:
    old = Owner(2)
    net.point(old, f"/ipns/{named.owner.name.text}")
    assert (await net.link(old).checkpoint())[0] == named.peer.log.note()
    net.point(named.owner, f"/ipns/{old.name.text}")
    with pytest.raises(Rejected, match="leads to no head"):
        await net.link(old).checkpoint()


async def test_an_older_record_changes_nothing(net: Net, named: Named) -> None:
    old = net.records[named.owner.name]
    questions(named.peer, 1, 3)
    named.publish()
    assert (await named.link.checkpoint())[0] == named.peer.log.note()
    net.records[named.owner.name] = old
    assert (await named.link.checkpoint())[0] == named.peer.log.note()


def ended(net: Net, owner: Owner) -> None:
    net.clock.advance(49 * 3_600)


def of_another_key(net: Net, owner: Owner) -> None:
    net.records[owner.name] = Owner(2).record(net.clock.now(), valid=HOUR)


@pytest.mark.parametrize(
    ("bend", "error", "says"),
    [
        (ended, Unavailable, "ended"),
        (of_another_key, Rejected, None),
        (lambda net, owner: net.records.clear(), NotFound, None),
        (lambda net, owner: net.point(owner, "/dnslink/example.com"), Rejected, None),
    ],
    ids=["ended", "of another key", "none", "to another place"],
)
async def test_a_record_that_leads_nowhere(
    net: Net, named: Named, bend: Callable[[Net, Owner], None], error: type[NodeError], says: str | None
) -> None:
    bend(net, named.owner)
    with pytest.raises(error, match=says):
        await named.link.checkpoint()


async def test_other_bytes_for_a_cid(net: Net, named: Named) -> None:
    await named.link.checkpoint()
    net.blocks[named.cids[1]] = b"something else"
    found = await collected(named.link, named.cids)
    assert found == [named.cids[0], named.cids[2]], "what does not match is not given"
    for cid in [cid for cid in net.blocks if cid.codec == RAW]:
        net.blocks[cid] = b"something else"
    with pytest.raises(Rejected):
        await named.link.read("tile/entries/000.p/3", 2**24)


async def test_blocks_that_nobody_has_do_not_come_in_time(net: Net) -> None:
    named = Named(net, 12)
    net.hangs = {named.cids[2]}
    found = await in_the_end(net, collected(named.link, named.cids))
    assert found == [cid for cid in named.cids if cid != named.cids[2]]
    net.hangs = set(named.cids[3:])
    with pytest.raises(Unavailable):
        await in_the_end(net, collected(named.link, named.cids))


async def test_a_record_that_does_not_come_in_time(net: Net, named: Named) -> None:
    async def never(name: IpnsName) -> bytes:
        await asyncio.Event().wait()
        return b""

    link = BlockPeer(named.owner.name, never, net, net.clock, timeout_s=TIMEOUT_S)
    with pytest.raises(TimedOut):
        await in_the_end(net, link.certificates())


async def collected(link: BlockPeer, cids: list[Cid]) -> list[Cid]:
    return [cid async for cid, _ in link.blocks(cids, 2**24)]


async def in_the_end(net: Net, work: Awaitable[T]) -> T:
    task = asyncio.ensure_future(work)
    while not task.done():
        for _ in range(20):
            await asyncio.sleep(0)
        net.clock.advance(TIMEOUT_S)
    return await task
