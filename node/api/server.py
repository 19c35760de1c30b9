"""The HTTP door: routes, limits and headers. JSON in, values through ``service``, JSON out."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from aiohttp import web
from msgspec.structs import asdict

from node.agent.memory.keeper import Keeper
from node.api import (
    bodies,
    browser,
    documents,
    gateway,
    ipns,
    logs,
    memory,
    openapi,
    page,
    peers,
    routing,
    views,
    witness,
)
from node.api.access import OPEN, Access, Ticket, needed
from node.api.connections import AtOnce, Connection, working
from node.api.errors import from_error, problem
from node.api.mcp import door as mcp
from node.api.openai import models as openai_api
from node.api.received import BODY, BODY_TIMEOUT_S, arrived, read_body
from node.api.replies import COMMON, Handler, Routes, as_json, ready_json, told, whole
from node.api.request import ACCESS, CALLER, ID, LIMITS, SERVICE, TICKET
from node.api.stream import STARTED, as_events, while_there
from node.audit.upkeep.away import Away
from node.audit.witnesses.ours import BODY_BYTES_MAX, Witness
from node.core.clock import new_id
from node.core.errors import BadInput, CorruptState, NodeError, TimedOut, Unavailable
from node.core.normalise import normalise
from node.core.ports import Tell
from node.core.server_settings import Server
from node.knowledge.desk import DocumentDesk
from node.pipeline.ready import Again
from node.pipeline.requests import Ask, Entry, Invalidation, Said
from node.pipeline.service import Service

log = logging.getLogger("neuroswarm.api")

_BUSY = web.AppKey("busy", asyncio.Semaphore)
_SERVICE_ID = web.AppKey("service_id", str)

GRACE_S = 5.0
"""What a request may take beyond its deadline to store and log what it came to."""

_OWN_ID = re.compile(r"[A-Za-z0-9_-]{8,64}\Z")
_UNLIMITED = frozenset({"/livez", "/readyz", "/health", "/metrics"}) | peers.OWN_LIMITS
_TOO_MANY = "too many requests at once; try again in a moment"
_BLOCKS = "/ipfs/"
_NO_FOLDERS: Mapping[str, logs.Served] = MappingProxyType({})

# --- middlewares ----------------------------------------------------------------------------------


@web.middleware
async def _door(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every failure becomes a problem document; nothing internal leaks."""
    given = request.headers.get("X-Request-Id")
    request_id = request[ID] = given if given and _OWN_ID.match(given) else new_id()
    try:
        if (asked_first := _admit(request)) is not None:
            return asked_first
        if handler is not _chat:
            request.app[ACCESS].spend(request.get(TICKET))
        elif (reply := _at_once(request)) is not None:
            return reply
        with working(request):
            response = await _bounded(request, handler)
    except NodeError as exc:
        await _finish(request)
        if isinstance(exc, CorruptState):
            log.error("damaged state met id=%s path=%r: %s", request_id, request.path, exc)
        response = from_error(exc, request_id=request_id, instance=request.path)
    except web.HTTPException as exc:
        response = problem(
            exc.status,
            HTTPStatus(exc.status).phrase,
            exc.reason,
            request_id=request_id,
            instance=request.path,
            headers={name: exc.headers[name] for name in ("Allow", "Content-Range") if name in exc.headers},
        )
    except Exception:  # the outermost handler: a fault of ours is a 500, not a dead connection
        log.exception("request failed id=%s path=%r", request_id, request.path)
        response = problem(
            500,
            "Internal error",
            "this is a fault of the node; its log has the details",
            request_id=request_id,
            instance=request.path,
        )
    started: web.StreamResponse | None = request.get(STARTED)
    if started is not None and started is not response:
        # A stream is under way and cannot become a problem document: it breaks off.
        if request.transport is not None:
            request.transport.abort()
        return started
    return response


def _admit(request: web.Request) -> web.Response | None:
    """Find out who calls, and whether from where he may; the reply where a browser only asks that. Raises
    ``BadInput``, ``Unauthenticated``, ``Forbidden``."""
    limits, access = request.app[LIMITS], request.app[ACCESS]
    try:
        browser.check(request, limits)
    except BadInput:
        access.refused("browser")
        raise
    if (reply := browser.preflight(request, limits)) is not None:
        return reply
    need = needed(request)
    if (ticket := access.ticket(request, need)) is not None:
        request[CALLER] = ticket.caller
        if need != OPEN:  # what everybody may have costs nobody anything
            request[TICKET] = ticket
    return None


