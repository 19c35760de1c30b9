"""Complete tiles and bundles as blocks: not stored, the same as ever, and made from the folder alone."""

from __future__ import annotations

import asyncio
import random
import shutil
from pathlib import Path

import orjson
import pytest

from node.audit.decisions.moved import Moved, mark
from node.audit.tlog.packed import pack, place_of, unpack
from node.audit.tlog.tiles import ENTRIES, Tile
from node.core.errors import NotFound
from node.core.ipld.cid import BLAKE2B_256, RAW, Cid
from node.ipfs import folder_blocks, log_blocks
from node.ipfs.folder_blocks import FolderBlocks, Index, Place
from node.ipfs.log_head import completed_between, split
from tests.log_blocks_kit import ORIGIN, Folder, World, rebuild


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(log_blocks, "PAGE_ENTRIES", 512)
    return World(tmp_path)


def complete_of(folder: Folder) -> list[Cid]:
    paths = completed_between(0, len(folder.entries))
    return [Cid.of(part, RAW) for path in paths for part in split((folder.path / path).read_bytes())]


async def stored_of(world: World, cids: list[Cid]) -> list[Cid]:
    return [cid for cid in cids if await world.shelf.has(cid)]


async def as_an_older_version(world: World, folder: Folder, *, every: int = 1) -> None:
    """It stored every block, and its state says so; with ``every`` above 1, as this version leaves it when it
    is killed on the way."""
    for path in completed_between(0, len(folder.entries))[::every]:
        for part in split((folder.path / path).read_bytes()):
            await world.shelf.put(Cid.of(part, RAW), part)
    state = orjson.loads(world.state.read_bytes())
    del state["is_lean"]
    world.state.write_bytes(orjson.dumps(state | {"v": 2}))


async def test_what_was_forgotten_can_be_known_again(world: World) -> None:
    world.folder.grow(600)
    files = {
        path: [Cid.of(part, RAW) for part in split((world.folder.path / path).read_bytes())]
        for path in completed_between(0, 600)
    }
    blocks = FolderBlocks(world.shelf, world.folder.path)
    for _ in range(2):
        blocks.know(ORIGIN, files)
        for cid in complete_of(world.folder):
            assert cid.matches(await blocks.get(cid))
        blocks.forget()
        assert not blocks.knows(cid)


async def test_none_is_stored_and_each_can_be_had_also_after_a_restart(world: World) -> None:
    world.folder.grow(1_400)
    head = await world.once()
    complete, edge = complete_of(world.folder), Cid.of(world.folder.needed()["tile/0/005.p/120"], RAW)
    assert (len(complete), await stored_of(world, complete)) == (10, [])
    assert await world.shelf.has(edge)
    world.folder.grow(1_000, length=9_000)  # bundles of several parts
    async with world.job() as job:  # what the first run made is there at once
        assert job.head == head
        for cid in complete:
            assert cid.matches(await job.blocks.get(cid))
            assert await job.blocks.has(cid)
    complete = complete_of(world.folder)
    assert len(complete) > 20
    assert await stored_of(world, complete) == []
    assert job.head is not None
    assert await rebuild(job.head, world.get) == world.folder.needed()


async def test_a_block_is_found_by_its_hash_whatever_else_its_cid_says_and_no_other_is(world: World) -> None:
    world.folder.grow(300)
    await world.once()
    data = (world.folder.path / "tile/0/000").read_bytes()
    cid = Cid.of(data, RAW)
    assert await world.get(Cid(0x71, cid.digest)) == data
    for other in (Cid(RAW, cid.digest[:8] + bytes(24)), Cid(RAW, cid.digest, BLAKE2B_256)):
        with pytest.raises(NotFound):
            await world.get(other)
        assert not await world.blocks.has(other)


