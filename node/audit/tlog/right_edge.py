"""The right edge of a growing log in memory: entries go in, tiles and bundles come out (C2SP tlog-tiles).

Promises: a tile leaves ``full`` only by ``written``, so a write that failed can be made again; what is kept
is one partial tile for each level, one partial bundle, and the full tiles that are not on disk yet. Pure:
must not know files, signatures or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from node.audit.tlog.tiles import (
    ENTRIES,
    HEIGHT,
    WIDTH,
    Tile,
    decode_bundle,
    encode_bundle,
    hash_in,
    tile_of,
    tiles_at,
)
from node.core.errors import Rejected
from node.core.merkle import HASH_BYTES, Frontier, leaf_hash


class Growth:
    """A tree that only grows. Not for several threads at once."""

    def __init__(self) -> None:
        self.full: dict[Tile, bytes] = {}
        self._frontier = Frontier()
        self._rows: list[list[bytes]] = []
        self._entries: list[bytes] = []

    @classmethod
    def at(cls, size: int, read: Callable[[Tile], bytes]) -> Growth:
        """The edge of a log of ``size`` entries, from the tiles that ``read`` gives.

        Raises ``Rejected`` where the last bundle is not that of the hash tiles; whether it is the right tree
        only ``root`` can tell. What ``read`` raises goes through.
        """
        growth = cls()
        held = {tile: read(tile) for tile in tiles_at(size)}
        for tile, data in held.items():
            if tile.level == ENTRIES:
                growth._entries = decode_bundle(data, tile.width)
            else:
                if len(data) != tile.width * HASH_BYTES:
                    raise Rejected(f"{tile.path} has {len(data)} bytes instead of {tile.width * HASH_BYTES}")
                growth._row(tile.level).extend(
                    data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)
                )

        def hash_of(level: int, index: int) -> bytes:
            # Each complete subtree of the right edge ends in a partial tile: a full tile is one hash above
            # it.
            tile = tile_of(level, index, size)[0]
            return hash_in(tile, held[tile], level, index)

        growth._frontier = Frontier.at(hash_of, size)
        if growth._row(0) != [leaf_hash(entry) for entry in growth._entries]:
            raise Rejected(f"the entries of {tiles_at(size)[0].path} are not those of its hash tile")
        if size and not growth._entries:
            last = Tile(ENTRIES, size // WIDTH - 1)
            hashes = b"".join(leaf_hash(entry) for entry in decode_bundle(read(last), WIDTH))
            if read(Tile(0, last.index)) != hashes:
                raise Rejected(f"the entries of {last.path} are not those of its hash tile")
        return growth

    @property
    def size(self) -> int:
        return self._frontier.size

    def edge(self) -> list[Tile]:
        """The partial tiles at this size."""
        return tiles_at(self.size)

    def root(self) -> bytes:
        return self._frontier.root()

    def root_with(self, entries: Sequence[bytes]) -> bytes:
        """The root if these entries followed; nothing changes."""
        ahead = self._frontier.copy()
        for entry in entries:
            ahead.append(leaf_hash(entry))
        return ahead.root()

    def append(self, entry: bytes) -> None:
        index = self.size
        self._entries.append(entry)
        if len(self._entries) == WIDTH:
            self.full[Tile(ENTRIES, index // WIDTH)] = encode_bundle(self._entries)
            self._entries.clear()
        for level, position, digest in self._frontier.append(leaf_hash(entry)):
            tile_level, rest = divmod(level, HEIGHT)
            if rest:
                continue
            row = self._row(tile_level)
            row.append(digest)
            if len(row) == WIDTH:
                self.full[Tile(tile_level, position // WIDTH)] = b"".join(row)
                row.clear()

    def unwritten(self) -> dict[Tile, bytes]:
        """All that a checkpoint of this size needs on disk and that may not be there: full tiles, then the
        edge."""
        tiles = dict(self.full)
        for tile in tiles_at(self.size):
            if tile.level == ENTRIES:
                tiles[tile] = encode_bundle(self._entries)
            else:
                tiles[tile] = b"".join(self._row(tile.level))
        return tiles

    def written(self, tiles: Mapping[Tile, bytes]) -> None:
        """These tiles are durable."""
        for tile in tiles:
            self.full.pop(tile, None)

    def _row(self, level: int) -> list[bytes]:
        while len(self._rows) <= level:
            self._rows.append([])
        return self._rows[level]
