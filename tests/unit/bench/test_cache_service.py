"""The client side of the bench: what a node says is read as it is meant, over HTTP."""

from __future__ import annotations

import sys

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bench.cache_service import Client, Refused, Service, session
from bench.gatelab.families import Question
from bench.peers import outside

pytestmark = pytest.mark.enable_socket

QUESTIONS = (Question("Who?", "a", "g"), Question("Who is it?", "a", "g"), Question("???", "b", "g"))


@pytest.fixture
async def client():
    """A node that serves its first entry for any question, and refuses what has no letter."""
    stored: list[tuple[str, str]] = []

    async def put(request: web.Request) -> web.Response:
        body = await request.json()
        if not any(letter.isalpha() for letter in body["query"]):
            return web.json_response({"detail": "query holds nothing"}, status=400)
        stored.append((body["query"], body["answer"]))
        return web.json_response({"cid": f"cid{len(stored)}"}, status=201)

    async def search(request: web.Request) -> web.Response:
        found = {"hit": None, "answer": None, "cid": None, "reason": "nothing", "candidates": []}
        if stored:
            one = {"cid": "cid1", "similarity": 0.9, "score": 0.8, "u": 0.01, "reason": "fine"}
            strange = {"cid": "strange", "similarity": 1, "score": 1, "u": 0}
            found = {"hit": {"kind": "slot"}, "answer": stored[0][1], "cid": "cid1", "reason": "fine"}
            found["candidates"] = [one, strange]
        return web.json_response(found)

    async def delete(_: web.Request) -> web.Response:
        return web.json_response({}, status=404)

    app = web.Application()
    app.router.add_post("/v1/cache/entries", put)
    app.router.add_post("/v1/cache/search", search)
    app.router.add_delete("/v1/cache/entries/{cid}", delete)
    async with TestServer(app) as server, session() as http:
        yield Client(http, str(server.make_url("")).rstrip("/"))


async def test_a_miss_then_a_hit(client):
    service = Service(client, QUESTIONS)
    assert (await service.look_up(0)).served is None
    await service.store(0)
    reply = await service.look_up(1)
    assert (reply.served, reply.tier, reply.reason) == (0, "slot", "fine")
    assert [(one.stored, one.u) for one in reply.candidates] == [(0, 0.01)]
    assert reply.ms > 0


async def test_refused_entries_are_counted(client):
    service = Service(client, QUESTIONS)
    await service.store(2)
    assert service.not_stored == 1


async def test_an_answer_under_the_wrong_name_is_no_result(client):
    service = Service(client, QUESTIONS)
    await client.store("from elsewhere", "whatever")
    with pytest.raises(RuntimeError, match="never stored"):
        await service.look_up(0)


async def test_errors_are_not_misses(client):
    with pytest.raises(RuntimeError, match="status 404"):
        await client.withdraw("cid1")
    with pytest.raises(Refused):
        await client._post("/v1/cache/entries", {"query": "1", "answer": "x"}, 201)


def test_a_peer_that_cannot_be_had_is_a_sentence(tmp_path):
    peer = outside.Peer("Nobody", "none.py", ("no-such-package-anywhere",), "")
    with pytest.raises(outside.Absent, match="not made yet"):
        outside.environment(peer, tmp_path, make=False)
    with pytest.raises(outside.Absent, match="status 3"):
        outside._call((sys.executable, "-c", "raise SystemExit(3)"), 20)
    with pytest.raises(outside.Absent, match="cannot be started"):
        outside._call((str(tmp_path / "nothing"),), 20)
