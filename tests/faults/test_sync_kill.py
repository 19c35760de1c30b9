"""A node that is killed while it reads a peer's feed: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path

from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.peers.rules.edge import Edge
from node.peers.store.sqlite import SqlitePeerStore
from tests.simulators.peer import PeerStandIn, Publishing

ROOT = Path(__file__).parents[2]


async def work_and_kill(folder: Path, url: str, lines_max: int | None) -> list[tuple[str, str]]:
    """Let a child do so many things, then SIGKILL it; None: let it finish. All that it said."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.sync_child", str(folder), url),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    lines: list[bytes] = []
    while lines_max is None or len(lines) < lines_max:
        line = await child.stdout.readline()
        if not line:
            break
        lines.append(line)
    if lines_max is not None:
        assert len(lines) == lines_max, "the child ended by itself"
        child.kill()
    lines += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    said = [line.decode().split() for line in lines if line.endswith(b"\n")]
    return [(what, of) for what, of in said]


async def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    peer = Publishing(1)
    cids = [peer.publish(f"What is {number}?") for number in range(900)]
    gone = cids[100:200:10]
    for cid in gone:
        peer.retract(cid)
    said: list[tuple[str, str]] = []
    positions = [0]
    async with PeerStandIn(peer) as server:
        for lines_max in (1, 60, 170, 300):
            said += await work_and_kill(tmp_path, server.url, lines_max)
            positions.append(await check_position(tmp_path, peer))
        assert positions == sorted(positions)
        said += await work_and_kill(tmp_path, server.url, None)
    assert said[-1] == ("done", server.url)
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
