"""A whole node over power cuts, a few of the many that ``python -m bench.power_cuts`` makes; and what a
killed process has left unsynced, which the next one must not take for durable."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cutslab.forked import KILLED, Fork, forking
from bench.power_cuts import campaign
from tests.faults.recorded_disk import Control, RecordedDisk, compiled
from tests.faults.tlog_disk import LOSE
from tests.faults.twice_child import WORK, check, prepare

pytestmark = pytest.mark.timeout(900)
CHANGES_MAX = 2_000


@pytest.fixture
def library(tmp_path: Path) -> Path:
    found = compiled(tmp_path)
    if found is None:
        pytest.skip("there is no C compiler (cc) here")
    return found


@pytest.fixture
def short_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For temporary files; a node's socket in it has a short path."""
    folder = tempfile.mkdtemp(prefix="cuts")
    monkeypatch.setattr(tempfile, "tempdir", folder)
    yield
    shutil.rmtree(folder)


@pytest.mark.usefixtures("library", "short_folder")
async def test_nothing_that_was_promised_is_broken_by_power_cuts() -> None:
    result = await campaign(10, 10, 7)
    assert result.is_clean, "\n".join(result.lines())
    assert result.cuts.total() == 10
    for done in ("log entries", "questions", "store", "restores"):
        assert result.counts[done], done


@pytest.mark.usefixtures("library", "short_folder")
async def test_a_node_that_does_not_sync_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    monkeypatch.setattr(RecordedDisk, "_end_sync", lambda *_: None)
    monkeypatch.setattr("bench.power_cuts.STYLES", (LOSE,))
    try:
        result = await campaign(6, 6, 7)
    except (SystemExit, AssertionError):
        return  # it did not even start
    assert not result.is_clean


@pytest.fixture
async def fork(tmp_path: Path, library: Path) -> AsyncIterator[Fork]:
    async with forking(library, tmp_path / "said", "tests.faults.twice_child") as one:
        yield one


@pytest.mark.parametrize("what", WORK)
async def test_what_a_killed_process_left_unsynced_is_not_taken_for_durable(
    tmp_path: Path, fork: Fork, what: str
) -> None:
    """Killed at each change in turn, then done again to the end, then the power fails."""
    first = tmp_path / "first"
    first.mkdir()
    await prepare(first, what)
    control = Control(tmp_path / "control")
    for cut_at in range(1, CHANGES_MAX):
        root = tmp_path / "root"
        shutil.copytree(first, root)
        disk = RecordedDisk(root, tmp_path / "record")
        asked: dict[str, Any] = {"what": what, "root": str(root), "record": str(disk.record)}
        asked["control"] = str(control.path)
        control.begin(delay_us=0)
        control.cut_in(cut_at)
        ended = await fork.begin(asked)
        disk.follow()
        if ended == KILLED:
            control.begin(delay_us=0)
            assert await fork.begin(asked) == "ended 0", (cut_at, fork.last_words())
            disk.follow()
        disk.fail(random.Random(cut_at), LOSE)
        try:
            await check(root, what)
        except Exception as exc:
            raise AssertionError(f"killed at change {cut_at} of {what}, then cut") from exc
        shutil.rmtree(root)
        if ended != KILLED:
            break
    assert 3 < cut_at < CHANGES_MAX - 1
