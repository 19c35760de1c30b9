"""What schemathesis must be told of this node beside ``/openapi.json``: how bodies that are no JSON go over
the wire, and which models there are. Loaded by its process (``SCHEMATHESIS_HOOKS``)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import schemathesis

KINDS = (
    "application/vnd.ipfs.ipns-record",
    "application/octet-stream",
    "application/vnd.ipld.car",
    "text/plain",
)
_MODELS = itertools.cycle(("neuroswarm", "neuroswarm/stand-in-chat"))


@schemathesis.serializer(*KINDS)
def as_it_is(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.deserializer("application/vnd.ipld.dag-json")
def dag_json(_: Any, response: Any) -> Any:
    return json.loads(response.content)


@schemathesis.deserializer("application/x-ndjson")
def ndjson(_: Any, response: Any) -> Any:
    return [json.loads(line) for line in response.content.splitlines()][:1] or [{}][0]


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """A model that is there, where one is named: with a name of chance all requests end in 404. Vectors are
    the node's own: the stand-in for an upstream makes its own faults of nonsense."""
    path = context.operation.path
    is_named = isinstance(body, dict) and isinstance(body.get("model"), str) and 0 < len(body["model"]) <= 200
    if not is_named or not path.startswith("/v1/"):
        return body
    return {**body, "model": "neuroswarm" if path == "/v1/embeddings" else next(_MODELS)}
