"""The MCP server's tools over a made-up node, and the bridge from aiohttp to the SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from mcp import Client

from node.api.access import Access
from node.api.logs import LOGS
from node.api.mcp import door as mcp_door
from node.api.mcp.node import Body, Reply
from node.api.mcp.tools import made
from node.api.received import BODY
from node.api.request import ACCESS, CALLER, ID, SERVICE
from node.core.caller import Caller
from node.core.errors import BadInput, CorruptState, NodeError, NotFound
from node.core.ports import Tell
from node.core.server_settings import Server
from node.pipeline.service import Service
from tests.unit.api.door import application, listening

ANSWER: Reply = {
    "request_id": "r1",
    "answer": "four",
    "confidence": 0.9,
    "source": {"kind": "adapter", "id": "math-calculator"},
    "citations": [],
    "hit": None,
    "stale": False,
    "stored": True,
    "unverified": False,
    "cid": "bafy1",
    "decision": {"log": "o/decisions", "index": 3},
    "usage": {"prompt_tokens": 0, "completion_tokens": 0},
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
OLD = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


class Stub:
    """A node that notes what it is asked, and fails as it is told."""

    def __init__(self) -> None:
        self.asked: list[Body] = []
        self.fails: NodeError | None = None
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.hangs = False

    async def ask(self, body: Body, tell: Tell) -> Reply:
        self.asked.append(body)
        tell("route", {"route": "generative", "adapter": None})
        for _ in range(200):
            tell("delta", {"text": "word "})
        self.begun.set()
        try:
            if self.hangs:
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            return self._said(ANSWER)
        finally:
            self.ended.set()

    async def search(self, body: Body) -> Reply:
        return self._said({"answer": None, "hit": None, "reason": "nothing is stored"})

    async def put(self, body: Body) -> Reply:
        self.asked.append(body)
        return self._said({"cid": "bafy2", "scope": "private:a", "by": "k1", "reason": ""})

    async def judge(self, body: Body) -> Reply:
        return self._said({"verdict": body["verdict"], "cid": body.get("cid"), "served": False})

    async def record(self, cid: str) -> Reply:
        return self._said({"cid": cid})

    async def checkpoint(self) -> str:
        return "a note"

    async def receipt(self, index: int, log: str | None) -> str:
        return f"no receipt of {index}"

    def _said(self, reply: Reply) -> Reply:
        if self.fails is not None:
            raise self.fails
        return reply


async def test_results_are_structured_and_annotations_say_what_a_tool_may_do() -> None:
    stub = Stub()
    async with Client(made(lambda: stub)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        reads = {name for name, tool in tools.items() if tool.annotations and tool.annotations.read_only_hint}
        destroys = {
            name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint
        }
        assert set(tools) == {"ask", "lookup", "remember", "validate", "explain"}
        assert reads == {"lookup", "explain"}
        assert destroys == {"validate"}
        assert all(tool.output_schema for tool in tools.values())
        done = await client.call_tool("ask", {"query": "What is 2+2?"})
        assert done.structured_content is not None
        assert done.structured_content["answer"] == "four"
        assert done.structured_content["decision"] == {"log": "o/decisions", "index": 3}
        assert stub.asked == [{"query": "What is 2+2?"}]
        found = await client.read_resource("record://bafy9")
        assert json.loads(found.contents[0].text) == {"cid": "bafy9"}
        assert (await client.read_resource("log://checkpoint")).contents[0].text == "a note"


async def test_progress_is_told_and_pieces_are_joined() -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, _total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async with Client(made(Stub)) as client:
        await client.call_tool("ask", {"query": "Why?"}, progress_callback=hear)
    assert told == [(1.0, "writing, 1000 characters so far")]


async def test_a_call_that_is_cancelled_ends_the_work() -> None:
    stub = Stub()
    stub.hangs = True
    async with Client(made(lambda: stub)) as client:
        asking = asyncio.create_task(client.call_tool("ask", {"query": "Why?"}))
        await stub.begun.wait()
        asking.cancel()
        await asyncio.wait_for(stub.ended.wait(), 30)
        await asyncio.wait((asking,))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadInput("ttl_s is no number", field="ttl_s", limit="1 to 9"), "(field ttl_s, limit 1 to 9)"),
        (NotFound("no such entry"), "no such entry"),
        (CorruptState("/secret/place is damaged"), "something stored is damaged"),
    ],
)
async def test_what_fails_is_told_in_the_nodes_words(error: NodeError, said: str) -> None:
    stub = Stub()
    stub.fails = error
    async with Client(made(lambda: stub)) as client:
        for name, given in (
            ("ask", {"query": "a"}),
            ("lookup", {"query": "a"}),
            ("remember", {"query": "a", "answer": "b"}),
            ("validate", {"verdict": "valid", "cid": "bafy"}),
        ):
            done = await client.call_tool(name, given)
            assert done.is_error
            assert said in done.content[0].text
            assert "secret" not in done.content[0].text
        with pytest.raises(Exception, match=r"entry|damaged|number") as caught:
            await client.read_resource("record://bafy9")
        assert "secret" not in str(caught.value)


async def test_nothing_can_be_made_public_and_a_false_receipt_is_refused() -> None:
    stub = Stub()
    async with Client(made(lambda: stub)) as client:
        done = await client.call_tool("remember", {"query": "a", "answer": "b", "scope": "public"})
        assert done.is_error
        assert stub.asked == []
        for ttl_s in (0, 10**30):  # past what a node takes, and past what JSON's readers take
            said = {"query": "a", "answer": "b", "ttl_s": ttl_s}
            done = await client.call_tool("remember", said)
            assert done.is_error
            assert "ttl_s" in done.content[0].text
        assert stub.asked == []
        done = await client.call_tool("explain", {"index": 4})
        assert done.is_error
        assert "receipt" in done.content[0].text


# --- the bridge -----------------------------------------------------------------------------------


class Asked(Service):
    """Says as whom it is asked, once two have come."""

    def __init__(self) -> None:
        self.both = asyncio.Barrier(2)

    async def entry(self, cid: str, caller: Caller) -> Any:
        await self.both.wait()
        raise NotFound(f"asked as {caller.tenant}")


@asynccontextmanager
async def bridge(service: Service) -> AsyncIterator[str]:
    """The route behind a door that believes a header, as the real one believes a key."""

    @web.middleware
    async def door(request: web.Request, handler: Any) -> web.StreamResponse:
        request[ID], request[CALLER] = "r", Caller(tenant=request.headers.get("X-Tenant", "local"))
        request[BODY] = await request.read()
        response: web.StreamResponse = await handler(request)
        return response

    app = web.Application(middlewares=[door])
    app[SERVICE], app[LOGS], app[ACCESS] = service, {}, Access(Server())
    for method, path, handler in mcp_door.ROUTES:
        app.router.add_route(method, path, handler)
    async with listening(app) as url:
        yield url + mcp_door.PATH


async def test_calls_at_the_same_time_are_each_their_own_callers() -> None:
    cid = "bafyreiagpd5a5ajm45eulwfkwu2tfxnj56sic2lgwysy26kfsrvapk3xuq"
    read = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": f"record://{cid}"}}

    async with bridge(Asked()) as url, aiohttp.ClientSession(trust_env=False) as http:

        async def said(tenant: str) -> str:
            async with http.post(url, json=read, headers=OLD | {"X-Tenant": tenant}) as response:
                return await response.text()

        for _ in range(3):  # on the same connections again
            one, other = await asyncio.gather(said("anna"), said("boris"))
            assert "asked as anna" in one
            assert "asked as boris" not in one
            assert "asked as boris" in other


class Slow(Service):
    """Never answers; says when it is asked, and when that has ended."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def search(self, *_: Any) -> Any:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


