"""``/`` in a browser: a form that asks, and that no page elsewhere can use."""

from __future__ import annotations

import re
from typing import Any

import aiohttp
import pytest

from tests.journeys.conftest import Start

SAME = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


async def fetch(url: str, method: str = "GET", **more: Any) -> tuple[int, str, str]:
    async with aiohttp.ClientSession(trust_env=False) as http:
        async with http.request(method, url, **more) as response:
            return response.status, await response.text(), response.content_type


def answer_in(page: str) -> str:
    found = re.search(r'<div class="answer" dir="auto">(.*?)</div>', page, re.DOTALL)
    return found[1] if found else ""


async def test_asking_by_the_form(start: Start) -> None:
    async with start() as node:
        url = node.node.url + "/"
        status, page, kind = await fetch(url, headers={"Accept": "text/html"})
        assert (status, kind) == (200, "text/html")
        session = re.search(r'name="session" value="([^"]+)"', page)
        assert session is not None
        form = {"q": "What is 2+2?", "text": "", "session": session[1]}
        status, page, _ = await fetch(url, "POST", data=form, headers={**SAME, "Origin": node.node.url})
        assert status == 200
        assert answer_in(page) == "2 + 2 = 4."
        for word in ("adapter: math-calculator", "/v1/cache/entries/", f'value="{session[1]}"'):
            assert word in page


async def test_without_a_model_the_page_says_so_plainly(start: Start) -> None:
    async with start() as node:
        _, page, _ = await fetch(node.node.url + "/", "POST", data={"q": "Explain quantum computing"})
        assert answer_in(page).startswith("I could not find that out.")
        assert "make model" not in answer_in(page)


async def test_a_link_only_fills_the_form_in(start: Start) -> None:
    async with start() as node:
        _, before = await node.get("/v1/cache/stats")
        _, page, _ = await fetch(
            f"{node.node.url}/?q=What+is+2%2B2", headers={"Sec-Fetch-Site": "cross-site"}
        )
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
        status, page, _ = await fetch(node.node.url + "/", "POST", data=data, headers=headers)
        assert status == 400
        assert answer_in(page) == ""


async def test_programs_are_told_as_before(start: Start) -> None:
    async with start() as node:
        status, _, kind = await fetch(node.node.url + "/", headers={"Accept": "application/json"})
        assert (status, kind) == (404, "application/problem+json")
