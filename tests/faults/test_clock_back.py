"""The wall clock of a running node is set back by a day, forward by a year, and right again, and the operator
says each time that it is to be believed: its name stays found and never goes back, what it publishes follows,
and nobody waits for a time that does not come. (What becomes of a jump that nobody has confirmed:
``test_clock_jump``.)"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.ipfs.head import EVERY_S, LIFETIME, RENEW_EVERY, SLACK
from tests.faults.node_kit import Client, Jumping, environ_of, eventually, start, typed
from tests.journeys.test_names import PUBLIC, RECORD, fetch_car, own_name, path_of, record_of
from tests.log_kit import verified
from tests.name_owner import Owner
from tests.simulators.coingecko import CoinGeckoStandIn

TURNS = 1_200
"""Of a twentieth of a second and more."""
JUMPS: tuple[tuple[str, dict[str, float]], ...] = (
    ("back by a day", {"days": -1}),
    ("forward by a year", {"days": 366}),
    ("right again", {"days": -365}),
    ("back by a year", {"days": -365}),
    ("right at last", {"days": 365}),
)

pytestmark = pytest.mark.timeout(300)


def is_sane(record: IpnsRecord, clock: Jumping) -> bool:
    """As long as a fresh record lives, by the clock as it is now."""
    left = record.validity - clock.now()
    return LIFETIME - RENEW_EVERY < left <= LIFETIME + SLACK and record.ttl_ns == 60 * 10**9


async def published(node: Client, clock: Jumping, name: IpnsName, question: str) -> IpnsRecord:
    """Store a public answer and wait until the name leads to it."""
    await node.store(question, f"It is said of {question}", scope="public")
    way = "/".join(path_of(question))
    seen: tuple[object, ...] = ()
    for turn in range(TURNS):
        if turn % 40 == 0:
            clock.sleep_through(seconds=EVERY_S + 1)  # a head may have been made just before
        status, _, _ = await node.send("GET", f"/ipns/{name.text}?format=ipns-record")
        if status == 200:
            record = await record_of(node, name)
            status, _, _ = await node.send("GET", f"{record.value}/{way}?format=car")
            if status == 200 and is_sane(record, clock):
                await fetch_car(node, f"{record.value}/{way}")
                return record
            seen = (record, status, clock.now())
        await asyncio.sleep(0.05)
    raise AssertionError(f"the name does not lead to the newest answer: {seen}")


async def accept(node: Client) -> None:
    """The operator's word, if it is needed."""
    done = await typed(environ_of(node.folder), "doctor", "--accept-clock")
    assert done.returncode == 0, done.stderr


async def check_works(node: Client, session: str, number: int) -> None:
    """Questions, follow-ups, stores, feedback: none of them waits for another time."""
    assert f"{number + 4}" in (await node.ask(f"What is {number}+4?", session_id=session))["answer"]
    question = f"What is town {number} of the list?"
    cid = await node.store(question, f"Town {number}.")
    found = await node.ask(question, session_id=session)
    assert found["cid"] == cid
    assert (await node.judge("valid", cid=cid))["validations"]["valid"] == 1
    private = await node.store(f"What is my number {number}?", "It is mine.", scope="private")
    assert await node.delete(private) == 200
    assert (await node.send("GET", "/livez"))[0] == 200


async def test_the_wall_clock_jumps_back_and_forth(tmp_path: Path) -> None:
    clock, stranger = Jumping(), Owner(7)
    more: dict[str, Any] = {**PUBLIC, "clock": clock}
    async with CoinGeckoStandIn() as source:
        async with start(tmp_path, coingecko=source.url, **more) as node:
            await node.store("What is a keel?", "The spine of a ship.", scope="public")
            name = await own_name(node)
            last = await published(node, clock, name, "What is a hull?")
            path = f"{node.url}/routing/v1/ipns/{stranger.name.text}"
            given = stranger.record(clock.now())
            async with node.http.put(path, data=given, headers={"Content-Type": RECORD}) as response:
                assert response.status == 200
            for number, (what, by) in enumerate(JUMPS):
                clock.set_by(**by)
                await accept(node)
                await check_works(node, "sessionsession", number)
                reply = await node.ask("price of bitcoin")
                assert reply["source"]["id"] == "coingecko", what
                record = await published(node, clock, name, f"What is plank {number}?")
                assert record.sequence > last.sequence, what
                assert record.sequence < 2**63, what
                assert record.value != last.value, what
                last = record
                status, _, headers = await node.send("GET", f"/ipns/{stranger.name.text}?format=ipns-record")
                assert status == (404 if "forward" in what else 200), what
                if status == 200:
                    age = int(headers["Cache-Control"].partition("max-age=")[2].split(",")[0])
                    assert 0 <= age <= timedelta(days=2).total_seconds()
                assert (await node.check("ipns"))["status"] == "pass", what
                assert (await node.check("log"))["status"] == "pass", what
        assert (await verified(tmp_path / "governance_logs")).ok
        async with start(tmp_path, coingecko=source.url, **more) as node:
            assert await own_name(node) == name
            again = await published(node, clock, name, "What is a mast?")
            assert again.sequence > last.sequence


@pytest.mark.parametrize("by", [{"days": -1}, {"days": 366}])
async def test_a_start_with_another_time_than_at_the_stop(tmp_path: Path, by: dict[str, float]) -> None:
    clock = Jumping()
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await node.store("What is a keel?", "The spine of a ship.", scope="public")
        name = await own_name(node)
        first = await published(node, clock, name, "What is a hull?")
    clock.set_by(**by)
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await accept(node)
        path = f"/ipns/{name.text}?format=ipns-record"
        await eventually(lambda: node.get(path), lambda found: found[0] == 200)
        second = await published(node, clock, name, "What is a mast?")
        assert second.sequence > first.sequence
        await check_works(node, "sessionsession", 1)
    clock.set_by(days=-by["days"])
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await accept(node)
        third = await published(node, clock, name, "What is a boom?")
        assert third.sequence > second.sequence
        await check_works(node, "sessionsession", 2)
