"""A real process on a real folder, and what a disk would have kept of its writes when the power failed.

``recorded_writes.c`` is loaded into the process, notes each change below the folder in its order, and ends
the process at a chosen one. From that list the model of ``tlog_disk`` follows which bytes and names were
durable, and the folder is made what a disk may hold afterwards: of what was not synced each page or sector,
each file's length and each name may be there or not, each for itself.

Stricter than file systems with a journal, which keep the order of names; as strict as POSIX, but for a
rename, which happens or does not. Not modelled: a disk that lies about a sync, or that loses what lay beside
a write; modes and times of files; writes through C streams and mappings, which ``unseen`` finds.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import struct
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults.tlog_disk import Directory, Inode, put_bytes, survivor

SOURCE = Path(__file__).with_name("recorded_writes.c")
_HEAD = struct.Struct("<QQIIII")
_CONTROL = struct.Struct("<QQII112s")
_IGNORED = ("-shm",)
"""SQLite's index of its write-ahead log: made anew by whoever opens the file first."""


def compiled(folder: Path) -> Path | None:
    """The library for ``LD_PRELOAD``; None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "recorded_writes.so"
    flags = ("-O1", "-shared", "-fPIC", "-o")
    subprocess.run([compiler, *flags, str(library), str(SOURCE), "-ldl", "-lpthread"], check=True)
    return library


class Control:
    """Chooses the moment of the cut; shared with the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(_CONTROL.size))

    def begin(self, *, delay_us: int, pattern: str = "", more: int = 0) -> None:
        """For a new process. With a pattern it ends ``more`` changes behind the first one in whose path this
        is."""
        with self.path.open("r+b") as file:
            file.write(_CONTROL.pack(0, 0, delay_us, more, pattern.encode()))

    @property
    def count(self) -> int:
        """Changes so far."""
        return int(_CONTROL.unpack(self.path.read_bytes())[0])

    def cut_in(self, changes: int) -> None:
        """So many changes from now."""
        self._put(8, struct.pack("<Q", self.count + max(1, changes)))

    def cut_at_path(self, pattern: str, more: int) -> None:
        """So many changes behind the next one below a path with this part."""
        self._put(20, struct.pack("<I112s", more, pattern.encode()))

    def _put(self, at: int, data: bytes) -> None:
        with self.path.open("r+b", buffering=0) as file:
            file.seek(at)
            file.write(data)


@dataclass(frozen=True, slots=True)
class _Change:
    kind: str
    number: int
    offset: int
    first: bytes
    second: str


def _changes(path: Path) -> Iterator[_Change]:
    data, at = path.read_bytes(), 0
    while at + _HEAD.size <= len(data):
        number, offset, kind, first, second, _ = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        middle = at + first
        yield _Change(chr(kind), number, offset, data[at:middle], data[middle : middle + second].decode())
        at = middle + second


