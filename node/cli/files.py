"""Files of commands: read and written whole or not at all; ``-`` is standard input or output."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from node.core.errors import BadInput, Unavailable


@contextmanager
def read_from(name: str) -> Iterator[tuple[BufferedReader, int | None]]:
    """A file to read, or standard input for ``-``, and its length where it has one. Raises ``BadInput``."""
    if name == "-":
        assert isinstance(sys.stdin.buffer, BufferedReader)
        yield sys.stdin.buffer, None
        return
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as exc:
        raise BadInput(f"cannot read {name}: {exc.strerror}") from exc
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadInput(f"cannot read {name}: it is a directory", field="file")
    with os.fdopen(descriptor, "rb") as file:
        yield file, os.fstat(descriptor).st_size or None


@contextmanager
def write_to(name: str) -> Iterator[BinaryIO]:
    """The file appears whole or not at all, readable by its owner only: answers may be confidential."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(name)
    if not target.name or target.is_dir():
        raise BadInput(f"cannot write {name!r}: it is a directory", field="file")
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as exc:
        raise Unavailable(f"cannot write {name}: {exc.strerror}") from exc
