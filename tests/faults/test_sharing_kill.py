"""A node that is killed while it publishes its head or its log, or while it reads a peer's feed."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from pathlib import Path

from node.audit.log.reader import FolderSource, LogReader
from node.core.clock import SystemClock
from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.ipfs.index_pages import HeadBlock, parse_index
from node.peers.rules.edge import Edge
from node.peers.rules.entry import Publish, Retract, read
from node.peers.store.sqlite import PeerStore
from node.store.ipns_records import Names
from node.store.sqlite import SqliteStore
from tests.faults.head_child import OWNER, US
from tests.faults.kill_kit import told_until_killed
from tests.faults.publish_child import opened
from tests.head_world import parse_page
from tests.manual_clock import ManualClock
from tests.simulators.peer import PeerStandIn, Publishing


async def questions(blocks: SqliteStore, head: Cid) -> set[str]:
    """What the index of a head leads to; every block of it is read."""
    index = parse_index(await blocks.blocks.get(HeadBlock.parse(await blocks.blocks.get(head)).index))
    found: set[str] = set()
    for page in index.values():
        found |= parse_page(await blocks.blocks.get(page)).keys()
    return found


async def test_killed_at_any_moment_the_sequence_of_heads_does_not_go_back(tmp_path: Path) -> None:
    """And what the record on disk names is there, whole."""
    last, listed = 0, 0
    for number, lines_max in enumerate((1, 2, 3, 7, 12)):
        said = told_until_killed("head_child", tmp_path, number, lines=lines_max)
        told = [(int(sequence), Cid.parse(head)) for sequence, head in said]
        sequences = [sequence for sequence, _ in told]
        assert sequences == sorted(set(sequences))
        assert sequences[0] > last, "the first record of a new start is above all that were handed out"
        last = sequences[-1]
        kept = ipns.decode((tmp_path / "ipns-record").read_bytes(), OWNER.name)
        assert kept.sequence >= last
        names = await Names.open(tmp_path / "names.sqlite", ManualClock(), own=OWNER.name)
        assert ipns.decode(await names.get(OWNER.name), OWNER.name).sequence >= last
        await names.close()
        blocks = await SqliteStore.open(tmp_path / "head_blocks.sqlite", own_issuer=US.did)
        for head in (told[-1][1], Cid.parse(kept.value.removeprefix("/ipfs/"))):
            found = await questions(blocks, head)
            assert len(found) >= listed + len(told) - 1
        listed = len(found)
        await blocks.close()


async def test_killed_at_any_moment_each_record_is_entered_once(tmp_path: Path) -> None:
    stored: list[Cid] = []
    for number, lines_max in enumerate((1, 40, 3, 80, 50)):
        said = told_until_killed("publish_child", tmp_path, f"run {number}", lines=lines_max)
        stored += [Cid.parse(cid) for (cid,) in said]
        if number == 2:
            (tmp_path / "publications.json").unlink(missing_ok=True)
    assert (tmp_path / "publications.index").exists()
    store, log, publisher = await opened(tmp_path)
    try:
        await publisher.catch_up()
        published = await log.publish()
        reader = LogReader(FolderSource(tmp_path / "publications"))
        leaves = await reader.entries(0, published.size, published.size)
        entries = [read(index, leaf) for index, leaf in enumerate(leaves)]
        live = {one.cid for one in await store.records.since(0, limit=10_000)}
        assert {cid for cid in stored if (await store.records.get(cid)).state == "live"} <= live
        shown = Counter(one.cid for one in entries if isinstance(one, Publish))
        gone = Counter(one.cid for one in entries if isinstance(one, Retract))
        assert max(shown.values()) == 1
        assert max(gone.values()) == 1
        assert live <= shown.keys()
        assert gone.keys() == shown.keys() - live, "what ended before it was entered needs no entry"
        at = {(type(one), one.cid): index for index, one in enumerate(entries)}
        assert all(at[Publish, cid] < at[Retract, cid] for cid in gone)
        assert len(publisher.published) == len(live)
        assert await publisher.catch_up() == 0
    finally:
        await publisher.close(5)
        await log.close()
        await store.close()


async def test_killed_at_any_moment_of_a_sync_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    peer = Publishing(1)
    cids = [peer.publish(f"What is {number}?") for number in range(900)]
    gone = cids[100:200:10]
    for cid in gone:
        peer.retract(cid)
    said: list[list[str]] = []
    positions = [0]
    async with PeerStandIn(peer) as server:
        for lines in (1, 60, 170, 300, None):
            child = partial(told_until_killed, "sync_child", tmp_path, server.url, lines=lines)
            said += await asyncio.to_thread(child)
            positions.append(await check_position(tmp_path, peer))
        assert positions == sorted(positions)
    assert said[-1] == ["done", server.url]
    store = await PeerStore.open(tmp_path / "peers.sqlite", SystemClock())
    held = {one.cid for one in await store.held_of(peer.root, limit=2_000)}
    assert held == set(cids) - set(gone), "nothing is lost"
    assert await store.tombstones(cids, peer.root) == set(gone)
    await store.close()
    admitted = Counter(of for what, of in said if what == "admit")
    assert set(admitted.values()) == {1}, "nothing is done twice"
    assert admitted.keys() <= {str(cid) for cid in cids}


async def check_position(folder: Path, peer: Publishing) -> int:
    """The edge that is on disk is that of the log, and everything before it was acted on."""
    store = await PeerStore.open(folder / "peers.sqlite", SystemClock())
    position = await store.position(peer.root)
    held: set[Cid] = {one.cid for one in await store.held_of(peer.root, limit=2_000)}
    await store.close()
    if position is None:
        return 0
    assert Edge(position.size, position.edge).root == peer.log.root(position.size)
    before = set(list(peer.blocks)[: min(position.size, 900)])
    assert {cid for cid in before if cid in peer.live} <= held
    return position.size
