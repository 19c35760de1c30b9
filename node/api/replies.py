"""What routes answer with: JSON, and bytes that clients keep and check again."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http import SERVER_SOFTWARE, HttpVersion11

from node.api.downloads import is_unchanged

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
Routes: TypeAlias = tuple[tuple[str, str, Handler], ...]
"""Method, path and what answers, in the order in which they are looked at."""

TEXT = "text/plain; charset=utf-8"
PRIVATE = "private, no-store"
COMMON = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""What every response says, unless it says so otherwise itself."""
_HEAD = (
    "HTTP/1.1 200 OK\r\n"
    f"Cache-Control: {PRIVATE}\r\nContent-Type: application/json\r\nServer: {SERVER_SOFTWARE}\r\n"
    + "".join(f"{name}: {value}\r\n" for name, value in COMMON.items())
    + "Content-Length: %d\r\nDate: %b\r\nX-Request-Id: %b\r\n%b\r\n"
).encode()


def as_json(body: object, status: int = 200, content_type: str = "application/json") -> web.Response:
    """A body that nobody else may keep."""
    return ready_json(orjson.dumps(body), status, content_type)


def told(
    request: web.Request, body: bytes, request_id: str, more: Mapping[str, str] | None = None
) -> web.StreamResponse:
    """``as_json`` of what is JSON already, as the reply to this request. ``more``: headers that hooks on
    responses would add."""
    if request.version == HttpVersion11 and request.keep_alive and "Origin" not in request.headers:
        return _Whole(whole(body, request_id, more))
    return ready_json(body)


def ready_json(body: bytes, status: int = 200, content_type: str = "application/json") -> web.Response:
    """``as_json`` of what is JSON already."""
    headers = {"Cache-Control": PRIVATE}
    return web.Response(body=body, status=status, content_type=content_type, headers=headers)


def whole(body: bytes, request_id: str, more: Mapping[str, str] | None = None) -> bytes:
    """``ready_json`` with its head and further headers, for a connection of HTTP/1.1 that stays open."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in more.items()]).encode() if more else b""
    return _HEAD % (len(body), rfc822_formatted_time().encode(), request_id.encode(), lines) + body


class _Whole(web.StreamResponse):
    """A JSON body that nobody else may keep, status 200, for a connection that stays open (HTTP/1.1): its
    head is written as it is, not put together from a dictionary. Hooks on responses do not see it."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    @property
    def keep_alive(self) -> bool:
        return True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        self._writer = request.writer
        return self._writer

    async def write_eof(self, data: bytes = b"") -> None:
        await self._writer.write(self._data)


def etag_of(data: bytes) -> str:
    """A strong validator."""
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'


def validated(request: web.Request, etag: str, data: bytes, headers: Mapping[str, str]) -> web.Response:
    """The bytes, or 304 where the asker has them."""
    if is_unchanged(request, etag):
        return web.Response(status=304, headers=headers)
    return web.Response(body=data, headers=headers)
