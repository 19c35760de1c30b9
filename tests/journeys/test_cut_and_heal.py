"""Three nodes as processes whose links are cut in the middle of a round, without a word: connections hang.

Each side goes on with what it has; when the links heal all agree, and what was withdrawn meanwhile is gone
everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.journeys.test_peers import Peer, peer
from tests.simulators.cable import Cable

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
        status, _, _ = await a.client.send("DELETE", f"/v1/cache/entries/{cids[0]}")
        assert status == 200
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
            assert await knows(node, [0]) == [False], (
                "a tombstone wins over the copy that came before the cut"
            )
        for node in (a, b, c):
            reports_after = await node.sync(within_s=60)
            assert {report["outcome"] for report in reports_after} == {"unchanged"}, reports_after
