"""A decision log in a folder that is damaged and looked after, for tests."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.log import DecisionLog
from node.audit.log.reader import FolderSource
from node.audit.log.verify import verify_log
from node.audit.tlog.packed import place_of, unpack
from node.audit.tlog.tiles import ENTRIES, Tile
from node.audit.upkeep.mending import Copy
from node.audit.upkeep.upkeep import Upkeep
from node.core.model import Json
from node.core.signed_note import Verifier
from tests import log_kit
from tests.manual_clock import ManualClock

ENTRY: dict[str, Json] = {
    "v": 1,
    "kind": "repair",
    "bytes_cut": 0,
    "entries_replayed": 0,
    "keys_without_entry": 0,
}


async def fill(log: DecisionLog, count: int) -> None:
    """So many entries more, under a checkpoint; half-way there is a checkpoint too."""
    for part in (count // 2, count - count // 2):
        for _ in range(part):
            await log.append(ENTRY, private_texts={})
        await log.tile_log.publish()


def keys(origin: str) -> list[Verifier]:
    return [one.verifier for one in log_kit.signers(origin)]


def upkeep_of(
    folder: Path, log: DecisionLog, clock: ManualClock | None = None, copies: Sequence[Copy] = ()
) -> Upkeep:
    """What looks after ``folder/log``; its rounds are called by the test."""
    return Upkeep(
        "log:files",
        folder / "log",
        lambda: log.tile_log,
        keys,
        lambda number: epochs.high_water(folder / "keys", number),
        copies,
        clock or ManualClock(),
    )


@asynccontextmanager
async def open_log(
    folder: Path, clock: ManualClock | None = None, **terms: object
) -> AsyncIterator[DecisionLog]:
    log = await log_kit.opened(folder, clock, **{"durability": "behind_50ms", **terms})
    try:
        yield log
    finally:
        await log.close()


async def is_whole(folder: Path) -> bool:
    """What the independent checker says of the log in ``folder``."""
    report = await verify_log(FolderSource(folder), keys_in(folder))
    return report.ok


def keys_in(folder: Path) -> list[Verifier]:
    return [Verifier.from_vkey(line) for line in (folder / "vkey").read_text().split()]


def bundle(folder: Path, index: int = 0) -> Path:
    """The file of a complete bundle."""
    return folder / place_of(Tile(ENTRIES, index))


def flip(path: Path, at: int | None = None) -> None:
    """One bit of a file, in its middle or at ``at``, in place."""
    data = bytearray(path.read_bytes())
    where = len(data) // 2 if at is None else at
    data[where] ^= 1
    with path.open("r+b") as file:
        file.write(data)


def without_journal(folder: Path) -> None:
    """The journal gives nothing any more: as after some thousand entries."""
    for path in (folder / "journal").iterdir():
        path.write_bytes(b"")


def entries_file(folder: Path, index: int = 0) -> bytes:
    """A complete bundle's plain bytes."""
    tile = Tile(ENTRIES, index)
    return unpack(bundle(folder, index).read_bytes(), tile.bytes_max)


def copied(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target