async def _common_headers(request: web.Request, response: web.StreamResponse) -> None:
    """What every response says, one that is streamed too, errors included."""
    headers = response.headers
    if ID in request:  # not where aiohttp refuses a request by itself
        headers["X-Request-Id"] = request[ID]
    browser.say(request, response, request.app[LIMITS])
    for name, value in COMMON.items():
        headers.setdefault(name, value)
    headers.update(request.app[ACCESS].told(request.get(TICKET)))


async def _bounded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """At most so many requests at once, each within its deadline; health stays reachable. A body that
    arrives slowly takes nobody's place. Blocks have a limit of their own: a CAR takes as long as it is."""
    if request.path in _UNLIMITED or request.path.startswith(_BLOCKS):
        return await handler(request)
    limits, busy = request.app[LIMITS], request.app[_BUSY]
    if request.method == "POST" and BODY not in request and request.match_info.http_exception is None:
        if request.content.is_eof():
            request[BODY] = await _body(request, limits)
        else:
            wait_s = min(BODY_TIMEOUT_S, limits.request_timeout_s)
            if request.path == documents.PATH:
                wait_s = documents.BODY_TIMEOUT_S
            try:
                async with asyncio.timeout(wait_s):
                    request[BODY] = await _body(request, limits)
            except TimeoutError:
                return _too_slow(request, wait_s)
    if busy.locked():
        raise Unavailable(_TOO_MANY)
    async with busy:
        try:
            async with asyncio.timeout(limits.request_timeout_s + GRACE_S):
                return await handler(request)
        except TimeoutError as exc:
            raise TimedOut("the request was not finished in time; try again in a moment") from exc


async def _body(request: web.Request, limits: Server) -> bytes:
    if request.path == witness.ADD_CHECKPOINT:
        return await read_body(request, BODY_BYTES_MAX, is_json=False)
    if request.path == documents.PATH:
        return await documents.body(request)
    if request.path == "/":
        return await read_body(request, limits.max_body_bytes, is_json=False)
    is_chat = request.path in openai_api.CHATS
    return await read_body(request, limits.max_chat_bytes if is_chat else limits.max_body_bytes)


def _too_slow(request: web.Request, wait_s: float) -> web.Response:
    response = problem(
        408,
        "Request timeout",
        f"the body did not arrive within {wait_s:g} s",
        request_id=request[ID],
        instance=request.path,
        field="body",
        limit=f"{wait_s:g} s",
    )
    response.force_close()
    return response


# --- questions ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Begun:
    """A question, and where it is answered from memory the answer, what that will come from, or why there is
    none."""

    request_id: str
    chat: bodies.Chat
    ticket: Ticket
    again: Again | Awaitable[Again] | NodeError | None = None

    @classmethod
    def of(cls, service: Service, body: bytes, request_id: str, ticket: Ticket) -> _Begun:
        """Raises ``BadInput``."""
        chat = bodies.parse(body, bodies.Chat)
        begun = cls(request_id, chat, ticket)
        if chat.is_plain:
            zone = bodies.zone(chat.time_zone)
            try:
                begun.again = service.again(chat.query, ticket.caller, zone, request_id)
            except NodeError as exc:
                begun.again = exc
        return begun


_BEGUN = web.RequestKey("begun", _Begun)


def _at_once(request: web.Request) -> web.StreamResponse | None:
    """The reply to a question that is there whole, where it is answered from memory and nothing has to be
    waited for: it takes nobody's place. Else what has begun goes the way of all requests."""
    app, connection, ticket = request.app, request.protocol, request[TICKET]
    body = arrived(request, app[LIMITS].max_body_bytes)
    begun: object | None = None
    if body is not None and isinstance(connection, Connection):
        connection.learn(request, body, ticket)
        begun = connection.taken(body)
    if isinstance(begun, _Begun) and begun.ticket is ticket:
        request[ID] = begun.request_id
    else:
        app[ACCESS].spend(ticket)
        if body is None:
            return None
        if app[_BUSY].locked():
            raise Unavailable(_TOO_MANY)
        begun = _Begun.of(app[SERVICE], body, request[ID], ticket)
    if isinstance(begun.again, NodeError):
        raise begun.again
    if isinstance(begun.again, Again):
        return told(request, views.again(begun.again), request[ID], app[ACCESS].told(ticket))
    assert body is not None
    request[BODY], request[_BEGUN] = body, begun
    return None


