"""The connections of the door: how many there may be, who gives way, and how long one may keep us waiting.

Promises:
- There are at most ``Server.connections_max``. Where every place is taken, a newcomer gets the place of one
  that waits for its client (for a request, for the rest of a body, for a reply to be read): the oldest such
  one of the address that holds the most places. So no address keeps another one out, however busy the others
  are a newcomer has time to ask, and nobody is cut off at work.
- The head of a request is there within ``Server.idle_timeout_s`` of the connection's beginning or its last
  reply (aiohttp's ``keepalive_timeout``); what is written is taken within ``UNREAD_MAX_S`` (the kernel's
  ``TCP_USER_TIMEOUT``). Bodies have their own limit (``received``).
- A request that is no HTTP leaves one line in the program's log.
- What comes again with a head that was read before (``heads``) is answered where its bytes arrive, if that
  takes no waiting: on a connection that waits for a request, has all of one and nothing else, and whose
  client reads. All else goes the way of aiohttp's requests.
Must not know: routes.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from node.api.heads import Heads
from node.core.metrics import Metrics
from node.core.server_settings import Server

UNREAD_MAX_S = 30
"""How long a client may leave unread what was written, before the kernel ends the connection."""
UNREAD_MAX_BYTES = 128 * 1024
"""What the kernel keeps for a client beyond what it has room for; it would be megabytes."""
LINGER_S = 1.0
"""How long the rest of a body that was refused is still read, so that its sender sees the reply."""
HANDSHAKE_S = 10.0
"""How long a client may take to agree on encryption; until then it has no place in the crowd."""
_ACCEPTED_AT_ONCE = 32
ACCEPTED_MAX = 4 * _ACCEPTED_AT_ONCE
"""Of one listening socket: the event loop accepts so many in each of its rounds, and it takes three more
until a connection has joined the crowd and whoever gave way is closed."""
_QUEUE = 1_024
"""Connections that the kernel lets wait to be accepted."""
_SHOWN_CHARS = 120

log = logging.getLogger("neuroswarm.connections")


AtOnce: TypeAlias = Callable[[bytes, Any], bytes | object | None]
"""Of a body that came with a known head, and who sent that: the whole reply; what was begun of it, for the
handler to go on with (``Connection.taken``); None: nothing."""


class Connection(web.RequestHandler):
    """aiohttp's, which takes a place in a crowd. ``is_at_work``: the node works for its client and does not
    wait for it."""

    __slots__ = (
        "_at_once",
        "_begun",
        "_crowd",
        "_heads",
        "_is_between",
        "_piece",
        "_wire",
        "address",
        "is_at_work",
    )

    def __init__(
        self, crowd: Crowd, heads: Heads, at_once: AtOnce | None, manager: web.Server, **options: Any
    ) -> None:
        super().__init__(manager, **options)
        self._crowd = crowd
        self._heads = heads
        self._at_once = at_once
        self._wire: asyncio.Transport | None = None
        self._is_between = True
        """aiohttp's parser has no part of a request: what comes next begins one."""
        self._piece: bytes | None = None
        """What came then, while nothing has come since."""
        self._begun: tuple[bytes, object] | None = None
        self.address = ""
        self.is_at_work = False

    def data_received(self, data: bytes) -> None:
        if not data:  # aiohttp looks whether its parser has something left
            super().data_received(data)
        elif not self._is_between:
            self._piece = None
            super().data_received(data)
        elif not self._is_answered(data):
            self._is_between, self._piece = False, data
            super().data_received(data)

    def _is_answered(self, data: bytes) -> bool:
        waiter = self._waiter
        is_waiting = waiter is not None and not waiter.done() and not (self._messages or self._paused)
        if self._at_once is None or not is_waiting or self._close or self._force_close:
            return False
        if (found := self._heads.body_of(data, self.address)) is None:
            return False
        body, whose = found
        reply = self._at_once(body, whose)
        if not isinstance(reply, bytes):
            self._begun = (body, reply)
            return False
        assert self._wire is not None
        assert self._manager is not None
        self._manager.requests_count += 1
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        self._wire.write(reply)
        return True

    def taken(self, body: bytes) -> object | None:
        """What ``AtOnce`` has begun of the request that is handled now, which has this body; once."""
        begun, self._begun = self._begun, None
        return begun[1] if begun is not None and begun[0] == body else None

    def left(self) -> object | None:
        """What ``AtOnce`` has begun and nobody took: the request was refused after all."""
        begun, self._begun = self._begun, None
        return None if begun is None else begun[1]

    def learn(self, request: web.BaseRequest, body: bytes, whose: object) -> None:
        """``request``, which is handled now, is ``whose`` and whose body is there whole, may be answered at
        once when its head comes again."""
        piece, self._piece = self._piece, None
        if self._at_once is not None and piece is not None and self._heads.is_whole(piece, body):
            self._is_between = True
            self._heads.learn(piece, self.address, request, body, whose)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        self._wire = transport
        self.address = str((transport.get_extra_info("peername") or ("",))[0])
        if not self._crowd.join(self):
            self.cut()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._crowd.leave(self)
        super().connection_lost(exc)

    def cut(self) -> None:
        """End it now, whatever is still unsent."""
        if self._wire is not None:
            self._wire.abort()


