"""A node with an IPFS daemon: what it publishes is there, what it does not publish is not, the daemon may
come and go, and index file + daemon are enough to rebuild a node. Over the stand-in, over real js-ipfs, and
over a real Kubo where the address of one is given."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.core.clock import SystemClock
from node.core.errors import NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.ipld.ipns import IpnsName
from node.core.record import AnswerRecord, Record, decode
from node.ipfs.index_pages import HeadBlock, parse_index
from node.ipfs.kubo import KuboBlockStore
from tests.faults.node_kit import Client, child, eventually, start
from tests.head_world import parse_page
from tests.simulators.kubo import KuboStandIn

pytestmark = pytest.mark.timeout(240)

PATIENCE_S = 60
"""For waits on what does come, however busy the machine is."""


def settings(url: str, **more: Any) -> dict[str, Any]:
    """A node that publishes what its clients want published, and has a daemon."""
    return {"sharing": {"publish": "all"}, "ipfs": {"kubo_url": url, **more}}


async def publish(node: Client, number: int) -> Cid:
    cid = await node.store(f"Which river is number {number}?", f"River {number}.", scope="public")
    return Cid.parse(cid)


async def mirrored(node: Client) -> None:
    """Until the node itself says that nothing waits."""
    everything = "all public blocks are mirrored"
    await eventually(lambda: node.check("ipfs:daemon"), lambda it: everything in it["output"])


def records_in(daemon: KuboStandIn) -> list[Record]:
    """The records among its blocks; the others are the decision log's."""
    found = []
    for data in daemon.blocks.values():
        with contextlib.suppress(Rejected):
            found.append(decode(data))
    return found


@asynccontextmanager
async def daemon_at(url: str) -> AsyncIterator[KuboBlockStore]:
    """The daemon as somebody else sees it."""
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as http:
        yield KuboBlockStore(url, http, SystemClock(), timeout_s=30)


async def test_what_is_published_is_in_the_daemon_and_nothing_else_is(tmp_path: Path) -> None:
    """S2-49, and the scopes of the design's section 3."""
    async with KuboStandIn() as daemon:
        async with start(tmp_path, **settings(daemon.url)) as node:
            shown = await publish(node, 1)
            shared = Cid.parse(await node.store("Which lake is deep?", "Baikal.", scope="shared"))
            hidden = Cid.parse(await node.store("Which lake is near?", "Mine.", scope="private"))
            await mirrored(node)
            record = decode(daemon.blocks[shown.multihash])
            assert isinstance(record, AnswerRecord)
            assert record.answer == "River 1."
            assert shown in daemon.pinned()
        kept = records_in(daemon)
        assert {one.kind for one in kept} == {
            "answer",
            "key",
        }  # the certificates that the answer is checked with
        assert all(one.scope == "public" for one in kept)
        assert not daemon.given & {shared.multihash, hidden.multihash}
        async with start(tmp_path, **settings(daemon.url, daemon_is_private=True)) as node:
            await daemon.until(lambda: shared in daemon.pinned())
            await node.store("Which lake is my own?", "Mine.", scope="private")
        assert hidden.multihash not in daemon.given, "what is private goes to no daemon at all"
        assert {one.scope for one in records_in(daemon)} == {"public", "shared"}


async def test_without_its_daemon_a_node_starts_answers_and_says_so(tmp_path: Path) -> None:
    """S2-54 and S2-76: health flips at the next look, and back."""
    daemon = KuboStandIn()
    async with daemon:
        pass  # the address is known, and nobody listens
    async with start(tmp_path, **settings(daemon.url)) as node:
        first = await publish(node, 1)
        assert "4" in (await node.ask("What is 2+2?"))["answer"]
        assert (await node.ask("Which river is number 1?"))["hit"]["kind"] == "exact"
        away = await node.check("ipfs:daemon")
        assert away["status"] == "warn"
        assert "wait and are kept here" in away["output"]
        assert away["time"]
        async with daemon:
            back = await node.check("ipfs:daemon")
            assert (back["status"], back["observedValue"]) == ("pass", "Kubo 0.29.0, 2 peers")
            await mirrored(node)
            assert first in daemon.pinned()
            _, page, _ = await node.send("GET", "/metrics")
            assert b"neuroswarm_mirror_waiting 0.0" in page
        assert (await node.check("ipfs:daemon"))["status"] == "warn"


