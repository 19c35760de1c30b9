"""``/routing/v1``: where blocks, peers and names are found, as far as this node knows.

Promises: the delegated routing HTTP API, version 1, with the filters of IPIP-484; the only provider that it
names is this node, and only for what anybody may fetch from it, so that what is not public looks like what is
absent; nothing is asked of anybody else. IPNS records are taken from whoever has a valid one. What was found
is answered by 200, and so is that nothing was. Must not know: what a block is.

Sources: https://specs.ipfs.tech/routing/http-routing-v1/, https://specs.ipfs.tech/ipips/ipip-0484/.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import format_datetime
from typing import Any

import orjson
from aiohttp import web

from node.api.downloads import CORS, preflight
from node.api.ipns import WILDCARDS, media_types, parse_name, record_headers, ttl_s
from node.api.negotiate import IPNS_RECORD
from node.api.received import body_in_time, taken_as
from node.api.replies import Routes, validated
from node.core.errors import BadInput, NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import RECORD_BYTES_MAX, IpnsName
from node.store.ipns_records import Names
from node.store.public_blocks import PublicReader

GATEWAY = "transport-ipfs-gateway-http"
"""How blocks are fetched from this node: over HTTP, from its trustless gateway."""

FOUND_S, NONE_S = 300, 15
STALE_S = 48 * 3_600
"""How long an answer may be used when nobody can be asked: what a provider record lives in the public DHT."""
TTL_DEFAULT_S = 60

_JSON, _LINES = "application/json", "application/x-ndjson"
_UNKNOWN = "unknown"
_OPEN = {**CORS, "Access-Control-Allow-Methods": "GET, OPTIONS", "Vary": "Accept"}
_WITHOUT_VALUE = frozenset(
    {
        *("http", "https", "ws", "wss", "tls", "noise", "quic", "quic-v1", "webtransport"),
        *("webrtc", "webrtc-direct", "p2p-circuit", "p2p-webrtc-direct", "p2p-websocket-star", "udt", "utp"),
    }
)
"""Multiaddr protocols that stand alone; all others are followed by a value."""


@dataclass(frozen=True, slots=True)
class Router:
    """What is answered from. ``blocks``: what anybody may fetch here; ``own``: the name of this node's key,
    which a rotation changes; ``addresses``: this node's, as multiaddrs."""

    blocks: PublicReader
    names: Names
    own: Callable[[], IpnsName]
    addresses: tuple[str, ...]

    @property
    def peer_id(self) -> str:
        """In base58."""
        return self.own().peer_id


ROUTER = web.AppKey("router", Router)


# --- providers and peers --------------------------------------------------------------------------


async def _providers(request: web.Request) -> web.Response:
    router = request.app[ROUTER]
    try:
        cid = Cid.parse(request.match_info["cid"], any_hash=True)
    except Rejected as exc:
        raise Rejected(f"cid: {exc}") from exc
    wanted = _type(request)
    return _listed(request, "Providers", wanted, [_own(router)] if await router.blocks.has(cid) else [])


async def _peers(request: web.Request) -> web.Response:
    router = request.app[ROUTER]
    peer = IpnsName.parse(request.match_info["peer_id"])  # a peer id is written as an IPNS name is
    wanted = _type(request)
    return _listed(request, "Peers", wanted, [_own(router)] if peer.peer_id == router.peer_id else [])


def _own(router: Router) -> dict[str, Any]:
    return {
        "Schema": "peer",
        "ID": router.peer_id,
        "Addrs": list(router.addresses),
        "Protocols": [GATEWAY],
    }


def _type(request: web.Request) -> str:
    """Lines only where they are asked for by name."""
    accepted = media_types(request)
    if _LINES in accepted:
        return _LINES
    if accepted and not accepted & (WILDCARDS | {_JSON}):
        raise web.HTTPNotAcceptable(reason=f"ask for Accept: {_JSON} or {_LINES}")
    return _JSON


def _listed(request: web.Request, key: str, kind: str, found: Sequence[dict[str, Any]]) -> web.Response:
    addresses, protocols = (
        [name for name in request.query.get(parameter, "").lower().split(",") if name]
        for parameter in ("filter-addrs", "filter-protocols")
    )
    shown = [one for record in found if (one := _filtered(record, addresses, protocols)) is not None]
    if kind == _LINES:
        body = b"".join(orjson.dumps(one) + b"\n" for one in shown)
    else:
        body = orjson.dumps({key: shown})
    headers = {
        "Content-Type": kind,
        "Cache-Control": _caching(FOUND_S if shown else NONE_S, STALE_S),
        "Last-Modified": format_datetime(request.app[ROUTER].names.clock.now(), usegmt=True),
        **_OPEN,
    }
    return web.Response(body=body, headers=headers)


