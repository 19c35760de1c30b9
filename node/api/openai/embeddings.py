"""``POST /v1/embeddings``: vectors of the node's own embedder, or of an upstream's."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web
from msgspec import Meta

from node.api.openai.faults import Fault
from node.api.openai.shapes import MODEL_CHARS_MAX, OWN, checked, read
from node.api.received import BODY
from node.api.replies import as_json
from node.api.request import CALLER, ID, SERVICE
from node.api.stream import while_there
from node.pipeline.requests import Ask
from node.pipeline.service import Service
from node.pipeline.through import Handed
from node.pipeline.understanding.route import as_it_stands

TEXTS_MAX = 256


class Embeddings(msgspec.Struct):
    """What is checked of the request."""

    model: Annotated[str, Meta(min_length=1, max_length=MODEL_CHARS_MAX)]
    input: str | Annotated[list[Any], Meta(min_length=1)]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1)] | None = None


async def embeddings(request: web.Request) -> web.StreamResponse:
    raw = read(request[BODY])
    asked: Embeddings = checked(raw, Embeddings)
    service: Service = request.app[SERVICE]
    name = service.embedder.model
    if asked.model not in (OWN, name):
        own, _, upstream = asked.model.partition("/")
        if own == OWN and upstream and service.through is not None:
            return as_json(await while_there(request, _handed_on(request, {**raw, "model": upstream})))
        said = f"there is no embedding model {asked.model!r} here; {OWN} is the node's own"
        raise Fault(said, param="model", code="model_not_found", status=404)
    texts = _texts(asked.input)
    dim = service.embedder.dim
    if asked.dimensions is not None and dim and asked.dimensions != dim:
        raise Fault(
            f"{name} gives {dim} dimensions, and no others", param="dimensions", code="unsupported_value"
        )
    found = await while_there(request, service.vectors(texts))
    data = []
    for index, vector in enumerate(found):
        if vector is None:
            said = f"input[{index}] is longer than the {service.embedder.tokens_max} tokens that {name} reads"
            raise Fault(said, param="input", code="context_length_exceeded")
        as_floats = vector.astype("<f4")
        packed = asked.encoding_format == "base64"
        value = base64.b64encode(as_floats.tobytes()).decode() if packed else as_floats.tolist()
        data.append({"object": "embedding", "index": index, "embedding": value})
    tokens = sum(map(service.count_tokens, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return as_json({"object": "list", "data": data, "model": name, "usage": usage})


def _texts(given: str | list[Any]) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if any(isinstance(one, int | list) for one in texts):
        # The numbers of another model's tokenizer would be read as other words without a trace of it.
        said = (
            "input must be text: tokens are numbers of one model's tokenizer, and which one is not said "
            "(in LangChain: check_embedding_ctx_length=False)"
        )
        raise Fault(said, param="input", code="unsupported_value")
    if len(texts) > TEXTS_MAX:
        raise Fault(
            f"input has {len(texts)} texts, the limit is {TEXTS_MAX}", param="input", code="invalid_value"
        )
    for index, one in enumerate(texts):
        if not isinstance(one, str) or not one.strip():
            raise Fault(
                f"input[{index}] must be a text that is not empty", param="input", code="invalid_value"
            )
    return texts


async def _handed_on(request: web.Request, body: dict[str, Any]) -> dict[str, Any]:
    """An upstream's vectors, past the cache."""
    service: Service = request.app[SERVICE]
    through = service.through
    to = None if through is None else await through.upstream(body["model"])
    if through is None or to is None:
        raise Fault("no upstream is configured", param="model", code="model_not_found", status=404)
    query = service.query(Ask(text="", caller=request[CALLER]), request[ID])
    handed = Handed(body["model"], "embeddings", body, "embeddings")
    with through.flight(query, as_it_stands(), handed, to) as (flight, _):
        events = [event async for event in flight.read()]
    if not events:
        raise Fault("the upstream said nothing", param=None, code="upstream_bad_answer", status=502)
    return dict(events[0])