@pytest.mark.slow
async def test_a_daemon_that_dies_and_revives_under_load_gets_everything(tmp_path: Path) -> None:
    daemon = KuboStandIn()
    async with daemon:
        pass
    async with start(tmp_path, **settings(daemon.url)) as node:
        published: list[Cid] = []
        stop = asyncio.Event()

        async def ask_on() -> int:
            answered = 0
            while not stop.is_set():
                reply = await node.ask(f"What is {answered}+1?")
                assert str(answered + 1) in reply["answer"]
                published.append(await publish(node, 1_000 + len(published)))
                answered += 1
            return answered

        asking = [asyncio.create_task(ask_on()) for _ in range(2)]
        for _ in range(3):
            async with daemon:
                await node.check("ipfs:daemon")
                before = daemon.count("pin/add")
                async with asyncio.timeout(PATIENCE_S):
                    await daemon.until(lambda before=before: daemon.count("pin/add") > before)
                daemon.faults["*"] = "hang"
                await node.check("ipfs:daemon")
                daemon.faults.clear()
            await node.check("ipfs:daemon")
        stop.set()
        assert min(await asyncio.gather(*asking)) > 0
        async with daemon:
            await mirrored(node)
            assert set(published) <= daemon.pinned()


@pytest.mark.slow
async def test_what_waits_survives_a_kill(tmp_path: Path) -> None:
    daemon = KuboStandIn()
    async with daemon:
        pass
    own = {"NEUROSWARM_IPFS__KUBO_URL": daemon.url, "NEUROSWARM_SHARING__PUBLISH": "all"}
    async with child(tmp_path, **own) as (process, node):
        published = [await publish(node, number) for number in range(5)]
        await process.end(signal.SIGKILL)
    async with daemon, start(tmp_path, **settings(daemon.url)) as node:
        await mirrored(node)
        assert set(published) <= daemon.pinned()


@pytest.fixture(
    params=[
        "kubo",
        "js-ipfs",
        pytest.param("js_ipfs", marks=pytest.mark.engine("js_ipfs")),
        pytest.param("real_kubo", marks=pytest.mark.engine("kubo")),
    ]
)
async def url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """The RPC address of a stand-in in either dialect, or of a real daemon."""
    if request.param in ("js_ipfs", "real_kubo"):
        yield request.getfixturevalue(request.param).url
    else:
        async with KuboStandIn(request.param) as daemon:
            yield daemon.url


async def test_index_file_and_daemon_are_enough_to_rebuild_a_node(tmp_path: Path, url: str) -> None:
    async with start(tmp_path / "a", **settings(url)) as first:
        published = await publish(first, 7)
        await mirrored(first)
    exported = tmp_path / "knowledge-index.json"
    index = json.loads((tmp_path / "a" / "data" / "knowledge-index.json").read_text())
    for entry in index["entries"]:
        assert entry.pop("answer") == "River 7."  # only the daemon can tell it now
    exported.write_text(json.dumps(index))
    shutil.rmtree(tmp_path / "a")
    async with start(tmp_path / "b", index_file=exported, **settings(url)) as second:
        reply = await second.ask("Which river is number 7?")
        assert reply["answer"] == "River 7."
        assert reply["hit"]["kind"] == "exact"
        status, block, _ = await second.send("GET", f"/ipfs/{published}?format=raw")
        if status == 200:
            assert Cid.of(block) == published


