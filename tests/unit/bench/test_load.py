"""The client of ``bench.throughput`` reads whole replies, each of its own request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from bench.load import drive


@pytest.mark.parametrize("connections", [1, 8])
async def test_every_body_is_sent_once_and_every_reply_is_read_whole(connections: int) -> None:
    seen: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        query = (await request.json())["query"]
        seen.append(query)
        await asyncio.sleep(0)
        return web.json_response({"query": query, "long": "x" * 300_000})

    app = web.Application()
    app.router.add_post("/chat", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address: Any = runner.addresses[0]
    bodies = [f"question {number} ä" for number in range(40)]
    driven = await asyncio.to_thread(drive, address[1], "/chat", bodies, connections, float("inf"))
    await runner.cleanup()
    assert sorted(seen) == sorted(bodies)
    assert sorted(number for number, _, _ in driven.replies) == list(range(40))
    assert {status for _, status, _ in driven.replies} == {200}
    assert all(len(body) > 300_000 for _, _, body in driven.replies)
    assert len(driven.times_ms) == 40
