"""The log on a disk whose calls fail: it refuses or goes on, signs nothing false, and recovers."""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from node.audit.log.writer import TileLog
from node.core.errors import CorruptState, NodeError, Unavailable
from tests.faults.tlog_disk import LOSE, TORN, SimDisk
from tests.faults.tlog_history import FOLDER, HIGH_WATER, KEY, NEW_KEY, History, stored
from tests.manual_clock import ManualClock

PARTS = 12
"""Tests that share the calls of one run, so that none of them is long."""

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
JOURNAL = FOLDER / "journal"


def failing_once(at: int) -> Callable[[int, str], int]:
    return lambda number, _kind: ERRORS[at % 3] if number == at else 0


def failing_from(at: int) -> Callable[[int, str], int]:
    return lambda number, _kind: ERRORS[at % 3] if number >= at else 0


def failing(error: int, *kinds: str) -> Callable[[int, str], int]:
    """Every call of these kinds fails; without kinds none does."""
    return lambda _number, kind: error if kind in kinds else 0


HEALED = failing(0)


async def tried(work: Awaitable[object]) -> None:
    """Wait for it; it may fail with an error of ours and with no other."""
    with suppress(NodeError):
        await work


async def run(disk: SimDisk, history: History) -> TileLog | None:
    """Open, append, publish, rotate, append; what fails, fails. The log, if it could be opened."""
    try:
        log = await history.open(disk, [KEY])
    except Unavailable:
        return None
    for count in (3, 1, 255, 20):
        await asyncio.gather(*(history.append(log, 300) for _ in range(count)))
        await tried(log.publish())
    await tried(log.set_signers([KEY, NEW_KEY]))
    await history.append(log)
    return log


async def ends(disk: SimDisk, history: History, log: TileLog | None) -> None:
    """The disk is well again: the log takes entries and publishes, here and after opening anew."""
    disk.fails = HEALED
    if log is not None:
        before = history.refused
        await history.append(log)
        assert history.refused == before, "the log has recovered by itself"
        published = await log.publish()
        assert published.size == log.size()
        assert log.health().status == "pass"
        await log.close()
        await history.check(disk)
    log = await history.open(disk)
    await history.append(log)
    await log.close()
    await history.check(disk)


async def calls_of_a_run() -> int:
    disk, history = SimDisk(), History()
    log = await run(disk, history)
    assert log is not None
    await log.close()
    await history.check(disk)
    assert (len(history.acknowledged), history.refused) == (280, 0)
    return disk.calls


@pytest.mark.parametrize(
    ("fails", "part"),
    [
        *((failing_once, part) for part in range(PARTS)),
        *((failing_from, part) for part in range(0, PARTS, 3)),
    ],
)
async def test_each_call_fails_once_or_with_all_after_it_for_a_while(
    fails: Callable[[int], Callable[[int, str], int]], part: int
) -> None:
    for at in range(1 + part, await calls_of_a_run() + 1, PARTS):
        broken, history = SimDisk(), History()
        broken.fails = fails(at)
        try:
            await ends(broken, history, await run(broken, history))
        except Exception as exc:
            raise AssertionError(f"call {at} fails: {broken.kinds[max(0, at - 3) : at]}") from exc


@pytest.mark.parametrize("seed", range(25))
async def test_failing_syncs_and_then_a_power_cut(seed: int) -> None:
    """What a failed sync had to write is gone for good, though reads still show it."""
    rng = random.Random(seed)
    disk, history = SimDisk(), History()
    for _ in range(3):
        disk.fails = lambda _number, kind: (
            errno.EIO if rng.random() < (0.3 if kind == "sync" else 0.02) else 0
        )
        log = None
        while log is None:
            log = await run(disk, history)
        disk.is_off = True
        await log.close()
        history.see(disk)
        disk = disk.crashed(rng, rng.choice([LOSE, TORN]))
    await ends(disk, history, None)


async def opened(**options: Any) -> tuple[SimDisk, History, TileLog]:
    """A new log on a disk that is well."""
    disk, history = SimDisk(), History()
    return disk, history, await history.open(disk, **options)


async def test_appends_go_on_while_checkpoints_cannot_be_written() -> None:
    disk, history, log = await opened()
    disk.fails = failing(errno.ENOSPC, "rename")
    await asyncio.gather(*(history.append(log) for _ in range(300)))
    assert history.refused == 0
    with pytest.raises(Unavailable, match="No space"):
        await log.publish()
    assert log.health().status == "warn"
    assert "entries are safe" in log.health().output
    assert log.published is not None
    assert log.published.size == 0, "the old checkpoint stays"
    disk.fails = HEALED
    assert (await log.publish()).size == 300
    assert log.health().status == "pass"
    await log.close()
    await history.check(disk)


