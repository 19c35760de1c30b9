"""``/v1/memory``: what is remembered of the caller and of its organisation, shown and forgotten."""

from __future__ import annotations

from aiohttp import web

from node.agent.memory.facts import FACT_CHARS_MAX, About
from node.agent.memory.keeper import Keeper
from node.api.replies import Routes, as_json
from node.api.request import CALLER
from node.core.errors import BadInput, Unavailable

PATH = "/v1/memory"
KEEPER = web.AppKey("memory", Keeper)


async def _show(request: web.Request) -> web.Response:
    kept = await _keeper(request).lines(request[CALLER])
    return as_json({about.value: list(lines) for about, lines in kept.items()})


async def _forget(request: web.Request) -> web.Response:
    """All of it, one file of it (``about``), or one line (``text`` as it is shown)."""
    asked = request.query
    if unknown := asked.keys() - {"about", "text"}:
        name = min(unknown)
        raise BadInput(f"{name[:40]!r} is no parameter here; there are about and text", field=name[:40])
    about, text = asked.get("about"), asked.get("text")
    if about is not None and about not in tuple(About):
        raise BadInput("about must be user or company", field="about")
    if text is not None and not 0 < len(text) <= FACT_CHARS_MAX:
        raise BadInput(f"text must have 1 to {FACT_CHARS_MAX} characters", field="text")
    gone = await _keeper(request).forget(request[CALLER], About(about) if about else None, text)
    return as_json({"forgotten": gone})


def _keeper(request: web.Request) -> Keeper:
    if KEEPER not in request.app:
        raise Unavailable("this node keeps no memory (setting agent.memory)")
    return request.app[KEEPER]


ROUTES: Routes = (("GET", PATH, _show), ("DELETE", PATH, _forget))
