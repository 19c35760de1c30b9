"""What a page in somebody's browser may do here, and what browsers are told.

A page elsewhere must not reach a node, on loopback least of all: by a name that it makes point here (DNS
rebinding), by a form or ``fetch`` across origins, by an image or a script, by a WebSocket. Rules:
1. ``Host`` names loopback, the very address that the connection reached, or one of ``server.allowed_hosts``.
   From a trusted proxy X-Forwarded-Host and X-Forwarded-Proto stand for host and scheme; from others they say
   nothing.
2. ``Origin``, on every method, is this node's own or one of ``server.cors_origins``. Only what is public is
   read by pages of any origin (``PUBLIC``).
3. Without ``Origin``, what ``Sec-Fetch-Site`` tells of another site is refused too, but for a link to the
   page with the form: a link asks nothing.
4. There are no WebSockets.
"""

from __future__ import annotations

import re
from functools import lru_cache

from aiohttp import web

from node.api.downloads import CORS, OPEN
from node.core.errors import BadInput
from node.core.peer_address import is_own_host
from node.core.server_settings import Server, is_within

PUBLIC = (*OPEN, "/logs/")
"""Below these paths everything served is public, errors too."""
_METHODS = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
_EXPOSED = (
    "Age, Cache-Status, Content-Location, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id"
)
_PREFLIGHT_KEPT_S = 600
_ELSEWHERE = frozenset({"cross-site", "same-site"})
_NAMES = re.compile(r"[A-Za-z0-9, _-]{1,2048}")


def check(request: web.Request, server: Server) -> None:
    """Raises ``BadInput``, which names the header."""
    headers = request.headers
    if "Sec-WebSocket-Key" in headers or "websocket" in headers.get("Upgrade", "").lower():
        raise BadInput("this node has no WebSockets", field="Upgrade")
    host, scheme = _reached(request, server)
    if not _may_name(request, host, server):
        raise BadInput(
            "this node does not answer under this name; setting server.allowed_hosts lists others",
            field="Host",
        )
    is_public = request.path.startswith(PUBLIC) and request.method in ("GET", "HEAD", "OPTIONS")
    origins = headers.getall("Origin", ())
    if origins:
        if is_public or (len(origins) == 1 and _is_ours(origins[0], host, scheme, server)):
            return
        raise BadInput("requests from other origins are refused", field="Origin")
    if headers.get("Sec-Fetch-Site", "").lower() in _ELSEWHERE and not (is_public or _is_link(request)):
        raise BadInput("requests from other sites are refused", field="Sec-Fetch-Site")


def preflight(request: web.Request, server: Server) -> web.Response | None:
    """The answer to a browser that asks, for a listed origin, before it asks."""
    headers = request.headers
    is_one = request.method == "OPTIONS" and "Access-Control-Request-Method" in headers
    if not is_one or headers.get("Origin", "").lower() not in server.cors_origins:
        return None
    if request.path.startswith(PUBLIC) and request.match_info.http_exception is None:
        return None
    told = {
        "Access-Control-Allow-Methods": _METHODS,
        "Access-Control-Max-Age": str(_PREFLIGHT_KEPT_S),
        "Cache-Control": "no-store",
    }
    asked = headers.get("Access-Control-Request-Headers", "")
    if _NAMES.fullmatch(asked):  # clients have headers of their own, and the operator knows the origin
        told["Access-Control-Allow-Headers"] = asked
    if headers.get("Access-Control-Request-Private-Network") == "true":
        told["Access-Control-Allow-Private-Network"] = "true"
    return web.Response(status=204, headers=told)


def say(request: web.Request, response: web.StreamResponse, server: Server) -> None:
    """Who may read this answer, as headers."""
    headers, origin = response.headers, request.headers.get("Origin", "").lower()
    if request.path.startswith(PUBLIC):
        headers.update({name: CORS[name] for name in CORS if name not in headers})
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    elif origin and origin in server.cors_origins:
        headers["Access-Control-Allow-Origin"] = origin
        headers.setdefault("Access-Control-Expose-Headers", _EXPOSED)
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        headers["Vary"] = ", ".join(filter(None, (headers.get("Vary"), "Origin")))


def _is_link(request: web.Request) -> bool:
    """Whether somebody has followed a link to the page with the form, in a window of its own."""
    headers = request.headers
    return (
        request.path == "/"
        and request.method in ("GET", "HEAD")
        and headers.get("Sec-Fetch-Mode") == "navigate"
        and headers.get("Sec-Fetch-Dest") == "document"
    )


def _is_ours(origin: str, host: str, scheme: str, server: Server) -> bool:
    origin = origin.lower()
    return origin == f"{scheme}://{host}".lower() or origin in server.cors_origins


def _reached(request: web.Request, server: Server) -> tuple[str, str]:
    """Host and scheme that the client used; a host in the request's target counts before ``Host``."""
    host, scheme = request.host, request.scheme
    if server.trusted_proxies and is_within(request.remote or "", server.trusted_proxies):
        host = request.headers.get("X-Forwarded-Host", host)
        scheme = request.headers.get("X-Forwarded-Proto", scheme)
    return host, scheme


def _may_name(request: web.Request, host: str, server: Server) -> bool:
    name = _name(host)
    if is_named_here(name) or name in server.allowed_hosts:
        return True
    reached = None if request.transport is None else request.transport.get_extra_info("sockname")
    return isinstance(reached, tuple) and name == reached[0]


@lru_cache(256)
def is_named_here(name: str) -> bool:
    return is_own_host(name)


@lru_cache(256)
def _name(host: str) -> str:
    name, _, port = host.rpartition(":")
    if not name or port.endswith("]"):  # an IPv6 address has colons of its own, and may stand without a port
        name = host
    return name.strip("[]").lower()
