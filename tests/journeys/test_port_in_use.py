"""The command on a port that somebody else holds: it ends with one sentence that says so and what to type."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.journeys.test_cli import run


async def test_a_port_in_use_is_said_plainly(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = await run("serve", "--host", "127.0.0.1", "--port", str(port), folder=tmp_path)
    assert done.returncode == 1
    assert f"port {port} of 127.0.0.1 is taken by " in done.stderr
    assert "for another port type: neuroswarm serve --port " in done.stderr
    assert done.stderr.count("\n") == 1
    assert "listening" not in done.stdout
    assert not (tmp_path / "data").exists(), "nothing is made before the port is there"
