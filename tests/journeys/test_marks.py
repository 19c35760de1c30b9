"""What is said of an answer beside its words, the same in the reply, the command, the page and the record."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from node.cli import main
from tests.journeys.conftest import ESSAY, Client, Start
from tests.simulators.ollama import OllamaStandIn

EVIDENCE = "How do I sort a list in Python?"
ALONE = "Explain photosynthesis"
DRAFT = "Explain why the sky is blue"
UNVERIFIED = "  unverified  a model said it, and nothing that is known here supports it"


async def command(node: Client, question: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    """The lines of ``neuroswarm ask``."""
    capsys.readouterr()
    words = ["ask", "--url", node.node.url, "--data-dir", str(node.folder / "data"), *more, question]
    assert await asyncio.to_thread(main.main, words) == 0
    return capsys.readouterr().out.splitlines()


async def page(node: Client, question: str) -> str:
    async with aiohttp.ClientSession(trust_env=False) as http:
        async with http.post(node.node.url + "/", data={"q": question}) as response:
            assert response.status == 200
            return await response.text()


async def test_how_sure_the_evidence_is_found_and_how_far_it_supports(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    async with (
        OllamaStandIn(answer="Call sorted on the list [1].") as model,
        start(ollama=model.url) as node,
    ):
        await node.store(EVIDENCE, "Call sorted on the list.", confidence=0.4)
        reply = await node.ask(EVIDENCE, no_store=True)
        assert reply["source"]["kind"] == "llm", reply["trace"]
        found, support = reply["found"], reply["support"]
        assert 0 < found < 1
        assert 0 < support < 1
        assert found != support
        said = f"found {found:.2f}, supported {support:.2f}"
        assert f"<dd>{said}</dd>" in await page(node, EVIDENCE)
        assert f"  evidence    {said}" in await command(node, EVIDENCE, capsys, "--no-cache")
        model.answer = ESSAY
        alone = await node.ask(ALONE)
        assert (alone["source"]["kind"], alone["found"], alone["support"]) == ("llm", None, None)
        assert not [line for line in await command(node, ALONE, capsys) if line.startswith("  evidence")]
        assert "<dt>Evidence</dt>" not in await page(node, ALONE)


async def test_what_a_model_says_alone_is_unverified_everywhere(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    async with OllamaStandIn(answer=ESSAY) as model, start(ollama=model.url) as node:
        reply = await node.ask(ALONE)
        assert (reply["unverified"], reply["stored"], reply["draft"]) == (True, True, False)
        record = await node.entry(reply["cid"])
        assert record["unverified"] is True
        assert (await node.ask(ALONE))["unverified"], "from the cache, too"
        assert UNVERIFIED in await command(node, ALONE, capsys)
        assert '<p class="mark">Unverified: ' in await page(node, ALONE)

        cid = await node.store("What is a keel?", "A fin.")
        record = await node.entry(cid)
        assert record["unverified"] is False
        assert UNVERIFIED not in await command(node, "What is a keel?", capsys)
        assert '<p class="mark">' not in await page(node, "What is a keel?")


async def test_a_draft_is_marked_so(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    async with (
        OllamaStandIn(answer="Maybe.") as model,
        start(ollama=model.url, cache={"confidence_min": 0.8}) as node,
    ):
        first = await command(node, DRAFT, capsys)
        assert UNVERIFIED in first
        assert [line for line in first if line.startswith("  not stored  confidence too low")]
        assert not [line for line in first if line.startswith("  draft")]
        lines = await command(node, DRAFT, capsys)
        assert "  draft       the model said the same a while ago; --no-cache asks it again" in lines
        assert UNVERIFIED in lines
        shown = await page(node, DRAFT)
        assert '<p class="mark">Draft: ' in shown
        assert '<p class="mark">Unverified: ' in shown
