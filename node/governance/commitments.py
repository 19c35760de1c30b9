"""The keys of the log's commitments, in a file apart so that each can be destroyed.

Format ``neuroswarm/keys/v1``: 32 bytes of that name and zeros, 32 bytes that bind the file to its log
(``chain.genesis`` of the origin), then 32 bytes for each entry: its random key, or zeros where there is none
or where it was destroyed. A key is destroyed by overwriting it in place and syncing; copies that a backup or
a copy-on-write file system made are outside this program's reach. The file is for its owner only (0600) and
stays out of backups.

Blocking; one owner at a time. Must not know what is committed to.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from node.errors import CorruptState
from node.governance.chain import KEY_BYTES, genesis

_MAGIC = b"neuroswarm/keys/v1\n".ljust(KEY_BYTES, b"\0")
_HEADER_BYTES = 2 * KEY_BYTES
_NONE = bytes(KEY_BYTES)


def sync_directory(path: Path) -> None:
    """Make a creation or rename in ``path`` durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes, offset: int) -> None:
    """``pwrite`` until everything is written. Raises ``OSError``; then some of it may be on disk."""
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written


class KeyTable:
    """Keys by entry index. What changes something has synced when it returns. All raise ``OSError``."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def open(cls, path: Path, origin: str) -> KeyTable:
        """Open or create. Raises ``CorruptState`` for a file that is no key table of this log."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            header = _MAGIC + bytes.fromhex(genesis(origin))
            found = os.pread(fd, _HEADER_BYTES, 0)
            if len(found) < _HEADER_BYTES and header.startswith(found):
                write_all(fd, header, 0)
                os.fsync(fd)
                sync_directory(path.parent)
            elif found != header:
                raise CorruptState(
                    f"{path} is not the key table of the log {origin}; move it away to begin a new one"
                )
        except BaseException:
            os.close(fd)
            raise
        return cls(fd)

    def count(self) -> int:
        """How many whole slots the file has, used or not."""
        return max(0, os.fstat(self._fd).st_size - _HEADER_BYTES) // KEY_BYTES

    def write(self, first: int, keys: Sequence[bytes | None]) -> None:
        """Set the keys of the entries from ``first`` on."""
        if self.count() <= first and not any(keys):
            return
        write_all(self._fd, b"".join(key or _NONE for key in keys), self._offset(first))
        os.fsync(self._fd)

    def get(self, index: int) -> bytes | None:
        """The key of an entry, or None when it has none (any more)."""
        key = os.pread(self._fd, KEY_BYTES, self._offset(index))
        return key if len(key) == KEY_BYTES and key != _NONE else None

    def destroy(self, index: int) -> bool:
        """Overwrite the key of an entry; True if there was one."""
        if self.get(index) is None:
            return False
        write_all(self._fd, _NONE, self._offset(index))
        os.fsync(self._fd)
        return True

    def truncate(self, count: int) -> None:
        """Drop the keys of the entries from ``count`` on: a batch that never became entries."""
        length = self._offset(min(count, self.count()))
        if os.fstat(self._fd).st_size > length:
            os.ftruncate(self._fd, length)
            os.fsync(self._fd)

    def close(self) -> None:
        os.close(self._fd)

    @staticmethod
    def _offset(index: int) -> int:
        return _HEADER_BYTES + index * KEY_BYTES
