"""Which files of a folder are read, and their bytes: nothing outside of it, nothing that is no plain file.

Blocking. A link is never followed, neither as a file nor as a folder on the way to one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from node.core.errors import BadInput, Rejected, Unavailable
from node.knowledge.formats.extracted import kind_of

_NOFOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class File:
    """``path``: POSIX, below the folder. ``stamp``: size, and the two times that tell that a file is the one
    it was."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def stamp(self) -> str:
        return f"{self.size}.{self.mtime_ns}.{self.ctime_ns}"


@dataclass
class Found:
    """``left_out``: path and why, in words. ``unread``: folders of which nothing is known now."""

    files: list[File] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def is_gone(self, path: str) -> bool:
        """Whether a file that was there is not any more, as far as can be seen."""
        return path not in self.paths and not any(path.startswith(f"{one}/") for one in self.unread)

    @cached_property
    def paths(self) -> frozenset[str]:
        """Of the files; asked for when all are known."""
        return frozenset(one.path for one in self.files)


@dataclass(frozen=True, slots=True)
class FolderBounds:
    files: int = 20_000
    depth: int = 32
    file_bytes: int = 64 * 2**20


def walk(folder: Path, skip: Sequence[str], bounds: FolderBounds) -> Found:
    """The files of known kinds, by path. ``skip``: patterns of names and paths. Raises ``BadInput``,
    ``Unavailable``."""
    found = Found()
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder", field="folder")

    def unreadable(exc: OSError) -> None:
        path = os.path.relpath(exc.filename, folder).replace(os.sep, "/")
        if path == ".":  # all that lies in it would be taken as gone
            raise Unavailable(f"{folder} cannot be read: {exc.strerror}") from exc
        found.unread.append(path)
        found.left_out.append((path, f"cannot be read: {exc.strerror}"))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        below = os.path.relpath(place, folder).replace(os.sep, "/")
        prefix = "" if below == "." else f"{below}/"
        for name in sorted(folders):
            path = f"{prefix}{name}"
            if why := _why_no_folder(place, name, path, skip, bounds):
                folders.remove(name)
                if why != "hidden":
                    found.left_out.append((path, why))
        folders.sort()
        for name in sorted(names):
            path = f"{prefix}{name}"
            told = os.lstat(Path(place, name))
            if name.startswith("."):
                continue
            if why := _why_no_file(told, path, name, skip, bounds):
                found.left_out.append((path, why))
                continue
            if len(found.files) >= bounds.files:
                raise BadInput(
                    f"{folder} has more than {bounds.files} files",
                    field="folder",
                    limit=f"{bounds.files} files",
                )
            found.files.append(File(path, told.st_size, told.st_mtime_ns, told.st_ctime_ns))
    return found


def _why_no_folder(place: str, name: str, path: str, skip: Sequence[str], bounds: FolderBounds) -> str:
    if name.startswith("."):
        return "hidden"
    if Path(place, name).is_symlink():
        return "a link, which is not followed"
    if _is_skipped(path, name, skip):
        return "on the skip list"
    return f"deeper than {bounds.depth} folders" if path.count("/") >= bounds.depth else ""


def _why_no_file(
    told: os.stat_result, path: str, name: str, skip: Sequence[str], bounds: FolderBounds
) -> str:
    if stat.S_ISLNK(told.st_mode):
        return "a link, which is not followed"
    if not stat.S_ISREG(told.st_mode):
        return "no plain file"
    if _is_skipped(path, name, skip):
        return "on the skip list"
    if kind_of(name) is None:
        return "of a kind that is not read"
    if told.st_size > bounds.file_bytes:
        return f"{told.st_size} bytes; the limit is {bounds.file_bytes} (documents.file_bytes_max)"
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its name is no text"
    return ""


def _is_skipped(path: str, name: str, skip: Sequence[str]) -> bool:
    return any(fnmatch(name, one) or fnmatch(path, one) for one in skip)


def read(folder: Path, path: str, bytes_max: int) -> bytes:
    """The bytes of a file below the folder. Raises ``Rejected`` where it is none (any more), or has grown."""
    *above, name = path.split("/")
    try:
        here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in above:
                there = os.open(part, _NOFOLLOW | os.O_DIRECTORY, dir_fd=here)
                os.close(here)
                here = there
            opened = os.open(name, _NOFOLLOW, dir_fd=here)
        finally:
            os.close(here)
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                raise Rejected("it is no plain file")
            data = file.read(bytes_max + 1)
    except OSError as exc:
        raise Rejected(f"it cannot be read: {exc.strerror}") from exc
    if len(data) > bytes_max:
        raise Rejected(f"it has more than {bytes_max} bytes (documents.file_bytes_max)")
    return data
