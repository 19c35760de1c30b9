"""No room: an import, an erasure and a node on a disk that is full. Each says so in one sentence, nothing
that was promised is lost, the node lives, and goes on when there is room again.

On a file system of its own where this process may mount one; else, and besides, a limit on the size of files
stands for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.faults.car_kit import block, write_car
from tests.faults.node_kit import Child, Client, Done, child, eventually, start
from tests.faults.test_ingest_kill import World, command, report
from tests.log_kit import verified

MIB = 2**20
DISK_BYTES = 48 * MIB
LEFT_BYTES = 2 * MIB
BLOCKS = 160
BYTES = 100_000
SECRET = "Under the third stone of the zanzibarquux."
QUESTION = "Where does the spare key of the boat house lie?"


def written(path: Path) -> Path:
    """A CAR of 16 MB."""
    return write_car(path, (block(number, BYTES) for number in range(BLOCKS)))


class Disk:
    """Room that can be taken and given back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def left(self) -> int:
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def fill(self, left: int) -> None:
        """Up to ``left`` bytes, though others write meanwhile."""
        with self._ballast.open("ab") as file:
            while (more := self.left() - left) > 0:
                with suppress(OSError):
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, more)

    def empty(self) -> None:
        self._ballast.unlink()


@contextmanager
def mounted(folder: Path) -> Iterator[Disk]:
    """A small file system in memory."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    done = subprocess.run(["mount", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system of its own can be mounted here: {done.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


async def there(node: Client) -> int:
    """How many blocks of the CAR are served, each of them whole."""
    count = 0
    for number in range(BLOCKS):
        cid, data = block(number, BYTES)
        status, body, _ = await node.send("GET", f"/ipfs/{cid}?format=raw")
        assert status in (200, 404), body
        count += status == 200
        assert status == 404 or body == data
    return count


def error(done: Done) -> str:
    """What a command that failed says."""
    assert done.returncode == 1, done
    said = json.loads(done.stdout)["error"]
    assert "\n" not in said
    assert "Traceback" not in done.stderr
    return str(said)


async def check_kept(node: Client, cid: str) -> None:
    status, entry, _ = await node.send("GET", f"/v1/cache/entries/{cid}")
    assert (status, entry["answer"], entry["scope"]) == (200, SECRET, "private:local")
    assert (await node.search(QUESTION))["cid"] == cid
    assert (await node.send("GET", f"/ipfs/{cid}?format=raw"))[0] == 404


async def room_again(world: World, process: Child, node: Client, cid: str) -> None:
    """All that was refused is done, and stays."""
    file = report(await command(world))
    assert file["blocks"] + file["known"] == BLOCKS
    assert await there(node) == BLOCKS
    await check_kept(node, cid)
    other = await node.store("What is a keel?", "The spine of a ship.", scope="public")
    assert (await node.ask("What is 3+3?"))["decision"] is not None
    assert (await node.check("log"))["status"] == "pass"
    assert await process.end() == 0
    assert (await verified(world.folder / "governance_logs")).ok
    async with start(world.folder) as again:
        assert await there(again) == BLOCKS
        await check_kept(again, cid)
        assert (await again.search("What is a keel?"))["cid"] == other


async def check_alive(node: Client, cid: str) -> None:
    """Without room for a byte it answers, and says what it cannot do."""
    assert (await node.send("GET", "/livez"))[0] == 200
    status, reply = await node.post("/chat", {"query": "What is 2+2?", "verbose": True})
    assert status in (200, 503), reply
    assert status == 503 or "4" in reply["answer"]
    await check_kept(node, cid)
    assert (await node.send("GET", "/health"))[0] in (200, 503)


async def test_an_import_on_a_full_disk_and_a_node_that_lives_on(tmp_path: Path) -> None:
    with mounted(tmp_path / "node") as disk:
        world = World(disk.folder, written(tmp_path / "some.car"), "", ())
        async with child(disk.folder) as (process, node):
            cid = await node.store(QUESTION, SECRET, scope="private")
            assert (await node.ask("What is 2+2?"))["decision"] is not None
            disk.fill(LEFT_BYTES)
            said = error(await command(world))
            assert "foreign.sqlite cannot be used now" in said
            assert "full" in said
            assert "stored" in said, "how far it got"
            assert disk.left() > LEFT_BYTES // 2, (
                "what it had begun gives its room back to the rest of the node"
            )
            assert (await node.ask("What is 4+4?"))["decision"] is not None
            await check_alive(node, cid)
            count = await there(node)
            assert count < BLOCKS
            disk.fill(0)
            assert error(await command(world))
            status, reply = await node.post(
                "/v1/cache/entries", {"query": "What is lost?", "answer": "x" * 60_000}
            )
            assert status == 503, reply
            await check_alive(node, cid)
            assert await there(node) >= count, "what was said to be stored is"
            disk.empty()
            await room_again(world, process, node, cid)


async def test_an_import_under_a_limit_on_files(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    folder.mkdir()
    world = World(folder, written(tmp_path / "some.car"), "", ())
    async with child(folder) as (process, node):
        cid = await node.store(QUESTION, SECRET, scope="private")
        process.limit_files(5 * MIB)
        said = error(await command(world))
        assert "foreign.sqlite cannot be used now" in said
        assert "stored" in said
        await check_alive(node, cid)
        process.limit_files(1)
        assert error(await command(world))
        await check_alive(node, cid)
        process.limit_files(None)
        await room_again(world, process, node, cid)


async def test_an_import_without_a_node_on_a_full_disk(tmp_path: Path) -> None:
    with mounted(tmp_path / "node") as disk:
        world = World(disk.folder, written(tmp_path / "some.car"), "", ())
        async with start(disk.folder) as node:
            cid = await node.store(QUESTION, SECRET, scope="private")
        disk.fill(LEFT_BYTES)
        said = error(await command(world))
        assert "full" in said
        assert "stored" in said
        disk.fill(0)
        done = await command(world)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), done
        disk.empty()
        async with child(disk.folder) as (process, node):
            await check_kept(node, cid)
            await room_again(world, process, node, cid)


async def test_an_erasure_on_a_full_disk(tmp_path: Path) -> None:
    """With room it is asked for again, or ends by itself."""
    with mounted(tmp_path / "node") as disk:
        async with child(disk.folder, NEUROSWARM_CACHE__SWEEP_EVERY_S="1") as (process, node):
            cid = await node.store(QUESTION, SECRET, scope="private")
            kept = await node.store("What is my boat called?", "Ariadne.", scope="private")
            disk.fill(0)
            await fill_up(node)
            status, reply, _ = await node.send("DELETE", f"/v1/cache/entries/{cid}")
            assert status in (200, 503), reply
            assert (await node.send("GET", "/livez"))[0] == 200
            disk.empty()
            await eventually(lambda: node.delete(cid), lambda status: status == 404)
            assert (await node.search(QUESTION))["hit"] is None
            assert (await node.search("What is my boat called?"))["cid"] == kept
            assert await process.end() == 0
        assert (await verified(disk.folder / "governance_logs")).ok
        async with start(disk.folder) as again:
            assert (await again.send("GET", f"/v1/cache/entries/{cid}"))[0] == 404
            assert (await again.search("What is my boat called?"))["cid"] == kept


async def test_health_tells_that_nothing_can_be_stored(tmp_path: Path) -> None:
    with mounted(tmp_path / "node") as disk:
        async with child(disk.folder) as (_, node):
            assert (await node.check("ipfs:blocks"))["status"] == "warn", "48 MiB are little"
            disk.fill(0)
            await fill_up(node)
            check = await node.check("ipfs:blocks")
            assert check["status"] == "fail"
            assert "nothing can be stored now" in check["output"]
            assert "writes turned away since the start: 1" in check["output"]
            disk.empty()
            await node.store("What is there again?", "Room.")
            check = await node.check("ipfs:blocks")
            assert check["status"] == "warn"
            assert "writes turned away since the start: 1" in check["output"]


async def fill_up(node: Client) -> None:
    """What files have left inside their last pages."""
    for number in range(50):
        body: dict[str, Any] = {"query": f"What is number {number}?", "answer": "x" * 3_000}
        if (await node.post("/v1/cache/entries", body))[0] == 503:
            return
    raise AssertionError("the disk is not full")
