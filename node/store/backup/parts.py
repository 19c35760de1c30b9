"""The parts of backups: bytes under the name of their SHA-256, each kept once however many backups hold it.

Promises: a part is whole or not there; what ``settle`` returned from is durable and was read back from the
disk; what is read is hashed again. Blocking; one writer at a time (``folder.held``). Must not know what the
parts are of.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Set
from pathlib import Path

from node.core.errors import CorruptState, NotFound
from node.core.files import DISK

PART_BYTES = 128 * 2**10
"""Of a large file. A part is copied again where one of its pages changed."""
_UNSYNCED_MAX = 64
"""Files written before the first of them is synced: syncs then share the disk's work."""
_NAME = re.compile(r"[0-9a-f]{64}", re.ASCII)


def is_name(text: object) -> bool:
    """Whether an untrusted text may name a part."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


class Parts:
    """The folder ``parts`` of a backup folder. Methods raise ``OSError``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._unsynced: list[tuple[int, str]] = []
        self._folders: set[Path] = set()
        self.new: dict[str, int] = {}
        """The bytes of each part that was not there before."""

    def put(self, data: bytes) -> str:
        """Keep a part; its name. Durable after ``settle``."""
        name = hashlib.sha256(data).hexdigest()
        path = self._path(name)
        if self._has(path, len(data)):
            self._folders.add(path.parent)  # a killed writer may have put it there, and not synced its name
            return name
        DISK.make_directories(path.parent)
        aside = path.with_name(f".{name}.new")
        aside.unlink(missing_ok=True)
        descriptor = DISK.create(aside)
        try:
            DISK.write(descriptor, data, 0)
        except BaseException:
            DISK.close(descriptor)
            aside.unlink(missing_ok=True)
            raise
        self._unsynced.append((descriptor, name))
        self.new[name] = len(data)
        if len(self._unsynced) >= _UNSYNCED_MAX:
            self._land()
        return name

    def settle(self) -> None:
        """What was put is durable, and on the disk as it was given. Raises ``CorruptState``."""
        self._land()
        while self._folders:
            DISK.sync_directory(self._folders.pop())

    def abandon(self) -> None:
        """Forget what was not settled."""
        while self._unsynced:
            descriptor, name = self._unsynced.pop()
            with contextlib.suppress(OSError):
                DISK.close(descriptor)
            self._path(name).with_name(f".{name}.new").unlink(missing_ok=True)

    def get(self, name: str) -> bytes:
        """Raises ``NotFound``, ``CorruptState``."""
        try:
            data = self._path(name).read_bytes()
        except FileNotFoundError as exc:
            raise NotFound(f"the part {name} of the backup is missing") from exc
        if hashlib.sha256(data).hexdigest() != name:
            raise CorruptState(f"the part {name} of the backup is damaged")
        return data

    def clear(self, kept: Set[str]) -> int:
        """Delete all parts but these; how many went. What a killed writer left goes too."""
        gone = 0
        for folder in self._each():
            for entry in list(folder.iterdir()):
                if entry.name not in kept:
                    entry.unlink()
                    gone += is_name(entry.name)
        return gone

    def _each(self) -> Iterator[Path]:
        with contextlib.suppress(FileNotFoundError):
            yield from [one for one in self._directory.iterdir() if one.is_dir()]

    def _land(self) -> None:
        while self._unsynced:
            descriptor, name = self._unsynced[-1]
            path = self._path(name)
            aside = path.with_name(f".{name}.new")
            DISK.sync(descriptor)
            # Out of the system's memory, so that what is read next comes from the disk.
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            self._unsynced.pop()
            DISK.close(descriptor)
            if hashlib.sha256(aside.read_bytes()).hexdigest() != name:
                aside.unlink()
                raise CorruptState(f"{path} is not on the disk as it was written; is the medium damaged?")
            DISK.rename(aside, path)
            self._folders.add(path.parent)

    def _has(self, path: Path, size: int) -> bool:
        if any(path.name == name for _, name in self._unsynced):
            return True  # the same bytes came a moment ago
        try:
            return path.stat().st_size == size
        except FileNotFoundError:
            return False

    def _path(self, name: str) -> Path:
        return self._directory / name[:2] / name