LOOKUP = {"name": "lookup", "arguments": {"query": "a"}}
TODAY = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
NEW = OLD | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "lookup"}


@pytest.mark.parametrize(("headers", "params"), [(OLD, LOOKUP), (NEW, LOOKUP | {"_meta": TODAY})])
async def test_a_client_that_leaves_ends_its_call(headers: dict[str, str], params: dict[str, Any]) -> None:
    slow = Slow()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with bridge(slow) as url, aiohttp.ClientSession(trust_env=False) as http:
        asking = asyncio.create_task(http.post(url, json=call, headers=headers).__aenter__())
        await asyncio.wait_for(slow.begun.wait(), 30)
        asking.cancel()
        await asyncio.wait((asking,))
        await asyncio.wait_for(slow.ended.wait(), 30)


@pytest.mark.parametrize(
    ("status", "headers", "data"),
    [
        (400, {"Host": "evil.example"}, json.dumps(LIST)),
        (400, {"Origin": "https://evil.example"}, json.dumps(LIST)),
        (400, {"Content-Type": "text/plain"}, json.dumps(LIST)),
        (413, {}, json.dumps(LIST | {"pad": "x" * 70_000})),
        (400, {}, "[" * 30_000),
        (400, {"MCP-Protocol-Version": "2026-07-28"}, "[" * 30_000),
        (400, {"MCP-Protocol-Version": "2026-07-28"}, "9" * 5_000),
        (400, {"MCP-Protocol-Version": "2026-07-28"}, json.dumps([LIST])),
        (400, {"MCP-Protocol-Version": "1999-01-01"}, json.dumps(LIST)),
        (406, {"Accept": "text/html"}, json.dumps(LIST)),
        (406, {"Accept": "text/html", "MCP-Protocol-Version": "2026-07-28"}, json.dumps(LIST)),
        (202, {}, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        (200, {}, json.dumps(LIST)),
    ],
)
async def test_the_real_door_bounds_and_guards_the_route(
    status: int, headers: dict[str, str], data: str
) -> None:
    sent = OLD | {"Content-Type": "application/json"} | headers
    async with application() as app, listening(app) as url, aiohttp.ClientSession(trust_env=False) as http:
        async with http.post(url + mcp_door.PATH, data=data, headers=sent) as response:
            text = await response.text()
            assert response.status == status, text
        async with http.get(url + mcp_door.PATH, headers=OLD) as response:
            assert response.status == 405


async def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    mcp_door._loaded.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "node.api.mcp.tools", None)
    async with application() as app, listening(app) as url, aiohttp.ClientSession(trust_env=False) as http:
        async with http.post(url + mcp_door.PATH, json=LIST, headers=OLD) as response:
            assert response.status == 503
            assert "neuroswarm[mcp]" in (await response.json())["detail"]
