"""The parent's side of the child that reads files: one at a time, each within its time.

Promises: a file that hangs, kills or fills the child is refused with the reason, and costs no other file
anything; the child has no environment but the way to the packages.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process

import msgspec

from node.core.errors import Rejected, Unavailable
from node.knowledge.formats.child import Job, Reply
from node.knowledge.formats.extracted import Bounds, Extracted

_REPLY_BYTES_MAX = 256 * 2**20
_FILES_MAX = 500
"""A child reads so many, then another takes its place: what libraries leak ends with it."""
_decode = msgspec.json.Decoder(Reply).decode


class FileReader:
    """Build one for a run over many files, and close it. ``timeout_s``: for one file."""

    def __init__(self, bounds: Bounds, *, timeout_s: float, memory_bytes: int) -> None:
        self._bounds = bounds
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._child: Process | None = None
        self._read = 0
        self._busy = asyncio.Lock()

    async def read(self, kind: str, data: bytes, path: str) -> Extracted:
        """Raises ``Rejected`` for the file, ``Unavailable`` where no child can be started."""
        job = Job(kind, path, len(data), self._bounds.pages, self._bounds.chars)
        async with self._busy:
            child = await self._started()
            try:
                async with asyncio.timeout(self._timeout_s):
                    line = await self._asked(child, msgspec.json.encode(job), data)
                reply = _decode(line)
            except TimeoutError as exc:
                await self._end()
                raise Rejected(f"reading it took longer than {self._timeout_s:g} s") from exc
            except (OSError, ValueError, msgspec.MsgspecError) as exc:
                await self._end()
                raise Rejected(
                    "reading it ended the process that reads (too much memory, or a fault)"
                ) from exc
            except BaseException:
                await self._end()
                raise
        if reply.done is None:
            raise Rejected(reply.refused)
        return reply.done

    async def close(self) -> None:
        """Idempotent."""
        await self._end()

    async def _asked(self, child: Process, head: bytes, data: bytes) -> bytes:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(head + b"\n")
        child.stdin.write(data)
        await child.stdin.drain()
        line = await child.stdout.readline()
        if not line.endswith(b"\n"):
            raise OSError("it has ended")
        return line

    async def _started(self) -> Process:
        if self._child is not None and (self._child.returncode is not None or self._read >= _FILES_MAX):
            await self._end()
        if self._child is None:
            command = ("-P", "-m", "node.knowledge.formats.child", str(os.getpid()), str(self._memory_bytes))
            try:
                self._child = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *command,
                    stdin=PIPE,
                    stdout=PIPE,
                    stderr=asyncio.subprocess.DEVNULL,
                    limit=_REPLY_BYTES_MAX,
                    env={"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), "LANG": "C.UTF-8"},
                )
            except OSError as exc:
                raise Unavailable(f"the process that reads files cannot be started: {exc.strerror}") from exc
            self._read = 0
        self._read += 1
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
        if child.stdin is not None:
            child.stdin.close()
