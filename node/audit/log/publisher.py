"""Writes a log's folder: tiles and bundles, then the signed checkpoint that needs them (C2SP tlog-tiles).

Promises:
1. Everything that a checkpoint needs is durable before it is signed; the high-water mark is durable before
   the checkpoint is in place; ``publish`` returns when the checkpoint is durable.
2. Nothing is signed below, or beside, what was signed before: a size that was signed is signed again over the
   same root only.
3. Files appear whole: they are written and synced in ``.staging``, then renamed. Complete bundles are packed
   (``packed``); what an older version wrote plain stays so.
4. A partial tile stays while its full tile is not there (tlog-tiles asks for that), and for another 32
   checkpoints.
5. What a failure left undone is done by the next ``publish``.

Blocking, one thread at a time. Must not know what entries mean, or how they became durable.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from node.audit.tlog.packed import SUFFIX, is_packed, pack, packed_max, place_of, unpack
from node.audit.tlog.right_edge import Growth
from node.audit.tlog.tiles import ENTRIES, WIDTH, Tile, hash_in, tile_of
from node.core.clock import Clock
from node.core.errors import CorruptState, Misconfigured, Rejected, Unavailable
from node.core.files import Files
from node.core.merkle import root_from
from node.core.signed_note import (
    NOTE_BYTES_MAX,
    Checkpoint,
    Note,
    Opened,
    Signer,
    Verifier,
    open_checkpoint,
)

KEPT_CHECKPOINTS = 32
_OPEN_FILES = 64
"""Files that are written before the first of them is synced: syncs then share the disk's work."""
_KNOWN_DIRECTORIES = 4_096
_HIGH_WATER_MODE = 0o600
WAY_OUT = "Restore the newer folder, or run: neuroswarm log recover --new-epoch"


@dataclass(frozen=True, slots=True)
class Published:
    """A durable checkpoint. ``note`` bears the log's signatures only; ``at`` is when this process wrote or
    found it."""

    size: int
    root: bytes
    note: bytes
    at: datetime


