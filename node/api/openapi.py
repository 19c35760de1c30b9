"""``/openapi.json``: what is served, field by field. A test compares it with the routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from node import __version__
from node.api import ipns, logs, page, peers, witness
from node.api.fields import TAG_CHARS_MAX, TAGS_MAX, TTL_S_MAX, ZONE_CHARS_MAX
from node.api.negotiate import FORMATS, IPNS_RECORD
from node.core.ipld.ipns import RECORD_BYTES_MAX
from node.core.peer_address import ADDRESS_CHARS_MAX


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(required),
    }


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _reply(text: str, kind: str = "application/json") -> dict[str, Any]:
    return {"description": text, "content": {kind: {"schema": {"type": "object"}}}}


_PROBLEMS = {
    status: _reply(text, "application/problem+json")
    for status, text in (
        ("400", "bad input; names the field and the limit"),
        ("403", "not allowed"),
        ("404", "not found"),
        ("408", "the body did not arrive in time"),
        ("413", "body too large"),
        ("422", "cannot be stored: a limit of the record format does not hold"),
        ("500", "something stored is damaged"),
        ("503", "unavailable; Retry-After says when to try again"),
        ("504", "not finished in time; Retry-After says when to try again"),
    )
}


_TEXT = {"text/plain": {"schema": {"type": "string"}}}
_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

_PREFLIGHT = {"summary": "What pages of other origins may ask", "responses": {"204": {"description": "CORS"}}}

Operation = Callable[..., dict[str, Any]]


def _in_path(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", **schema}}


def _log_paths(operation: Operation) -> dict[str, dict[str, Any]]:
    """The transparency logs: the newest epoch of each, and every epoch by its number."""
    log = _in_path("log", enum=["decisions", "publications"])
    epoch = _in_path("epoch", pattern=logs.EPOCH.pattern)
    index = _in_path("index", pattern=logs.NUMBER.pattern)
    size = {"name": "size", "in": "query", "schema": {"type": "string", "pattern": logs.NUMBER.pattern}}
    origin = {"name": "log", "in": "query", "schema": {"type": "string"}}
    described = {
        "checkpoint": ("The newest checkpoint: a signed note (C2SP tlog-checkpoint)", _TEXT, []),
        "checkpoint.witnessed": ("The newest checkpoint with a quorum of cosignatures", _TEXT, []),
        "vkey": ("The verifier keys of the log, one a line", _TEXT, []),
        "tile/{path}": (
            "A tile <level>/<index>[.p/<width>] or a bundle entries/<index>[.p/<width>] (C2SP tlog-tiles)",
            _BYTES,
            [_in_path("path")],
        ),
        "proof/{index}": (
            "An entry and its inclusion proof (C2SP tlog-proof), under the newest checkpoint or that of size"
            "; log is the origin of the log that is meant, as in a reply's decision.log",
            _TEXT,
            [index, size, origin],
        ),
    }
    found = {}
    for prefix in logs.PREFIXES:
        common = [log, epoch] if "{epoch}" in prefix else [log]
        for name, (summary, content, parameters) in described.items():
            served = operation(
                summary, {"description": name, "content": content}, parameters=[*common, *parameters]
            )
            served["responses"]["304"] = {"description": "unchanged"}
            found[f"{prefix}/{name}"] = {"get": served}
    return found


def _witness_paths(operation: Operation) -> dict[str, dict[str, Any]]:
    """Our witness (C2SP tlog-witness)."""
    add = operation(
        "Have a checkpoint of a log that this node knows cosigned",
        {"description": "cosignature lines", "content": _TEXT},
        requestBody={"required": True, "content": _TEXT},
    )
    add["responses"]["409"] = {
        "description": "another size is held: this one",
        "content": {witness.SIZE_TYPE: {"schema": {"type": "string"}}},
    }
    newest = operation(
        "The checkpoint that was cosigned last",
        {"description": "a signed note", "content": _TEXT},
        parameters=[_in_path("origin_hash", pattern=witness.ORIGIN_HASH.pattern)],
    )
    return {witness.ADD_CHECKPOINT: {"post": add}, "/witness/{origin_hash}/checkpoint": {"get": newest}}


def _in_query(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "string", **schema}}


def _gateway_paths(operation: Operation) -> dict[str, dict[str, Any]]:
    """Public blocks (IPFS trustless gateway): one, or a path's as a CAR."""
    cid = _in_path("cid", minLength=2)
    shape = [
        _in_query("dag-scope", enum=["block", "entity", "all"]),
        _in_query("entity-bytes", pattern=r"^-?[0-9]{1,19}:(-?[0-9]{1,19}|\*)$"),
        _in_query("car-version", enum=["1"]),
        _in_query("car-order", enum=["dfs", "unk"]),
        _in_query("car-dups", enum=["y", "n"]),
        _in_query("filename"),
    ]
    described = {
        "/ipfs/{cid}": ("A public block, raw, or with those below it as a CAR", ("raw", "car"), [cid]),
        "/ipfs/{cid}/{path}": (
            "The blocks of a path and those below its end, as a CAR",
            ("car",),
            [cid, _in_path("path")],
        ),
    }
    found = {}
    for path, (summary, formats, parameters) in described.items():
        content = {FORMATS[name]: {"schema": {"type": "string", "format": "binary"}} for name in formats}
        wanted = _in_query("format", enum=list(formats))
        served = operation(
            summary,
            {"description": "the blocks", "content": content},
            parameters=[*parameters, wanted, *shape],
        )
        served["responses"] |= {
            "206": {"description": "a range of the raw block", "content": content},
            "304": {"description": "unchanged"},
            "406": _reply("none of the accepted types is served", "application/problem+json"),
            "412": {"description": "only-if-cached, and the block is not here"},
            "416": _reply("the range lies outside of the block", "application/problem+json"),
            "429": _reply("too many at once; Retry-After says when", "application/problem+json"),
        }
        found[path] = {"get": served, "options": {**_PREFLIGHT, "parameters": parameters}}
    return found


