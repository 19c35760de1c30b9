"""Changing the embedding engine of a node with a memory, over HTTP: what is found before, during and after.

The local model is real; Ollama is its stand-in, with vectors of its own (48 numbers, near where words are
shared). The question differs from the stored one in its order of words, so that only its meaning can find it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.faults.node_kit import eventually
from tests.journeys.conftest import Client, Start
from tests.simulators.ollama import MINILM, OllamaStandIn

STORED, ANSWER = "How do I sort a list in Python?", "Call sorted on it."
ASKED = "sorting a list in Python"
LATER, LATER_ANSWER = "How do I reverse a string in Ruby?", "Call reverse on it."
LATER_ASKED = "how can a string be reversed in ruby"
MODEL = replace(MINILM, dim=48)


def ollama_settings(server: OllamaStandIn) -> dict[str, Any]:
    return {
        "ollama": server.url,
        "embed": {"engine": "ollama", "model": "all-minilm", "timeout_s": 5.0, "attempts": 1},
        # The stand-in's vectors know nothing of meaning: they propose, the packaged model measures.
        "cache": {"threshold": 0.5, "threshold_generative": 0.5},
    }


@asynccontextmanager
async def holding(server: OllamaStandIn, words: str) -> AsyncIterator[asyncio.Event]:
    """The server answers no embedding request with these words until the event is set."""
    going = asyncio.Event()

    async def hold() -> None:
        if words in str(server.requests[-1].body):
            await going.wait()

    server.delay = hold
    try:
        yield going
    finally:
        going.set()
        server.delay = None


async def hit_kind(node: Client, query: str, answer: str) -> str | None:
    """How the stored answer was found; None for a miss. No other answer may come out of the memory."""
    reply = await node.ask(query, no_store=True)
    if reply["source"]["kind"] != "cache":
        return None
    assert reply["answer"] == answer
    return str(reply["hit"]["kind"])


def index_files(folder: Path) -> int:
    return sum(one.is_file() for one in (folder / "data" / "index").glob("*"))


@pytest.mark.slow
async def test_from_local_to_ollama_and_back(start: Start) -> None:
    async with start() as node:
        await node.store(STORED, ANSWER)
        assert await hit_kind(node, ASKED, ANSWER) == "semantic"
        assert await node.metric("neuroswarm_embedding_dimensions") == 384

    async with OllamaStandIn(models=(MODEL,)) as server:
        async with holding(server, STORED.rstrip("?")) as going:
            async with start(**ollama_settings(server)) as node:
                assert await hit_kind(node, ASKED, ANSWER) == "semantic"
                progress = await node.check("reembedding")
                assert progress["status"] == "pass", progress
                assert "0 of 1 stored questions" in progress["output"]
                assert "serves meanwhile" in progress["output"]
                assert await node.metric("neuroswarm_embedding_dimensions") == 384
                assert await node.metric("neuroswarm_reembedding_done") == 0
                assert await node.metric("neuroswarm_reembedding_total") == 1
                await node.store(LATER, LATER_ANSWER)
                assert await hit_kind(node, LATER_ASKED, LATER_ANSWER) == "semantic"
                going.set()

                async def has_swapped() -> bool:
                    assert await hit_kind(node, ASKED, ANSWER) == "semantic", "never a miss on the way"
                    return await node.metric("neuroswarm_embedding_dimensions") == 48

                await eventually(has_swapped)
                await eventually(lambda: node.metric("neuroswarm_index_vectors"), lambda it: it == 2)
                assert await hit_kind(node, LATER_ASKED, LATER_ANSWER) == "semantic"
                assert await node.check("reembedding") == {}
                assert (await node.check("embedder"))["status"] == "pass"
                folder = node.folder
        assert index_files(folder) == 1

        before = len(server.embedded)
        async with start(**ollama_settings(server)) as node:
            assert await hit_kind(node, ASKED, ANSWER) == "semantic"
            assert await hit_kind(node, LATER_ASKED, LATER_ANSWER) == "semantic"
        stored = {STORED.rstrip("?"), LATER.rstrip("?")}
        assert not stored & set(server.embedded[before:]), "nothing is embedded twice"

    async with start() as node:  # Ollama is gone and cannot serve meanwhile
        await eventually(lambda: hit_kind(node, LATER_ASKED, LATER_ANSWER), lambda it: it == "semantic")
        assert await hit_kind(node, ASKED, ANSWER) == "semantic"
        assert await node.metric("neuroswarm_embedding_dimensions") == 384


@pytest.mark.slow
async def test_ollama_comes_late_dies_and_returns(start: Start) -> None:
    async with OllamaStandIn() as place:
        away = place.url
    async with start() as node:
        await node.store(STORED, ANSWER)
    server = OllamaStandIn(models=(MODEL,), port=place.port)
    server.url = away
    async with start(**ollama_settings(server)) as node:
        assert await hit_kind(node, ASKED, ANSWER) == "semantic"
        waiting = await node.check("embedder")
        assert waiting["status"] == "warn"
        assert "serves meanwhile" in waiting["output"]

        async with server:
            await eventually(lambda: node.metric("neuroswarm_embedding_dimensions"), lambda it: it == 48)
            assert await hit_kind(node, ASKED, ANSWER) == "semantic"
        await eventually(lambda: node.check("semantic"), lambda it: it["status"] == "warn")
        assert (await node.get("/health"))[0] == 200
        assert await hit_kind(node, STORED, ANSWER) == "exact"
        assert await hit_kind(node, ASKED, ANSWER) is None
        await node.store(LATER, LATER_ANSWER)
        assert await hit_kind(node, LATER, LATER_ANSWER) == "exact"

        async with server:
            await eventually(lambda: node.check("semantic"), lambda it: it["status"] == "pass")
            assert await hit_kind(node, ASKED, ANSWER) == "semantic"
            await eventually(lambda: hit_kind(node, LATER_ASKED, LATER_ANSWER), lambda it: it == "semantic")


async def test_a_model_exchanged_behind_its_name_is_refused_until_the_next_start(start: Start) -> None:
    async with OllamaStandIn(models=(MODEL,)) as server:
        async with start(**ollama_settings(server)) as node:
            await node.store(STORED, ANSWER)
            assert await hit_kind(node, ASKED, ANSWER) == "semantic"
            server.models = (replace(MODEL, version="2", dim=40),)
            server.failures = 1  # it was restarted with another model
            await node.store(LATER, LATER_ANSWER)
            await eventually(lambda: node.check("embedder"), lambda it: "another one now" in it["output"])
            assert (await node.check("semantic"))["status"] == "warn"
            assert await hit_kind(node, STORED, ANSWER) == "exact"
            assert await hit_kind(node, LATER, LATER_ANSWER) == "exact"
            assert await hit_kind(node, LATER_ASKED, LATER_ANSWER) is None
            assert await node.metric("neuroswarm_index_vectors") == 1
        async with start(**ollama_settings(server)) as node:
            await eventually(lambda: hit_kind(node, LATER_ASKED, LATER_ANSWER), lambda it: it == "semantic")
            assert await hit_kind(node, ASKED, ANSWER) == "semantic"
            assert await node.metric("neuroswarm_embedding_dimensions") == 40
