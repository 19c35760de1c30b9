"""Looks after closed epochs that were moved to an archive: what stayed of them here, and what lies there.

Promises:
1. The files that stayed (``moved.json``, checkpoint, keys, the checkpoint with cosignatures) are looked at in
   every round. A damaged or lost one is put back from the high-water mark or from the archive, if the keys of
   the log have signed it and the epoch's tiles make its root; what cannot be put back is told (``Away``).
2. Every file in the archive is read and held against the checkpoint once in ``check_days``, a few in each
   round. Once an hour the archive is asked what it holds: where files are missing, or have another size in
   all, that epoch is read at once. What was found damaged is looked at again until it is whole.
3. Nothing is written into an archive.

An epoch that its operator took away as a whole is no damage. Must not know: what entries say.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from node.audit.decisions import epochs
from node.audit.decisions.epoch_check import keys_of
from node.audit.decisions.moved import MARKER, ArchiveSource, Moved, MovedLog, below_of, mark, marker
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import Archive
from node.audit.log.checked import CheckedFolder, Standing
from node.audit.log.reader import CHECKPOINT, VKEY, VKEY_BYTES_MAX, WITNESSED
from node.audit.tlog.packed import place_of
from node.audit.tlog.tiles import Tile, tiles_at, tiles_between
from node.audit.upkeep.away import Away
from node.audit.upkeep.sweep import levels_of
from node.audit.upkeep.upkeep import HighWater
from node.core.clock import Clock
from node.core.errors import CorruptState, DamagedLog, Misconfigured, NodeError, NotFound
from node.core.files import DISK, translated
from node.core.signed_note import NOTE_BYTES_MAX, open_checkpoint

log = logging.getLogger("neuroswarm.log")

TICK_S = 30
LISTED_EVERY_S = 3_600.0
AT_ONCE = 64
"""Files of an archive that are read in one round, where there is reason to."""
_DAY_S = 86_400
_TRIED_MAX = 8
"""Damaged files that are looked at again in one round."""


class ColdSweep:
    """For the log in ``directory``; ``folder`` gives what is known of an epoch's folder. ``archive``: where a
    lost ``moved.json`` may have led to. ``check_days`` 0: nothing is read that nobody asks for."""

    def __init__(
        self,
        directory: Path,
        folder: Callable[[Path], CheckedFolder],
        high_water: HighWater,
        away: Away,
        archive: Archive | None,
        clock: Clock,
        check_days: int,
    ) -> None:
        self._directory = directory
        self._folder = folder
        self._high_water = high_water
        self._away = away
        self._archive = archive
        self._clock = clock
        self._check_days = check_days
        self._listed_at: dict[int, float] = {}
        self._totals: dict[int, int] = {}
        self._soon: deque[tuple[int, Tile]] = deque()
        self._at: float = clock.random()
        """How far the reading has come, as a part of all: a node that is often restarted begins elsewhere."""

    async def tick(self) -> None:
        """One round. Raises ``Unavailable`` (the disk, the archive)."""
        found: dict[int, Standing] = {}
        with translated("the log's folder cannot be read"):
            for number in await asyncio.to_thread(epochs.closed, self._directory):
                place = epochs.folder_of(self._directory, number)
                if not await asyncio.to_thread((place / "tile").is_dir):
                    standing = await self._stayed(number, place)
                    if standing is not None:
                        found[number] = standing
        for here, tile in self._away.damaged(_TRIED_MAX):
            await self._look(here, tile)
        if self._check_days and found:
            await self._list_one(found)
            await self._read_on(found)

    # --- what stayed here -------------------------------------------------------------------------

    async def _stayed(self, number: int, place: Path) -> Standing | None:
        """Look at the small files; the checkpoint, if the epoch lies in an archive and it is whole."""
        here = self._folder(place)
        source = await self._marked(here, place)
        if source is None:
            return None
        standing = await self._newest(here)
        if standing is None and await self._put_back(number, here, source):
            standing = await self._newest(here)
        self._away.stayed(place, CHECKPOINT, "" if standing else "it is not one that this log has signed")
        for name in (VKEY, WITNESSED):
            if standing is not None:
                await self._beside(here, standing, source, name)
        return standing

    async def _marked(self, here: CheckedFolder, place: Path) -> ArchiveSource | None:
        """Where the epoch's tiles are; a marker that is lost or damaged is made again if they are in the
        archive of now."""
        problem = ""
        try:
            moved = await asyncio.to_thread(marker, place)
        except CorruptState:
            moved, problem = None, "it is damaged"
        standing = await self._newest(here)
        if moved is not None and standing and moved.below != below_of(standing.checkpoint.origin):
            moved, problem = None, "it leads to another log"
        if moved is None:
            moved = None if standing is None else await self._found(standing)
            if moved is None:
                self._away.stayed(place, MARKER, problem)
                return None
            await asyncio.to_thread(mark, place, moved)
            log.warning("event=log_mended what=%s from=%s/%s", place / MARKER, moved.to, moved.below)
        self._away.stayed(place, MARKER, "")
        try:
            return ArchiveSource(self._away.archives(moved.to), moved.below)
        except Misconfigured:
            return None

    async def _found(self, standing: Standing) -> Moved | None:
        """The epoch of this checkpoint, if it lies in the archive of now."""
        if self._archive is None:
            return None
        below = below_of(standing.checkpoint.origin)
        try:
            there = await self._archive.sizes(below)
            note = await self._archive.get(f"{below}/{CHECKPOINT}", NOTE_BYTES_MAX)
        except NodeError:
            return None
        if note != standing.note:
            return None
        at = self._clock.now().isoformat(timespec="seconds")
        return Moved(self._archive.address, below, len(there), sum(there.values()), at)

    async def _newest(self, here: CheckedFolder) -> Standing | None:
        try:
            return await asyncio.to_thread(here.newest)
        except (NotFound, DamagedLog):
            return None

    async def _put_back(self, number: int, here: CheckedFolder, source: ArchiveSource) -> bool:
        """The checkpoint; from the archive only where nobody knows how much was signed, for an older one
        would hide entries."""
        place = here.source.directory
        try:
            note = await asyncio.to_thread(DISK.read, self._high_water(number), NOTE_BYTES_MAX)
        except OSError:
            note = b""
        try:
            note = note or await source.read(CHECKPOINT, NOTE_BYTES_MAX)
            checkpoint = await asyncio.to_thread(here.opened, note)
            if epoch_of(checkpoint.origin)[1] != number or not checkpoint.size:
                return False
            there = MovedLog(here, source)
            await there.tile_under(note, checkpoint, tiles_at(checkpoint.size)[-1])
        except NodeError as exc:
            log.warning("event=log_not_mended file=%s reason=%s", place / CHECKPOINT, exc)
            return False
        await asyncio.to_thread(DISK.replace, place / CHECKPOINT, note)
        log.warning("event=log_mended log=%s what=%s", checkpoint.origin, place / CHECKPOINT)
        return True

    async def _beside(
        self, here: CheckedFolder, standing: Standing, source: ArchiveSource, name: str
    ) -> None:
        """Keys, and the checkpoint with cosignatures, which need not be there."""
        place, problem = here.source.directory, ""
        try:
            await asyncio.to_thread(here.read_now, name, NOTE_BYTES_MAX)
        except NotFound:
            problem = "it is gone" if name == VKEY else ""
        except DamagedLog as exc:
            problem = str(exc)
        if problem:
            try:
                data = await source.read(name, VKEY_BYTES_MAX if name == VKEY else NOTE_BYTES_MAX)
                if name == VKEY:
                    open_checkpoint(standing.note, keys_of(data))
                else:
                    await asyncio.to_thread(here.opened, data)
            except NodeError as exc:
                log.warning("event=log_not_mended file=%s reason=%s", place / name, exc)
            else:
                await asyncio.to_thread(DISK.replace, place / name, data)
                log.warning("event=log_mended log=%s what=%s", standing.checkpoint.origin, place / name)
                problem = ""
        self._away.stayed(place, name, problem)

    # --- what lies in the archive -----------------------------------------------------------------

    async def _list_one(self, found: Mapping[int, Standing]) -> None:
        """Ask for the names of the epoch that was asked for the longest ago."""
        now = self._clock.monotonic()
        number = min(found, key=lambda one: self._listed_at.get(one, 0.0))
        if now - self._listed_at.get(number, -LISTED_EVERY_S) < LISTED_EVERY_S:
            return
        self._listed_at[number] = now
        place = epochs.folder_of(self._directory, number)
        moved = await asyncio.to_thread(marker, place)
        if moved is None:
            return
        there = await self._away.archives(moved.to).sizes(moved.below)
        tiles = list(tiles_between(0, found[number].checkpoint.size))
        missing = [tile for tile in tiles if f"{moved.below}/{place_of(tile)}" not in there]
        small = (CHECKPOINT, VKEY, WITNESSED)
        total = sum(there.get(f"{moved.below}/{path}", 0) for path in (*map(place_of, tiles), *small))
        if total != self._totals.get(number, moved.bytes):
            log.warning("event=archive_differs place=%s missing=%d", moved.below, len(missing))
            self._soon.extend((number, tile) for tile in dict.fromkeys((*missing, *tiles)))
        self._totals[number] = total

    async def _read_on(self, found: Mapping[int, Standing]) -> None:
        counts: dict[int, int] = {}
        for number, one in found.items():
            size = one.checkpoint.size
            counts[number] = sum(count for _, count in levels_of(size)) + len(_partial(size))
        total = sum(counts.values())
        for _ in range(min(AT_ONCE, len(self._soon))):
            number, tile = self._soon.popleft()
            if number in found:
                await self._look(self._folder(epochs.folder_of(self._directory, number)), tile)
        before, self._at = self._at, self._at + TICK_S / (self._check_days * _DAY_S)
        first, last = int(before * total), int(self._at * total)
        for at in range(first, min(last, first + total)):
            number, tile = _nth(found, counts, at % total)
            await self._look(self._folder(epochs.folder_of(self._directory, number)), tile)
        self._at %= 1.0

    async def _look(self, here: CheckedFolder, tile: Tile) -> None:
        """Whoever reads tells what is damaged."""
        with contextlib.suppress(DamagedLog, NotFound, CorruptState):
            await self._away.tile(here, tile)
        await asyncio.sleep(0)


def _partial(size: int) -> list[Tile]:
    return [tile for tile in tiles_at(size) if not tile.is_full]


def _nth(found: Mapping[int, Standing], counts: Mapping[int, int], at: int) -> tuple[int, Tile]:
    for number, count in counts.items():
        if at < count:
            size = found[number].checkpoint.size
            for level, full in levels_of(size):
                if at < full:
                    return number, Tile(level, at)
                at -= full
            return number, _partial(size)[at]
        at -= count
    raise IndexError(at)
