"""Upkeep beside the keeper of epochs: what is being moved is no damage, and nothing of it comes back."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from node.audit.decisions import moving
from node.audit.decisions.moved import Moved, is_moved, mark
from node.audit.decisions.moving import move
from node.audit.log.archive import FolderArchive
from node.audit.tlog.tiles import ENTRIES, Tile
from node.audit.upkeep.copies import archive_copy
from node.audit.upkeep.upkeep import Upkeep
from tests.epoch_kit import World, fill
from tests.upkeep_kit import bundle, entries_file, flip, is_whole, upkeep_of


async def two_epochs(folder: Path) -> World:
    """The first is closed and swept."""
    world = World(folder)
    log = await world.open(shard_entries=600)
    await fill(log, 620)
    await log.tile_log.publish()
    while not log.folder.is_swept(world.aside(1)):
        await asyncio.sleep(0)
    return world


async def test_a_move_with_rounds_at_every_step_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, loop, rounds = await two_epochs(tmp_path), asyncio.get_running_loop(), 0
    aside = world.aside(1)

    async def looked() -> None:
        nonlocal rounds
        rounds += 1
        await upkeep.round()
        await upkeep.round()
        assert (upkeep.health().status, upkeep.mended) == ("pass", 0), upkeep.health()

    class Looked(FolderArchive):
        async def put(self, files: Mapping[str, bytes]) -> None:
            await super().put(files)
            await looked()

    def slowly(folder: Path) -> None:
        gone = []
        for path in sorted(path for path in (folder / "tile").rglob("*") if path.is_file()):
            path.unlink()
            gone.append(path)
            asyncio.run_coroutine_threadsafe(looked(), loop).result()
            assert not any(path.exists() for path in gone)
        shutil.rmtree(folder / "tile")

    upkeep = upkeep_of(tmp_path, world.log, world.clock, [archive_copy(world.to_folder())])
    await upkeep.round()
    monkeypatch.setattr(moving, "_remove", slowly)
    await move(world.log_folder, 1, Looked(world.archive_folder), world.clock)
    await looked()
    assert rounds > 6
    assert not (aside / "tile").exists()
    assert await upkeep.mend(1, Tile(ENTRIES, 0)) is False
    assert all(one.ok for one in await world.verified())
    await world.log.close()


class Held:
    """A copy that answers when it is told to."""

    name = "held"

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def look(self, origin: str, tile: Tile) -> Sequence[bytes]:
        self.asked.set()
        await self.may_answer.wait()
        return [self.data]


async def _damaged_and_asked(world: World) -> tuple[Upkeep, Held, asyncio.Task[bool]]:
    """Damage that only a copy can mend, which is being asked."""
    aside = world.aside(1)
    copy = Held(entries_file(aside))
    upkeep = upkeep_of(world.folder, world.log, world.clock, [copy])
    bundle(aside).unlink()
    mending = asyncio.create_task(upkeep.mend(1, Tile(ENTRIES, 0)))
    await copy.asked.wait()
    return upkeep, copy, mending


async def test_what_a_copy_gives_is_not_written_into_an_epoch_that_was_moved_meanwhile(
    tmp_path: Path,
) -> None:
    world = await two_epochs(tmp_path)
    aside = world.aside(1)
    upkeep, copy, mending = await _damaged_and_asked(world)
    mark(aside, Moved(str(world.archive_folder), "x", 1, 1, "2026"))
    shutil.rmtree(aside / "tile")
    copy.may_answer.set()
    assert await mending is False
    assert not (aside / "tile").exists()
    await upkeep.round()
    assert (upkeep.health().status, upkeep.mended) == ("pass", 0), upkeep.health()
    await world.log.close()


async def test_without_a_move_the_same_copy_mends_it(tmp_path: Path) -> None:
    world = await two_epochs(tmp_path)
    upkeep, copy, mending = await _damaged_and_asked(world)
    copy.may_answer.set()
    assert await mending is True
    assert upkeep.mended == 1
    assert await is_whole(world.aside(1))
    await world.log.close()


async def test_an_archive_mends_an_epoch_that_was_brought_back(tmp_path: Path) -> None:
    world = await two_epochs(tmp_path)
    aside = world.aside(1)
    shutil.copytree(aside, tmp_path / "kept")
    await move(world.log_folder, 1, world.to_folder(), world.clock)
    shutil.rmtree(aside)
    shutil.copytree(tmp_path / "kept", aside)
    assert not is_moved(aside)
    bundle(aside).unlink()
    (aside / "tile/0/001").unlink()
    bundle(aside, 1).write_bytes(b"")
    upkeep = upkeep_of(tmp_path, world.log, world.clock, [archive_copy(world.to_folder())])
    await upkeep.round()
    assert (upkeep.health().status, upkeep.mended) == ("pass", 3), upkeep.health()
    assert await is_whole(aside)
    await world.log.close()


async def test_a_closed_epoch_whose_checkpoint_nobody_has_stays_a_failure(tmp_path: Path) -> None:
    world = await two_epochs(tmp_path)
    note = (world.aside(1) / "checkpoint").read_bytes()
    (tmp_path / "keys/decisions-1.checkpoint").unlink()
    flip(world.aside(1) / "checkpoint")
    upkeep = upkeep_of(tmp_path, world.log, world.clock)
    for _ in range(2):
        await upkeep.round()
        assert upkeep.health().status == "fail"
    (world.aside(1) / "checkpoint").write_bytes(note)
    await upkeep.round()
    assert upkeep.health().status == "pass"
    await world.log.close()
