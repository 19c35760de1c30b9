"""Reads rows out of the bytes of a SQLite file, page by page, whatever the rest of the file is like.

Promises: no byte of the file is trusted; what cannot be read is left out, and every loop is bounded by the
size of the file. SQLite itself gives up a table at its first damaged page; here each leaf page stands for
itself. Pure: bytes in, values out. Knows nothing of what a row means.

Source: https://www.sqlite.org/fileformat2.html (database header, b-tree pages, record format, WAL format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


Value: TypeAlias = int | float | str | bytes | None
_Words: TypeAlias = "npt.NDArray[np.unsignedinteger[Any]]"

TABLE_LEAF, TABLE_INTERIOR, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x05, 0x0A, 0x02
PAYLOAD_BYTES_MAX = 64 * 2**20
COLUMNS_MAX = 200
_HEADER_BYTES = 100
_PAGE_SIZES = frozenset(2**power for power in range(9, 17))
_WAL_HEADER, _FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
_WAL_MAGIC = 0x377F0682
_WORD = 0xFFFFFFFF
_PAGES_MAX = 2**32 - 2
_INT_BYTES: Mapping[int, int] = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Unreadable(ValueError):
    """These bytes are not what they should be."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of a table or one key of an index. ``rowid`` is None in an index."""

    rowid: int | None
    values: tuple[Value, ...]


