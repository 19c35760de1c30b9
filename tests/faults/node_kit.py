"""A whole node to be attacked: in this process over real sockets, or in a child that can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
from multidict import CIMultiDict

from node.app.node import Running, running
from node.core.clock import Clock, SystemClock
from node.core.settings import load
from node.pipeline.service import Service
from tests.nowhere import NOBODY, nowhere, nowhere_environment

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 15.0
"""No reply may take longer in these tests, whatever is done to the node: a hang, not a speed."""

Found = TypeVar("Found")


class Jumping(SystemClock):
    """The real clock, whose wall time can be set and which can sleep for hours, as a laptop does."""

    def __init__(self) -> None:
        self._ahead = timedelta()
        self._slept_s = 0.0

    def now(self) -> datetime:
        return super().now() + self._ahead

    def monotonic(self) -> float:
        return super().monotonic() + self._slept_s

    def set_by(self, **by: float) -> None:
        """An operator or NTP moves the wall clock alone."""
        self._ahead += timedelta(**by)

    def sleep_through(self, **by: float) -> None:
        """Time passes while nothing runs."""
        self._ahead += timedelta(**by)
        self._slept_s += timedelta(**by).total_seconds()


@dataclass
class Client:
    """Talks to one node as a user's program would; every call ends in time."""

    url: str
    http: aiohttp.ClientSession
    folder: Path
    node: Running | None = None
    patience_s: float = PATIENCE_S

    async def send(
        self, method: str, path: str, body: Any = None, **more: Any
    ) -> tuple[int, Any, CIMultiDict[str]]:
        if body is not None:
            more |= {
                "data": json.dumps(body, ensure_ascii=False).encode(),
                "headers": {"Content-Type": "application/json"},
            }
        async with asyncio.timeout(self.patience_s):
            async with self.http.request(method, self.url + path, **more) as response:
                is_json = "json" in response.content_type
                data = await (response.json(content_type=None) if is_json else response.read())
                return response.status, data, response.headers.copy()

    async def get(self, path: str) -> tuple[int, Any]:
        status, reply, _ = await self.send("GET", path)
        return status, reply

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        status, reply, _ = await self.send("POST", path, body)
        return status, reply

    async def raw(self, path: str, **more: Any) -> tuple[int, bytes, CIMultiDict[str]]:
        """As bytes, whatever it is."""
        async with asyncio.timeout(self.patience_s):
            async with self.http.get(self.url + path, **more) as response:
                return response.status, await response.read(), response.headers.copy()

    async def ask(self, query: str, **more: Any) -> dict[str, Any]:
        """Ask verbosely; an answer must come, whatever is missing."""
        return await self._done("/chat", 200, {"query": query, "verbose": True, **more})

    async def search(self, query: str) -> dict[str, Any]:
        return await self._done("/v1/cache/search", 200, {"query": query})

    async def store(self, query: str, answer: str, **more: Any) -> str:
        """Keep an entry; its CID."""
        body = {"query": query, "answer": answer, **more}
        return str((await self._done("/v1/cache/entries", 201, body))["cid"])

    async def judge(self, verdict: str, **more: Any) -> dict[str, Any]:
        """Say of a record or a reply that it is valid or not."""
        return await self._done("/feedback", 200, {"verdict": verdict, **more})

    async def _done(self, path: str, wanted: int, body: dict[str, Any]) -> dict[str, Any]:
        status, reply = await self.post(path, body)
        assert status == wanted, reply
        assert isinstance(reply, dict)
        return reply

    async def entry(self, cid: str) -> dict[str, Any]:
        status, reply = await self.get(f"/v1/cache/entries/{cid}")
        assert status == 200, reply
        assert isinstance(reply, dict)
        return reply

    async def delete(self, cid: str) -> int:
        """The status of withdrawing an entry."""
        status, _, _ = await self.send("DELETE", f"/v1/cache/entries/{cid}")
        return status

    async def check(self, name: str) -> dict[str, Any]:
        """What ``/health`` says of one thing; empty where it says nothing of it."""
        _, page = await self.get("/health")
        found: dict[str, Any] = page["checks"].get(name, [{}])[0]
        return found

    async def metric(self, name: str) -> float:
        """One value of the metrics page; 0 where nothing was counted yet."""
        _, page, _ = await self.raw("/metrics")
        found = re.search(rf"^{re.escape(name)} (\S+)$", page.decode(), re.MULTILINE)
        return 0.0 if found is None else float(found[1])

    @property
    def service(self) -> Service:
        """What stands behind its door, where it runs in this process."""
        assert self.node is not None
        return self.node.service

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of its own, on which nothing has been said."""
        address = urlsplit(self.url)
        return await asyncio.open_connection(address.hostname, address.port)

    async def wire(self, data: bytes) -> bytes:
        """Send exactly these bytes on a connection of their own; everything that comes back."""
        reader, writer = await self.connect()
        try:
            writer.write(data)
            async with asyncio.timeout(self.patience_s):
                return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()


async def eventually(
    get: Callable[[], Awaitable[Found]], is_so: Callable[[Found], object] = bool, within_s: float = 60.0
) -> Found:
    """What is found, as soon as it is so."""
    async with asyncio.timeout(within_s):
        while not is_so(found := await get()):
            await asyncio.sleep(0.02)
    return found


def reasons(reply: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The trace of a verbose reply by stage."""
    return {step["stage"]: (step["outcome"], step["reason"]) for step in reply["trace"]}


