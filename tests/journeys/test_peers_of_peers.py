"""Peers of peers, as processes: who hears of whom, and what an address that somebody else has named may do.

Nodes tell their peers' addresses to callers on their own machine alone, so all of it is on loopback.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.journeys.test_lying_peers import liar
from tests.journeys.test_peers import Peer, peer
from tests.simulators.peer import PeerStandIn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

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
        _, health = await b.get("/health")
        assert health["checks"]["peers:sync"][0]["status"] == "pass", health["checks"]["peers:sync"]
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
        one.named = [
            *(
                f"http://{host}:{port}"
                for host in ("localhost", "LOCALHOST.", "node.localhost", "127.1", "0")
            ),
            *(f"http://{host}:{port}" for host in ("10.0.0.7", "169.254.169.254", "[fe80::1]", "0.0.0.0")),
            f"http://127.0.0.1:{port}/admin",
            f"http://user@127.0.0.1:{port}",
        ]
        async with peer(tmp_path / "b", PEERS__URLS=far.url, PEERS__OF_PEERS="true") as b:
            for _ in range(2):
                assert [report["address"] for report in await b.sync()] == [far.url]
            assert far.count("/peers") == 2
            assert set(await polled(b)) == {far.url}
            assert service.asked == []
