"""How the commands of ``neuroswarm`` speak to a running node over HTTP."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from node.core.settings import Settings

_REPLY_BYTES_MAX = 16 * 2**20
NOBODY = (OSError, HTTPException, ValueError, RecursionError)
"""What ``call`` raises where no node answers: nobody does, or somebody who speaks otherwise."""


class NoNode(Exception):
    """No node answers where one is asked."""

    def __init__(self, address: str, why: object) -> None:
        super().__init__(f"no node answers at {address} ({why}); start one with: neuroswarm serve")


def call(
    url: str, body: dict[str, Any] | None, timeout_s: float, key: str = "", method: str | None = None
) -> tuple[int, dict[str, Any]]:
    """One JSON call to a node, with an API key where there is one; the status and the document, problems
    included. Raises ``NOBODY``."""
    try:
        with _opened(url, body, timeout_s, key, method) as response:
            return response.status, _document(response.read(_REPLY_BYTES_MAX))
    except HTTPError as exc:
        with exc:
            return exc.code, _document(exc.read(_REPLY_BYTES_MAX))


def _opened(
    url: str, body: Mapping[str, Any] | None, timeout_s: float, key: str = "", method: str | None = None
) -> HTTPResponse:
    if not url.startswith(("http://", "https://")):
        raise ValueError("not an http address")
    data = None if body is None else json.dumps(body).encode()
    heads = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = Request(url, data=data, headers=heads, method=method)  # noqa: S310 - http only
    response: HTTPResponse = build_opener(ProxyHandler({})).open(request, timeout=timeout_s)
    return response


def call_stream(
    url: str, body: dict[str, Any], timeout_s: float, on_event: Callable[[str, dict[str, Any]], None]
) -> tuple[int, dict[str, Any]]:
    """As ``call``, streamed: ``on_event`` gets each event but the last, whose document is returned. Raises
    ``NOBODY``."""
    try:
        with _opened(url, {**body, "stream": True}, timeout_s) as response:
            name = ""
            while line := response.readline(_REPLY_BYTES_MAX):
                if line.startswith(b"event: "):
                    name = line[7:].decode().strip()
                elif line.startswith(b"data: "):
                    facts = _document(line[6:])
                    if name in ("done", "error"):
                        return int(facts.get("status", 200)) if name == "error" else 200, facts
                    on_event(name, facts)
                elif line.strip():
                    raise ValueError("what answers there does not stream")
            raise ValueError("the stream broke off")
    except HTTPError as exc:
        with exc:
            return exc.code, _document(exc.read(_REPLY_BYTES_MAX))


def _document(body: bytes) -> dict[str, Any]:
    document = json.loads(body)
    if not isinstance(document, dict):
        raise ValueError("what answers there is no node")
    return document


def base(args: argparse.Namespace, settings: Settings) -> str:
    """The address of the node: as given, else where the settings say that it listens."""
    server = settings.server
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.host, server.host)  # noqa: S104 - read, not bound
    host = f"[{host}]" if ":" in host else host
    scheme = "https" if server.is_tls else "http"
    return str(args.url or f"{scheme}://{host}:{server.port}").rstrip("/")