@asynccontextmanager
async def start(
    folder: Path,
    *,
    coingecko: str = NOBODY,
    ollama: str = "",
    clock: Clock | None = None,
    index_file: Path | None = None,
    embed: str | dict[str, Any] = "none",
    environ: dict[str, str] | None = None,
    connections: int = 0,
    patience_s: float = PATIENCE_S,
    **sections: Any,
) -> AsyncIterator[Client]:
    """A node in this process; the same folder again is the same node restarted. ``connections``: how many
    its client has at once, 0 for any number."""
    flags: dict[str, Any] = {
        "data_dir": str(folder / "data"),
        "governance_dir": str(folder / "governance_logs"),
        "index_file": str(index_file or folder / "none.json"),
        "embed": {"engine": embed} if isinstance(embed, str) else embed,
        "server": {"port": 0, **sections.pop("server", {})},
        "adapters": {
            **nowhere(),
            "coingecko": {"base_url": coingecko, **sections.pop("coingecko_more", {})},
            **sections.pop("adapters", {}),
        },
        "models": {"ollama_url": ollama, **sections.pop("models", {})},
        # one hit in fifty would ask the model once more behind the reply, which tests count
        "cache": {"audit_share": 0.0, **sections.pop("cache", {})},
        **sections,
    }
    connector = aiohttp.TCPConnector(limit=connections)
    async with (
        running(load(environ or {}, flags=flags), clock) as node,
        aiohttp.ClientSession(trust_env=False, connector=connector) as http,
    ):
        yield Client(node.url, http, folder, node, patience_s)


def environ_of(folder: Path) -> dict[str, str]:
    """Of a command beside a node in this folder, to which nothing outside can be reached."""
    own = {
        "NEUROSWARM_DATA_DIR": str(folder / "data"),
        "NEUROSWARM_GOVERNANCE_DIR": str(folder / "governance_logs"),
        "NEUROSWARM_MODELS__OLLAMA_URL": "",
        "PYTHONPATH": str(ROOT),
    }
    return {**os.environ, **nowhere_environment(), **own}


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed, and its exit status."""

    returncode: int | None
    raw: bytes
    stderr: str

    @property
    def stdout(self) -> str:
        return self.raw.decode()


async def typed(
    environ: dict[str, str],
    *words: str,
    module: Sequence[str] = ("node",),
    given: bytes = b"",
    is_killed: bool = False,
    cwd: Path = ROOT,
    python: str = sys.executable,
) -> Done:
    """One command in a process of its own; killed, where it is wanted, once it has taken what it is given."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(python, "-m", *module, *words), cwd=cwd, env=environ, stdin=pipe, stdout=pipe, stderr=pipe
    )
    if is_killed:
        assert process.stdin is not None
        with suppress(ConnectionError):  # it was refused, and has ended
            process.stdin.write(given)
            await process.stdin.drain()
            process.kill()
    async with asyncio.timeout(8 * PATIENCE_S):
        out, err = await process.communicate(b"" if is_killed else given)
    return Done(process.returncode, out, err.decode())


class Child:
    """``neuroswarm serve`` as a process."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.url = ""
        self.patience_s = PATIENCE_S

    @classmethod
    async def spawn(
        cls,
        folder: Path,
        *,
        settings: dict[str, str] | None = None,
        command: Sequence[str] = ("-m", "node"),
        cwd: Path = ROOT,
        python: str = sys.executable,
    ) -> Child:
        own = {"NEUROSWARM_INDEX_FILE": str(folder / "none.json"), "NEUROSWARM_EMBED__ENGINE": "none"}
        process = await asyncio.create_subprocess_exec(
            *(python, *command, "serve", "--port", "0"),
            cwd=cwd,
            env={**environ_of(folder), **own, **(settings or {})},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        return cls(process, folder)

    async def listen(self) -> None:
        """Wait until it listens."""
        assert self.process.stdout is not None
        line = (await self.process.stdout.readline()).decode().strip()
        assert line.startswith("listening on http://127.0.0.1:"), (line, await self.said())
        self.url = line.removeprefix("listening on ")

    async def said(self) -> str:
        """Its last words; ends it if need be."""
        if self.process.returncode is None:
            self.process.kill()
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()[-2_000:]

    def limit_files(self, most: int | None) -> None:
        """A limit on file size stands for a full disk; None: there is room again."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        soft = hard if most is None else most
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (soft, hard))

    async def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self.process.returncode is None:
            self.process.send_signal(how)
        async with asyncio.timeout(self.patience_s):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode


@asynccontextmanager
async def child(
    folder: Path,
    *,
    command: Sequence[str] = ("-m", "node"),
    cwd: Path = ROOT,
    python: str = sys.executable,
    patience_s: float = PATIENCE_S,
    **settings: str,
) -> AsyncIterator[tuple[Child, Client]]:
    """A listening node in a process of its own, ended at the end whatever happened. ``cwd`` and ``python``:
    of another version of the program, whose tree ``PYTHONPATH`` in the settings names."""
    one = await Child.spawn(folder, settings=settings, command=command, cwd=cwd, python=python)
    one.patience_s = patience_s
    try:
        await one.listen()
        async with aiohttp.ClientSession(trust_env=False) as http:
            yield one, Client(one.url, http, folder, patience_s=patience_s)
    finally:
        if one.process.returncode is None:
            one.process.kill()
        await one.process.communicate()
