"""A log that is read once more, from its beginning: what of it is kept here is not fetched again."""

from __future__ import annotations

from dataclasses import replace

from node.core.ipld.cid import Cid
from node.peers.rules.values import Contact, Level, Standing
from node.peers.sync.follow import PeerSync, Watch, Ways
from tests.admit_kit import US, Door
from tests.follow_kit import A
from tests.record_builders import Author
from tests.references.record_store import MemoryStore
from tests.simulators.peer import MemoryLink, Publishing, later


class Node:
    """The real admission behind the real rounds. ``fetched``: the blocks that were asked for."""

    def __init__(self, peer: Publishing) -> None:
        self.door = Door()
        self.door.clock.advance((later(3_600) - self.door.clock.now()).total_seconds())
        self.peer = peer
        self.fetched: list[Cid] = []
        self.link = MemoryLink(peer, A, hook=self._hook)
        self.start()

    def start(self) -> None:
        """Another run of the program."""
        self.door.admitter = self.door.opened()
        self.sync = PeerSync(
            self.door.store,
            self.door.admitter,
            self.door.clock,
            Ways(lambda _: self.link, lambda _: self.link, list),
            Watch(self._keep),
            US.did,
        )

    def _hook(self, what: str, of: object) -> None:
        if what == "block":
            assert isinstance(of, Cid)
            self.fetched.append(of)

    async def _keep(self, root: str, notes: object) -> None:
        raise AssertionError(f"{root} contradicts nothing")

    async def read(self) -> list[Cid]:
        """What a round fetches."""
        self.fetched.clear()
        assert (await self.sync.sync(A)).outcome in ("synced", "unchanged")
        return list(self.fetched)

    async def read_again(self) -> list[Cid]:
        """Likewise, of the log from its beginning, by a program that has just started."""
        position = await self.door.store.position(self.peer.root)
        assert position is not None
        await self.door.store.set_position(replace(position, size=0, edge=()))
        self.start()
        return await self.read()


async def follows(peer: Publishing) -> Node:
    node = Node(peer)
    await node.door.store.put_contact(Contact(A, "operator"))
    await node.door.store.set_standing(Standing(peer.root, Level.TRUSTED))
    return node


async def test_what_is_kept_is_not_fetched_twice() -> None:
    peer = Publishing(1)
    peer.revoke(Author(77).did, "node", later(0))  # named by the log alone
    stays, gone, bare = (peer.publish(f"What is number {number}?") for number in range(3))
    said = peer.validate(Cid.of(b"somebody else's"))
    node = await follows(peer)
    assert {stays, gone, bare, said} < set(await node.read())
    stone = peer.retract(gone)
    peer.retract(bare, with_tombstone=False)
    assert await node.read() == [stone]
    before = await node.door.store.counts(peer.root)
    assert await node.read_again() == []
    after = await node.door.store.counts(peer.root)
    assert after.get("entombed") == before.get("entombed"), "what is read again counts once"
    assert await node.door.store.tombstones([stays, gone, bare], peer.root) == {gone, bare}


async def test_a_kill_between_the_stores_is_made_good_without_fetching() -> None:
    """The table of peers knew of the tombstone, the record store did not."""
    peer = Publishing(1)
    gone = peer.publish("What is number 0?")
    stone = peer.retract(gone)
    assert stone is not None
    node = await follows(peer)
    assert await node.read() == [stone]
    node.door.main = MemoryStore(own_issuer=US.did)  # as if it had not been written there
    node.door.records = node.door.main.records
    assert await node.read_again() == []
    assert (await node.door.records.get(stone)).origin == peer.root


async def test_a_bare_withdrawal_still_gets_its_tombstone() -> None:
    peer = Publishing(1)
    gone = peer.publish("What is number 0?")
    node = await follows(peer)
    await node.read()
    peer.retract(gone, with_tombstone=False)
    assert await node.read() == []
    stone = peer.retract(gone)
    assert await node.read() == [stone]
    assert await node.read_again() == []
