"""The image's scripts, run here: the entry with a stand-in and the real node, the health check, the front."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.nowhere import nowhere_environment

DOCKER = Path(__file__).resolve().parents[3] / "docker"
PATIENCE_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder as the image has it, and a ``neuroswarm`` on the path that shows how it was called."""
    for name in ("data", "governance_logs", "bin"):
        (tmp_path / name).mkdir()
    stand_in = tmp_path / "bin" / "neuroswarm"
    stand_in.write_text('#!/bin/sh\necho "$$"\nfor one in "$@"; do echo "[$one]"; done\nexit 7\n')
    stand_in.chmod(0o755)
    return tmp_path


async def enter(folder: Path, *arguments: str, **environ: str) -> tuple[int, int, list[str], str]:
    """Run the entry script: (pid, exit status, lines, errors)."""
    environ = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", **environ}
    command = ("/bin/sh", DOCKER / "entry.sh", *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=environ, stdout=PIPE, stderr=PIPE
    )
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.pid, process.returncode, out.decode().splitlines(), err.decode()


async def test_arguments_go_through_as_they_are_and_the_script_is_replaced(folder: Path) -> None:
    pid, status, lines, err = await enter(folder, "ask", "two words", "", "--url=$HOME;*")
    assert lines == [str(pid), "[ask]", "[two words]", "[]", "[--url=$HOME;*]"]
    assert (status, err) == (7, "")


async def test_without_arguments_it_serves_and_leaves_nothing_in_the_volumes(folder: Path) -> None:
    _, _, lines, _ = await enter(folder)
    assert lines[1:] == ["[serve]"]
    assert not list((folder / "data").iterdir())
    assert not list((folder / "governance_logs").iterdir())


@pytest.mark.parametrize("name", ["data", "governance_logs"])
async def test_a_volume_that_cannot_be_written_stops_it_with_what_to_type(folder: Path, name: str) -> None:
    # A missing folder and one that belongs to others fail alike; root may write to the latter.
    (folder / name).rmdir()
    _, status, lines, err = await enter(folder)
    assert (status, lines) == (78, [])
    assert re.search(rf"{name} cannot be written to by user \d+:\d+; mount a volume there.*chown", err)


async def test_the_folders_are_those_of_the_settings(folder: Path) -> None:
    (folder / "data").rename(folder / "elsewhere")
    _, status, _, _ = await enter(folder, NEUROSWARM_DATA_DIR=str(folder / "elsewhere"))
    assert status == 7
    _, status, _, err = await enter(folder, NEUROSWARM_DATA_DIR=str(folder / "nowhere"))
    assert status == 78
    assert "nowhere cannot be written to" in err


# --- the real thing -------------------------------------------------------------------------------


@asynccontextmanager
async def real_node(folder: Path) -> AsyncIterator[tuple[Process, str]]:
    """The entry script with the real ``neuroswarm``, on a free port: (process, port)."""
    environ = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": "/nonexistent",
        "NEUROSWARM_SERVER__PORT": "0",
        "NEUROSWARM_EMBED__ENGINE": "none",
        "NEUROSWARM_MODELS__OLLAMA_URL": "",
        **nowhere_environment(),
    }
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", DOCKER / "entry.sh", cwd=folder, env=environ, stdout=PIPE, stderr=PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("listening on http://127.0.0.1:"), (line, await process.communicate())
        yield process, line.strip().rpartition(":")[2]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def health(port: str) -> int:
    """The exit status of the health check."""
    check = await asyncio.create_subprocess_exec(
        *(sys.executable, DOCKER / "healthy.py"),
        env={"NEUROSWARM_SERVER__PORT": port, "http_proxy": "http://127.0.0.1:9"},
        stderr=PIPE,
    )
    async with asyncio.timeout(PATIENCE_S):
        await check.communicate()
    assert check.returncode is not None
    return check.returncode


@asynccontextmanager
async def front(node_port: str) -> AsyncIterator[tuple[Process, str]]:
    """The front before a node: (process, port)."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, DOCKER / "front.py", "0", node_port, stderr=PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            line = (await process.stderr.readline()).decode()
        yield process, line.split(":")[1].split()[0]
        process.terminate()
        async with asyncio.timeout(PATIENCE_S):
            _, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_the_node_starts_is_healthy_is_reached_and_stops_in_order(folder: Path) -> None:
    (folder / "bin" / "neuroswarm").unlink()
    async with real_node(folder) as (node, port):
        assert await health(port) == 0
        async with front(port) as (_, outside), aiohttp.ClientSession(trust_env=False) as http:
            url = f"http://127.0.0.1:{outside}"
            for _ in range(3):
                async with http.get(f"{url}/livez") as response:
                    assert response.status == 200
            async with http.post(f"{url}/chat", json={"query": "What is 2 + 2?"}) as response:
                assert "4" in (await response.json())["answer"]
        node.terminate()
        async with asyncio.timeout(PATIENCE_S):
            await node.communicate()
        assert node.returncode == 0
        assert await health(port) == 1
    assert (folder / "data" / "keys").is_dir()
    assert list((folder / "governance_logs").iterdir())


# --- the front, before servers that misbehave -----------------------------------------------------

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def behind(handler: Handler) -> AsyncIterator[str]:
    """The port of a front before a server of ours."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server, front(str(server.sockets[0].getsockname()[1])) as (_, port):
        yield port


async def talk(port: str, data: bytes) -> bytes:
    """Send, say that this was all, and read to the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    try:
        writer.write(data)
        writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    finally:
        writer.transport.abort()


async def test_the_front_passes_much_on_in_both_directions_and_both_ends() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.read()
        writer.write(data[::-1])
        writer.close()
        await writer.wait_closed()

    data = os.urandom(1_000_000)
    async with behind(echo) as port:
        got = await asyncio.gather(*(talk(port, data) for _ in range(4)))
    assert all(one == data[::-1] for one in got)


async def test_the_front_closes_when_the_node_does_and_outlives_a_node_that_is_not_there() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")
        writer.close()
        await writer.wait_closed()

    async with behind(hang_up) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.read() == b"bye"  # though we have not closed our side
        writer.transport.abort()
    async with front("9") as (_, port):
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
            writer.transport.abort()


async def test_a_client_that_vanishes_ends_its_connection_to_the_node() -> None:
    gone = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        try:
            await reader.read()
        finally:
            gone.set()

    async with behind(wait) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.write(b"x")
        await writer.drain()
        writer.transport.abort()
        async with asyncio.timeout(PATIENCE_S):
            await gone.wait()
