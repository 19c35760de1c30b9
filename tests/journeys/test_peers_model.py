"""What a node's language model has said on evidence, another node without any model answers, and proves whose
it is. Two processes each time; the proof is checked by ``tests.journeys.proof``, which knows no code of ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engines import Ollama
from tests.journeys.proof import prove
from tests.journeys.test_peers import SOLAR, Peer, index_file, peer
from tests.simulators.ollama import OllamaStandIn
from tests.simulators.openai_compatible import CHAT_MODEL, OpenAiStandIn
from tests.simulators.wikipedia import StandInPage, WikipediaStandIn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

QUESTION, REWORDED = "What is photosynthesis?", "What does photosynthesis mean?"
ARTICLES = {
    "Photosynthesis": "Photosynthesis is the process by which plants turn the energy of sunlight into "
    "sugar. It takes water and carbon dioxide, and gives off oxygen. It happens in the green leaves of "
    "plants.",
    "Composting": "Composting is the process by which kitchen waste and leaves rot to a dark soil. It takes "
    "air and moisture.",
    "Solar inverter": "A solar inverter is a device that turns the direct current of solar panels into the "
    "alternating current of the grid.",
}
GENERATED = "Photosynthesis is the process by which plants turn sunlight into sugar [1]."
NOT_IN_IT = (
    "Moonlight makes music for everybody who listens to the sea, and nobody has ever measured how loud."
)
LEAST = 0.8
"""The confidence from which an answer is stored, and so published."""


@dataclass
class Model:
    """A model server: its settings, and how often it was asked."""

    settings: dict[str, str]
    id: str
    server: OllamaStandIn | OpenAiStandIn

    @property
    def asked(self) -> int:
        return len(self.server.chats)


@asynccontextmanager
async def model(wire: str, answer: str = GENERATED) -> AsyncIterator[Model]:
    """The stand-in of a vendor's wire."""
    if wire == "ollama":
        async with OllamaStandIn(answer=answer) as ollama:
            yield Model({"MODELS__OLLAMA_URL": ollama.url}, "ollama/llama3.2", ollama)
        return
    async with OpenAiStandIn(answer=answer) as openai:
        settings = {"MODELS__OPENAI_BASE_URL": openai.url, "MODELS__OPENAI_MODEL": CHAT_MODEL}
        yield Model(settings, "", openai)


@asynccontextmanager
async def two(
    folder: Path, publish: str, settings: dict[str, str]
) -> AsyncIterator[tuple[Peer, Peer, dict[str, Any]]]:
    """A, with a model, an encyclopaedia and documents; B, which has nothing but A; and who A is."""
    index = str(index_file(folder / "a"))
    async with WikipediaStandIn() as articles:
        articles.pages |= {title: StandInPage(title, text) for title, text in ARTICLES.items()}
        settings = settings | {"ADAPTERS__WIKIPEDIA__BASE_URL": articles.url}
        async with peer(folder / "a", SHARING__PUBLISH=publish, INDEX_FILE=index, **settings) as a:
            who = await a.identity()
            async with peer(folder / "b", PEERS__URLS=a.url, PEERS__TRUSTED=who["root"]) as b:
                yield a, b, who


