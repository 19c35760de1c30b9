"""Documents by command and over HTTP: taken in, listed, served, removed; with a node and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.extraction_files import pdf_of
from tests.journeys.conftest import Start
from tests.journeys.test_cli import ran, refused

pytestmark = pytest.mark.slow


def papers(folder: Path) -> Path:
    (folder / "house").mkdir(parents=True)
    (folder / "house" / "rules.md").write_text("# Rules\n\nThe rent is due on the fifth.\n")
    (folder / "scan.pdf").write_bytes(pdf_of([""]))
    (folder / "a.bin").write_bytes(b"x")
    (folder / "manifest.csv").write_text("file,status\nhouse/rules.md,draft\ngone.md,active\n")
    return folder


async def test_a_folder_by_command(start: Start, tmp_path: Path) -> None:
    folder = papers(tmp_path / "papers")
    async with start() as node:
        said = await ran("ingest", str(folder), folder=node.folder)
        assert "3 new, 1 left out" in said
        assert "scan.pdf: no page has text" in said
        assert "house/rules.md (Rules): The rent is due on the fifth." in said
        status, listed = await node.get("/v1/documents")
        assert status == 200
        found = {one["path"]: one for one in listed["documents"]}
        assert {path: one["status"] for path, one in found.items()} == {
            "gone.md": "missing",
            "house/rules.md": "draft",
            "manifest.csv": "current",
            "scan.pdf": "current",
        }
        assert listed["runs"][0]["is_over"]
        assert "house/rules.md" in await ran("ingest", "--remove", "house/rules.md", folder=node.folder)
        _, listed = await node.get("/v1/documents")
        assert {one["path"]: one["status"] for one in listed["documents"]}["house/rules.md"] == "missing"
        assert "no document" in await refused("ingest", "--remove", "house/none.md", folder=node.folder)
        home = node.folder
    done = json.loads(await ran("ingest", "--json", "--again", str(folder), folder=home))
    [run] = done["folders"]
    assert (run["total"], run["new"], run["changed"], run["failed"]) == (3, 1, 2, 0)
    async with start() as node:
        status, listed = await node.get("/v1/documents")
        assert len(listed["documents"]) == 4


RULES = b"# Rules\n\nThe rent is due on the fifth.\n"


async def test_uploads_and_who_sees_them(start: Start) -> None:
    async with start() as node:

        async def sent(query: str, data: bytes, key: str = "") -> tuple[int, Any]:
            more = {"headers": {"Authorization": f"Bearer {key}"}} if key else {}
            status, body, _ = await node.send("POST", f"/v1/documents{query}", data=data, **more)
            return status, body

        async def block(cid: str) -> int:
            status, _, _ = await node.raw(f"/ipfs/{cid}?format=raw")
            return status

        status, shared = await sent("?path=a/rules.md", RULES)
        assert (status, shared["scope"], shared["title"]) == (201, "shared", "Rules")
        assert await block(shared["cid"]) == 404
        status, public = await sent("?path=b.md&scope=public", RULES)
        assert (status, public["scope"], public["cid"]) == (201, "public", shared["cid"])
        assert await block(public["cid"]) == 200
        status, kept = await sent("?path=c.md&scope=public", b"Call me, Ann Lee, at +49 30 901820.")
        assert (status, kept["scope"]) == (201, "shared")
        assert "kept from the public" in kept["note"]
        status, refusal = await sent("?path=a.exe", b"x")
        assert (status, refusal["title"]) == (415, "Unsupported Media Type")
        status, refusal = await sent("?path=../a.md", b"x")
        assert (status, refusal["field"]) == (400, "path")
        status, refusal = await sent("?path=a.md&scope=all", b"x")
        assert (status, refusal["field"]) == (400, "scope")
        status, refusal = await sent("", b'{"folder": "/etc"}')
        assert (status, refusal["field"]) == (400, "folder")
        made = json.loads(await ran("apikeys", "create", "--tenant", "ana", "--json", folder=node.folder))
        key = made["key"]
        status, own = await sent("?path=mine.md", b"Mine alone.", key)
        assert (status, own["scope"]) == (201, "private:ana")
        assert (await sent("?path=mine.md&scope=shared", b"x", key))[0] == 403
        assert (await sent("?path=mine.md&scope=public", b"x", key))[0] == 403
        _, listed = await node.get("/v1/documents")
        assert own["id"] not in [one["id"] for one in listed["documents"]]
        mine = {"headers": {"Authorization": f"Bearer {key}"}}
        status, seen, _ = await node.send("GET", "/v1/documents", **mine)
        assert [one["path"] for one in seen["documents"]] == ["b.md", "mine.md"]
        assert seen["runs"] == []
        for number, wanted in ((shared["id"], 404), (public["id"], 403), (own["id"], 200), (own["id"], 404)):
            status, _, _ = await node.send("DELETE", f"/v1/documents/{number}", **mine)
            assert status == wanted, number
        words = ("apikeys", "create", "--tenant", "ben", "--scopes", "read,write,publish", "--json")
        ben = json.loads(await ran(*words, folder=node.folder))["key"]
        status, held = await sent("?path=d.md&scope=public", b"My name is Ann Lee, born on 3 May 1981.", ben)
        assert (status, held["scope"]) == (201, "private:ben"), "kept for whoever sent it alone"
        assert "kept from the public" in held["note"]
        assert await block(held["cid"]) == 404
        _, listed = await node.get("/v1/documents")
        assert "d.md" not in [one["path"] for one in listed["documents"]]
        status, free = await sent("?path=e.md&scope=public", b"# Laundry\n\nIt opens at nine.", ben)
        assert (status, free["scope"]) == (201, "public")
        for one in (held, free):
            path = f"/v1/documents/{one['id']}"
            status, _, _ = await node.send("DELETE", path, headers={"Authorization": f"Bearer {ben}"})
            assert status == 200
        status, _, _ = await node.send("DELETE", f"/v1/documents/{public['id']}")
        assert status == 200
        assert await block(public["cid"]) == 404
        assert (await node.check("documents"))["observedValue"] == 2
