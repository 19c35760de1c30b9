"""What the tools of the MCP server ask of a node: the one in this process, or one over HTTP.

Bodies and replies are those of the HTTP routes. Must not know: the protocol that the tools are called by.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from node.core.ports import Tell

Body: TypeAlias = dict[str, Any]
Reply: TypeAlias = dict[str, Any]


class Node(Protocol):
    """A node, as one caller sees it. Everything raises ``NodeError`` with words for a person; a call that is
    cancelled ends what it began. Many may be under way at once."""

    async def ask(self, body: Body, tell: Tell) -> Reply:
        """``POST /chat``; ``tell`` hears what goes on meanwhile, on the event loop."""
        ...

    async def search(self, body: Body) -> Reply:
        """``POST /v1/cache/search``."""
        ...

    async def put(self, body: Body) -> Reply:
        """``POST /v1/cache/entries``."""
        ...

    async def judge(self, body: Body) -> Reply:
        """``POST /feedback``."""
        ...

    async def record(self, cid: str) -> Reply:
        """``GET /v1/cache/entries/{cid}``."""
        ...

    async def checkpoint(self) -> str:
        """``GET /logs/decisions/checkpoint``: a signed note."""
        ...

    async def receipt(self, index: int, log: str | None) -> str:
        """``GET /logs/decisions/proof/{index}``: tlog-proof text with the entry in its ``extra`` line.
        ``log`` is the origin of the log that is meant; None: the newest."""
        ...
