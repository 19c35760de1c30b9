"""Where a copy of what is erased may lie besides this node's own store, and what the report says of it."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from node.app.operator import opened
from node.core.ipld.cid import Cid
from node.core.settings import load
from tests.engines import JsIpfs
from tests.faults.node_kit import Client, environ_of, eventually, start, typed
from tests.journeys.test_daemon import daemon_at
from tests.simulators.kubo import KuboStandIn

pytestmark = pytest.mark.slow

SECRET = "Under the third stone of the zanzibarquux."
QUESTION = "Where does the spare key of the boat house lie?"
SHARING = {"sharing": {"publish": "all"}}


async def erased(
    folder: Path, *words: str, **settings: str
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """The report, and its places."""
    done = await typed({**environ_of(folder), **settings}, "cache", "erase", *words, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return report, {one["place"]: (one["state"], one["why"]) for one in report["places"]}


def flags_of(folder: Path, more: dict[str, Any]) -> dict[str, Any]:
    """The settings of a command beside a node in this folder."""
    return {
        "data_dir": str(folder / "data"),
        "governance_dir": str(folder / "governance_logs"),
        "embed": {"engine": "none"},
        "models": {"ollama_url": ""},
        **more,
    }


async def mirrored(node: Client) -> None:
    said = "all public blocks are mirrored"
    await eventually(lambda: node.check("ipfs:daemon"), lambda check: said in check["output"])


async def test_the_operators_own_daemon_deletes_the_block(tmp_path: Path) -> None:
    """It was unpinned, and stayed readable there until somebody collected garbage."""
    async with KuboStandIn() as daemon, start(tmp_path, ipfs={"kubo_url": daemon.url}, **SHARING) as node:
        cid = Cid.parse(await node.store(QUESTION, SECRET, scope="public"))
        await mirrored(node)
        assert daemon.holds(cid)
        _, places = await erased(tmp_path, str(cid))
        assert places["the IPFS daemon"][0] == "reached"
        assert not daemon.holds(cid)
        assert cid not in daemon.pinned()


async def test_no_block_of_the_daemon_says_it_any_more(tmp_path: Path) -> None:
    """Neither the record's own nor one of the head, its index or a log: question and answer are in none."""
    async with KuboStandIn() as daemon, start(tmp_path, ipfs={"kubo_url": daemon.url}, **SHARING) as node:
        cid = await node.store(QUESTION, SECRET, scope="public")
        await node.store("Who waters the plants?", "The neighbour.", scope="public")
        await mirrored(node)
        await eventually(lambda: node.check("ipns"), lambda check: check.get("status") == "pass")
        assert [data for data in daemon.blocks.values() if SECRET.encode() in data]
        await erased(tmp_path, cid)
        left = [
            data for data in daemon.blocks.values() if SECRET.encode() in data or QUESTION.encode() in data
        ]
        assert left == []


@pytest.mark.engine("js_ipfs")
@pytest.mark.timeout(500)
async def test_a_real_daemon_deletes_the_block_at_once_or_when_it_is_back(
    tmp_path: Path, js_ipfs: JsIpfs
) -> None:
    settings = {"ipfs": {"kubo_url": js_ipfs.url, "timeout_s": 5.0}, **SHARING}
    async with start(tmp_path, **settings) as node:
        cids = [
            Cid.parse(await node.store(question, answer, scope="public"))
            for question, answer in ((QUESTION, SECRET), ("Who waters the plants?", "The neighbour."))
        ]
        await mirrored(node)
        async with daemon_at(js_ipfs.url) as daemon:
            for cid in cids:
                assert await daemon.blocks.has(cid)
            _, places = await erased(tmp_path, str(cids[0]))
            assert places["the IPFS daemon"][0] == "reached"
            assert not await daemon.blocks.has(cids[0])
            assert not await daemon.client.pinned([cids[0]])
        await asyncio.to_thread(js_ipfs.kill)
        _, places = await erased(tmp_path, str(cids[1]))
        assert places["the IPFS daemon"][0] == "not reached"
        await asyncio.to_thread(js_ipfs.restart)
        assert node.node is not None
        async with daemon_at(js_ipfs.url) as daemon:
            assert await daemon.blocks.has(cids[1])
    async with opened(load({}, flags=flags_of(tmp_path, settings))) as desk:
        await desk.reach.tick()
    async with daemon_at(js_ipfs.url) as daemon:
        assert not await daemon.blocks.has(cids[1])


