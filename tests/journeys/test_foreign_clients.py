"""Other people's IPFS programs read what this node publishes and trust nothing that it says: Helia 7 and
@helia/verified-fetch, from npm, over the trustless gateway, the routing API and IPNS alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from node.core.ipld import ipns
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.core.record import AnswerRecord, decode
from tests.foreign.helia import Helia
from tests.journeys.conftest import Client, Start
from tests.simulators.vendor import listen, stop

pytestmark = [pytest.mark.engine("helia"), pytest.mark.timeout(180)]

QUESTION, ANSWER = "Which river is number 8?", "River 8."
RAW, CAR = "application/vnd.ipld.raw", "application/vnd.ipld.car"
PATIENCE_S = 60.0
CANARY = "Zxqv-7 lies under the mat."


@dataclass(frozen=True, slots=True)
class Published:
    """A node that has published its head, and what is in it."""

    client: Client
    name: str
    public: str
    hidden: tuple[str, ...]

    @property
    def url(self) -> str:
        return self.client.url


@pytest.fixture
async def published(start: Start) -> AsyncIterator[Published]:
    """One public answer, two that are not. The head is published at the stop, and served after the start."""
    settings: dict[str, Any] = {"sharing": {"publish": "all"}, "embed": {"engine": "none"}}
    async with start(**settings) as client:
        public = await client.store(QUESTION, ANSWER, scope="public")
        scopes = ("private", "shared")
        hidden = [await client.store(f"Where is key {scope}?", CANARY, scope=scope) for scope in scopes]
    async with start(**settings) as client:
        _, found = await client.get(f"/routing/v1/providers/{public}")
        [provider] = found["Providers"]
        name = IpnsName.parse(provider["ID"])
        await until_the_head_has(client, name, public)
        yield Published(client, name.text, public, tuple(hidden))


async def until_the_head_has(client: Client, name: IpnsName, public: str) -> None:
    """A stop that is short of time leaves the head to the next start."""
    _, block, _ = await client.raw(f"/ipfs/{public}?format=raw")
    query_hash = read(block).query_hash
    async with asyncio.timeout(PATIENCE_S):
        while True:
            status, data, _ = await client.raw(f"/ipns/{name.text}?format=ipns-record")
            if status == 200:
                path = f"{ipns.decode(data, name).value}/index/{query_hash[:3]}/{query_hash}"
                status, _, _ = await client.raw(f"{path}?format=car")
            if status == 200:
                return
            await asyncio.sleep(0.05)


def read(block: bytes) -> AnswerRecord:
    """The record in a block; its signature is verified."""
    record = decode(block)
    assert isinstance(record, AnswerRecord)
    return record


class Between:
    """A gateway and router that passes everything on to a node, and lets routing lead to itself.

    ``altered``: it changes one bit of what is under these paths. ``knows``: whether it routes at all."""

    def __init__(self, to: str) -> None:
        self.altered: tuple[str, ...] = ()
        self.knows = True
        self.asked: list[str] = []
        self.url = ""
        self._to = to

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.path.startswith("/routing/v1/providers/") and not self.knows:
            return web.json_response({"Providers": []})
        headers = {"Accept": request.headers.get("Accept", "*/*")}
        async with (
            aiohttp.ClientSession(trust_env=False) as http,
            http.get(self._to + request.path_qs, headers=headers) as response,
        ):
            body = await response.read()
            kind = response.headers.get("Content-Type", "")
            status = response.status
        if request.path.startswith("/routing/v1/providers/"):
            here, there = (f"/tcp/{url.rpartition(':')[2]}/".encode() for url in (self.url, self._to))
            assert there in body
            body = body.replace(there, here)
        if status == 200 and request.path.startswith(self.altered):
            body = body[:-1] + bytes((body[-1] ^ 1,))
        return web.Response(body=body, status=status, headers={"Content-Type": kind})


@asynccontextmanager
async def between(to: str) -> AsyncIterator[Between]:
    middle = Between(to)
    app = web.Application()
    app.router.add_get("/{path:.*}", middle.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        middle.url = f"http://127.0.0.1:{await listen(runner, 0)}"
        yield middle
    finally:
        await stop(runner)


async def test_it_is_helia_7_on_its_own_node(real_helia: Helia) -> None:
    versions = await real_helia.do("versions")
    assert versions["helia"].startswith("7.")
    assert [int(part) for part in versions["node"].split(".")[:2]] >= [22, 19]


async def test_helia_finds_us_by_routing_alone_and_verifies_the_block(
    published: Published, real_helia: Helia
) -> None:
    async with between(published.url) as middle:
        found = await real_helia.do("block", cid=published.public, routers=[middle.url])
        assert found["ok"], found
        assert middle.asked == [
            f"/routing/v1/providers/{published.public}",
            f"/ipfs/{published.public}",
        ]
    assert Cid.of(found["bytes"]) == Cid.parse(published.public)
    assert read(found["bytes"]).answer == found["value"]["answer"] == ANSWER


async def test_helia_fetches_from_us_as_a_gateway_and_reads_our_car(
    published: Published, real_helia: Helia
) -> None:
    async with between(published.url) as middle:
        middle.knows = False
        found = await real_helia.do(
            "block", cid=published.public, gateways=[published.url], routers=[middle.url]
        )
        assert found["ok"], found
        assert read(found["bytes"]).answer == ANSWER
    packed = await real_helia.do("car", url=f"{published.url}/ipfs/{published.public}", cid=published.public)
    assert packed["ok"], packed
    assert packed["roots"] == packed["blocks"] == [published.public]
    assert packed["type"].startswith(f"{CAR}; version=1")
    assert read(packed["bytes"]).answer == ANSWER


async def test_helia_resolves_our_name_to_a_head_that_leads_to_the_answer(
    published: Published, real_helia: Helia
) -> None:
    routers = [published.url]
    resolved = await real_helia.do("resolve", name=published.name, routers=routers)
    assert resolved["ok"], resolved
    head = await real_helia.do("block", cid=resolved["value"].removeprefix("/ipfs/"), routers=routers)
    assert head["value"]["name"] == published.name
    _, health = await published.client.get("/health")
    assert head["value"]["issuer"] == health["serviceId"]
    block = head
    query_hash = read(
        (await real_helia.do("block", cid=published.public, routers=routers))["bytes"]
    ).query_hash
    for step in ("index", query_hash[:3], query_hash):
        block = await real_helia.do("block", cid=block["value"][step]["/"], routers=routers)
        assert block["ok"], (step, block)
    assert block["value"]["answer"] == ANSWER


@pytest.mark.parametrize("is_altered", [False, True], ids=["whole", "altered"])
async def test_one_altered_bit_is_refused(published: Published, real_helia: Helia, is_altered: bool) -> None:
    async with between(published.url) as middle:
        if is_altered:
            middle.altered = ("/ipfs/", "/routing/v1/ipns/")
        cid, routers = published.public, [middle.url]
        outcomes = {
            "block": await real_helia.do("block", cid=cid, routers=routers),
            "car": await real_helia.do("car", url=f"{middle.url}/ipfs/{cid}", cid=cid),
            "name": await real_helia.do("resolve", name=published.name, routers=routers),
        }
        middle.knows = False
        outcomes["gateway"] = await real_helia.do("block", cid=cid, gateways=[middle.url], routers=routers)
        assert sum(path == f"/ipfs/{cid}" for path in middle.asked) >= 3
        assert {what: reply["ok"] for what, reply in outcomes.items()} == dict.fromkeys(
            outcomes, not is_altered
        ), outcomes
        assert all(("bytes" in reply or "value" in reply) is not is_altered for reply in outcomes.values())


async def test_verified_fetch_reads_the_answer_by_cid_and_by_name(
    published: Published, real_helia: Helia
) -> None:
    async def fetch(url: str, **more: str) -> dict[str, Any]:
        reply = await real_helia.do("fetch", url=url, routers=[published.url], **more)
        assert reply["ok"], reply
        return reply

    by_cid = await fetch(f"ipfs://{published.public}")
    assert (by_cid["status"], read(by_cid["bytes"]).answer) == (200, ANSWER)
    query_hash = read(by_cid["bytes"]).query_hash
    by_name = f"ipns://{published.name}/index/{query_hash[:3]}/{query_hash}"
    # Of a place inside a block this client hands out the block, once it has seen that the place is there.
    for url in (by_name, f"{by_name}/answer", f"ipfs://{published.public}/answer"):
        reply = await fetch(url)
        assert (reply["status"], reply["bytes"]) == (200, by_cid["bytes"]), url
        assert reply["value"]["answer"] == ANSWER
    for url in (f"{by_name}/nothing", f"{by_name[:-1]}x", f"ipfs://{published.public}/nothing"):
        assert (await fetch(url))["status"] == 404, url
    assert (await fetch(by_name, accept=RAW))["bytes"] == by_cid["bytes"]
    assert by_cid["bytes"] in (await fetch(f"{by_name}/answer", accept=CAR))["bytes"]


async def test_what_is_not_public_is_not_to_be_had(published: Published, real_helia: Helia) -> None:
    routers = [published.url]
    shown = await real_helia.do("block", cid=published.public, routers=routers)
    prefix = f"ipns://{published.name}/index"
    pages = await real_helia.do("fetch", url=prefix, routers=routers)
    assert list(pages["value"]) == [read(shown["bytes"]).query_hash[:3]]
    for cid in published.hidden:
        for where in ({"routers": routers}, {"routers": routers, "gateways": routers}):
            assert not (await real_helia.do("block", cid=cid, **where))["ok"]
        reply = await real_helia.do("fetch", url=f"ipfs://{cid}", routers=routers)
        assert not reply["ok"] or (reply["status"] >= 400 and CANARY.encode() not in reply["bytes"]), reply
        packed = await real_helia.do("car", url=f"{published.url}/ipfs/{cid}", cid=cid)
        assert (packed["ok"], packed["error"]) == (False, "Error: status 404")
