"""Reads a request's body up to its limit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from aiohttp import web

from node.api.connections import working
from node.core.errors import BadInput, Rejected

BODY = web.RequestKey("body", bytes)
"""Where a request's body lies once the door has read it."""
BODY_TIMEOUT_S = 10.0
"""How long a body may take to arrive at most."""


@contextmanager
def taken_as(field: str, said: str = "") -> Iterator[None]:
    """What is rejected within is bad input in this field. Raises ``BadInput``."""
    try:
        yield
    except Rejected as exc:
        raise BadInput(f"{said}{exc}", field=field) from exc


async def body_in_time(request: web.Request, max_bytes: int, *, is_json: bool = True) -> bytes:
    """The body, for routes that the door leaves it to. Raises ``BadInput`` and HTTP 408."""
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            return await read_body(request, max_bytes, is_json=is_json)
    except TimeoutError:
        raise web.HTTPRequestTimeout(reason=f"the body did not arrive within {BODY_TIMEOUT_S:g} s") from None


def arrived(request: web.Request, max_bytes: int) -> bytes | None:
    """The body of a request that ``read_body`` would not refuse, if all of it is there already, and sent in
    the most usual way."""
    headers, content = request.headers, request.content
    is_usual = headers.get("Content-Type") == "application/json" and "Content-Encoding" not in headers
    if is_usual and content.is_eof() and content.exception() is None and content.total_bytes <= max_bytes:
        return content.read_nowait()
    return None


async def read_body(request: web.Request, max_bytes: int, *, is_json: bool = True) -> bytes:
    """The body as it was sent; where it is not ``is_json`` it says itself what it is, and its type does not
    matter. Raises ``BadInput``; a body over the limit is not read to its end."""
    too_large = BadInput(f"the body is over {max_bytes} bytes", field="body", limit=f"{max_bytes} bytes")
    if request.content_length is not None and request.content_length > max_bytes:
        raise too_large
    kind = request.content_type.lower()
    if is_json and kind != "application/json" and not kind.endswith("+json"):
        raise BadInput("the body must be sent as application/json", field="Content-Type")
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise BadInput("the body must be sent without Content-Encoding", field="Content-Encoding")
    body = bytearray()
    try:
        with working(request, False):
            async for chunk in request.content.iter_chunked(16_384):
                body += chunk
                if len(body) > max_bytes:
                    raise too_large
    except (web.RequestPayloadError, ConnectionError) as exc:
        raise BadInput("the body ended before it was complete", field="body") from exc
    return bytes(body)


def parse_json(body: bytes) -> dict[str, Any]:
    """A body as an object. Raises ``BadInput``."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise BadInput(f"the body is not valid JSON: {exc}", field="body") from exc
    if not isinstance(value, dict):
        raise BadInput("the body must be a JSON object", field="body")
    return value