@contextmanager
def working(request: web.Request, is_at_work: bool = True) -> Iterator[None]:
    """While this lasts, the node works for whoever sent the request, or waits for it."""
    one = request.protocol
    if not isinstance(one, Connection):  # the operator's own door has no crowd
        yield
        return
    before, one.is_at_work = one.is_at_work, is_at_work
    try:
        yield
    finally:
        one.is_at_work = before


class Crowd:
    """Who is connected, by address, the oldest first."""

    def __init__(self, places: int, metrics: Metrics) -> None:
        self._places = places
        self._metrics = metrics
        self._of: dict[str, dict[Connection, None]] = {}
        self._count = 0

    def join(self, one: Connection) -> bool:
        """Take a place, somebody else's if there is no other. False: everybody there is at work."""
        if self._count >= self._places and not self._make_room():
            self._metrics.count("connections_closed", "no_room")
            return False
        self._of.setdefault(one.address, {})[one] = None
        self._counted(1)
        return True

    def leave(self, one: Connection) -> None:
        """Give the place back; idempotent."""
        own = self._of.get(one.address, {})
        if one in own:
            del own[one]
            self._counted(-1)
            if not own:
                del self._of[one.address]

    def _counted(self, by: int) -> None:
        self._count += by
        self._metrics.set(connections=self._count)

    def _make_room(self) -> bool:
        for address, ones in sorted(self._of.items(), key=lambda pair: len(pair[1]), reverse=True):
            for one in ones:
                if not one.is_at_work:
                    log.warning(
                        "event=crowded places=%d held=%d address=%s", self._places, len(ones), address
                    )
                    self._metrics.count("connections_closed", "made_room")
                    self.leave(one)
                    one.cut()
                    return True
        return False


def _in_one_line(record: logging.LogRecord) -> bool:
    """A malformed request is its sender's fault: a line, and no traceback of ours."""
    fault = record.exc_info[1] if record.exc_info else None
    if isinstance(fault, HttpProcessingError):
        # what came stands in the message, behind these marks; it may be a key
        said = ascii(re.split(r"\n|: b['\"]", fault.message)[0])[1:-1][:_SHOWN_CHARS]
        record.msg, record.args = (
            f"event=malformed_request address=%s: {said.replace('%', '%%')}",
            record.args,
        )
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.exc_info = record.exc_text = None
    return True


def _bound_unread(listener: socket.socket) -> None:
    """What clients do not read is bounded by the kernel, where it can (Linux); accepted sockets inherit
    that."""
    for name, value in (
        ("TCP_USER_TIMEOUT", UNREAD_MAX_S * 1_000),
        ("TCP_NOTSENT_LOWAT", UNREAD_MAX_BYTES),
    ):
        if hasattr(socket, name):
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


_http_log = logging.getLogger("neuroswarm.http")
_http_log.addFilter(_in_one_line)


@asynccontextmanager
async def serving(
    app: web.Application,
    sockets: Sequence[socket.socket],
    limits: Server,
    metrics: Metrics,
    at_once: AtOnce | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Answer on these bound sockets while the context lasts; what is under way at its end is waited for.
    ``at_once``: what answers requests whose heads were read before. ``tls``: with what connections are
    encrypted."""
    handshake_s = None if tls is None else HANDSHAKE_S
    runner = web.AppRunner(app, shutdown_timeout=limits.shutdown_timeout_s)
    await runner.setup()
    assert runner.server is not None
    loop = asyncio.get_running_loop()
    connection: Callable[[], Connection] = partial(
        Connection,
        Crowd(limits.connections_max, metrics),
        Heads(),
        at_once,
        runner.server,
        loop=loop,
        logger=_http_log,
        access_log=None,
        keepalive_timeout=limits.idle_timeout_s,
        lingering_time=LINGER_S,
        auto_decompress=False,  # Content-Encoding is refused: a small body must not become a large one
    )
    listeners: list[asyncio.Server] = []
    try:
        for one in sockets:
            _bound_unread(one)
            listeners.append(
                await loop.create_server(
                    connection,
                    sock=one,
                    backlog=_ACCEPTED_AT_ONCE,
                    ssl=tls,
                    ssl_handshake_timeout=handshake_s,
                )
            )
            one.listen(_QUEUE)
        yield
    finally:
        for listener in listeners:
            listener.close()
        await runner.cleanup()
