"""A crowd that connects and says nothing: who asks beside it is answered, and the log stays small."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from tests.faults.node_kit import child

FILES = 600
SILENT = 700
LOG_BYTES_MAX = 20_000
"""Some thirty lines a second would be more; the storm that this stands for was 1 to 2.5 MB a second."""
_LIMITED = (
    "-c",
    f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES})); import sys; "
    "from node.__main__ import main; sys.exit(main())",
)


@pytest.mark.slow
async def test_more_silent_connections_than_files_stop_nobody(tmp_path: Path) -> None:
    async with child(tmp_path, command=_LIMITED) as (one, client):
        port = int(client.url.rsplit(":", 1)[1])
        crowd = []
        try:
            for _ in range(SILENT):
                wire = socket.socket()
                wire.setblocking(False)
                crowd.append(wire)
                await asyncio.get_running_loop().sock_connect(wire, ("127.0.0.1", port))
            for number in range(20):
                assert (await client.get("/livez"))[0] == 200
                assert (await client.get("/health"))[0] == 200
                assert (await client.ask(f"what is {number} + 2?"))["answer"].startswith(f"{number} + 2 = ")
        finally:
            for wire in crowd:
                wire.close()
        assert await one.end() == 0
        assert one.process.stderr is not None
        assert len(await one.process.stderr.read()) < LOG_BYTES_MAX
