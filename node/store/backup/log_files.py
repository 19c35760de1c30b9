"""Which files of a log's folder make up the log that its checkpoint signs, while its writer goes on.

The checkpoint is read first. What it needs is on the disk by then: full tiles, which never change, and the
partial ones at its right edge, which stay until 32 checkpoints after their full tile is there. Left out are
the partial tiles of other checkpoints, of which a folder holds hundreds; files of later entries; and lock,
staging and journal: an entry that the checkpoint covers is in the tiles. Blocking.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from node.audit.log.reader import CHECKPOINT, WITNESSED
from node.audit.tlog.packed import SUFFIX
from node.audit.tlog.tiles import ENTRIES, HEIGHT, LEVEL_MAX, WIDTH, Tile, tiles_at
from node.core.errors import Rejected, Unavailable
from node.core.files import DISK
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint

JOURNAL = "journal"
_LEFT_OUT = frozenset({CHECKPOINT, JOURNAL})
ASIDE = "before-restore"
"""How the folders begin into which a restore moves what was there: no part of the log."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """``note``: the checkpoint's file; ``size``: entries that it covers; ``never_change`` and ``others``:
    paths below the folder."""

    note: bytes
    size: int
    never_change: tuple[str, ...]
    others: tuple[str, ...]


def log_files(directory: Path, *, with_journal: bool) -> LogFiles | None:
    """The log in ``directory``; None where none was published. ``with_journal``: what is not published either
    (only while nothing can be: a log that is written moves on). Raises ``Unavailable`` where a tile of it is
    missing: it went while this looked, or the log is damaged; ``OSError``, ``Rejected``."""
    try:
        note = DISK.read(directory / CHECKPOINT, NOTE_BYTES_MAX)
    except FileNotFoundError:
        return None
    size = Checkpoint.of_note(note).size
    fixed: list[str] = []
    others: list[str] = []
    edge, tiles = set(tiles_at(size)), set[Tile]()
    for path in _below(directory):
        top = path.split("/", 1)[0]
        if top.startswith(ASIDE):
            continue
        if top == "tile":
            tile = _tile(path)
            if tile is None or not (_is_covered(tile, size) if tile.is_full else tile in edge):
                continue
            tiles.add(tile)
            (fixed if tile.is_full else others).append(path)
        elif path == WITNESSED:
            if Checkpoint.of_note(DISK.read(directory / path, NOTE_BYTES_MAX)).size <= size:
                others.append(path)
        elif top not in _LEFT_OUT or (with_journal and top == JOURNAL):
            (fixed if "/tile/" in path and ".p/" not in path else others).append(path)
    _check_whole(directory, size, tiles, edge)
    return LogFiles(note, size, tuple(fixed), tuple(others))


def _below(directory: Path) -> Iterator[str]:
    """Plain files below the folder, none of them hidden, in order."""
    for parent, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path.relative_to(directory).as_posix()


def _tile(path: str) -> Tile | None:
    try:
        return Tile.parse(path.removesuffix(SUFFIX))
    except Rejected:
        return None


def _is_covered(tile: Tile, size: int) -> bool:
    """Whether the tree of ``size`` has all that a full tile says."""
    return tile.index < size >> (HEIGHT * (max(tile.level, 0) + 1))


def _check_whole(directory: Path, size: int, tiles: set[Tile], edge: set[Tile]) -> None:
    full = {(tile.level, tile.index) for tile in tiles if tile.is_full}
    for level in range(ENTRIES, LEVEL_MAX + 1):
        for index in range(size >> (HEIGHT * (max(level, 0) + 1))):
            if (level, index) not in full:
                raise Unavailable(f"{directory / Tile(level, index, WIDTH).path} is missing")
    for tile in edge:
        if tile not in tiles:
            raise Unavailable(f"{directory / tile.path} is missing")
