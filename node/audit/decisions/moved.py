"""Closed epochs that were moved to an archive: what stays here, and how they are read.

What stays in ``epochs/<n>/`` are the small files (checkpoint, the one with cosignatures, keys) and a marker,
``moved.json``, which says where the tiles are. There they lie below ``<first epoch's origin>/<n>/`` in the
layout of a log's folder, with those small files again: a copy of that folder is a log that anybody can
verify. Reading goes to the folder first and then to where the marker points, so an epoch is readable at each
moment of its move.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from node.audit.decisions import epochs
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import Archive, Archives
from node.audit.log.reader import CHECKPOINT, VKEY, WITNESSED, FolderSource, Source
from node.audit.tlog import packed
from node.audit.tlog.tiles import Tile
from node.core.errors import CorruptState, Misconfigured, NotFound, Rejected, Unavailable
from node.core.files import DISK, translated

MARKER = "moved.json"
STAYS = (CHECKPOINT, WITNESSED, VKEY, MARKER)
"""What of a moved epoch stays in its folder."""

_MARKER_BYTES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Moved:
    """``to``: the archive's address; ``below``: the path in it; ``files`` and ``bytes`` of the copy."""

    to: str
    below: str
    files: int
    bytes: int
    at: str
    v: int = 1


def nowhere(address: str) -> Archive:
    """``Archives`` of whoever knows none."""
    raise Misconfigured(f"a closed epoch was moved to {address}, which the settings do not lead to")


def below_of(origin: str) -> str:
    """The path in an archive of the log with this origin."""
    base, number = epoch_of(origin)
    return f"{base}/{number}"


def marker(folder: Path) -> Moved | None:
    """Where the tiles of the epoch in ``folder`` are; None where they were not moved. Blocking. Raises
    ``CorruptState``, ``Unavailable``."""
    path = folder / MARKER
    with translated(f"{path} cannot be read"):
        try:
            data = DISK.read(path, _MARKER_BYTES_MAX)
        except (FileNotFoundError, NotADirectoryError):
            return None
    try:
        found = Moved(**orjson.loads(data))
        is_sound = isinstance(found.to, str) and isinstance(found.below, str)
        if found.v != 1 or not is_sound or type(found.bytes) is not int or type(found.files) is not int:
            raise ValueError
    except (ValueError, TypeError) as exc:
        raise CorruptState(f"{path} is damaged: restore it from a copy") from exc
    return found


def mark(folder: Path, moved: Moved) -> None:
    """The tiles of the epoch in ``folder`` are durable elsewhere. Blocking. Raises ``OSError``."""
    DISK.replace(folder / MARKER, orjson.dumps(asdict(moved)))


class ArchiveSource:
    """A ``Source``: an epoch's files in an archive, complete bundles packed."""

    def __init__(self, archive: Archive, below: str) -> None:
        self._archive = archive
        self._below = below

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``Source``."""
        if _is_packed(path):
            data = await self._archive.get(
                f"{self._below}/{path}{packed.SUFFIX}", packed.packed_max(bytes_max)
            )
            try:
                return packed.unpack(data, bytes_max)
            except Rejected as exc:
                raise Rejected(f"{self._archive.address}/{self._below}/{path}: {exc}") from exc
        return await self._archive.get(f"{self._below}/{path}", bytes_max)

    async def packed(self, tile: Tile) -> bytes:
        """A complete bundle as gzip. Raises as ``read``."""
        path = f"{self._below}/{tile.path}{packed.SUFFIX}"
        return await self._archive.get(path, packed.packed_max(tile.bytes_max))


class MovedSource:
    """A ``Source``: what has stayed in the epoch's folder, and the rest from the archive."""

    def __init__(self, here: FolderSource, away: ArchiveSource) -> None:
        self._here = here
        self.away = away

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``Source``."""
        with contextlib.suppress(NotFound):
            return await self._here.read(path, bytes_max)
        return await self.away.read(path, bytes_max)


def closed_source(directory: Path, number: int, archives: Archives = nowhere) -> Source:
    """The closed epoch ``number`` of the log in ``directory``. Raises as ``source_in``."""
    return source_in(directory, archives, f"{epochs.FOLDER}/{number}")


def source_in(directory: Path, archives: Archives, below: str = "") -> Source:
    """The log in ``directory``, or in the folder ``below`` it, wherever its tiles are. Blocking. Raises
    ``CorruptState``, ``Unavailable``."""
    here = FolderSource(directory, below)
    moved = marker(directory / below)
    if moved is None:
        return here
    try:
        away = archives(moved.to)
    except Misconfigured as exc:
        raise Unavailable(str(exc)) from exc
    return MovedSource(here, ArchiveSource(away, moved.below))


def _is_packed(path: str) -> bool:
    try:
        return packed.is_packed(Tile.parse(path))
    except Rejected:
        return False
