"""Closed epochs that were moved to an archive: what stays here, and how they are read.

What stays in ``epochs/<n>/`` are the small files (checkpoint, the one with cosignatures, keys) and a marker,
``moved.json``, which says where the tiles are. There they lie below ``<first epoch's origin>/<n>/`` in the
layout of a log's folder, with those small files again: a copy of that folder is a log that anybody can
verify. Reading goes to the folder first and then to where the marker points, so an epoch is readable at each
moment of its move.

Promises: an archive is not trusted. ``closed_source`` gives out nothing that the checkpoint which has stayed
here does not vouch for (``log.checked``); ``source_in`` is for who checks it all himself. Nothing is written
into an epoch once it is marked as moved (``unless_moved``), so nothing comes back that was removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from node.audit.decisions import epochs
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import Archive, Archives
from node.audit.log.checked import Checked, CheckedFiles, CheckedFolder, DamagedTile, Standing
from node.audit.log.reader import CHECKPOINT, VKEY, WITNESSED, Files, FolderSource, Source
from node.audit.tlog import packed
from node.audit.tlog.tiles import Tile
from node.audit.tlog.vouched import Rows
from node.core.errors import CorruptState, Misconfigured, NotFound, Rejected, Unavailable
from node.core.files import DISK, translated
from node.core.signed_note import Checkpoint

MARKER = "moved.json"
STAYS = (CHECKPOINT, WITNESSED, VKEY, MARKER)
"""What of a moved epoch stays in its folder."""

_MARKER_BYTES_MAX = 4_096
_FETCHES_MAX = 64
"""Files of an archive that are read for one tile: a few of each level at most."""
_CHANGES = threading.Lock()
"""Held while an epoch is marked, and while something is written into one that is not."""


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
    with _CHANGES:
        DISK.replace(folder / MARKER, orjson.dumps(asdict(moved)))


def is_moved(folder: Path) -> bool:
    """Whether the epoch in ``folder`` is marked as moved. Blocking. Raises ``OSError``."""
    return (folder / MARKER).exists()


def unless_moved(folder: Path, write: Callable[[], None]) -> None:
    """Write into a closed epoch's folder. What is written before the mark is removed with the rest after it.
    Blocking. Raises ``Unavailable`` where the epoch is marked, ``OSError``."""
    with _CHANGES:
        if is_moved(folder):
            raise Unavailable(f"the tiles of {folder} were moved to an archive")
        write()


class ArchiveSource:
    """A ``Source``: an epoch's files in an archive, complete bundles packed. ``place`` names it to people."""

    def __init__(self, archive: Archive, below: str) -> None:
        self._archive = archive
        self._below = below
        self.place = f"{archive.address}/{below}"

    async def read(self, path: str, bytes_max: int) -> bytes:
        if _is_packed(path):
            data = await self._archive.get(
                f"{self._below}/{path}{packed.SUFFIX}", packed.packed_max(bytes_max)
            )
            try:
                return packed.unpack(data, bytes_max)
            except Rejected as exc:
                raise Rejected(f"{self.place}/{path}: {exc}") from exc
        return await self._archive.get(f"{self._below}/{path}", bytes_max)

    async def file(self, path: str, bytes_max: int) -> bytes:
        """A file as it lies there. Raises as ``read``."""
        return await self._archive.get(f"{self._below}/{path}", bytes_max)


class _Wanted(Exception):
    """A file has to be fetched first."""

    def __init__(self, path: str, bytes_max: int) -> None:
        super().__init__(path)
        self.path = path
        self.bytes_max = bytes_max


