"""Errors in OpenAI's form: ``{"error": {message, type, param, code}}``. Pure but for the response."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from node.core.errors import BudgetSpent, NodeError, Refused

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_CODES = {
    401: "invalid_api_key",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "request_too_large",
    422: "not_accepted",
    429: "rate_limit_exceeded",
    500: "internal_error",
    503: "unavailable",
    504: "timeout",
}


class Fault(NodeError):
    """What a client of this API did that cannot be served."""

    def __init__(self, message: str, *, param: str | None, code: str, status: int = 400) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code


def speaks_so(path: str) -> bool:
    """Whether errors at this path have OpenAI's form; the cache as a service and documents are this node's
    own."""
    return path.startswith("/v1/") and not path.startswith(("/v1/cache/", "/v1/documents"))


def shown(status: int, message: str, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """The error object."""
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    code = code or _CODES.get(status, "invalid_value")
    return {"message": message, "type": kind, "param": param, "code": code}


def of(error: NodeError) -> tuple[int, dict[str, Any], dict[str, str]] | None:
    """Status, error object and headers of an error that names them itself; None for all others."""
    if isinstance(error, Fault):
        return error.status, shown(error.status, str(error), param=error.param, code=error.code), {}
    if isinstance(error, Refused):
        wait_s = error.retry_after_s
        headers = {} if wait_s is None else {"Retry-After": str(max(1, math.ceil(wait_s)))}
        return error.status, error.said, headers
    if isinstance(error, BudgetSpent):
        headers = {"Retry-After": str(max(1, math.ceil(error.retry_after_s)))}
        return 429, shown(429, str(error), code="insufficient_quota"), headers
    return None


def response(status: int, said: Mapping[str, Any], headers: Mapping[str, str]) -> web.Response:
    return web.Response(
        body=orjson.dumps({"error": said}),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store", **headers},
    )
