"""The cache as a whole, by HTTP and by command: merge, invalidate, export and import."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from node.api import local
from tests.faults.node_kit import eventually
from tests.journeys.conftest import Client, Start
from tests.journeys.test_cli import ran, refused, run

pytestmark = pytest.mark.slow

KEEL, ALSO = "What is a keel?", "what is a keel"
SPINE = "The spine of a ship."


async def invalidate(node: Client, **body: Any) -> tuple[int, dict[str, Any]]:
    return await node.post("/v1/cache/invalidate", body)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_near_duplicates_are_one_entry_that_says_where_it_came_from(start: Start) -> None:
    async with start() as node:
        first = await node.store(KEEL, SPINE, source="ana")
        second = await node.store(ALSO, "The spine  of a ship.", source="bo")
        assert second == first
        for wording in (KEEL, ALSO):
            found = await node.search(wording)
            assert (found["cid"], found["hit"]["kind"]) == (first, "exact")
            assert len(found["candidates"]) == 1
        entry = await node.entry(first)
        assert entry["state"] == "live"
        [merged] = entry["merged"]
        assert merged["query"] == ALSO
        assert merged["source"] == {"kind": "client", "id": "bo"}
        alias = await node.entry(merged["cid"])
        assert (alias["state"], alias["merged_into"]) == ("withdrawn", first)
        assert alias["answer"] == "The spine  of a ship."
        assert await node.metric("neuroswarm_merged_records_total") == 1
        await node.judge("invalid", cid=merged["cid"])
        assert (await node.search(KEEL))["hit"] is None
        assert (await node.search(ALSO))["hit"] is None
    async with start() as node:
        assert (await node.search(ALSO))["hit"] is None, "nor after a restart"


async def test_invalidation_by_each_field_over_http(start: Start) -> None:
    async with start() as node:
        keel = await node.store(KEEL, SPINE, tags=["ships"], source="ana")
        sails = await node.store("Who sails a ship?", "A sailor.", tags=["ships", "people"])
        await node.store("Who bakes bread?", "A baker.", tags=["people"], scope="private")
        dry = {"matched": 2, "withdrawn": 0, "cids": [keel, sails]}
        assert await invalidate(node, tag="ships", dry_run=True) == (200, dry)
        assert (await node.search(KEEL))["cid"] == keel
        assert (await invalidate(node, tag="people", scope="private"))[1]["withdrawn"] == 1
        assert (await node.search("Who bakes bread?"))["hit"] is None
        one = {"matched": 1, "withdrawn": 1, "cids": [keel]}
        assert await invalidate(node, query=ALSO, like=True) == (200, one)
        assert (await node.search(KEEL))["hit"] is None
        assert (await node.entry(keel))["state"] == "withdrawn"
        assert (await invalidate(node, older_than_s=3_600))[1]["matched"] == 0
        assert (await invalidate(node, source="client"))[1]["withdrawn"] == 1
        assert (await invalidate(node, older_than_s=0))[1]["matched"] == 0
        for body in ({}, {"dry_run": True}, {"like": True}, {"cid": "x"}, {"tag": 5}, {"colour": "red"}):
            status, problem = await node.post("/v1/cache/invalidate", body)
            assert (status, problem["status"]) == (400, 400), body
        folder = node.folder
    await ran("log", "verify", folder=folder)


async def test_commands_go_through_the_running_node(start: Start, tmp_path: Path) -> None:
    async with start("one") as node:
        sock = node.folder / "data" / local.SOCKET
        assert stat.S_IMODE(sock.stat().st_mode) == 0o600
        await node.store(KEEL, SPINE, tags=["ships"])
        await node.store(ALSO, SPINE)
        await node.store("Who bakes bread?", "A baker.")
        out = tmp_path / "out.jsonl"
        said = await ran("cache", "export", str(out), folder=node.folder)
        assert said.strip() == "3 lines"
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
        assert [line["query"] for line in lines_of(out)] == [KEEL[:-1], ALSO, "Who bakes bread"]
    assert not sock.exists()
    async with start("two") as other:
        said = await ran("cache", "import", str(out), "--json", folder=other.folder)
        assert json.loads(said)["counts"] == {"stored": 2, "merged": 1}
        for wording in (KEEL, ALSO):
            found = await other.search(wording)
            assert (found["answer"], found["hit"]["kind"]) == (SPINE, "exact")
        # the vectors are made in the background
        await eventually(lambda: other.metric("neuroswarm_index_vectors"), lambda found: found == 2)
        again = await run("cache", "import", str(out), folder=other.folder)
        assert again.stdout.strip() == "3 lines: 3 known already"
        done = await run("cache", "invalidate", "--tag", "ships", "--json", folder=other.folder)
        assert json.loads(done.stdout)["withdrawn"] == 1
        assert (await other.search(KEEL))["hit"] is None
        assert (await other.search(ALSO))["hit"] is None
        folder = other.folder
    await ran("log", "verify", folder=folder)


async def test_without_a_node_commands_open_the_directory_themselves(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "node"
    lines = tmp_path / "in.jsonl"
    lines.write_bytes(
        b'\xef\xbb\xbf{"query": "What is a keel?", "answer": "The spine of a ship."}\n\n'
        b'{"query": "no answer"}\n' + b"x" * 600_000 + b'\n{"query": "Who sails?", "answer": "A sailor."}'
    )
    sock = folder / "data" / local.SOCKET
    sock.parent.mkdir(parents=True)
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(sock))
    left.close()  # as a killed node leaves it: the name stays
    done = await run("cache", "import", str(lines), "--json", folder=folder)
    assert done.returncode == 1, "two lines are bad"
    report = json.loads(done.stdout)
    assert report["counts"] == {"stored": 2, "bad": 2}
    problems = [(one["line"], one["field"], one["limit"]) for one in report["problems"]]
    assert problems == [(3, "answer", "1 to 65536 characters"), (4, "line", "524288 bytes")]
    assert sock.exists()
    async with start("node") as node:
        assert (await node.search(KEEL))["answer"] == SPINE
        assert stat.S_ISSOCK(os.lstat(sock).st_mode)
        done = await run("cache", "export", "-", folder=folder)
        assert len(done.stdout.splitlines()) == 2, done.stderr
        nowhere = str(tmp_path / "no" / "such")
        assert "cannot write" in await refused("cache", "export", nowhere, folder=folder)
        assert "name at least one" in await refused("cache", "invalidate", folder=folder)
    assert "cannot read" in await refused("cache", "import", str(tmp_path / "absent"), folder=folder)


async def test_a_directory_where_a_file_belongs_is_said(tmp_path: Path) -> None:
    for words in (("export", "."), ("export", str(tmp_path)), ("import", str(tmp_path))):
        assert "it is a directory" in await refused("cache", *words, folder=tmp_path)
