"""A peer that is read by its IPNS name, block by block, from a source that may lack blocks, lie or hang."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TypeVar

import pytest

from node.audit.log.reader import LogReader
from node.audit.tlog.tiles import tiles_at
from node.core.errors import NotFound, Rejected, TimedOut, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.core.ipld.ipns import IpnsName
from node.core.merkle import check_consistency
from node.core.record import format_time
from node.ipfs.index_pages import HeadBlock
from node.ipfs.log_head import PAGE_ENTRIES, Head, completed_between, split
from node.peers.rules.values import Contact
from node.peers.sync.block_link import BlockPeer
from node.peers.sync.follow import PeerSync, Watch, Ways
from tests.follow_kit import RecordingAdmitter
from tests.manual_clock import ManualClock
from tests.name_owner import HOUR, Owner
from tests.record_builders import START, Author
from tests.references.peer_store import MemoryPeerStore
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
            page = Head(
                peer.origin, done + PAGE_ENTRIES, None, self._files(peer, done, done + PAGE_ENTRIES), prev
            )
            prev, done = self.put(page.encode(), 0x71), done + PAGE_ENTRIES
        new = self._files(peer, done, size) | {
            tile.path: self._parts(peer, tile.path) for tile in tiles_at(size)
        }
        head = Head(peer.origin, size, self.put(peer.file("checkpoint"), RAW), new, prev)
        self.put(head.encode(), 0x71)
        return head

    def _files(self, peer: Publishing, old: int, new: int) -> dict[str, tuple[Cid, ...]]:
        return {path: self._parts(peer, path) for path in completed_between(old, new)}

    def _parts(self, peer: Publishing, path: str) -> tuple[Cid, ...]:
        return tuple(self.put(part, RAW) for part in split(peer.file(path)))


@pytest.fixture
def net() -> Net:
    return Net()


def published(net: Net, count: int = 3) -> tuple[Publishing, Owner, list[Cid]]:
    peer, owner = Publishing(1), Owner(1)
    cids = [peer.publish(f"What is {number}?") for number in range(count)]
    net.publish(peer, owner)
    return peer, owner, cids


async def test_a_name_leads_to_everything(net: Net) -> None:
    peer, owner = Publishing(1), Owner(1)
    peer.certificates.clear()
    peer.certify(peer.node.did, "node", is_entered=True)
    cids = [peer.publish(f"What is {number}?") for number in range(300)]
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
    peer.certificates.clear()
    peer.certify(peer.node.did, "node", is_entered=True)
    peer.certify(peer.log_did, "publications", is_entered=True)
    cids = [peer.publish(f"What is {number}?") for number in range(20)]
    net.publish(peer, owner)
    store = MemoryPeerStore()
    admitter = RecordingAdmitter(store)

    async def keep(root: str, notes: object) -> None:
        raise AssertionError("there is nothing to keep")

    sync = PeerSync(
        store,
        admitter,
        net.clock,
        Ways(lambda address: link, lambda address: link, list),
        Watch(keep),
        Author(99).did,
    )
    link = net.link(owner)
    await store.put_contact(Contact(link.address, "operator"))
    report = await sync.sync(link.address)
    assert (report.outcome, report.held, report.root) == ("synced", 20, peer.root), report.reason
    assert (await sync.sync(link.address)).outcome == "unchanged"
    cids.append(peer.publish("What is new?"))
    net.publish(peer, owner)
    assert (await sync.sync(link.address)).entries == 1
    assert admitter.of("admit") == [str(cid) for cid in cids]
    assert (await sync.mend(link.address)).outcome == "unchanged"


@pytest.mark.slow
async def test_pages_of_a_long_log(net: Net) -> None:
    peer, owner = Publishing(1), Owner(1)
    for number in range(2 * PAGE_ENTRIES + 300):
        peer.log.append(b"%d" % number)
    net.publish(peer, owner)
    link = net.link(owner)
    await link.checkpoint()
    for path in ("tile/entries/000", "tile/entries/300", "tile/0/511", "tile/1/001", "tile/2/000.p/2"):
        assert await link.read(path, 2**24) == peer.file(path)
    old, new = PAGE_ENTRIES - 1, peer.size
    proof = await LogReader(link).consistency(old, new)
    check_consistency(old, peer.log.root(old), new, peer.log.root(), proof)
    asked = len(net.asked)
    for number in range(PAGE_ENTRIES):
        peer.log.append(b"more %d" % number)
    net.publish(peer, owner)
    await link.checkpoint()
    assert await link.read("tile/entries/000", 2**24) == peer.file("tile/entries/000")
    assert len(net.asked) - asked <= 6, "pages that are known are not walked again"


async def test_a_name_that_leads_to_another(net: Net) -> None:
    peer, owner, _ = published(net)
    old = Owner(2)
    net.point(old, f"/ipns/{owner.name.text}")
    assert (await net.link(old).checkpoint())[0] == peer.log.note()
    net.point(owner, f"/ipns/{old.name.text}")
    with pytest.raises(Rejected, match="leads to no head"):
        await net.link(old).checkpoint()


async def test_an_older_record_changes_nothing(net: Net) -> None:
    peer, owner, _ = published(net)
    link = net.link(owner)
    old = net.records[owner.name]
    peer.publish("What is new?")
    net.publish(peer, owner)
    assert (await link.checkpoint())[0] == peer.log.note()
    net.records[owner.name] = old
    assert (await link.checkpoint())[0] == peer.log.note()


async def test_a_record_that_has_ended(net: Net) -> None:
    _, owner, _ = published(net)
    net.clock.advance(timedelta(hours=49) / timedelta(seconds=1))
    with pytest.raises(Unavailable, match="ended"):
        await net.link(owner).checkpoint()


async def test_a_record_of_another_key_or_of_nothing(net: Net) -> None:
    _, owner, _ = published(net)
    net.records[owner.name] = Owner(2).record(net.clock.now(), valid=HOUR)
    with pytest.raises(Rejected):
        await net.link(owner).checkpoint()
    del net.records[owner.name]
    with pytest.raises(NotFound):
        await net.link(owner).checkpoint()
    net.point(owner, "/dnslink/example.com")
    with pytest.raises(Rejected):
        await net.link(owner).checkpoint()


async def test_other_bytes_for_a_cid(net: Net) -> None:
    _, owner, cids = published(net)
    link = net.link(owner)
    await link.checkpoint()
    net.blocks[cids[1]] = b"something else"
    found = [cid async for cid, _ in link.blocks(cids, 2**20)]
    assert found == [cids[0], cids[2]], "what does not match is not given"
    for cid in [cid for cid in net.blocks if cid.codec == RAW]:
        net.blocks[cid] = b"something else"
    with pytest.raises(Rejected):
        await link.read("tile/entries/000.p/3", 2**24)


async def test_blocks_that_nobody_has_do_not_come_in_time(net: Net) -> None:
    _, owner, cids = published(net, 12)
    link = net.link(owner)
    net.hangs = {cids[2]}
    task = asyncio.ensure_future(collected(link, cids))
    assert await in_the_end(net, task) == [cid for cid in cids if cid != cids[2]]
    net.hangs = set(cids[3:])
    task = asyncio.ensure_future(collected(link, cids))
    with pytest.raises(Unavailable):
        await in_the_end(net, task)


async def test_a_record_that_does_not_come_in_time(net: Net) -> None:
    _, owner, _ = published(net)

    async def never(name: IpnsName) -> bytes:
        await asyncio.Event().wait()
        return b""

    link = BlockPeer(owner.name, never, net, net.clock, timeout_s=TIMEOUT_S)
    task = asyncio.ensure_future(link.certificates())
    with pytest.raises(TimedOut):
        await in_the_end(net, task)


async def collected(link: BlockPeer, cids: list[Cid]) -> list[Cid]:
    return [cid async for cid, _ in link.blocks(cids, 2**24)]


async def in_the_end(net: Net, task: asyncio.Future[T]) -> T:
    while not task.done():
        for _ in range(20):
            await asyncio.sleep(0)
        net.clock.advance(TIMEOUT_S)
    return await task