class Image:
    """The pages of a file as the last commit left them. ``data``: the file; ``newer``: what its WAL holds."""

    def __init__(
        self, data: bytes | memoryview, page_bytes: int, newer: Mapping[int, bytes] | None = None
    ) -> None:
        self._data = data
        self._newer = dict(newer or {})
        self.page_bytes = page_bytes
        self.count = max([len(data) // page_bytes, *self._newer])

    def page(self, number: int) -> bytes:
        """Page ``number``, from 1. Raises ``Unreadable``."""
        if not 1 <= number <= self.count:
            raise Unreadable("no such page")
        if number in self._newer:
            return self._newer[number]
        page = bytes(self._data[(number - 1) * self.page_bytes : number * self.page_bytes])
        if len(page) != self.page_bytes:
            raise Unreadable("a page that is cut off")
        return page

    def kind(self, number: int) -> int:
        """The type byte of a b-tree page; anything else of another page, 0 of one that is not there."""
        try:
            return self.page(number)[_begin(number)]
        except Unreadable:
            return 0

    def children(self, number: int) -> list[int]:
        """The pages below an interior page, as far as they can be read."""
        try:
            page = self.page(number)
        except Unreadable:
            return []
        at = _begin(number)
        found = [int.from_bytes(page[start : start + 4], "big") for start in _pointers(page, at, at + 12)]
        found.append(int.from_bytes(page[at + 8 : at + 12], "big"))
        return [child for child in found if 1 < child <= self.count and child != number]

    def cells(self, number: int) -> Iterator[Cell | None]:
        """What a leaf page, or an interior page of an index, holds; None for a cell that cannot be read."""
        try:
            page = self.page(number)
        except Unreadable:
            return
        begin = _begin(number)
        kind = page[begin]
        first = begin + (12 if kind == INDEX_INTERIOR else 8)
        for at in _pointers(page, begin, first):
            try:
                yield self._cell(page, kind, at + 4 if kind == INDEX_INTERIOR else at)
            except (Unreadable, IndexError, struct.error, UnicodeDecodeError):
                yield None

    def _cell(self, page: bytes, kind: int, at: int) -> Cell:
        length, at = _varint(page, at)
        rowid: int | None = None
        if kind == TABLE_LEAF:
            rowid, at = _varint(page, at)
            rowid -= 2**64 if rowid >= 2**63 else 0
        if not 0 < length <= min(PAYLOAD_BYTES_MAX, self.count * self.page_bytes):
            raise Unreadable("no such length")
        return Cell(rowid, _values(self._payload(page, at, length, is_table=kind == TABLE_LEAF)))

    def _payload(self, page: bytes, at: int, length: int, *, is_table: bool) -> bytes:
        usable = self.page_bytes
        most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
        if length <= most:
            data = page[at : at + length]
        else:
            least = (usable - 12) * 32 // 255 - 23
            here = least + (length - least) % (usable - 4)
            here = here if here <= most else least
            parts, left = [page[at : at + here]], length - here
            following = int.from_bytes(page[at + here : at + here + 4], "big")
            while left > 0:
                further = self.page(following)
                parts.append(further[4 : 4 + min(left, usable - 4)])
                left -= usable - 4
                following = int.from_bytes(further[:4], "big")
            data = b"".join(parts)
        if len(data) != length:
            raise Unreadable("a payload that is cut off")
        return data


def page_bytes_of(data: bytes | memoryview, usual: int) -> int:
    """The size of a page as the header says, or ``usual`` where that cannot be."""
    stated = int.from_bytes(bytes(data[16:18]), "big")
    stated = 65_536 if stated == 1 else stated
    return stated if stated in _PAGE_SIZES and bytes(data[:16]) == b"SQLite format 3\0" else usual


@dataclass(frozen=True, slots=True)
class Wal:
    """What a WAL holds. ``committed``: the newest version of each page up to the last commit that is whole,
    as SQLite reads it. ``left``: likewise of the frames that SQLite passes over because of a damaged one,
    that one included; nobody can take them at their word. ``has_commit``: a whole commit is among them."""

    committed: Mapping[int, bytes]
    left: Mapping[int, bytes]
    has_commit: bool = False


def page_bytes_of_wal(wal: bytes, usual: int) -> int:
    """The size of a page as a WAL's header says, or ``usual`` where that cannot be."""
    stated = int.from_bytes(wal[8:12], "big")
    return stated if stated in _PAGE_SIZES else usual


def of_wal(wal: bytes, page_bytes: int) -> Wal:
    """Read a WAL of a file with pages of this size. A frame that was begun and not ended, and whole ones that
    wait for their commit, are what a kill leaves: they are no damage."""
    if len(wal) < _WAL_HEADER.size + _FRAME_HEADER.size + page_bytes:
        return Wal({}, {})
    magic, _, size, _, *salts, sum_1, sum_2 = _WAL_HEADER.unpack_from(wal)
    order = ">" if magic == _WAL_MAGIC + 1 else "<"
    sums = _summed(wal[:24], order, (0, 0))
    is_sound = magic in (_WAL_MAGIC, _WAL_MAGIC + 1) and size == page_bytes and sums == (sum_1, sum_2)
    if not is_sound:  # its frames say themselves which belong together
        salts = list(_FRAME_HEADER.unpack_from(wal, _WAL_HEADER.size)[2:4])
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    left: dict[int, bytes] = {}
    has_commit, step = False, _FRAME_HEADER.size + page_bytes
    for at in range(_WAL_HEADER.size, len(wal) - step + 1, step):
        number, commit, *own, sum_1, sum_2 = _FRAME_HEADER.unpack_from(wal, at)
        page = wal[at + _FRAME_HEADER.size : at + step]
        sums = _summed(page, order, _summed(wal[at : at + 8], order, sums))
        is_whole = own == salts and sums == (sum_1, sum_2)
        if is_sound and is_whole:
            waiting[number] = page
            if commit:
                committed |= waiting
                waiting.clear()
            continue
        is_sound = False
        if own == salts and 0 < number <= _PAGES_MAX:
            left[number] = page
            has_commit |= is_whole and commit > 0
        sums = sum_1, sum_2  # a frame is held against what stands in the one before it
    return Wal(committed, {**waiting, **left} if left else {}, has_commit)


def _summed(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    """SQLite's checksum: for each pair of words ``first += even + second; second += odd + first``, mod 2^32.
    That is linear, so each pair counts with a power of one matrix, whose entries are Fibonacci numbers."""
    import numpy as np  # a node may run without it

    words = np.frombuffer(data, f"{order}u4").astype(np.uint32).reshape(-1, 2)
    near, across, far = _weights(len(words))
    even, odd = words[:, 0], words[:, 0] + words[:, 1]
    first, second = sums
    return (
        _sum(near, even, first) + _sum(across, odd, second) & _WORD,
        _sum(across, even, first) + _sum(far, odd, second) & _WORD,
    )


def _sum(weights: _Words, words: _Words, before: int) -> int:
    return int(weights[1:].dot(words)) + int(weights[0]) * before


@lru_cache(8)
def _weights(pairs: int) -> tuple[_Words, _Words, _Words]:
    """The entries of ``[[1, 1], [1, 2]] ** n`` for n from ``pairs`` to 0."""
    import numpy as np

    rows, row = [], (1, 0, 1)
    for _ in range(pairs + 1):
        rows.append(row)
        near, across, far = row
        row = (near + across) & _WORD, (across + far) & _WORD, (across + 2 * far) & _WORD
    near, across, far = np.array(rows[::-1], np.uint64).T
    return near, across, far


def _begin(number: int) -> int:
    """Where the b-tree header of a page begins."""
    return _HEADER_BYTES if number == 1 else 0


def _pointers(page: bytes, begin: int, first: int) -> list[int]:
    """Where the cells of a page lie, as far as that can be."""
    count = int.from_bytes(page[begin + 3 : begin + 5], "big")
    count = min(count, (len(page) - first) // 2)
    found = struct.unpack_from(f">{count}H", page, first)
    return [at for at in found if at >= first + 2 * count]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for offset in range(8):
        byte = data[at + offset]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + offset + 1
    return value << 8 | data[at + 8], at + 9


def _values(data: bytes) -> tuple[Value, ...]:
    """A record. Raises ``Unreadable`` unless it fills its bytes exactly."""
    head, at = _varint(data, 0)
    kinds: list[int] = []
    while at < head and len(kinds) < COLUMNS_MAX:
        kind, at = _varint(data, at)
        kinds.append(kind)
    if at != head:
        raise Unreadable("a header of another length")
    values: list[Value] = []
    for kind in kinds:
        value, at = _value(data, kind, at)
        values.append(value)
    if at != len(data):
        raise Unreadable("a record of another length")
    return tuple(values)


def _value(data: bytes, kind: int, at: int) -> tuple[Value, int]:
    if kind in _INT_BYTES:
        end = at + _INT_BYTES[kind]
        return int.from_bytes(data[at:end], "big", signed=True), end
    if kind == 7:
        return struct.unpack_from(">d", data, at)[0], at + 8
    if kind in (0, 8, 9):
        return (None, 0, 1)[kind - 7 if kind else 0], at
    if kind < 12:
        raise Unreadable("no such type")
    end = at + (kind - 12) // 2
    if end > len(data):
        raise Unreadable("a value that is cut off")
    return (data[at:end] if kind % 2 == 0 else data[at:end].decode()), end
