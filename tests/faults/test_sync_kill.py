"""A node that is killed while it reads a peer's feed: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from pathlib import Path

from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.peers.rules.edge import Edge
from node.peers.store.sqlite import SqlitePeerStore
from tests.faults.kill_kit import told_until_killed
from tests.simulators.peer import PeerStandIn, Publishing


async def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
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
    store = await SqlitePeerStore.open(tmp_path / "peers.sqlite", SystemClock())
    held = {one.cid for one in await store.held_of(peer.root, limit=2_000)}
    assert held == set(cids) - set(gone), "nothing is lost"
    assert await store.tombstones(cids, peer.root) == set(gone)
    await store.close()
    admitted = Counter(of for what, of in said if what == "admit")
    assert set(admitted.values()) == {1}, "nothing is done twice"
    assert admitted.keys() <= {str(cid) for cid in cids}


async def check_position(folder: Path, peer: Publishing) -> int:
    """The edge that is on disk is that of the log, and everything before it was acted on."""
    store = await SqlitePeerStore.open(folder / "peers.sqlite", SystemClock())
    position = await store.position(peer.root)
    held: set[Cid] = {one.cid for one in await store.held_of(peer.root, limit=2_000)}
    await store.close()
    if position is None:
        return 0
    assert Edge(position.size, position.edge).root == peer.log.root(position.size)
    before = set(list(peer.blocks)[: min(position.size, 900)])
    assert {cid for cid in before if cid in peer.live} <= held
    return position.size