async def test_another_program_finds_the_record_in_the_daemon_until_it_is_withdrawn(
    tmp_path: Path, url: str
) -> None:
    async with daemon_at(url) as daemon, start(tmp_path, **settings(url)) as node:
        cid = await publish(node, 8)
        await mirrored(node)
        record = decode(await daemon.blocks.get(cid))
        assert isinstance(record, AnswerRecord)
        assert record.answer == "River 8."
        assert await daemon.client.pinned([cid])
        assert await node.delete(str(cid)) == 200
        await mirrored(node)
        assert not await daemon.client.pinned([cid])
        await daemon.blocks.delete(cid)  # as its garbage collection does


@pytest.mark.engine("js_ipfs")
async def test_a_real_daemon_that_is_killed_catches_up(tmp_path: Path, js_ipfs: Any) -> None:
    async with start(tmp_path, **settings(js_ipfs.url)) as node:
        first = await publish(node, 1)
        await mirrored(node)
        await asyncio.to_thread(js_ipfs.kill)
        assert (await node.check("ipfs:daemon"))["status"] == "warn"
        second = await publish(node, 2)
        assert (await node.ask("Which river is number 1?"))["hit"]["kind"] == "exact"
        await asyncio.to_thread(js_ipfs.restart)
        await mirrored(node)
        async with daemon_at(js_ipfs.url) as daemon:
            assert await daemon.client.pinned([first, second])
            with pytest.raises(NotFound):
                await daemon.blocks.get(Cid.of(b"nobody has this"))


@pytest.mark.engine("js_ipfs")
async def test_a_real_daemon_alone_leads_from_a_name_to_the_answer(tmp_path: Path, js_ipfs: Any) -> None:
    """It takes no record that somebody else signed, and publishes our head under a key of its own."""
    async with start(tmp_path, **settings(js_ipfs.url)) as node:
        record = decode((await node.send("GET", f"/ipfs/{await publish(node, 9)}?format=raw"))[1])
        assert isinstance(record, AnswerRecord)
        said = "the daemon publishes it under its own key, as /ipns/"
        told = await eventually(lambda: node.check("ipns"), lambda it: said in it["output"])
        [name] = re.findall(rf"{said}(\w+)", told["output"])
    async with start(tmp_path, **settings(js_ipfs.url)), daemon_at(js_ipfs.url) as daemon:

        async def leads_to_the_answer() -> bool:
            head = HeadBlock.parse(await daemon.blocks.get(await resolved(js_ipfs.url, name)))
            page = parse_index(await daemon.blocks.get(head.index)).get(record.query_hash[:3])
            if page is None:  # the head from before the answer
                return False
            cid = parse_page(await daemon.blocks.get(page))[record.query_hash]
            return decode(await daemon.blocks.get(cid)) == record

        await eventually(leads_to_the_answer)


async def resolved(url: str, name: str) -> Cid:
    """What a daemon says that a name leads to; js-ipfs takes a name in base36 for one of the DNS."""
    peer_id = IpnsName.parse(name).peer_id
    async with (
        aiohttp.ClientSession(trust_env=False) as http,
        http.post(f"{url}/api/v0/name/resolve", params={"arg": f"/ipns/{peer_id}"}) as response,
    ):
        answer = await response.json(content_type=None)
        assert response.status == 200, answer
        return Cid.parse(answer["Path"].removeprefix("/ipfs/"))


async def test_what_is_withdrawn_is_unpinned(tmp_path: Path) -> None:
    async with KuboStandIn("js-ipfs") as daemon, start(tmp_path, **settings(daemon.url)) as node:
        kept, deleted, judged = [await publish(node, number) for number in range(3)]
        await mirrored(node)
        assert {kept, deleted, judged} <= daemon.pinned()
        status, _, _ = await node.send("DELETE", f"/v1/cache/entries/{deleted}")
        assert status == 200
        status, _ = await node.post("/feedback", {"cid": str(judged), "verdict": "invalid"})
        assert status == 200
        await mirrored(node)
        assert kept in daemon.pins
        assert not {deleted, judged} & set(daemon.pins)
        daemon.collect_garbage()
        words = {one.kind for one in records_in(daemon)}
        assert words == {"answer", "key", "tombstone", "validation"}
