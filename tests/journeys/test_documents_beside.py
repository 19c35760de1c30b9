"""What stands beside answers from documents: the same facts through every door, keywords where there is no
embedder, grades at night, and questions that are asked again."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openai
import pytest
from mcp import Client as McpClient

from node.app import documents
from tests.faults.node_kit import ROOT, Client, environ_of, eventually
from tests.faults.node_kit import start as start_here
from tests.journeys.conftest import Start
from tests.journeys.test_document_answers import LAUNDRY, WASH, put
from tests.simulators.openai_compatible import OpenAiStandIn

FACTS = ("has_contradiction", "contradictions", "orders_in", "uncited_figures", "context_size")
NIGHTS = "How many nights in a row may a guest stay?"
RULES = (
    ("a.md", "# Guests\n\n## Stay\n\nA guest may stay for at most 10 nights in a row.\n"),
    ("b.md", "# Guests\n\n## Stay\n\nA guest may stay for at most 14 nights in a row.\n"),
)
AGAINST = (
    "path,title,status,conflict_with\na.md,Guests of house A,active,b.md\nb.md,Guests of house B,active,\n"
)


@pytest.mark.slow
async def test_every_door_says_the_same_of_documents(start: Start) -> None:
    async with start() as node:
        for path, text in (*RULES, ("laundry.md", LAUNDRY), ("manifest.csv", AGAINST)):
            await put(node, path, text)
        for question, contradicts in (
            (WASH, False),
            (NIGHTS, True),
            ("Who feeds the town's dragons?", False),
        ):
            chat = await node.ask(question, no_cache=True, no_store=True)
            assert chat["has_contradiction"] is contradicts, chat
            assert chat["context_size"] == (
                0 if chat["source"]["kind"] == "fallback" else 2 if contradicts else 1
            )
            async with openai.AsyncOpenAI(
                base_url=f"{node.url}/v1", api_key="unused", max_retries=0
            ) as client:
                said = await client.chat.completions.create(
                    model="neuroswarm",
                    messages=[{"role": "user", "content": question}],
                    extra_headers={"Cache-Control": "no-store"},
                )
            own: dict[str, Any] = said.neuroswarm
            async with McpClient(f"{node.url}/mcp") as agent:
                done = (await agent.call_tool("ask", {"query": question})).structured_content
            assert done is not None
            for name in FACTS:
                assert own[name] == chat[name] == done[name], name
            for one, other in zip(chat["citations"], done["citations"], strict=True):
                assert {name: other[name] for name in one} == one
            assert own["citations"] == chat["citations"]


@pytest.mark.parametrize("how", ["forced", "away"])
async def test_keywords_find_where_no_embedder_does(start: Start, how: str) -> None:
    """S0-18, S0-19."""
    forced: dict[str, Any] = {"environ": {"RAG_USE_FALLBACK": "1"}}
    async with start(**(forced if how == "forced" else {"embed": "none"})) as node:
        await put(node, "laundry.md", LAUNDRY)
        body = {"query": "wash laundry room cost"}
        _, found, _ = await node.send("POST", "/v1/passages", json=body)
        assert [one["source"] for one in found["passages"]] == ["laundry.md"]
        assert "cosine" not in found["passages"][0]["parts"]
        assert "found by keywords alone" in (await node.check("documents"))["output"]
        reply = await node.ask(WASH)
        if how == "forced":  # the reader is there
            assert "2.50 euros" in reply["answer"], reply["trace"]
            assert reply["citations"][0]["source"] == "laundry.md"
        else:
            assert reply["source"]["kind"] in ("documents", "extractive"), reply["trace"]


async def test_the_late_interaction_profile_says_its_band(start: Start) -> None:
    """S0-16, S0-24."""
    async with start() as node:
        await put(node, "laundry.md", LAUNDRY)
        body = {"query": WASH, "profile": "maxsim"}
        _, found, _ = await node.send("POST", "/v1/passages", json=body)
        [first, *_] = found["passages"]
        assert first["parts"]["maxsim"] > 0
        assert first["band"] in ("poor", "moderate", "good", "excellent")


@pytest.mark.slow
async def test_answers_are_graded_and_a_low_mean_is_told(start: Start) -> None:
    async with OpenAiStandIn(answer='{"grade": 2}') as judge:
        settings = {"judge": {"url": judge.url, "model": "stand-in-chat", "share": 1.0}}
        async with start(**settings) as node:
            await put(node, "laundry.md", LAUNDRY)
            await node.ask(WASH)
            done = await nightly(node)
            assert (done["outcomes"], done["mean"], done["judge"]) == ({"graded": 1}, 2.0, "stand-in-chat")
            assert "2.50 euros" in str(judge.prompts[-1])
            told = await node.check("answer_quality")
            assert (told["status"], told["observedValue"]) == ("warn", 2.0)
            assert await node.metric("neuroswarm_judge_score") == 2.0
            assert await node.metric('neuroswarm_judged_answers_total{outcome="graded"}') == 1
        async with start(**settings) as node:
            assert (await node.check("answer_quality"))["observedValue"] == 2.0
    async with start("other", judge={"share": 1.0}) as node:
        await put(node, "laundry.md", LAUNDRY)
        await node.ask(WASH)
        assert (await nightly(node))["outcomes"] == {"no_judge": 1}
        assert await node.metric('neuroswarm_judged_answers_total{outcome="no_judge"}') == 1
        assert "no judge model" in (await node.check("answer_quality"))["output"]


async def nightly(node: Client) -> dict[str, Any]:
    """The command beside the node."""
    done = await asyncio.to_thread(_nightly, node.folder)
    return dict(json.loads(done))


def _nightly(folder: Path) -> str:
    command = [sys.executable, "-m", "node", "eval", "nightly", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, env=environ_of(folder), capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    return done.stdout


async def test_asked_again_in_other_words_is_counted_and_labelled(start: Start) -> None:
    async with start(cache={"confidence_min": 0.4}) as node:
        await put(node, "laundry.md", LAUNDRY)
        first = await node.ask("how much is a wash")
        assert first["stored"]
        await node.ask("how much is a wash")
        assert await node.metric("neuroswarm_asked_again_total") == 0
        await node.ask("What does a wash cost?")
        assert await node.metric("neuroswarm_asked_again_total") == 1
        _, stats = await node.get("/v1/cache/stats")
        assert {"source": "asked_again", "verdict": "wrong", "count": 1} in stats["labels"]
        assert stats["wrong_hits"]["wrong"] == 0
        assert (await node.ask("how much is a wash"))["cid"] == first["cid"]


@pytest.mark.slow
async def test_documents_are_described_behind_the_ingest(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "CATCH_UP_EVERY_S", 1)
    said = json.dumps({"description": "The tariff of the washing machines.", "tags": ["unheard of"]})
    async with OpenAiStandIn(answer=said) as model:
        models = {"openai_base_url": model.url, "openai_model": "stand-in-chat"}
        async with start(models=models, documents={"describe": True}) as node:
            await put(node, "laundry.md", LAUNDRY)

            async def described() -> dict[str, Any]:
                [one] = (await node.get("/v1/documents"))[1]["documents"]
                return dict(one)

            after = await eventually(described, lambda one: one["description"])
            assert (after["description"], after["tags"]) == ("The tariff of the washing machines.", [])
            _, found, _ = await node.send(
                "POST", "/v1/passages", json={"query": "tariff washing machines", "profile": "file"}
            )
            assert [one["source"] for one in found["passages"]] == ["laundry.md"]


async def test_a_file_of_documents_that_is_gone_is_said(tmp_path: Path) -> None:
    async with start_here(tmp_path) as node:
        await put(node, "laundry.md", LAUNDRY)
        data = node.folder / "data"
    for file in await asyncio.to_thread(lambda: list(data.glob("documents.sqlite*"))):
        await asyncio.to_thread(file.unlink)
    for _ in range(2):  # and it stays so until some are here again
        async with start_here(tmp_path) as node:
            check = await node.check("documents")
            assert (check["status"], "1 documents were here" in check["output"]) == ("warn", True), check
    async with start_here(tmp_path) as node:
        await put(node, "laundry.md", LAUNDRY)
        assert (await node.check("documents"))["status"] == "pass"