def _name_paths(operation: Operation) -> dict[str, dict[str, Any]]:
    """IPNS records, and the delegated routing interface."""
    name, path = _in_path("name", minLength=2, maxLength=256), _in_path("path")
    record = {IPNS_RECORD: {"schema": {"type": "string", "format": "binary", "maxLength": RECORD_BYTES_MAX}}}
    filters = [
        {"name": parameter, "in": "query", "schema": {"type": "string"}}
        for parameter in ("filter-addrs", "filter-protocols")
    ]
    shown = {
        "description": "one record or none; lines of them where Accept names application/x-ndjson",
        "content": {
            kind: {"schema": {"type": "object"}} for kind in ("application/json", "application/x-ndjson")
        },
    }
    served = operation(
        "The IPNS record of a name",
        {"description": "the signed record", "content": record},
        parameters=[
            name,
            {"name": "format", "in": "query", "schema": {"type": "string", "enum": [ipns.FORMAT]}},
            {"name": "filename", "in": "query", "schema": {"type": "string"}},
        ],
    )
    found = operation(
        "The IPNS record of a name",
        {"description": "the signed record, or text where none is known", "content": {**record, **_TEXT}},
        parameters=[name],
    )
    for one in (served, found):
        one["responses"]["304"] = {"description": "unchanged"}
        one["responses"]["406"] = _reply("only records are served", "application/problem+json")
    served["responses"]["412"] = _reply("only-if-cached, and not here", "application/problem+json")
    publish = operation(
        "Keep an IPNS record",
        {"description": "kept"},
        parameters=[name],
        requestBody={"required": True, "content": record},
    )
    publish["responses"]["406"] = _reply("only records are taken", "application/problem+json")
    other = operation("What this node does not route", {"description": "never"}, parameters=[path])
    other["responses"] = {
        "400": _PROBLEMS["400"],
        "501": _reply("an optional part of the interface", "application/problem+json"),
    }
    below = operation(
        "Not served: follow the path yourself", {"description": "never"}, parameters=[name, path]
    )
    below["responses"] = {"400": _PROBLEMS["400"]}
    return {
        "/ipns/{name}": {"get": served, "options": {**_PREFLIGHT, "parameters": [name]}},
        "/ipns/{name}/{path}": {"get": below, "options": {**_PREFLIGHT, "parameters": [name, path]}},
        "/routing/v1/providers/{cid}": {
            "get": operation(
                "Where a block can be fetched", shown, parameters=[_in_path("cid", minLength=2), *filters]
            )
        },
        "/routing/v1/peers/{peer_id}": {
            "get": operation(
                "The addresses of a peer", shown, parameters=[_in_path("peer_id", minLength=2), *filters]
            )
        },
        "/routing/v1/ipns/{name}": {"get": found, "put": publish},
        "/routing/v1/{path}": {"get": other, "options": {**_PREFLIGHT, "parameters": [path]}},
    }


