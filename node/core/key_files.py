"""The private directory of this node's keys: whole files, readable by their owner alone.

Promises: a file is created whole or not at all, and synced with its directory; one that others may read is
refused; what is deleted is overwritten first. Raises ``Misconfigured`` (permissions, the disk) and
``CorruptState`` (a file that this program did not write). Must not know what the keys are for.
"""

from __future__ import annotations

import contextlib
import os
import stat
from contextlib import AbstractContextManager
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from node.core.clock import random_bytes
from node.core.errors import CorruptState, Misconfigured
from node.core.files import DISK, translated

_FILE_BYTES_MAX = 16 * 1024


def new_key() -> Ed25519PrivateKey:
    """A fresh Ed25519 key."""
    return Ed25519PrivateKey.from_private_bytes(random_bytes(32))


def pem(key: Ed25519PrivateKey) -> bytes:
    """The key as its file holds it (PKCS8)."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class KeyFiles:
    """The files in ``directory``, which is made where it is missing."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with translated(f"the key directory {directory} cannot be used", Misconfigured):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = stat.S_IMODE(directory.stat().st_mode)
        if mode & 0o077:
            raise Misconfigured(
                f"the key directory {directory} is open to others (mode {mode:04o}): "
                f"run chmod 700 {directory}"
            )

    def has(self, name: str) -> bool:
        return (self.directory / name).exists()

    def read(self, name: str) -> bytes | None:
        """The file's bytes, or None where there is no such file."""
        path = self.directory / name
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with _translated(path, "read"):
            try:
                fd = os.open(path, flags)
            except FileNotFoundError:
                return None
            with os.fdopen(fd, "rb") as file:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise Misconfigured(f"the key file {path} is not a regular file")
                if status.st_mode & 0o077:
                    raise Misconfigured(
                        f"the key file {path} can be read by others "
                        f"(mode {stat.S_IMODE(status.st_mode):04o}): run chmod 600 {path}, "
                        "and rotate the key if somebody may have read it"
                    )
                data = file.read(_FILE_BYTES_MAX + 1)
        if len(data) > _FILE_BYTES_MAX:
            raise CorruptState(f"{path} is over {_FILE_BYTES_MAX} bytes: not a file of this program")
        return data

    def read_key(self, name: str) -> Ed25519PrivateKey | None:
        data = self.read(name)
        if data is None:
            return None
        try:
            key = load_pem_private_key(data, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
            raise CorruptState(
                f"{self.directory / name} is not an unencrypted private key; restore it from a backup"
            ) from exc
        if not isinstance(key, Ed25519PrivateKey):
            raise CorruptState(f"{self.directory / name} is not an Ed25519 key; restore it from a backup")
        return key

    def create_key(self, name: str) -> Ed25519PrivateKey:
        key = new_key()
        self.create(name, pem(key))
        return key

    def names(self, prefix: str) -> list[str]:
        """What lies here under names that begin so, without the last suffix."""
        with translated(f"the key directory {self.directory} cannot be read", Misconfigured):
            found = DISK.names(self.directory)
        return sorted({name.rpartition(".")[0] for name in found if name.startswith(prefix)})

    def rename(self, name: str, to: str) -> None:
        """Put a file in the place of another, durably."""
        with _translated(self.directory / to, "written"):
            DISK.rename(self.directory / name, self.directory / to)
            DISK.sync_directory(self.directory)

    def delete(self, *names: str) -> None:
        """Overwrite and remove files in this order; absent ones are passed over. A certificate goes before
        its key: a key without one is deleted at the next start, whatever is left of it."""
        for name in names:
            path = self.directory / name
            with _translated(path, "deleted"), contextlib.suppress(FileNotFoundError):
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))
                    file.flush()
                    os.fsync(file.fileno())
                path.unlink()
        with _translated(self.directory, "written"):
            DISK.sync_directory(self.directory)

    def create(self, name: str, data: bytes) -> None:
        """A new file that must not exist yet."""
        with _translated(self.directory / name, "created"):
            DISK.add(self.directory / name, data, 0o600)

    def replace(self, name: str, data: bytes) -> None:
        """New contents for a file that is not a secret's only copy."""
        with _translated(self.directory / name, "written"):
            DISK.replace(self.directory / name, data, 0o600)


def _translated(path: Path, what: str) -> AbstractContextManager[None]:
    return translated(f"the key file {path} cannot be {what}", Misconfigured)
