"""Where else a log may lie: a folder of the operator's, an address that mirrors it.

Promises: nothing that a copy gives is taken at its word by whoever mends; each is asked for one file at a
time, within bounds; one that fails is passed over and said so once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from node.audit.decisions.origin import epoch_of
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
    """A copy in the layout of tlog-tiles. ``below``: the source of what lies under it (``epochs/1``)."""

    def __init__(self, name: str, source: Source, below: Callable[[str], Source]) -> None:
        self.name = name
        self._source = source
        self._below = below
        self._is_silent = False

    async def look(self, origin: str, tile: Tile) -> Sequence[bytes]:
        """See ``Copy``. An epoch lies aside or, in a copy that was taken before it ended, at the top."""
        number = epoch_of(origin)[1]
        found: list[bytes] = []
        for source in (self._below(f"epochs/{number}"), self._source):
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
    return SourceCopy(place, SiteSource(site), lambda path: SiteSource(site, f"{path}/"))


def folder_copy(directory: Path) -> SourceCopy:
    """A folder of a log, such as a backup of ``governance_dir``."""
    return SourceCopy(str(directory), FolderSource(directory), lambda path: FolderSource(directory, path))
