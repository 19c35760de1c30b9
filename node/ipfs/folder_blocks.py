"""Blocks of a log's complete tiles and bundles: not stored, but made from its folder when they are asked for.

Promises: what is given out has the hash that was asked for, whatever lies in the folder; a file that is
damaged, or of an epoch that somebody took away, is an absent block; what cannot be read now is
``Unavailable``. Epochs that the node moved to an archive are read there.
Everything else (heads, pages, checkpoints, right edges) is the inner store's, and so is what an earlier
version stored, until ``drop_stored``.

Where a block is made is kept in memory, 16 bytes for each: a tile and a bundle for 256 entries, 1.3 MB for
ten million. The pages of the list (``log_head``) say it again after a restart.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.audit.decisions.epoch_check import FOLDER
from node.audit.decisions.moved import away_from, nowhere
from node.audit.decisions.origin import epoch_of
from node.audit.log.archive import Archives
from node.audit.log.reader import FolderSource
from node.audit.tlog.tiles import Tile
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.ipld.cid import SHA2_256, Cid
from node.core.ports import BlockStore
from node.ipfs.log_head import part_of

_log = logging.getLogger("neuroswarm.log_blocks")

_RUN = 8_192
"""Blocks in one sorted run: few enough to insert into, and few runs to look through."""
_INDEX_BITS, _PART_BITS, _LEVEL_BITS = 35, 5, 4
"""Of a place in 64 bits; 20 are left for the epoch, whose number has at most six digits."""
_DAMAGED_MAX = 1_000
MEND_S = 5.0
"""How long whoever asks for a block waits for a damaged file to be mended."""


@dataclass(frozen=True, slots=True)
class Place:
    """Part ``part`` of the file of a complete tile or bundle, in the log of epoch ``epoch``."""

    epoch: int
    tile: Tile
    part: int

    def __int__(self) -> int:
        above = (self.epoch << _LEVEL_BITS | self.tile.level + 1) << _PART_BITS | self.part
        return above << _INDEX_BITS | self.tile.index

    @classmethod
    def of(cls, number: int) -> Place:
        above, index = number >> _INDEX_BITS, number & (1 << _INDEX_BITS) - 1
        above, part = above >> _PART_BITS, above & (1 << _PART_BITS) - 1
        return cls(above >> _LEVEL_BITS, Tile((above & (1 << _LEVEL_BITS) - 1) - 1, index), part)


class Index:
    """Where blocks are made, by the first 8 bytes of their digest. More than one place may be told."""

    def __init__(self) -> None:
        self._runs: list[tuple[array[int], array[int]]] = []

    def add(self, cid: Cid, place: Place) -> None:
        if place in self.find(cid):
            return
        if not self._runs or len(self._runs[-1][0]) >= _RUN:
            self._runs.append((array("Q"), array("Q")))
        keys, places = self._runs[-1]
        at = bisect_left(keys, _key(cid))
        keys.insert(at, _key(cid))
        places.insert(at, int(place))

    def find(self, cid: Cid) -> list[Place]:
        found: list[Place] = []
        key = _key(cid)
        for keys, places in self._runs if cid.function == SHA2_256 else ():
            at = bisect_left(keys, key)
            while at < len(keys) and keys[at] == key:
                found.append(Place.of(places[at]))
                at += 1
        return found


def _key(cid: Cid) -> int:
    return int.from_bytes(cid.digest[:8], "big")


class FolderBlocks:
    """A ``BlockStore``: what the folder makes, and what ``inner`` stores."""

    def __init__(self, inner: BlockStore, directory: Path, archives: Archives = nowhere) -> None:
        self._inner = inner
        self._directory = directory
        self._archives = archives
        self._index = Index()
        self._epoch = 0
        self._damaged: dict[Place, str] = {}
        self.mend: Callable[[int, Tile], Awaitable[bool]] | None = None
        """(epoch, tile) → whether a tile that was found damaged is whole now."""

    @property
    def damage(self) -> str:
        """Which files were found damaged and not whole since; empty: none."""
        return "" if not self._damaged else f"{len(self._damaged)}: {next(iter(self._damaged.values()))}"

    def know(self, origin: str, files: Mapping[str, Sequence[Cid]]) -> None:
        """These files of the log of that origin are complete, and make these blocks."""
        epoch = epoch_of(origin)[1]
        self._epoch = max(self._epoch, epoch)
        for path, cids in files.items():
            tile = Tile.parse(path)
            for part, cid in enumerate(cids):
                self._index.add(cid, Place(epoch, tile, part))

    def knows(self, cid: Cid) -> bool:
        """Whether the folder makes this block, if it is whole."""
        return bool(self._index.find(cid))

    def forget(self) -> None:
        """The folder has another log now."""
        self._index, self._epoch = Index(), 0
        self._damaged.clear()

    async def get(self, cid: Cid) -> bytes:
        made = await self._make(cid)
        return await self._inner.get(cid) if made is None else made

    async def has(self, cid: Cid) -> bool:
        return await self._inner.has(cid) or await self._make(cid) is not None

    async def put(self, cid: Cid, data: bytes) -> None:
        await self._inner.put(cid, data)

    async def delete(self, cid: Cid) -> None:
        await self._inner.delete(cid)

    async def close(self) -> None:
        await self._inner.close()

    async def drop_stored(self, cid: Cid) -> None:
        """Delete a stored block, if the folder makes it."""
        if await self._inner.has(cid) and await self._make(cid) is not None:
            await self._inner.delete(cid)

    async def _make(self, cid: Cid) -> bytes | None:
        for place in self._index.find(cid):
            if (data := await asyncio.to_thread(self._made, cid, place)) is not None:
                return data
            if place.epoch != self._epoch and (data := await self._made_away(cid, place)) is not None:
                return data
            is_mended = place in self._damaged and await self._mended(place)
            if is_mended and (data := await asyncio.to_thread(self._made, cid, place)) is not None:
                return data
        return None

    async def _made_away(self, cid: Cid, place: Place) -> bytes | None:
        """The block of a file that was moved to an archive."""
        folder = self._directory / FOLDER / str(place.epoch)
        try:
            away = await asyncio.to_thread(away_from, folder, self._archives)
            if away is None:
                return None
            data = part_of(await away.read(place.tile.path, place.tile.bytes_max), place.part)
        except (NotFound, Rejected):
            return None
        return data if cid.matches(data) else None

    async def _mended(self, place: Place) -> bool:
        try:
            async with asyncio.timeout(MEND_S):
                return self.mend is not None and await self.mend(place.epoch, place.tile)
        except (TimeoutError, Unavailable):
            return False

    # --- blocking ---------------------------------------------------------------------------------

    def _made(self, cid: Cid, place: Place) -> bytes | None:
        problem = "is missing"
        aside = FolderSource(self._directory, f"{FOLDER}/{place.epoch}")
        is_newest = place.epoch == self._epoch
        # The newest epoch may be moved aside meanwhile: it is looked for there before and after.
        for source in [aside, FolderSource(self._directory), aside] if is_newest else [aside]:
            try:
                data = part_of(source.read_now(place.tile.path, place.tile.bytes_max), place.part)
            except NotFound:
                continue
            except Rejected as exc:
                problem = str(exc)
                continue
            if cid.matches(data):
                self._damaged.pop(place, None)
                return data
            problem = "has other bytes"
        if problem == "is missing" and not is_newest:
            self._damaged.pop(place, None)
        elif place not in self._damaged:
            if len(self._damaged) < _DAMAGED_MAX:
                self._damaged[place] = f"{place.tile.path} of epoch {place.epoch}: {problem}"
            _log.warning(
                "event=log_block_absent cid=%s file=%s epoch=%d reason=it %s",
                *(cid, place.tile.path, place.epoch, problem),
            )
        return None
