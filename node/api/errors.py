"""The one map from errors to HTTP: RFC 9457 problem details on native routes, OpenAI's form on its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import orjson
from aiohttp import web

from node.api.openai import faults
from node.core.errors import (
    BadInput,
    Conflict,
    CorruptState,
    DamagedLog,
    Forbidden,
    NodeError,
    NotFound,
    RateLimited,
    Rejected,
    TimedOut,
    Unauthenticated,
    Unavailable,
)

PROBLEM = "application/problem+json"

_STATUS: tuple[tuple[type[NodeError], int, str], ...] = (
    (BadInput, 400, "Bad input"),
    (Rejected, 422, "Rejected"),
    (Conflict, 409, "Conflict"),
    (Unauthenticated, 401, "Not authenticated"),
    (Forbidden, 403, "Forbidden"),
    (NotFound, 404, "Not found"),
    (RateLimited, 429, "Too many requests"),
    (TimedOut, 504, "Timed out"),
    (Unavailable, 503, "Unavailable"),
    (CorruptState, 500, "Damaged state"),
)


def problem(
    status: int,
    title: str,
    detail: str,
    *,
    request_id: str,
    instance: str,
    headers: Mapping[str, str] | None = None,
    **more: object,
) -> web.Response:
    """One problem document."""
    if faults.speaks_so(instance):
        param = more.get("field")
        said = faults.shown(status, detail, param=None if param is None else str(param))
        return faults.response(status, said, headers or {})
    body = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": instance,
        "request_id": request_id,
        **more,
    }
    # What is not there now may be there in a second: a tile, a block, a record.
    shown = {"Cache-Control": "no-store", **(headers or {})}
    return web.Response(body=orjson.dumps(body), status=status, content_type=PROBLEM, headers=shown)


def from_error(error: NodeError, *, request_id: str, instance: str) -> web.Response:
    """The response for an error of ours."""
    if (named := faults.of(error)) is not None and faults.speaks_so(instance):
        return faults.response(*named)
    status, title = _status_of(error)
    more: dict[str, object] = {}
    headers: dict[str, str] = {}
    if isinstance(error, BadInput):
        if error.field is not None:
            more["field"] = error.field
        if error.limit is not None:
            more["limit"] = error.limit
        if error.limit is not None and error.field == "body":
            status, title = 413, "Too large"
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="neuroswarm"'
    if isinstance(error, Conflict):
        more |= {"field": error.field, "standing": dict(error.standing)}
    if isinstance(error, Unavailable):
        wait_s = error.retry_after_s if isinstance(error, RateLimited) else 1.0
        headers["Retry-After"] = str(max(1, math.ceil(wait_s)))
    return problem(
        status, title, _detail(error), request_id=request_id, instance=instance, headers=headers, **more
    )


def _status_of(error: NodeError) -> tuple[int, str]:
    return next(
        ((status, title) for kind, status, title in _STATUS if isinstance(error, kind)),
        (500, "Internal error"),
    )


def vendors(error: NodeError) -> Mapping[str, Any]:
    """The same as an error object in OpenAI's form, for a stream that has begun."""
    named = faults.of(error)
    return named[1] if named is not None else faults.shown(_status_of(error)[0], _detail(error))


def in_words(error: NodeError) -> str:
    """The same in one line, for doors without problem documents."""
    named = [f"{name} {value}" for name in ("field", "limit") if (value := getattr(error, name, None))]
    return _detail(error) + (f" ({', '.join(named)})" if named else "")


def _detail(error: NodeError) -> str:
    """What is damaged, and where it lies, is for the operator: the node's log has it."""
    is_secret = isinstance(error, CorruptState) and not isinstance(error, DamagedLog)
    return "something stored is damaged" if is_secret else str(error)
