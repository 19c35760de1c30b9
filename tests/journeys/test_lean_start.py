"""Old packages that a node carries for what few need are loaded where they are used, not at its start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.faults.node_kit import ROOT, environ_of

LATE = (
    "ipfshttpclient",
    "pycoingecko",
    "requests",
    "urllib3",
    "trio",
    "multiaddr",
    "psutil",
    "dns",
    "feedparser",
    "mcp",
    "starlette",
    "httpx2",
)
"""The two clients that come with this project's task, what they bring, others of their kind; the MCP SDK."""

_SCRIPT = f"""
import asyncio, os, sys
from node.app.node import running
from node.core.settings import load

async def main():
    async with running(load(os.environ)):
        print("loaded:", *(name for name in {LATE} if name in sys.modules))

asyncio.run(main())
"""


def test_a_node_as_shipped_starts_without_them(tmp_path: Path) -> None:
    environ = environ_of(tmp_path) | {"NEUROSWARM_SERVER__PORT": "0"}
    shipped = {name: value for name, value in environ.items() if not name.startswith("NEUROSWARM_ADAPTERS__")}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        cwd=ROOT,
        env=shipped,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout.strip() == "loaded:"


def test_the_list_names_what_is_installed() -> None:
    """A module that was renamed would never be found loaded."""
    script = f"import importlib.util; print(*(n for n in {LATE} if importlib.util.find_spec(n) is None))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == ""