@pytest.mark.parametrize("publish", ["grounded", "all"])
@pytest.mark.parametrize("wire", ["ollama", "openai"])
async def test_what_a_model_said_on_evidence_another_node_answers_and_proves(
    tmp_path: Path, wire: str, publish: str
) -> None:
    async with (
        model(wire) as engine,
        two(tmp_path, publish, engine.settings) as (a, b, who),
    ):
        size = await a.published(4 + 2)
        first = await a.client.ask(QUESTION)
        assert first["source"]["kind"] == "llm", first["trace"]
        assert first["stored"], first["trace"]
        assert first["confidence"] >= LEAST
        assert first["citations"], "it rests on an article, and says so"
        assert engine.asked == 1
        await a.published(size + 1)
        [report] = await b.sync()
        assert report["outcome"] == "synced", report
        said = await b.client.ask(REWORDED)
        assert said["source"]["kind"] == "cache", said["trace"]
        assert said["cid"] == first["cid"]
        assert said["answer"] == first["answer"]
        assert said["hit"]["kind"] != "exact"
        record = await prove(said, b.client, a.client, who["root"])
        assert (record["source"]["kind"], record["source"]["id"]) == ("llm", first["source"]["id"])
        assert record["confidence"] >= LEAST * 1_000_000
        assert record["query"] == QUESTION.removesuffix("?")
        assert record["llm"] is not None
        # it was A's model that said it, once, and B has none and asked nobody
        assert engine.asked == 1
        _, health = await b.get("/health")
        models = [found for name, found in health["checks"].items() if name.startswith("model:")]
        assert {one["output"].partition(";")[0] for found in models for one in found} == {"not configured"}
        # and over a restart of B without A
        await a.child.end()
        await b.child.end()
        async with peer(tmp_path / "b", PEERS__URLS=a.url, PEERS__TRUSTED=who["root"]) as alone:
            again = await alone.client.ask(REWORDED)
            assert (again["answer"], again["hit"]["origin"]) == (first["answer"], who["root"])


@pytest.mark.parametrize(
    ("publish", "answer"),
    [
        ("sourced", GENERATED),  # models are not what is to be published
        ("none", GENERATED),
        ("grounded", NOT_IN_IT),
        ("grounded", "I do not know."),
    ],
    ids=["sources_only", "nothing", "not_in_the_article", "no_answer"],
)
async def test_what_a_model_said_stays_here_unless_it_rests_on_evidence_and_may_go(
    tmp_path: Path, publish: str, answer: str
) -> None:
    async with (
        model("ollama", answer) as engine,
        two(tmp_path, publish, engine.settings) as (a, b, _),
    ):
        first = await a.client.ask(QUESTION)
        assert engine.asked >= 1
        assert first["stored"] or answer != GENERATED, first["trace"]
        marker = await a.client.ask("What does a solar inverter do?")
        await a.published(4 + (0 if publish == "none" else 2))
        await b.sync()
        said = await b.client.ask(REWORDED)
        assert said["answer"] != first["answer"]
        if first["cid"] is not None:
            assert (await a.client.send("GET", f"/ipfs/{first['cid']}?format=raw"))[0] == 404
        known = await b.client.ask("What is the job of a solar inverter?")
        assert (known["answer"] == marker["answer"] == SOLAR) is (publish != "none")


async def patiently(node: Peer, query: str) -> dict[str, Any]:
    """Its answer, though a model on a busy machine takes a minute for it."""
    async with (
        asyncio.timeout(120),
        node.client.http.post(node.url + "/chat", json={"query": query}) as reply,
    ):
        assert reply.status == 200, await reply.text()
        found: dict[str, Any] = await reply.json()
        return found


@pytest.mark.engine("ollama")
async def test_with_a_real_model(tmp_path: Path, real_ollama: Ollama) -> None:
    """A small one does not cite well each time: of these questions one must do."""
    settings = {"MODELS__OLLAMA_URL": real_ollama.url, "MODELS__OLLAMA_MODEL": real_ollama.model}
    questions = {
        QUESTION: REWORDED,
        "What is composting?": "What does composting mean?",
        "What is a solar inverter?": "What does solar inverter mean?",
    }
    async with two(tmp_path, "grounded", settings) as (a, b, who):
        size = await a.published(4 + 2)
        for question, reworded in questions.items():
            first = await patiently(a, question)
            if first["source"]["kind"] != "llm" or not first["stored"] or not first["citations"]:
                continue
            await a.published(size + 1)
            await b.sync()
            said = await b.client.ask(reworded)
            assert said["answer"] == first["answer"], said["trace"]
            record = await prove(said, b.client, a.client, who["root"])
            assert record["source"]["kind"] == "llm"
            assert record["source"]["id"].startswith("ollama/")
            assert record["confidence"] >= LEAST * 1_000_000
            return
        pytest.fail("the model said nothing on evidence that was good enough to be kept")
