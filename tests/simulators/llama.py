"""The test's side of the scripted child process in ``tests.simulators.llama_child``. It is not llama.cpp.

async with LlamaStandIn() as llama:
    engine = LlamaGenerator(llama.path, SystemClock(), program=llama.program)
    llama.script = Script(after=3, then="stall")      # holds for processes started from now on
    await llama.seen("stalled")
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from node.models.llama.process import Program
from tests.simulators.llama_child import Script

GGUF_HEAD = b"GGUF\x03\x00\x00\x00"


@dataclass
class LlamaStandIn:
    """The test's side. ``events`` holds what the processes told, ``requests`` what they were asked."""

    script: Script = field(default_factory=Script)
    events: list[dict[str, Any]] = field(default_factory=list)

    async def __aenter__(self) -> LlamaStandIn:
        # Not the test's own folder: the path of a Unix socket must be short.
        self._folder = Path(tempfile.mkdtemp(prefix="llama"))
        self.path = self._folder / "small-model.gguf"
        self.path.write_bytes(GGUF_HEAD + b"weights")
        self._news = asyncio.Condition()
        self._server = await asyncio.start_unix_server(self._serve, self._folder / "s")
        self.program = Program(
            (sys.executable, "-P", "-m", "tests.simulators.llama_child", str(self._folder / "s"))
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()
        shutil.rmtree(self._folder)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(json.dumps(asdict(self.script)).encode() + b"\n")
        try:
            while line := await reader.readline():
                self.events.append(json.loads(line))
                async with self._news:
                    self._news.notify_all()
        except (ConnectionError, ValueError):
            pass  # killed in the middle of a line
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def told(self, what: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["what"] == what]

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [event["request"] for event in self.told("request")]

    async def seen(self, what: str, times: int = 1) -> None:
        """Wait until the processes have told ``what`` so often."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.told(what)) >= times)