@pytest.mark.parametrize("damage", ["other bytes", "too long", "cut", "gone"])
async def test_a_damaged_file_is_an_absent_block_and_said_until_it_is_whole(
    world: World, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    world.folder.grow(300)
    async with world.job() as job:
        await world.until_held(whole := (world.folder.path / "tile/0/000").read_bytes())
        cid = Cid.of(whole, RAW)
        wrong = {"other bytes": bytes(len(whole)), "too long": whole + b"x", "cut": whole[:-1]}
        if damage == "gone":
            (world.folder.path / "tile/0/000").unlink()
        else:
            world.folder.write("tile/0/000", wrong[damage])
        for _ in range(3):
            with pytest.raises(NotFound):
                await world.get(cid)
        assert job.health().status == "warn"
        assert "tile/0/000 of epoch 1" in job.health().output
        assert caplog.text.count("event=log_block_absent") == 1
        world.folder.write("tile/0/000", whole)
        assert await world.get(cid) == whole
        assert job.health().status == "pass"


@pytest.mark.parametrize("every", [1, 2])
async def test_what_an_older_version_stored_is_deleted_once_the_folder_makes_it(
    world: World, every: int
) -> None:
    world.folder.grow(1_400)
    head = await world.once()
    await as_an_older_version(world, world.folder, every=every)
    complete, damaged = complete_of(world.folder), completed_between(0, 1_400)[2]
    world.folder.write(damaged, b"damaged")
    async with world.job() as job:
        assert await rebuild(head, job.blocks.get) == world.folder.needed() | {
            damaged: await world.get(complete[2])
        }
        while not orjson.loads(world.state.read_bytes()).get("is_lean"):
            assert len([cid for cid in complete if await job.blocks.has(cid)]) == 10
    assert (job.head, world.shelf.compacted) == (head, 1)
    left = await stored_of(world, complete)
    assert left == [complete[2]]
    await world.once()
    assert world.shelf.compacted == 1


async def test_an_epoch_that_was_moved_away_is_absent_and_not_called_damaged(world: World) -> None:
    old = world.folder
    old.grow(1_000)
    await world.once()
    old.move(world.tmp_path / "log.aside")
    new = Folder(world.tmp_path / "log", f"{ORIGIN}/2")
    old.move(world.tmp_path / "log" / "epochs" / "1")
    new.grow(1_000, length=20)
    head = await world.once()
    earlier = {f"epochs/1/{name}": data for name, data in old.needed().items()}
    async with world.job() as job:
        assert await rebuild(head, job.blocks.get) == new.needed() | earlier
        assert await stored_of(world, complete_of(old) + complete_of(new)) == []
        old.move(world.tmp_path / "archive")
        assert not any([await job.blocks.has(cid) for cid in complete_of(old)])
        assert all([await job.blocks.has(cid) for cid in complete_of(new)])
        assert job.health().status == "pass"
        shutil.move(world.tmp_path / "archive", world.tmp_path / "log" / "epochs" / "1")
        assert await rebuild(head, job.blocks.get) == new.needed() | earlier


def test_the_index_tells_every_place_of_a_block_and_knows_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_blocks, "_RUN", 16)
    numbers = random.Random(5)
    index, added = Index(), list[tuple[Cid, Place]]()
    for number in range(300):
        tile = Tile(numbers.choice([ENTRIES, 0, 1, 5]), numbers.randrange(2**35))
        place = Place(numbers.choice([1, 2, 999_999]), tile, numbers.randrange(17))
        assert Place.of(int(place)) == place
        cid = Cid.of(b"%d" % (number % 200), RAW)
        index.add(cid, place)
        index.add(cid, place)
        added.append((cid, place))
    for cid, _ in added:
        assert sorted(map(int, index.find(cid))) == sorted(int(place) for one, place in added if one == cid)
    assert index.find(Cid.of(b"another", RAW)) == []


async def test_an_epoch_in_the_archive_gives_its_blocks_and_is_made_into_blocks_anew(world: World) -> None:
    old = world.folder
    old.grow(1_400)
    await world.once()
    complete = complete_of(old)
    old.move(world.tmp_path / "aside")
    world.folder = Folder(world.tmp_path / "log", f"{ORIGIN}/2")
    old.move(world.tmp_path / "log" / "epochs" / "1")
    earlier = {f"epochs/1/{name}": data for name, data in old.needed().items()}
    world.folder.grow(300)
    before = await world.once()
    archive = world.tmp_path / "archive"
    archive.mkdir()
    # Its leaves are no decisions, which ``move`` would refuse: what it leaves is made by hand.
    moved = Moved(str(archive), "1", 1, 1, "2026")
    for name, data in old.needed().items():
        path = (
            archive / "1" / place_of(Tile.parse(name)) if name.startswith("tile/") else archive / "1" / name
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pack(data) if path.suffix == ".gz" else data)
    mark(world.folder.path / "epochs" / "1", moved)
    shutil.rmtree(world.folder.path / "epochs" / "1" / "tile")
    async with world.job() as job:
        assert job.epoch == 2
        for cid in complete:
            assert cid.matches(await job.blocks.get(cid))
        assert earlier.items() <= (await rebuild(before, job.blocks.get)).items()
    world.state.unlink()  # all blocks are made again, of what lies in the archive
    assert await world.once() == before
    world.state.unlink()
    bundle = archive / "1" / place_of(Tile(ENTRIES, 3))
    wrong = unpack(bundle.read_bytes(), Tile(ENTRIES, 3).bytes_max)[:-1] + b"?"
    bundle.write_bytes(pack(wrong))
    async with world.job() as job:
        while job.health().status == "pass":
            await asyncio.sleep(0)
        assert "entries 768 to 1023" in job.health().output
        assert not await job.blocks.has(Cid.of(wrong, RAW))
