"""Nodes as processes, and what lies between them: links that are cut in the middle of a round, peers
of peers, a peer that is followed by its name alone.

Nodes tell their peers' addresses to callers on their own machine alone, so all of it is on loopback.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.ipfs.index_pages import HeadBlock
from node.ipfs.log_head import Head
from tests.journeys.test_lying_peers import liar
from tests.journeys.test_peers import COMPOST, SOLAR, Peer, index_file, peer
from tests.simulators.cable import Cable
from tests.simulators.kubo import KuboStandIn
from tests.simulators.peer import PeerStandIn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HALLS = 60
TOGETHER = {"SHARING__PUBLISH": "all", "PEERS__TIMEOUT_S": "3", "PEERS__NEAR_MAX": "256"}
"""The halls are all alike: a crowd of one issuer's unless the operator allows it."""


def hall(number: int) -> tuple[str, str]:
    return f"How many lanterns hang in hall {number}?", f"{number * 7 + 1} lanterns."


async def knows(node: Peer, numbers: Sequence[int]) -> list[bool]:
    """Of which halls it gives the right answer."""
    asked = [await node.client.ask(hall(number)[0]) for number in numbers]
    return [said["answer"] == hall(number)[1] for said, number in zip(asked, numbers, strict=True)]


def port(node: Peer) -> int:
    found = urlsplit(node.url).port
    assert found is not None
    return found


async def trusting(node: Peer, other: Peer, cable: Cable) -> None:
    added = await node.command("add", cable.url)
    assert added["root"] == (await other.identity())["root"], added
    await node.command("trust", cable.url)


async def test_cut_in_mid_sync_and_healed(tmp_path: Path) -> None:
    async with (
        peer(tmp_path / "a", **TOGETHER) as a,
        peer(tmp_path / "b", **TOGETHER) as b,
        peer(tmp_path / "c", **TOGETHER) as c,
        Cable(port(a)) as a_to_b,
        Cable(port(b)) as b_to_a,
        Cable(port(b)) as b_to_c,
        Cable(port(c)) as c_to_b,
    ):
        cables = (a_to_b, b_to_a, b_to_c, c_to_b)
        await trusting(b, a, a_to_b)
        await trusting(a, b, b_to_a)
        await trusting(c, b, b_to_c)
        await trusting(b, c, c_to_b)
        cids = [await a.client.store(*hall(number), scope="public") for number in range(HALLS)]
        size = await a.published(4 + HALLS)

        # Cut once a part has come through: the round fails within its bound, and keeps what it has.
        a_to_b.cut_after = a_to_b.passed + 20_000
        reports = {report["address"]: report for report in await b.sync(within_s=60)}
        assert a_to_b.is_cut
        assert reports[a_to_b.url]["outcome"] not in ("synced", "unchanged"), reports[a_to_b.url]
        assert reports[c_to_b.url]["outcome"] in ("synced", "unchanged"), "who hangs holds up nobody else"
        for cable in cables:
            cable.cut()

        # Apart: each answers from what it has, learns, and withdraws.
        assert all(await knows(a, [0, HALLS - 1]))
        await b.client.store(*hall(100), scope="public")
        await c.client.store(*hall(200), scope="public")
        assert await a.client.delete(cids[0]) == 200
        await a.published(size + 1)
        failed = await asyncio.gather(a.sync(within_s=60), b.sync(within_s=60), c.sync(within_s=60))
        assert {report["outcome"] for reports in failed for report in reports} & {"synced"} == set()
        assert await knows(b, [100, 200]) == [True, False]
        assert await knows(c, [100, 200]) == [False, True]

        # Together again: nothing is lost, and what was withdrawn meanwhile is gone also where it had arrived.
        for cable in cables:
            cable.heal()
        for node in (a, b, c):
            for report in await node.sync(within_s=120):
                assert report["outcome"] in ("synced", "unchanged"), report
        everything = [*range(1, HALLS), 100]
        assert all(await knows(a, everything))
        assert all(await knows(b, [*everything, 200]))
        assert await knows(c, [100, 200]) == [True, True]
        for node in (a, b):
            assert await knows(node, [0]) == [False], "a tombstone wins over the copy from before the cut"
        for node in (a, b, c):
            reports_after = await node.sync(within_s=60)
            assert {report["outcome"] for report in reports_after} == {"unchanged"}, reports_after


