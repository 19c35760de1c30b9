"""``/openapi.json``: what is served, field by field. A test compares it with the routes."""

from __future__ import annotations

from typing import Any

from node import __version__
from node.api.fields import TAG_CHARS_MAX, TAGS_MAX, TTL_S_MAX, ZONE_CHARS_MAX


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


def document(max_body_bytes: int) -> dict[str, Any]:
    """The OpenAPI 3.1 description."""
    text = {"type": "string", "minLength": 1, "maxLength": max_body_bytes}
    session = {"type": "string", "pattern": "^[A-Za-z0-9_.:-]{1,128}$"}
    ttl = {"type": "integer", "minimum": 1, "maximum": TTL_S_MAX}
    flag = {"type": "boolean"}
    zone = {"type": "string", "minLength": 1, "maxLength": ZONE_CHARS_MAX}
    tags = {
        "type": "array",
        "maxItems": TAGS_MAX,
        "items": {"type": "string", "minLength": 1, "maxLength": TAG_CHARS_MAX},
    }
    cid = [{"name": "cid", "in": "path", "required": True, "schema": {"type": "string", "minLength": 2}}]
    chat = _object(
        {
            "query": text,
            "session_id": session,
            "verbose": flag,
            "stream": flag,
            "max_age_s": {"type": "integer", "minimum": 0, "maximum": TTL_S_MAX},
            "no_cache": flag,
            "no_store": flag,
            "ttl_s": ttl,
            "tags": tags,
            "time_zone": zone,
        },
        "query",
    )
    entry = _object(
        {
            "query": text,
            "answer": text,
            "confidence": {"type": "number", "minimum": 0, "maximum": 0.95},
            "ttl_s": ttl,
            "source": {"type": "string", "minLength": 1, "maxLength": 256},
            "tags": tags,
            "scope": {"type": "string", "enum": ["shared", "private", "public"]},
        },
        "query",
        "answer",
    )
    route = _object({"query": text, "session_id": session, "time_zone": zone}, "query")
    search = _object({"query": text, "floor": {"type": "number", "minimum": 0, "maximum": 1}}, "query")
    feedback = _object(
        {
            "cid": {"type": "string", "minLength": 2, "maxLength": 256},
            "request_id": {"type": "string", "minLength": 1, "maxLength": 64},
            "verdict": {"type": "string", "enum": ["valid", "invalid"]},
            "note": {"type": "string", "minLength": 1, "maxLength": 1000},
        },
        "verdict",
    )

    invalidate = _object(
        {
            "cid": {"type": "string", "minLength": 2, "maxLength": 256},
            "query": text,
            "like": flag,
            "source": {"type": "string", "minLength": 1, "maxLength": 256},
            "older_than_s": {"type": "integer", "minimum": 0, "maximum": TTL_S_MAX},
            "tag": {"type": "string", "minLength": 1, "maxLength": TAG_CHARS_MAX},
            "scope": {"type": "string", "enum": ["shared", "private", "public"]},
            "dry_run": flag,
        }
    )

    def operation(summary: str, reply: dict[str, Any], status: str = "200", **more: Any) -> dict[str, Any]:
        return {"summary": summary, "responses": {status: reply, **_PROBLEMS}, **more}

    raw = {
        "description": "the block",
        "content": {"application/vnd.ipld.raw": {"schema": {"type": "string", "format": "binary"}}},
    }
    raw_format = {"name": "format", "in": "query", "schema": {"type": "string", "enum": ["raw"]}}
    paths: dict[str, dict[str, Any]] = {
        "/chat": {"post": operation("Ask a question", _reply("the answer"), requestBody=_body(chat))},
        "/route": {
            "post": operation(
                "Classify a question; nothing is asked of anyone",
                _reply("where it would go, and why"),
                requestBody=_body(route),
            )
        },
        "/v1/cache/entries": {
            "post": operation("Store an answer", _reply("its CID"), "201", requestBody=_body(entry))
        },
        "/v1/cache/search": {
            "post": operation(
                "Look a question up without asking anyone", _reply("hit or miss"), requestBody=_body(search)
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
                requestBody=_body(invalidate),
            )
        },
        "/feedback": {
            "post": operation(
                "Say whether a stored answer is valid", _reply("the counts"), requestBody=_body(feedback)
            )
        },
        "/ipfs/{cid}": {"get": operation("A public block, raw", raw, parameters=[*cid, raw_format])},
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
