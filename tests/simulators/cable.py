"""A cable between two nodes that can be cut: connections stay open on both sides, and nothing passes.

What is sent meanwhile is read and lost, as on a network that drops packets; ``heal`` breaks the connections
that lost something, as the ends of a real one find out. Listens on 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType

CHUNK = 65_536


class Cable:
    """To ``port`` on 127.0.0.1. ``passed``: bytes that came through to the near end since the start."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_cut = False
        self._lossy: set[asyncio.StreamWriter] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self.passed = 0
        self.cut_after: int | None = None
        """Cut as soon as so many bytes have passed."""

    async def __aenter__(self) -> Cable:
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def is_cut(self) -> bool:
        return self._is_cut

    def cut(self) -> None:
        self._is_cut = True

    def heal(self) -> None:
        self._is_cut, self.cut_after = False, None
        for writer in self._lossy:
            writer.transport.abort()
        self._lossy.clear()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers += [writer, far_writer]
        for source, sink, is_inward in ((reader, far_writer, False), (far_reader, writer, True)):
            task = asyncio.create_task(self._carry(source, sink, is_inward=is_inward))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _carry(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_inward: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                if is_inward and self.cut_after is not None and self.passed >= self.cut_after:
                    self._is_cut = True
                if self._is_cut:
                    self._lossy.add(sink)
                    continue
                self.passed += len(data) if is_inward else 0
                sink.write(data)
                await sink.drain()
        if not self._is_cut:
            sink.close()
