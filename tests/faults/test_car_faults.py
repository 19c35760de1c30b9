"""Imports of CARs under faults: killed at any moment, on a full disk. What is there afterwards is sound."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from node.store.imported_blocks import ForeignStore
from tests.faults.car_child import BATCH, BLOCKS, block, car

ROOT = Path(__file__).parents[2]


def child(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.faults.car_child", *arguments]


def read_and_kill(path: Path, lines_max: int) -> int:
    """Let a child read until it has printed so many lines, then SIGKILL it. The blocks that it had read."""
    with subprocess.Popen(child("work", str(path)), cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(lines_max)]
        process.kill()
    assert lines[-1].strip(), "the child ended by itself"
    return int(lines[-1])


async def look_at_everything(path: Path) -> int:
    """How many blocks of the CAR are there: each gives its right bytes, the sums hold, in the order read."""
    store = await ForeignStore.open(path, bytes_max=2**30)
    there = [await store.blocks.has(block(number)[0]) for number in range(BLOCKS)]
    count = sum(there)
    assert there == [True] * count + [False] * (BLOCKS - count), "a prefix"
    for number in range(count):
        cid, data = block(number)
        assert await store.blocks.get(cid) == data
    counts = await store.counts()
    assert (counts["blocks"], counts["bytes"]) == (count, count * len(block(0)[1]))
    await store.close()
    return count


@pytest.mark.slow
async def test_killed_at_any_moment_whole_batches_stay_and_the_next_import_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "foreign.sqlite"
    before = 0
    for lines_max in (1, 3, 9, 40, 120):
        read = await asyncio.to_thread(read_and_kill, path, lines_max)
        count = await look_at_everything(path)
        assert count % BATCH == 0, "batches are whole"
        assert count >= max(before, read - 2 * BATCH), "what was read is stored before more is read"
        before = count
    store = await ForeignStore.open(path, bytes_max=2**30)
    done = await store.add(car())
    assert (done.blocks, done.known) == (BLOCKS - before, before)
    await store.close()
    assert await look_at_everything(path) == BLOCKS


@pytest.mark.slow
def test_a_full_disk_is_a_reason_and_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "foreign.sqlite"
    done = subprocess.run(
        child("fill", str(path)), cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["said"].startswith("Unavailable: ")
    assert str(path) in said["said"]
    assert f"{said['stored']} new blocks before that are stored" in said["said"]
    assert said["stored"] > 0
    assert said["readable"] == said["known"] == said["stored"]
    assert asyncio.run(look_at_everything(path)) == BLOCKS