async def test_what_waits_for_a_checkpoint_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.audit.log.writer.UNPUBLISHED_ENTRIES_MAX", 100)
    disk, history, log = await opened()
    disk.fails = failing(errno.EIO, "rename")
    for _ in range(120):
        await history.append(log)
    assert (len(history.acknowledged), history.refused) == (100, 20)
    assert log.health().status == "fail"
    disk.fails = HEALED
    await log.publish()
    await history.append(log)
    assert len(history.acknowledged) == 101
    await log.close()
    await history.check(disk)


async def test_behind_keeps_what_has_an_index_and_refuses_more() -> None:
    disk, history, log = await opened(is_behind=True)
    disk.fails = failing(errno.EIO, "sync")
    for _ in range(5):
        await history.append(log)
    assert log.size() == 5
    with pytest.raises(Unavailable, match="cannot be written"):
        await log.publish()
    assert log.health().status == "fail"
    with pytest.raises(Unavailable, match="cannot be written"):
        await log.append(lambda _index, _time: b"more")
    disk.fails = HEALED
    await log.close()  # tries once more
    await history.check(disk)


async def test_behind_on_a_full_disk_names_its_first_problem_at_close() -> None:
    disk, history, log = await opened(is_behind=True)
    disk.fails = failing(errno.ENOSPC, "create", "write")
    for _ in range(4):
        await history.append(log)
    with pytest.raises(Unavailable, match="the log cannot be written: No space left on device"):
        await log.wait_durable(3)
    assert await log.wait_published(3, 1e6) is None, "at once: pytest would end it"
    disk.fails = lambda _number, _kind: errno.EIO
    lost = "4 acknowledged log entries could not be written: the log has stopped: No space left on device"
    with pytest.raises(Unavailable, match=lost):
        await log.close()
    with pytest.raises(Unavailable, match="No space left on device"):
        await log.wait_durable(3)
    await log.close()


async def test_nobody_waits_for_a_checkpoint_that_cannot_be_written() -> None:
    disk, history, log = await opened()
    await history.append(log)
    disk.fails = failing(errno.ENOSPC, "rename")
    assert await log.wait_published(0, 1e6) is None, "told by the failure"
    assert log.health().status == "warn"
    assert await log.wait_published(0, 1e6) is None, "refused at once"
    disk.fails = HEALED
    published = await log.publish()
    assert await log.wait_published(0, 1e6) == published
    await log.close()
    await history.check(disk)


async def made(count: int, *, is_published: bool) -> tuple[SimDisk, History]:
    """A closed log of ``count`` entries in one batch each; unpublished ones as a kill leaves them."""
    disk, history, log = await opened()
    for _ in range(count):
        await history.append(log)
    if is_published:
        await log.close()
        return disk, history
    disk = disk.killed()
    await log.close()
    return disk, history


def flip(disk: SimDisk, path: str, at: int) -> None:
    inode = disk._file(FOLDER / path)
    inode.data[at] ^= 0x01
    inode.durable[at] ^= 0x01


def files_below(disk: SimDisk, path: str = "") -> list[tuple[str, int]]:
    found = []
    for name in disk._directory(FOLDER / path).names:
        below = f"{path}/{name}" if path else name
        try:
            found.append((below, len(disk._file(FOLDER / below).data)))
        except FileNotFoundError:
            found += files_below(disk, below)
    return found


async def test_a_torn_end_is_cut_and_said_wherever_it_ends() -> None:
    disk, _ = await made(3, is_published=False)
    length = len(disk._file(JOURNAL / f"{0:020}").data)
    frame = length // 3
    for cut in range(1, frame, 7):
        disk, history = await made(3, is_published=False)
        del disk._file(JOURNAL / f"{0:020}").data[length - cut :]
        history.acknowledged.pop(2)  # the model's disk would not have lost it
        log = await history.open(disk)
        assert log.repair is not None
        assert (log.repair.bytes_cut, log.repair.entries_replayed) == (frame - cut, 2)
        await history.append(log)
        await log.close()
        await history.check(disk)
        assert (await history.open(disk)).repair is None


async def test_a_damaged_byte_in_the_middle_of_the_journal_is_refused_and_nothing_touched() -> None:
    disk, _ = await made(3, is_published=False)
    frame = len(disk._file(JOURNAL / f"{0:020}").data) // 3
    for at in range(0, 2 * frame, 5):
        disk, history = await made(3, is_published=False)
        flip(disk, f"journal/{0:020}", at)
        before = bytes(disk._file(JOURNAL / f"{0:020}").data)
        with pytest.raises(CorruptState, match=r"journal.*is damaged.*Nothing was changed"):
            await history.open(disk)
        assert bytes(disk._file(JOURNAL / f"{0:020}").data) == before


async def test_any_damaged_byte_is_refused_or_repaired_and_never_signed() -> None:
    """200 random bytes of the folder, one at a time."""
    rng = random.Random(7)
    refused = 0
    for _ in range(200):
        disk, history = await made(20, is_published=True)
        path, length = rng.choice([one for one in files_below(disk) if one[1]])
        flip(disk, path, rng.randrange(length))
        try:
            log = await history.open(disk)
        except CorruptState:
            refused += 1
            continue
        await history.append(log)
        await log.close()
        history.see(disk)
        leaves = stored(disk, log.size())
        assert all(leaves[index] == leaf for index, leaf in history.acknowledged.items()) or path.startswith(
            "tile/"
        ), path
    assert refused > 50