async def _finish(request: web.Request) -> None:
    """What was begun when the bytes arrived comes to its end, though its asker is refused: its key has ended
    since then."""
    begun = request.protocol.left() if isinstance(request.protocol, Connection) else None
    if isinstance(begun, _Begun) and isinstance(begun.again, Awaitable):
        with suppress(NodeError):
            await begun.again


def at_once(app: web.Application) -> AtOnce:
    """What answers, from memory, questions whose heads were read before; the same as ``_door`` and ``_chat``
    come to. Whoever sent the head still has to be let in."""
    service, busy, access = app[SERVICE], app[_BUSY], app[ACCESS]

    def answered(body: bytes, ticket: Ticket) -> bytes | _Begun | None:
        if busy.locked() or not access.lets_in(ticket):
            return None
        try:
            begun = _Begun.of(service, body, new_id(), ticket)
        except BadInput:
            return None
        if isinstance(begun.again, Again):
            more = access.told(ticket) if ticket.is_counted else None
            return whole(views.again(begun.again), begun.request_id, more)
        return begun

    return answered


async def _chat(request: web.Request) -> web.StreamResponse:
    begun = request.get(_BEGUN) or _Begun.of(
        request.app[SERVICE], request[BODY], request[ID], request[TICKET]
    )
    chat, again = begun.chat, begun.again
    if isinstance(again, NodeError):
        raise again
    if again is not None:
        again = again if isinstance(again, Again) else await again
        return told(request, views.again(again), again.request, request.app[ACCESS].told(request[TICKET]))
    ask = Ask(
        text=chat.query,
        caller=request[CALLER],
        session=chat.session_id,
        max_age_s=chat.max_age_s,
        no_cache=chat.no_cache,
        no_store=chat.no_store,
        ttl_s=chat.ttl_s,
        tags=chat.tags,
        zone=bodies.zone(chat.time_zone),
        agent=chat.mode == "agent",
    )
    service, request_id = request.app[SERVICE], request[ID]

    async def reply(tell: Tell | None = None) -> dict[str, Any]:
        answer = await service.answer(ask, request_id, tell)
        receipt = await service.receipt(answer.decision) if chat.verbose else None
        return views.answer(answer, verbose=chat.verbose, receipt=receipt)

    if chat.stream:
        return await as_events(request, reply)
    return as_json(await while_there(request, reply()))


async def _route(request: web.Request) -> web.Response:
    route = bodies.parse(request[BODY], bodies.Route)
    zone = bodies.zone(route.time_zone)
    ask = Ask(text=route.query, caller=request[CALLER], session=route.session_id, zone=zone)
    parts = await request.app[SERVICE].route(ask)
    return as_json(views.route([(normalise(part.text), part.route) for part in parts]))


# --- the cache as a service -----------------------------------------------------------------------


async def _put_entry(request: web.Request) -> web.Response:
    entry = bodies.parse(request[BODY], bodies.NewEntry)
    kept = await request.app[SERVICE].put(Entry(caller=request[CALLER], **asdict(entry)), request[ID])
    response = as_json(views.kept(kept), 201)
    response.headers["Location"] = f"/v1/cache/entries/{kept.cid}"
    return response


async def _search(request: web.Request) -> web.Response:
    search = bodies.parse(request[BODY], bodies.Search)
    ask = Ask(text=search.query, caller=request[CALLER], context=search.context)
    recall, ref = await request.app[SERVICE].search(ask, search.floor, request[ID])
    return as_json(views.search(recall, ref))


async def _get_entry(request: web.Request) -> web.Response:
    service = request.app[SERVICE]
    stored = await service.entry(bodies.cid(request.match_info["cid"]), request[CALLER])
    return as_json(views.stored(stored, await service.merged(stored)))


async def _delete_entry(request: web.Request) -> web.Response:
    ref = await request.app[SERVICE].withdraw(bodies.cid(request.match_info["cid"]), request[CALLER])
    return as_json({"deleted": True, "decision": views.decision(ref)})


async def _cache_stats(request: web.Request) -> web.Response:
    return as_json(views.cache_stats(await request.app[SERVICE].cache_stats()))


async def _invalidate(request: web.Request) -> web.Response:
    given = asdict(bodies.parse(request[BODY], bodies.Invalidate))
    if given["cid"] is not None:
        given["cid"] = bodies.cid(given["cid"])
    done = await request.app[SERVICE].invalidate(Invalidation(**given), request[CALLER])
    return as_json({"matched": done.matched, "withdrawn": done.withdrawn, "cids": list(done.cids)})


