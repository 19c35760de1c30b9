"""What a log's clients know: entries acknowledged, notes ever visible; and what must hold."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.audit.log.verify import verify_log
from node.audit.log.writer import Pace, TileLog
from node.audit.tlog.packed import is_packed, place_of, unpack
from node.audit.tlog.tiles import Tile, decode_bundle, tiles_between
from node.core.errors import NodeError, NotFound, Rejected
from node.core.merkle import leaf_hash, root_of
from node.core.signed_note import Checkpoint, Ed25519Signer, Signer, open_checkpoint
from tests.faults.tlog_disk import SimDisk
from tests.manual_clock import ManualClock

ORIGIN = "test.neuroswarm/decisions"
FOLDER = Path("/data/logs/decisions")
HIGH_WATER = Path("/data/keys/high_water")
KEY = Ed25519Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"k" * 32))
NEW_KEY = Ed25519Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(b"n" * 32))
VERIFIERS = (KEY.verifier, NEW_KEY.verifier)


class SimSource:
    """The folder as a reader sees it."""

    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk

    async def read(self, path: str, bytes_max: int) -> bytes:
        try:
            return stored_file(self._disk, path, bytes_max)
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise NotFound(path) from exc


@dataclass
class History:
    """Over all crashes of one log."""

    acknowledged: dict[int, bytes] = field(default_factory=dict)
    notes: dict[bytes, Checkpoint] = field(default_factory=dict)
    count: int = 0
    mark: int = -1
    refused: int = 0

    async def open(
        self, disk: SimDisk, signers: Sequence[Signer] = (KEY, NEW_KEY), **options: object
    ) -> TileLog:
        """Open, and hold the log to what it has acknowledged."""
        log = await TileLog.open(
            FOLDER,
            ORIGIN,
            signers,
            ManualClock(),
            high_water=HIGH_WATER,
            pace=Pace(every_s=1_000.0, **options),
            files=disk,
        )
        self.see(disk)
        assert not log.suspended, log.suspended
        assert log.size() >= len(self.acknowledged), "an acknowledged entry is lost"
        return log

    async def append(self, log: TileLog, length: int = 40) -> None:
        """One entry, unlike all others."""
        self.count += 1
        number = self.count
        made: dict[int, bytes] = {}

        def compose(index: int, time_us: int) -> bytes:
            made[index] = b"%d of %d at %d " % (index, number, time_us) + b"x" * length
            return made[index]

        try:
            index = await log.append(compose)
        except NodeError:
            self.refused += 1
            return
        assert index not in self.acknowledged, f"the index {index} was given twice"
        self.acknowledged[index] = made[index]

    def see(self, disk: SimDisk) -> None:
        """Remember each note that was in place at any time, durable or not."""
        for name, data in disk.renamed:
            if name in ("checkpoint", "high_water"):
                checkpoint = open_checkpoint(data, VERIFIERS).checkpoint
                self.notes[checkpoint.text()] = checkpoint
                if name == "high_water":
                    self.mark = max(self.mark, checkpoint.size)
                assert checkpoint.size <= self.mark, "a checkpoint was in place before its high-water mark"
        disk.renamed.clear()

    async def check(self, disk: SimDisk) -> None:
        """The folder verifies, holds each acknowledged entry, and is the one tree of all notes ever seen."""
        self.see(disk)
        newest = open_checkpoint(disk.read(FOLDER / "checkpoint", 10**6), VERIFIERS).checkpoint
        leaves = stored(disk, newest.size)
        assert root_of([leaf_hash(leaf) for leaf in leaves]) == newest.root
        for index, leaf in self.acknowledged.items():
            assert leaves[index] == leaf, f"entry {index} has other bytes than were acknowledged"
        for checkpoint in self.notes.values():
            assert checkpoint.size <= newest.size
            assert root_of([leaf_hash(leaf) for leaf in leaves[: checkpoint.size]]) == checkpoint.root
        report = await verify_log(SimSource(disk), VERIFIERS, check_entry=lambda _index, _leaf: None)
        assert report.ok, report


def stored_file(disk: SimDisk, path: str, bytes_max: int) -> bytes:
    """A file as a reader gets it: complete bundles lie there packed."""
    with contextlib.suppress(Rejected):
        tile = Tile.parse(path)
        if is_packed(tile):
            return unpack(disk.read(FOLDER / place_of(tile), bytes_max), bytes_max)
    return disk.read(FOLDER / path, bytes_max)


def stored(disk: SimDisk, size: int) -> list[bytes]:
    leaves: list[bytes] = []
    for tile in tiles_between(0, size):
        if tile.level < 0:
            leaves += decode_bundle(stored_file(disk, tile.path, tile.bytes_max), tile.width)
    return leaves