def _peer_paths(operation: Operation) -> dict[str, dict[str, Any]]:
    """Peers: how things stand with them, and what they fetch in bulk."""
    sync = _object({"address": {"type": "string", "minLength": 1, "maxLength": ADDRESS_CHARS_MAX}})
    cid = {"type": "string", "minLength": 2, "maxLength": peers.CID_CHARS_MAX}
    blocks = _object({"cids": {"type": "array", "maxItems": peers.CIDS_MAX, "items": cid}}, "cids")
    message = {"schema": {"type": "string", "format": "binary", "maxLength": peers.RECONCILE_BYTES_MAX}}
    car = {FORMATS["car"]: {"schema": {"type": "string", "format": "binary"}}}
    fetch = operation(
        f"Public blocks, as a CAR of at most {peers.CAR_BYTES_MAX} bytes; what is not here is left out",
        {"description": "the blocks that are here", "content": car},
        requestBody=_body(blocks),
    )
    reconcile = operation(
        "One message of range reconciliation over what this node has published (docs/peers.md)",
        {"description": "the reply to it", "content": _BYTES},
        requestBody={"required": True, "content": {peers.BYTES_TYPE: message}},
    )
    for one in (fetch, reconcile):
        one["responses"]["429"] = _reply(
            "too many at once; Retry-After says when", "application/problem+json"
        )
    return {
        "/peers": {
            "get": operation(
                "Peers, what they are to this node and what is held of them; addresses for the operator only",
                _reply("this node, its rules, and each peer"),
            )
        },
        "/peers/identity": {
            "get": operation("Who this node is to its peers", _reply("root, names, keys and certificates"))
        },
        "/peers/sync": {
            "post": operation(
                "Read now what a peer, or every peer, has published; for the operator",
                _reply("what each round came to"),
                requestBody=_body(sync),
            )
        },
        peers.BLOCKS: {"post": fetch},
        peers.RECONCILE: {"post": reconcile},
    }


