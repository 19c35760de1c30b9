"""Epochs that end by themselves and move away: nothing is lost, everything verifies, bounds hold."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from node.audit.decisions import epochs, moving
from node.audit.decisions.keeper import Bounds, Standing, ends_for, movable
from node.audit.decisions.moved import MARKER, marker
from node.audit.decisions.moving import move
from node.audit.log.archive import FolderArchive
from node.audit.tlog.leaf import read_leaf
from node.core.errors import DamagedLog, NotFound, Rejected, Unavailable
from tests import log_kit
from tests.epoch_kit import World, fill

DAY_S = 86_400


def failing(*_: object) -> None:
    """What the disk does not do."""
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("epoch", "why"),
    [
        (Standing(255, 10**9, 10.0**9), ""),  # an idle node makes no crowd of small epochs
        (Standing(256, 999, 0.0), ""),
        (Standing(256, 1_000, 0.0), "bytes"),
        (Standing(256, 0, 2 * DAY_S - 1.0), ""),
        (Standing(256, 0, 2.0 * DAY_S), "age"),
        (Standing(256, 0, None), ""),
    ],
)
def test_when_an_epoch_ends(epoch: Standing, why: str) -> None:
    assert ends_for(epoch, Bounds(epoch_bytes=1_000, epoch_days=2)) == why
    assert ends_for(epoch, Bounds()) == ""


def test_which_epochs_may_be_moved() -> None:
    assert movable([1, 2, 3], 1, 9) == [1, 2]
    assert movable([1, 2, 3], 0, 3) == [1, 2], "the blocks of epoch 3 are not made yet"
    assert movable([1], 2, 9) == []


async def test_an_epoch_ends_by_its_age_while_entries_come_and_none_is_lost(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = await world.open()
    keeper = world.keeper(epoch_days=30)
    await fill(log, 300)
    await log.tile_log.publish()
    await keeper.tick()
    assert log.epoch == 1
    world.clock.advance(31 * DAY_S)
    world.is_clock_sure = False
    await keeper.tick()
    assert log.epoch == 1, "the clock is in doubt"
    world.is_clock_sure = True
    turning = asyncio.create_task(keeper.tick())
    places = await asyncio.gather(
        *(log.append({"kind": "answer", "n": n}, private_texts={}) for n in range(100))
    )
    await turning
    assert log.epoch == 2
    await log.close()
    first = await log_kit.leaves(world.aside(1))
    second = await log_kit.leaves(world.log_folder, 2)
    found = {log_kit.ORIGIN: first, f"{log_kit.ORIGIN}/2": second}
    assert [found[one.log][one.index].entry["n"] for one in places] == list(range(100))
    assert (first[-1].entry["event"], first[-1].entry["reason"]) == ("shard_closed", "age")
    assert (second[0].entry["event"], second[0].entry["reason"]) == ("epoch", "age")


async def test_an_epoch_that_was_closed_by_age_and_cut_off_goes_on_at_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    log = await world.open()
    await fill(log, 3)
    with monkeypatch.context() as patched:
        patched.setattr(epochs, "move_aside", failing)
        with pytest.raises(Unavailable):
            await log.end_epoch("age")
    await log.close()
    log = await world.open()
    assert log.epoch == 2
    await log.close()
    [begun] = await log_kit.leaves(world.log_folder, 2)
    assert begun.entry["reason"] == "age"


async def test_an_epoch_ends_by_its_bytes(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = await world.open()
    keeper = world.keeper(epoch_bytes=100_000)
    await fill(log, 256)
    await log.tile_log.publish()
    await keeper.tick()
    first = log.epoch
    await fill(log, 2_000)
    await log.tile_log.publish()
    await keeper.tick()
    assert (first, log.epoch) == (1, 2)
    await log.close()


async def swept(world: World) -> None:
    while not all(world.log.folder.is_swept(world.aside(one)) for one in (1, 2, 3)):
        await asyncio.sleep(0)


async def three_epochs(world: World) -> None:
    log = await world.open()
    for count in (300, 20, 600):
        await fill(log, count)
        await log.tile_log.publish()
        await log.end_epoch("age")
    await fill(log, 5)
    await log.tile_log.publish()
    await swept(world)


async def test_moved_epochs_verify_from_the_first_to_the_last_and_prove_their_entries(tmp_path: Path) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    keeper = world.keeper(world.to_folder(), kept_here=1)
    before = await world.receipt(17, 1)
    for _ in range(4):
        await keeper.tick()
    assert keeper.moved == 2
    for number, is_moved in ((1, True), (2, True), (3, False)):
        names = {path.name for path in world.aside(number).iterdir()}
        assert (MARKER in names, "tile" in names) == (is_moved, not is_moved)
    reports = await world.verified()
    assert [(one.number, one.ok, one.is_absent, one.entries) for one in reports] == [
        (3, True, False, 602),
        (2, True, False, 22),
        (1, True, False, 301),
    ]
    assert await world.receipt(17, 1) == before, "the receipt of a moved entry is the same"
    assert read_leaf((await world.receipt(599, 3)).extra or b"").entry["n"] == 598
    with pytest.raises(NotFound):
        await world.log.receipt(301, timeout_s=1, log=log_kit.ORIGIN)
    # What lies in the archive is a log by itself.
    report = await log_kit.verified(world.archive_folder / log_kit.ORIGIN / "1")
    assert report.ok
    assert keeper.cold_bytes == sum(
        path.stat().st_size for path in world.archive_folder.rglob("*") if path.is_file()
    )
    assert await world.log.forget_record("nothing") == 0
    await world.log.close()
    await world.open()
    assert world.log.epoch == 4
    await world.log.close()


class Breaking(FolderArchive):
    """A folder that can be written to so many times."""

    def __init__(self, folder: Path, times: int) -> None:
        super().__init__(folder)
        self.left = times

    async def put(self, files: Mapping[str, bytes]) -> None:
        if not self.left:
            raise Unavailable("the archive is away")
        self.left -= 1
        await super().put(files)


async def test_a_move_that_breaks_off_anywhere_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    times = 0
    while True:
        archive = Breaking(world.archive_folder, times)
        try:
            await move(world.log_folder, 3, archive, world.clock)
            break
        except Unavailable:
            times += 1
        assert (world.aside(3) / "tile").is_dir()
        assert all(one.ok for one in await world.verified())
    assert times > 0
    assert (await world.verified())[0].entries == 602
    await world.log.close()


async def test_a_move_that_ends_before_the_tiles_are_removed_is_ended_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path)
    await three_epochs(world)

    with monkeypatch.context() as patched:
        patched.setattr(moving, "_remove", failing)
        with pytest.raises(Unavailable):
            await move(world.log_folder, 1, world.to_folder(), world.clock)
    assert marker(world.aside(1)) is not None
    assert (world.aside(1) / "tile").is_dir()
    assert all(one.ok for one in await world.verified())
    keeper = world.keeper(world.to_folder(), kept_here=2)
    await keeper.tick()
    assert not (world.aside(1) / "tile").exists()
    assert all(one.ok for one in await world.verified())
    await world.log.close()


class Flipping(FolderArchive):
    """A folder that keeps one bit of each lot wrong."""

    async def put(self, files: Mapping[str, bytes]) -> None:
        changed = dict(files)
        name = min(changed)
        data = bytearray(changed[name])
        data[40] ^= 1
        changed[name] = bytes(data)
        await super().put(changed)


async def test_a_copy_that_does_not_verify_is_never_relied_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    keeper = world.keeper(Flipping(world.archive_folder), kept_here=2)
    await keeper.tick()
    assert keeper.moved == 0
    assert (world.aside(1) / "tile").is_dir()
    check = keeper.health()
    assert check.status == "warn"
    assert "does not verify" in check.output
    await world.log.close()


async def test_a_damaged_epoch_stays_and_the_next_one_moves(tmp_path: Path) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    tile = world.aside(1) / "tile" / "0" / "000"
    whole = tile.read_bytes()
    tile.write_bytes(bytes(len(whole)))
    keeper = world.keeper(world.to_folder(), kept_here=1)
    await keeper.tick()
    assert (marker(world.aside(1)), marker(world.aside(2)) is None) == (None, False)
    assert "epoch 1" in keeper.health().output
    with pytest.raises(DamagedLog):
        await move(world.log_folder, 1, world.to_folder(), world.clock)
    tile.write_bytes(whole)
    await move(world.log_folder, 1, world.to_folder(), world.clock)
    assert all(one.ok for one in await world.verified()), "damage was not copied, where nothing is replaced"
    await world.log.close()


async def test_an_archive_that_is_away_is_unavailable_and_not_an_empty_log(tmp_path: Path) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    await move(world.log_folder, 1, world.to_folder(), world.clock)
    shutil.move(world.archive_folder, tmp_path / "elsewhere")
    with pytest.raises(Unavailable):
        await world.receipt(17, 1)
    with pytest.raises(Unavailable):
        await world.verified()
    shutil.move(tmp_path / "elsewhere", world.archive_folder)
    (world.archive_folder / log_kit.ORIGIN / "1" / "tile" / "0" / "000").unlink()
    last = (await world.verified())[-1]
    assert (last.number, last.ok) == (1, False), "a file that is lost is said to be missing, not absent"
    await world.log.close()


async def test_an_archive_cannot_hide_a_tombstone_nor_change_an_entry(tmp_path: Path) -> None:
    world = World(tmp_path)
    log = await world.open()
    await fill(log, 300)
    await log.append({"kind": "tombstone", "target": "bafyone"}, private_texts={})
    await log.tile_log.publish()
    await log.end_epoch("age")
    await swept(world)
    await move(world.log_folder, 1, world.to_folder(), world.clock)
    assert await log.tombstoned({"bafyone", "bafytwo"}) == {"bafyone"}
    bundle = next((world.archive_folder / log_kit.ORIGIN / "1/tile/entries/001.p").iterdir())
    bundle.write_bytes(bundle.read_bytes().replace(b"tombstone", b"tombstonf"))
    with pytest.raises(DamagedLog, match="entries 256 to"):
        await log.tombstoned({"bafyone", "bafytwo"})
    with pytest.raises(DamagedLog):
        await world.receipt(300, 1)
    await world.receipt(17, 1)
    await log.close()


async def test_nothing_moves_before_its_blocks_are_made_or_over_the_archive_s_bound(tmp_path: Path) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    world.followed = 1
    keeper = world.keeper(world.to_folder(), kept_here=0)
    await keeper.tick()
    assert keeper.moved == 0
    world.followed = 4
    keeper = world.keeper(world.to_folder(), kept_here=0, cold_bytes=30_000)
    for _ in range(4):
        await keeper.tick()
        world.clock.advance(DAY_S)
    assert keeper.moved < 3
    assert keeper.cold_bytes <= 30_000
    assert "disk.cold_bytes" in keeper.health().output
    await world.log.close()


async def test_at_its_bound_the_log_moves_epochs_early_and_then_refuses_all_but_critical_entries(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    keeper = world.keeper(None)
    await keeper.look()
    bound = keeper.log_bytes - 20_000
    keeper = world.keeper(None, log_bytes=bound)
    await keeper.tick()
    with pytest.raises(Unavailable, match=r"disk\.log_bytes"):
        await world.log.append({"kind": "answer"}, private_texts={})
    assert world.log.health().status == "fail"
    size = world.log.size()
    await world.log.append({"kind": "tombstone"}, private_texts={})
    assert world.log.size() == size + 1
    # A place for closed epochs is named: room again, and what was kept here moves too.
    keeper = world.keeper(world.to_folder(), kept_here=3, log_bytes=bound)
    for _ in range(4):
        await keeper.tick()
    assert keeper.moved > 0
    await world.log.append({"kind": "answer"}, private_texts={})
    assert all(one.ok for one in await world.verified())
    await world.log.close()


async def test_a_failure_is_tried_again_later_and_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    await three_epochs(world)
    archive = Breaking(world.archive_folder, 0)
    keeper = world.keeper(archive, kept_here=2)
    await keeper.tick()
    archive.left = 1_000
    await keeper.tick()
    assert keeper.moved == 0, "not yet"
    world.clock.advance(61)
    await keeper.tick()
    assert keeper.moved == 1
    assert keeper.health().status == "pass"
    await world.log.close()


async def test_the_verified_copy_is_what_the_newest_checkpoint_says(tmp_path: Path) -> None:
    """An archive that holds another log under this name is refused, not overwritten."""
    world = World(tmp_path)
    await three_epochs(world)
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other")
    await fill(await other.open(), 290)
    await other.log.tile_log.publish()
    await other.log.end_epoch("age")
    await swept(other)
    await move(other.log_folder, 1, world.to_folder(), other.clock)
    before = {path: path.read_bytes() for path in world.archive_folder.rglob("*") if path.is_file()}
    with pytest.raises(Rejected):
        await move(world.log_folder, 1, world.to_folder(), world.clock)
    assert {path: path.read_bytes() for path in before} == before
    assert all(one.ok for one in await world.verified())
    await other.log.close()
    await world.log.close()


async def test_an_epoch_that_is_still_tidied_keeps_no_other_from_moving(tmp_path: Path) -> None:
    """A node that closes one at each look would else move none at all."""
    world = World(tmp_path)
    await three_epochs(world)
    world.log.folder.sweep(world.aside(3))
    keeper = world.keeper(world.to_folder(), kept_here=0)
    await keeper.tick()
    assert keeper.moved == 1
    await world.log.close()
