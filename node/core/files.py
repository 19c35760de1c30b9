"""Durable files: each call to the system, and the few safe ways of joining them.

Promises: a method that changes the disk does one thing, blocks, and raises ``OSError`` as the system does;
what is durable is said by ``sync`` (a file's bytes) and ``sync_directory`` (the names in it) and by nothing
else. A log's journal and publisher do all their file work through one ``Files``, so that tests can hand in
one whose calls fail, tear or lose what was not synced. Must not know: what the files mean.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from node.core.errors import Misconfigured, NodeError, Unavailable

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
"""What a node writes is for its owner alone, unless a setting says otherwise."""
_log = logging.getLogger("neuroswarm.files")

_NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EINVAL)


class Files:
    """The real disk."""

    # --- single calls ---

    def lock(self, path: Path) -> int:
        """Take the file's exclusive lock until ``close``.

        Raises ``BlockingIOError`` where another holds it.
        """
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def create(self, path: Path, mode: int = FILE_MODE) -> int:
        """A new, empty file. Raises ``FileExistsError``: what another name may lead to is never truncated."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)

    def reopen(self, path: Path) -> int:
        """An existing file, for ``truncate`` and ``sync``."""
        return os.open(path, os.O_WRONLY | os.O_CLOEXEC)

    def write(self, fd: int, data: bytes, offset: int) -> None:
        """All of ``data`` from ``offset`` on; when it raises, some of it may have been written."""
        view = memoryview(data)
        while view:
            written = os.pwrite(fd, view, offset)
            view = view[written:]
            offset += written

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def sync(self, fd: int) -> None:
        """Make the file's bytes durable. After a failure nothing written before it may be relied on."""
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def rename(self, old: Path, new: Path) -> None:
        """Atomic; replaces ``new``."""
        old.replace(new)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def make_directory(self, path: Path, mode: int = DIRECTORY_MODE) -> bool:
        """One directory; False where it was there."""
        try:
            path.mkdir(mode=mode)
        except FileExistsError:
            if not path.is_dir():
                raise
            return False
        return True

    def remove_directory(self, path: Path) -> None:
        path.rmdir()

    def sync_directory(self, path: Path) -> None:
        """Make the names in ``path`` durable."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def names(self, path: Path) -> list[str]:
        """The names in a directory, sorted. Raises ``FileNotFoundError``."""
        return sorted(entry.name for entry in path.iterdir())

    def read(self, path: Path, bytes_max: int) -> bytes:
        """At most ``bytes_max`` + 1 bytes of a file, so that a longer one shows.

        Raises ``FileNotFoundError``.
        """
        with path.open("rb") as file:
            return file.read(bytes_max + 1)

    # --- joined ---

    def make_directories(self, path: Path, mode: int = DIRECTORY_MODE) -> None:
        """The directory, with ``mode``, and those above it that are missing; each name on the way is durable.

        Also the names that are there: an earlier process may have made them and been killed before its sync.
        """
        path = path.absolute()
        for directory in [*reversed(path.parents[:-1]), path]:
            is_new = self.make_directory(directory, mode if directory == path else DIRECTORY_MODE)
            try:
                self.sync_directory(directory.parent)
            except OSError as exc:
                # What is above a mount point can be beyond reading or writing: nothing of ours waits in it.
                if is_new or exc.errno not in _NOT_OURS:
                    raise

    def replace(self, path: Path, data: bytes, mode: int = FILE_MODE) -> None:
        """New contents for ``path``, durable on return; at any moment the old or the new ones are there,
        whole."""
        self.rename(self._write_aside(path, data, mode), path)
        self.sync_directory(path.parent)

    def add(self, path: Path, data: bytes, mode: int = FILE_MODE) -> None:
        """A new file, whole and durable on return. Raises ``FileExistsError``: what is there stays."""
        aside = self._write_aside(path, data, mode)
        try:
            os.link(aside, path)
        finally:
            self.unlink(aside)
        self.sync_directory(path.parent)

    def _write_aside(self, path: Path, data: bytes, mode: int) -> Path:
        aside = path.with_name(f".{path.name}.new")
        with contextlib.suppress(FileNotFoundError):
            self.unlink(aside)
        fd = self.create(aside, mode)
        try:
            self.write(fd, data, 0)
            self.sync(fd)
        except OSError:
            with contextlib.suppress(OSError):
                self.unlink(aside)
            raise
        finally:
            self.close(fd)
        return aside


DISK = Files()


@contextlib.contextmanager
def translated(what: str, error: type[NodeError] = Unavailable) -> Iterator[None]:
    """Errors of the disk leave as ``error``, which says ``what`` could not be done."""
    try:
        yield
    except OSError as exc:
        raise error(f"{what}: {exc.strerror or exc}") from exc


def put(path: Path, data: bytes) -> None:
    """A file for its owner alone, in the place of the one before. Raises ``Unavailable``."""
    with translated(f"{path} cannot be written"):
        DISK.replace(path, data)


def own_directory(path: Path, mode: int = DIRECTORY_MODE) -> None:
    """The directory, with those above it that are missing, and with ``mode`` also where it was there: an
    older program left it open to everybody. One of another owner keeps its mode. Raises ``Misconfigured``."""
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as exc:
        raise Misconfigured(f"cannot create the directory {path}: {exc.strerror}") from exc
    try:
        path.chmod(mode)
    except OSError as exc:
        _log.warning("the mode of %s stays as it is: %s; others may read in it", path, exc.strerror)
