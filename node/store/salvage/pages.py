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
from typing import TypeAlias

Value: TypeAlias = int | float | str | bytes | None

TABLE_LEAF, TABLE_INTERIOR, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x05, 0x0A, 0x02
PAYLOAD_BYTES_MAX = 64 * 2**20
COLUMNS_MAX = 200
_HEADER_BYTES = 100
_PAGE_SIZES = frozenset(2**power for power in range(9, 17))
_WAL_HEADER, _FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
_WAL_MAGIC = 0x377F0682
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


def of_wal(wal: bytes, page_bytes: int) -> dict[int, bytes]:
    """The newest version of each page in a WAL, up to the last commit that is whole; as SQLite reads it."""
    if len(wal) < _WAL_HEADER.size:
        return {}
    magic, _, size, _, salt_1, salt_2, sum_1, sum_2 = _WAL_HEADER.unpack_from(wal)
    order = ">" if magic == _WAL_MAGIC + 1 else "<"
    sums = _summed(wal[:24], order, (0, 0))
    if magic not in (_WAL_MAGIC, _WAL_MAGIC + 1) or size != page_bytes or sums != (sum_1, sum_2):
        return {}
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    at = _WAL_HEADER.size
    while at + _FRAME_HEADER.size + page_bytes <= len(wal):
        number, commit, *salts, sum_1, sum_2 = _FRAME_HEADER.unpack_from(wal, at)
        page = wal[at + _FRAME_HEADER.size : at + _FRAME_HEADER.size + page_bytes]
        sums = _summed(page, order, _summed(wal[at : at + 8], order, sums))
        if salts != [salt_1, salt_2] or sums != (sum_1, sum_2):
            break
        waiting[number] = page
        if commit:
            committed |= waiting
            waiting.clear()
        at += _FRAME_HEADER.size + page_bytes
    return committed


def _summed(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


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
