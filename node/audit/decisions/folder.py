"""The size of the log's folder, and the tidying of closed epochs, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.disk import on_disk
from node.core.errors import NodeError
from node.core.files import translated

log = logging.getLogger("neuroswarm.decisions")

_READ_BYTES = 1 << 20
COUNT_EVERY = 1_000
"""So many entries are added up before the folder is counted again, or as many as it has files."""


class Folder:
    """``alarm_bytes``: the size from which there is too much of it; 0: its size does not matter. A closed
    epoch does not grow: it is counted once, and again when it was swept or moved."""

    def __init__(self, directory: Path, alarm_bytes: int) -> None:
        self.directory = directory
        self.alarm_bytes = alarm_bytes
        self.running_bytes = 0
        """What the log at the top takes."""
        self._closed: dict[str, int] = {}
        self._files = 0
        self._uncounted = 0
        self._to_sweep: list[Path] = []
        self._chores: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def size_bytes(self) -> int:
        """What all of it takes."""
        return self.running_bytes + sum(self._closed.values())

    @property
    def is_too_large(self) -> bool:
        return bool(self.alarm_bytes) and self.size_bytes > self.alarm_bytes

    async def count(self) -> None:
        """Raises ``Unavailable``."""
        with translated(f"{self.directory} cannot be read"):
            running, self._files, closed = await asyncio.to_thread(_sizes, self.directory, dict(self._closed))
        self.running_bytes, self._closed, self._uncounted = running, closed, 0

    async def count_if_stale(self) -> None:
        """``count``, where much was added since the last time; what was added is taken for more than it is,
        as it is not compressed yet. Raises ``Unavailable``."""
        if self._is_stale:
            await self.count()

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
                closed[place.name] = place.lstat().st_size
            elif place.name in known:
                closed[place.name] = known[place.name]
            else:
                closed[place.name] = folder_bytes(place)[0]
    return running, count, closed


def folder_bytes(directory: Path, *, without: str = "") -> tuple[int, int]:
    """(bytes, files) of a folder but for the one of the name ``without`` in it."""
    total = count = 0
    for folder, below, files in os.walk(directory):
        if without and Path(folder) == directory and without in below:
            below.remove(without)
        for name in files:
            with contextlib.suppress(FileNotFoundError):  # files of the log are replaced meanwhile
                total += Path(folder, name).lstat().st_size
                count += 1
    return total, count
