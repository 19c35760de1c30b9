"""Names and bytes of tiles and entry bundles (C2SP tlog-tiles).

Promises: one path for each tile and one tile for each path; ``parse`` and ``decode_bundle`` accept exactly
what ``path`` and ``encode_bundle`` make and raise ``Rejected`` for the rest.
Must not know: files, HTTP, what entries mean.

The tile at level l and index n holds the hashes of the complete subtrees of 256^l leaves with the indexes
256n … 256n + width - 1. Level ``ENTRIES`` stands for the bundle of the entries under the level-0 tile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.core.errors import Rejected
from node.core.merkle import HASH_BYTES, SIZE_MAX, root_of

HEIGHT = 8
WIDTH = 1 << HEIGHT
ENTRIES = -1
LEVEL_MAX = 63
ENTRY_BYTES_MAX = 65_535
_LENGTH_BYTES = 2

_PATH = re.compile(
    r"tile/(?P<level>entries|0|[1-9][0-9]?)/"
    r"(?P<index>(?:x[0-9]{3}/){0,6}[0-9]{3})"
    r"(?:\.p/(?P<width>[1-9][0-9]{0,2}))?",
    re.ASCII,
)
"""Six groups with an ``x`` and one without: 21 digits, more than any index below 2^63."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile or bundle, full or partial (``width`` 1 … 255). Raises ``Rejected`` for what cannot be."""

    level: int
    index: int
    width: int = WIDTH

    def __post_init__(self) -> None:
        if not (
            ENTRIES <= self.level <= LEVEL_MAX and 0 <= self.index <= SIZE_MAX and 1 <= self.width <= WIDTH
        ):
            raise Rejected(f"there is no tile at level {self.level}, index {self.index}, width {self.width}")

    @property
    def is_full(self) -> bool:
        return self.width == WIDTH

    @property
    def is_bundle(self) -> bool:
        return self.level == ENTRIES

    @property
    def path(self) -> str:
        """``tile/0/x001/234.p/5``, ``tile/entries/000``: relative, with slashes."""
        level = "entries" if self.level == ENTRIES else str(self.level)
        digits = str(self.index)
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
        index = "/".join([f"x{group}" for group in groups[:-1]] + groups[-1:])
        return f"tile/{level}/{index}" + ("" if self.is_full else f".p/{self.width}")

    @property
    def bytes_max(self) -> int:
        """The size of this hash tile, or the most that a bundle of this width can hold."""
        return self.width * (_LENGTH_BYTES + ENTRY_BYTES_MAX if self.level == ENTRIES else HASH_BYTES)

    @classmethod
    def parse(cls, path: str) -> Tile:
        """The tile of an untrusted path; only the one right spelling is taken. Raises ``Rejected``."""
        found = _PATH.fullmatch(path)
        if found is None:
            raise Rejected("this is not the path of a tile")
        level = ENTRIES if found["level"] == "entries" else int(found["level"])
        width = WIDTH if found["width"] is None else int(found["width"])
        tile = cls(level, int(found["index"].replace("x", "").replace("/", "")), width)
        if tile.path != path:
            raise Rejected("this is not the usual spelling of a tile's path")
        return tile


# --- which tiles there are ------------------------------------------------------------------------


def tiles_at(size: int) -> list[Tile]:
    """The partial tiles at the right edge of a log of ``size`` entries: bundle first, then levels upwards."""
    if not 0 <= size <= SIZE_MAX:
        raise Rejected(f"there is no log of {size} entries")
    edge = []
    for level in range(ENTRIES, LEVEL_MAX + 1):
        index, width = divmod(size >> (HEIGHT * max(level, 0)), WIDTH)
        if width:
            edge.append(Tile(level, index, width))
    return edge


def tiles_between(old: int, new: int) -> Iterator[Tile]:
    """All that must be written when a log grows from ``old`` to ``new`` entries: bundles, then levels up.

    With ``old`` 0 these are all tiles of a log: it can have more than fit in memory. Raises ``Rejected``
    where ``old`` is above ``new``.
    """
    if not 0 <= old <= new <= SIZE_MAX:
        raise Rejected(f"a log does not grow from {old} to {new} entries")
    for level in range(ENTRIES, LEVEL_MAX + 1):
        shift = HEIGHT * max(level, 0)
        before, after = old >> shift, new >> shift
        if after == 0:
            return
        if before == after:
            continue
        for index in range(before // WIDTH, after // WIDTH):
            yield Tile(level, index)
        if after % WIDTH:
            yield Tile(level, after // WIDTH, after % WIDTH)


# --- hashes in tiles ------------------------------------------------------------------------------


def tile_of(level: int, index: int, size: int) -> tuple[Tile, ...]:
    """The tile that holds the complete subtree (binary ``level``, ``index``) in a log of ``size`` entries.

    Where it is partial, the full tile follows: a log may have deleted the partial one once that is there.
    Raises ``Rejected`` where the subtree is not complete at this size.
    """
    if not (0 <= level <= LEVEL_MAX and index >= 0 and (index + 1) << level <= size <= SIZE_MAX):
        raise Rejected(f"a log of {size} entries has no complete subtree {index} at level {level}")
    tile_level, rest = divmod(level, HEIGHT)
    tile_index = (index << rest) // WIDTH
    width = min(WIDTH, (size >> (HEIGHT * tile_level)) - tile_index * WIDTH)
    tile = Tile(tile_level, tile_index, width)
    return (tile,) if tile.is_full else (tile, Tile(tile_level, tile_index))


def hash_in(tile: Tile, data: bytes, level: int, index: int) -> bytes:
    """The hash of the complete subtree (binary ``level``, ``index``) from the bytes of the tile that holds
    it.

    The root of a whole full tile (eight levels up) can be asked for too. Raises ``Rejected`` where the data
    has another length than the tile's or the subtree is not in it.
    """
    if tile.level == ENTRIES or len(data) != tile.width * HASH_BYTES:
        raise Rejected(f"{tile.path} is not a hash tile of {len(data)} bytes")
    rest = level - HEIGHT * tile.level
    if not 0 <= rest <= HEIGHT:
        raise Rejected(f"{tile.path} holds no hash of level {level}")
    first = (index << rest) - tile.index * WIDTH
    end = first + (1 << rest)
    if not 0 <= first < end <= tile.width:
        raise Rejected(f"{tile.path} does not hold the subtree {index} of level {level}")
    return root_of([data[at * HASH_BYTES : (at + 1) * HASH_BYTES] for at in range(first, end)])


# --- entry bundles --------------------------------------------------------------------------------


def encode_bundle(entries: Sequence[bytes]) -> bytes:
    """Each entry as a big-endian two-byte length and its bytes. Raises ``Rejected`` over the limits."""
    if len(entries) > WIDTH:
        raise Rejected(f"a bundle holds at most {WIDTH} entries")
    if any(len(entry) > ENTRY_BYTES_MAX for entry in entries):
        raise Rejected(f"an entry holds at most {ENTRY_BYTES_MAX} bytes")
    return b"".join(len(entry).to_bytes(_LENGTH_BYTES, "big") + entry for entry in entries)


def decode_bundle(data: bytes, width: int) -> list[bytes]:
    """The ``width`` entries of a bundle. Raises ``Rejected`` for fewer, or for bytes after the last."""
    entries: list[bytes] = []
    at = 0
    for _ in range(width):
        start = at + _LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise Rejected(f"the bundle ends within entry {len(entries)} of {width}")
        entries.append(data[start:at])
    if at != len(data):
        raise Rejected(f"the bundle goes on for {len(data) - at} bytes after its {width} entries")
    return entries
