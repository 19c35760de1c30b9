"""The log over power cuts and kills: nothing acknowledged is lost, no index is given twice, no two
checkpoints disagree. On a disk in memory that forgets what was not synced, then with a real process and
``kill -9``."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from node.audit.log.reader import FolderSource
from node.audit.log.verify import verify_log
from node.audit.tlog.tiles import decode_bundle, tiles_between
from node.core.merkle import leaf_hash, root_of
from node.core.signed_note import Verifier, open_checkpoint
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
    await asyncio.gather(work, return_exceptions=True)  # type: ignore[call-overload]  # any awaitable


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
            self._call("sync")

    disk, history = Careless(), History()
    await small_run(disk, history)
    history.see(disk)
    with pytest.raises(Exception):  # noqa: B017, PT011 - how it shows depends on what was lost
        await goes_on(disk.crashed(random.Random(1), LOSE), history)


# --- a real process -------------------------------------------------------------------------------


def start_soak(folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.soak", str(folder), "--vkey-out", f"{folder}.vkey", *more],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )


def entries_of(folder: Path, verifier: Verifier) -> list[bytes]:
    newest = open_checkpoint((folder / "checkpoint").read_bytes(), [verifier]).checkpoint
    entries: list[bytes] = []
    for tile in tiles_between(0, newest.size):
        if tile.level < 0:
            entries += decode_bundle((folder / tile.path).read_bytes(), tile.width)
    assert root_of([leaf_hash(entry) for entry in entries]) == newest.root
    return entries


def test_soak_survives_kill_9(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    acknowledged: set[int] = set()
    found = 0
    for lines_read in (1, 40, 3_000):
        child = start_soak(folder)
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(lines_read)]
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        child.wait()
        child.stdout.close()
        word, count = lines[0].split()
        assert word == "ready"
        assert int(count) >= max(acknowledged, default=-1) + 1
        acknowledged |= {int(line.split()[1]) for line in lines[1:] if line.endswith("\n")}
        found = int(count)
    child = start_soak(folder, "--entries", "10")
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    ready, *acks = output.splitlines()
    first = int(ready.split()[1])
    assert first >= max(acknowledged) + 1 > found
    assert sorted(int(ack.split()[1]) for ack in acks) == list(range(first, first + 10))
    verifier = Verifier.from_vkey(Path(f"{folder}.vkey").read_text().strip())
    assert len(entries_of(folder, verifier)) == first + 10
    report = asyncio.run(verify_log(FolderSource(folder), [verifier]))
    assert report.ok, report


def test_soak_ends_well_when_asked_to(tmp_path: Path) -> None:
    child = start_soak(tmp_path / "log")
    assert child.stdout is not None
    while not child.stdout.readline().startswith("ack"):
        pass
    child.send_signal(signal.SIGTERM)
    lines = child.stdout.readlines()
    assert child.wait(timeout=30) == 0
    child.stdout.close()
    verifier = Verifier.from_vkey((tmp_path / "log.vkey").read_text().strip())
    last = max(int(line.split()[1]) for line in lines)
    assert len(entries_of(tmp_path / "log", verifier)) == last + 1
    assert (tmp_path / "log" / "keys" / "log.key").stat().st_mode & 0o777 == 0o600
