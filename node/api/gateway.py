"""The trustless gateway: public blocks, alone or as the CAR of a path, for clients that check them; and the
end of a path in a form to read (``readable``), for those who do not.

Source: trustless gateway specification and what it takes over of the path gateway specification; RFC 9110.

Promises:
- Serves what ``PublicReader`` has and asks nobody else. Blocks and CARs are attachments; a page has no script
  and nothing of a block in it that is markup.
- A CAR is streamed: memory is what is read ahead, the links that wait and which blocks were sent
  (``node.ipfs.gateway`` bounds all three), whatever its size. Its path is resolved before the first byte:
  what is not there is a 404.
- What fails behind the first byte cuts the connection: a stream that ends properly is whole.
- At most ``Gate.busy`` responses at once, each held only as long as its client takes ``PIECE_BYTES`` in
  ``Gate.write_timeout_s``, ``RATE`` on average behind ``Gate.grace_s``, and the store gives a block in
  ``Gate.read_timeout_s``; the rest get 429. Small raw blocks have some places more, which no reader holds.
- Work for a client that has gone ends.
Must not know: records, scopes, where blocks lie.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ParamSpec, TypeVar
from urllib.parse import unquote_to_bytes

from aiohttp import web
from yarl import URL

from node.api import readable
from node.api.downloads import (
    KEPT_S_MAX,
    attachment,
    byte_range,
    is_only_if_cached,
    is_unchanged,
    preflight,
)
from node.api.negotiate import PAGE, READABLE, Wanted, negotiate
from node.api.received import taken_as
from node.api.replies import Routes
from node.core.clock import Clock
from node.core.errors import BadInput, NodeError, RateLimited, TimedOut
from node.core.ipld import car
from node.core.ipld.cid import Cid
from node.ipfs.gateway.ahead import GetMany
from node.ipfs.gateway.byte_range import ByteRange
from node.ipfs.gateway.dag import Get, apart, load, resolve
from node.ipfs.gateway.seen import Pool, waiting_pool
from node.ipfs.gateway.walk import Scope, blocks, plan
from node.store.public_blocks import PublicReader

log = logging.getLogger("neuroswarm.api")


@dataclass(frozen=True, slots=True)
class Gate:
    """``busy``: a place for each response at once. The timeouts are for one piece written and one block read,
    in seconds. ``pool``: for what CARs without duplicates remember; ``waiting``: for links that wait in any
    CAR. ``grace_s``: how much longer a client may
    take than it would at ``RATE``. ``small``: places for raw blocks up to ``PIECE_BYTES`` when ``busy`` has
    none left; aiohttp sends them after the place was given back. ``kept_s``: how long a cache on
    the way may go on showing what was erased here."""

    busy: asyncio.Semaphore
    write_timeout_s: float = 30.0
    read_timeout_s: float = 30.0
    pool: Pool = field(default_factory=Pool)
    waiting: Pool = field(default_factory=waiting_pool)
    grace_s: float = 60.0
    kept_s: int = KEPT_S_MAX
    small: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SMALL_PLACES))


BLOCKS: web.AppKey[PublicReader] = web.AppKey("blocks")
GATE = web.AppKey("gate", Gate)
CLOCK: web.AppKey[Clock] = web.AppKey("clock")
OURS = web.AppKey("ours", str)
"""The root of this node: which records are its own."""

PIECE_BYTES = 64 * 1024
"""What is written at once; a client must take as much in each ``Gate.write_timeout_s``."""
RATE = 16 * 1024
"""Bytes a second."""
SMALL_PLACES = 8
PATH_PARTS_MAX = 64
RETRY_AFTER_S = 1.0
_EXTENSIONS = {"raw": "bin", "car": "car", PAGE: "html", **dict.fromkeys(READABLE, "json")}
_REMEMBERED = 64
"""Of what clients write."""

_Args = ParamSpec("_Args")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Asked:
    """``address``: the content path as it was written, still escaped; ``name``: the root as we write it;
    ``kept_s``: for how long at most a cache may keep what is there."""

    root: Cid
    name: str
    path: tuple[str, ...]
    address: str
    kept_s: int = KEPT_S_MAX


async def _serve(request: web.Request) -> web.StreamResponse:
    store, gate = request.app[BLOCKS], request.app[GATE]
    asked = _asked(request)
    wanted = _wanted(request.rel_url.raw_query_string, ",".join(request.headers.getall("Accept", ())))
    if asked.path and wanted.name == "raw":
        raise BadInput("a raw block is asked for by its CID alone, without a path", field="path")
    held = store.held(asked.root) if wanted.name == "raw" else None
    if held is not None and len(held) <= PIECE_BYTES:
        return await _block(request, asked, wanted, held)  # nothing is waited for: it takes nobody's place
    places = gate.small if wanted.name == "raw" and gate.busy.locked() else gate.busy
    if places.locked():
        raise _too_many()
    async with places:
        get = _within(store.get, gate.read_timeout_s)
        get_many = _within(store.get_many, gate.read_timeout_s)
        has = _within(store.has, gate.read_timeout_s)
        if is_only_if_cached(request) and not (asked.root.is_identity or await has(asked.root)):
            return web.Response(status=412)
        if wanted.name == "raw":
            return await _raw(request, asked, wanted, get, is_small=places is gate.small)
        if wanted.name != "car":
            return await _readable(request, asked, wanted, get)
        return await _car(request, asked, wanted, get, get_many)


def _too_many() -> RateLimited:
    return RateLimited("too many requests for blocks at once; try again", retry_after_s=RETRY_AFTER_S)


@lru_cache(maxsize=_REMEMBERED)
def _query(text: str) -> Mapping[str, str]:
    """Clients say the same each time."""
    return URL.build(path="/", query_string=text, encoded=True).query


@lru_cache(maxsize=_REMEMBERED)
def _wanted(query: str, accept: str) -> Wanted:
    return negotiate(_query(query), accept)


@lru_cache(maxsize=1_024)
def _root(text: str) -> tuple[Cid, str]:
    root = Cid.parse(text, any_hash=True)
    return root, str(root)


def _asked(request: web.Request) -> Asked:
    """The root and the path, each part unescaped by itself: a part may hold a slash."""
    address = request.rel_url.raw_path.rstrip("/")
    cid, *path = parts_of(address)
    with taken_as("cid"):
        root, name = _root(cid)
    if request.headers.get("Service-Worker") == "script":
        raise BadInput("nothing here is a script", field="Service-Worker")
    return Asked(root, name, tuple(path), address)


def parts_of(address: str) -> tuple[str, ...]:
    """The root, and the parts of the path behind it that are not empty. Raises ``BadInput``."""
    try:
        root, *path = (unquote_to_bytes(part).decode() for part in address.split("/")[2:])
    except ValueError as exc:
        raise BadInput("the path is not UTF-8", field="path") from exc
    parts = tuple(filter(None, path))
    if len(parts) > PATH_PARTS_MAX:
        raise BadInput("the path has too many parts", field="path", limit=str(PATH_PARTS_MAX))
    return (root, *parts)


def _within(read: Callable[_Args, Awaitable[_Read]], limit_s: float) -> Callable[_Args, Awaitable[_Read]]:
    async def limited(*args: _Args.args, **kwargs: _Args.kwargs) -> _Read:
        try:
            async with asyncio.timeout(limit_s):
                return await read(*args, **kwargs)
        except TimeoutError as exc:
            raise TimedOut("a block could not be read in time; try again in a moment") from exc

    return limited


def _headers(request: web.Request, asked: Asked, wanted: Wanted, etag: str) -> dict[str, str]:
    """What raw blocks and CARs have in common; complete enough for a 304."""
    filename = _query(request.rel_url.raw_query_string).get("filename")
    filename = filename or f"{asked.name}.{_EXTENSIONS[wanted.name]}"
    kept_s = min(request.app[GATE].kept_s, asked.kept_s)
    headers = {
        "Cache-Control": f"public, max-age={kept_s}, must-revalidate",
        "Content-Disposition": attachment(filename, "inline" if wanted.name in READABLE else "attachment"),
        "Etag": etag,
        "Vary": "Accept",
        "X-Content-Type-Options": "nosniff",
        "X-Ipfs-Path": asked.address,
    }
    if wanted.is_location_due:
        headers["Content-Location"] = str(request.rel_url.update_query(wanted.query))
    return headers


# --- raw blocks -----------------------------------------------------------------------------------


async def _raw(
    request: web.Request, asked: Asked, wanted: Wanted, get: Get, *, is_small: bool
) -> web.StreamResponse:
    """``is_small``: in a place that is for small blocks only."""
    data = await load(get, asked.root)
    if is_small and len(data) > PIECE_BYTES:
        raise _too_many()
    return await _block(request, asked, wanted, data)


async def _block(request: web.Request, asked: Asked, wanted: Wanted, data: bytes) -> web.StreamResponse:
    """The whole block, or what is wanted of it."""
    etag = f'"{asked.name}.raw"'
    headers = {
        **_headers(request, asked, wanted, etag),
        "Accept-Ranges": "bytes",
        "X-Ipfs-Roots": asked.name,
    }
    if is_unchanged(request, etag):
        return web.Response(status=304, headers=headers)
    headers["Content-Type"] = wanted.content_type
    span = byte_range(request, etag, len(data))
    if span is None:
        return await _send(request, 200, headers, data)
    headers["Content-Range"] = f"bytes {span[0]}-{span[1]}/{len(data)}"
    return await _send(request, 206, headers, data[span[0] : span[1] + 1])


async def _send(
    request: web.Request, status: int, headers: dict[str, str], body: bytes
) -> web.StreamResponse:
    """A body in one piece, which aiohttp writes, or in several, each within its time."""
    if request.method == "HEAD" or len(body) <= PIECE_BYTES:
        return web.Response(status=status, headers=headers, body=body)
    stream = Stream(request, web.StreamResponse(status=status, headers=headers))
    stream.response.content_length = len(body)
    async with stream:
        await stream.start()
        await stream.write(body)
    return stream.response


# --- forms to read --------------------------------------------------------------------------------


async def show(request: web.Request, asked: Asked, wanted: Wanted) -> web.StreamResponse:
    """What ``asked`` leads to in a form to read, for names of other routes. Raises as they do."""
    gate = request.app[GATE]
    if gate.busy.locked():
        raise _too_many()
    async with gate.busy:
        return await _readable(request, asked, wanted, _within(request.app[BLOCKS].get, gate.read_timeout_s))


async def _readable(request: web.Request, asked: Asked, wanted: Wanted, get: Get) -> web.StreamResponse:
    place = await resolve(get, asked.root, asked.path)
    now, ours = request.app[CLOCK].now(), request.app[OURS]
    shown = await apart(place.data, lambda: readable.shown(place, wanted.name, ours, now))
    headers = _headers(request, asked, wanted, shown.etag) | dict(shown.headers)
    headers["X-Ipfs-Roots"] = ",".join(map(str, place.roots))
    if wanted.name == PAGE:
        del headers["Content-Disposition"]
    if not shown.keeps:
        headers["Cache-Control"] = "public, no-cache"
    if is_unchanged(request, shown.etag):
        return web.Response(status=304, headers=headers)
    headers["Content-Type"] = wanted.content_type
    return await _send(request, 200, headers, shown.body)


# --- CARs -----------------------------------------------------------------------------------------


async def _car(
    request: web.Request, asked: Asked, wanted: Wanted, get: Get, get_many: GetMany
) -> web.StreamResponse:
    scope, span = _limits(request)
    place = await resolve(get, asked.root, asked.path)
    todo = await plan(place, scope, span)
    variant = repr((asked.path, wanted.dups, None if span is None else str(span)))
    digest = hashlib.sha256(variant.encode()).hexdigest()[:16]
    etag = f'W/"{scope.value}.{asked.root}.{digest}.car"'
    headers = {
        **_headers(request, asked, wanted, etag),
        "Accept-Ranges": "none",
        "X-Ipfs-Roots": ",".join(map(str, place.roots)),
    }
    if is_unchanged(request, etag):
        return web.Response(status=304, headers=headers)
    headers["Content-Type"] = wanted.content_type
    gate = request.app[GATE]
    pool = None if wanted.dups else gate.pool
    stream = Stream(request, web.StreamResponse(headers=headers))
    walk = blocks(get, place, todo, pool, get_many, stream.check, gate.waiting)
    async with stream, aclosing(walk) as found:
        await stream.start()
        if request.method != "HEAD":
            await stream.write(car.header([place.cid]))
            async for cid, data in found:
                await stream.write(car.section(cid, data))
    return stream.response


def _limits(request: web.Request) -> tuple[Scope, ByteRange | None]:
    """``entity-bytes`` means the entity, except where the client wants even less."""
    text = request.query.get("dag-scope") or None
    try:
        scope = Scope(text or "all")
    except ValueError as exc:
        names = " ".join(scope.value for scope in Scope)
        raise BadInput("dag-scope is block, entity or all", field="dag-scope", limit=names) from exc
    if "entity-bytes" not in request.query:
        return scope, None
    span = ByteRange.parse(request.query["entity-bytes"])
    return (Scope.ENTITY if scope is Scope.ALL else scope), span


# --- streams --------------------------------------------------------------------------------------


class Stream:
    """A response written in pieces. Leaving it whole ends the body; leaving it with an error cuts the
    connection, so that nobody takes what came for all of it. An error of ours, and a client that is too slow
    or gone, ends there; every other one goes on."""

    def __init__(self, request: web.Request, response: web.StreamResponse) -> None:
        self.response = response
        self._request = request
        gate = request.app[GATE]
        self._limit_s = gate.write_timeout_s
        self._credit_s = self._grace_s = gate.grace_s
        self._waiting = bytearray()

    async def start(self) -> None:
        """Raises ``ConnectionError``."""
        await self.response.prepare(self._request)

    def check(self) -> None:
        """Raises ``ConnectionError`` when the client has gone, which nothing else says while nothing is
        written."""
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has gone")

    async def write(self, data: bytes) -> None:
        """Raises ``TimeoutError`` and ``ConnectionError``."""
        self._waiting += data
        if len(self._waiting) >= PIECE_BYTES:
            await self._flush()

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        try:
            if error is None:
                await self._end()
            elif isinstance(error, NodeError):
                await self._flush()
        except (TimeoutError, ConnectionError) as exc:
            error = exc
        if error is not None:
            self._cut(error)
        return isinstance(error, NodeError | TimeoutError | ConnectionError | None)

    async def _end(self) -> None:
        await self._flush()
        async with asyncio.timeout(self._limit_s):
            await self.response.write_eof()

    async def _flush(self) -> None:
        view = memoryview(bytes(self._waiting))
        self._waiting.clear()
        loop = asyncio.get_running_loop()
        for start in range(0, len(view), PIECE_BYTES):
            piece = view[start : start + PIECE_BYTES]
            began = loop.time()
            async with asyncio.timeout(min(self._limit_s, self._credit_s)):
                await self.response.write(piece)
            earned = len(piece) / RATE - (loop.time() - began)
            self._credit_s = min(self._grace_s, self._credit_s + earned)

    def _cut(self, error: BaseException) -> None:
        """End the connection without ending the body. What was written still goes out, within its time, if
        it was our error."""
        transport = self._request.transport
        if transport is None or transport.is_closing():
            return
        log.info("a response was cut off path=%r: %r", self._request.path, error)
        if isinstance(error, NodeError):
            asyncio.get_running_loop().call_later(self._limit_s, transport.abort)
            transport.close()
        else:
            transport.abort()


ROUTES: Routes = (
    ("GET", "/ipfs/{cid}", _serve),
    ("GET", "/ipfs/{cid}/{path}", _serve),
    ("OPTIONS", "/ipfs/{cid}", preflight),
    ("OPTIONS", "/ipfs/{cid}/{path}", preflight),
)
