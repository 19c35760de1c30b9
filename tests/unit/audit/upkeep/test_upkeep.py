"""Damaged files of a log: found, mended from whatever is left, named where nothing is; never given out."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from node.audit.decisions.log import DecisionLog
from node.audit.log.checked import CheckedFolder, DamagedTile
from node.audit.log.reader import FolderSource
from node.audit.tlog.tiles import ENTRIES, Tile
from node.audit.upkeep.copies import folder_copy
from node.audit.upkeep.upkeep import AGAIN_FIRST_S
from node.core.errors import DamagedLog, NotFound
from tests.manual_clock import ManualClock
from tests.upkeep_kit import (
    ENTRY,
    bundle,
    copied,
    entries_file,
    fill,
    flip,
    is_whole,
    keys,
    open_log,
    upkeep_of,
    without_journal,
)

SIZE = 600
DAMAGES = int(os.environ.get("NEUROSWARM_TEST_DAMAGES", "12"))
"""Of each kind of file; 100 for a report."""


class NoCopy:
    """Somebody who has nothing, and remembers what was asked for."""

    name = "nobody"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def look(self, origin: str, tile: Tile) -> Sequence[bytes]:
        self.asked.append(tile.path)
        return []


def read(folder: Path, path: str) -> bytes:
    """As the node serves it."""
    return CheckedFolder(FolderSource(folder), keys).read_now(path, 2**24)


async def test_a_flipped_bit_in_a_bundle_is_mended_from_the_journal(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    async with open_log(tmp_path) as log:
        await fill(log, SIZE)
        before = entries_file(folder)
        flip(bundle(folder))
        with pytest.raises(DamagedTile, match=r"entries 0 to 255 of the log \S+/decisions are damaged"):
            read(folder, "tile/entries/000")
        upkeep = upkeep_of(tmp_path, log)
        await upkeep.round()
        await upkeep.round()
        assert entries_file(folder) == before == read(folder, "tile/entries/000")
        assert (upkeep.health().status, upkeep.mended) == ("pass", 1)
    assert await is_whole(folder)


async def test_what_nobody_has_is_refused_named_by_its_numbers_and_stays_a_failure(tmp_path: Path) -> None:
    folder, clock, nobody = tmp_path / "log", ManualClock(), NoCopy()
    async with open_log(tmp_path) as log:
        await fill(log, SIZE)
        without_journal(folder)
        plain = entries_file(folder)
        shutil.rmtree(folder / "tile/entries/000.p", ignore_errors=True)
        bundle(folder).unlink()
        (folder / "tile/entries/000").write_bytes(plain)  # as an older version wrote it: one entry is lost
        flip(folder / "tile/entries/000", at=2)
        upkeep = upkeep_of(tmp_path, log, clock, [nobody])
        for _ in range(3):
            await upkeep.round()
            check = upkeep.health()
            assert check.status == "fail"
            assert "entries 0 are lost here, entries 0 to 255 lie in damaged files" in check.output
        assert len(nobody.asked) == 1, "not asked again in every round"
        clock.advance(AGAIN_FIRST_S)
        await upkeep.round()
        assert len(nobody.asked) == 2
        with pytest.raises(DamagedTile):
            read(folder, "tile/entries/000")
        with pytest.raises(DamagedTile):
            read(folder, "tile/entries/000.p/7")
        read(folder, "tile/entries/001")
        assert await upkeep.mend(1, Tile(ENTRIES, 0)) is False

        (folder / "tile/entries/000").write_bytes(plain)  # the operator brings a good copy
        clock.advance(2 * AGAIN_FIRST_S)
        await upkeep.round()
        assert upkeep.health().status == "pass"
        assert read(folder, "tile/entries/000") == plain


@pytest.mark.parametrize("way", ["shrinks", "vanishes", "bit, times put back"])
async def test_damage_while_it_runs_is_found_by_the_next_round(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "log"
    async with open_log(tmp_path) as log:
        await fill(log, SIZE)
        upkeep = upkeep_of(tmp_path, log)
        await upkeep.round()
        await upkeep.round()
        without_journal(folder)
        shutil.rmtree(folder / "tile/entries/000.p", ignore_errors=True)
        path = bundle(folder)
        seen = path.stat()
        if way == "shrinks":
            os.truncate(path, 100)
        elif way == "vanishes":
            path.unlink()
        else:
            flip(path)
            os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        await upkeep.round()
        assert upkeep.health().status == "fail"
        assert "entries 0 to 255" in upkeep.health().output or "0 to " in upkeep.health().output


async def test_copies_mend_what_the_folder_cannot(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    async with open_log(tmp_path) as log:
        await fill(log, SIZE)
        backup = copied(folder, tmp_path / "backup")
        await fill(log, SIZE)  # the log has gone on since
        without_journal(folder)
        shutil.rmtree(folder / "tile/entries")
        (folder / "tile/0/000").unlink()
        lying = copied(backup, tmp_path / "lying")
        for path in (lying / "tile").rglob("*"):
            if path.is_file():
                flip(path)
        upkeep = upkeep_of(tmp_path, log, None, [folder_copy(lying), folder_copy(backup)])
        await upkeep.round()
        await upkeep.round()
        said = upkeep.health()
        assert said.status == "fail"
        assert "entries 600 to 1023 are lost here" in said.output, said.output
        assert entries_file(folder, 1) == entries_file(backup, 1)
        for number in (0, 1):
            read(folder, f"tile/entries/00{number}")
        read(folder, "tile/0/000")
        assert not any(bundle(folder, number).exists() for number in (2, 3))


async def test_a_closed_epoch_is_mended_and_one_that_was_moved_away_is_no_damage(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_log(tmp_path, shard_entries=300) as log:
        await fill(log, 320)
        aside = tmp_path / "log" / "epochs" / "1"
        backup = copied(aside, tmp_path / "backup" / "epochs" / "1").parents[1]
        upkeep = upkeep_of(tmp_path, log, clock, [folder_copy(backup)])
        flip(bundle(aside))
        (aside / "checkpoint").unlink()
        (aside / "tile/0/000").unlink()
        await upkeep.round()
        await upkeep.round()
        assert upkeep.health().status == "pass", upkeep.health()
        assert await is_whole(aside)
        shutil.rmtree(backup)
        bundle(aside).unlink()
        await upkeep.round()
        assert upkeep.health().status == "fail"
        shutil.move(aside, tmp_path / "archive")
        await upkeep.round()
        assert upkeep.health().status == "pass"


async def test_the_writer_puts_checkpoint_keys_and_right_edge_back(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    async with open_log(tmp_path) as log:
        await fill(log, SIZE)
        note = (folder / "checkpoint").read_bytes()
        upkeep = upkeep_of(tmp_path, log)
        shutil.rmtree(folder / "journal")
        for path in ("tile/entries/002.p", "tile/0/002.p", "tile/1"):
            shutil.rmtree(folder / path)
        (folder / "checkpoint").unlink()
        flip(folder / "vkey")
        await upkeep.round()
        assert upkeep.health().status == "pass", upkeep.health()
        assert (folder / "checkpoint").read_bytes() == note
        assert await is_whole(folder)


async def test_a_log_that_grows_and_turns_meanwhile_is_never_called_damaged(tmp_path: Path) -> None:
    folder, rounds = tmp_path / "log", 0
    async with open_log(tmp_path, durability="before_reply", shard_entries=300) as log:
        upkeep = upkeep_of(tmp_path, log)
        task = asyncio.create_task(_grow(log, 1_500))
        while not task.done():
            await upkeep.round()
            rounds += 1
            assert (upkeep.health().status, upkeep.mended) == ("pass", 0), upkeep.health()
        await task
        assert log.epoch == 6
        await upkeep.round()
        assert (upkeep.health().status, upkeep.mended) == ("pass", 0), upkeep.health()
    assert rounds > 5
    for number in range(1, 6):
        assert await is_whole(folder / "epochs" / str(number))
    assert await is_whole(folder)


async def _grow(log: DecisionLog, count: int) -> None:
    for _ in range(count // 50):
        await asyncio.gather(*(log.append(ENTRY, private_texts={}) for _ in range(50)))


def _targets(folder: Path) -> dict[str, list[Path]]:
    files = [path for path in (folder / "tile").rglob("*") if path.is_file()]
    return {
        "bundle": [bundle(folder, number) for number in range(2)],
        "hashes": [folder / f"tile/0/00{number}" for number in range(2)],
        "right edge": [path for path in files if path.parent.name.endswith(".p")],
        "checkpoint": [folder / "checkpoint"],
        "vkey": [folder / "vkey"],
    }


_WAYS: dict[str, Callable[[Path, random.Random], None]] = {
    "bit": lambda path, draw: flip(path, draw.randrange(path.stat().st_size)),
    "cut": lambda path, draw: os.truncate(path, draw.randrange(path.stat().st_size)),
    "gone": lambda path, _: path.unlink(),
    "zeros": lambda path, _: path.write_bytes(bytes(path.stat().st_size)) and None,
}


@pytest.mark.slow
@pytest.mark.parametrize("has_journal", [True, False])
async def test_random_damages_of_each_kind_of_file(
    tmp_path: Path, record_property: Callable[[str, object], None], has_journal: bool
) -> None:
    """Each damage is repaired, or refused; nothing wrong is served, and health says how it is."""
    draw = random.Random(20)
    folder, outcomes = tmp_path / "log", Counter[tuple[str, str]]()
    async with open_log(tmp_path) as log:
        await fill(log, SIZE)
        good = copied(folder, tmp_path / "good")
        tiles = ["tile/entries/000", "tile/entries/001", "tile/0/000", "tile/0/001", "tile/entries/002.p/88"]
        right = {path: read(good, path) for path in [*tiles, "tile/0/002.p/88", "checkpoint", "vkey"]}
        for kind in _targets(good):
            for _ in range(DAMAGES):
                for part in ("tile", "journal"):
                    shutil.rmtree(folder / part)
                    shutil.copytree(good / part, folder / part)
                for name in ("checkpoint", "vkey"):
                    shutil.copy(good / name, folder / name)
                if not has_journal:
                    without_journal(folder)
                    shutil.rmtree(folder / "tile/entries/000.p", ignore_errors=True)
                    shutil.rmtree(folder / "tile/entries/001.p", ignore_errors=True)
                victim = draw.choice(_targets(folder)[kind])
                _WAYS[draw.choice(list(_WAYS))](victim, draw)
                upkeep = upkeep_of(tmp_path, log)
                served_wrong = 0
                for is_before in (True, False):
                    refused = 0
                    for path, data in right.items():
                        try:
                            served_wrong += read(folder, path) != data
                        except (DamagedLog, NotFound):
                            refused += 1
                    if is_before:
                        await upkeep.round()
                        await upkeep.round()
                status = upkeep.health().status
                assert served_wrong == 0, (kind, victim)
                assert (status == "fail") == bool(refused), (kind, victim, upkeep.health())
                if status == "pass":
                    assert await is_whole(folder), (kind, victim)
                outcomes[kind, "refused, in fail" if refused else "repaired"] += 1
    for (kind, outcome), count in sorted(outcomes.items()):
        record_property(f"{kind}: {outcome}", count)
        print(f"journal={has_journal} {kind:12} {outcome:18} {count}")
    assert outcomes["bundle", "repaired"] == DAMAGES or not has_journal
    assert all(outcomes[kind, "repaired"] == DAMAGES for kind in _targets(good) if kind != "bundle")
