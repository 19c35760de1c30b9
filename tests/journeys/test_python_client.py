"""``neuroswarm_client`` against a real node, and its extras in the environment of people's clients."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from neuroswarm_client import AsyncClient, Client, Conflict, NotFound
from tests.faults.node_kit import eventually
from tests.journeys.conftest import Start

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Who waters the plants in the Lisbon office?"
SCRIPTS = Path(__file__).parent / "data"


async def test_the_client_asks_stores_judges_and_proves(start: Start) -> None:
    async with start() as node, AsyncClient(node.url, key="") as client:
        assert (await client.health()).status in ("pass", "warn")
        assert (await client.lookup(QUESTION)).answer is None
        kept = await client.remember(QUESTION, "Rui does.", source="the rota", ttl_s=900)
        assert (kept.by, kept.scope) == ("local", "shared")
        with pytest.raises(Conflict) as caught:
            await client.remember(QUESTION, "Ana does.")
        assert caught.value.standing["cid"] == kept.cid
        answer = await client.ask(QUESTION)
        assert (answer.answer, answer.cid, answer.confidence) == ("Rui does.", kept.cid, 0.85)
        assert answer.decision is not None
        told = [event async for event in client.stream("What is 2+2?")]
        assert told[0].name == "route"
        assert told[-1].answer is not None
        assert told[-1].answer.answer == "2 + 2 = 4."
        decision = answer.decision

        async def proof() -> str:
            try:
                return await client.receipt(decision)
            except NotFound:
                return ""

        proven = await eventually(proof, lambda text: text.startswith("c2sp.org/tlog-proof@v1\n"))
        assert f"\nindex {decision.index}\n" in proven
        judged = await client.feedback("invalid", request_id=answer.request_id, correction="Ana does.")
        assert not judged.served
        found = await client.lookup(QUESTION)
        assert (found.answer, found.cid) == ("Ana does.", judged.correction)
        with Client(node.url, key="") as waiting:  # the same, from a thread that waits
            assert (await asyncio.to_thread(waiting.ask, QUESTION)).answer == "Ana does."


async def _run(python: Path, script: str, *words: str) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = await asyncio.to_thread(
        subprocess.run,
        [python, SCRIPTS / script, *words],
        env={**environ, "PYTHONPATH": str(ROOT / "client")},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return done.stdout


@pytest.mark.engine("clients")
async def test_langchain_keeps_its_answers_here(start: Start, clients_python: Path) -> None:
    async with start() as node:
        assert await _run(clients_python, "langchain_cache.py", node.url) == "ok\n"


@pytest.mark.engine("clients")
async def test_llama_index_asks_as_any_openai_client(clients_python: Path) -> None:
    assert await _run(clients_python, "llama_index_model.py") == "ok\n"
