"""What one backup says of itself: which files it holds, as lists of parts, and of which moment they are.

Format ``neuroswarm/backup/v1``: SHA-256 in hex of all that follows the first line, LF, and JSON. A file is
``[path, bytes, stamp, [part, …]]``; ``stamp`` is its modification time in nanoseconds, by which the next
backup knows a file that it need not read again (0: never). Paths begin with ``data/`` or ``log/`` and stay
below these: what lies in a backup folder is not trusted. Pure.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

import orjson

from node.core.errors import CorruptState
from node.store.backup.parts import is_name

FORMAT = "neuroswarm/backup/v1"
DATA, LOG = "data", "log"
MANIFEST_BYTES_MAX = 2**31
ID = re.compile(r"[0-9]{6}-[0-9]{8}T[0-9]{6}Z", re.ASCII)
"""A number, which orders backups whatever the clock did, and when it was made."""
_STEP = re.compile(r"[A-Za-z0-9_.@+-]{1,255}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Kept:
    """One file: its path in the backup, its length, its stamp and the names of its parts in order."""

    path: str
    size: int
    stamp: int
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One backup. ``root``: whose node it is of; ``time``: ISO 8601; ``entries``: how many entries of the
    decision log its checkpoint covers; ``struck``: how many lines of the folder's list of erased records have
    been taken out of it."""

    id: str
    time: str
    root: str
    software: str
    entries: int
    struck: int
    files: tuple[Kept, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(one.size for one in self.files)

    def parts(self) -> set[str]:
        """The names of all parts."""
        return {name for one in self.files for name in one.parts}

    def file(self, path: str) -> Kept | None:
        """The file of this path."""
        return next((one for one in self.files if one.path == path), None)

    def with_file(self, changed: Kept) -> Manifest:
        """The same backup with another version of one file."""
        files = tuple(changed if one.path == changed.path else one for one in self.files)
        return replace(self, files=files)

    def encode(self) -> bytes:
        """The bytes of its file."""
        said = {
            "format": FORMAT,
            "id": self.id,
            "time": self.time,
            "root": self.root,
            "software": self.software,
            "entries": self.entries,
            "struck": self.struck,
            "files": [[one.path, one.size, one.stamp, one.parts] for one in self.files],
        }
        body = orjson.dumps(said)
        return hashlib.sha256(body).hexdigest().encode() + b"\n" + body

    @classmethod
    def decode(cls, data: bytes, name: str) -> Manifest:
        """The backup of an untrusted file. Raises ``CorruptState``."""
        head, _, body = data.partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != head:
            raise CorruptState(f"the list of the backup {name} is damaged")
        try:
            said = orjson.loads(body)
            if (form := said.pop("format")) != FORMAT:
                raise CorruptState(f"the backup {name}: {other_format(form)}")
            files = tuple(map(_kept, said.pop("files")))
            found = cls(files=files, **said)
        except (orjson.JSONDecodeError, TypeError, KeyError, ValueError, AttributeError) as exc:
            raise CorruptState(f"the list of the backup {name} is not one: {exc}") from exc
        texts = (found.id, found.time, found.root, found.software)
        counts = (found.entries, found.struck)
        if not all(isinstance(one, str) for one in texts) or not all(_is_count(one) for one in counts):
            raise CorruptState(f"the list of the backup {name} is not one: a value is of another kind")
        if len({one.path for one in files}) != len(files):
            raise CorruptState(f"the list of the backup {name} names a file twice")
        return found


def other_format(said: object) -> str:
    """What is told of a backup in another format than ours."""
    return (
        f"it is in the format {str(said)[:64]!r}, and this version reads {FORMAT}; restore it with the "
        "version that made it, or a newer one"
    )


def _kept(row: Any) -> Kept:
    path, size, stamp, parts = row
    steps = str(path).split("/")
    is_below = steps[0] in (DATA, LOG) and len(steps) > 1
    if not is_below or not all(_STEP.fullmatch(step) and step.strip(".") for step in steps):
        raise ValueError(f"{str(path)[:200]!r} is no path of a backup")
    if not (_is_count(size) and _is_count(stamp) and all(map(is_name, parts))):
        raise ValueError(f"what it says of {path} is no size and no list of parts")
    return Kept(path, size, stamp, tuple(parts))


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0
