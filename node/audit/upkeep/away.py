"""Reads closed epochs that were moved to an archive, and keeps in mind what is damaged there.

Promises: nothing is given out that the checkpoint which stayed here does not vouch for; a few files are read
at once, and whoever asks beyond that is told to come again; what is said names no path of an archive.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from node.audit.decisions.moved import MovedLog, away_from
from node.audit.log.archive import Archives
from node.audit.log.checked import Checked, CheckedFolder, DamagedTile
from node.audit.tlog.tiles import Tile
from node.core.errors import Unavailable
from node.core.model import Check

log = logging.getLogger("neuroswarm.log")

AWAY_AT_ONCE = 8
AWAY_TIMEOUT_S = 20.0
AWAY_CHECK = "log:archive:files"
DAMAGED_MAX = 1_000
"""Damaged files of archives that are kept in mind."""
FOLDERS_MAX = 64
"""Epochs whose hashes are kept in memory."""


class Away:
    """The archives of epochs that were moved away, which are not trusted. A few are read at once, whoever
    asks beyond that is told to come again."""

    def __init__(self, archives: Archives) -> None:
        self.archives = archives
        self._reading = 0
        self._logs: dict[CheckedFolder, MovedLog] = {}
        self._damaged: dict[tuple[str, Tile], tuple[CheckedFolder, str]] = {}
        self._here: dict[tuple[Path, str], str] = {}

    async def tile(self, here: CheckedFolder, tile: Tile) -> Checked | None:
        """A tile of the epoch that has its folder here; None where it was not moved. Raises ``DamagedLog``,
        ``NotFound``, ``CorruptState``, ``Unavailable`` (names no path)."""
        try:
            found = await asyncio.to_thread(away_from, here.source.directory, self.archives)
        except Unavailable as exc:
            raise unreadable(exc) from exc
        if found is None:
            return None
        with self._in_turn():
            try:
                async with asyncio.timeout(AWAY_TIMEOUT_S):
                    return await self._read(here, self._known(here, MovedLog(here, found)), tile)
            except (Unavailable, TimeoutError) as exc:
                raise unreadable(exc) from exc

    def stayed(self, folder: Path, name: str, problem: str) -> None:
        """What is wrong with a file of a moved epoch that stayed here; empty: nothing is."""
        if not problem:
            self._here.pop((folder, name), None)
        elif self._here.get((folder, name)) != problem:
            self._here[folder, name] = problem
            log.error("event=log_damaged place=%s file=%s reason=%s", folder, name, problem)

    def damaged(self, most: int) -> list[tuple[CheckedFolder, Tile]]:
        """Some of the files that were found damaged, to be looked at again."""
        return [(here, tile) for (_, tile), (here, _) in list(self._damaged.items())[:most]]

    def health(self) -> Check:
        """Which files were found damaged there, or among what stayed here, and not whole since."""
        if self._here:
            count, ((folder, name), why) = len(self._here), next(iter(self._here.items()))
            said = (
                f"{count} files of moved epochs that stayed here are damaged: {name} of epoch {folder.name}: "
                f"{why}. Put a good copy in its place; the epoch's folder in the archive has one"
            )
            return Check(AWAY_CHECK, "fail", said, observed=len(self._here), unit="damaged files")
        count, said = len(self._damaged), ""
        if count:
            _, why = next(iter(self._damaged.values()))
            said = (
                f"{count} files in the archive are damaged: {why}. Put a good copy in its place; a folder "
                "mends, too: neuroswarm log repair --dir ARCHIVE/ORIGIN/EPOCH --from COPY"
            )
        return Check(AWAY_CHECK, "warn" if count else "pass", said, observed=count, unit="damaged files")

    def _known(self, here: CheckedFolder, now: MovedLog) -> MovedLog:
        """With what is known of its hashes, if it lies where it did at the last request."""
        known = self._logs.get(here)
        if known is not None and known.place == now.place:
            return known
        if len(self._logs) >= FOLDERS_MAX:
            self._logs.clear()
        self._logs[here] = now
        return now

    async def _read(self, here: CheckedFolder, moved: MovedLog, tile: Tile) -> Checked:
        try:
            found = await moved.tile(tile)
        except DamagedTile as exc:
            if len(self._damaged) < DAMAGED_MAX:
                self._damaged[moved.place, exc.tile] = (here, str(exc))
            log.error("event=log_damaged place=%s reason=%s", moved.place, exc)
            raise
        edge = [one for place, one in self._damaged if place == moved.place and not one.is_full]
        for one in (tile, *(one for one in edge if not one.is_bundle)):
            self._damaged.pop((moved.place, one), None)
        return found

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Raises ``Unavailable``."""
        if self._reading >= AWAY_AT_ONCE:
            raise Unavailable(
                "many read epochs that were moved to an archive just now; ask again in a second"
            )
        self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1


def unreadable(exc: Exception) -> Unavailable:
    """Told to strangers in the place of ``exc``, which names paths of this machine."""
    log.error("a log cannot be served: %s", exc)
    return Unavailable("the log's files cannot be read now")
