"""One node per data directory: an exclusive lock on ``<data_dir>/lock``, held by the kernel for this process.

The lock dies with the process, so a crash leaves nothing to clean up. The file stays: removing it would let
two processes lock two files of one name. The process id in it is for the error message only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from node.core.errors import Misconfigured

_PID_BYTES_MAX = 20


class DataLock:
    """A held lock. Build with ``acquire``; also a context manager."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def acquire(cls, data_dir: Path) -> DataLock:
        """Create the directory (mode 0700) if need be and lock it, without waiting. Raises ``Misconfigured``
        when another node has it or it cannot be used. Touches the disk: call it in a thread."""
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(
                data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as exc:
            raise Misconfigured(f"the data directory {data_dir} cannot be used: {exc.strerror}") from exc
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
