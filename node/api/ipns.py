"""``/ipns/{name}``: the signed record of a name, as the trustless gateway specification has it; and for those
who ask for a form to read, what it points to, as far as that is public here.

Promises: the record's bytes as they came, which the client verifies, and then fetches what they point to
itself; cached for its TTL and never beyond its validity; a name in any base, or as a peer id.
Must not know: who published the record, what lies behind it.

Source: https://specs.ipfs.tech/http-gateways/trustless-gateway/ (IPNS Record Responses).
"""

from __future__ import annotations

from aiohttp import web

from node.api import gateway
from node.api.downloads import CORS, KEPT_S_MAX, attachment, is_only_if_cached, preflight
from node.api.negotiate import IPNS_RECORD, accepted, readable
from node.api.received import taken_as
from node.api.replies import Routes, etag_of, validated
from node.core.errors import BadInput, NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.store.ipns_records import Kept, Names

NAMES = web.AppKey("names", Names)

FORMAT = "ipns-record"
HOPS_MAX = 4
"""Names that are followed to one place: after a rotation the old one leads to the new one."""
_ASK = f"ask for ?format={FORMAT} or send Accept: {IPNS_RECORD}"

WILDCARDS = frozenset({"*/*", "application/*"})


async def _answer(request: web.Request) -> web.StreamResponse:
    wanted = readable(request.query, ",".join(request.headers.getall("Accept", ())))
    if wanted is None:
        return await (_path if request.match_info.get("path") else _record)(request)
    return await gateway.show(request, await _followed(request), wanted)


async def _followed(request: web.Request) -> gateway.Asked:
    """What a name points to, and the path behind it; names that point to names are followed. Raises
    ``NotFound``."""
    name = parse_name(request.match_info["name"])
    address = request.rel_url.raw_path.rstrip("/")
    parts, kept_s = gateway.parts_of(address)[1:], KEPT_S_MAX
    for _ in range(HOPS_MAX):
        kept = await request.app[NAMES].look(name)
        kept_s = min(kept_s, ttl_s(kept), kept.left_s)
        try:
            _, kind, target, *path = kept.record.value.split("/")
            parts = (*filter(None, path), *parts)
            if kind == "ipfs":
                root = Cid.parse(target, any_hash=True)
                return gateway.Asked(root, str(root), parts, address, kept_s)
            name = IpnsName.parse(target)
        except (ValueError, Rejected) as exc:
            raise NotFound("the name points to nothing that can be followed here") from exc
    raise NotFound(f"the name leads through more than {HOPS_MAX} names")


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
    parse_name(request.match_info["name"])
    raise BadInput(
        "a record is of a name, not of a path below it: ask for the name alone and follow the path from "
        "what the record points to",
        field="path",
    )


ROUTES: Routes = (
    ("GET", "/ipns/{name}", _answer),
    ("GET", "/ipns/{name}/{path}", _answer),
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
