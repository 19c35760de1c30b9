"""Helia, in a process of its own and on a Node of its own; ``helia.mjs`` beside this says what it can."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.engines import HELIA, HELIA_NODE, cached

SCRIPT = Path(__file__).with_suffix(".mjs")
FETCH_MS = 60_000
"""Ample for what is there; nothing that is expected takes so long."""


class Helia:
    """The child process: one command, one reply."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    async def do(self, what: str, **fields: Any) -> dict[str, Any]:
        """Send a command; its reply, with ``bytes`` as bytes."""
        command = {"do": what, "timeout_ms": FETCH_MS, **fields}
        return await asyncio.to_thread(self._ask, json.dumps(command).encode() + b"\n")

    def _ask(self, line: bytes) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        for said in self._process.stdout:
            if said.startswith(b"@"):
                reply: dict[str, Any] = json.loads(said[1:])
                if "bytes" in reply:
                    reply["bytes"] = base64.b64decode(reply["bytes"])
                return reply
        raise AssertionError("Helia's process ended")


@contextmanager
def helia(folder: Path) -> Iterator[Helia]:
    """Helia for as long as the block lasts. ``folder``: Node looks for packages beside a script, so both are
    brought together there."""
    script = Path(shutil.copy(SCRIPT, folder))
    (folder / "node_modules").symlink_to(cached(HELIA) / "node_modules")
    process = subprocess.Popen(
        [str(cached(HELIA_NODE)), str(script)],
        cwd=folder,
        env={"HOME": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield Helia(process)
        finally:
            process.kill()
