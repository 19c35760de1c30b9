"""Tools of MCP servers that the operator configures, by the official SDK (the extra ``mcp``).

Promises: only tools that the settings name are offered, and only to read unless they are named as writing;
names, descriptions, schemas and results are bounded and are texts of others; each call is a connection of its
own that ends with it, whatever the server does; a server that is away takes no tool of another with it. What
a server says of itself (that a tool only reads) counts for nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import orjson

from node.agent.tools import Ran, Tool, text_found
from node.answer.fitting import validator
from node.core.errors import NodeError, Rejected, Unavailable
from node.core.model import Query
from node.core.tools import Offered
from node.language.markup import defang
from node.language.sentences import one_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import Tool as Told

_LOG = logging.getLogger("neuroswarm.agent")
LIST_TIMEOUT_S = 5.0
DESCRIPTION_CHARS_MAX = 300
SCHEMA_CHARS_MAX = 8_192
RESULT_CHARS_MAX = 20_000
TOOLS_MAX = 32
"""Of all servers together: each takes room in every prompt."""


@dataclass(frozen=True, slots=True)
class Server:
    """``name``: the operator's, and the beginning of its tools' names."""

    name: str
    url: str
    timeout_s: float

    @asynccontextmanager
    async def connected(self, timeout_s: float) -> AsyncIterator[Client]:
        """The SDK's client, which takes nothing from the environment and follows nobody elsewhere. Raises
        ``Unavailable``."""
        if find_spec("mcp") is None:
            raise Unavailable("the package mcp is missing; type: pip install neuroswarm[mcp]")
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        try:
            async with httpx2.AsyncClient(trust_env=False, timeout=timeout_s) as http:
                way = streamable_http_client(self.url, http_client=http)
                async with Client(way, read_timeout_seconds=timeout_s) as client:
                    yield client
        except Exception as exc:  # groups, the SDK's own errors, and those of its HTTP library
            raise Unavailable(f"the MCP server {self.name} failed: {_first_words(exc)}") from exc


@dataclass(frozen=True, slots=True)
class _Calls:
    server: Server
    tool: str

    async def run(self, given: Mapping[str, Any], query: Query) -> Ran:
        async with self.server.connected(self.server.timeout_s) as client:
            result = await client.call_tool(self.tool, dict(given))
        text = "\n".join(one.text for one in result.content if one.type == "text")
        text = text[:RESULT_CHARS_MAX]
        if result.is_error:
            return Ran("failed", said=one_line(defang(text), 300))
        return text_found(text, f"{self.server.name}: {self.tool}", kind="mcp")


def _first_words(exc: BaseException) -> str:
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return one_line(defang(str(exc)) or type(exc).__name__, 200)


def servers_of(addresses: Sequence[str], timeout_s: float) -> list[Server]:
    """The servers of the setting ``agent.mcp_servers``."""
    return [Server(name, url, timeout_s) for name, _, url in (one.partition("=") for one in addresses)]


async def mcp_tools(servers: Sequence[Server], reads: Sequence[str], writes: Sequence[str]) -> list[Tool]:
    """The tools that the operator allows, by ``server.tool``. A server that does not answer within
    ``LIST_TIMEOUT_S`` has none; the log says so."""
    allowed = {**dict.fromkeys(reads, False), **dict.fromkeys(writes, True)}
    listed = await asyncio.gather(*(_listed(one) for one in servers))
    found: list[Tool] = []
    for server, tools in zip(servers, listed, strict=True):
        for tool in tools:
            is_writing = allowed.get(f"{server.name}.{tool.name}")
            if is_writing is not None and (made := _tool(server, tool, writes=is_writing)) is not None:
                found.append(made)
    missing = allowed.keys() - {one.source.removeprefix("mcp:") for one in found}
    if missing:
        _LOG.warning("event=mcp_tools_missing names=%s", ",".join(sorted(missing)))
    return found[:TOOLS_MAX]


async def _listed(server: Server) -> list[Told]:
    try:
        async with asyncio.timeout(LIST_TIMEOUT_S):
            async with server.connected(LIST_TIMEOUT_S) as client:
                return list((await client.list_tools()).tools)
    except (NodeError, TimeoutError) as exc:
        _LOG.warning("event=mcp_server_away name=%s reason=%s", server.name, _first_words(exc))
        return []


def _tool(server: Server, told: Told, *, writes: bool) -> Tool | None:
    schema = told.input_schema
    try:
        text = orjson.dumps(schema).decode()
        if not isinstance(schema, dict) or schema.get("type") != "object" or len(text) > SCHEMA_CHARS_MAX:
            raise Rejected("its schema is too long or describes no object")
        validator(text)
    except (TypeError, Rejected) as exc:
        _LOG.warning("event=mcp_tool_left_out name=%s.%s reason=%s", server.name, told.name, exc)
        return None
    description = one_line(defang(told.description or ""), DESCRIPTION_CHARS_MAX)
    offered = Offered(f"{server.name}_{told.name}"[:64], description, schema)
    return Tool(
        offered,
        _Calls(server, told.name).run,
        source=f"mcp:{server.name}.{told.name}",
        writes=writes,
        timeout_s=server.timeout_s,
    )
