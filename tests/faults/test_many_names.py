"""A stranger who gives this node one IPNS name again and again: what is kept is bounded, and nobody is thrown
out for it. What a full store says is in ``tests/unit/store``."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from node.core.clock import SystemClock
from tests.faults.node_kit import Client, start
from tests.journeys.test_names import PUBLIC, RECORD, record_of
from tests.name_owner import Owner

AT_ONCE = 16
FLOOD = 1_500
FILE_BYTES_MAX = 24 * 2**20
"""A thousand records of 10 KiB, and as much again in what waits to be merged."""

pytestmark = pytest.mark.timeout(300)


async def give(node: Client, owner: Owner, data: bytes) -> int:
    path = f"{node.url}/routing/v1/ipns/{owner.name.text}"
    async with node.http.put(path, data=data, headers={"Content-Type": RECORD}) as response:
        return response.status


def kept(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "data" / "names.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM name WHERE own = 0").fetchone()[0])


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "data").glob("names.sqlite*"))


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
