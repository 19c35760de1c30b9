"""The process that nodes are forked from (``tests/faults/power_child.py``), seen from outside."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.faults.node_kit import ROOT
from tests.faults.recorded_disk import kill

KILLED = "ended 9"
"""How a node ends that was cut."""


class Fork:
    """One node at a time. ``said``: the file that their messages go to."""

    def __init__(self, process: asyncio.subprocess.Process, said: Path) -> None:
        self._process = process
        self.said = said
        self.pid = 0

    async def line(self) -> str:
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode().strip()

    async def begin(self, asked: dict[str, Any]) -> str:
        """Start a node: its address, or how it ended; ``ended 0`` where it was no node."""
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(asked) + b"\n")
        self.pid = int((await self.line()).removeprefix("pid "))
        return (await self.line()).removeprefix("listening on ")

    async def ended(self) -> str:
        """How it ended, once it has."""
        while not (line := await self.line()).startswith("ended"):
            if not line:
                raise RuntimeError(f"no node can be started any more: {self.last_words()}")
        return line

    def last_words(self) -> str:
        return self.said.read_text()[-1_500:]


@asynccontextmanager
async def forking(library: Path, said: Path, module: str = "tests.faults.power_child") -> AsyncIterator[Fork]:
    """``library``: what records the writes; ``module``: whose ``forked`` works."""
    environ = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)}
    pipe = asyncio.subprocess.PIPE
    with said.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", module), cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, stderr=errors
        )
    fork = Fork(process, said)
    try:
        if await fork.line() != "ready":
            raise RuntimeError(f"no node can be started: {fork.last_words()}")
        yield fork
    finally:
        if fork.pid:
            kill(fork.pid)
        process.kill()
        await process.wait()
