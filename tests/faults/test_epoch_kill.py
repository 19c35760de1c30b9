"""Epochs that end and move away under kill -9 and under calls that fail: nothing acknowledged is lost, and
all of it verifies, wherever it lies."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from node.audit.decisions import epochs
from node.audit.decisions.moved import source_in
from node.audit.decisions.moving import move
from node.audit.decisions.origin import epoch_of
from node.audit.log.reader import LogReader
from node.audit.tlog.leaf import read_leaf
from node.core.errors import NodeError
from node.core.signed_note import Checkpoint
from tests.epoch_kit import World, fill, folders
from tests.faults.kill_kit import told_until_killed
from tests.faults.test_log_faults import Failing

Place = tuple[str, int]


def killed(folder: Path, acks: int) -> dict[Place, str]:
    """What was acknowledged before the kill, having been so much at least."""
    said = told_until_killed("epoch_child", folder, lines=acks)
    return {(log, int(index)): name for log, index, name in said}


async def entries(world: World, number: int) -> list[object]:
    """What an epoch's entries say, wherever it lies."""
    is_newest = number == epochs.current(world.log_folder)
    reader = LogReader(source_in(world.log_folder, folders, "" if is_newest else f"epochs/{number}"))
    size = Checkpoint.of_note(await reader.checkpoint()).size
    return [read_leaf(data).entry.get("n") for data in await reader.entries(0, size, size)]


@pytest.mark.slow
async def test_nothing_acknowledged_is_lost_by_kill_9_while_epochs_move(tmp_path: Path) -> None:
    world = World(tmp_path)
    known: dict[Place, str] = {}
    for acks in (5, 150, 40, 300, 90, 220, 10, 170):
        more = await asyncio.to_thread(killed, tmp_path, acks)
        assert not known.keys() & more.keys(), "no index is given twice"
        known |= more
    log = await world.open(shard_entries=300)
    await fill(log, 1)
    await log.tile_log.publish()
    keeper = world.keeper(world.to_folder(), kept_here=0)
    while keeper.moved < log.epoch - 1:
        before = keeper.moved
        await keeper.tick()
        assert keeper.moved > before or not log.folder.is_swept(world.aside(before + 1)), keeper.health()
        await asyncio.sleep(0)
    reports = await world.verified()
    assert [(one.number, one.ok, one.is_absent) for one in reports] == [
        (number, True, False) for number in range(log.epoch - 1, 0, -1)
    ]
    assert log.epoch > 3  # 985 entries were acknowledged, at most 300 to an epoch
    await log.close()
    found = {number: await entries(world, number) for number in {epoch_of(one)[1] for one, _ in known}}
    assert {place: found[epoch_of(place[0])[1]][place[1]] for place in known} == known


@pytest.mark.slow
async def test_whichever_call_fails_the_next_move_goes_on_and_all_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "first").mkdir()
    first = World(tmp_path / "first")
    await fill(await first.open(), 280)
    await first.log.tile_log.publish()
    await first.log.end_epoch("age")
    await fill(first.log, 1)
    await first.log.close()
    failing, failures = Failing(monkeypatch), 0
    for number in range(1, 200):
        folder = tmp_path / str(number)
        shutil.copytree(first.folder, folder)
        world = World(folder)
        failing.calls, failing.fail_at = 0, number
        try:
            await move(world.log_folder, 1, world.to_folder(), world.clock)
        except NodeError:
            failures += 1
        is_done = failing.calls < number
        failing.fail_at = 0
        assert [one.ok for one in await world.verified()] == [True]
        await move(world.log_folder, 1, world.to_folder(), world.clock)
        assert [(one.ok, one.entries) for one in await world.verified()] == [(True, 281)]
        assert not (world.aside(1) / "tile").exists()
        shutil.rmtree(folder)
        if is_done:
            break
    assert is_done, "more calls than were tried"
    assert failures > 20
