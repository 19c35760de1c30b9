"""What the files of a log look like from outside, so that a change is seen without reading them all.

Promises: a file of a complete tile that was changed in place, shrank, was replaced or has vanished since it
was last found whole is told; one look costs a few microseconds a file. What changes a file's bytes but not
its size, times and number is not seen here: that is what reading finds. Blocking; reads only.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from pathlib import Path

from node.audit.tlog.tiles import ENTRIES, HEIGHT, LEVEL_MAX, WIDTH, Tile, tiles_at

GROUP = 1_000
"""Tiles of one level in one directory."""
_NAME = re.compile(r"([0-9]{3})(?:\.gz)?", re.ASCII)
_PARTIAL = re.compile(r"([0-9]{3})\.p", re.ASCII)
_UNSEEN = 0


def levels_of(size: int) -> list[tuple[int, int]]:
    """(level, complete tiles) of a log of ``size`` entries, bundles first."""
    found = [(ENTRIES, size // WIDTH)]
    level = 0
    while level < LEVEL_MAX and (count := size >> HEIGHT * (level + 1)):
        found.append((level, count))
        level += 1
    return found


class Marks:
    """Of each complete tile of one log, by 8 bytes, how its file looked when it was last found whole."""

    def __init__(self) -> None:
        self._marks: dict[int, array[int]] = {}

    def set(self, tile: Tile, mark: int) -> None:
        marks = self._marks.setdefault(tile.level, array("Q"))
        if tile.index >= len(marks):
            marks.extend([_UNSEEN] * (tile.index + 1 - len(marks)))
        marks[tile.index] = mark

    def clear(self, tile: Tile) -> None:
        if tile.index < len(self._marks.get(tile.level, ())):
            self._marks[tile.level][tile.index] = _UNSEEN

    def of(self, tile: Tile) -> int:
        marks = self._marks.get(tile.level, ())
        return marks[tile.index] if tile.index < len(marks) else _UNSEEN


def groups(size: int) -> Iterator[tuple[int, int, int]]:
    """(level, first tile, complete tiles) of each directory that tiles of a log of ``size`` entries lie
    in."""
    for level, count in [*levels_of(size), *((one.level, 0) for one in tiles_at(size) if not one.index)]:
        for first in range(0, max(1, count), GROUP):
            yield level, first, min(GROUP, count - first)


def changed(directory: Path, marks: Marks, level: int, first: int, count: int) -> list[Tile]:
    """Of a directory of tiles those that are missing, or do not look as they did when they were found whole.
    Raises ``OSError`` where the directory is there and cannot be read."""
    looks = _looks(directory, Tile(level, first))
    found = []
    for index in range(first, first + count):
        tile = Tile(level, index)
        look, mark = looks.get(index - first, _UNSEEN), marks.of(tile)
        if look == _UNSEEN or (mark != _UNSEEN and look != mark):
            found.append(tile)
    return found


def narrower(directory: Path, level: int, first: int, count: int) -> dict[Tile, int]:
    """How the partial tiles look that lie beside these tiles and the one after them. Raises ``OSError``."""
    found: dict[Tile, int] = {}
    for name in _names((directory / Tile(level, first).path).parent):
        number = _PARTIAL.fullmatch(name)
        index = first + int(number[1]) if number else -1
        if not first <= index <= first + count:
            continue
        for width in _names((directory / Tile(level, index, 1).path).parent):
            if not (width.isascii() and width.isdigit() and 0 < int(width[:4]) < WIDTH and width[0] != "0"):
                continue
            tile = Tile(level, index, int(width))
            if look := look_of(directory, tile):
                found[tile] = look
    return found


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def look_of(directory: Path, tile: Tile) -> int:
    """How the tile's file looks now; 0 where there is none."""
    look = _UNSEEN
    path = directory / tile.path
    for name in (path, path.with_name(f"{path.name}.gz")):
        try:
            look ^= _print(name.name, name.lstat())
        except OSError:
            continue
    return look


def _looks(directory: Path, first: Tile) -> dict[int, int]:
    """By number within the directory."""
    looks: dict[int, int] = {}
    try:
        with os.scandir((directory / first.path).parent) as entries:
            for entry in entries:
                name = _NAME.fullmatch(entry.name)
                if name is None:
                    continue
                try:
                    seen = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                number = int(name[1])
                looks[number] = looks.get(number, _UNSEEN) ^ _print(entry.name, seen)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return looks


def _print(name: str, seen: os.stat_result) -> int:
    return hash((name, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)) & (2**64 - 1)
