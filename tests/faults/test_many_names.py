"""Strangers who give this node more IPNS names than it keeps, or one name again and again: what is kept is
bounded, nobody is thrown out for another, and the node's own name stays its own."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from node.core.clock import SystemClock
from node.core.ipld import ipns
from node.core.ipld.ipns import IpnsName
from node.store.ipns_records import NAMES_MAX
from tests.faults.node_kit import Client, Jumping, start
from tests.journeys.test_names import PUBLIC, RECORD, own_name, record_of
from tests.name_owner import HOUR, Owner

AT_ONCE = 16
FLOOD = 1_500
FILE_BYTES_MAX = 24 * 2**20
"""A thousand records of 10 KiB, and as much again in what waits to be merged."""

pytestmark = pytest.mark.timeout(300)


async def give(node: Client, owner: Owner, data: bytes) -> int:
    path = f"{node.url}/routing/v1/ipns/{owner.name.text}"
    async with node.http.put(path, data=data, headers={"Content-Type": RECORD}) as response:
        body = await response.read()
        if response.status == 503:
            assert int(response.headers["Retry-After"]) >= 1
            assert b"names are kept here already" in body
        return response.status


async def give_all(node: Client, owners: list[Owner], clock: SystemClock, **more: object) -> list[int]:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(owner: Owner) -> int:
        async with places:
            return await give(node, owner, owner.record(clock.now(), **more))

    return list(await asyncio.gather(*map(one, owners)))


def kept(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "data" / "names.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM name WHERE own = 0").fetchone()[0])


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "data").glob("names.sqlite*"))


async def test_more_names_than_are_kept(tmp_path: Path) -> None:
    clock = Jumping()
    owners = [Owner(seed) for seed in range(1, NAMES_MAX + 1)]
    late = [Owner(seed) for seed in range(NAMES_MAX + 1, NAMES_MAX + 21)]
    long_value = "/ipfs/" + "a" * 9_000
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await node.store("What is a keel?", "The spine of a ship.", scope="public")
        name = await own_name(node)
        own = await record_of(node, name)
        assert set(await give_all(node, owners, clock, value=long_value)) == {200}
        assert set(await give_all(node, late, clock)) == {503}, "none of them has expired"
        assert kept(tmp_path) == NAMES_MAX
        assert await record_of(node, name) == own
        assert set(await give_all(node, owners[:40], clock, sequence=2)) == {200}, "names that are known"
        for owner in (owners[0], owners[-1]):
            found = await record_of(node, owner.name)
            assert found.sequence == (2 if owner is owners[0] else 1)
        clock.sleep_through(hours=47)
        assert set(await give_all(node, owners[40:80], clock, sequence=3)) == {200}, "given again in time"
        clock.sleep_through(hours=2)
        assert set(await give_all(node, late, clock)) == {200}, "the others were kept long enough"
        assert kept(tmp_path) == 40 + len(late)
        for owner in (*owners[40:80:13], *late[::7]):
            await record_of(node, owner.name)
        status, _, _ = await node.send("GET", f"/ipns/{owners[0].name.text}?format=ipns-record")
        assert status == 404
        assert (await node.send("GET", "/livez"))[0] == 200
        assert size(tmp_path) < FILE_BYTES_MAX
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await record_of(node, late[0].name)
        assert (await record_of(node, await own_name(node))).sequence >= own.sequence


async def test_one_name_with_ever_higher_sequences(tmp_path: Path) -> None:
    clock = SystemClock()
    owner, other = Owner(1), Owner(2)
    async with start(tmp_path, **PUBLIC) as node:
        assert await give(node, other, other.record(clock.now())) == 200
        before = size(tmp_path)
        now, places, statuses = clock.now(), asyncio.Semaphore(AT_ONCE), list[int]()

        async def flood(sequence: int) -> None:
            async with places:
                data = owner.record(now, sequence=sequence, value="/ipfs/" + "a" * 9_000)
                statuses.append(await give(node, owner, data))

        await asyncio.gather(*(flood(sequence) for sequence in range(1, FLOOD + 1)))
        assert set(statuses) <= {200, 400}, "one that was overtaken is refused"
        assert (await record_of(node, owner.name)).sequence == FLOOD
        assert kept(tmp_path) == 2
        assert size(tmp_path) - before < FILE_BYTES_MAX
        assert (await record_of(node, other.name)).sequence == 1
        assert await give(node, owner, owner.record(now, sequence=2**64 - 1)) == 200
        assert await give(node, owner, owner.record(now, sequence=FLOOD + 1)) == 400
        assert "4" in (await node.ask("What is 2+2?"))["answer"]


async def test_nobody_takes_the_node_s_own_name(tmp_path: Path) -> None:
    """Neither with another's key nor with what the node itself has signed before."""
    clock = Jumping()
    stranger = Owner(1)
    async with start(tmp_path, clock=clock, **PUBLIC) as node:
        await node.store("What is a keel?", "The spine of a ship.", scope="public")
        name = await own_name(node)
        path = f"{node.url}/routing/v1/ipns/{name.text}"

        async def put(data: bytes) -> int:
            async with node.http.put(path, data=data, headers={"Content-Type": RECORD}) as response:
                return response.status

        _, first, _ = await node.send("GET", f"/ipns/{name.text}?format=ipns-record")
        old = ipns.decode(first, name)
        for sequence in (1, old.sequence + 1, 2**64 - 1):
            assert await put(stranger.record(clock.now(), sequence=sequence, valid=1_000 * HOUR)) == 400
        assert await put(first) == 200, "it is the one that is here"
        clock.sleep_through(seconds=60)
        await node.store("What is a hull?", "The body of a ship.", scope="public")
        await newer(node, name, old.sequence)
        for _ in range(50):
            assert await put(first) == 400
        found = await record_of(node, name)
        assert found.sequence > old.sequence
        assert found.validity - clock.now() < timedelta(hours=48, minutes=1)
        assert await put(stranger.record(clock.now())) == 400
        assert kept(tmp_path) == 0


async def newer(node: Client, name: IpnsName, sequence: int) -> None:
    async with asyncio.timeout(30):
        while (await record_of(node, name)).sequence <= sequence:
            await asyncio.sleep(0.05)
