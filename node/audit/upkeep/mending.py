"""Mends one log's folder: what is damaged is made again from what is there, or found in a copy.

Promises: nothing is written that the log's root does not vouch for, wherever it came from; what is whole
already is not touched. Hash tiles are made again from what lies below them; entries come from what is left of
the file, narrower files of the same bundle, the journal, and the copies, in this order.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from node.audit.decisions.moved import unless_moved
from node.audit.log import journal
from node.audit.log.checked import CheckedFolder, DamagedTile, Standing
from node.audit.tlog import packed
from node.audit.tlog.tiles import ENTRIES, WIDTH, Tile, encode_bundle, tiles_at
from node.audit.tlog.vouched import leaf_row, row_root
from node.audit.upkeep.salvage import Bundle, edge_of, loose_entries, loosely_unpacked
from node.core.errors import DamagedLog, NotFound, Rejected, Unavailable
from node.core.files import DISK, translated

Write = Callable[[Mapping[Tile, bytes]], Awaitable[None]]
"""Put these tiles and bundles, as their plain bytes, in their places. Raises ``Unavailable``."""

_DEPTH_MAX = 8
"""Levels of a log, the right edge and the bundle: what may have to be mended before a tile can be."""


class Copy(Protocol):
    """Somebody who may hold a log's tiles. ``look`` gives what it has of a tile, plain: nothing, the very
    tile, narrower or wider ones, perhaps of another log. No ``NodeError`` leaves it."""

    name: str

    async def look(self, origin: str, tile: Tile) -> Sequence[bytes]: ...


class Lost(DamagedLog):
    """A tile that cannot be mended now. ``entries``: the numbers of the entries that nobody has; empty where
    only hashes are missing."""

    def __init__(self, damage: DamagedTile, entries: Sequence[int] = ()) -> None:
        super().__init__(str(damage))
        self.damage = damage
        self.entries = tuple(entries)


class Mender:
    """For one folder. ``journal_at``: the folder of its journal, which may be absent."""

    def __init__(self, folder: CheckedFolder, journal_at: Path, copies: Sequence[Copy], write: Write) -> None:
        self._folder = folder
        self._journal = journal_at
        self._copies = copies
        self._write = write
        self._held: Mapping[int, bytes] | None = None

    async def mend(self, standing: Standing, tile: Tile) -> list[tuple[str, str]]:
        """Make this tile, and what vouches for it, whole under the checkpoint; what was mended and where that
        came from, nothing where all was whole. Raises ``Lost``, ``Unavailable``."""
        came_from: list[tuple[str, str]] = []
        for _ in range(_DEPTH_MAX):
            fresh = self._folder.under(standing.checkpoint, standing.note)
            try:
                await asyncio.to_thread(self._folder.verify, fresh, tile)
            except DamagedTile as exc:
                damage = exc
            else:
                return came_from
            came_from.append((damage.tile.path, await self._mend_one(fresh, damage)))
        raise Lost(damage)

    async def _mend_one(self, standing: Standing, damage: DamagedTile) -> str:
        """What stands above the tile is whole."""
        tile = damage.tile
        if tile.is_bundle:
            return await self._mend_bundle(standing, damage)
        if tile.is_full:
            return await self._mend_row(standing, damage)
        return await self._mend_edge(standing, damage)

    # --- entries ----------------------------------------------------------------------------------

    async def _mend_bundle(self, standing: Standing, damage: DamagedTile) -> str:
        tile = damage.tile
        bundle = Bundle(standing.rows.row(0, tile.index))
        whence = "what was left"
        await asyncio.to_thread(self._offer_own, bundle, standing.checkpoint.origin, tile)
        for copy in self._copies:
            if not bundle.missing:
                break
            whence = copy.name
            for data in await copy.look(standing.checkpoint.origin, tile):
                bundle.offer(loose_entries(data))
        if bundle.missing:
            raise Lost(damage, [tile.index * WIDTH + at for at in bundle.missing])
        await self._write({tile: encode_bundle(bundle.entries)})
        return whence

    def _offer_own(self, bundle: Bundle, origin: str, tile: Tile) -> None:
        for data in self._lying(tile):
            bundle.offer(loose_entries(data))
        if bundle.missing:
            bundle.offer(self._journaled(origin).values())

    def _lying(self, tile: Tile) -> Iterable[bytes]:
        """What lies in the folder of this tile, of any width; a packed one as far as it can be unpacked."""
        source = self._folder.source
        full = Tile(tile.level, tile.index)
        if tile.is_bundle:
            with contextlib.suppress(NotFound, Rejected, Unavailable):
                yield loosely_unpacked(source.packed_now(full.path, full.bytes_max))
        for width in {tile.width, WIDTH, *source.widths_now(tile)}:
            one = Tile(tile.level, tile.index, width)
            try:
                yield source.plain_now(one.path, one.bytes_max)
            except (NotFound, Rejected, Unavailable):
                continue

    # --- hashes -----------------------------------------------------------------------------------

    async def _mend_row(self, standing: Standing, damage: DamagedTile) -> str:
        tile = damage.tile
        expected = standing.rows.root_of(tile.level, tile.index)

        def is_right(row: bytes | None) -> bool:
            return row is not None and len(row) == tile.bytes_max and row_root(row) == expected

        for by_bundles in (False, True):
            row = await asyncio.to_thread(
                self._from_below, standing.checkpoint.origin, tile, by_bundles=by_bundles
            )
            if row is not None and is_right(row):
                await self._write({tile: row})
                return "what lies below it"
        for copy in self._copies:
            for row in await copy.look(standing.checkpoint.origin, tile):
                if is_right(row):
                    await self._write({tile: row})
                    return copy.name
        raise Lost(damage)

    async def _mend_edge(self, standing: Standing, damage: DamagedTile) -> str:
        checkpoint, whence = standing.checkpoint, "what lies below it"
        edge = [one for one in tiles_at(checkpoint.size) if not one.is_bundle]
        offered = {one.level: await asyncio.to_thread(self._rows_for, checkpoint.origin, one) for one in edge}
        found = await asyncio.to_thread(edge_of, offered, checkpoint.size, checkpoint.root)
        for copy in self._copies:
            if found is not None:
                break
            whence = copy.name
            for one in edge:
                rows = await copy.look(checkpoint.origin, one)
                offered[one.level] += [row[: one.bytes_max] for row in rows if len(row) >= one.bytes_max]
            found = await asyncio.to_thread(edge_of, offered, checkpoint.size, checkpoint.root)
        if found is None:
            raise Lost(damage)
        await self._write({one: found[one.level] for one in edge})
        return whence

    def _rows_for(self, origin: str, tile: Tile) -> list[bytes]:
        rows = [row[: tile.bytes_max] for row in self._lying(tile) if len(row) >= tile.bytes_max]
        for by_bundles in (False, True):
            made = self._from_below(origin, tile, by_bundles=by_bundles)
            if made is not None:
                rows.append(made)
        return rows

    def _from_below(self, origin: str, tile: Tile, *, by_bundles: bool) -> bytes | None:
        """The row of a tile from the tiles under it, at their word; ``by_bundles``: level 1 from entries
        instead. None where one is missing or has the wrong form."""
        if tile.level == 0:
            return self._of_bundle(origin, tile.index, tile.width)
        if by_bundles and tile.level > 1:
            return None  # too many of them, and those of level 1 are made again first
        roots = []
        for index in range(tile.index * WIDTH, tile.index * WIDTH + tile.width):
            row = (
                self._of_bundle(origin, index, WIDTH) if by_bundles else self._of_tile(tile.level - 1, index)
            )
            if row is None:
                return None
            roots.append(row_root(row))
        return b"".join(roots)

    def _of_tile(self, level: int, index: int) -> bytes | None:
        tile = Tile(level, index)
        return next((row for row in self._lying(tile) if len(row) == tile.bytes_max), None)

    def _journaled(self, origin: str) -> Mapping[int, bytes]:
        if self._held is None:
            self._held = journal.loose_entries(DISK, self._journal, origin)
        return self._held

    def _of_bundle(self, origin: str, index: int, width: int) -> bytes | None:
        held = self._journaled(origin)
        places = range(index * WIDTH, index * WIDTH + width)
        if all(place in held for place in places):
            return leaf_row([held[place] for place in places])
        for data in self._lying(Tile(ENTRIES, index, width)):
            entries = loose_entries(data)[:width]
            if len(entries) == width:
                return leaf_row(entries)
        return None


def folder_writer(directory: Path) -> Write:
    """Writes into a log's folder that nobody else writes, unless its tiles were moved to an archive. A file
    appears whole and durable."""

    def write(tiles: Mapping[Tile, bytes]) -> None:
        for tile, data in tiles.items():
            path = directory / packed.place_of(tile)
            DISK.make_directories(path.parent)
            DISK.replace(path, packed.pack(data) if packed.is_packed(tile) else data)

    async def write_all(tiles: Mapping[Tile, bytes]) -> None:
        with translated("a file of the log cannot be written"):
            await asyncio.to_thread(unless_moved, directory, partial(write, tiles))

    return write_all