async def _feedback(request: web.Request) -> web.Response:
    said = Said(caller=request[CALLER], **bodies.said(bodies.parse(request[BODY], bodies.Verdict)))
    return as_json(views.feedback(await request.app[SERVICE].feedback(said)))


# --- operate --------------------------------------------------------------------------------------


async def _livez(_: web.Request) -> web.Response:
    return as_json({"status": "pass"})


async def _readyz(request: web.Request) -> web.Response:
    ready = request.app[SERVICE].is_ready
    return as_json({"status": "pass" if ready else "fail"}, 200 if ready else 503)


async def _health(request: web.Request) -> web.Response:
    caller = request.get(CALLER)
    body = views.health(await request.app[SERVICE].health(), service_id=request.app[_SERVICE_ID])
    if caller is None or not caller.is_operator:
        body = {name: body[name] for name in ("status", "version")}
    return as_json(body, 503 if body["status"] == "fail" else 200, "application/health+json")


async def _metrics(request: web.Request) -> web.Response:
    headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
    return web.Response(body=await request.app[SERVICE].metrics(), headers=headers)


async def _openapi(request: web.Request) -> web.Response:
    return ready_json(openapi.page(request.app[LIMITS].max_body_bytes))


ROUTES: Routes = (
    *page.ROUTES,
    ("POST", "/chat", _chat),
    ("POST", "/route", _route),
    ("POST", "/v1/cache/entries", _put_entry),
    ("POST", "/v1/cache/search", _search),
    ("GET", "/v1/cache/entries/{cid}", _get_entry),
    ("DELETE", "/v1/cache/entries/{cid}", _delete_entry),
    ("GET", "/v1/cache/stats", _cache_stats),
    ("POST", "/v1/cache/invalidate", _invalidate),
    ("POST", "/feedback", _feedback),
    *documents.ROUTES,
    *memory.ROUTES,
    *openai_api.ROUTES,
    *gateway.ROUTES,
    *ipns.ROUTES,
    *routing.ROUTES,
    *logs.ROUTES,
    *witness.ROUTES,
    *peers.ROUTES,
    *mcp.ROUTES,
    ("GET", "/livez", _livez),
    ("GET", "/readyz", _readyz),
    ("GET", "/health", _health),
    ("GET", "/metrics", _metrics),
    ("GET", "/openapi.json", _openapi),
)


def build(
    service: Service,
    limits: Server,
    *,
    service_id: str,
    router: routing.Router,
    gate: gateway.Gate,
    folders: Mapping[str, logs.Served] = _NO_FOLDERS,
    cosigner: Witness | None = None,
    peering: peers.Peering | None = None,
    away: Away | None = None,
    access: Access | None = None,
    documents_desk: DocumentDesk | None = None,
    keeper: Keeper | None = None,
) -> web.Application:
    """The application, not yet listening. ``router``: what strangers may fetch, and where; ``gate``: within
    which bounds; ``folders``: the logs that are served, by name; ``cosigner``: our witness; ``peering``: what
    peers are answered from; ``away``: where epochs of logs were moved to; ``access``: who may call; without
    it there are no keys; ``documents_desk``: what is done with documents; ``keeper``: what is
    remembered of people."""
    app = web.Application(middlewares=[_door], client_max_size=limits.max_body_bytes + 1)
    app.on_response_prepare.append(_common_headers)
    app[SERVICE] = service
    app[LIMITS] = limits
    app[ACCESS] = access or Access(limits)
    app[_BUSY] = asyncio.Semaphore(limits.concurrent_requests_max)
    app[_SERVICE_ID] = service_id
    app[logs.LOGS] = folders
    if away is not None:
        app[logs.AWAY] = away
    if cosigner is not None:
        app[witness.WITNESS] = cosigner
    if documents_desk is not None:
        documents.install(app, documents_desk)
    if keeper is not None:
        app[memory.KEEPER] = keeper
    if peering is not None:
        app[peers.PEERS] = peering
    app[gateway.BLOCKS] = router.blocks
    app[gateway.GATE] = gate
    app[gateway.CLOCK] = router.names.clock
    app[gateway.OURS] = service_id
    app[ipns.NAMES] = router.names
    app[routing.ROUTER] = router
    for method, path, handler in ROUTES:
        # {path} is the only part that holds slashes, or ends of lines
        pattern = path.replace("{path}", r"{path:[\s\S]*}")
        app.router.add_route(method, pattern, handler)
        if method == "GET":
            app.router.add_route("HEAD", pattern, handler)
    return app