QUESTION, REWORDED = "How long is kiln 3 fired?", "For how long do they fire kiln 3?"
ANSWER = "Nine hours at cone ten."


async def polled(node: Peer) -> dict[str, dict[str, Any]]:
    """Whom it polls, by address."""
    _, listed = await node.get("/peers")
    return {one["address"]: one for one in listed["peers"] if one["address"] is not None}


@pytest.mark.parametrize("is_wanted", [True, False])
async def test_who_is_heard_of_begins_as_a_stranger(tmp_path: Path, is_wanted: bool) -> None:
    async with (
        peer(tmp_path / "c", SHARING__PUBLISH="all") as c,
        peer(tmp_path / "a", PEERS__URLS=c.url) as a,
        peer(tmp_path / "b", PEERS__URLS=a.url, PEERS__OF_PEERS=str(is_wanted).lower()) as b,
    ):
        await c.client.store(QUESTION, ANSWER, scope="public")
        await c.published(4 + 1)
        roots = {one.url: (await one.identity())["root"] for one in (a, b, c)}
        await a.command("add", b.url)  # so that B is named to B as well
        await a.sync()
        await b.sync()
        if not is_wanted:
            assert set(await polled(b)) == {a.url}
            return
        reports = {report["address"]: report for report in await b.sync()}
        assert reports[c.url]["outcome"] == "synced", reports
        assert (reports[c.url]["held"], reports[c.url]["admitted"]) == (1, 0), reports
        reports = {report["address"]: report for report in await b.sync()}
        assert set(reports) == {a.url, c.url}, "and never itself"
        met = (await polled(b))[c.url]
        assert (met["root"], met["source"], met["level"]) == (roots[c.url], roots[a.url], "unknown")
        assert (await b.client.ask(REWORDED))["answer"] != ANSWER, "whom a peer knows is nobody yet"
        assert (await b.client.check("peers:sync"))["status"] == "pass"
        # the operator's word alone lets it in, and it stays over a restart
        await b.command("trust", c.url)
        said = await b.client.ask(REWORDED)
        assert said["answer"] == ANSWER, said["trace"]
        assert said["hit"]["origin"] == roots[c.url]
        await b.child.end()
        async with peer(tmp_path / "b", PEERS__URLS=a.url, PEERS__OF_PEERS="true") as again:
            assert {one["outcome"] for one in await again.sync()} == {"unchanged"}
            assert (await polled(again))[c.url]["source"] == roots[a.url]
            assert (await again.client.ask(QUESTION))["answer"] == ANSWER


async def test_a_peer_sends_nobody_to_other_services_of_this_machine_by_name(tmp_path: Path) -> None:
    """By number it can, for it is here itself: then who answers there must say who it is."""
    one = liar(1)
    async with PeerStandIn(liar(2)) as service, PeerStandIn(one) as far:
        port = service.port
        hosts = ("localhost", "LOCALHOST.", "node.localhost", "127.1", "0", "user@127.0.0.1")
        more = ("10.0.0.7", "169.254.169.254", "[fe80::1]", "0.0.0.0")
        one.named = [f"http://{host}:{port}" for host in (*hosts, *more)]
        one.named.append(f"http://127.0.0.1:{port}/admin")
        async with peer(tmp_path / "b", PEERS__URLS=far.url, PEERS__OF_PEERS="true") as b:
            for _ in range(2):
                assert [report["address"] for report in await b.sync()] == [far.url]
            assert far.count("/peers") == 2
            assert set(await polled(b)) == {far.url}
            assert service.asked == []


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
            await moved.client.store(QUESTION, ANSWER, scope="public")
            size = await moved.published(size + 1)
            await named(daemon, name, size)
            await moved.child.end()
        async with peer(tmp_path / "b", IPFS__KUBO_URL=daemon.url) as b:
            await synced(b, size)
            said = await b.client.ask(REWORDED)
            assert said["answer"] == ANSWER, said["trace"]
            assert said["hit"]["origin"] == who["root"]
            assert (await b.client.ask("How is a compost heap built?"))["answer"] == COMPOST
