"""A log is made ready before it is opened: a damaged journal, checkpoint or edge does not stop the start."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from node.audit.decisions import epochs
from node.audit.log import journal
from node.audit.upkeep.offline import make_ready
from node.core.errors import CorruptState
from node.core.files import DISK
from tests.log_kit import ORIGIN, leaves
from tests.manual_clock import ManualClock
from tests.upkeep_kit import ENTRY, bundle, fill, flip, keys, open_log, without_journal


async def ready(folder: Path) -> None:
    high_water = partial(epochs.high_water, folder / "keys")
    await make_ready(folder / "log", keys, high_water, [], ManualClock())


async def test_a_damaged_journal_whose_entries_are_published_is_put_aside(tmp_path: Path) -> None:
    async with open_log(tmp_path) as log:
        await fill(log, 300)
    [segment] = (tmp_path / "log/journal").iterdir()
    flip(segment, at=60)
    with pytest.raises(CorruptState):
        async with open_log(tmp_path):
            pass
    await ready(tmp_path)
    async with open_log(tmp_path) as log:
        await fill(log, 10)
    assert len(await leaves(tmp_path / "log")) == 310


async def test_what_is_not_published_stays_in_a_mended_journal(tmp_path: Path) -> None:
    async with open_log(tmp_path) as log:
        await fill(log, 300)
    place = tmp_path / "log/journal"
    [segment] = place.iterdir()
    with segment.open("ab") as file:
        file.write(
            journal.encode_frame(ORIGIN, 300, [b"a", b"b"]) + journal.encode_frame(ORIGIN, 302, [b"c"])
        )
    flip(segment, at=60)
    await ready(tmp_path)
    assert journal.find(DISK, place, ORIGIN) == journal.Found(
        300,
        [b"a", b"b", b"c"],
        [journal.Segment(place / f"{300:020}", 300, 303)],
        0,
        (place / f"{300:020}").stat().st_size,
    )


async def test_a_journal_that_lost_what_was_not_published_is_left_as_it_is(tmp_path: Path) -> None:
    async with open_log(tmp_path) as log:
        await fill(log, 300)
    place = tmp_path / "log/journal"
    [segment] = place.iterdir()
    lost = journal.encode_frame(ORIGIN, 300, [b"a", b"b"])
    with segment.open("ab") as file:
        file.write(lost[:-1] + b"?" + journal.encode_frame(ORIGIN, 302, [b"c"]))
    before = segment.read_bytes()
    await ready(tmp_path)
    assert segment.read_bytes() == before
    with pytest.raises(CorruptState, match="entry 300"):
        async with open_log(tmp_path):
            pass


@pytest.mark.parametrize("size", [300, 512])
async def test_whatever_a_start_reads_is_mended_first(tmp_path: Path, size: int) -> None:
    async with open_log(tmp_path) as log:
        await fill(log, size)
    folder = tmp_path / "log"
    (folder / "checkpoint").unlink()
    for path in [*folder.glob("tile/0/*"), folder / f"tile/1/000.p/{size // 256}"]:
        if path.is_file():
            flip(path)
    flip(bundle(folder, size // 256 - 1))
    await ready(tmp_path)
    async with open_log(tmp_path) as log:
        await log.append(ENTRY, private_texts={})
        assert log.tile_log.repair is None, "it was opened from its checkpoint, not from the journal"
    assert len(await leaves(folder)) == size + 1


async def test_an_edge_that_cannot_be_mended_still_refuses_the_start(tmp_path: Path) -> None:
    async with open_log(tmp_path) as log:
        await fill(log, 300)
    folder = tmp_path / "log"
    without_journal(folder)
    shutil.rmtree(folder / "tile/entries/001.p")
    await ready(tmp_path)
    with pytest.raises(CorruptState, match=r"001\.p/44"):
        async with open_log(tmp_path):
            pass