def _filtered(
    record: dict[str, Any], addresses: Sequence[str], protocols: Sequence[str]
) -> dict[str, Any] | None:
    """The record as the filters leave it (IPIP-484): fewer addresses, all protocols; None where it is left
    out."""
    spoken = [name.lower() for name in record["Protocols"]] or [_UNKNOWN]
    if protocols and not set(spoken) & set(protocols):
        return None
    if not addresses or (not record["Addrs"] and _UNKNOWN in addresses):
        return record
    unwanted = {name[1:] for name in addresses if name.startswith("!")}
    wanted = {name for name in addresses if not name.startswith("!")}
    left = [
        address
        for address in record["Addrs"]
        if not (has := protocols_of(address)) & unwanted and (not wanted or has & wanted)
    ]
    return {**record, "Addrs": left} if left else None


def protocols_of(address: str) -> set[str]:
    """The protocol names in a multiaddr's text."""
    found, parts = set(), address.lower().strip("/").split("/")
    at = 0
    while at < len(parts):
        found.add(parts[at])
        at += 1 if parts[at] in _WITHOUT_VALUE else 2
    return found


# --- names ----------------------------------------------------------------------------------------


async def _get_name(request: web.Request) -> web.Response:
    accepted = media_types(request)
    if accepted and not accepted & (WILDCARDS | {IPNS_RECORD}):
        raise web.HTTPNotAcceptable(reason=f"only the record is served: retry with Accept: {IPNS_RECORD}")
    names, name = request.app[ROUTER].names, parse_name(request.match_info["name"])
    try:
        kept = await names.look(name)
    except NotFound:
        # Any type but a record's says that there is none; 404 is for older clients and servers only.
        headers = {"Cache-Control": _caching(NONE_S, NONE_S), **_OPEN}
        return web.Response(text="this node knows no record for that name\n", headers=headers)
    headers = record_headers(request, name, kept)
    headers |= {
        "Cache-Control": _caching(min(ttl_s(kept) or TTL_DEFAULT_S, kept.left_s), kept.left_s),
        "Expires": format_datetime(kept.record.validity, usegmt=True),
        "Last-Modified": format_datetime(names.clock.now(), usegmt=True),
        **_OPEN,
    }
    return validated(request, headers["Etag"], kept.data, headers)


async def _put_name(request: web.Request) -> web.Response:
    if request.content_type.lower() != IPNS_RECORD:
        raise web.HTTPNotAcceptable(reason=f"only records are taken: retry with Content-Type: {IPNS_RECORD}")
    name = parse_name(request.match_info["name"])
    try:
        data = await body_in_time(request, RECORD_BYTES_MAX, is_json=False)
    except BadInput as exc:
        raise BadInput(str(exc), field="record") from exc
    with taken_as("record"):
        is_kept = await request.app[ROUTER].names.put(name, data)
    if not is_kept:
        raise BadInput("a newer record of that name is known here", field="record")
    return web.Response(headers={"Cache-Control": "no-store", **_OPEN})


# --- the rest -------------------------------------------------------------------------------------


async def _other(request: web.Request) -> web.Response:
    """The optional part of the interface, and what is none of it."""
    if request.match_info["path"].startswith("dht/"):
        raise web.HTTPNotImplemented(reason="this node takes no part in a DHT")
    raise BadInput("known are providers/{cid}, peers/{peer-id} and ipns/{name}", field="path")


def _caching(fresh_s: int, stale_s: int) -> str:
    return f"public, max-age={fresh_s}, stale-while-revalidate={stale_s}, stale-if-error={stale_s}"


ROUTES: Routes = (
    ("GET", "/routing/v1/providers/{cid}", _providers),
    ("GET", "/routing/v1/peers/{peer_id}", _peers),
    ("GET", "/routing/v1/ipns/{name}", _get_name),
    ("PUT", "/routing/v1/ipns/{name}", _put_name),
    ("GET", "/routing/v1/{path}", _other),
    ("OPTIONS", "/routing/v1/{path}", preflight),
)
