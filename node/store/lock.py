"""One node per data directory, and per identity on a machine: locks that the kernel holds for this process.

They die with the process, so a crash leaves nothing to clean up. ``<data_dir>/lock`` stays: removing it would
let two processes lock two files of one name. The process id in it is for the error message only. An identity
is held by the name of a socket that is no file (Linux, unix(7): abstract), which a copy of the directory
cannot have too; another machine, or a container with a network of its own, is not seen by that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from node.core.errors import Misconfigured
from node.core.files import translated

_PID_BYTES_MAX = 20


class DataLock:
    """A held lock. Build with ``acquire``; also a context manager."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def acquire(cls, data_dir: Path) -> DataLock:
        """Create the directory (mode 0700) if need be and lock it, without waiting. Raises ``Misconfigured``
        when another node has it or it cannot be used. Touches the disk: call it in a thread."""
        with translated(f"the data directory {data_dir} cannot be used", Misconfigured):
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(
                data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError as exc:
            holder = os.pread(descriptor, _PID_BYTES_MAX, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            pid = f" (pid {holder})" if holder.isdigit() else ""
            raise Misconfigured(f"the data directory {data_dir} is in use by another node{pid}") from exc
        except OSError as exc:
            os.close(descriptor)
            raise Misconfigured(f"the data directory {data_dir} cannot be locked: {exc.strerror}") from exc
        return cls(descriptor)

    def release(self) -> None:
        """Idempotent."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> DataLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextlib.contextmanager
def identity_held(root: str) -> Iterator[None]:
    """Be the only node of the root key ``root`` (did:key) on this machine. Raises ``Misconfigured`` where a
    copy of this node runs; elsewhere than on Linux nothing is held."""
    if sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        try:
            held.bind(f"\0neuroswarm/{root}")
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE:
                yield  # a system that forbids such names
                return
            raise Misconfigured(
                f"a copy of this node runs on this machine with the same keys ({root}): both would sign one "
                "log with two histories, for which peers drop it; stop the other one"
            ) from exc
        yield
