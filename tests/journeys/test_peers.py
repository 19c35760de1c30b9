"""Three nodes as processes: one that learns, one without any engine that believes it, and one that lies.

The nodes are ``neuroswarm serve`` as shipped, with the real embedder, over loopback. Sources and the language
model of the one that learns are stand-ins.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.node_kit import Child, Client, child, environ_of, eventually, typed
from tests.journeys.proof import prove
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.simulators.ollama import OllamaStandIn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SOLAR = "Solar inverters turn the direct current of panels into the alternating current of the grid."
COMPOST = (
    "A compost heap needs brown and green matter in layers, air, and the moisture of a wrung-out sponge."
)


def index_file(folder: Path) -> Path:
    """The documents of one community."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "knowledge-index.json"
    entries = [
        {"query": "What does a solar inverter do?", "answer": SOLAR, "source": "handbook", "confidence": 0.9},
        {"query": "How is a compost heap built?", "answer": COMPOST, "source": "handbook", "confidence": 0.9},
    ]
    path.write_text(json.dumps({"version": 1, "model": None, "entries": entries}))
    return path


@dataclass
class Peer:
    """A node in a process of its own."""

    child: Child
    client: Client

    @property
    def url(self) -> str:
        return self.client.url

    async def get(self, path: str) -> tuple[int, Any]:
        return await self.client.get(path)

    async def identity(self) -> dict[str, Any]:
        status, reply = await self.get("/peers/identity")
        assert status == 200, reply
        assert isinstance(reply, dict)
        return reply

    async def sync(self, within_s: float = 120) -> list[dict[str, Any]]:
        """One round with everybody, in as many requests as that takes."""
        async with asyncio.timeout(within_s):
            while True:
                async with self.client.http.post(self.url + "/peers/sync", json={}) as response:
                    reply = await response.json()
                    assert response.status == 200, reply
                    if reply["complete"]:
                        found = reply["reports"]
                        assert isinstance(found, list)
                        return found

    async def published(self, least: int) -> int:
        """The size of its publications log, once that has ``least`` entries under a checkpoint."""

        async def size() -> int:
            status, note, _ = await self.client.send("GET", "/logs/publications/checkpoint")
            return int(note.split(b"\n")[1]) if status == 200 else 0

        return await eventually(size, lambda found: found >= least)

    async def command(self, *words: str) -> Any:
        """``neuroswarm peers … --json`` beside the running node."""
        done = await typed(environ_of(self.child.folder), "peers", *words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@asynccontextmanager
async def peer(folder: Path, **settings: str) -> AsyncIterator[Peer]:
    """``settings`` by their names in the environment, without the prefix."""
    own = {
        "EMBED__ENGINE": "local",
        "PEERS__EVERY_S": "86400",  # rounds are asked for by the test
        "LOG__PUBLISH_EVERY_S": "0.05",
        **settings,
    }
    named: dict[str, Any] = {f"NEUROSWARM_{name}": value for name, value in own.items()}
    async with child(folder, **named) as (process, client):
        yield Peer(process, client)


async def test_what_one_learns_another_answers_and_proves(tmp_path: Path) -> None:
    async with (
        CoinGeckoStandIn() as coins,
        OllamaStandIn(answer=lambda _: SOLAR + " They also watch the grid's frequency.") as model,
        peer(
            tmp_path / "a",
            SHARING__PUBLISH="all",
            INDEX_FILE=str(index_file(tmp_path / "a")),
            ADAPTERS__COINGECKO__BASE_URL=coins.url,
            MODELS__OLLAMA_URL=model.url,
        ) as a,
    ):
        coins.coins["bitcoin"].past["2026-01-05"] = {"usd": 91_234.0}
        of_price = await a.client.ask("What was the price of bitcoin on 5 January 2026?")
        assert of_price["source"]["kind"] == "adapter", of_price
        who = await a.identity()
        await a.published(4 + 3)
        async with peer(
            tmp_path / "b", PEERS__URLS=a.url, PEERS__TRUSTED=who["root"], SHARING__PUBLISH="none"
        ) as b:
            [report] = await b.sync()
            assert report["outcome"] == "synced", report
            assert report["admitted"] >= 3, report
            said = await b.client.ask("What's the job of a solar inverter?")
            assert said["answer"] == SOLAR, said
            assert said["source"]["kind"] == "cache"
            assert said["hit"]["origin"] == who["root"]
            price = await b.client.ask("bitcoin price on 2026-01-05")
            assert price["source"]["kind"] == "cache", price["trace"]
            assert price["hit"]["origin"] == who["root"]
            # the proof, from what B holds and A's log alone
            record = await prove(said, b.client, a.client, who["root"])
            assert record["key"] == who["node"]
            # and nobody was asked a question
            again = await b.sync()
            assert [one["outcome"] for one in again] == ["unchanged"]


async def test_a_withdrawn_answer_is_gone_at_the_peer_too_and_late_copies_lose(tmp_path: Path) -> None:
    async with peer(tmp_path / "a", SHARING__PUBLISH="all", INDEX_FILE=str(index_file(tmp_path / "a"))) as a:
        size = await a.published(4 + 2)
        root = (await a.identity())["root"]
        async with peer(tmp_path / "b", PEERS__URLS=a.url, PEERS__TRUSTED=root) as b:
            await b.sync()
            said = await b.client.ask("How is a compost heap built?")
            assert said["answer"] == COMPOST
            assert await a.client.delete(said["cid"]) == 200
            await a.published(size + 1)
            [report] = await b.sync()
            assert report["retracted"] == 1, report
            assert (await b.client.ask("How is a compost heap built?"))["answer"] != COMPOST
            assert (await b.client.send("GET", f"/ipfs/{said['cid']}?format=raw"))[0] == 404
            await b.child.end(signal.SIGKILL)
        async with peer(tmp_path / "b", PEERS__URLS=a.url, PEERS__TRUSTED=root) as b:
            await b.sync()
            assert (await b.client.ask("How is a compost heap built?"))["answer"] != COMPOST
            assert (await b.client.ask("What does a solar inverter do?"))["answer"] == SOLAR


async def test_a_node_is_rebuilt_from_its_index_and_one_honest_peer(tmp_path: Path) -> None:
    tools = "Where does the tool library of Wrenfield open?"
    questions = ("What does a solar inverter do?", "How is a compost heap built?", tools)

    async def answers(node: Peer) -> list[str]:
        return [(await node.client.ask(query))["answer"] for query in questions]

    async with peer(tmp_path / "a", SHARING__PUBLISH="all", INDEX_FILE=str(index_file(tmp_path / "a"))) as a:
        await a.published(4 + 2)
        far = {"PEERS__URLS": a.url, "PEERS__TRUSTED": (await a.identity())["root"]}
        async with peer(tmp_path / "b", **far) as b:
            await b.client.store(tools, "In the old mill.")
            await b.sync()
            before = await answers(b)
            await b.child.end()
        assert before == [SOLAR, COMPOST, "In the old mill."]
        kept = tmp_path / "b" / "data" / "knowledge-index.json"
        async with peer(tmp_path / "rebuilt", INDEX_FILE=str(kept), **far) as c:
            await c.sync()
            assert await answers(c) == before
