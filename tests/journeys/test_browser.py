"""A real Chromium: the page works in it, and a page of somebody else can neither read nor write.

The foreign page is served from another port, which is another origin, and from a name that leads to this
machine (DNS rebinding). It tries each route that the node has, in each way that a page has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

from node.api.downloads import OPEN
from node.api.server import ROUTES
from tests.journeys.conftest import Client, Start
from tests.simulators.vendor import listen, stop

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.engine("chromium"), pytest.mark.timeout(180)]

CANARY = "Zxqv-7 lies under the mat."
QUESTION = "Where does the key of the mill lie?"
TRY_ALL = """async ([base, routes, question]) => {
  const read = []
  const bodies = [
    ["application/json", JSON.stringify({query: question, answer: "wrong", verdict: "invalid"})],
    ["text/plain", JSON.stringify({query: question, answer: "wrong"})],
    ["application/x-www-form-urlencoded", "q=" + encodeURIComponent(question)],
  ]
  for (const [method, path] of routes) {
    for (const mode of ["cors", "no-cors"]) {
      for (const [type, body] of method === "POST" ? bodies : [[null, null]]) {
        const headers = type ? {"Content-Type": type} : {}
        try {
          const got = await fetch(base + path, {method, mode, headers, body, credentials: "include"})
          const text = await got.text()
          if (got.type !== "opaque") read.push([method, path, got.status, text.slice(0, 200)])
        } catch (refused) {}
      }
    }
    if (method === "POST") {
      const frame = document.createElement("iframe")
      frame.name = "sent" + read.length + path
      const form = document.createElement("form")
      const target = {method: "post", action: base + path, target: frame.name, enctype: "text/plain"}
      Object.assign(form, target)
      const field = document.createElement("input")
      field.name = '{"query": "' + question + '", "answer": "wrong'
      field.value = '"}'
      form.append(field)
      document.body.append(frame, form)
      const shown = new Promise(done => { frame.onload = done; setTimeout(done, 2000) })
      form.submit()
      await shown
      try { read.push(["FORM", path, 0, frame.contentDocument.body.innerText]) } catch (refused) {}
    }
  }
  const socket = await new Promise(done => {
    const ws = new WebSocket(base.replace("http", "ws") + "/mcp")
    ws.onopen = () => done("open"); ws.onerror = () => done("refused")
  })
  return [read, socket]
}"""


@pytest.fixture
async def elsewhere() -> AsyncIterator[str]:
    """The address of an empty page of another origin."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><title>elsewhere</title><body>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    yield f"http://127.0.0.1:{await listen(runner, 0)}/"
    await stop(runner)


async def _kept(node: Client) -> tuple[Any, Any]:
    """What is stored, and whether the answer is still the same."""
    _, stats = await node.get("/v1/cache/stats")
    reply = await node.ask(QUESTION)
    return stats["entries"], reply["answer"]


async def test_the_page_works_in_a_browser(start: Start, chromium: Browser) -> None:
    async with start() as node:
        page = await chromium.new_page()
        await page.goto(node.url + "/")
        await page.fill("[name=q]", "What is 2+2?")
        await page.press("[name=q]", "Enter")
        await page.wait_for_selector(".answer")
        assert await page.inner_text(".answer") == "2 + 2 = 4."


@pytest.mark.parametrize("rebound", [False, True])
async def test_a_foreign_page_neither_reads_nor_writes(
    start: Start, chromium: Browser, elsewhere: str, rebound: bool
) -> None:
    async with start(embed={"engine": "none"}) as node:
        cid = await node.store(QUESTION, CANARY)
        routes = [
            [method, path.replace("{cid}", cid).replace("{", "").replace("}", "")]
            for method, path, _ in ROUTES
            if not path.startswith(OPEN)
        ]
        before = await _kept(node)
        page = await chromium.new_page()
        base = node.url
        if rebound:  # the page's own name leads to the node now
            base = node.url.replace("127.0.0.1", "rebound.localhost")
            await page.route(
                f"{base}/page", lambda route: route.fulfill(body="<body>", content_type="text/html")
            )
            await page.goto(f"{base}/page")
        else:
            await page.goto(elsewhere)
        read, socket = await page.evaluate(TRY_ALL, [base, routes, QUESTION])
        assert not [found for found in read if CANARY in found[3]]
        assert socket == "refused"
        if rebound:  # of its own origin the page sees refusals, and nothing else
            assert {status for _, _, status, _ in read if status} == {400}
        else:
            assert [found for found in read if found[0] != "FORM"] == []
        assert await _kept(node) == before
