"""The node in this process, as the caller of one request sees it."""

from __future__ import annotations

from dataclasses import dataclass

import orjson
from aiohttp import web
from msgspec.structs import asdict

from node.api import bodies, logs, views
from node.api.mcp.node import Body, Reply
from node.api.request import CALLER, ID, SERVICE
from node.audit.decisions.origin import epoch_of
from node.audit.log.reader import CHECKPOINT
from node.core.caller import Caller
from node.core.errors import NotFound
from node.core.ports import Tell
from node.pipeline.requests import Ask, Entry, Said
from node.pipeline.service import Service


@dataclass(frozen=True, slots=True)
class OwnNode:
    """See ``node.api.mcp.node.Node``. ``request``: the one whose caller asks."""

    request: web.Request

    @property
    def _service(self) -> Service:
        return self.request.app[SERVICE]

    @property
    def _caller(self) -> Caller:
        return self.request[CALLER]

    async def ask(self, body: Body, tell: Tell) -> Reply:
        chat = bodies.parse(orjson.dumps(body), bodies.Chat)
        ask = Ask(text=chat.query, caller=self._caller, session=chat.session_id)
        answer = await self._service.answer(ask, self.request[ID], tell)
        return views.answer(answer, verbose=False)

    async def search(self, body: Body) -> Reply:
        search = bodies.parse(orjson.dumps(body), bodies.Search)
        ask = Ask(text=search.query, caller=self._caller)
        return views.search(*await self._service.search(ask, search.floor, self.request[ID]))

    async def put(self, body: Body) -> Reply:
        entry = bodies.parse(orjson.dumps(body), bodies.NewEntry)
        kept = await self._service.put(Entry(caller=self._caller, **asdict(entry)), self.request[ID])
        return views.kept(kept)

    async def judge(self, body: Body) -> Reply:
        said = bodies.said(bodies.parse(orjson.dumps(body), bodies.Verdict))
        return views.feedback(await self._service.feedback(Said(caller=self._caller, **said)))

    async def record(self, cid: str) -> Reply:
        stored = await self._service.entry(bodies.cid(cid), self._caller)
        return views.stored(stored, await self._service.merged(stored))

    async def checkpoint(self) -> str:
        return (await (await self._log(None)).file(CHECKPOINT)).decode()

    async def receipt(self, index: int, log: str | None) -> str:
        return (await (await self._log(log)).receipt(index, None, log)).decode()

    async def _log(self, origin: str | None) -> logs.ServedLog:
        served, away = self.request.app[logs.LOGS].get("decisions"), self.request.app.get(logs.AWAY)
        if served is None:
            raise NotFound("this node serves no decision log")
        if origin is None:
            return await logs.ServedLog.newest(served, away)
        return logs.ServedLog(served, epoch_of(origin)[1], away)
