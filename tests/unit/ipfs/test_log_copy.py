"""What IPFS holds of a log mends its folder; damage never becomes a block."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from node.audit.log.checked import CheckedFolder
from node.audit.log.reader import FolderSource
from node.audit.tlog.tiles import ENTRIES, Tile
from node.audit.upkeep.mending import Lost, Mender, folder_writer
from node.core.errors import NotFound
from node.core.ipld.cid import RAW, Cid
from node.ipfs.log_copy import BlockCopy
from tests.log_blocks_kit import World
from tests.simulators.kubo import KuboStandIn
from tests.unit.ipfs.test_log_blocks_daemon import reaching


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_a_daemon_gives_back_what_it_was_given(world: World) -> None:
    world.folder.grow(300)
    async with KuboStandIn("kubo") as daemon, reaching(daemon, world.clock) as there:
        await world.once(daemon=there)
        whole = {name: (world.folder.path / name).read_bytes() for name in ("tile/0/000", "tile/entries/000")}
        for name, data in whole.items():
            world.folder.write(name, bytes(len(data)))
        async with world.job(daemon=there) as job:
            copy = BlockCopy(lambda: job.head, job.blocks, [world.shelf, there])
            path = world.folder.path
            checked = CheckedFolder(FolderSource(path))
            write = folder_writer(path)
            standing = checked.newest()
            with pytest.raises(Lost):
                await Mender(checked, path / "journal", [], write).mend(standing, Tile(ENTRIES, 0))
            mender = Mender(checked, path / "journal", [copy], write)
            assert [name for name, whence in await mender.mend(standing, Tile(ENTRIES, 0))] == list(whole)
            for name, data in whole.items():
                assert checked.read_now(name, 2**24) == data
            assert await copy.look("another.neuroswarm/decisions", Tile(0, 0)) == []


async def test_a_damaged_file_does_not_become_a_block_and_is_mended_for_who_asks(world: World) -> None:
    world.folder.grow(300)
    path = world.folder.path / "tile/entries/000"
    whole = path.read_bytes()
    world.folder.write("tile/entries/000", whole[:-1] + b"?")
    wrong = Cid.of(whole[:-1] + b"?", RAW)
    async with world.job() as job:
        while job.health().status == "pass":
            await asyncio.sleep(0)
        assert "entries 0 to 255" in job.health().output
        assert not await job.blocks.has(wrong)
    world.folder.write("tile/entries/000", whole)
    async with world.job() as job:
        cid = Cid.of(whole, RAW)
        await world.until_held(whole)
        path.write_bytes(whole[:-1] + b"?")
        with pytest.raises(NotFound):
            await job.blocks.get(cid)
        asked: list[tuple[int, Tile]] = []

        async def mend(epoch: int, tile: Tile) -> bool:
            asked.append((epoch, tile))
            path.write_bytes(whole)
            return True

        job.blocks.mend = mend
        assert await job.blocks.get(cid) == whole
        assert asked == [(1, Tile(ENTRIES, 0))]
