"""What the decision log does with its folder apart from writing leaves: its lock, turns of epochs that were
left half done, what it holds. Blocking: call through ``on_disk``, which also translates errors of the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from node.audit.decisions import epochs
from node.audit.decisions.epochs import Turn
from node.core.errors import Unavailable

_T = TypeVar("_T")

_LOCK = ".lock"
_READ_BYTES = 1 << 20


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Errors of the disk as ``Unavailable``, which say ``what`` went wrong."""
    try:
        yield
    except OSError as exc:
        raise Unavailable(f"{what}: {exc.strerror or exc}") from exc


async def on_disk(work: Callable[..., _T], *args: object) -> _T:
    """``work`` in a thread. Raises ``Unavailable``."""
    with translated("the decision log's files cannot be used"):
        return await asyncio.to_thread(work, *args)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of the log's writer. Raises ``Unavailable``."""
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        os.close(descriptor)
        raise Unavailable(f"the log in {directory} is in use by another process; stop it first") from exc
    try:
        yield
    finally:
        os.close(descriptor)


def finished(directory: Path) -> Turn | None:
    """The turn that was left half done, done now; None where there is none."""
    if epochs.pending(directory) is None:
        return None
    with locked(directory):
        return epochs.finish(directory)


def move_aside(directory: Path, turn: Turn) -> None:
    """The log in ``directory`` goes to its place among the closed ones; once, however often it is asked."""
    with locked(directory):
        begun = epochs.finish(directory)
        if begun is None or begun.number != turn.number:  # the turn before, which was not ended
            epochs.begin(directory, turn)


def digest_of(path: Path) -> tuple[str, int] | None:
    """(hex SHA-256, bytes) of a file, or None where there is none."""
    digest, length = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while data := file.read(_READ_BYTES):
                digest.update(data)
                length += len(data)
    except FileNotFoundError:
        return None
    return digest.hexdigest(), length


def folder_bytes(directory: Path) -> tuple[int, int]:
    """(bytes, files)."""
    total = count = 0
    for folder, _, files in os.walk(directory):
        for name in files:
            with contextlib.suppress(FileNotFoundError):  # files of the log are replaced meanwhile
                total += Path(folder, name).lstat().st_size
                count += 1
    return total, count
