"""Read a transparency log in the tiles layout from wherever its files are, and prove things from its tiles.

Promises: reads only; what is read is bounded in bytes and no more than a fixed amount of it is kept; tiles
are taken at their word, but nothing leaves as a receipt that does not verify. A size comes from a checkpoint
and is as trustworthy as that: an absurd one ends at the first missing tile.
Shares nothing with the writer but the pure rules (``merkle``, ``tiles``, ``signed_note``, ``proofs``), so
that the checker (``verify``) is an independent witness. Must not know what entries say.

Source: C2SP tlog-tiles (paths, partial tiles and their fallback), tlog-proof.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import stat
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from node.audit.tlog import packed, tiles
from node.audit.tlog.proofs import Receipt
from node.audit.tlog.tiles import ENTRIES, WIDTH, Tile
from node.core import merkle
from node.core.errors import NotFound, Rejected, Unavailable
from node.core.merkle import HASH_BYTES
from node.core.signed_note import NOTE_BYTES_MAX, Checkpoint

CHECKPOINT = "checkpoint"
WITNESSED = "checkpoint.witnessed"
"""The newest checkpoint that carries enough cosignatures, beside the newest one."""
VKEY = "vkey"

VKEY_BYTES_MAX = 16 * 1024
_BUNDLES = "tile/entries/"
_PARTIAL = ".p/"
_TRIES = 3
_TILE_BYTES = WIDTH * HASH_BYTES

_Proof = TypeVar("_Proof")


class Source(Protocol):
    """Where a log's files are: a folder, or an address.

    ``read`` returns the whole file at the relative path (``checkpoint``, ``tile/0/000.p/5`` …). Raises
    ``NotFound`` when there is none, ``Rejected`` when it has more than ``bytes_max`` bytes or is not a plain
    file of the log, ``Unavailable`` when it cannot be told. May be called at once by many, and cancelled.
    """

    async def read(self, path: str, bytes_max: int) -> bytes: ...


class Files(ABC):
    """A log's files as a folder keeps them: a complete bundle is read packed or, as an older version wrote
    it, plain. Blocking; raises as ``Source.read``. ``place`` names a file to people."""

    def read_now(self, path: str, bytes_max: int) -> bytes:
        """``Source.read``, blocking."""
        if path.startswith(_BUNDLES) and _PARTIAL not in path:
            with contextlib.suppress(NotFound):
                data = self.packed_now(path, bytes_max)
                try:
                    return packed.unpack(data, bytes_max)
                except Rejected as exc:
                    raise Rejected(f"{self.place(path)}{packed.SUFFIX}: {exc}") from exc
        return self._read(path, bytes_max)

    def plain_now(self, path: str, bytes_max: int) -> bytes:
        """``read_now`` of this very file: a complete bundle only where it lies there plain."""
        return self._read(path, bytes_max)

    def packed_now(self, path: str, bytes_max: int) -> bytes:
        """A complete bundle as gzip. Raises ``NotFound`` also where it lies there plain."""
        return self._read(path + packed.SUFFIX, packed.packed_max(bytes_max))

    @abstractmethod
    def place(self, path: str) -> str:
        """What messages call this file."""

    @abstractmethod
    def _read(self, path: str, bytes_max: int) -> bytes:
        """``Source.read`` of this very file, blocking."""


class FolderSource(Files):
    """A log folder on this machine, or one ``below`` it (``epochs/1``). Links in it are not followed, so no
    path leads out of it."""

    def __init__(self, directory: Path, below: str = "") -> None:
        self.directory = Path(directory) / below
        self._base = Path(directory)
        self._steps = below.split("/") if below else []

    async def read(self, path: str, bytes_max: int) -> bytes:
        return await asyncio.to_thread(self.read_now, path, bytes_max)

    def place(self, path: str) -> str:
        return str(self.directory / path)

    def _read(self, path: str, bytes_max: int) -> bytes:
        try:
            with os.fdopen(self._open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise Rejected(f"{self.directory / path} is not a plain file")
                data = file.read(bytes_max + 1)
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise NotFound(f"there is no {path} in {self.directory}") from exc
        except OSError as exc:
            said = f"{self.directory / path} cannot be read: {exc.strerror or exc}"
            # A bad sector stays one: the file is as good as lost, and may be mended.
            raise (Rejected if exc.errno == errno.EIO else Unavailable)(said) from exc
        if len(data) > bytes_max:
            raise Rejected(f"{self.directory / path} has more than {bytes_max} bytes")
        return data

    async def partial_widths(self, tile: Tile) -> list[int]:
        """The widths below 256 in which this tile or bundle lies in the folder, smallest first."""
        return await asyncio.to_thread(self.widths_now, tile)

    def widths_now(self, tile: Tile) -> list[int]:
        """``partial_widths``, blocking."""
        folder = Tile(tile.level, tile.index, 1).path.removesuffix("/1")
        try:
            descriptor = self._open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with os.scandir(descriptor) as found:
                    names = [one.name for one in found]
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            raise Unavailable(f"{self.directory / folder} cannot be listed: {exc.strerror or exc}") from exc
        return sorted(int(name) for name in names if _is_width(name))

    def _open(self, path: str, flags: int) -> int:
        """A descriptor of the relative path, each step of which is a directory of its own. Raises
        ``OSError``, ``Rejected``."""
        names = [*self._steps, *path.split("/")]
        if any(name in ("", ".", "..") or "\0" in name for name in names):
            raise Rejected(f"{path!r} is not a path of a log")
        above = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in names[:-1]:
                below = os.open(
                    name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above
                )
                os.close(above)
                above = below
            return os.open(names[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        finally:
            os.close(above)


def _is_width(name: str) -> bool:
    return name.isascii() and name.isdigit() and not name.startswith("0") and int(name[:4]) < WIDTH


async def read_tile(source: Source, tile: Tile) -> bytes:
    """The hashes of a tile: ``32 * tile.width`` bytes. Where a partial tile is gone, it is cut from a wider
    one. Raises ``NotFound`` and ``Rejected`` (naming the path), ``Unavailable``."""
    data, found = await _read_whole_or_part(source, tile)
    if len(data) != found.width * HASH_BYTES:
        raise Rejected(f"{found.path} has {len(data)} bytes, not {found.width * HASH_BYTES}")
    return data[: tile.width * HASH_BYTES]


async def read_bundle(source: Source, number: int, width: int) -> list[bytes]:
    """The first ``width`` entries of an entry bundle. Falls back and raises as ``read_tile`` does."""
    data, found = await _read_whole_or_part(source, Tile(ENTRIES, number, width))
    try:
        return tiles.decode_bundle(data, found.width)[:width]
    except Rejected as exc:
        raise Rejected(f"{found.path}: {exc}") from exc


async def _read_whole_or_part(source: Source, tile: Tile) -> tuple[bytes, Tile]:
    """(the bytes, the tile they are): of exactly this width, else of a wider one, as a log that has grown may
    have deleted the narrower one. A folder may grow while it is looked through, so it is looked through
    again."""
    try:
        return await source.read(tile.path, tile.bytes_max), tile
    except NotFound as exc:
        missing = exc
    for _ in range(1 if tile.is_full else _TRIES):
        widths = await source.partial_widths(tile) if isinstance(source, FolderSource) else []
        for width in (*widths, WIDTH):
            wider = Tile(tile.level, tile.index, width)
            if tile.width < width:
                with contextlib.suppress(NotFound):
                    return await source.read(wider.path, wider.bytes_max), wider
        if not isinstance(source, FolderSource):
            break
    raise NotFound(f"{tile.path} is missing") from missing


class LogReader:
    """Hashes, entries and proofs of one log. For one event loop; calls may overlap."""

    def __init__(self, source: Source, *, cache_tiles: int = 64) -> None:
        self._source = source
        self._bytes_max = cache_tiles * _TILE_BYTES
        self._bytes = 0
        self._tiles: OrderedDict[str, bytes] = OrderedDict()

    async def checkpoint(self) -> bytes:
        """The newest checkpoint as it stands, unchecked. Raises ``NotFound``, ``Rejected``,
        ``Unavailable``."""
        return await self._source.read(CHECKPOINT, NOTE_BYTES_MAX)

    async def hash(self, level: int, index: int, size: int) -> bytes:
        """The hash of the complete subtree of leaves ``[index << level, (index + 1) << level)`` in a log of
        ``size`` leaves. Raises ``NotFound`` (a tile is missing), ``Rejected``, ``Unavailable``."""
        tile, *_ = tiles.tile_of(level, index, size)  # read_tile knows where else to look
        return tiles.hash_in(tile, await self._tile(tile), level, index)

    async def entries(self, first: int, count: int, size: int) -> list[bytes]:
        """The entries ``first`` to ``first + count`` of a log of ``size``, unchecked against its hashes.

        The caller bounds ``count``: it is held in memory. Raises ``NotFound``, ``Rejected``, ``Unavailable``.
        """
        if not 0 <= first <= first + count <= size:
            raise NotFound(f"a log of {size} entries has no entries {first} to {first + count}")
        found: list[bytes] = []
        end = first + count
        while first < end:
            number, skip = divmod(first, WIDTH)
            bundle = await read_bundle(self._source, number, width_at(size, number))
            found += bundle[skip : skip + end - first]
            first = (number + 1) * WIDTH
        return found

    async def inclusion(self, index: int, size: int) -> list[bytes]:
        """Inclusion proof of leaf ``index`` in the log of ``size``: the leaf's sibling first."""
        if not 0 <= index < size:
            raise NotFound(f"a log of {size} entries has no entry {index}")
        return await self._prove(size, lambda read: merkle.inclusion_proof(read, index, size))

    async def consistency(self, old: int, new: int) -> list[bytes]:
        """Consistency proof between two sizes. Raises ``NotFound`` (old is beyond new, or a tile is
        missing)."""
        if not 0 <= old <= new:
            raise NotFound(f"a log of {new} entries has no earlier size {old}")
        return await self._prove(new, lambda read: merkle.consistency_proof(read, old, new))

    async def root(self, size: int) -> bytes:
        """The root of the first ``size`` leaves, from the tiles."""
        return await self._prove(size, lambda read: merkle.root_from(read, size))

    async def receipt(self, index: int, note: bytes) -> Receipt:
        """The offline receipt of leaf ``index`` under the checkpoint ``note``, the leaf's bytes as its
        ``extra``.

        Whose signatures the note carries is not looked at. Raises ``NotFound`` (the checkpoint does not cover
        the leaf, or a file is missing), ``Rejected`` (leaf, tiles and checkpoint do not agree),
        ``Unavailable``.
        """
        checkpoint = Checkpoint.of_note(note)
        if index >= checkpoint.size:
            raise NotFound(f"the checkpoint covers {checkpoint.size} entries, not yet entry {index}")
        [entry] = await self.entries(index, 1, checkpoint.size)
        proof = await self.inclusion(index, checkpoint.size)
        leaf = merkle.leaf_hash(entry)
        try:
            merkle.check_inclusion(leaf, index, checkpoint.size, proof, checkpoint.root)
        except Rejected:
            self._forget()
            raise
        return Receipt(index, tuple(proof), note, entry)

    async def _prove(self, size: int, build: Callable[[merkle.ReadHash], _Proof]) -> _Proof:
        """Run ``build`` twice: which hashes it reads does not depend on what they are, so the first run finds
        out which, and the second gets them."""
        wanted: dict[tuple[int, int], bytes] = {}

        def note_down(level: int, index: int) -> bytes:
            wanted[level, index] = b""
            return bytes(HASH_BYTES)

        build(note_down)
        for level, index in wanted:
            wanted[level, index] = await self.hash(level, index, size)
        return build(lambda level, index: wanted[level, index])

    async def _tile(self, tile: Tile) -> bytes:
        path = tile.path
        if (data := self._tiles.get(path)) is not None:
            self._tiles.move_to_end(path)
            return data
        data = await read_tile(self._source, tile)
        if path not in self._tiles:
            self._tiles[path] = data
            self._bytes += len(data)
        while self._bytes > self._bytes_max:
            _, dropped = self._tiles.popitem(last=False)
            self._bytes -= len(dropped)
        return data

    def _forget(self) -> None:
        """Drop what was read: some of it is wrong, and may have been mended."""
        self._tiles.clear()
        self._bytes = 0


def width_at(size: int, number: int) -> int:
    """How many of the log's ``size`` leaves lie in the level-0 tile or entry bundle ``number``."""
    return max(0, min(WIDTH, size - number * WIDTH))
