"""A knowledge index and a node: embeddings made later by ``neuroswarm embed`` are used after a restart."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import orjson
import pytest

from node.cli import main
from tests.journeys.conftest import Start

ASKED = "sorting a list in Python"
STORED = "How do I sort a list in Python?"


@pytest.mark.slow
async def test_embeddings_made_later_are_found_by_meaning_after_a_restart(
    start: Start, tmp_path: Path
) -> None:
    """S2-33, S2-79: by hash before and after; by meaning once ``neuroswarm embed`` has run."""
    path = tmp_path / "old.json"
    old = {
        "query": STORED,
        "answer": "Call sorted on it.",
        "source": "llm_model",
        "confidence": 0.9,
        "votes": 3,
    }
    await asyncio.to_thread(path.write_text, json.dumps([old]))
    async with start(index_file=path) as node:
        assert (await node.ask(STORED))["hit"]["kind"] == "exact"
        found = await node.search(ASKED)
        assert (found["hit"], found["candidates"]) == (None, [])
        assert await asyncio.to_thread(main.main, ["embed", "--index", str(path)]) == 0
    async with start(index_file=path) as node:
        reply = await node.ask(STORED)
        assert (reply["hit"]["kind"], reply["answer"]) == ("exact", old["answer"])
        found = await node.search(ASKED)
        assert found["hit"]["kind"] == "semantic", found
        assert found["answer"] == old["answer"]
        _, health = await node.get("/health")
        folder = node.folder
    before = health["checks"]["ipfs:blocks"][0]["observedValue"]
    async with start(index_file=path) as node:
        _, health = await node.get("/health")
        assert health["checks"]["ipfs:blocks"][0]["observedValue"] == before, "the next start adds nothing"
    [entry] = orjson.loads((folder / "data" / "knowledge-index.json").read_bytes())["entries"]
    assert entry["votes"] == 3
    assert entry["embedding"]
