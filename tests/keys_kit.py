"""Keys of a node that runs in this process, and calls with them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from multidict import CIMultiDict

from node.cli.desk import desk
from tests.faults.node_kit import Client


async def desk_of(node: Client, what: str, **asked: Any) -> dict[str, Any]:
    """One command of the operator, over the node's own socket."""
    assert node.node is not None
    settings = node.node.settings

    def do() -> dict[str, Any]:
        with desk(settings) as its:
            return its(what, asked)

    return await asyncio.to_thread(do)


async def key_of(node: Client, tenant: str, **more: Any) -> str:
    """A new key's text."""
    made = await desk_of(node, "apikeys_create", tenant=tenant, **more)
    return str(made["key"])


@dataclass
class Reply:
    """What came back. ``text`` is all of it, so that nothing in it is overlooked."""

    status: int
    text: str
    headers: CIMultiDict[str]

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class As:
    """Calls one node with one key, or with none, and with headers of its own."""

    node: Client
    key: str = ""
    headers: Mapping[str, str] | None = None

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """``headers``: by names with underscores for dashes; ``Content_Type`` sends ``body`` as it is."""
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**(self.headers or {}), **said}
        if self.key:
            sent.setdefault("Authorization", f"Bearer {self.key}")
        data = body
        if body is not None and "Content-Type" not in sent:
            sent["Content-Type"], data = "application/json", json.dumps(body).encode()
        async with asyncio.timeout(self.node.patience_s):
            async with self.node.http.request(
                method, self.node.url + path, data=data, headers=sent, allow_redirects=False
            ) as response:
                return Reply(
                    response.status, await response.text("utf-8", "replace"), response.headers.copy()
                )

    async def chat(self, query: str, **more: Any) -> Reply:
        return await self.call("POST", "/chat", {"query": query, **more})

    async def search(self, query: str) -> Reply:
        return await self.call("POST", "/v1/cache/search", {"query": query})

    async def store(self, query: str, answer: str, **more: Any) -> Reply:
        return await self.call("POST", "/v1/cache/entries", {"query": query, "answer": answer, **more})
