"""Our witness over HTTP (C2SP tlog-witness): both prefixes are ``/witness``, open to everybody.

Promises: statuses, types and bodies of the specification; other errors are problem documents. What is
checked, and that it is durable before the answer, is the witness's own matter.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from aiohttp import web

from node.api.received import BODY
from node.audit.witnesses.ours import Witness
from node.core.errors import BadInput, Forbidden, NotFound, Rejected

WITNESS = web.AppKey("witness", Witness)
ADD_CHECKPOINT = "/witness/add-checkpoint"
SIZE_TYPE = "text/x.tlog.size"
NEWEST_S = 1

ORIGIN_HASH = re.compile(r"^[0-9a-f]{64}$", re.ASCII)
_TEXT = "text/plain; charset=utf-8"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _witness(request: web.Request) -> Witness:
    witness = request.app.get(WITNESS)
    if witness is None:
        raise NotFound("this node is no witness")
    return witness


async def _add_checkpoint(request: web.Request) -> web.Response:
    verdict = await _witness(request).add_checkpoint(request[BODY])
    match verdict.status:
        case 200:
            return web.Response(
                body=verdict.body, headers={"Content-Type": _TEXT, "Cache-Control": "no-store"}
            )
        case 409:
            headers = {"Content-Type": SIZE_TYPE, "Cache-Control": "no-store"}
            return web.Response(status=409, body=verdict.body, headers=headers)
        case 403:
            raise Forbidden(verdict.reason)
        case 404:
            raise NotFound(verdict.reason)
        case 422:
            raise Rejected(verdict.reason)
        case _:
            raise BadInput(verdict.reason, field="body")


async def _newest(request: web.Request) -> web.Response:
    origin = request.match_info["origin_hash"]
    if not ORIGIN_HASH.fullmatch(origin):
        raise NotFound("a log is named by the SHA-256 of its origin, in lower-case hex")
    note = _witness(request).newest(origin)
    headers = {"Content-Type": _TEXT, "Cache-Control": f"public, max-age={NEWEST_S}"}
    return web.Response(body=note, headers=headers)


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("POST", ADD_CHECKPOINT, _add_checkpoint),
    ("GET", "/witness/{origin_hash}/checkpoint", _newest),
)
