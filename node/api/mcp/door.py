"""``POST /mcp``: the MCP server as a route of the node, by streamable HTTP without sessions.

The SDK speaks ASGI and the node aiohttp: a request is handed over whole, its body read and bounded by the
door as any other, and what comes back is written as it comes. Promises: nothing of the SDK is loaded before
the first call; each call stands by itself, as the caller that the door found (Host and Origin are the door's
to check too: it knows which names this node has); a call ends when its client leaves, its key ends or its
time is over.
Must not know: what the tools are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from aiohttp import web

from node.api.mcp.node import Node
from node.api.mcp.own_node import OwnNode
from node.api.received import BODY
from node.api.replies import PRIVATE, Routes
from node.api.stream import LOOK_S, STARTED, check_caller, is_gone
from node.core.errors import Unauthenticated, Unavailable

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

PATH = "/mcp"
NOT_INSTALLED = "MCP is not installed here; install the extra mcp: pip install 'neuroswarm[mcp]'"
_NOW: ContextVar[Node] = ContextVar("mcp_node")
"""The node as the caller of the request sees it that this task, or the one that began it, answers."""
_OURS = frozenset({"connection", "content-length", "date", "server", "transfer-encoding"})
"""Headers that say how a reply is sent, which is the connection's to say."""


@cache
def _loaded() -> Server[Any]:
    """The server, the same for all callers. Raises ``Unavailable``."""
    try:
        from node.api.mcp.tools import made
    except ModuleNotFoundError as exc:
        raise Unavailable(NOT_INSTALLED) from exc
    # A line for each request, and the words of refusals, are nothing for the program's log.
    logging.getLogger("mcp").setLevel(logging.ERROR)
    server = made(_NOW.get)
    server.streamable_http_app()  # the public way to what it consists of
    return server.session_manager.app


async def _mcp(request: web.Request) -> web.StreamResponse:
    """One call; the SDK's manager lives as long as it does, so nothing is left behind."""
    server = await asyncio.to_thread(_loaded)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    bridge = _Bridge(request)
    manager = StreamableHTTPSessionManager(
        server, stateless=True, max_request_body_size=max(1, len(request[BODY]))
    )
    token = _NOW.set(OwnNode(request))
    try:
        async with manager.run():
            await manager.handle_request(_scope(request), bridge.receive, bridge.send)
    finally:
        _NOW.reset(token)
    check_caller(request)
    return bridge.reply()


def _scope(request: web.Request) -> MutableMapping[str, Any]:
    """The request as ASGI has it (HTTP Connection Scope, version 2.3)."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query_string.encode(),
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
    }


class _Bridge:
    """ASGI's two calls over one request of aiohttp."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._is_read = False
        self._head: Mapping[str, Any] | None = None
        self._response: web.StreamResponse | None = None

    async def receive(self) -> MutableMapping[str, Any]:
        """The body, and after it nothing until the client has left."""
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._request[BODY], "more_body": False}
        with suppress(Unauthenticated):
            while not is_gone(self._request):
                check_caller(self._request)
                await asyncio.sleep(LOOK_S)
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """The head, then pieces of the body: sent as they come, or at once where there is only one. What
        comes after the client has left goes nowhere."""
        with suppress(ConnectionError):
            await self._send(message)

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            return
        piece, is_last = message.get("body", b""), not message.get("more_body", False)
        if self._response is None:
            assert self._head is not None
            status, headers = self._head["status"], self._headers()
            if is_last:
                self._response = web.Response(status=status, headers=headers, body=piece)
                return
            self._response = web.StreamResponse(status=status, headers=headers)
            self._request[STARTED] = self._response
            await self._response.prepare(self._request)
        await self._response.write(piece)
        if is_last:
            await self._response.write_eof()

    def _headers(self) -> dict[str, str]:
        assert self._head is not None
        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in self._head["headers"]}
        kept = {name: value for name, value in sent.items() if name.lower() not in _OURS}
        return kept | {"cache-control": PRIVATE}

    def reply(self) -> web.StreamResponse:
        """What was answered; nobody reads it where the client has left before there was anything."""
        return web.Response(status=499) if self._response is None else self._response


ROUTES: Routes = (("POST", PATH, _mcp),)
