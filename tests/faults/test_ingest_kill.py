"""``neuroswarm ingest --car`` where the command, or the node that takes the blocks, is killed in the middle.
The same command again ends it; meanwhile no block is there that is not whole, and no record of the node is
touched."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from node.core.ipld.cid import BLAKE2B_256, RAW, Cid
from node.core.record import block_of
from node.store.imported_blocks import ForeignStore
from tests.faults.car_kit import block, write_car
from tests.faults.ingest_child import BATCH, LATER, MOMENTS
from tests.faults.node_kit import PATIENCE_S, Client, Done, child, environ_of, start, typed

BLOCKS = 1_000
BYTES = 4_000
SECRET = "Under the third stone of the zanzibarquux."
QUESTION = "Where does the spare key of the boat house lie?"


@dataclass(frozen=True, slots=True)
class World:
    """A data directory that no node uses, a CAR, and the private record whose bytes are in it too, under
    several names."""

    folder: Path
    car: Path
    cid: str
    names: tuple[Cid, ...]


async def built(folder: Path) -> World:
    async with start(folder) as node:
        cid = await node.store(QUESTION, SECRET, scope="private")
        stored = await node.service._p.records.get(Cid.parse(cid))
    named, data = block_of(stored.record)
    blake = Cid(RAW, hashlib.blake2b(data, digest_size=32).digest(), BLAKE2B_256)
    names = (named, Cid(RAW, named.digest), blake)
    own = [(name, data) for name in names]
    blocks = [block(number, BYTES) for number in range(BLOCKS)]
    car = write_car(folder / "some.car", [blocks[0], *own, *blocks[1:]])
    return World(folder, car, cid, names)


async def command(world: World, *, moment: str = "", killed_after: int = 0) -> Done:
    """``neuroswarm ingest``. ``killed_after``: so many bytes of the CAR, which it then reads from a pipe."""
    return await typed(
        environ_of(world.folder),
        *("ingest", "--json", "--car", "-" if killed_after else str(world.car)),
        module=("tests.faults.ingest_child", moment) if moment else ("node",),
        given=world.car.read_bytes()[:killed_after],
        is_killed=killed_after > 0,
    )


def report(done: Done) -> dict[str, Any]:
    """Of a command that went well."""
    assert done.returncode == 0, done
    said = json.loads(done.stdout)
    assert said["error"] is None
    found: dict[str, Any] = said["files"][0]
    return found


async def stored(world: World) -> int:
    """How many blocks of the CAR are there, while no node runs: each as it should be, in the order read."""
    store = await ForeignStore.open(world.folder / "data" / "foreign.sqlite", bytes_max=2**30)
    try:
        there = [await store.blocks.has(block(number, BYTES)[0]) for number in range(BLOCKS)]
        count = sum(there)
        assert there == [True] * count + [False] * (BLOCKS - count), "a prefix"
        for number in range(count):
            cid, data = block(number, BYTES)
            assert await store.blocks.get(cid) == data
        return count
    finally:
        await store.close()


async def check_secret(world: World, node: Client) -> None:
    """It is its owner's, whole, and nobody else's, whatever it is asked for as."""
    status, entry, _ = await node.send("GET", f"/v1/cache/entries/{world.cid}")
    assert (status, entry["answer"], entry["scope"]) == (200, SECRET, "private:local")
    assert (await node.search(QUESTION))["cid"] == world.cid
    for name in world.names:
        for form in ("raw", "car"):
            status, body, _ = await node.send("GET", f"/ipfs/{name}?format={form}")
            assert status == 404, body
        _, found, _ = await node.send("GET", f"/routing/v1/providers/{name}")
        assert found == {"Providers": []}


async def check_blocks(node: Client, count: int) -> None:
    """Over HTTP: those are there, whole; the others are not."""
    for number in {0, 1, count - 1, count, BLOCKS - 1} & set(range(BLOCKS)):
        cid, data = block(number, BYTES)
        status, body, _ = await node.send("GET", f"/ipfs/{cid}?format=raw")
        assert (status, body if status == 200 else b"") == ((200, data) if number < count else (404, b""))


async def free(world: World) -> Done:
    """The command, once the node takes its stream: one at once, and the first may still end."""
    async with asyncio.timeout(2 * PATIENCE_S):
        while (done := await command(world)).returncode != 0:
            assert "another file" in json.loads(done.stdout)["error"], done
    return done


def least(moment: str) -> tuple[int, int]:
    """How many blocks of the CAR are there at that moment, at least and at most; with the record's own."""
    batches = {"first batch committed": 1, "in a batch": LATER, "batches committed": LATER}
    if MOMENTS.index(moment) >= MOMENTS.index("all committed"):
        return BLOCKS, BLOCKS
    count = batches.get(moment, 0) * BATCH
    return max(0, count - 3), count


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_command_killed_in_an_import(tmp_path: Path, moment: str) -> None:
    """Without a node it does the work itself."""
    world = await built(tmp_path / "node")
    assert (await command(world, moment=moment)).returncode == -signal.SIGKILL
    low, high = least(moment)
    count = await stored(world)
    assert low <= count <= high
    async with start(world.folder) as node:
        await check_secret(world, node)
        await check_blocks(node, count)
    done = report(await command(world))
    assert done["blocks"] >= BLOCKS - count
    assert done["known"] >= count
    assert done["blocks"] + done["known"] == BLOCKS + 3
    async with start(world.folder) as node:
        await check_secret(world, node)
        await check_blocks(node, BLOCKS)
    assert await stored(world) == BLOCKS


