"""The operator's door: a Unix socket in the data directory, for commands that change what a running node has.

Promises: only the owner of the data directory can use it (mode 0600, set before it listens); a socket that a
killed node left behind is removed, by whoever holds the directory's lock and nobody else; bodies and
requests at once are bounded. It knows no command: a desk does, by name.

``POST /<command>`` with a JSON object -> a JSON object; ``POST /stream/<command>`` with bytes of any length
-> a JSON object; problems as everywhere (RFC 9457).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import orjson
from aiohttp import web

from node.api.errors import from_error, problem
from node.api.received import parse_json, read_body
from node.core.clock import new_id
from node.core.errors import BadInput, NodeError, RateLimited, TimedOut, Unavailable

log = logging.getLogger("neuroswarm.local")

SOCKET = "node.sock"
PATH_BYTES_MAX = 103
"""What every system takes as the path of a socket (macOS 104 bytes, Linux 108, with a closing zero)."""
DESCRIPTORS = Path("/proc/self/fd")
"""Where a system shows a process its open files as paths (Linux)."""
BODY_BYTES_MAX = 32 * 2**20
"""A batch of lines, each within its limit, in base64."""
BODY_TIMEOUT_S = 60.0
AT_ONCE_MAX = 4
STREAMS_MAX = 1
"""Streams that are taken at once: what they store goes through one writer anyway."""
STREAM_RETRY_S = 5.0
STREAM_CHUNK_BYTES = 256 * 2**10
STREAM_PAUSE_S = 60.0
"""How long whoever streams may send nothing."""
_LINGER_S = 1.0
"""How long the rest of a stream that was refused is still read, so that its sender sees the reply."""
_BACKLOG = 8
_STOP_S = 5.0
"""How long a node that stops waits for a command; what it has stored by then stays stored."""

Do: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""(command, what it is asked) -> the reply. Raises errors of ``node.core.errors``."""
Stream: TypeAlias = Callable[[str, AsyncIterator[bytes]], Awaitable[dict[str, Any]]]
"""(command, the bytes) -> the reply. Raises errors of ``node.core.errors``."""


@contextmanager
def reachable(data_dir: Path) -> Iterator[str]:
    """A path of the socket that is short enough: its own, or one through a descriptor of the directory where
    the system has those. Raises ``Unavailable`` where neither can be had."""
    path = str((data_dir / SOCKET).absolute())
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield path
        return
    if not DESCRIPTORS.is_dir():
        raise Unavailable(
            f"the path {path} is longer than the {PATH_BYTES_MAX} bytes that a socket's may have; use a "
            "shorter data_dir, or stop the node before commands that write"
        )
    descriptor = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"{DESCRIPTORS}/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


def _bind(data_dir: Path) -> socket.socket:
    """A bound socket, private, not yet listening. The caller holds the lock of the directory, so that what
    lies there is nobody's. Raises ``Unavailable``."""
    with reachable(data_dir) as path:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                raise Unavailable(f"{data_dir / SOCKET} is in the way and is no socket; move it away")
            Path(path).unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(path)
            Path(path).chmod(0o600)  # nobody can connect before it listens
        except OSError as exc:
            listener.close()
            raise Unavailable(f"the socket {data_dir / SOCKET} cannot be made: {exc.strerror}") from exc
    listener.setblocking(False)
    return listener


async def _chunks(request: web.Request) -> AsyncIterator[bytes]:
    """The body as it comes. Raises ``BadInput`` where it breaks off, ``TimedOut``."""
    pieces = request.content.iter_chunked(STREAM_CHUNK_BYTES)
    try:
        while True:
            async with asyncio.timeout(STREAM_PAUSE_S):
                chunk = await anext(pieces, b"")
            if not chunk:
                return
            yield chunk
    except TimeoutError as exc:
        raise TimedOut(f"nothing came for {STREAM_PAUSE_S:g} s") from exc
    except (web.RequestPayloadError, ConnectionError) as exc:
        raise BadInput("the stream ended before it was complete", field="body") from exc


def _application(do: Do, stream: Stream) -> web.Application:
    busy = asyncio.Semaphore(AT_ONCE_MAX)
    streaming = asyncio.Semaphore(STREAMS_MAX)

    async def command(request: web.Request) -> web.StreamResponse:
        request_id = new_id()
        try:
            async with busy, asyncio.timeout(BODY_TIMEOUT_S):
                asked = parse_json(await read_body(request, BODY_BYTES_MAX))
            async with busy:
                reply = await do(request.match_info["command"], asked)
        except TimeoutError:
            return problem(
                408,
                "Request timeout",
                "the body did not arrive in time",
                request_id=request_id,
                instance=request.path,
            )
        except NodeError as exc:
            return from_error(exc, request_id=request_id, instance=request.path)
        return web.Response(body=orjson.dumps(reply), content_type="application/json")

    async def take(request: web.Request) -> web.StreamResponse:
        try:
            if streaming.locked():
                raise RateLimited(
                    "another file is being taken in; try again when it is done", retry_after_s=STREAM_RETRY_S
                )
            async with streaming:
                reply = await stream(request.match_info["command"], _chunks(request))
        except NodeError as exc:
            return from_error(exc, request_id=new_id(), instance=request.path)
        return web.Response(body=orjson.dumps(reply), content_type="application/json")

    app = web.Application(client_max_size=BODY_BYTES_MAX + 1)
    app.router.add_post("/{command}", command)
    app.router.add_post("/stream/{command}", take)
    return app


@asynccontextmanager
async def listening(data_dir: Path, do: Do, stream: Stream) -> AsyncIterator[bool]:
    """Serve ``do`` and ``stream`` on the socket while the context lasts. False where none can be had: the
    node runs without, commands that write then need it stopped, and the log says so. The caller holds the
    directory's lock."""
    try:
        listener = await asyncio.to_thread(_bind, data_dir)
    except (Unavailable, OSError) as exc:
        log.warning("no local socket: %s", exc)
        yield False
        return
    runner = web.AppRunner(
        _application(do, stream), access_log=None, shutdown_timeout=_STOP_S, lingering_time=_LINGER_S
    )
    try:
        await runner.setup()
        await web.SockSite(runner, listener, backlog=_BACKLOG).start()
        yield True
    finally:
        await runner.cleanup()
        listener.close()
        with contextlib.suppress(OSError):
            (data_dir / SOCKET).unlink()


def connect(data_dir: Path, timeout_s: float) -> socket.socket | None:
    """A connection to the node that runs on this data directory; None where none listens. For commands; it
    blocks. Raises ``Unavailable``."""
    try:
        with reachable(data_dir) as path:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.settimeout(timeout_s)
                connection.connect(path)
            except BaseException:
                connection.close()
                raise
            return connection
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR):
            return None
        raise Unavailable(f"the socket {data_dir / SOCKET} cannot be used: {exc.strerror or exc}") from exc
