"""The keys of the log's commitments, in a file apart so that each can be destroyed.

Format ``neuroswarm/keys/v2``: 32 bytes of that name and zeros, 32 bytes that bind the file to its log
(SHA-256 of ``neuroswarm/keys/v2`` LF and the log's origin), then for each leaf a slot of 72 bytes: its random
key of 32 bytes, or zeros where there is none or where it was destroyed, and up to ten tags of 4 bytes, one
for each record that the leaf is about: the first bytes of HMAC-SHA-256(those 32 bytes, CID), never zero. By
the tags an erasure finds the leaves about a record; two records share a tag once in 2^32, and then a key more
than was meant is destroyed. In the slot of a leaf that says that a record was stored or withdrawn the last 32
bytes are the digest of that record's CID in place of tags: what the store lacks can then be named.

A key is destroyed by overwriting its slot in place and syncing; copies that a backup or a copy-on-write file
system made are outside this program's reach. The file is for its owner only (0600) and stays out of backups.

Blocking; calls from several threads wait for each other. Must not know what is committed to.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from node.audit.tlog.leaf import KEY_BYTES
from node.core.errors import CorruptState
from node.core.files import DISK

TAGS_MAX = 10
TAG_BYTES = 4
SLOT_BYTES = KEY_BYTES + TAGS_MAX * TAG_BYTES
SUBJECT_BYTES = 32

_MAGIC = b"neuroswarm/keys/v2\n"
_HEADER_BYTES = 2 * KEY_BYTES
_NONE = bytes(SLOT_BYTES)
_NO_KEY = bytes(KEY_BYTES)
_SLOTS_AT_ONCE = 4_096


class KeyTable:
    """Keys by leaf index. What changes something has synced when it returns. All raise ``OSError``."""

    def __init__(self, fd: int, binding: bytes) -> None:
        self._fd = fd
        self._binding = binding
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path, origin: str) -> KeyTable:
        """Open or create. A table without a slot is begun again: a crash, or a sync that failed, leaves the
        beginning of its header or zeros. Raises ``CorruptState`` for a file that is no key table of this log.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        binding = hashlib.sha256(_MAGIC + origin.encode()).digest()
        try:
            header = _MAGIC.ljust(KEY_BYTES, b"\0") + binding
            found = os.pread(fd, _HEADER_BYTES + 1, 0)
            if len(found) <= _HEADER_BYTES and (header.startswith(found) or not any(found)):
                DISK.write(fd, header, 0)
                os.fsync(fd)
                DISK.sync_directory(path.parent)
            elif found[:_HEADER_BYTES] != header:
                raise CorruptState(
                    f"{path} is not the key table of the log {origin}; move it away to begin a new one"
                )
        except BaseException:
            os.close(fd)
            raise
        return cls(fd, binding)

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._fd < 0

    def count(self) -> int:
        """How many whole slots the file has, used or not."""
        return max(0, os.fstat(self._fd).st_size - _HEADER_BYTES) // SLOT_BYTES

    def slot(self, key: bytes | None, about: Sequence[str], subject: bytes = b"") -> bytes:
        """What ``write`` takes for a leaf with this key about the records with these CIDs (``TAGS_MAX`` of
        them at most). ``subject``: the digest of the one that was stored or withdrawn, or nothing; left out
        where there is no room. Any thread."""
        used = (key or _NO_KEY) + b"".join([_tag(self._binding, cid) for cid in about[:TAGS_MAX]])
        subject = subject if len(used) + len(subject) <= SLOT_BYTES else b""
        return used.ljust(SLOT_BYTES - len(subject), b"\0") + subject

    def write(self, first: int, slots: Sequence[bytes | None]) -> None:
        """Set the slots of the leaves from ``first`` on."""
        with self._lock:
            if self.count() <= first and not any(slots):
                return
            DISK.write(self._fd, b"".join(slot or _NONE for slot in slots), self._offset(first))
            os.fsync(self._fd)

    def get(self, index: int) -> bytes | None:
        """The key of a leaf, or None when it has none (any more)."""
        if index < 0:
            return None
        key = os.pread(self._fd, KEY_BYTES, self._offset(index))
        return key if len(key) == KEY_BYTES and key != _NO_KEY else None

    def subject(self, index: int) -> tuple[bytes, bytes] | None:
        """The key of a leaf and where a subject would be, or None when it has no key (any more). Whether it
        is one, the leaf's commitment says."""
        slot = os.pread(self._fd, SLOT_BYTES, self._offset(index))
        key = slot[:KEY_BYTES]
        return (key, slot[-SUBJECT_BYTES:]) if len(slot) == SLOT_BYTES and key != _NO_KEY else None

    def destroy(self, index: int) -> bool:
        """Overwrite the slot of a leaf; True if it had a key."""
        with self._lock:
            if self.get(index) is None:
                return False
            DISK.write(self._fd, _NONE, self._offset(index))
            os.fsync(self._fd)
            return True

    def destroy_about(self, cid: str) -> list[int]:
        """Overwrite the slots of all leaves about a record; their indexes. One pass over the file."""
        with self._lock:
            indexes = self._about(_tag(self._binding, cid))
            for index in indexes:
                DISK.write(self._fd, _NONE, self._offset(index))
            if indexes:
                os.fsync(self._fd)
            return indexes

    def truncate(self, count: int) -> None:
        """Drop the slots of the leaves from ``count`` on: a batch that never became leaves."""
        with self._lock:
            length = self._offset(min(count, self.count()))
            if os.fstat(self._fd).st_size > length:
                os.ftruncate(self._fd, length)
                os.fsync(self._fd)

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _about(self, tag: bytes) -> list[int]:
        found = []
        for first in range(0, self.count(), _SLOTS_AT_ONCE):
            data = os.pread(self._fd, _SLOTS_AT_ONCE * SLOT_BYTES, self._offset(first))
            at = data.find(tag)
            while at >= 0:
                slot, inside = divmod(at, SLOT_BYTES)
                if inside >= KEY_BYTES and (inside - KEY_BYTES) % TAG_BYTES == 0:
                    found.append(first + slot)
                    at = (slot + 1) * SLOT_BYTES - 1
                at = data.find(tag, at + 1)
        return found

    @staticmethod
    def _offset(index: int) -> int:
        return _HEADER_BYTES + index * SLOT_BYTES


@lru_cache(4_096)
def _tag(binding: bytes, cid: str) -> bytes:
    tag = hmac.digest(binding, cid.encode(), "sha256")[:TAG_BYTES]
    return tag if any(tag) else b"\1".ljust(TAG_BYTES, b"\0")
