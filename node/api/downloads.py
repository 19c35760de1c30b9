"""Headers of content that clients keep, check and resume: tags, ranges, file names, other origins.

Source: RFC 9110 sections 13 and 14, RFC 6266, Fetch (CORS); path gateway specification, response headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from aiohttp import web

KEPT_S_MAX = 29_030_400
"""How long a gateway lets clients keep what never changes; the number is the specification's, which says
``immutable`` besides. What may be erased is not: a client asks again, by its tag, when the time is over."""

CORS: Mapping[str, str] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Content-Disposition, Content-Length, Content-Location, Content-Range, Etag, Retry-After, "
        "X-Ipfs-Path, X-Ipfs-Roots, X-Request-Id"
    ),
}
"""What is public may be read by pages of any origin; it comes without credentials."""

OPEN = ("/ipfs/", "/ipns/", "/routing/")
"""Below these paths everything served is public, errors too."""

PREFLIGHT: Mapping[str, str] = {
    **CORS,
    "Access-Control-Allow-Methods": "GET, HEAD, OPTIONS",
    "Access-Control-Allow-Headers": (
        "Accept, Cache-Control, Content-Type, If-None-Match, If-Range, Range, X-Request-Id"
    ),
    "Access-Control-Max-Age": "86400",
}

FILENAME_CHARS_MAX = 255

_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_RANGE = re.compile(r"bytes[ \t]*=[ \t]*([0-9]{0,19})-([0-9]{0,19})[ \t]*", re.ASCII | re.IGNORECASE)
_UNSAFE = re.compile(r"[^ !#-.0-\[\]-~]")


async def preflight(_: web.Request) -> web.Response:
    """The answer to a browser that asks before it asks."""
    return web.Response(status=204, headers=PREFLIGHT)


def attachment(filename: str, kind: str = "attachment") -> str:
    """``Content-Disposition`` of a file to be kept: its name in ASCII, and whole where that is not enough.
    ``kind``: ``inline`` where a browser may show it."""
    name = filename[:FILENAME_CHARS_MAX]
    plain = _UNSAFE.sub("_", name)
    if plain == name:
        return f'{kind}; filename="{plain}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='', errors='replace')}"


def is_unchanged(request: web.Request, etag: str) -> bool:
    """Whether If-None-Match names ``etag`` by weak comparison, in a list or by ``*``."""
    if "If-None-Match" not in request.headers:
        return False
    header = ",".join(request.headers.getall("If-None-Match"))
    return header.strip() == "*" or etag.removeprefix("W/") in _TAG.findall(header)


def is_only_if_cached(request: web.Request) -> bool:
    """Whether Cache-Control asks for what is here already and for nothing else."""
    directives = ",".join(request.headers.getall("Cache-Control", ())).lower().split(",")
    return "only-if-cached" in (directive.strip() for directive in directives)


def byte_range(request: web.Request, etag: str, size: int) -> tuple[int, int] | None:
    """First and last byte (inclusive) that a GET asks for; None: all of them, also for what need not be
    understood (several ranges, other units) and where If-Range names another ``etag``.

    Raises HTTP 416 for a range that lies outside.
    """
    if "Range" not in request.headers:
        return None
    match = _RANGE.fullmatch(",".join(request.headers.getall("Range", ())))
    if match is None or request.method != "GET" or request.headers.get("If-Range", etag) != etag:
        return None
    first, last = match[1], match[2]
    if not first:
        if not last:
            return None
        span = (max(0, size - int(last)), size - 1)
    else:
        span = (int(first), min(int(last), size - 1) if last else size - 1)
        if last and int(last) < int(first):
            return None
    if span[0] > span[1]:
        raise web.HTTPRequestRangeNotSatisfiable(
            headers={"Content-Range": f"bytes */{size}"}, reason=f"the block has {size} bytes"
        )
    return span
