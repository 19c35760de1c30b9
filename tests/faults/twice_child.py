"""The process behind ``test_power_cuts.py``: does one piece of work. The test has it done twice: the first
time it is killed somewhere, the second time it is done to the end. Then the power fails."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from node.audit.decisions.moving import move
from node.core.errors import NotFound
from node.store.backup.folder import BackupFolder, add_erased, read_erased
from node.store.backup.parts import Parts
from node.store.schema import Schema
from node.store.writer import SqliteFile
from tests.epoch_kit import World, fill
from tests.faults.power_child import forked

DATA = b"what a backup holds " * 50
SCHEMA = Schema(
    name="list",
    application_id=77,
    version=1,
    statements="CREATE TABLE item (word TEXT);",
    synchronous="FULL",
    page_bytes=4_096,
)


async def prepare(root: Path, what: str) -> None:
    """What the work begins with: for ``moved`` a closed epoch, for ``turned`` a log."""
    if what in ("moved", "turned"):
        world = World(root)
        await fill(await world.open(), 280)
        if what == "moved":
            await world.log.tile_log.publish()
            await world.log.end_epoch("age")
            await fill(world.log, 1)
        await world.log.close()


async def erased(root: Path) -> None:
    await asyncio.to_thread(add_erased, root / "erased", ["a"])


async def begun(root: Path) -> None:
    await asyncio.to_thread(BackupFolder.open, root / "bak", "did:key:zTest")


async def put(root: Path) -> None:
    parts = Parts(root / "parts")
    parts.put(DATA)
    parts.settle()


async def moved(root: Path) -> None:
    world = World(root)
    await move(world.log_folder, 1, world.to_folder(), world.clock)


async def turned(root: Path) -> None:
    """An epoch ends, and the next one has an entry; nothing is closed, as little as by a power cut."""
    log = await World(root).open()
    if log.epoch == 1:
        await log.end_epoch("age")
    await log.append({"kind": "answer", "n": "kept"}, private_texts={})


async def stored(root: Path) -> None:
    file = await SqliteFile.open(root / "list.sqlite", SCHEMA)
    await file.write(_insert)


def _insert(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO item VALUES ('kept')")


WORK: dict[str, Callable[[Path], Awaitable[None]]] = {
    "erased": erased,
    "begun": begun,
    "put": put,
    "moved": moved,
    "turned": turned,
    "stored": stored,
}


async def check(root: Path, what: str) -> None:
    """What the second time was promised."""
    match what:
        case "erased":
            assert "a" in read_erased(root / "erased")
        case "begun":
            assert BackupFolder.open(root / "bak", "did:key:zTest").names() == []
        case "put":
            folder = root / "parts"
            names = [
                path.name for path in folder.rglob("*") if not path.name.startswith(".") and path.is_file()
            ]
            assert [Parts(folder).get(name) for name in names] == [DATA]
        case "moved":
            world = World(root)
            assert [(one.ok, one.entries, one.is_absent) for one in await world.verified()] == [
                (True, 281, False)
            ]
        case "turned":
            await _check_turned(World(root))
        case "stored":
            connection = sqlite3.connect(root / "list.sqlite")
            assert ("kept",) in connection.execute("SELECT word FROM item").fetchall()
            connection.close()
        case _:
            raise NotFound(what)


async def _check_turned(world: World) -> None:
    log = await world.open()
    await log.tile_log.publish()
    keeper = world.keeper(world.to_folder(), kept_here=0)
    while not keeper.moved:  # also where the sweep was cut short
        await keeper.tick()
        assert keeper.health().status == "pass", keeper.health()
        await asyncio.sleep(0)
    assert [(one.ok, one.is_absent) for one in await world.verified()] == [(True, False)]
    await log.close()


def work(asked: dict[str, Any]) -> int:
    asyncio.run(_work(asked["what"], Path(asked["root"])))
    return 0


async def _work(what: str, root: Path) -> None:
    await WORK[what](root)
    os._exit(0)  # nothing is closed in order


if __name__ == "__main__":
    forked(work)
