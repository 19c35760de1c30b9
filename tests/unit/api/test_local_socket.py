"""The operator's socket: private, tidy, reachable under long paths, and never in anybody's way."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from node.api import local
from node.core.errors import BadInput, NodeError, Rejected, Unavailable


async def echo(what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    if what == "fail":
        raise BadInput("not so", field="x")
    return {"what": what, "asked": dict(asked)}


def post(data_dir: Path, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    connection = local.connect(data_dir, 20)
    assert connection is not None
    with contextlib.closing(HTTPConnection("localhost")) as http:
        http.sock = connection
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            http.request("POST", path, body, headers)
        with http.getresponse() as response:
            return response.status, json.loads(response.read())


async def call(data_dir: Path, path: str, body: bytes = b"{}") -> tuple[int, dict[str, Any]]:
    """As a command does, in a thread."""
    return await asyncio.to_thread(post, data_dir, path, body, {"Content-Type": "application/json"})


async def send(data_dir: Path, chunks: Iterator[bytes]) -> tuple[int, dict[str, Any]]:
    """A stream as commands send it, in a thread."""
    return await asyncio.to_thread(post, data_dir, "/stream/ingest", chunks, {})


async def test_a_command_is_done_and_a_problem_told(tmp_path: Path) -> None:
    async with local.listening(tmp_path, echo, count) as is_there:
        assert is_there
        sock = tmp_path / local.SOCKET
        assert stat.S_IMODE(os.lstat(sock).st_mode) == 0o600
        status, reply = await call(tmp_path, "/export", b'{"after": 1}')
        assert (status, reply) == (200, {"what": "export", "asked": {"after": 1}})
        status, reply = await call(tmp_path, "/fail")
        assert (status, reply["field"]) == (400, "x")
        status, reply = await call(tmp_path, "/export", b"[1")
        assert status == 400
    assert not sock.exists()
    assert local.connect(tmp_path, 1) is None


async def count(what: str, chunks: AsyncIterator[bytes]) -> dict[str, Any]:
    """Takes a stream; refuses one that begins with an x, before its end."""
    size = 0
    async for chunk in chunks:
        if chunk.startswith(b"x"):
            raise Rejected("it begins with an x")
        size += len(chunk)
    return {"what": what, "size": size}


async def no_commands(what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    raise BadInput("there are none")


@pytest.fixture
async def streams(tmp_path: Path) -> AsyncIterator[Path]:
    """The directory of a node that counts the bytes of streams."""
    async with local.listening(tmp_path, no_commands, count):
        yield tmp_path


async def test_a_stream_of_any_length_is_taken_piece_by_piece(streams: Path) -> None:
    reply = await send(streams, (bytes(2**20) for _ in range(40)))
    assert reply == (200, {"what": "ingest", "size": 40 * 2**20}), "more than any body may have"
    assert (await call(streams, "/stream/ingest", b""))[0] == 200


async def test_a_stream_that_is_refused_is_answered_before_its_end(streams: Path) -> None:
    status, reply = await send(streams, (b"x" * 2**20 for _ in range(100)))
    assert (status, reply["detail"]) == (422, "it begins with an x")


async def test_a_stream_that_breaks_off_ends_with_an_error_of_ours(tmp_path: Path) -> None:
    ended: asyncio.Queue[BaseException | None] = asyncio.Queue()

    async def watch(what: str, chunks: AsyncIterator[bytes]) -> dict[str, Any]:
        try:
            async for _ in chunks:
                pass
        except NodeError as exc:
            ended.put_nowait(exc)
            raise
        ended.put_nowait(None)
        return {}

    async with local.listening(tmp_path, no_commands, watch):
        connection = local.connect(tmp_path, 5)
        assert connection is not None
        connection.sendall(b"POST /stream/x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe")
        connection.close()
        async with asyncio.timeout(20):
            assert isinstance(await ended.get(), BadInput)


async def test_a_second_stream_is_sent_away_while_one_is_taken(tmp_path: Path) -> None:
    begun, more = asyncio.Event(), threading.Event()

    async def watch(what: str, chunks: AsyncIterator[bytes]) -> dict[str, Any]:
        size = 0
        async for chunk in chunks:
            size += len(chunk)
            begun.set()
        return {"size": size}

    def slow() -> Iterator[bytes]:
        yield b"one"
        assert more.wait(20)
        yield b"two"

    async with local.listening(tmp_path, no_commands, watch):
        first = asyncio.create_task(send(tmp_path, slow()))
        async with asyncio.timeout(20):
            await begun.wait()
            status, reply = await send(tmp_path, iter([b"x" * 2**20]))
        more.set()
        assert (status, "another file" in reply["detail"]) == (429, True)
        assert await first == (200, {"size": 6}), "and it does not suffer by it"
        assert (await send(tmp_path, iter([b"x"])))[0] == 200


async def test_a_silent_stream_is_given_up(streams: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "STREAM_PAUSE_S", 0.05)
    connection = local.connect(streams, 20)
    assert connection is not None
    connection.sendall(b"POST /stream/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
    head = await asyncio.to_thread(connection.recv, 100)
    connection.close()
    assert b" 504 " in head


async def test_what_a_killed_node_left_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / local.SOCKET))
    assert local.connect(tmp_path, 1) is None, "nobody listens there"
    async with local.listening(tmp_path, echo, count) as is_there:
        assert is_there
        assert (await call(tmp_path, "/x"))[0] == 200


async def test_what_is_no_socket_stays_and_the_node_runs_without(tmp_path: Path) -> None:
    (tmp_path / local.SOCKET).write_text("mine")
    async with local.listening(tmp_path, echo, count) as is_there:
        assert not is_there
    assert (tmp_path / local.SOCKET).read_text() == "mine"


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A directory whose path is longer than a socket's may be."""
    folder = tmp_path / ("d" * 100) / ("e" * 100)
    folder.mkdir(parents=True)
    return folder


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc: a long path has no other way here")
async def test_a_long_path_is_reached_another_way(deep: Path) -> None:
    async with local.listening(deep, echo, count) as is_there:
        assert is_there
        assert (await call(deep, "/x"))[0] == 200
    assert not (deep / local.SOCKET).exists()


async def test_where_a_long_path_cannot_be_reached_the_node_runs_without_and_says_so(
    deep: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local, "DESCRIPTORS", deep / "absent")
    async with local.listening(deep, echo, count) as is_there:
        assert not is_there
    assert "longer than the 103 bytes" in caplog.text
    with pytest.raises(Unavailable, match="shorter data_dir"):
        local.connect(deep, 1)


def test_without_a_directory_nobody_answers(tmp_path: Path) -> None:
    assert local.connect(tmp_path / "absent", 1) is None
