"""The log over power cuts and kills: nothing acknowledged is lost, no index is given twice, no two
checkpoints disagree. On a disk in memory that forgets what was not synced, then with a real process and
``kill -9``."""

from __future__ import annotations

import asyncio
import errno
import random

import pytest

from tests.faults.tlog_disk import LOSE, STYLES, SimDisk
from tests.faults.tlog_history import KEY, NEW_KEY, History

PARTS = 5
"""Tests that share the calls of one run, so that none of them is long."""


async def small_run(disk: SimDisk, history: History) -> None:
    """Everything that a log does, once: it is cut at each call in turn."""
    try:
        log = await history.open(disk, [KEY])
    except Exception as exc:
        if disk.is_off:
            return
        raise AssertionError from exc
    await asyncio.gather(*(history.append(log) for _ in range(3)))
    await settled(log.publish())
    await asyncio.gather(*(history.append(log, length=900) for _ in range(5)))
    await settled(log.set_signers([KEY, NEW_KEY]))
    await asyncio.gather(*(history.append(log) for _ in range(250)))
    await settled(log.publish())
    await history.append(log)
    await log.close()


async def settled(work: object) -> None:
    """Wait for it, whatever comes of it."""
    await asyncio.gather(work, return_exceptions=True)


async def calls_of_a_small_run() -> int:
    disk, history = SimDisk(), History()
    await small_run(disk, history)
    await history.check(disk)
    assert (len(history.acknowledged), history.refused) == (259, 0)
    return disk.calls


async def goes_on(disk: SimDisk, history: History) -> None:
    """The log opens, holds what it promised, takes more, and verifies."""
    log = await history.open(disk)
    await asyncio.gather(*(history.append(log) for _ in range(2)))
    await log.close()
    assert history.acknowledged
    await history.check(disk)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("turn", range(2))
async def test_a_power_cut_at_each_call(turn: int, part: int) -> None:
    calls = await calls_of_a_small_run()
    assert calls > 100
    for cut_at in range(1 + part, calls + 1, PARTS):
        style = STYLES[(cut_at // PARTS + 2 * turn) % len(STYLES)]
        disk, history = SimDisk(), History()
        disk.cut_at = cut_at
        await small_run(disk, history)
        history.see(disk)
        survivor = disk.crashed(random.Random(cut_at), style)
        try:
            await goes_on(survivor, history)
        except Exception as exc:
            raise AssertionError(f"cut at call {cut_at}, {disk.kinds[-3:]}, {style}") from exc


@pytest.mark.parametrize("seed", range(40))
async def test_power_cuts_and_kills_in_a_row(seed: int) -> None:
    """One log lives through many: cut while threads race, killed and opened again before the power fails."""
    rng = random.Random(seed)
    disk, history = SimDisk(), History()
    for _ in range(6):
        disk.cut_at = rng.randrange(1, 250) if rng.random() < 0.8 else 0
        await busy(disk, history, rng)
        history.see(disk)
        disk = disk.killed() if rng.random() < 0.3 else disk.crashed(rng, rng.choice(STYLES))
    await goes_on(disk, history)


async def busy(disk: SimDisk, history: History, rng: random.Random) -> None:
    try:
        log = await history.open(disk)
    except Exception as exc:
        if disk.is_off:
            return
        raise AssertionError from exc
    for _ in range(rng.randrange(1, 8)):
        appends = [history.append(log, rng.randrange(0, 3_000)) for _ in range(rng.choice([1, 3, 40, 300]))]
        publications = [settled(log.publish()) for _ in range(rng.randrange(3))]
        await asyncio.gather(*appends, *publications)
    if rng.random() < 0.5 or not disk.cut_at:
        await log.close()
    else:
        disk.is_off = True
        await log.close()


async def test_what_a_killed_process_left_unsynced_is_made_durable_before_more_comes() -> None:
    disk, history = SimDisk(), History()
    log = await history.open(disk)
    await history.append(log)
    disk.cut_at = disk.calls + 2
    await history.append(log)
    await log.close()
    assert (disk.kinds[-1], history.refused) == ("sync", 1)
    disk = disk.killed()
    disk.fails = lambda _number, kind: errno.ENOSPC if kind == "rename" else 0
    log = await history.open(disk)
    assert log.size() == 2, "the killed process's entry is in the page cache"
    await history.append(log)
    disk.is_off = True
    await log.close()
    await goes_on(disk.crashed(random.Random(0), LOSE), history)


async def test_a_writer_that_does_not_sync_is_found_out() -> None:
    """The tests above can fail: without syncs entries are lost."""

    class Careless(SimDisk):
        def sync(self, fd: int) -> None:
            with self._during("sync"):
                pass

    disk, history = Careless(), History()
    await small_run(disk, history)
    history.see(disk)
    with pytest.raises(Exception):  # noqa: B017, PT011 - how it shows depends on what was lost
        await goes_on(disk.crashed(random.Random(1), LOSE), history)


# --- a real process -------------------------------------------------------------------------------