class Folder:
    """Where a log lives, and how its tiles are read back."""

    def __init__(self, files: Files, directory: Path) -> None:
        self.files = files
        self.directory = directory
        self.checkpoint = directory / "checkpoint"
        self.witnessed = directory / "checkpoint.witnessed"
        self.vkey = directory / "vkey"
        self.staging = directory / ".staging"
        self.journal = directory / "journal"

    def read(self, path: Path, bytes_max: int = NOTE_BYTES_MAX) -> bytes | None:
        """A file's bytes, None where there is none. Raises ``CorruptState`` for one that is too long."""
        try:
            data = self.files.read(path, bytes_max)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if len(data) > bytes_max:
            raise CorruptState(f"{path} is damaged: it is longer than {bytes_max} bytes")
        return data

    def tile(self, *tiles: Tile) -> tuple[Tile, bytes]:
        """The first of these tiles that is there. Raises ``CorruptState`` where none is."""
        for tile in tiles:
            data = self._packed(tile) if is_packed(tile) else None
            if data is None:
                data = self.read(self.directory / tile.path, tile.bytes_max)
            if data is not None:
                return tile, data
        raise CorruptState(
            f"{self.directory / tiles[0].path} is missing: restore the log's folder from a copy, or run: "
            "neuroswarm log recover --new-epoch"
        )

    def _packed(self, tile: Tile) -> bytes | None:
        path = self.directory / place_of(tile)
        data = self.read(path, packed_max(tile.bytes_max))
        try:
            return None if data is None else unpack(data, tile.bytes_max)
        except Rejected as exc:
            raise CorruptState(f"{path} is damaged: {exc}") from exc

    def hash(self, level: int, index: int, size: int) -> bytes:
        """The hash of a complete subtree of the log of ``size`` published entries.

        Raises ``CorruptState``.
        """
        tile, data = self.tile(*tile_of(level, index, size))
        try:
            return hash_in(tile, data, level, index)
        except Rejected as exc:
            raise CorruptState(f"{self.directory / tile.path} is damaged: {exc}") from exc

    def root(self, old: int, size: int) -> bytes:
        """The root of the first ``old`` of ``size`` published entries. Raises ``CorruptState``."""
        return root_from(lambda level, index: self.hash(level, index, size), old)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a log stands when it is opened: its tree, the checkpoint that is published, as it was read
    (``opened``), and the newest that was ever signed."""

    growth: Growth
    published: Published | None
    opened: Opened | None
    signed: Checkpoint | None


class Publisher:
    """One log's folder, open for writing. Built by ``opening.open_folder``."""

    def __init__(
        self,
        folder: Folder,
        origin: str,
        signers: Sequence[Signer],
        clock: Clock,
        *,
        high_water: Path,
        standing: Standing,
    ) -> None:
        opened = standing.opened
        self.published = standing.published
        self.growth = standing.growth
        self._folder = folder
        self._files = folder.files
        self._origin = origin
        self._signers = tuple(signers)
        self._clock = clock
        self._high_water = high_water
        self._note = opened.note if opened else None
        self._signed_by = frozenset(opened.signed_by if opened else ())
        self._signed = standing.signed
        self._tiles_size = standing.growth.size
        self._is_key_file_right = False
        self._staged = 0
        self._known: set[Path] = set()
        self._unsynced: set[Path] = set()
        self._partial: set[tuple[int, int]] = {(one.level, one.index) for one in self.growth.edge()}
        self._retired: deque[tuple[int, tuple[int, int]]] = deque()
        self._count = 0

    def add(self, entries: Sequence[bytes]) -> None:
        """Entries that are durable elsewhere; the next checkpoint covers them."""
        for entry in entries:
            self.growth.append(entry)

    def is_behind(self) -> bool:
        """Whether ``publish`` would change what is on disk."""
        return (
            self.published is None
            or self.published.size < self.growth.size
            or not self._is_key_file_right
            or self._signed_by != self._wanted()
        )

    def set_signers(self, signers: Sequence[Signer]) -> None:
        """Who signs from the next ``publish`` on.

        Raises ``Misconfigured`` where none of them has signed the newest checkpoint: after a crash nobody
        could tell that it is this log's.
        """
        if self.published and not self._signed_by.intersection(one.verifier for one in signers):
            raise Misconfigured("a new key of the log must sign one checkpoint together with the old one")
        self._signers = tuple(signers)
        self._is_key_file_right = False

    def compare(self, seen: Checkpoint, waiting: Sequence[bytes]) -> str:
        """Why this checkpoint, which others hold, is not of this tree with ``waiting`` behind it, or "".

        Raises ``OSError``, ``CorruptState``, ``Unavailable`` (it is of a size between two checkpoints).
        """
        size = self.published.size if self.published else 0
        if seen.origin != self._origin:
            return f"a witness or peer holds a checkpoint of {seen.origin} for the log {self._origin}"
        if size < seen.size < self.growth.size:
            raise Unavailable("a checkpoint can be compared once the entries before it are published")
        held = f"a witness or peer holds its checkpoint of {seen.size} entries"
        shown = f"a witness or peer holds a checkpoint of {seen.size} entries that is"
        return contradiction(self._folder, self.growth, size, waiting, seen, held, shown)

    def publish(self) -> Published:
        """Bring the folder up to all entries that were added.

        Raises ``OSError``; ``CorruptState`` by promise 2.
        """
        self._write_tiles()
        self._write_vkey()
        checkpoint = Checkpoint(self._origin, self.growth.size, self.growth.root())
        published = self.published
        if published is None or published.size < checkpoint.size or self._signed_by != self._wanted():
            published = self._write_checkpoint(checkpoint)
            self._retire()
        return published

    def cosign(self, data: bytes, *, is_enough: bool = False) -> bool:
        """Add signatures to ``checkpoint``; False where they are for another one than the newest. With
        ``is_enough`` the note is also the new ``checkpoint.witnessed``.

        Raises ``Rejected`` (not this log's checkpoint), ``OSError``.
        """
        opened = open_checkpoint(data, [one.verifier for one in self._signers])
        if is_enough:
            self._files.replace(self._folder.witnessed, data)
        if self._note is None or opened.note.text != self._note.text:
            return False
        merged = self._note.with_signatures(opened.note.signatures)
        if merged != self._note:
            self._files.replace(self._folder.checkpoint, merged.encode())
            self._note = merged
        return True

    def rewrite(self, tiles: Mapping[Tile, bytes]) -> None:
        """Put these tiles, which were found damaged, in their places again, with them the right edge, and the
        keys and the checkpoint where they are not as they should be. Raises ``OSError``."""
        self._known.clear()  # a directory may be gone
        self._files.make_directory(self._folder.staging)
        tiles = {**self.growth.unwritten(), **tiles}
        rest = iter(tiles.items())
        while chunk := dict(islice(rest, _OPEN_FILES)):
            self._write_chunk(chunk)
        self._sync_directories()
        self._is_key_file_right = False
        self._write_vkey()
        if self._note is not None and not self._holds(self._folder.checkpoint, self._note.encode()):
            self._files.replace(self._folder.checkpoint, self._note.encode())

    # --- steps of a publication ---

    def _write_tiles(self) -> None:
        size = self.growth.size
        if size == self._tiles_size:
            return
        tiles = self.growth.unwritten()
        rest = iter(tiles.items())
        while chunk := dict(islice(rest, _OPEN_FILES)):
            self._write_chunk(chunk)
        self._sync_directories()
        self.growth.written(tiles)
        self._tiles_size = size
        self._note_partial(tiles)

    def _write_chunk(self, tiles: Mapping[Tile, bytes]) -> None:
        """Write all, sync all, rename all."""
        staged: list[tuple[Path, Path]] = []
        try:
            with contextlib.ExitStack() as opened:
                fds = []
                for tile, data in tiles.items():
                    self._staged += 1
                    path = self._folder.staging / str(self._staged)
                    fd = self._files.create(path)
                    opened.callback(self._files.close, fd)
                    staged.append((path, self._folder.directory / place_of(tile)))
                    self._files.write(fd, pack(data) if is_packed(tile) else data, 0)
                    fds.append(fd)
                for fd in fds:
                    self._files.sync(fd)
            while staged:
                path, target = staged[-1]
                self._make_directory(target.parent)
                self._unsynced.add(target.parent)
                self._files.rename(path, target)
                staged.pop()
        finally:
            for path, _ in staged:
                with contextlib.suppress(OSError):  # else the next opening sweeps it away
                    self._files.unlink(path)

    def _sync_directories(self) -> None:
        for directory in sorted(self._unsynced):
            self._files.sync_directory(directory)
            self._unsynced.discard(directory)

    def _holds(self, path: Path, data: bytes) -> bool:
        try:
            return self._folder.read(path) == data
        except CorruptState:
            return False

    def _make_directory(self, path: Path) -> None:
        """A directory under the log's, its name to be synced: also one that is there may not be durable."""
        if path in self._known or path == self._folder.directory:
            return
        self._make_directory(path.parent)
        self._files.make_directory(path)
        self._unsynced.add(path.parent)
        if len(self._known) >= _KNOWN_DIRECTORIES:
            self._known.clear()
        self._known.add(path)

    def _write_vkey(self) -> None:
        if self._is_key_file_right:
            return
        data = "".join(f"{one.verifier.vkey}\n" for one in self._signers).encode()
        if not self._holds(self._folder.vkey, data):
            self._files.replace(self._folder.vkey, data)
        self._is_key_file_right = True

    def _write_checkpoint(self, checkpoint: Checkpoint) -> Published:
        """Sign, raise the high-water mark, put the checkpoint in place."""
        before = self._signed
        if before is not None and (
            checkpoint.size < before.size or (checkpoint.size == before.size and checkpoint != before)
        ):
            raise CorruptState(
                f"the log has signed another checkpoint of size {before.size}; this one of size "
                f"{checkpoint.size} is not signed"
            )
        now = self._clock.now()
        text = checkpoint.text()
        time_s = max(0, int(now.timestamp()))
        own = Note(text, tuple(one.sign(text, time_s) for one in self._signers))
        note = own
        if self._note is not None and self._note.text == text:  # keep what witnesses have added
            note = self._note.with_signatures(own.signatures)
        self._signed = checkpoint
        self._files.replace(self._high_water, own.encode(), _HIGH_WATER_MODE)
        self._files.replace(self._folder.checkpoint, note.encode())
        self._note = note
        self._count += 1
        self._signed_by = self._wanted()
        self.published = Published(checkpoint.size, checkpoint.root, own.encode(), now)
        return self.published

    def _wanted(self) -> frozenset[Verifier]:
        """Whose signatures a checkpoint should bear."""
        return frozenset(one.verifier for one in self._signers)

    # --- partial tiles that nobody needs any more ---

    def _note_partial(self, tiles: Mapping[Tile, bytes]) -> None:
        for tile in tiles:
            place = (tile.level, tile.index)
            if not tile.is_full:
                self._partial.add(place)
            elif place in self._partial:
                self._partial.discard(place)
                self._retired.append((self._count, place))

    def _retire(self) -> None:
        while self._retired and self._retired[0][0] + KEPT_CHECKPOINTS < self._count:
            remove_partial(self._folder, *self._retired.popleft()[1])


