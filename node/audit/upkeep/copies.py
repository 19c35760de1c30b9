"""Where else a log may lie: a folder of the operator's, an address that mirrors it, an archive.

Promises: nothing that a copy gives is taken at its word by whoever mends; each is asked for one file at a
time, within bounds; one that fails is passed over and said so once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from node.audit.decisions.moved import ArchiveSource, below_of
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import Archive
from node.audit.log.reader import FolderSource, Source
from node.audit.tlog.tiles import WIDTH, Tile
from node.audit.witnesses.site import Site
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound
from node.core.http import Http

log = logging.getLogger("neuroswarm.log")

SITE_TIMEOUT_S = 10.0
SITE_PER_MINUTE = 600
_BYTES = "application/octet-stream"


class SourceCopy:
    """A copy in the layout of tlog-tiles. ``places``: (origin) → where the log of that origin may lie."""

    def __init__(self, name: str, places: Callable[[str], Sequence[Source]]) -> None:
        self.name = name
        self._places = places
        self._is_silent = False

    async def look(self, origin: str, tile: Tile) -> Sequence[bytes]:
        found: list[bytes] = []
        for source in self._places(origin):
            widths = await source.partial_widths(tile) if isinstance(source, FolderSource) else []
            for width in dict.fromkeys((tile.width, WIDTH, *reversed(widths))):
                one = Tile(tile.level, tile.index, width)
                try:
                    found.append(await source.read(one.path, one.bytes_max))
                except NotFound:
                    continue
                except NodeError as exc:
                    self._failed(exc)
                    break
                self._is_silent = False
        return found

    def _failed(self, exc: NodeError) -> None:
        if not self._is_silent:
            self._is_silent = True
            log.warning("event=log_copy_failed copy=%s reason=%s", self.name, exc)


class SiteSource:
    """A log behind an address; see ``Source``."""

    def __init__(self, site: Site, below: str = "") -> None:
        self._site = site
        self._below = below

    async def read(self, path: str, bytes_max: int) -> bytes:
        return await self._site.ask(f"/{self._below}{path}", bytes_max=bytes_max, accept=_BYTES)


def copy_at(place: str, session: Http, clock: Clock) -> SourceCopy:
    """The copy that an operator names: a folder, or an http or https address of a log in tlog-tiles, such as
    another node's ``/logs/decisions``."""
    if not place.startswith(("http://", "https://")):
        return folder_copy(Path(place))
    site = Site(
        "copy of the log", place, session, clock, timeout_s=SITE_TIMEOUT_S, per_minute=SITE_PER_MINUTE
    )
    return SourceCopy(place, lambda origin: [SiteSource(site, f"{_aside(origin)}/"), SiteSource(site)])


def folder_copy(directory: Path) -> SourceCopy:
    """A folder of a log, such as a backup of ``governance_dir``."""
    return SourceCopy(
        str(directory), lambda origin: [FolderSource(directory, _aside(origin)), FolderSource(directory)]
    )


def archive_copy(archive: Archive) -> SourceCopy:
    """The place that closed epochs are moved to: what was copied there before a move broke off, or lies there
    still after an epoch was brought back."""
    return SourceCopy(archive.address, lambda origin: [ArchiveSource(archive, below_of(origin))])


def _aside(origin: str) -> str:
    """Where an epoch lies; in a copy that was taken before it ended it lies at the top."""
    return f"epochs/{epoch_of(origin)[1]}"