class _Fetched(Files):
    """What was fetched of an archive so far."""

    def __init__(self, away: ArchiveSource) -> None:
        self._away = away
        self._files: dict[str, bytes | NotFound | Rejected] = {}

    async def fetch(self, wanted: _Wanted) -> None:
        """Raises ``Unavailable``."""
        try:
            self._files[wanted.path] = await self._away.file(wanted.path, wanted.bytes_max)
        except NotFound as exc:
            self._files[wanted.path] = exc
        except Rejected:  # what it says names a place
            self._files[wanted.path] = Rejected("it is too large, or no file")

    def place(self, path: str) -> str:
        return path

    def _read(self, path: str, bytes_max: int) -> bytes:
        found = self._files.get(path)
        if found is None:
            raise _Wanted(path, bytes_max)
        if isinstance(found, bytes):
            return found
        raise found


class MovedLog:
    """A ``Source``: a moved epoch, all of it held against the checkpoint in ``here``, its folder. What is
    known of its hashes is kept from one tile to the next."""

    def __init__(self, here: CheckedFolder, away: ArchiveSource) -> None:
        self._here = here
        self._away = away
        self._rows: Rows | None = None
        self.place = away.place

    async def read(self, path: str, bytes_max: int) -> bytes:
        """See ``Source``; raises ``DamagedLog`` as well."""
        try:
            return await self._here.read(path, bytes_max)
        except DamagedTile:
            return (await self.tile(Tile.parse(path))).data

    async def tile(self, tile: Tile) -> Checked:
        """A tile or bundle from the archive. Raises as ``CheckedFolder.tile``."""
        here = await asyncio.to_thread(self._here.newest)
        return await self.tile_under(here.note, here.checkpoint, tile)

    async def tile_under(self, note: bytes, checkpoint: Checkpoint, tile: Tile) -> Checked:
        """``tile`` under a checkpoint that the caller trusts to be this epoch's."""
        fetched = _Fetched(self._away)
        checked = CheckedFiles(fetched)
        standing = Standing(note, checkpoint, checked.rows(checkpoint, self._rows))
        for _ in range(_FETCHES_MAX):
            try:
                found = await asyncio.to_thread(checked.tile_under, standing, tile)
            except _Wanted as wanted:
                await fetched.fetch(wanted)
            else:
                self._rows = standing.rows
                return found
        raise Unavailable(f"{tile.path} takes more than {_FETCHES_MAX} files of an archive")


class MovedSource:
    """A ``Source``: what has stayed in the epoch's folder, and the rest from the archive; unchecked."""

    def __init__(self, here: FolderSource, away: ArchiveSource) -> None:
        self._here = here
        self._away = away

    async def read(self, path: str, bytes_max: int) -> bytes:
        with contextlib.suppress(NotFound):
            return await self._here.read(path, bytes_max)
        return await self._away.read(path, bytes_max)


def closed_source(directory: Path, number: int, archives: Archives = nowhere) -> CheckedFolder | MovedLog:
    """The closed epoch ``number`` of the log in ``directory``; only what its checkpoint vouches for is given
    out. Raises as ``source_in``."""
    here = CheckedFolder(FolderSource(directory, f"{epochs.FOLDER}/{number}"))
    away = away_from(here.source.directory, archives)
    return here if away is None else MovedLog(here, away)


def source_in(directory: Path, archives: Archives, below: str = "") -> Source:
    """The log in ``directory``, or in the folder ``below`` it, wherever its tiles are; unchecked. Blocking.
    Raises ``CorruptState``, ``Unavailable``."""
    here, away = FolderSource(directory, below), away_from(directory / below, archives)
    return here if away is None else MovedSource(here, away)


def away_from(folder: Path, archives: Archives) -> ArchiveSource | None:
    """Where the tiles of the epoch in ``folder`` were moved to; None where they were not. Raises as
    ``source_in``."""
    moved = marker(folder)
    if moved is None:
        return None
    try:
        return ArchiveSource(archives(moved.to), moved.below)
    except Misconfigured as exc:
        raise Unavailable(str(exc)) from exc


def _is_packed(path: str) -> bool:
    try:
        return packed.is_packed(Tile.parse(path))
    except Rejected:
        return False
