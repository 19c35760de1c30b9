"""Our witness over HTTP (C2SP tlog-witness): both prefixes are ``/witness``, open to everybody.

Promises: statuses, types and bodies of the specification; other errors are problem documents. What is
checked, and that it is durable before the answer, is the witness's own matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from aiohttp import web

from node.api.received import BODY
from node.api.replies import TEXT, Routes
from node.audit.witnesses.ours import Witness
from node.core.errors import BadInput, Forbidden, NodeError, NotFound, Rejected

WITNESS = web.AppKey("witness", Witness)
ADD_CHECKPOINT = "/witness/add-checkpoint"
SIZE_TYPE = "text/x.tlog.size"
NEWEST_S = 1
_ERRORS: Mapping[int, type[NodeError]] = {403: Forbidden, 404: NotFound, 422: Rejected}

ORIGIN_HASH = re.compile(r"^[0-9a-f]{64}$", re.ASCII)


def _witness(request: web.Request) -> Witness:
    witness = request.app.get(WITNESS)
    if witness is None:
        raise NotFound("this node is no witness")
    return witness


async def _add_checkpoint(request: web.Request) -> web.Response:
    verdict = await _witness(request).add_checkpoint(request[BODY])
    if verdict.status in (200, 409):
        kind = TEXT if verdict.status == 200 else SIZE_TYPE
        headers = {"Content-Type": kind, "Cache-Control": "no-store"}
        return web.Response(status=verdict.status, body=verdict.body, headers=headers)
    error = _ERRORS.get(verdict.status)
    raise BadInput(verdict.reason, field="body") if error is None else error(verdict.reason)


async def _newest(request: web.Request) -> web.Response:
    origin = request.match_info["origin_hash"]
    if not ORIGIN_HASH.fullmatch(origin):
        raise NotFound("a log is named by the SHA-256 of its origin, in lower-case hex")
    note = _witness(request).newest(origin)
    headers = {"Content-Type": TEXT, "Cache-Control": f"public, max-age={NEWEST_S}"}
    return web.Response(body=note, headers=headers)


ROUTES: Routes = (
    ("POST", ADD_CHECKPOINT, _add_checkpoint),
    ("GET", "/witness/{origin_hash}/checkpoint", _newest),
)
