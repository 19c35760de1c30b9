"""``/ipns/{name}``: the signed record of a name, as the trustless gateway specification has it.

Promises: the record's bytes as they came, never what it points to, which the client verifies and fetches
itself; cached for its TTL and never beyond its validity; a name in any base, or as a peer id.
Must not know: who published the record, what lies behind it.

Source: https://specs.ipfs.tech/http-gateways/trustless-gateway/ (IPNS Record Responses).
"""

from __future__ import annotations

from aiohttp import web

from node.api.downloads import CORS, attachment, is_only_if_cached, preflight
from node.api.negotiate import IPNS_RECORD, accepted
from node.api.received import taken_as
from node.api.replies import Routes, etag_of, validated
from node.core.errors import BadInput, NotFound
from node.core.ipld.ipns import IpnsName
from node.store.ipns_records import Kept, Names

NAMES = web.AppKey("names", Names)

FORMAT = "ipns-record"
_ASK = f"ask for ?format={FORMAT} or send Accept: {IPNS_RECORD}"

WILDCARDS = frozenset({"*/*", "application/*"})


async def _record(request: web.Request) -> web.Response:
    wanted, types = request.query.get("format"), media_types(request)
    if not wanted and not types - WILDCARDS:
        raise BadInput(_ASK, field="format", limit=FORMAT)
    if wanted != FORMAT if wanted else IPNS_RECORD not in types:
        raise web.HTTPNotAcceptable(reason=f"only the record is served under /ipns/: {_ASK}")
    name = parse_name(request.match_info["name"])
    try:
        kept = await request.app[NAMES].look(name)
    except NotFound:
        if is_only_if_cached(request):
            raise web.HTTPPreconditionFailed(reason="this node has no record for that name") from None
        raise
    headers = record_headers(request, name, kept)
    headers["Cache-Control"] = f"public, max-age={min(ttl_s(kept), kept.left_s)}"
    headers["X-Ipfs-Path"] = f"/ipns/{name.text}"
    if not wanted:
        headers["Content-Location"] = str(request.rel_url.update_query(format=FORMAT))
    return validated(request, headers["Etag"], kept.data, headers)


async def _path(request: web.Request) -> web.Response:
    """A path below a name is resolved by the client, with the record in hand."""
    if not request.match_info["path"]:
        return await _record(request)
    parse_name(request.match_info["name"])
    raise BadInput(
        "a record is of a name, not of a path below it: ask for the name alone and follow the path from "
        "what the record points to",
        field="path",
    )


ROUTES: Routes = (
    ("GET", "/ipns/{name}", _record),
    ("GET", "/ipns/{name}/{path}", _path),
    ("OPTIONS", "/ipns/{name}", preflight),
    ("OPTIONS", "/ipns/{name}/{path}", preflight),
)


# --- for every route that serves a record -----------------------------------------------------------


def parse_name(text: str) -> IpnsName:
    """The name in an address. Raises ``BadInput``."""
    with taken_as("name"):
        return IpnsName.parse(text)


def media_types(request: web.Request) -> set[str]:
    """The media types that the asker accepts, in lower case."""
    return {entry.media_type for entry in accepted(",".join(request.headers.getall("Accept", ())))}


def ttl_s(kept: Kept) -> int:
    """For how many seconds the publisher lets a record be used without asking again."""
    return kept.record.ttl_ns // 10**9


def record_headers(request: web.Request, name: IpnsName, kept: Kept) -> dict[str, str]:
    """What every answer with a record has, but for how long it may be cached."""
    return {
        **CORS,
        "Content-Type": IPNS_RECORD,
        "Content-Disposition": attachment(request.query.get("filename") or f"{name.text}.ipns-record"),
        "Etag": etag_of(kept.data),
        "Vary": "Accept",
        "X-Content-Type-Options": "nosniff",
    }
