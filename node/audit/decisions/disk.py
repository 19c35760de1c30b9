"""Work on the log's files: off the event loop, its errors translated; and the lock of the log's writer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from node.core.errors import Unavailable
from node.core.files import DISK, translated

_T = TypeVar("_T")


async def on_disk(work: Callable[..., _T], *args: object) -> _T:
    """``work`` in a thread. Raises ``Unavailable``."""
    with translated("the decision log's files cannot be used"):
        return await asyncio.to_thread(work, *args)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the lock of the log's writer. Raises ``Unavailable``."""
    try:
        lock = DISK.lock(directory / ".lock")
    except BlockingIOError as exc:
        raise Unavailable(f"the log in {directory} is in use by another process; stop it first") from exc
    try:
        yield
    finally:
        DISK.close(lock)
