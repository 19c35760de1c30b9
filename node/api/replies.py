"""What routes answer with: JSON, and bytes that clients keep and check again."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import orjson
from aiohttp import web

from node.api.downloads import is_unchanged

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
Routes: TypeAlias = tuple[tuple[str, str, Handler], ...]
"""Method, path and what answers, in the order in which they are looked at."""

TEXT = "text/plain; charset=utf-8"


def as_json(body: object, status: int = 200, content_type: str = "application/json") -> web.Response:
    """A body that nobody else may keep."""
    return private(orjson.dumps(body), status, content_type)


def private(body: bytes, status: int = 200, content_type: str = "application/json") -> web.Response:
    """``as_json`` of what is JSON already."""
    headers = {"Cache-Control": "private, no-store", "Content-Type": content_type}
    return web.Response(body=body, status=status, headers=headers)


def etag_of(data: bytes) -> str:
    """A strong validator."""
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'


def validated(request: web.Request, etag: str, data: bytes, headers: Mapping[str, str]) -> web.Response:
    """The bytes, or 304 where the asker has them."""
    if is_unchanged(request, etag):
        return web.Response(status=304, headers=headers)
    return web.Response(body=data, headers=headers)
