"""The keys of private records, one each, in a file apart from the records, and what is done with them.

Promises: a key is on disk before anything is sealed with it; what is destroyed is overwritten where it lies
and synced, so that no copy of it is left in this file; sealed bytes open only under the record that they were
sealed for. Backups leave the ``keys`` folder out, and so hold no private record that anybody can read.

Format ``neuroswarm/record-keys/v1``: 32 bytes of that name and zeros, 32 random bytes that name the file, 32
random bytes from which names of look-ups are made (``mark``), SHA-256 of these 96 bytes; then slots of 32
bytes, each a random key for AES-256-GCM or zeros, numbered from 0 (zeros in its first half say the same: its
destruction was cut off). Not SQLite, whose pages and write-ahead log keep copies of what was moved: a key has
to lie in one place only. The file is for its owner only (0600).

Sealed bytes: nonce (12 random bytes), ciphertext, tag (16 bytes); associated data are
``neuroswarm/sealed/v1`` LF, what it is, LF, and the record's multihash.

Blocking. What changes keys is for one thread, reading for any. Must not know what is sealed, or where the
sealed bytes lie.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from node.core.clock import random_bytes
from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.files import DISK, translated

_log = logging.getLogger(__name__)

KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
AHEAD = 256
"""Keys that are made and synced at once, ahead of the records that will need them."""
RESTING = 1_024
"""Slots whose key was destroyed last, which are not used anew yet: more than go while somebody reads."""

SLOTS_MAX = 2**24
"""Half a gibibyte: more private records than one file is for."""
FREE_MAX = 65_536
"""Free slots that are remembered; the others wait for the next start."""

_MAGIC = b"neuroswarm/record-keys/v1\n".ljust(KEY_BYTES, b"\0")
_HEADER_BYTES = 4 * KEY_BYTES
_NO_KEY = bytes(KEY_BYTES)
_NO_HALF = bytes(KEY_BYTES // 2)
"""A key that begins so was being destroyed: a disk that fails can do a write by half."""
_LOST = b"\xff" * KEY_BYTES
_SLOTS_AT_ONCE = 8_192
_SEALED = b"neuroswarm/sealed/v1\n"


class RecordKeys:
    """The key file of one block store. It is made when the first key is needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._index_key = b""
        self._count = 0
        self._ahead: list[tuple[int, bytes]] = []
        self._free: list[int] = []
        self._resting: deque[int] = deque()
        self._taken: list[int] = []
        self._begun: set[int] = set()
        self.name = b""
        self.was_empty = False
        self.trouble = ""
        """Why the disk took no new key when it was last asked to, empty where it did."""

    @classmethod
    def open(cls, path: Path) -> RecordKeys:
        """Read the file if there is one. One without a byte in it, which a person makes to go on without the
        keys that were lost, becomes a new one (``was_empty``). Raises ``CorruptState``, ``Unavailable``."""
        keys = cls(path)
        try:
            if path.exists():
                keys.was_empty = path.stat().st_size == 0
                if keys.was_empty:
                    keys._begin()
                else:
                    keys._load()
        except OSError as exc:
            keys.close()
            raise keys._unavailable(exc) from exc
        except CorruptState:
            keys.close()
            raise
        return keys

    @property
    def path(self) -> Path:
        return self._path

    @property
    def is_here(self) -> bool:
        """Whether there is a key file: without one nothing was ever sealed."""
        return self._fd >= 0

    # --- names ------------------------------------------------------------------------------------

    def mark(self, column: str, value: str) -> str:
        """A name that stands for ``value`` in look-ups by ``column`` and says nothing of it to whoever lacks
        the key file: ``~`` and 64 hex digits. Needs the file (``begin``)."""
        text = f"{column}\0{value}".encode("utf-8", "surrogatepass")
        return "~" + hmac.digest(self._index_key, text, "sha256").hex()

    # --- sealing ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make the file if there is none. Raises ``Unavailable``."""
        if not self.is_here:
            try:
                self._begin()
            except OSError as exc:
                self.trouble = exc.strerror or str(exc)
                raise self._unavailable(exc) from exc

    def seal(self, what: bytes, multihash: bytes, data: bytes) -> tuple[int, bytes]:
        """(slot of a fresh key, sealed bytes). The key is durable on return. Raises ``Unavailable``."""
        slot, key = self._take()
        nonce = random_bytes(NONCE_BYTES)
        return slot, nonce + AESGCM(key).encrypt(nonce, data, _about(what, multihash))

    def unseal(self, what: bytes, multihash: bytes, slot: int, sealed: bytes) -> bytes:
        """What was sealed. Raises ``NotFound`` where the key was destroyed, ``CorruptState`` where it is lost
        or the bytes are not those that were sealed."""
        key = self._key(slot)
        if key is None:
            raise NotFound("its key was destroyed")
        try:
            return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _about(what, multihash))
        except (InvalidTag, ValueError) as exc:
            raise CorruptState(
                f"the sealed bytes do not open with key {slot} of {self._path}: they are damaged, or the key "
                "file is older than they are; put the newest copy of it back"
            ) from exc

    # --- the life of keys -------------------------------------------------------------------------

    def claim(self, used: Iterable[int]) -> frozenset[int]:
        """Tell which slots the store names; all others may be used anew. Returns those of ``used`` whose key
        was destroyed: their erasure was begun. A file that is shorter than the store (an older copy) is made
        as long, so that no slot of a lost key is given to another record. Raises ``Unavailable``."""
        named = frozenset(used)
        if self.is_here and named:
            self._mark_lost(max(named) + 1)
        self._free = list(islice((slot for slot in range(self._count) if slot not in named), FREE_MAX))
        self._ahead.clear()
        self._resting.clear()
        destroyed: set[int] = set()
        try:
            for first in range(0, self._count, _SLOTS_AT_ONCE):
                data = os.pread(self._fd, _SLOTS_AT_ONCE * KEY_BYTES, _offset(first))
                at = data.find(_NO_HALF)
                while at >= 0:
                    inside, off = divmod(at, KEY_BYTES)
                    if off == 0 and first + inside in named:
                        destroyed.add(first + inside)
                    at = data.find(_NO_HALF, at + KEY_BYTES - off)
        except OSError as exc:
            raise self._unavailable(exc) from exc
        return frozenset(destroyed)

    def destroy(self, slots: Sequence[int]) -> None:
        """Overwrite these keys; they are gone from the disk on return. Raises ``Unavailable``: those of
        ``begun`` open nothing from then on either, and have to be destroyed again."""
        try:
            for slot in slots:
                if slot < self._count:
                    self._begun.add(slot)
                    DISK.write(self._fd, _NO_KEY, _offset(slot))
            if slots and self.is_here:
                DISK.sync(self._fd)
        except OSError as exc:
            raise self._unavailable(exc) from exc
        self._begun -= set(slots)

    @property
    def begun(self) -> frozenset[int]:
        """Slots that the disk may have overwritten in part: their destruction failed half-way."""
        return frozenset(self._begun)

    def free(self, slots: Iterable[int]) -> None:
        """Nothing names these slots any more: they may be used anew, once the readers have ended who still
        see what named them."""
        self._resting += [slot for slot in slots if slot < self._count]
        while len(self._resting) > RESTING:
            self._free.append(self._resting.popleft())

    @property
    def taken(self) -> int:
        """Slots that were handed out since ``settle``."""
        return len(self._taken)

    def give_back(self, taken: int = 0) -> None:
        """What was handed out since ``taken`` slots were is named by nothing: it was rolled back."""
        self._free += self._taken[taken:]
        del self._taken[taken:]

    def try_again(self) -> None:
        """Where the disk took no new keys, have it take some. Raises ``Unavailable``."""
        if self.trouble and not self._ahead:
            self.begin()
            self._make_ahead()

    def settle(self) -> None:
        """What was handed out is named for good."""
        self._taken.clear()

    def close(self) -> None:
        """Idempotent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    # --- inside -----------------------------------------------------------------------------------

    def _mark_lost(self, count: int) -> None:
        """The file has room for at least ``count`` keys; those that were missing open nothing, and are not
        taken for destroyed ones. Raises ``Unavailable``."""
        if count <= self._count:
            return
        _log.warning(
            "event=record_keys_lost count=%d: put the newest copy of %s back", count - self._count, self._path
        )
        try:
            DISK.write(self._fd, _LOST * (count - self._count), _offset(self._count))
            DISK.sync(self._fd)
        except OSError as exc:
            raise self._unavailable(exc) from exc
        self._count = count

    def _begin(self) -> None:
        """A new file, whole or not at all; never in the place of one that another store made meanwhile."""
        if self._path.exists() and self._path.stat().st_size:
            raise Unavailable(f"the record keys {self._path} were made by another block store meanwhile")
        DISK.make_directories(self._path.parent, 0o700)
        body = _MAGIC + random_bytes(KEY_BYTES) + random_bytes(KEY_BYTES)
        DISK.replace(self._path, body + hashlib.sha256(body).digest(), 0o600)
        self._load()

    def _load(self) -> None:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        os.fchmod(self._fd, 0o600)
        header = os.pread(self._fd, _HEADER_BYTES, 0)
        body = header[: 3 * KEY_BYTES]
        if not header.startswith(_MAGIC) or hashlib.sha256(body).digest() != header[3 * KEY_BYTES :]:
            raise CorruptState(
                f"{self._path} is damaged or no file of record keys; put a sound copy of it back, or empty "
                f"it (`: > {self._path}`) to go on without the private records that it opens"
            )
        self.name, self._index_key = body[KEY_BYTES : 2 * KEY_BYTES], body[2 * KEY_BYTES :]
        self._count = (os.fstat(self._fd).st_size - _HEADER_BYTES) // KEY_BYTES
        if self._count > SLOTS_MAX:
            raise CorruptState(
                f"{self._path} was not written here: it has room for more than {SLOTS_MAX} keys; put the "
                "newest copy of it back"
            )

    def _take(self) -> tuple[int, bytes]:
        self.begin()
        if not self._ahead:
            self._make_ahead()
        slot, key = self._ahead.pop()
        self._taken.append(slot)
        return slot, key

    def _make_ahead(self) -> None:
        """New keys in free slots and behind the last one, on disk with one sync."""
        slots, self._free = self._free[-AHEAD:], self._free[:-AHEAD]
        made = [(slot, random_bytes(KEY_BYTES)) for slot in slots]
        tail = [random_bytes(KEY_BYTES) for _ in range(AHEAD - len(slots))]
        try:
            for slot, key in made:
                DISK.write(self._fd, key, _offset(slot))
            DISK.write(self._fd, b"".join(tail), _offset(self._count))
            DISK.sync(self._fd)
        except OSError as exc:
            self._free += slots
            self.trouble = exc.strerror or str(exc)
            raise self._unavailable(exc) from exc
        self.trouble = ""
        made += enumerate(tail, self._count)
        self._count += len(tail)
        self._ahead = made[::-1]

    def _key(self, slot: int) -> bytes | None:
        """None: destroyed. Raises ``CorruptState``."""
        with translated(f"key {slot} of {self._path} cannot be read", CorruptState):
            key = os.pread(self._fd, KEY_BYTES, _offset(slot)) if self.is_here else b""
        if len(key) < KEY_BYTES or key == _LOST:
            raise CorruptState(
                f"{self._path} holds no key {slot}: it is older than the records; put the newest copy back"
            )
        return None if key.startswith(_NO_HALF) or slot in self._begun else key

    def _unavailable(self, exc: OSError) -> Unavailable:
        return Unavailable(f"the record keys {self._path} cannot be used now: {exc.strerror}")


def _offset(slot: int) -> int:
    return _HEADER_BYTES + slot * KEY_BYTES


def _about(what: bytes, multihash: bytes) -> bytes:
    return _SEALED + what + b"\n" + multihash
