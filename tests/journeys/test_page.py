"""``/`` in a browser: a form that asks, and that no page elsewhere can use; and what is said of an answer
beside its words, the same in the reply, the command, the page and the record."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import aiohttp
import pytest

from node.cli import main
from tests.journeys.conftest import ESSAY, Client, Start
from tests.simulators.ollama import OllamaStandIn

SAME = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
"""What a browser sends for a link that somebody has followed."""


async def fetch(url: str, method: str = "GET", **more: Any) -> tuple[int, str, str]:
    async with aiohttp.ClientSession(trust_env=False) as http:
        async with http.request(method, url, **more) as response:
            return response.status, await response.text(), response.content_type


def answer_in(page: str) -> str:
    found = re.search(r'<div class="answer" dir="auto">(.*?)</div>', page, re.DOTALL)
    return found[1] if found else ""


async def test_asking_by_the_form(start: Start) -> None:
    async with start() as node:
        url = node.url + "/"
        status, page, kind = await fetch(url, headers={"Accept": "text/html"})
        assert (status, kind) == (200, "text/html")
        session = re.search(r'name="session" value="([^"]+)"', page)
        assert session is not None
        form = {"q": "What is 2+2?", "text": "", "session": session[1]}
        status, page, _ = await fetch(url, "POST", data=form, headers={**SAME, "Origin": node.url})
        assert status == 200
        assert answer_in(page) == "2 + 2 = 4."
        for word in ("adapter: math-calculator", "/v1/cache/entries/", f'value="{session[1]}"'):
            assert word in page


async def test_without_a_model_the_page_says_so_plainly(start: Start) -> None:
    async with start() as node:
        _, page, _ = await fetch(node.url + "/", "POST", data={"q": "Explain quantum computing"})
        assert answer_in(page).startswith("I could not find that out.")
        assert "make model" not in answer_in(page)


async def test_a_link_only_fills_the_form_in(start: Start) -> None:
    async with start() as node:
        _, before = await node.get("/v1/cache/stats")
        _, page, _ = await fetch(f"{node.url}/?q=What+is+2%2B2", headers=LINK)
        assert 'value="What is 2+2"' in page
        assert answer_in(page) == ""
        _, after = await node.get("/v1/cache/stats")
        assert after["entries"] == before["entries"]


@pytest.mark.parametrize(
    ("headers", "data"),
    [
        ({"Origin": "http://evil.example"}, {"q": "hi"}),
        ({"Origin": "null"}, {"q": "hi"}),
        ({"Sec-Fetch-Site": "cross-site"}, {"q": "hi"}),
        ({"Sec-Fetch-Site": "same-site"}, {"q": "hi"}),
        ({"Content-Type": "text/plain"}, b"q=hi"),
        ({}, {"q": "hi", "admin": "1"}),
        ({}, {"q": " "}),
        ({}, {"q": "hi", "session": "<b>"}),
        ({"Host": "evil.example"}, {"q": "hi"}),
    ],
)
async def test_what_is_not_the_form_is_refused(start: Start, headers: dict[str, str], data: Any) -> None:
    async with start() as node:
        status, page, _ = await fetch(node.url + "/", "POST", data=data, headers=headers)
        assert status == 400
        assert answer_in(page) == ""


async def test_programs_are_told_as_before(start: Start) -> None:
    async with start() as node:
        status, _, kind = await fetch(node.url + "/", headers={"Accept": "application/json"})
        assert (status, kind) == (404, "application/problem+json")


EVIDENCE = "How do I sort a list in Python?"
ALONE = "Explain photosynthesis"
UNVERIFIED = "  unverified  a model said it, and nothing that is known here supports it"


async def command(node: Client, question: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    """The lines of ``neuroswarm ask``."""
    capsys.readouterr()
    words = ["ask", "--url", node.url, "--data-dir", str(node.folder / "data"), *more, question]
    assert await asyncio.to_thread(main.main, words) == 0
    return capsys.readouterr().out.splitlines()


async def page(node: Client, question: str) -> str:
    async with aiohttp.ClientSession(trust_env=False) as http:
        async with http.post(node.url + "/", data={"q": question}) as response:
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
