"""``/v1/documents``: files taken in, listed and removed; ``/v1/passages``: what is found in them."""

from __future__ import annotations

import asyncio

from aiohttp import web

from node.api import bodies
from node.api.received import BODY, parse_json, read_body
from node.api.replies import Routes, as_json
from node.api.request import CALLER
from node.core.errors import BadInput, Unavailable
from node.knowledge.desk import LISTED_MAX, DocumentDesk
from node.knowledge.formats.extracted import kind_of
from node.knowledge.ingest import UNKNOWN_KIND

PATH = "/v1/documents"
DESK = web.AppKey("documents", DocumentDesk)
BODY_TIMEOUT_S = 120.0
UPLOADS_MAX = 4
"""Files that arrive at once."""
_UPLOADS = web.AppKey("uploads", asyncio.Semaphore)


def install(app: web.Application, desk: DocumentDesk) -> None:
    """Serve them from here."""
    app[DESK], app[_UPLOADS] = desk, asyncio.Semaphore(UPLOADS_MAX)


async def body(request: web.Request) -> bytes:
    """A file as it is, up to its limit. Raises ``BadInput``, ``Unavailable``."""
    if DESK not in request.app or request.app[_UPLOADS].locked():
        raise Unavailable("other files are arriving; try again in a moment")
    async with request.app[_UPLOADS]:
        return await read_body(request, request.app[DESK].settings.file_bytes_max, is_json=False)


async def _post(request: web.Request) -> web.Response:
    """With ``path`` the body is a file of that name; else it names a folder."""
    desk, caller, path = _desk(request), request[CALLER], request.query.get("path")
    if path is None:
        asked = parse_json(request[BODY])
        folder = asked.get("folder")
        if not isinstance(folder, str) or len(asked) != 1:
            raise BadInput("say path in the address for a file, or {folder} in the body", field="path")
        return as_json({"folder": await desk.begin(folder, caller)}, 202)
    if path and kind_of(path) is None:
        raise web.HTTPUnsupportedMediaType(reason=UNKNOWN_KIND)
    return as_json(await desk.upload(path, request[BODY], request.query.get("scope"), caller), 201)


async def _list(request: web.Request) -> web.Response:
    desk, caller = _desk(request), request[CALLER]
    after = _number(request.query.get("after", "0"), "after")
    found = await asyncio.to_thread(desk.listed, caller, after)
    more = found[-1]["id"] if len(found) == LISTED_MAX else None
    runs = [run.told() for run in await desk.progress(caller)]
    return as_json({"documents": found, "after": more, "runs": runs})


async def _search(request: web.Request) -> web.Response:
    asked = bodies.parse(request[BODY], bodies.DocumentSearch)
    found = await _desk(request).find(asked.query, asked.limit, asked.profile, request[CALLER])
    return as_json(found)


async def _remove(request: web.Request) -> web.Response:
    document = _number(request.match_info["document"], "document")
    await _desk(request).remove(document, request[CALLER])
    return as_json({"deleted": True})


def _desk(request: web.Request) -> DocumentDesk:
    if DESK not in request.app:
        raise Unavailable("this node keeps no documents")
    return request.app[DESK]


def _number(text: str, field: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise BadInput(f"{field} must be the id of a document", field=field)
    return int(text)


ROUTES: Routes = (
    ("POST", PATH, _post),
    ("GET", PATH, _list),
    ("POST", "/v1/passages", _search),
    ("DELETE", PATH + "/{document}", _remove),
)