def contradiction(
    folder: Folder,
    growth: Growth,
    size: int,
    waiting: Sequence[bytes],
    other: Checkpoint,
    held: str,
    shown: str,
) -> str:
    """Why another checkpoint is not of this tree, of which ``size`` entries are published, with ``waiting``
    behind it, or "". ``held`` and ``shown`` say of it for people that it is ahead, and that it differs."""
    ahead = other.size - growth.size
    if ahead > len(waiting):
        there = growth.size + len(waiting)
        return f"the log was rolled back: {held}, and {folder.directory} has {there}. {WAY_OUT}"
    root = growth.root_with(waiting[:ahead]) if ahead >= 0 else folder.root(other.size, size)
    if root != other.root:
        return f"the log was exchanged: {shown} not of the tree in {folder.directory}. {WAY_OUT}"
    return ""


def remove_partial(folder: Folder, level: int, index: int) -> None:
    """Remove the partial tiles beside a full one. What cannot be removed stays, and harms nothing."""
    directory = (folder.directory / Tile(level, index, 1).path).parent
    with contextlib.suppress(OSError):
        for name in folder.files.names(directory):
            folder.files.unlink(directory / name)
        folder.files.remove_directory(directory)


def sweep(folder: Folder, size: int) -> None:
    """Remove what earlier processes left: staged files, and partial tiles near the right edge whose full tile
    is under the checkpoint of ``size`` entries. Raises ``OSError``."""
    for name in folder.files.names(folder.staging):
        folder.files.unlink(folder.staging / name)
    level, count = 0, size // WIDTH
    while count:
        groups = {count - 1, max(0, count - 1 - KEPT_CHECKPOINTS)}
        for one in [ENTRIES, 0] if level == 0 else [level]:
            for directory in {(folder.directory / Tile(one, index).path).parent for index in groups}:
                _sweep_group(folder, directory, one, count)
        level, count = level + 1, count // WIDTH


def _sweep_group(folder: Folder, directory: Path, level: int, full: int) -> None:
    """``directory`` holds up to 1,000 tiles of one level, of which the first ``full`` are whole."""
    try:
        names = folder.files.names(directory)
    except FileNotFoundError:
        return
    present = {name.removesuffix(SUFFIX) for name in names}
    for name in names:
        whole = name.removesuffix(".p")
        if whole == name or whole not in present:
            continue
        with contextlib.suppress(Rejected):
            tile = Tile.parse(str((directory / whole).relative_to(folder.directory)))
            if tile.level == level and tile.index < full:
                remove_partial(folder, level, tile.index)
