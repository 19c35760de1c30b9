"""The hash tiles of a log as a signed root vouches for them, from the root down.

Promises: a row that is given out hashes up to the root: the partial tiles of the right edge make the root
together, and the root of each full tile stands in the tile above it. Nothing is taken at its word. Pure:
tiles come through a callable, each time anew but for the full rows above level 0, of which ``ROWS_MAX`` are
kept.

A row is the bytes of a hash tile: the hashes of up to 256 subtrees of its level, one after the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from node.audit.tlog.tiles import ENTRIES, HEIGHT, WIDTH, Tile, hash_in, tile_of, tiles_at
from node.core.errors import NotFound, Rejected
from node.core.merkle import EMPTY_ROOT, HASH_BYTES, leaf_hash, root_from

ReadTile: TypeAlias = Callable[[Tile], bytes]
"""A hash tile's bytes, unchecked. Raises ``NotFound``, ``Rejected``; other errors go through."""

ROWS_MAX = 512
"""4 MiB. One row above level 0 stands for 65,536 entries."""
ROW_BYTES = WIDTH * HASH_BYTES


class Unvouched(Rejected):
    """This tile is missing or is not what the root vouches for; one of the right edge stands for all of
    it."""

    def __init__(self, tile: Tile, why: str) -> None:
        super().__init__(f"{tile.path}: {why}")
        self.tile = tile
        self.why = why


class Rows:
    """The hash tiles under one root. ``before``: those of the same log under this root or an earlier one,
    whose full rows hold under every later one."""

    def __init__(self, size: int, root: bytes, read: ReadTile, before: Rows | None = None) -> None:
        self.size = size
        self._root = root
        self._read = read
        self._kept: dict[tuple[int, int], bytes] = {} if before is None else before._kept
        is_same = before is not None and (before.size, before._root) == (size, root)
        self._edge: Mapping[int, bytes] | None = before._edge if before is not None and is_same else None

    def width(self, level: int, index: int) -> int:
        """How many hashes of this tile the root covers: 0 to 256; of a bundle how many entries."""
        return max(0, min(WIDTH, (self.size >> HEIGHT * max(0, level)) - index * WIDTH))

    def row(self, level: int, index: int) -> bytes:
        """The row of a tile, as wide as the root has it. Raises ``NotFound`` (beyond the root),
        ``Unvouched``."""
        width = self.width(level, index)
        if not width:
            raise NotFound(f"a log of {self.size} entries has no tile {index} of level {level}")
        if width < WIDTH:
            return self.edge()[level]
        if (known := self._kept.get((level, index))) is not None:
            return known
        tile = Tile(level, index)
        expected = self.root_of(level, index)
        data = self._bytes(tile)
        if row_root(data) != expected:
            raise Unvouched(tile, "it is not the tile that the checkpoint vouches for")
        if level:
            if len(self._kept) >= ROWS_MAX:
                self._kept.clear()
            self._kept[level, index] = data
        return data

    def root_of(self, level: int, index: int) -> bytes:
        """The root of a full tile, from the tile above it. Raises as ``row``."""
        above = self.row(level + 1, index // WIDTH)
        return above[index % WIDTH * HASH_BYTES :][:HASH_BYTES]

    def edge(self) -> Mapping[int, bytes]:
        """By level, the rows of the partial hash tiles. Raises ``Unvouched``."""
        if self._edge is None:
            rows = {one.level: self._bytes(one) for one in tiles_at(self.size) if one.level != ENTRIES}
            if not makes_root(rows, self.size, self._root):
                raise Unvouched(tiles_at(self.size)[-1], "the right edge does not make the checkpoint's root")
            self._edge = rows
        return self._edge

    def _bytes(self, tile: Tile) -> bytes:
        try:
            data = self._read(tile)
        except NotFound as exc:
            raise Unvouched(tile, "it is missing") from exc
        except Rejected as exc:
            raise Unvouched(tile, str(exc)) from exc
        if len(data) != tile.width * HASH_BYTES:
            raise Unvouched(tile, f"it has {len(data)} bytes, not {tile.width * HASH_BYTES}")
        return data


def makes_root(rows: Mapping[int, bytes], size: int, root: bytes) -> bool:
    """Whether the rows of the right edge, by level, are those of this root."""
    if not size:
        return root == EMPTY_ROOT

    def hash_of(level: int, index: int) -> bytes:
        tile = tile_of(level, index, size)[0]
        return hash_in(tile, rows[tile.level], level, index)

    try:
        return root_from(hash_of, size) == root
    except (KeyError, Rejected):
        return False


def row_root(row: bytes) -> bytes:
    """The root over a full row, in a tight loop: a fifth of the time that checking a whole log takes."""
    sha256 = hashlib.sha256
    while len(row) > HASH_BYTES:
        row = b"".join(
            [
                sha256(b"\x01" + row[at : at + 2 * HASH_BYTES]).digest()
                for at in range(0, len(row), 2 * HASH_BYTES)
            ]
        )
    return row


def leaf_row(entries: Sequence[bytes]) -> bytes:
    """The row of these entries in level 0."""
    return b"".join([leaf_hash(entry) for entry in entries])
