"""A disk in memory that forgets what was not synced, tears what was being written, and fails on demand.

The model: bytes of a file are durable when ``sync`` has returned after their write; a name, a rename or a
removal is durable when its directory was synced after it. At a power cut each piece of the rest may or may
not be there: blocks of a write, the file's length, names. A failed ``sync`` loses the blocks for good, while
reads still show them.
"""

from __future__ import annotations

import copy
import errno
import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from node.core.files import DIRECTORY_MODE, FILE_MODE, Files

LOSE = "everything not synced is lost"
NAMES = "names survive, bytes are lost"
PAGES = "any pages and names survive"
TORN = "any sectors and names survive"
STYLES = (LOSE, NAMES, PAGES, TORN)


@dataclass(eq=False)
class Inode:
    data: bytearray = field(default_factory=bytearray)
    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)
    """(offset, bytes) of writes and (length, None) of truncations since the last sync."""


@dataclass(eq=False)
class Directory:
    names: dict[str, Inode | Directory] = field(default_factory=dict)
    durable: dict[str, Inode | Directory] = field(default_factory=dict)
    pending: list[tuple[str, Inode | Directory | None, object]] = field(default_factory=list)
    """(name, what it names or None, change): what is of one change survives or is lost as one."""

    def put(self, name: str, target: Inode | Directory | None, change: object = None) -> None:
        if target is None:
            del self.names[name]
        else:
            self.names[name] = target
        self.pending.append((name, target, change or object()))


def put_bytes(data: bytearray, offset: int, what: bytes | None) -> None:
    if what is None:
        del data[offset:]
    else:
        data.extend(bytes(max(0, offset + len(what) - len(data))))
        data[offset : offset + len(what)] = what


class PowerCutError(OSError):
    """What every call raises once the power is off."""


