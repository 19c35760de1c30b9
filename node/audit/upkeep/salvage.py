"""What can be saved of a damaged bundle or hash tile, by the hashes that the log's root vouches for.

Pure. An entry is taken from wherever it is offered if it has the hash of a place in the bundle, so that no
source needs to be trusted or to be whole.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Mapping, Sequence

from node.audit.tlog.tiles import ENTRY_BYTES_MAX, WIDTH
from node.audit.tlog.vouched import makes_root
from node.core.merkle import HASH_BYTES, leaf_hash

EDGES_MAX = 1_024
"""Ways of putting the right edge together that are tried: a few rows for each of a few levels."""
_LENGTH_BYTES = 2
_GZIP = 31


class Bundle:
    """A bundle that is put together again. ``row``: the hashes of its entries."""

    def __init__(self, row: bytes) -> None:
        self._entries: list[bytes | None] = [None] * (len(row) // HASH_BYTES)
        self._places: dict[bytes, list[int]] = {}
        for at in range(len(self._entries)):
            self._places.setdefault(row[at * HASH_BYTES :][:HASH_BYTES], []).append(at)

    def offer(self, entries: Iterable[bytes]) -> None:
        """Take those that belong here."""
        for entry in entries:
            for at in self._places.get(leaf_hash(entry), ()):
                self._entries[at] = entry

    @property
    def missing(self) -> list[int]:
        """The places, from 0 on, that nobody has had an entry for."""
        return [at for at, entry in enumerate(self._entries) if entry is None]

    @property
    def entries(self) -> list[bytes]:
        """All entries, in order, when none is missing."""
        return [entry for entry in self._entries if entry is not None]


def loose_entries(data: bytes) -> list[bytes]:
    """What can be read as entries of a plain bundle, as far as its lengths lead; unchecked."""
    entries: list[bytes] = []
    at = 0
    while at + _LENGTH_BYTES <= len(data) and len(entries) < WIDTH:
        start = at + _LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        entries.append(data[start:at])
    return entries


def loosely_unpacked(data: bytes) -> bytes:
    """What comes out of a gzip member before its damage; at most what a bundle can hold."""
    member = zlib.decompressobj(_GZIP)
    found = bytearray()
    for at in range(0, len(data), 512):  # in steps: what was made before an error is kept
        try:
            found += member.decompress(data[at : at + 512], WIDTH * (_LENGTH_BYTES + ENTRY_BYTES_MAX))
        except zlib.error:
            break
        if len(found) > WIDTH * (_LENGTH_BYTES + ENTRY_BYTES_MAX):
            break
    return bytes(found)


def edge_of(rows: Mapping[int, Sequence[bytes]], size: int, root: bytes) -> dict[int, bytes] | None:
    """The right edge, one row from those offered for each level, that makes the root; None where none
    does."""
    levels = sorted(rows)
    ways = itertools.product(*(list(dict.fromkeys(rows[level])) for level in levels))
    for way in itertools.islice(ways, EDGES_MAX):
        edge = dict(zip(levels, way, strict=True))
        if makes_root(edge, size, root):
            return edge
    return None


def ranges(numbers: Iterable[int], most: int = 8) -> str:
    """Numbers in words: ``17``, ``0 to 255, 300``; the first ``most`` ranges of them."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    said = [str(one[0]) if one[0] == one[1] else f"{one[0]} to {one[1]}" for one in found[:most]]
    more = f" and {len(found) - most} more ranges" if len(found) > most else ""
    return ", ".join(said) + more
