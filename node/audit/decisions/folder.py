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
    """``alarm_bytes``: the size from which there is too much of it; 0: its size does not matter. ``beside``:
    patterns of files outside of the folder that grow with the log, each (directory, glob)."""

    def __init__(self, directory: Path, alarm_bytes: int, beside: Sequence[tuple[Path, str]] = ()) -> None:
        self.directory = directory
        self.alarm_bytes = alarm_bytes
        self.size_bytes = 0
        self._beside = tuple(beside)
        self._files = 0
        self._uncounted = 0
        self._to_sweep: list[Path] = []
        self._chores: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def is_too_large(self) -> bool:
        return bool(self.alarm_bytes) and self.size_bytes > self.alarm_bytes

    async def count(self) -> None:
        """Raises ``Unavailable``."""
        with translated(f"{self.directory} cannot be read"):
            self.size_bytes, self._files = await asyncio.to_thread(self._counted)

    def grew(self, size_bytes: int) -> None:
        """By one entry of that size."""
        self.size_bytes += size_bytes
        self._uncounted += 1
        if self.alarm_bytes and self._uncounted >= max(COUNT_EVERY, self._files):
            self._begin()

    def sweep(self, place: Path) -> None:
        """A closed log lies in ``place``: of its files only what its last checkpoint needs is kept."""
        self._to_sweep.append(place)
        self._begin()

    async def close(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        self._is_closed = True
        if self._chores is not None:
            await asyncio.wait({self._chores})

    def _counted(self) -> tuple[int, int]:
        total, count = folder_bytes(self.directory)
        for directory, pattern in self._beside:
            for path in directory.glob(pattern):
                with contextlib.suppress(FileNotFoundError):
                    total += _on_disk(path)
        return total, count

    def _begin(self) -> None:
        if self._chores is None and not self._is_closed:
            self._chores = asyncio.create_task(self._swept_and_counted(), name="decision log: chores")

    async def _swept_and_counted(self) -> None:
        try:
            while self._to_sweep:
                await on_disk(epochs.sweep, self._to_sweep[0])
                del self._to_sweep[0]
            if self.alarm_bytes:
                self._uncounted = 0
                self.size_bytes, self._files = await on_disk(self._counted)
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


def _on_disk(path: Path) -> int:
    """Whole blocks, however few bytes a file has."""
    return path.lstat().st_blocks * _BLOCK_BYTES


def folder_bytes(directory: Path) -> tuple[int, int]:
    """(bytes that they take on the disk, files)."""
    total = count = 0
    for folder, _, files in os.walk(directory):
        for name in files:
            with contextlib.suppress(FileNotFoundError):  # files of the log are replaced meanwhile
                total += _on_disk(Path(folder, name))
                count += 1
    return total, count
