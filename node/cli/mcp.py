"""The command ``neuroswarm mcp``: the MCP server over stdio, for a client that starts it.

Standard output is the protocol's alone: what is for people goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from typing import TYPE_CHECKING

from node.api.mcp.door import NOT_INSTALLED
from node.cli.http import base
from node.cli.terminal import complain
from node.core.errors import Unavailable
from node.core.settings import API_KEY, Settings

if TYPE_CHECKING:
    from node.cli.mcp_node import HttpNode


def mcp(args: argparse.Namespace, settings: Settings) -> int:
    """Serve until standard input ends. A node need not run yet: each call says so where it does not."""
    from node.cli.mcp_node import HttpNode

    key = os.environ.get(API_KEY, "")
    return asyncio.run(_served(HttpNode(base(args, settings), key, settings.server.request_timeout_s + 5)))


async def _served(node: HttpNode) -> int:
    try:
        from node.api.mcp.tools import made
    except ModuleNotFoundError as exc:
        raise Unavailable(NOT_INSTALLED) from exc
    try:
        await node.alive()
    except Unavailable as exc:
        complain(f"neuroswarm mcp: {exc}")
    try:
        await made(lambda: node).run_stdio_async()
    finally:
        await node.close()
    return 0
