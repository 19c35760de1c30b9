"""A node or a command that is killed in the middle of an erasure. The next start ends what can no longer be
undone, without being asked; what was not begun is whole and can be asked for again. No key, text or vector is
left behind."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from node.core.ipld.cid import DAG_CBOR, Cid
from node.core.normalise import normalise
from node.store.record_keys import KEY_BYTES
from tests.faults.erase_child import MOMENTS
from tests.faults.node_kit import PATIENCE_S, Client, Done, child, environ_of, start, typed
from tests.journeys.test_canary import KEY_HEADER_BYTES, Planted, found_on_disk, keys_in, plant
from tests.log_kit import entries, verified


@dataclass(frozen=True, slots=True)
class World:
    """A data directory that no node uses, with what is to be erased and what is to stay."""

    folder: Path
    planted: Planted
    other: Planted
    vector: bytes
    older: str
    """For what is not private, the CID of the version that it replaced."""


async def built(folder: Path, scope: str) -> World:
    async with start(folder, embed="local") as node:
        older = ""
        if scope != "private":
            question = "Where did the zanzibarqueryquux of my aunt begin?"
            older = await node.store(question, "It began zanzibaranswerquux at home.", scope=scope)
        planted = await plant(node, "zanzibar", scope)
        other = await plant(node, "trinidad", scope)
        vector = await node.service.embed(normalise(planted.question))
        assert vector is not None
        return World(folder, planted, other, vector.astype("<f4").tobytes(), older)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    """Built once; each test has a copy."""
    folder = tmp_path_factory.mktemp("worlds")
    return {scope: asyncio.run(built(folder / scope, scope)) for scope in ("private", "shared")}


def copied(world: World, folder: Path) -> World:
    shutil.copytree(world.folder, folder)
    return World(folder, world.planted, world.other, world.vector, world.older)


async def killed_while_it_serves(world: World, moment: str) -> None:
    own = ("-m", "tests.faults.erase_child", moment)
    async with child(world.folder, command=own, NEUROSWARM_EMBED__ENGINE="local") as (serving, node):
        with pytest.raises(aiohttp.ClientError):
            await node.delete(world.planted.cid)
        async with asyncio.timeout(PATIENCE_S):
            assert await serving.process.wait() == -signal.SIGKILL


async def command(world: World, cid: str, *, moment: str = "") -> Done:
    """``neuroswarm cache erase`` where no node runs, killed at ``moment``."""
    module = ("tests.faults.erase_child", moment) if moment else ("node",)
    return await typed(environ_of(world.folder), "cache", "erase", cid, module=module)


def rows(world: World, statement: str, *values: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(world.folder / "data" / "blocks.sqlite")) as connection:
        return connection.execute(statement, values).fetchall()


def tombstones(world: World) -> list[str]:
    """What there are tombstones of, each as often as there are."""
    found = rows(world, "SELECT target FROM record WHERE kind = 'tombstone'")
    return [str(Cid(DAG_CBOR, target[2:])) for (target,) in found if isinstance(target, bytes)]


def said_in_log(world: World) -> int:
    """Leaves that say that something was erased."""
    return sum(entry["kind"] == "tombstone" for entry in entries(world.folder / "governance_logs"))


async def stays(node: Client, planted: Planted) -> bool:
    return planted.words["answer"] in (await node.ask(planted.question))["answer"]


async def check_gone(world: World, node: Client) -> None:
    """While it runs: nobody finds it, what is to stay is there."""
    assert (await node.get(f"/v1/cache/entries/{world.planted.cid}"))[0] == 404
    assert not await stays(node, world.planted)
    assert await stays(node, world.other)


def keys_of(world: World) -> set[bytes]:
    """The keys that open what is to be erased: the record's and its verdicts'."""
    data = (world.folder / "data" / "keys" / "record_keys").read_bytes()
    found = set()
    for cid in (world.planted.cid, *world.planted.notes):
        [(slot,)] = rows(world, "SELECT key_id FROM block WHERE multihash = ?", Cid.parse(cid).multihash)
        assert isinstance(slot, int)
        start = KEY_HEADER_BYTES + slot * KEY_BYTES
        found.add(data[start : start + KEY_BYTES])
    return found


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_node_killed_in_an_erasure(worlds: dict[str, World], tmp_path: Path, moment: str) -> None:
    world = copied(worlds["private"], tmp_path / "node")
    keys = keys_of(world)
    assert len(keys & keys_in(world.folder)) == 3, "the test can see what it looks for"
    assert found_on_disk(world.folder, world.planted, world.vector) != {}, "and here too"
    await killed_while_it_serves(world, moment)
    assert said_in_log(world) == 1, "the log comes first"
    is_whole = moment == "decided"
    async with start(world.folder, embed="local") as node:
        if is_whole:
            assert await stays(node, world.planted), "not begun"
            assert await node.delete(world.planted.cid) == 200
        await check_gone(world, node)
        assert found_on_disk(world.folder, world.planted, world.vector) == {}, "while it runs"
        assert keys & keys_in(world.folder) == set()
        assert tombstones(world) == [world.planted.cid]
        assert said_in_log(world) == (2 if is_whole else 1), "each decision once"
    assert found_on_disk(world.folder, world.planted, world.vector) == {}, "after the stop"
    assert (await verified(world.folder / "governance_logs")).ok


@pytest.mark.parametrize("moment", ["decided", "keys synced", "record about to be deleted", "all scrubbed"])
async def test_a_command_killed_in_an_erasure(worlds: dict[str, World], tmp_path: Path, moment: str) -> None:
    """No node runs, and none is started: the same command again ends it."""
    world = copied(worlds["private"], tmp_path / "node")
    keys = keys_of(world)
    assert (await command(world, world.planted.cid, moment=moment)).returncode == -signal.SIGKILL
    assert said_in_log(world) == 1
    done = await command(world, world.planted.cid)
    is_done = moment == "all scrubbed"
    assert done.returncode == (1 if is_done else 0), done
    assert ("there is no record" in done.stdout + done.stderr) == is_done
    assert found_on_disk(world.folder, world.planted, world.vector) == {}
    assert keys & keys_in(world.folder) == set()
    assert set(tombstones(world)) == {world.planted.cid}
    async with start(world.folder, embed="local") as node:
        await check_gone(world, node)
    assert found_on_disk(world.folder, world.planted, world.vector) == {}


@pytest.mark.parametrize(
    "moment", ["decided", "tombstone stored", "second verdict deleted", "record deleted", "all scrubbed"]
)
async def test_what_is_not_private_is_erased_with_its_versions_when_asked_again(
    worlds: dict[str, World], tmp_path: Path, moment: str
) -> None:
    world = copied(worlds["shared"], tmp_path / "node")
    await killed_while_it_serves(world, moment)
    is_done = moment == "all scrubbed"
    async with start(world.folder, embed="local") as node:
        assert await stays(node, world.planted) == (moment == "decided"), "a tombstone withdraws at once"
        assert await node.delete(world.planted.cid) == (404 if is_done else 200)
        await check_gone(world, node)
        assert found_on_disk(world.folder, world.planted, world.vector) == {}, "while it runs"
        assert (await node.send("GET", f"/v1/cache/entries/{world.older}"))[0] == 404
    assert found_on_disk(world.folder, world.planted, world.vector) == {}, "after the stop"
    assert (await verified(world.folder / "governance_logs")).ok
