"""A backup folder: the list of its backups, their parts, what was erased since, and how a backup is put in.

Layout: ``neuroswarm-backup`` names the format and the node; ``backups/<id>`` one list each (``manifest``);
``parts/`` (``parts``); ``erased`` the CIDs of records that were erased since, one a line; ``lock``; ``work/``
what is made meanwhile. Folders 0700, files 0600. Keys are never here.

Promises: a list is written when all its parts are durable and read back; a backup that was cut short leaves
the older ones whole, and the next one clears what it left. Blocking; raises ``Misconfigured`` (not a backup
folder, another node's, in use), ``CorruptState``, ``Unavailable`` (the disk).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from node.core.errors import BadInput, CorruptState, Misconfigured, NotFound, Unavailable
from node.core.files import DISK, FILE_MODE, own_directory, translated
from node.store.backup.manifest import FORMAT, ID, MANIFEST_BYTES_MAX, Kept, Manifest, other_format
from node.store.backup.parts import PART_BYTES, Parts

MARKER = "neuroswarm-backup"
_MARKER_BYTES_MAX = 4_096
ERASED = "erased"
ERASED_BYTES_MAX = 2**30


class BackupFolder:
    """One folder. ``open`` makes it; ``at`` takes one that is there."""

    def __init__(self, path: Path, root: str) -> None:
        self.path = path
        self.root = root
        self.parts = Parts(path / "parts")
        self.work = path / "work"

    @classmethod
    def open(cls, path: Path, root: str) -> BackupFolder:
        """The backup folder of the node ``root``, made where there is nothing."""
        with translated(f"the backup folder {path} cannot be used"):
            begun = {f".{MARKER}.new"}  # what is there of a first backup that was cut short
            if not path.is_dir() or not {one.name for one in path.iterdir()} - begun:
                own_directory(path)
                DISK.replace(path / MARKER, f"{FORMAT}\n{root}\n".encode())
        folder = cls.at(path)
        if folder.root != root:
            raise Misconfigured(
                f"{path} holds the backups of another node, {folder.root}: name another folder"
            )
        with translated(f"the backup folder {path} cannot be used"):
            for name in ("parts", "backups", "work"):
                DISK.make_directory(path / name)
        return folder

    @classmethod
    def at(cls, path: Path) -> BackupFolder:
        """A backup folder that is there. Raises ``BadInput``."""
        with translated(f"the backup folder {path} cannot be read"):
            try:
                lines = DISK.read(path / MARKER, _MARKER_BYTES_MAX).decode("ascii", "replace").split("\n")
            except (FileNotFoundError, NotADirectoryError) as exc:
                raise BadInput(f"{path} is no backup folder: it has no {MARKER}", field="folder") from exc
        if lines[0] != FORMAT or len(lines) < 2:
            raise BadInput(f"{path}: {other_format(lines[0])}", field="folder")
        return cls(path, lines[1])

    @contextmanager
    def held(self) -> Iterator[None]:
        """For one writer; what a killed one left in ``work`` is cleared. Raises ``Unavailable``."""
        with translated(f"the backup folder {self.path} cannot be used"):
            try:
                lock = DISK.lock(self.path / "lock")
            except BlockingIOError as exc:
                raise Unavailable(f"another backup into {self.path} is under way; try again later") from exc
        try:
            with translated(f"the backup folder {self.path} cannot be used"):
                shutil.rmtree(self.work, ignore_errors=True)
                DISK.make_directory(self.work)
                yield
        finally:
            self.parts.abandon()
            shutil.rmtree(self.work, ignore_errors=True)
            DISK.close(lock)

    # --- the backups ------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The ids of the backups, the oldest first."""
        with (
            translated(f"the backup folder {self.path} cannot be read"),
            contextlib.suppress(FileNotFoundError),
        ):
            return [name for name in DISK.names(self.path / "backups") if ID.fullmatch(name)]
        return []

    def next_name(self, now: datetime) -> str:
        """The id of the next backup."""
        names = self.names()
        number = 1 + (int(names[-1].partition("-")[0]) if names else 0)
        return f"{number:06}-{now:%Y%m%dT%H%M%SZ}"

    def read(self, name: str) -> Manifest:
        """One backup. Raises ``NotFound``, ``CorruptState``."""
        if not ID.fullmatch(name):
            raise BadInput(f"{name[:64]!r} is no name of a backup", field="at")
        path = self.path / "backups" / name
        with translated(f"{path} cannot be read"):
            try:
                data = DISK.read(path, MANIFEST_BYTES_MAX)
            except FileNotFoundError as exc:
                raise NotFound(f"there is no backup {name} in {self.path}") from exc
        return Manifest.decode(data, name)

    def write(self, manifest: Manifest) -> None:
        """Enter a backup, all of whose parts were put, or another version of one."""
        self.parts.settle()
        DISK.replace(self.path / "backups" / manifest.id, manifest.encode())

    def keep(self, most: int) -> list[str]:
        """Delete all but the newest ``most`` backups, and the parts that none of the others has; which
        backups went. A backup whose list is damaged stays, and while one does no part is deleted."""
        gone = self.names()[:-most]
        for name in gone:
            (self.path / "backups" / name).unlink()
        DISK.sync_directory(self.path / "backups")
        try:
            self.parts.clear({part for name in self.names() for part in self.read(name).parts()})
        except CorruptState as exc:
            raise CorruptState(f"{exc}; nothing is cleared in {self.path} before it is taken away") from exc
        return gone

    # --- files in and out -------------------------------------------------------------------------

    def put(self, path: str, file: Path, *, stamp: int = 0, stop: threading.Event | None = None) -> Kept:
        """Put a file in, part by part."""
        names: list[str] = []
        size = 0
        with file.open("rb") as reading:
            while data := reading.read(PART_BYTES):
                if stop is not None and stop.is_set():
                    raise Unavailable("the backup was stopped")
                names.append(self.parts.put(data))
                size += len(data)
        return Kept(path, size, stamp, tuple(names))

    def put_bytes(self, path: str, data: bytes) -> Kept:
        """Put a small file in that was read as a whole."""
        pieces = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
        return Kept(path, len(data), 0, tuple(map(self.parts.put, pieces)))

    def take(self, kept: Kept, target: Path) -> None:
        """Write a file of a backup to a path where nothing lies, each part checked. Raises ``NotFound``,
        ``CorruptState``."""
        with translated(f"{target} cannot be written"):
            DISK.make_directories(target.parent)
            descriptor = DISK.create(target)
            try:
                at = 0
                for data in self._parts_of(kept):
                    DISK.write(descriptor, data, at)
                    at += len(data)
                DISK.sync(descriptor)
            finally:
                DISK.close(descriptor)
        if at != kept.size:
            raise CorruptState(f"{kept.path} has {at} bytes in the backup, not the {kept.size} that it says")

    def check(self, manifest: Manifest) -> None:
        """Read every part of a backup. Raises ``NotFound``, ``CorruptState``."""
        seen: set[str] = set()
        with translated(f"the backup folder {self.path} cannot be read"):
            for kept in manifest.files:
                new = [name for name in kept.parts if name not in seen]
                for _ in self._parts_of(replace(kept, parts=tuple(new))):
                    pass
                seen.update(new)

    def _parts_of(self, kept: Kept) -> Iterator[bytes]:
        """Raises ``NotFound``, ``CorruptState``, which name the file of the backup."""
        for name in kept.parts:
            try:
                yield self.parts.get(name)
            except NotFound as exc:
                raise NotFound(f"{kept.path} is not whole in the backup: {exc}") from exc
            except CorruptState as exc:
                raise CorruptState(f"{kept.path} is not whole in the backup: {exc}") from exc

    # --- what was erased --------------------------------------------------------------------------

    def erased(self) -> list[str]:
        """The CIDs of records that were erased since, the oldest first."""
        return read_erased(self.path / ERASED)

    def note_erased(self, cids: Sequence[str]) -> None:
        """Enter records that were erased, durably."""
        add_erased(self.path / ERASED, cids)


def read_erased(path: Path) -> list[str]:
    """The lines of a list of erased records, also one that was cut short. Raises ``Unavailable``."""
    with translated(f"{path} cannot be read"), contextlib.suppress(FileNotFoundError):
        return DISK.read(path, ERASED_BYTES_MAX).decode("ascii", "replace").split("\n")[1:]
    return []


def add_erased(path: Path, cids: Sequence[str]) -> None:
    """Append to a list of erased records, durably. Raises ``Unavailable``."""
    if not cids:
        return
    with translated(f"{path} cannot be written"):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "ab") as file:
            # The line end first: a line that a crash cut short spoils no other.
            file.write("".join(f"\n{cid}" for cid in cids).encode())
            file.flush()
            DISK.sync(file.fileno())
        # Also where the file was there: whoever made it may have been killed before this.
        DISK.sync_directory(path.parent)
