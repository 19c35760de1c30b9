"""A peer that is followed by its IPNS name: B never hears an address of A's, nor does A answer it.

Records of names and blocks come from an IPFS daemon that both use (a stand-in here). A is gone while B reads.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.ipfs.index_pages import HeadBlock
from node.ipfs.log_head import Head
from tests.journeys.test_peers import COMPOST, SOLAR, Peer, index_file, peer
from tests.simulators.kubo import KuboStandIn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LATER, LATER_ANSWER = "How long is kiln 3 fired?", "Nine hours at cone ten."


def told(daemon: KuboStandIn, name: IpnsName) -> int:
    """How many entries of the log behind a name can be read from the daemon alone, every block of it; 0 where
    one is not there yet."""
    try:
        value = ipns.decode(daemon.names[name], name).value
        head = HeadBlock.parse(daemon.blocks[Cid.parse(value.removeprefix("/ipfs/")).multihash])
        if head.publications is None:
            return 0
        log = Head.parse(daemon.blocks[head.publications.multihash])
        is_whole = log.checkpoint is not None and all(daemon.holds(cid) for cid in log.links)
        return log.size if is_whole else 0
    except KeyError:
        return 0


async def named(daemon: KuboStandIn, name: IpnsName, least: int) -> None:
    """Once the name leads to so much of the log: its blocks lag half a minute at most."""
    async with asyncio.timeout(120):
        while told(daemon, name) < least:
            await asyncio.sleep(0.1)


async def synced(node: Peer, least: int) -> None:
    """Rounds until the peer's log was read to ``least`` entries."""
    async with asyncio.timeout(120):
        while True:
            await node.sync()
            _, listed = await node.get("/peers")
            [read] = [one["read"] for one in listed["peers"] if one["address"] is not None]
            if read is not None and read["size"] >= least:
                return
            await asyncio.sleep(1)


async def test_a_name_is_followed_wherever_its_node_is(tmp_path: Path) -> None:
    index = str(index_file(tmp_path / "a"))
    async with KuboStandIn() as daemon:
        sharing = {"SHARING__PUBLISH": "all", "INDEX_FILE": index, "IPFS__KUBO_URL": daemon.url}
        async with peer(tmp_path / "a", **sharing) as a:
            who = await a.identity()
            size, name = await a.published(4 + 2), IpnsName.parse(who["ipns_name"])
            async with peer(tmp_path / "b", IPFS__KUBO_URL=daemon.url) as b:
                await named(daemon, name, size)
                added = await b.command("add", who["ipns_name"])
                await b.command("trust", who["root"])
                assert (added["address"], added["root"]) == (who["ipns_name"], who["root"])
                await synced(b, size)
                assert (await b.client.ask("What's the job of a solar inverter?"))["answer"] == SOLAR
        # Another address, the same name; and B reads what it says while it is away again.
        async with peer(tmp_path / "a", **sharing) as moved:
            assert moved.url != a.url
            await moved.client.store(LATER, LATER_ANSWER, scope="public")
            size = await moved.published(size + 1)
            await named(daemon, name, size)
            await moved.child.end()
        async with peer(tmp_path / "b", IPFS__KUBO_URL=daemon.url) as b:
            await synced(b, size)
            said = await b.client.ask("For how long do they fire kiln 3?")
            assert said["answer"] == LATER_ANSWER, said["trace"]
            assert said["hit"]["origin"] == who["root"]
            assert (await b.client.ask("How is a compost heap built?"))["answer"] == COMPOST
