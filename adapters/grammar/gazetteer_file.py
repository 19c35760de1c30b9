"""The file ``gazetteer.bin``: columns of towns and one table of names, read where it lies in the page cache.

It is mapped and not parsed, so that it opens at once and only what is looked at takes memory.
``python -m bench.gazetteer_file`` writes it: sections, a line of JSON that names them, and its length.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, TypeAlias
from zlib import crc32

FILE = "gazetteer.bin"
LENGTH_BYTES = 8
Named: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""What bears a name, each parted by commas: rows of towns by their English name, by another in Latin letters,
by one in another script; names of big towns that it may be a misspelling of."""
NOTHING: Named = (b"", b"", b"", b"")


class Column(Sequence[str]):
    """A text for each row."""

    def __init__(self, texts: Sequence[str], numbers: memoryview[int]) -> None:
        self.texts, self._numbers = texts, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, row: Any) -> Any:
        return self.texts[self._numbers[row]]

    def __iter__(self) -> Iterator[str]:
        return map(self.texts.__getitem__, self._numbers)


class Contents:
    """The open file; one that is missing or broken is an error of the program. ``countries``: code, name, the
    row of the capital, people; ``states`` of the US: code, name; ``largest``: the row of the largest town by
    country and region ("US CA")."""

    def __init__(self) -> None:
        with files(__package__).joinpath(FILE).open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = len(self._bytes) - LENGTH_BYTES
        size = int.from_bytes(self._bytes[end:], "little")
        self._told = json.loads(self._bytes[end - size : end])
        self.countries: list[tuple[str, str, int, int]] = self._told["countries"]
        self.states: list[tuple[str, str]] = self._told["states"]
        self.largest: dict[str, int] = self._told["largest"]
        self._slots, self._names = self.numbers("slots"), self.numbers("names")
        self._last = len(self._slots) - 1

    def numbers(self, name: str) -> memoryview[Any]:
        """A column of numbers."""
        kind, start, size = self._told["numbers"][name]
        return memoryview(self._bytes)[start : start + size].cast(kind)

    def column(self, name: str) -> Column:
        """A column of texts."""
        return Column(self._told["texts"][name], self.numbers(name))

    def name(self, row: int) -> str:
        """How the town is shown."""
        return self._bytes[self._names[row] : self._names[row + 1]].decode()

    def named(self, key: str) -> Named:
        """What bears that name."""
        raw = key.encode("utf-8", "surrogatepass")
        sought, at = raw + b"\t", crc32(raw)
        while start := self._slots[at & self._last]:
            behind = start + len(sought)
            if self._bytes[start:behind] == sought:
                own, other, script, near = self._bytes[behind : self._bytes.find(b"\n", behind)].split(b"\t")
                return own, other, script, near
            at += 1
        return NOTHING


def numbered(rows: bytes) -> tuple[int, ...]:
    """The rows of one field."""
    return tuple(map(int, rows.split(b","))) if rows else ()
