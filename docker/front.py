# ruff: noqa: INP001 - a script, no package
"""Passes TCP connections from the container's own address on to the node, which listens on loopback only.

``python front.py LISTEN_PORT NODE_PORT``. It holds the network that node and engines share (compose.yaml)
and so does nothing else. It knows no rule: who may connect is decided by where the port is published, which
has to be the host's loopback as long as the node has no API keys.
"""

from __future__ import annotations

import asyncio
import signal
import sys

CONNECTIONS_MAX = 256
CHUNK_BYTES = 65_536
CONNECT_S = 5.0
IDLE_S = 600.0
"""A connection on which nothing moves for so long is closed; no answer of the node takes longer."""


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One direction, until its sender is done; the end is passed on."""
    while True:
        async with asyncio.timeout(IDLE_S):
            data = await reader.read(CHUNK_BYTES)
            if not data:
                break
            writer.write(data)
            await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


class Front:
    """Accepts connections and forwards each; more than ``CONNECTIONS_MAX`` at once are hung up on."""

    def __init__(self, node_port: int) -> None:
        self._node_port = node_port
        self._open: set[asyncio.Task[None]] = set()

    def accept(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """Take one connection."""
        if len(self._open) >= CONNECTIONS_MAX:
            client.transport.abort()
            return
        task = asyncio.create_task(self._serve(client_reader, client))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def close(self) -> None:
        """Hang up on everybody."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            await self._forward(client_reader, client)
        except* (OSError, TimeoutError):
            pass  # a node that is not there, or a side that hangs up, ends this connection and nothing else
        finally:
            client.transport.abort()

    async def _forward(self, client_reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(CONNECT_S):
            node_reader, node = await asyncio.open_connection("127.0.0.1", self._node_port)
        try:
            # Over when the node has said all or a side fails; a client that has said all may listen on.
            async with asyncio.TaskGroup() as both:
                there = both.create_task(copy(client_reader, node))
                await copy(node_reader, client)
                there.cancel()
            client.close()
            await client.wait_closed()
        finally:
            node.transport.abort()


async def main(listen: str, listen_port: int, node_port: int) -> None:
    """Serve until told to stop."""
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    front = Front(node_port)
    server = await asyncio.start_server(front.accept, listen, listen_port)
    port = server.sockets[0].getsockname()[1]
    sys.stderr.write(f"passing on connections from {listen}:{port} to 127.0.0.1:{node_port}\n")
    await stop.wait()
    server.close()
    await front.close()


if __name__ == "__main__":
    asyncio.run(main("0.0.0.0", int(sys.argv[1]), int(sys.argv[2])))  # noqa: S104 - of the container, not the host