def _page_path(operation: Operation, text: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
    """The page for people."""
    shown = {"description": "the page", "content": {"text/html": {"schema": {"type": "string"}}}}
    form = _object({"q": text, "text": {"type": "string"}, "session": session}, "q")
    look = operation("The page with the form", shown, parameters=[_in_query("q")])
    ask = operation(
        "Ask by the form; a form that another site sends is refused",
        shown,
        requestBody={"required": True, "content": {page.FORM: {"schema": form}}},
    )
    return {"get": look, "post": ask}


_SESSION = {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,128}$"}
_TTL = {"type": "integer", "minimum": 1, "maximum": TTL_S_MAX}
_AGE = {"type": "integer", "minimum": 0, "maximum": TTL_S_MAX}
_FLAG = {"type": "boolean"}
_ZONE = {"type": "string", "minLength": 1, "maxLength": ZONE_CHARS_MAX}
_TAG = {"type": "string", "minLength": 1, "maxLength": TAG_CHARS_MAX}
_TAGS = {"type": "array", "maxItems": TAGS_MAX, "items": _TAG}
_CID = {"type": "string", "minLength": 2, "maxLength": 256}
_SOURCE = {"type": "string", "minLength": 1, "maxLength": 256}
_SCOPE = {"type": "string", "enum": ["shared", "private", "public"]}


def _asking_bodies(text: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of requests that ask; ``text`` is the schema of a question."""
    chat = _object(
        {
            "query": text,
            "session_id": _SESSION,
            "verbose": _FLAG,
            "stream": _FLAG,
            "max_age_s": _AGE,
            "no_cache": _FLAG,
            "no_store": _FLAG,
            "ttl_s": _TTL,
            "tags": _TAGS,
            "time_zone": _ZONE,
        },
        "query",
    )
    route = _object({"query": text, "session_id": _SESSION, "time_zone": _ZONE}, "query")
    search = _object({"query": text, "floor": {"type": "number", "minimum": 0, "maximum": 1}}, "query")
    return {"chat": chat, "route": route, "search": search}


def _storing_bodies(text: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of requests that store, judge or withdraw."""
    entry = _object(
        {
            "query": text,
            "answer": text,
            "confidence": {"type": "number", "minimum": 0, "maximum": 0.95},
            "ttl_s": _TTL,
            "source": _SOURCE,
            "tags": _TAGS,
            "scope": _SCOPE,
        },
        "query",
        "answer",
    )
    feedback = _object(
        {
            "cid": _CID,
            "request_id": {"type": "string", "minLength": 1, "maxLength": 64},
            "verdict": {"type": "string", "enum": ["valid", "invalid"]},
            "note": {"type": "string", "minLength": 1, "maxLength": 1000},
            "correction": text,
        },
        "verdict",
    )
    invalidate = _object(
        {
            "cid": _CID,
            "query": text,
            "like": _FLAG,
            "source": _SOURCE,
            "older_than_s": _AGE,
            "tag": _TAG,
            "scope": _SCOPE,
            "dry_run": _FLAG,
        }
    ) | {"dependentRequired": {"like": ["query"]}}
    return {"entry": entry, "feedback": feedback, "invalidate": invalidate}


def _operation(summary: str, reply: dict[str, Any], status: str = "200", **more: Any) -> dict[str, Any]:
    return {"summary": summary, "responses": {status: reply, **_PROBLEMS}, **more}


def _cache_paths(bodies: dict[str, dict[str, Any]], operation: Operation) -> dict[str, dict[str, Any]]:
    """What is stored: read, looked up, written, withdrawn."""
    cid = [_in_path("cid", minLength=2)]
    return {
        "/v1/cache/entries": {
            "post": operation("Store an answer", _reply("its CID"), "201", requestBody=_body(bodies["entry"]))
        },
        "/v1/cache/search": {
            "post": operation(
                "Look a question up without asking anyone",
                _reply("hit or miss"),
                requestBody=_body(bodies["search"]),
            )
        },
        "/v1/cache/entries/{cid}": {
            "get": operation("Read a record", _reply("the record"), parameters=cid),
            "delete": operation("Withdraw a record for good", _reply("done"), parameters=cid),
        },
        "/v1/cache/stats": {
            "get": operation(
                "The cache in figures, for operators: hits by tier, what checks found, what was saved",
                _reply("counts since the start, estimates of the share of wrong hits with their intervals"),
            )
        },
        "/v1/cache/invalidate": {
            "post": operation(
                "Withdraw for good what fits every field given, at most 1000 records a call; at least one "
                "field beside like and dry_run",
                _reply("how many matched, how many were withdrawn, and the first CIDs"),
                requestBody=_body(bodies["invalidate"]),
            )
        },
    }


def document(max_body_bytes: int) -> dict[str, Any]:
    """The OpenAPI 3.1 description."""
    text = {"type": "string", "minLength": 1, "maxLength": max_body_bytes}
    bodies = _asking_bodies(text) | _storing_bodies(text)
    operation = _operation
    paths: dict[str, dict[str, Any]] = {
        "/chat": {
            "post": operation(
                "Ask a question",
                _reply(
                    "the answer; of a model's answer on evidence `found` and `support`, from 0 to 1, say how "
                    "sure it is that the right evidence was found and how far it supports the answer"
                ),
                requestBody=_body(bodies["chat"]),
            )
        },
        "/": _page_path(operation, text, _SESSION),
        "/route": {
            "post": operation(
                "Classify a question; nothing is asked of anyone",
                _reply("where it would go, and why"),
                requestBody=_body(bodies["route"]),
            )
        },
        **_cache_paths(bodies, operation),
        "/feedback": {
            "post": operation(
                "Say whether an answer is valid; what is right may take its place",
                _reply("the counts, and the CID of the correction"),
                requestBody=_body(bodies["feedback"]),
            )
        },
        **_gateway_paths(operation),
        **_log_paths(operation),
        **_witness_paths(operation),
        **_name_paths(operation),
        **_peer_paths(operation),
        "/livez": {"get": operation("The process lives", _reply("alive"))},
        "/readyz": {"get": operation("The node takes requests", _reply("ready"))},
        "/health": {"get": operation("Every engine and store", _reply("health", "application/health+json"))},
        "/metrics": {
            "get": operation(
                "Counters for Prometheus",
                {"description": "text", "content": {"text/plain": {"schema": {"type": "string"}}}},
            )
        },
        "/openapi.json": {"get": operation("This document", _reply("OpenAPI 3.1"))},
    }
    paths["/health"]["get"]["responses"]["503"] = _reply("what must not fail has", "application/health+json")
    paths["/readyz"]["get"]["responses"]["503"] = _reply("the node is stopping")
    paths["/chat"]["post"]["responses"]["200"]["content"]["text/event-stream"] = {
        "schema": {"type": "string"}
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "NeuroSwarm node", "version": __version__},
        "paths": paths,
    }