async def test_a_cache_in_front_keeps_a_block_no_longer_than_was_promised(tmp_path: Path) -> None:
    """What it is told with the block, and what it hears when it asks again: no 304 by the name alone."""
    async with start(tmp_path, erasure={"within_s": 600}, **SHARING) as node:
        cid = await node.store(QUESTION, SECRET, scope="public")
        for form in ("raw", "car"):
            path = f"/ipfs/{cid}?format={form}"
            status, body, headers = await node.raw(path)
            assert (status, SECRET.encode() in body) == (200, True)
            assert headers["Cache-Control"] == "public, max-age=600, must-revalidate"
        status, body, _ = await node.raw(path, headers={"If-None-Match": headers["Etag"]})
        assert (status, body) == (304, b"")
        _, places = await erased(tmp_path, cid, NEUROSWARM_ERASURE__WITHIN_S="600")
        assert places["caches before the gateway"] == ("later", "they keep a block for 600 s at most")
        for more in ({}, {"headers": {"If-None-Match": headers["Etag"]}}):
            status, body, after = await node.raw(path, **more)
            assert status == 404
            assert after["Cache-Control"] == "no-store"
            assert SECRET.encode() not in body


async def test_a_daemon_that_is_away_is_named_and_told_when_it_is_back(tmp_path: Path) -> None:
    async with KuboStandIn() as daemon:
        settings = {"ipfs": {"kubo_url": daemon.url, "timeout_s": 1.0}, **SHARING}
        async with start(tmp_path, **settings) as node:
            cid = Cid.parse(await node.store(QUESTION, SECRET, scope="public"))
            await mirrored(node)
            daemon.faults["*"] = 500
            _, places = await erased(tmp_path, str(cid))
            state, why = places["the IPFS daemon"]
            assert state == "not reached"
            assert "told again until it hears" in why
            assert daemon.holds(cid)
            daemon.faults.clear()
        async with opened(load({}, flags=flags_of(tmp_path, settings))) as desk:
            await desk.reach.tick()
        assert not daemon.holds(cid)


async def test_kept_predecessors_of_the_export_and_backups_are_reached_or_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with start(tmp_path) as node:
        cid = await node.store(QUESTION, SECRET)
        other = await node.store("Who waters the plants?", "The neighbour.")
    shutil.copy(data / "knowledge-index.json", data / "knowledge-index.1.json")
    (data / "knowledge-index.2.json").write_text(f'{{"entries": [{{"cid": "{cid}"')
    (data / "before-restore-1").mkdir()
    async with start(tmp_path):
        environ = environ_of(tmp_path)
        for name in ("here", "away"):
            done = await typed(environ, "backup", str(tmp_path / name))
            assert done.returncode == 0, done.stderr
        (tmp_path / "away").rename(tmp_path / "elsewhere")
        _, places = await erased(tmp_path, cid)
    assert places[str(data / "knowledge-index.1.json")] == ("reached", "")
    assert SECRET not in (data / "knowledge-index.1.json").read_text()
    assert other in (data / "knowledge-index.1.json").read_text()
    assert places[str(data / "knowledge-index.2.json")][0] == "not reached"
    assert places[str(data / "before-restore-1")] == ("not reached", "a restore moved it aside: delete it")
    state, why = places[f"backups in {tmp_path / 'here'}"]
    assert (state, "neuroswarm backup" in why) == ("later", True)
    assert places[f"backups in {tmp_path / 'away'}"][0] == "not reached"
    assert places["the IPFS daemon"] == ("not there", "none is configured (ipfs.kubo_url)")
    assert places["the decision log, closed epochs too, wherever they lie"][0] == "reached"


async def test_all_that_a_tenant_has_can_be_exported_and_erased(tmp_path: Path) -> None:
    environ = environ_of(tmp_path)
    async with start(tmp_path) as node:
        mine = [
            await node.store(f"Which bank has account {number * 17}?", f"Bank {number}.", scope="private")
            for number in range(3)
        ]
        shared = await node.store(QUESTION, SECRET)
        done = await typed(environ, "cache", "export", "-", "--scope", "private:local")
        assert sorted(json.loads(line)["answer"] for line in done.stdout.splitlines()) == [
            "Bank 0.",
            "Bank 1.",
            "Bank 2.",
        ]
        report, _ = await erased(tmp_path, "--tenant", "local", "--dry-run")
        assert {one["cid"] for one in report["erased"]} == set(mine)
        assert (await node.entry(mine[0]))["answer"] == "Bank 0."
        report, places = await erased(tmp_path, "--tenant", "local")
        assert {one["cid"] for one in report["erased"]} == set(mine)
        assert "other nodes" not in places  # none of it was public
        for cid in mine:
            assert (await node.get(f"/v1/cache/entries/{cid}"))[0] == 404
        assert (await node.entry(shared))["answer"] == SECRET
