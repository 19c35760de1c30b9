"""Reads a request's body up to its limit."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from node.core.errors import BadInput

BODY = web.RequestKey("body", bytes)
"""Where a request's body lies once the door has read it."""


async def read_body(request: web.Request, max_bytes: int, *, is_json: bool = True) -> bytes:
    """The body as it was sent; where it is not ``is_json`` it says itself what it is, and its type does not
    matter. Raises ``BadInput``; a body over the limit is not read to its end."""
    if request.content_length is not None and request.content_length > max_bytes:
        raise BadInput(f"the body is over {max_bytes} bytes", field="body", limit=f"{max_bytes} bytes")
    kind = request.content_type.lower()
    if is_json and kind != "application/json" and not kind.endswith("+json"):
        raise BadInput("the body must be sent as application/json", field="Content-Type")
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise BadInput("the body must be sent without Content-Encoding", field="Content-Encoding")
    body = bytearray()
    try:
        async for chunk in request.content.iter_chunked(16_384):
            body += chunk
            if len(body) > max_bytes:
                raise BadInput(
                    f"the body is over {max_bytes} bytes", field="body", limit=f"{max_bytes} bytes"
                )
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
