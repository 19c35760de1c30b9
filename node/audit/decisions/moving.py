"""Move a closed epoch to an archive: copy, read back and verify, mark, remove; in this order.

Promises: nothing is removed here before all of the copy was read back from the archive and verified as a
stranger would (``verify_log``), to the very checkpoint that lies here, and the marker that leads there is
durable. Whatever moment it is cut off at, the next call goes on from there, and the epoch can be read all the
time. It rests as long as it works, for the sake of whoever is answered meanwhile.

A log that is damaged or has entries in its journal that no checkpoint covers stays here. Damaged files are
not copied: what is in the archive once is not replaced, and they may be mended.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.disk import on_disk
from node.audit.decisions.epoch_check import keys_of
from node.audit.decisions.moved import STAYS, ArchiveSource, Moved, below_of, mark, marker
from node.audit.log.archive import Archive
from node.audit.log.checked import CheckedFolder, Standing
from node.audit.log.reader import CHECKPOINT, VKEY, VKEY_BYTES_MAX, WITNESSED, FolderSource, Source
from node.audit.log.verify import verify_log
from node.audit.tlog.packed import is_packed, pack, place_of
from node.audit.tlog.tiles import Tile, tiles_between
from node.core.clock import Clock
from node.core.errors import NotFound, Rejected
from node.core.files import DISK
from node.core.signed_note import NOTE_BYTES_MAX

_FILES_AT_ONCE = 16
_BYTES_AT_ONCE = 8 * 2**20
_STINT_S = 0.05


class Pace:
    """Half of the time is left to others."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.monotonic()

    async def rest(self) -> None:
        """To be called often; sleeps as long as was worked since."""
        worked = self._clock.monotonic() - self._since
        if worked >= _STINT_S:
            await self._clock.sleep(worked)
            self._since = self._clock.monotonic()


class _Paced:
    """A ``Source`` that is read slowly."""

    def __init__(self, source: Source, pace: Pace) -> None:
        self._source = source
        self._pace = pace

    async def read(self, path: str, bytes_max: int) -> bytes:
        await self._pace.rest()
        return await self._source.read(path, bytes_max)


async def move(directory: Path, number: int, archive: Archive, clock: Clock) -> Moved:
    """The closed epoch ``number`` of the log in ``directory`` goes to the archive, or what was begun of that
    is ended. Raises ``Rejected`` (the copy does not verify, or other files are in its place), ``DamagedLog``
    (a file is damaged or missing here), ``Unavailable``, ``CorruptState``."""
    folder = epochs.folder_of(directory, number)
    moved = await on_disk(marker, folder)
    if moved is None:
        if await on_disk(_is_unswept, folder):
            raise Rejected(f"{folder} has entries in its journal that no checkpoint covers: it stays here")
        here = CheckedFolder(FolderSource(directory, f"{epochs.FOLDER}/{number}"))
        moved = await _copied(here, archive, clock)
        await on_disk(mark, folder, moved)
    await on_disk(_remove, folder)
    return moved


async def _copied(here: CheckedFolder, archive: Archive, clock: Clock) -> Moved:
    """Copy what the checkpoint needs, and verify the copy."""
    standing = await on_disk(here.newest)
    note, checkpoint = standing.note, standing.checkpoint
    keys = await here.read(VKEY, VKEY_BYTES_MAX)
    below, pace = below_of(checkpoint.origin), Pace(clock)
    there = await archive.sizes(below)
    batch: dict[str, bytes] = {}
    files = total = 0
    async for path, data in _files(here, standing, keys):
        name = f"{below}/{path}"
        files, total = files + 1, total + len(data)
        if name not in there:
            batch[name] = data
        elif there[name] != len(data):
            raise Rejected(f"{archive.address}/{name} is there already, with other bytes")
        if len(batch) >= _FILES_AT_ONCE or sum(map(len, batch.values())) >= _BYTES_AT_ONCE:
            await archive.put(batch)
            batch = {}
        await pace.rest()
    await archive.put(batch)
    source = _Paced(ArchiveSource(archive, below), pace)
    report = await verify_log(source, keys_of(keys))
    if not report.ok or report.note != note:
        why = f"{report.where}: {report.reason}" if not report.ok else f"{CHECKPOINT}: it is another one"
        raise Rejected(f"the copy of {checkpoint.origin} in {archive.address} does not verify ({why})")
    return Moved(archive.address, below, files, total, clock.now().isoformat(timespec="seconds"))


async def _files(here: CheckedFolder, standing: Standing, keys: bytes) -> AsyncIterator[tuple[str, bytes]]:
    """(path, bytes) of all that a log of this checkpoint consists of; the checkpoint last."""
    for tile in tiles_between(0, standing.checkpoint.size):
        yield place_of(tile), await on_disk(_kept, here, standing, tile)
    yield VKEY, keys
    with contextlib.suppress(NotFound):
        yield WITNESSED, await here.read(WITNESSED, NOTE_BYTES_MAX)
    yield CHECKPOINT, standing.note


def _kept(here: CheckedFolder, standing: Standing, tile: Tile) -> bytes:
    """A tile's bytes as a folder keeps them; a bundle that an earlier version wrote plain is packed."""
    found = here.tile_under(standing, tile)
    if not is_packed(tile):
        return found.data
    return pack(found.data) if found.packed is None else found.packed


def _is_unswept(folder: Path) -> bool:
    journal = folder / "journal"
    return journal.is_dir() and any(journal.iterdir())


def _remove(folder: Path) -> None:
    """The mark is durable before anything goes: a killed process may have left it unsynced."""
    DISK.sync_directory(folder)
    for path in list(folder.iterdir()):
        if path.name in STAYS:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    DISK.sync_directory(folder)