def without_a_checkpoint(disk: SimDisk) -> None:
    disk.unlink(FOLDER / "checkpoint")
    disk.unlink(HIGH_WATER)


def with_another_mark(disk: SimDisk) -> None:
    disk._file(HIGH_WATER).data[-5] ^= 1


REFUSED: dict[str, Callable[[SimDisk], None]] = {
    r"tile/0/000\.p/3 is missing": lambda disk: disk.unlink(FOLDER / "tile/0/000.p/3"),
    "checkpoint is no checkpoint of this log": lambda disk: flip(disk, "checkpoint", -5),
    "tiles but no checkpoint": without_a_checkpoint,
    "high_water is no checkpoint of this log": with_another_mark,
}


@pytest.mark.parametrize("said", REFUSED)
async def test_a_folder_that_is_not_whole_is_refused_by_name(said: str) -> None:
    disk, history = await made(3, is_published=True)
    REFUSED[said](disk)
    with pytest.raises(CorruptState, match=said):
        await history.open(disk)


async def as_it_is(disk: SimDisk) -> TileLog:
    """The log opened as it lies there, suspended or not."""
    keys = [KEY, NEW_KEY]
    return await TileLog.open(FOLDER, KEY.name, keys, ManualClock(), high_water=HIGH_WATER, files=disk)


async def test_a_folder_that_was_rolled_back_signs_and_takes_nothing() -> None:
    disk, history = await made(3, is_published=True)
    older = disk.copied()
    log = await history.open(disk)
    await history.append(log)
    await log.close()
    mark = disk.read(HIGH_WATER, 10_000)
    before = older.read(FOLDER / "checkpoint", 10_000)
    older.replace(HIGH_WATER, mark)
    rolled_back = await as_it_is(older)
    assert "rolled back" in rolled_back.suspended
    assert "neuroswarm log recover --new-epoch" in rolled_back.suspended
    assert rolled_back.health().status == "fail"
    for refused in (rolled_back.append(lambda _index, _time: b"x"), rolled_back.publish()):
        with pytest.raises(Unavailable, match="rolled back"):
            await refused
    await rolled_back.close()
    assert older.read(FOLDER / "checkpoint", 10_000) == before
    assert older.read(HIGH_WATER, 10_000) == mark


class CutBeforeCheckpoint(SimDisk):
    """The power fails before a checkpoint takes the place of an older one."""

    def rename(self, old: Path, new: Path) -> None:
        if new.name == "checkpoint" and "checkpoint" in self._directory(new.parent).names:
            self.is_off = True
        super().rename(old, new)


async def test_a_journal_that_brings_the_tree_to_the_mark_is_enough() -> None:
    disk, history = CutBeforeCheckpoint(), History()
    log = await history.open(disk)
    for _ in range(3):
        await history.append(log)
    await log.close()
    survivor = disk.crashed(random.Random(0), LOSE)
    log = await history.open(survivor)
    assert any(one.size == 3 for one in history.notes.values()), "the mark was signed and in place"
    assert log.published is not None
    assert log.published.size == 3
    assert log.repair is not None
    assert log.repair.entries_replayed == 3
    await log.close()
    await history.check(survivor)


async def test_an_older_or_lost_mark_changes_nothing() -> None:
    disk, history = await made(2, is_published=True)
    older = disk.read(HIGH_WATER, 10_000)
    log = await history.open(disk)
    await asyncio.gather(*(history.append(log) for _ in range(300)))
    await log.close()
    disk.replace(HIGH_WATER, older)
    log = await history.open(disk)
    await history.append(log)
    await log.close()
    disk.unlink(HIGH_WATER)
    log = await history.open(disk)
    await history.append(log)
    await log.close()
    await history.check(disk)


async def test_another_tree_beside_the_mark_is_suspended() -> None:
    for count in (2, 5, 300):
        disk, _ = await made(count, is_published=True)
        other, history = SimDisk(), History()
        history.count = 1_000
        log = await history.open(other)
        await asyncio.gather(*(history.append(log) for _ in range(300)))
        await log.close()
        other.replace(HIGH_WATER, disk.read(HIGH_WATER, 10_000))
        log = await as_it_is(other)
        assert "exchanged" in log.suspended
        await log.close()


async def test_a_journal_with_other_entries_than_are_published_is_refused() -> None:
    disk, history = await made(3, is_published=True)
    other, others = SimDisk(), History()
    others.count = 1_000
    log = await others.open(other)
    for _ in range(3):
        await others.append(log)
    data = other.read(JOURNAL / f"{0:020}", 10**6)
    await log.close()
    disk.replace(JOURNAL / f"{0:020}", data)
    with pytest.raises(CorruptState, match="its journal has another entry 0 than its tiles"):
        await history.open(disk)