class RecordedDisk:
    """The folder ``root``: all in it is durable now. ``record``: where the process puts its list."""

    def __init__(self, root: Path, record: Path) -> None:
        self.root = root.resolve()
        self.record = record
        self.tree = Directory()
        self.last_paths: list[str] = []
        """Where the last changes were, the newest last."""
        self._files: dict[int, Inode] = {}
        self._flushed: dict[Inode | Directory, int] = {}
        self._syncs: dict[int, tuple[Inode | Directory, int]] = {}
        self._kept: dict[object, bool] = {}
        self._load()

    def follow(self) -> None:
        """Take in what the process has changed; it has ended."""
        paths: list[str] = []
        if self.record.exists():
            for change in _changes(self.record):
                self._apply(change, paths)
            self.record.unlink()
        self._syncs.clear()
        self.last_paths = paths[-40:]

    def fail(self, rng: random.Random, style: str) -> None:
        """The power fails and is back: the folder is what a disk may hold then."""
        left = survivor(self.tree, rng, style, self._kept)
        _make(self.root, left)
        self._load()

    def unseen(self) -> list[str]:
        """Where the folder is not what the list says: what was written past it."""
        return sorted(_differences(self.root, self.tree))

    # --- following --------------------------------------------------------------------------------

    def _load(self) -> None:
        self._files.clear()
        self._flushed.clear()
        self._kept.clear()
        self.tree = self._loaded(self.root)

    def _loaded(self, folder: Path) -> Directory:
        found = Directory()
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                found.names[entry.name] = self._loaded(Path(entry.path))
            elif entry.is_file(follow_symlinks=False) and not entry.name.endswith(_IGNORED):
                number = entry.inode()
                if number not in self._files:
                    data = Path(entry.path).read_bytes()
                    self._files[number] = Inode(bytearray(data), bytearray(data))
                found.names[entry.name] = self._files[number]
        found.durable = dict(found.names)
        return found

    def _apply(self, change: _Change, paths: list[str]) -> None:
        match change.kind:
            case "w" | "t" | "g":
                self._write(change)
            case "S":
                self._begin_sync(change.number, self._files.get(change.offset))
            case "D":
                paths.append(change.first.decode())
                self._begin_sync(change.number, self._at(change.first.decode()))
            case "E":
                self._end_sync(change.number)
            case _:
                paths.append(change.first.decode() + " " + change.second)
                self._name(change)

    def _write(self, change: _Change) -> None:
        inode = self._files.get(change.number)
        if inode is None:  # a file that SQLite may lose
            return
        what: bytes | None = change.first
        at = change.offset
        if change.kind == "g":
            at, what = len(inode.data), bytes(max(0, change.offset - len(inode.data)))
        elif change.kind == "t":
            if change.offset > len(inode.data):
                at, what = len(inode.data), bytes(change.offset - len(inode.data))
            else:
                what = None
        put_bytes(inode.data, at, what)
        inode.pending.append((at, what))

    def _begin_sync(self, number: int, target: Inode | Directory | None) -> None:
        if target is not None:
            self._syncs[number] = (target, self._flushed.get(target, 0) + len(target.pending))

    def _end_sync(self, number: int) -> None:
        """What had been changed when the sync began is durable."""
        if number not in self._syncs:
            return
        target, until = self._syncs.pop(number)
        before = self._flushed.get(target, 0)
        count = max(0, until - before)
        self._flushed[target] = before + count
        if isinstance(target, Inode):
            for offset, what in target.pending[:count]:
                put_bytes(target.durable, offset, what)
        else:
            for name, named, of in target.pending[:count]:
                self._kept[of] = True
                if named is None:
                    target.durable.pop(name, None)
                else:
                    target.durable[name] = named
        del target.pending[:count]

    def _name(self, change: _Change) -> None:
        folder, name = self._place(change.first.decode())
        match change.kind:
            case "c":
                self._files[change.number] = inode = Inode()
                if not name.endswith(_IGNORED):
                    folder.put(name, inode)
            case "m":
                folder.put(name, Directory())
            case "u":
                if not name.endswith(_IGNORED) and name in folder.names:  # not a socket
                    folder.put(name, None)
            case "r" | "l":
                other, new = self._place(change.second)
                one = object()
                target = folder.names[name]
                if other is folder and new == name:
                    return
                other.put(new, target, one)
                if change.kind == "r":
                    folder.put(name, None, one)

    def _place(self, path: str) -> tuple[Directory, str]:
        found = self._at(str(Path(path).parent))
        if found is None:
            raise AssertionError(f"a change in {path}, which was never made")
        return found, Path(path).name

    def _at(self, path: str) -> Directory | None:
        relative = os.path.relpath(path, self.root)
        found: Inode | Directory | None = self.tree
        for step in Path(relative).parts:
            found = found.names.get(step) if isinstance(found, Directory) else None
        return found if isinstance(found, Directory) else None


def _make(folder: Path, wanted: Directory) -> None:
    """Make a folder what it should be; what is that already is left alone, and so are sockets."""
    for entry in list(os.scandir(folder)):
        there = wanted.names.get(entry.name)
        if entry.is_dir(follow_symlinks=False):
            if not isinstance(there, Directory):
                shutil.rmtree(entry.path)
        elif entry.is_file(follow_symlinks=False) and not isinstance(there, Inode):
            Path(entry.path).unlink()
    for name, there in wanted.names.items():
        path = folder / name
        if isinstance(there, Directory):
            with suppress(FileExistsError):
                path.mkdir(mode=0o700)
            _make(path, there)
        elif not path.exists() or path.read_bytes() != there.data:
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(there.data)


def _differences(folder: Path, wanted: Directory) -> Iterator[str]:
    seen = set()
    for entry in os.scandir(folder):
        there = wanted.names.get(entry.name)
        seen.add(entry.name)
        if entry.name.endswith(_IGNORED):
            continue
        if entry.is_dir(follow_symlinks=False) and isinstance(there, Directory):
            yield from _differences(Path(entry.path), there)
        elif entry.is_file(follow_symlinks=False) and isinstance(there, Inode):
            if Path(entry.path).read_bytes() != there.data:
                yield f"{entry.path}: other bytes"
        elif not entry.is_symlink() and (entry.is_dir() or entry.is_file()):
            yield f"{entry.path}: not in the list"
    yield from (f"{folder / name}: not in the folder" for name in wanted.names if name not in seen)


def kill(pid: int) -> None:
    """End a process that was started here."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
