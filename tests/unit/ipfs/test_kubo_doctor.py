"""What doctor finds out about a daemon: harmlessly, and with a word on what to type."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest
from aiohttp import web

from node.core.clock import SystemClock
from node.core.model import Check
from node.ipfs import kubo_doctor
from tests.engines import JsIpfs
from tests.simulators.kubo import KuboStandIn
from tests.simulators.vendor import listen

NAMES = ["ipfs:daemon", "ipfs:block", "ipfs:pin", "ipfs:dag", "ipfs:name", "ipfs:routing", "ipfs:pubsub"]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as session:
        yield session


async def look(url: str, http: aiohttp.ClientSession) -> dict[str, Check]:
    return {check.name: check for check in await kubo_doctor.examine(url, http, SystemClock())}


@pytest.mark.parametrize(("dialect", "said"), [("kubo", "cid-codec"), ("js-ipfs", "format and version")])
async def test_blocks_and_pins_are_tried_and_leave_nothing(
    http: aiohttp.ClientSession, dialect: str, said: str
) -> None:
    async with KuboStandIn(dialect) as daemon:
        found = await look(daemon.url, http)
        assert [*found] == NAMES
        assert found["ipfs:block"].status == found["ipfs:pin"].status == "pass"
        assert said in found["ipfs:block"].output
        assert daemon.blocks == {}
        assert daemon.pins == {}


async def test_what_fails_is_said_and_the_block_is_taken_away(http: aiohttp.ClientSession) -> None:
    async with KuboStandIn() as daemon:
        daemon.faults["pin/add"] = "pinning is off today"
        found = await look(daemon.url, http)
        assert (found["ipfs:block"].status, found["ipfs:pin"].status) == ("pass", "warn")
        assert "pinning is off today" in found["ipfs:pin"].output
        daemon.faults = {"block/get": "no reading today"}
        found = await look(daemon.url, http)
        assert found["ipfs:block"].status == "warn"
        assert "no reading today" in found["ipfs:block"].output
        assert "ipfs:pin" not in found
        assert daemon.blocks == {}


async def test_no_daemon_and_one_that_is_away(http: aiohttp.ClientSession) -> None:
    assert [*await look("", http)] == ["ipfs:daemon"]
    async with KuboStandIn() as daemon:
        url = daemon.url
    found = await look(url, http)
    assert [*found] == ["ipfs:daemon"]
    assert found["ipfs:daemon"].status == "warn"


class Api:
    """A daemon with the answers that a test gives to calls without arguments: else Kubo's."""

    def __init__(self, answers: Mapping[str, tuple[int, str]]) -> None:
        self.answers = {
            "dag/import": (400, '{"Message":"file argument \'path\' is required","Code":1}'),
            "name/publish": (400, '{"Message":"argument \\"ipfs-path\\" is required","Code":1}'),
            "routing/findprovs": (400, '{"Message":"argument \\"key\\" is required","Code":1}'),
            "pubsub/ls": (200, '{"Strings":[]}'),
            **answers,
        }
        self.asked: list[str] = []

    async def serve(self, request: web.Request) -> web.Response:
        call = request.match_info["call"]
        if call == "version":
            return web.json_response({"Version": "0.35.0"})
        if call == "swarm/peers":
            return web.json_response({"Peers": []})
        if call.startswith(("block", "pin")):
            return web.Response(status=403, text="403 - Forbidden")
        self.asked.append(request.path_qs)
        status, text = self.answers.get(call, (404, "404 page not found"))
        return web.Response(status=status, text=text)


async def calls(http: aiohttp.ClientSession, **answers: tuple[int, str]) -> tuple[dict[str, Check], Api]:
    api = Api({name.replace("_", "/"): answer for name, answer in answers.items()})
    app = web.Application()
    app.router.add_post("/api/v0/{call:.*}", api.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    port = await listen(runner, 0)
    try:
        return await look(f"http://127.0.0.1:{port}", http), api
    finally:
        await runner.cleanup()


async def test_calls_are_asked_for_without_arguments(http: aiohttp.ClientSession) -> None:
    found, api = await calls(http)
    assert all(found[name].status == "pass" for name in NAMES[3:])
    assert "own name" in found["ipfs:name"].output
    assert found["ipfs:pubsub"].output == "is on"
    assert sorted(api.asked) == [
        f"/api/v0/{call}" for call in ("dag/import", "name/publish", "pubsub/ls", "routing/findprovs")
    ]


async def test_a_daemon_that_lacks_calls(http: aiohttp.ClientSession) -> None:
    gone = (404, "404 page not found")
    found, _ = await calls(http, dag_import=gone, name_publish=gone, routing_findprovs=gone, pubsub_ls=gone)
    assert [found[name].status for name in NAMES[3:]] == ["warn", "warn", "warn", "pass"]
    found, _ = await calls(http, routing_findprovs=gone, dht_findprovs=(400, "{}"))
    assert "(dht/findprovs)" in found["ipfs:routing"].output


async def test_pubsub_that_is_off_says_what_to_type(http: aiohttp.ClientSession) -> None:
    off = (500, '{"Message":"experimental pubsub feature not enabled","Code":0,"Type":"error"}')
    found, _ = await calls(http, pubsub_ls=off)
    assert found["ipfs:pubsub"].status == "pass"
    assert "experimental pubsub feature not enabled" in found["ipfs:pubsub"].output
    assert "ipfs config --json Pubsub.Enabled true" in found["ipfs:pubsub"].output


async def test_a_forbidden_call_names_the_setting(http: aiohttp.ClientSession) -> None:
    found, _ = await calls(http, dag_import=(403, "403 - Forbidden"))
    assert found["ipfs:dag"].status == "warn"
    assert "API.Authorizations" in found["ipfs:dag"].output
    assert found["ipfs:block"].status == "warn"


@pytest.mark.engine("js_ipfs")
@pytest.mark.slow
async def test_the_real_js_ipfs(http: aiohttp.ClientSession, js_ipfs: JsIpfs) -> None:
    found = await look(js_ipfs.url, http)
    assert [*found] == NAMES
    for name in ("ipfs:daemon", "ipfs:block", "ipfs:pin", "ipfs:name"):
        assert found[name].status == "pass", found[name]