class SimDisk(Files):
    """``cut_at``: the call (counted from 1) during which the power fails.

    ``fails``: (number, kind) → errno or 0.
    """

    def __init__(self, root: Directory | None = None) -> None:
        self.root = root or Directory()
        self.calls = 0
        self.kinds: list[str] = []
        self.cut_at = 0
        self.is_off = False
        self.fails: Callable[[int, str], int] = lambda _number, _kind: 0
        self.renamed: list[tuple[str, bytes]] = []
        """Each file that was put in place: what a reader may have seen, durable or not."""
        self._fds: dict[int, Inode] = {}
        self._last_fd = 1_000
        self._guard = threading.RLock()
        self._locked: dict[int, Inode] = {}

    # --- what tests do to it ---

    def killed(self) -> SimDisk:
        """The process is gone, its page cache is not."""
        disk = SimDisk(self.root)
        self.is_off = True
        return disk

    def copied(self) -> SimDisk:
        """What a backup holds."""
        return SimDisk(copy.deepcopy(self.root))

    def crashed(self, rng: random.Random, style: str) -> SimDisk:
        """What is there when the power is back."""
        self.is_off = True
        return SimDisk(survivor(self.root, rng, style, {}))

    # --- calls ---

    @contextmanager
    def _during(self, kind: str, *, is_cut_first: bool = False) -> Iterator[None]:
        """Count a call, which may fail; at ``cut_at`` the power fails behind what it does, or before."""
        with self._guard:
            if self.is_off:
                raise PowerCutError(errno.EIO, "the power is off")
            self.calls += 1
            self.kinds.append(kind)
            if number := self.fails(self.calls, kind):
                raise OSError(number, os.strerror(number))
            is_cut = self.calls == self.cut_at
            if not (is_cut and is_cut_first):
                yield
            if is_cut:
                self.is_off = True
                raise PowerCutError(errno.EIO, "the power is off")

    def _directory(self, path: Path) -> Directory:
        found: Inode | Directory = self.root
        for part in path.parts[1:]:
            if not isinstance(found, Directory):
                raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))
            if part not in found.names:
                raise FileNotFoundError(errno.ENOENT, "no such directory", str(path))
            found = found.names[part]
        if not isinstance(found, Directory):
            raise NotADirectoryError(errno.ENOTDIR, "not a directory", str(path))
        return found

    def _file(self, path: Path) -> Inode:
        found = self._directory(path.parent).names.get(path.name)
        if not isinstance(found, Inode):
            raise FileNotFoundError(errno.ENOENT, "no such file", str(path))
        return found

    def _open(self, inode: Inode) -> int:
        self._last_fd += 1
        self._fds[self._last_fd] = inode
        return self._last_fd

    def lock(self, path: Path) -> int:
        with self._guard:
            with self._during("lock"):
                parent = self._directory(path.parent)
                if path.name not in parent.names:
                    parent.put(path.name, Inode())
                inode = self._file(path)
                if any(one is inode for one in self._locked.values()):
                    raise BlockingIOError(errno.EAGAIN, "locked")
            fd = self._open(inode)
            self._locked[fd] = inode
            return fd

    def create(self, path: Path, mode: int = FILE_MODE) -> int:
        with self._during("create"):
            parent = self._directory(path.parent)
            if path.name in parent.names:
                raise FileExistsError(errno.EEXIST, "exists", str(path))
            parent.put(path.name, Inode())
            return self._open(self._file(path))

    def reopen(self, path: Path) -> int:
        with self._during("reopen", is_cut_first=True):
            return self._open(self._file(path))

    def write(self, fd: int, data: bytes, offset: int) -> None:
        with self._guard:
            try:
                with self._during("write"):
                    self._write(fd, data, offset)
            except PowerCutError:
                raise
            except OSError:
                self._write(fd, data[: len(data) // 2], offset)  # a full disk takes some of it
                raise

    def _write(self, fd: int, data: bytes, offset: int) -> None:
        inode = self._fds[fd]
        put_bytes(inode.data, offset, data)
        inode.pending.append((offset, bytes(data)))

    def truncate(self, fd: int, length: int) -> None:
        with self._during("truncate"):
            put_bytes(self._fds[fd].data, length, None)
            self._fds[fd].pending.append((length, None))

    def sync(self, fd: int) -> None:
        with self._guard:
            inode = self._fds[fd]
            try:
                with self._during("sync", is_cut_first=True):
                    for offset, what in inode.pending:
                        put_bytes(inode.durable, offset, what)
            except PowerCutError:
                raise
            except OSError:
                inode.pending.clear()
                raise
            inode.pending.clear()

    def close(self, fd: int) -> None:
        with self._guard:
            self._fds.pop(fd, None)
            self._locked.pop(fd, None)

    def rename(self, old: Path, new: Path) -> None:
        with self._during("rename"):
            inode = self._file(old)
            self._directory(new.parent).put(new.name, inode)
            self._directory(old.parent).put(old.name, None)
            self.renamed.append((new.name, bytes(inode.data)))

    def unlink(self, path: Path) -> None:
        with self._during("unlink"):
            self._file(path)
            self._directory(path.parent).put(path.name, None)

    def make_directory(self, path: Path, mode: int = DIRECTORY_MODE) -> bool:
        with self._during("mkdir"):
            parent = self._directory(path.parent)
            found = parent.names.get(path.name)
            if isinstance(found, Inode):
                raise FileExistsError(errno.EEXIST, "a file", str(path))
            if found is None:
                parent.put(path.name, Directory())
            return found is None

    def remove_directory(self, path: Path) -> None:
        with self._during("rmdir"):
            if self._directory(path).names:
                raise OSError(errno.ENOTEMPTY, "not empty", str(path))
            self._directory(path.parent).put(path.name, None)

    def sync_directory(self, path: Path) -> None:
        with self._during("sync_directory", is_cut_first=True):
            directory = self._directory(path)
            directory.durable = dict(directory.names)
            directory.pending.clear()

    def names(self, path: Path) -> list[str]:
        with self._during("names", is_cut_first=True):
            return sorted(self._directory(path).names)

    def read(self, path: Path, bytes_max: int) -> bytes:
        with self._during("read", is_cut_first=True):
            return bytes(self._file(path).data[: bytes_max + 1])


def survivor(
    directory: Directory,
    rng: random.Random,
    style: str,
    kept: dict[object, bool],
    copies: dict[int, Inode | Directory] | None = None,
) -> Directory:
    """What is left of a directory. ``kept``: of which changes that is known, whether they survive."""
    copies = {} if copies is None else copies
    names = dict(directory.names if style == NAMES else directory.durable)
    if style != NAMES:
        for name, target, change in directory.pending:
            if not kept.setdefault(change, style in (PAGES, TORN) and rng.random() < 0.5):
                continue
            if target is None:
                names.pop(name, None)
            else:
                names[name] = target
    found = Directory()
    for name, target in names.items():
        if id(target) not in copies:
            if isinstance(target, Directory):
                copies[id(target)] = survivor(target, rng, style, kept, copies)
            else:
                copies[id(target)] = _surviving_file(target, rng, style)
        found.names[name] = copies[id(target)]
    found.durable = dict(found.names)
    return found


def _surviving_file(inode: Inode, rng: random.Random, style: str) -> Inode:
    data = bytearray(inode.durable)
    block = {PAGES: 4_096, TORN: 512}.get(style, 0)
    for offset, what in inode.pending if block else ():
        if what is None:
            if rng.random() < 0.5:
                put_bytes(data, offset, None)
            continue
        if rng.random() < 0.3:  # the length is there, the bytes may not be
            put_bytes(data, len(data), bytes(max(0, offset + len(what) - len(data))))
        at = offset
        while at < offset + len(what):
            end = min((at // block + 1) * block, offset + len(what))
            if rng.random() < 0.6:
                put_bytes(data, at, what[at - offset : end - offset])
            at = end
    return Inode(bytearray(data), data)
