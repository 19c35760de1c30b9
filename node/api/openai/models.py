"""``GET /v1/models``: the node's own model, and each upstream's behind this cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from node.api.openai import chat
from node.api.openai.embeddings import embeddings
from node.api.openai.faults import Fault
from node.api.openai.shapes import AGENT, OWN
from node.api.replies import Handler, Routes, as_json
from node.api.request import SERVICE


async def _names(request: web.Request) -> list[str]:
    through = request.app[SERVICE].through
    return [
        OWN,
        AGENT,
        *(f"{OWN}/{name}" for name in (await through.models() if through is not None else ())),
    ]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWN}


async def models(request: web.Request) -> web.Response:
    return as_json({"object": "list", "data": [_model(name) for name in await _names(request)]})


async def tools(request: web.Request) -> web.Response:
    """What the agent may call, in the form in which OpenAI's API describes tools."""
    return as_json({"object": "list", "data": request.app[SERVICE].tools()})


async def model(request: web.Request) -> web.Response:
    name = request.match_info["path"]
    if name not in await _names(request):
        raise Fault(
            f"there is no model {name[:200]!r} here", param="model", code="model_not_found", status=404
        )
    return as_json(_model(name))


CHATS: Mapping[str, Handler] = {"/v1/chat/completions": chat.completions, "/v1/responses": chat.responses}
"""What takes requests in the form of a chat, which may be long."""
ROUTES: Routes = (
    *(("POST", path, handler) for path, handler in CHATS.items()),
    ("POST", "/v1/embeddings", embeddings),
    ("GET", "/v1/models", models),
    ("GET", "/v1/tools", tools),
    ("GET", "/v1/models/{path}", model),
)
