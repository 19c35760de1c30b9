"""``/openapi.json``: the operations of ``openapi.toml`` with the bodies of ``node.api.bodies``. A test
compares it with the routes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import orjson

from node import __version__
from node.api import bodies, logs, peers, witness
from node.api.access import OPEN, need_of
from node.api.negotiate import IPNS_RECORD
from node.api.openai import faults, shapes
from node.api.openai.embeddings import Embeddings
from node.api.page import FORM
from node.core.ipld.ipns import RECORD_BYTES_MAX

_PROBLEM = "application/problem+json"
KEYED = frozenset({"401", "429"})
"""Answers of routes that are not open to everybody."""
_IN_PATH: Mapping[str, dict[str, Any]] = {
    "cid": {"minLength": 2},
    "peer_id": {"minLength": 2},
    "name": {"minLength": 2, "maxLength": 256},
    "log": {"enum": ["decisions", "publications"]},
    "epoch": {"pattern": logs.EPOCH.pattern},
    "index": {"pattern": logs.NUMBER.pattern},
    "origin_hash": {"pattern": witness.ORIGIN_HASH.pattern},
    "path": {},
    "document": {"pattern": "^[0-9]{1,18}$"},
}


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("node.api") / "openapi.toml").read_text("utf-8"))


def _content(kind: str) -> dict[str, Any]:
    """A body of this media type, as far as the type tells what it is."""
    if kind == "text/event-stream":  # events, each with data of its own form
        return {kind: {}}
    if "json" in kind:
        return {kind: {"schema": {"type": "object"}}}
    binary = {"format": "binary"} if kind.startswith("application/") else {}
    most = {"maxLength": RECORD_BYTES_MAX} if kind == IPNS_RECORD else {}
    return {kind: {"schema": {"type": "string", **binary, **most}}}


def _responses(
    path: str, operation: Mapping[str, Any], problems: Mapping[str, str], need: str
) -> dict[str, Any]:
    problem = "application/json" if faults.speaks_so(path) else _PROBLEM
    found: dict[str, Any] = {}
    content: dict[str, Any] = {}
    for kind in operation.get("kinds", ["application/json"]):
        content |= _content(kind)
    if "reply" in operation:
        shown = {"content": content} if content else {}
        found[operation.get("status", "200")] = {"description": operation["reply"], **shown}
    more = {status: problems[status] for status in operation.get("problems", problems)}
    if need == OPEN:
        more = {status: said for status, said in more.items() if status not in KEYED}
    for status, said in (more | operation.get("more", {})).items():
        words, *kinds = [said, *([problem] if status >= "400" else [])] if isinstance(said, str) else said
        has = (
            content
            if status == "206"
            else {name: one for kind in kinds if kind for name, one in _content(kind).items()}
        )
        found[status] = {"description": words} | ({"content": has} if has else {})
    return found


def _parameters(path: str, operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    query = _table()["query"] | {"size": {"pattern": logs.NUMBER.pattern}}
    asked = {name: query[name] for name in operation.get("query", ())}
    if "formats" in operation:
        asked = {"format": {"enum": operation["formats"]}} | asked
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", **_IN_PATH[name]}}
        for name in re.findall(r"\{(\w+)\}", path)
    ] + [
        {"name": name, "in": "query", "schema": {"type": "string", **shape}} for name, shape in asked.items()
    ]


def _chats() -> tuple[dict[str, Any], dict[str, Any]]:
    """What is checked of requests in OpenAI's form, by the names of ``openapi.toml``, and what that refers
    to."""
    kinds = (shapes.Chat, shapes.Responses, Embeddings)
    found, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    return {f"OpenAI{kind.__name__}": one for kind, one in zip(kinds, found, strict=True)}, components


def _request(path: str, body: str, schemas: Mapping[str, Any]) -> dict[str, Any]:
    if body in schemas:
        content: dict[str, Any] = {FORM if body == "Form" else "application/json": {"schema": schemas[body]}}
    else:
        content = _content(body)
    if path == peers.RECONCILE:
        content[body]["schema"]["maxLength"] = peers.RECONCILE_BYTES_MAX
    return {"required": True, "content": content}


@cache
def page(max_body_bytes: int) -> bytes:
    """The description as it is served; made once."""
    return orjson.dumps(document(max_body_bytes))


def document(max_body_bytes: int) -> dict[str, Any]:
    """The OpenAPI 3.1 description."""
    table = _table()
    schemas = bodies.schemas(max_body_bytes) | table["schemas"]
    chats, components = _chats()
    first, *others = logs.PREFIXES
    paths: dict[str, dict[str, Any]] = {}
    for named, operation in table["operations"].items():
        method, _, path = named.partition(" ")
        for served in [path, *(path.replace(first, other) for other in others if path.startswith(first))]:
            need = need_of(method, served)
            item: dict[str, Any] = {
                "security": [] if need == OPEN else [{"key": [need]}, {}],
                "summary": operation["summary"].replace("CAR_BYTES_MAX", str(peers.CAR_BYTES_MAX)),
                "responses": _responses(path, operation, table["problems"], need),
            }
            if parameters := _parameters(served, operation):
                item["parameters"] = parameters
            if "body" in operation:
                item["requestBody"] = _request(path, operation["body"], schemas | chats)
            paths.setdefault(served, {})[method.lower()] = item
    for path in table["preflights"]:
        paths[path]["options"] = {
            "summary": "What pages of other origins may ask",
            "security": [],
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in re.findall(r"\{(\w+)\}", path)
            ],
            "responses": {"204": {"description": "CORS"}},
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "NeuroSwarm node", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", **table["key"]}},
        },
    }
