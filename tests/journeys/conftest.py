"""A whole node over HTTP, as shipped: real embedder, real stores, real log, stand-ins for the outside."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.app.node import Running, running
from node.core.clock import Clock, SystemClock
from node.core.settings import load
from node.privacy import private_reason
from tests.nowhere import NOBODY, nowhere

private_reason(
    "The first text that is screened loads the rules: on a busy machine longer than a reply waits."
)

STARTER = Path(__file__).resolve().parents[2] / "knowledge-index.json"
QUANTUM = (
    "Quantum computing uses quantum bits, which can be in a superposition of zero and one. "
    "Algorithms steer interference between the possible states so that wrong answers cancel out and right "
    "ones add up. That makes some problems, such as factoring large numbers or simulating molecules, far "
    "faster than on classical computers. The machines are fragile: noise destroys the states, so error "
    "correction is the main obstacle today."
)
ESSAY = (
    "Photosynthesis turns light into chemical energy. Chlorophyll in the leaves absorbs light, water is "
    "split, oxygen is set free, and the energy is stored as sugar made from carbon dioxide. Plants, algae "
    "and some bacteria do it, and nearly all food chains on Earth begin there."
)


class MovedClock(SystemClock):
    """The system's clock, wall and monotonic time moved forward together by hand."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead_s)

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


@dataclass
class Client:
    """Talks to one node as a user's program would."""

    node: Running
    http: aiohttp.ClientSession
    folder: Path

    async def post(self, path: str, body: Any = None, **more: Any) -> tuple[int, dict[str, Any]]:
        async with self.http.post(self.node.url + path, json=body, **more) as response:
            return response.status, await response.json(content_type=None)

    async def get(self, path: str) -> tuple[int, dict[str, Any]]:
        async with self.http.get(self.node.url + path) as response:
            return response.status, await response.json(content_type=None)

    async def raw(self, path: str, **more: Any) -> tuple[int, bytes, dict[str, str]]:
        async with self.http.get(self.node.url + path, **more) as response:
            return response.status, await response.read(), dict(response.headers)

    async def store(self, query: str, answer: str, **more: Any) -> str:
        """Keep an entry; its CID."""
        status, reply = await self.post("/v1/cache/entries", {"query": query, "answer": answer, **more})
        assert status == 201, reply
        return str(reply["cid"])

    async def search(self, query: str) -> dict[str, Any]:
        status, reply = await self.post("/v1/cache/search", {"query": query})
        assert status == 200, reply
        return reply

    async def entry(self, cid: str) -> dict[str, Any]:
        status, reply = await self.get(f"/v1/cache/entries/{cid}")
        assert status == 200, reply
        return reply

    async def judge(self, verdict: str, **more: Any) -> dict[str, Any]:
        """Say of a record or a reply that it is valid or not."""
        status, reply = await self.post("/feedback", {"verdict": verdict, **more})
        assert status == 200, reply
        return reply

    async def delete(self, cid: str) -> int:
        """The status of withdrawing an entry."""
        async with self.http.delete(f"{self.node.url}/v1/cache/entries/{cid}") as response:
            return response.status

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

    async def ask(self, query: str, **more: Any) -> dict[str, Any]:
        """Ask verbosely; an answer must come, whatever is missing."""
        status, reply = await self.post("/chat", {"query": query, "verbose": True, **more})
        assert status == 200, reply
        return reply


def stages(reply: dict[str, Any]) -> list[str]:
    """The stations that a reply went through."""
    return [step["stage"] for step in reply["trace"]]


def steps(reply: dict[str, Any], stage: str) -> list[dict[str, Any]]:
    """The lines of the trace of one station."""
    return [step for step in reply["trace"] if step["stage"] == stage]


Start = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a node in a folder of its own; the same folder name again is the same node restarted."""

    @asynccontextmanager
    async def begin(
        name: str = "node",
        *,
        coingecko: str = NOBODY,
        ollama: str = "",
        index_file: Path | None = None,
        clock: Clock | None = None,
        environ: dict[str, str] | None = None,
        **sections: Any,
    ) -> AsyncIterator[Client]:
        folder = tmp_path / name
        # what a stand-in for a model says is stored: whether a real one's word passes the shipped bar
        # hangs on labelled answers (``make calibrate``) and is tested in ``tests/unit/score``
        bar = {"confidence_min": 0.5} if ollama or sections.get("models") else {}
        flags: dict[str, Any] = {
            "data_dir": str(folder / "data"),
            "governance_dir": str(folder / "governance_logs"),
            "index_file": str(index_file or folder / "none.json"),
            "server": {"port": 0, **sections.pop("server", {})},
            "adapters": {
                **nowhere(),
                "coingecko": {"base_url": coingecko, **sections.pop("coingecko_more", {})},
                **sections.pop("adapters", {}),
            },
            "models": {"ollama_url": ollama, **sections.pop("models", {})},
            # one hit in fifty would ask the model once more behind the reply, which tests count
            "cache": {"audit_share": 0.0, **bar, **sections.pop("cache", {})},
            **sections,
        }
        settings = load(environ or {}, flags=flags)
        async with running(settings, clock) as node, aiohttp.ClientSession(trust_env=False) as http:
            yield Client(node, http, folder)

    return begin