@pytest.mark.parametrize("moment", [one for one in MOMENTS if one != "store closed"])
async def test_a_node_killed_in_an_import(tmp_path: Path, moment: str) -> None:
    world = await built(tmp_path / "node")
    async with child(world.folder, command=("-m", "tests.faults.ingest_child", moment)) as (serving, _):
        done = await command(world)
        async with asyncio.timeout(PATIENCE_S):
            assert await serving.process.wait() == -signal.SIGKILL
    assert done.returncode == 1
    assert "did not answer" in json.loads(done.stdout)["error"], done
    count = await stored(world)
    low, high = least(moment)
    assert low <= count <= high
    async with child(world.folder) as (_, node):
        await check_secret(world, node)
        await check_blocks(node, count)
        again = report(await command(world))
        assert again["blocks"] + again["known"] == BLOCKS + 3
        await check_secret(world, node)
        await check_blocks(node, BLOCKS)
    assert await stored(world) == BLOCKS


@pytest.mark.parametrize("share", [0.1, 0.6, 0.99])
async def test_a_node_whose_import_breaks_off_lives_and_takes_the_next(tmp_path: Path, share: float) -> None:
    """The command is killed, the node is not."""
    world = await built(tmp_path / "node")
    async with child(world.folder) as (serving, node):
        size = world.car.stat().st_size
        assert (await command(world, killed_after=int(size * share))).returncode == -signal.SIGKILL
        assert (await node.send("GET", "/livez"))[0] == 200
        await check_secret(world, node)
        done = report(await free(world))
        assert done["blocks"] + done["known"] == BLOCKS + 3
        await check_secret(world, node)
        await check_blocks(node, BLOCKS)
        assert await serving.end() == 0
    assert await stored(world) == BLOCKS


async def test_two_imports_at_once_and_one_is_killed(tmp_path: Path) -> None:
    """Blocks that both bring are there once."""
    world = await built(tmp_path / "node")
    async with child(world.folder) as (_, node):
        size = world.car.stat().st_size
        first, second = await asyncio.gather(command(world), command(world, killed_after=size // 2))
        for done in (first, second):
            if done.returncode not in (0, -signal.SIGKILL):  # the other one was taken first
                assert "another file" in json.loads(done.stdout)["error"], done
        await free(world)
        await check_blocks(node, BLOCKS)
        await check_secret(world, node)
        check = await node.check("ipfs:foreign")
        assert check["observedValue"] == BLOCKS + 2, "two names of the record are one multihash"
