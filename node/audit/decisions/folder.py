"""The size of the log's folder, and the tidying of closed epochs, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.disk import on_disk
from node.core.errors import NodeError
from node.core.files import translated

log = logging.getLogger("neuroswarm.decisions")

_READ_BYTES = 1 << 20
_BLOCK_BYTES = 512
"""The unit of ``st_blocks``, whatever the file system's is."""
COUNT_EVERY = 1_000
"""So many entries are added up before the folder is counted again, or as many as it has files."""


class Folder:
    """Sizes are what files take of the disk. ``alarm_bytes``: the size from which there is too much of it; 0:
    its size does not matter. ``beside``: patterns of files outside of the folder that grow with the log, each
    (directory, glob). A closed epoch does not grow: it is counted once, and again after it was swept or
    moved."""

    def __init__(self, directory: Path, alarm_bytes: int, beside: Sequence[tuple[Path, str]] = ()) -> None:
        self.directory = directory
        self.alarm_bytes = alarm_bytes
        self.running_bytes = 0
        """What the log at the top takes."""
        self._closed: dict[str, int] = {}
        self._beside = tuple(beside)
        self._beside_bytes = 0
        self._files = 0
        self._uncounted = 0
        self._to_sweep: list[Path] = []
        self._chores: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def size_bytes(self) -> int:
        """What all of it takes, with what lies beside it."""
        return self.running_bytes + sum(self._closed.values()) + self._beside_bytes

    @property
    def is_too_large(self) -> bool:
        return bool(self.alarm_bytes) and self.size_bytes > self.alarm_bytes

    async def count(self) -> None:
        """Raises ``Unavailable``."""
        with translated(f"{self.directory} cannot be read"):
            running, self._files, closed = await asyncio.to_thread(_sizes, self.directory, dict(self._closed))
        self.running_bytes, self._closed, self._uncounted = running, closed, 0
        await self._count_beside()

    async def count_if_stale(self) -> None:
        """``count``, where much was added since the last time; what was added is taken for more than it is,
        as it is not compressed yet. The few files beside are counted each time. Raises ``Unavailable``."""
        if self._is_stale:
            await self.count()
        else:
            await self._count_beside()

    async def _count_beside(self) -> None:
        with translated("the files that grow with the decision log cannot be read"):
            self._beside_bytes = await asyncio.to_thread(_together, self._beside)

    @property
    def _is_stale(self) -> bool:
        return self._uncounted >= max(COUNT_EVERY, self._files)

    def bytes_of(self, place: Path) -> int:
        """What a closed epoch takes, as of the last count."""
        return self._closed.get(place.name, 0)

    async def changed(self, place: Path) -> None:
        """Something was removed from this closed epoch. Raises ``Unavailable``."""
        self._closed.pop(place.name, None)
        await self.count()

    def grew(self, size_bytes: int) -> None:
        """By one entry of that size."""
        self.running_bytes += size_bytes
        self._uncounted += 1
        if self._is_stale:
            self._begin()

    def sweep(self, place: Path) -> None:
        """A closed log lies in ``place``: of its files only what its last checkpoint needs is kept."""
        self._to_sweep.append(place)
        self._begin()

    def is_swept(self, place: Path) -> bool:
        """Whether this closed epoch has what it keeps, and no more."""
        return place not in self._to_sweep

    async def close(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        self._is_closed = True
        if self._chores is not None:
            await asyncio.wait({self._chores})

    def _begin(self) -> None:
        if self._chores is None and not self._is_closed:
            self._chores = asyncio.create_task(self._swept_and_counted(), name="decision log: chores")

    async def _swept_and_counted(self) -> None:
        try:
            while self._to_sweep:
                await on_disk(epochs.sweep, self._to_sweep[0])
                self._closed.pop(self._to_sweep.pop(0).name, None)
            await self.count()
        except NodeError as exc:
            log.warning("the decision log's folder could not be tidied: %s", exc)
            self._to_sweep.clear()  # what is left lies there to no harm
        finally:
            self._chores = None


def digest_of(path: Path) -> tuple[str, int] | None:
    """(hex SHA-256, bytes) of a file, or None where there is none."""
    digest, length = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while data := file.read(_READ_BYTES):
                digest.update(data)
                length += len(data)
    except FileNotFoundError:
        return None
    return digest.hexdigest(), length


def _sizes(directory: Path, known: dict[str, int]) -> tuple[int, int, dict[str, int]]:
    """(bytes of the running log, its files, bytes of each closed one); closed ones in ``known`` are not
    counted again."""
    running, count = folder_bytes(directory, without=epochs.FOLDER)
    closed: dict[str, int] = {}
    with contextlib.suppress(FileNotFoundError):
        for place in (directory / epochs.FOLDER).iterdir():
            if not place.is_dir():
                closed[place.name] = _on_disk(place)
            elif place.name in known:
                closed[place.name] = known[place.name]
            else:
                closed[place.name] = folder_bytes(place)[0]
    return running, count, closed


def _together(patterns: Sequence[tuple[Path, str]]) -> int:
    return sum(_on_disk(path) for directory, pattern in patterns for path in directory.glob(pattern))


def folder_bytes(directory: Path, *, without: str = "") -> tuple[int, int]:
    """(bytes that they take on the disk, files) of a folder but for the one of the name ``without`` in it."""
    total = count = 0
    for folder, below, files in os.walk(directory):
        if without and Path(folder) == directory and without in below:
            below.remove(without)
        for name in files:
            total += _on_disk(Path(folder, name))
            count += 1
    return total, count


def _on_disk(path: Path) -> int:
    """Whole blocks, however few bytes a file has; 0 where it was replaced or removed meanwhile."""
    try:
        return path.lstat().st_blocks * _BLOCK_BYTES
    except FileNotFoundError:
        return 0
