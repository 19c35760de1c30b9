"""The operator's desk of a data directory: that of the node that runs on it, by its local socket; where none
runs, one of this process, under the directory's lock."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from node.core.errors import Misconfigured, Rejected, Unavailable
from node.core.settings import Settings

if TYPE_CHECKING:
    from node.app.operator_desk import OperatorDesk

_NODE_TIMEOUT_S = 600.0
_REPLY_BYTES_MAX = 256 * 2**20


class Do(Protocol):
    """The operator's desk, wherever it is. Raises errors of ``node.core.errors``."""

    def __call__(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """One command and what it is asked -> the reply."""
        ...

    def stream(self, what: str, chunks: Iterator[bytes]) -> dict[str, Any]:
        """One command that takes the bytes of a file, however many -> the reply."""
        ...


@dataclass(frozen=True, slots=True)
class _OverSocket:
    """The desk of a running node. One connection for each call: a restart in between is survived."""

    data_dir: Path

    def answers(self) -> bool:
        from node.api import local

        connection = local.connect(self.data_dir, _NODE_TIMEOUT_S)
        if connection is None:
            return False
        connection.close()
        return True

    def __call__(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self._call(
            lambda http: http.request(
                "POST", f"/{what}", json.dumps(asked), {"Content-Type": "application/json"}
            )
        )

    def stream(self, what: str, chunks: Iterator[bytes]) -> dict[str, Any]:
        def send(http: HTTPConnection) -> None:
            # What is refused is answered before its end: the node then reads no more of it.
            with suppress(BrokenPipeError, ConnectionResetError):
                http.request("POST", f"/stream/{what}", _until_answered(http.sock, chunks))

        return self._call(send)

    def _call(self, send: Callable[[HTTPConnection], None]) -> dict[str, Any]:
        from node.api import local

        connection = local.connect(self.data_dir, _NODE_TIMEOUT_S)
        if connection is None:
            raise Unavailable("the node that ran on this data directory has gone; run the command again")
        http = HTTPConnection("localhost", timeout=_NODE_TIMEOUT_S)
        http.sock = connection
        try:
            send(http)
            with http.getresponse() as response:
                reply = json.loads(response.read(_REPLY_BYTES_MAX))
                if response.status != 200:
                    raise Rejected(str(reply.get("detail", "the node refused")))
        except (OSError, HTTPException, ValueError, AttributeError) as exc:
            raise Unavailable(f"the node that runs on this data directory did not answer: {exc}") from exc
        finally:
            http.close()
        if not isinstance(reply, dict):
            raise Unavailable("what listens in this data directory is no node")
        return reply


def _until_answered(connection: socket.socket, chunks: Iterator[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        if select.select([connection], [], [], 0)[0]:
            return
        yield chunk


@dataclass(frozen=True, slots=True)
class _Here:
    """The desk in this process, for as long as it holds the data directory."""

    runner: asyncio.Runner
    desk: OperatorDesk

    def __call__(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return self.runner.run(self.desk.do(what, asked))

    def stream(self, what: str, chunks: Iterator[bytes]) -> dict[str, Any]:
        async def read() -> AsyncIterator[bytes]:
            while chunk := await asyncio.to_thread(next, chunks, b""):
                yield chunk

        return self.runner.run(self.desk.stream(what, read()))


@contextmanager
def desk(settings: Settings) -> Iterator[Do]:
    """Whoever holds the data directory: the node that runs on it, else this process for as long as the
    context lasts. Raises ``Misconfigured`` where a node holds it that cannot be reached."""
    over_socket = _OverSocket(Path(settings.data_dir))
    trouble = ""
    try:
        is_running = over_socket.answers()
    except Unavailable as exc:
        is_running, trouble = False, f"; {exc}"
    if is_running:
        yield over_socket
        return
    from node.app.operator import opened

    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            its = runner.run(stack.enter_async_context(opened(settings)))
        except Misconfigured as exc:
            raise Misconfigured(f"{exc}{trouble}") from exc
        try:
            yield _Here(runner, its)
        finally:
            runner.run(stack.aclose())
