"""What the operator gives a repair to look in: CARs, knowledge indexes, and folders of them and of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from node.app.transfer import kept_export
from node.core.errors import BadInput, NotFound, Rejected
from node.core.files import translated
from node.core.ipld.car import CarReader
from node.core.ipld.cid import Cid

FILES_MAX = 100_000
_CHUNK_BYTES = 1 << 20
_BLOCK_BYTES_MAX = 2 * 2**20


@dataclass(slots=True)
class FileBlocks:
    """Implements ``Gets`` over the blocks of CARs and of files that are named by a CID; ``indexes`` are the
    knowledge indexes among them. Trusts nothing: who takes a block hashes it."""

    indexes: list[Path] = field(default_factory=list)
    _cars: list[Path] = field(default_factory=list)
    _files: dict[bytes, Path] = field(default_factory=dict)
    _held: dict[bytes, bytes] | None = None

    @classmethod
    def open(cls, given: Sequence[Path]) -> FileBlocks:
        """Blocking. Raises ``BadInput`` for what is not there, ``Unavailable``."""
        found = cls()
        for path in given:
            if not path.exists():
                raise BadInput(f"there is no file or folder {path}", field="from")
            for number, file in enumerate(_below(path)):
                if number >= FILES_MAX:
                    raise BadInput(f"{path} holds more than {FILES_MAX} files", field="from")
                found._take(file)
        return found

    def _take(self, file: Path) -> None:
        if file.suffix == ".json":
            self.indexes.append(file)
        elif file.suffix == ".car":
            self._cars.append(file)
        else:
            with suppress(Rejected):
                self._files[Cid.parse(file.stem).multihash] = file

    @property
    def count(self) -> int:
        """Places with blocks."""
        return len(self._cars) + len(self._files)

    def names(self) -> list[Cid]:
        """Every record that could be in them. Blocking."""
        from_cars = [cid for car in self._cars for cid, _ in _blocks(car)]
        from_indexes = [cid for path in self.indexes for cid, _ in kept_export.entries(path)]
        from_files = [Cid.parse(path.stem) for path in self._files.values()]
        return list(dict.fromkeys([*from_cars, *from_files, *from_indexes]))

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound``, ``Unavailable``, ``Rejected`` (a CAR that is none)."""
        if cid.multihash in self._files:
            file = self._files[cid.multihash]
            with translated(f"{file} cannot be read"), file.open("rb") as opened:
                return opened.read(_BLOCK_BYTES_MAX)
        if self._held is None:
            self._held = {one.multihash: data for car in self._cars for one, data in _blocks(car)}
        data = self._held.get(cid.multihash)
        if data is None:
            raise NotFound(f"none of the files has block {cid}")
        return data


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    yield from (file for file in path.rglob("*") if file.is_file() and not file.is_symlink())


def _blocks(path: Path) -> Iterator[tuple[Cid, bytes]]:
    """Up to the first damage."""
    reader = CarReader()
    with translated(f"{path} cannot be read"), path.open("rb") as file, suppress(Rejected):
        while chunk := file.read(_CHUNK_BYTES):
            yield from reader.feed(chunk)
