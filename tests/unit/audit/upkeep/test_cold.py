"""Epochs that lie in an archive are looked after: what stayed of them here, and every file there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from node.audit.decisions import epochs
from node.audit.decisions.moved import MARKER, below_of, marker
from node.audit.decisions.moving import move
from node.audit.log.checked import CheckedFolder
from node.audit.log.reader import CHECKPOINT, VKEY, FolderSource
from node.audit.upkeep import cold
from node.audit.upkeep.away import Away
from node.audit.upkeep.cold import ColdSweep
from node.core.errors import DamagedLog
from node.core.signed_note import Verifier
from tests import log_kit
from tests.epoch_kit import World, fill, folders
from tests.upkeep_kit import flip

DAY_S = 86_400


def keys(origin: str) -> list[Verifier]:
    return [one.verifier for one in log_kit.signers(origin)]


class Cold:
    """A log of which epoch 1 lies in an archive, and what looks after it."""

    def __init__(self, world: World, check_days: int = 30) -> None:
        self.world = world
        self.away = Away(folders)
        self.here: dict[Path, CheckedFolder] = {}
        self.sweep = ColdSweep(
            world.log_folder,
            self.folder,
            lambda number: epochs.high_water(world.folder / "keys", number),
            self.away,
            world.to_folder(),
            world.clock,
            check_days,
        )
        self.place = world.aside(1)
        self.there = world.archive_folder / below_of(log_kit.ORIGIN)

    def folder(self, place: Path) -> CheckedFolder:
        return self.here.setdefault(place, CheckedFolder(FolderSource(place), keys))


@pytest.fixture
async def moved(tmp_path: Path) -> Cold:
    world = World(tmp_path)
    await fill(await world.open(), 600)
    await world.log.tile_log.publish()
    await world.log.end_epoch("age")
    await fill(world.log, 1)
    await world.log.close()
    await move(world.log_folder, 1, world.to_folder(), world.clock)
    return Cold(world)


@pytest.mark.parametrize("name", [CHECKPOINT, VKEY, MARKER])
@pytest.mark.parametrize("harm", [flip, Path.unlink, lambda path: path.write_bytes(b"")])
async def test_what_stayed_of_a_moved_epoch_is_put_back(
    moved: Cold, name: str, harm: Callable[[Path], object]
) -> None:
    """From the high-water mark, or from the archive."""
    path = moved.place / name
    before = path.read_bytes()
    harm(path)
    await moved.sweep.tick()
    assert moved.away.health().status == "pass"
    if name == MARKER:
        found = marker(moved.place)
        assert found is not None
        assert (found.to, found.below) == (str(moved.world.archive_folder), below_of(log_kit.ORIGIN))
    else:
        assert path.read_bytes() == before
    assert [(one.ok, one.entries) for one in await moved.world.verified()] == [(True, 601)]


async def test_a_checkpoint_that_nobody_can_put_back_fails_health_until_it_is_back(moved: Cold) -> None:
    path = moved.place / CHECKPOINT
    before = path.read_bytes()
    flip(path)
    epochs.high_water(moved.world.folder / "keys", 1).unlink()
    flip(moved.there / CHECKPOINT)
    await moved.sweep.tick()
    health = moved.away.health()
    assert health.status == "fail"
    assert "checkpoint of epoch 1" in health.output
    assert str(moved.world.folder) not in health.output
    path.write_bytes(before)
    await moved.sweep.tick()
    assert moved.away.health().status == "pass"


async def test_an_older_checkpoint_in_the_archive_hides_no_entries(moved: Cold) -> None:
    """The high-water mark knows how much was signed."""
    path = moved.place / CHECKPOINT
    flip(path)
    mark = epochs.high_water(moved.world.folder / "keys", 1)
    (moved.there / CHECKPOINT).write_bytes(b"another")
    flip(moved.there / "tile/1/000.p/2")  # and no tree that it makes
    await moved.sweep.tick()
    assert moved.away.health().status == "fail"
    flip(moved.there / "tile/1/000.p/2")
    await moved.sweep.tick()
    assert path.read_bytes() == mark.read_bytes()


@pytest.mark.parametrize(
    "path", ["tile/entries/001.gz", "tile/0/000", "tile/1/000.p/2", "tile/entries/002.p/89"]
)
@pytest.mark.parametrize("harm", [flip, Path.unlink])
async def test_every_file_of_the_archive_is_read_in_its_time(
    moved: Cold, monkeypatch: pytest.MonkeyPatch, path: str, harm: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(cold, "TICK_S", 2 * DAY_S)
    file = next(moved.there.glob(f"{path}*"))
    await moved.sweep.tick()
    assert moved.away.health().status == "pass"
    before = file.read_bytes()
    harm(file)
    for _ in range(15):
        await moved.sweep.tick()
    health = moved.away.health()
    assert (health.status, health.observed) == ("warn", 1), health
    file.write_bytes(before)
    await moved.sweep.tick()
    assert moved.away.health().status == "pass", "what was damaged is looked at again"


async def test_a_file_that_is_gone_or_short_is_found_by_the_next_listing(moved: Cold) -> None:
    await moved.sweep.tick()
    (moved.there / "tile/entries/000.gz").unlink()
    await moved.sweep.tick()
    assert moved.away.health().status == "pass", "asked for once an hour"
    moved.world.clock.advance(cold.LISTED_EVERY_S)
    await moved.sweep.tick()
    assert moved.away.health().observed == 1


async def test_nothing_is_read_there_where_nobody_wants_it(
    moved: Cold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cold, "TICK_S", 400 * DAY_S)
    idle = Cold(moved.world, check_days=0)
    flip(moved.there / "tile/0/000")
    await idle.sweep.tick()
    assert idle.away.health().status == "pass"


async def test_an_epoch_that_its_operator_took_away_is_no_damage(moved: Cold) -> None:
    (moved.place / MARKER).unlink()
    (moved.there / CHECKPOINT).unlink()
    await moved.sweep.tick()
    assert moved.away.health().status == "pass"
    with pytest.raises(DamagedLog):
        moved.folder(moved.place).read_now("tile/0/000", 8_192)
