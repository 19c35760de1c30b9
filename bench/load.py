"""Load on a server over loopback: so many connections, each with one request under way.

For a process of its own, so that client and server do not share an interpreter. It reads no more of a reply
than its length while the clock runs; what a reply says is looked at afterwards.
"""

from __future__ import annotations

import selectors
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from node.core.clock import SystemClock

_READ = 256 * 1024
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_STALLED_S = 60.0


@dataclass(slots=True)
class Driven:
    """``replies``: (number of the request's body, status, body), as they came; times in milliseconds."""

    took_s: float = 0.0
    times_ms: list[float] = field(default_factory=list)
    replies: list[tuple[int, int, bytes]] = field(default_factory=list)

    @property
    def per_s(self) -> float:
        return len(self.times_ms) / self.took_s


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    number: int = -1
    sent: float = 0.0
    held: bytearray = field(default_factory=bytearray)

    def whole(self) -> tuple[int, bytes] | None:
        """Status and body, once all of it is there."""
        end = self.held.find(_HEAD_END)
        if end < 0:
            return None
        head = bytes(self.held[:end]).lower()
        at = head.index(_LENGTH) + len(_LENGTH)
        length = int(head[at : head.find(b"\r\n", at) if b"\r\n" in head[at:] else None])
        begin = end + len(_HEAD_END)
        if len(self.held) < begin + length:
            return None
        return int(head.split(b" ", 2)[1]), bytes(self.held[begin : begin + length])


def drive(port: int, path: str, bodies: Sequence[str], connections: int, window_s: float) -> Driven:
    """Post ``bodies`` in turn, as ``{"query": …}`` or what OpenAI's route for chats takes, for ``window_s``
    seconds or until none is left. Raises ``OSError`` where the server hangs up, ``TimeoutError`` where it
    says nothing for a minute."""
    clock, driven, waiting = SystemClock(), Driven(), selectors.DefaultSelector()
    requests = iter([(number, _request(port, path, body)) for number, body in enumerate(bodies)])

    def send(connection: _Connection) -> None:
        following = next(requests, None)
        if following is None or clock.monotonic() - started >= window_s:
            waiting.unregister(connection.socket)
            connection.socket.close()
            return
        connection.number, data = following
        connection.held.clear()
        connection.sent = clock.monotonic()
        connection.socket.sendall(data)

    started = clock.monotonic()
    for _ in range(connections):
        one = _Connection(socket.create_connection(("127.0.0.1", port)))
        one.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting.register(one.socket, selectors.EVENT_READ, one)
    started = clock.monotonic()
    for key in list(waiting.get_map().values()):
        send(key.data)
    while waiting.get_map():
        ready = waiting.select(_STALLED_S)
        if not ready:
            raise TimeoutError(f"no reply for {_STALLED_S:g} s")
        for key, _ in ready:
            connection: _Connection = key.data
            part = connection.socket.recv(_READ)
            if not part:
                raise ConnectionResetError("the server hung up")
            connection.held += part
            if (reply := connection.whole()) is not None:
                now = clock.monotonic()
                driven.times_ms.append((now - connection.sent) * 1_000)
                driven.replies.append((connection.number, *reply))
                driven.took_s = now - started
                send(connection)
    return driven


def _request(port: int, path: str, body: str) -> bytes:
    chat = {"model": "m", "messages": [{"role": "user", "content": body}]}
    data = orjson.dumps(chat if path.endswith("/chat/completions") else {"query": body})
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data
