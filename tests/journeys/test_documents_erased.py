"""Documents are kept and erased as records are: what is private lies nowhere in the clear, what is removed or
erased is in no byte that the node keeps, and the log says that it happened and not what it said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from node.app import documents
from node.core.ipld.cid import Cid
from tests.faults.node_kit import Client, eventually
from tests.journeys.conftest import Start
from tests.journeys.test_cli import ran
from tests.log_kit import entries, verified

pytestmark = pytest.mark.slow

SETTINGS: dict[str, Any] = {"cache": {"confidence_min": 0.4}}
QUESTION = "What does a wash in the zanzibarroomquux cost?"


def text(word: str) -> str:
    return (
        f"# The {word}titlequux\n\n## {word}headquux\n\n"
        f"A wash in the {word}roomquux costs 2.50 euros, as {word}storyquux says.\n"
    )


@dataclass(frozen=True, slots=True)
class Planted:
    id: int
    cid: str
    sha256: str
    word: str

    def found_in(self, data: bytes) -> set[str]:
        """What of it can be read in some bytes."""
        traces = {
            "word": self.word.encode(),
            "cid": self.cid.encode(),
            "multihash": Cid.parse(self.cid).multihash,
            "sha256": self.sha256.encode(),
        }
        return {name for name, trace in traces.items() if trace in data.lower() or trace in data}

    def on_disk(self, folder: Path) -> dict[str, set[str]]:
        """By file."""
        found: dict[str, set[str]] = {}
        for path in sorted(folder.rglob("*")):
            with suppress(FileNotFoundError):  # the log's files are staged and renamed meanwhile
                if path.is_file() and (parts := self.found_in(path.read_bytes())):
                    found[str(path.relative_to(folder))] = parts
        return found


async def sent(node: Client, method: str, path: str, key: str = "", **more: Any) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    status, body, _ = await node.send(method, path, headers=headers, **more)
    return status, body


async def plant(node: Client, word: str, key: str = "", scope: str = "") -> Planted:
    path = f"/v1/documents?path={word}-pathquux.md" + (f"&scope={scope}" if scope else "")
    status, one = await sent(node, "POST", path, key, data=text(word).encode())
    assert status == 201, one
    return Planted(one["id"], one["cid"], one["sha256"], word)


async def ask(node: Client, question: str, key: str = "", **more: Any) -> Mapping[str, Any]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    status, body, _ = await node.send(
        "POST", "/chat", data=json.dumps({"query": question, **more}).encode(), headers=headers
    )
    assert status == 200, body
    assert isinstance(body, dict)
    return body


async def found(node: Client, query: str, key: str = "") -> list[str]:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    status, body, _ = await node.send(
        "POST", "/v1/passages", data=json.dumps({"query": query}).encode(), headers=headers
    )
    assert status == 200, body
    return [one["source"] for one in body["passages"]]


def told(folder: Path) -> list[tuple[str, str, dict[str, int]]]:
    """What the log says of documents."""
    said = [one for one in entries(folder / "governance_logs") if one["kind"] == "documents"]
    return [(one["event"], one["scope"], one["counts"]) for one in said]


async def key_for(node: Client, tenant: str) -> str:
    made = json.loads(await ran("apikeys", "create", "--tenant", tenant, "--json", folder=node.folder))
    return str(made["key"])


async def test_what_is_private_lies_nowhere_in_the_clear_and_an_erasure_reaches_it(
    start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "node"
    async with start(**SETTINGS) as node:
        key, other_key = await key_for(node, "ana"), await key_for(node, "ben")
        mine, other = await plant(node, "zanzibar", key), await plant(node, "trinidad", other_key)
        shared = await plant(node, "shared")
        assert (await found(node, "zanzibarroomquux", key))[0] == "zanzibar-pathquux.md"
        assert "zanzibar-pathquux.md" not in await found(node, "zanzibarroomquux", other_key)
        assert "zanzibar-pathquux.md" not in await found(node, "zanzibarroomquux")
        answer = await ask(node, QUESTION, key)
        assert "zanzibarstoryquux" in answer["answer"], answer["trace"]
        assert (await ask(node, QUESTION, key))["hit"] is not None
        assert mine.on_disk(folder) == {}, "while it runs"
        assert shared.on_disk(folder) != {}, "the test can see what it looks for"
    assert mine.on_disk(folder) == {}, "after the stop"
    async with start(**SETTINGS) as node:
        assert (await found(node, "zanzibarroomquux", key))[0] == "zanzibar-pathquux.md"
        assert "zanzibarstoryquux" in (await ask(node, QUESTION, key))["answer"]
        dry = await ran("cache", "erase", "--tenant", "ana", "--dry-run", folder=node.folder)
        assert "1 documents fit" in dry
        said = await ran("cache", "erase", "--tenant", "ana", folder=node.folder)
        assert "erased 1 documents" in said
        assert await found(node, "zanzibarroomquux", key) == []
        assert (await ask(node, QUESTION, key))["source"]["kind"] == "fallback"
        assert (await sent(node, "GET", "/v1/documents", key))[1]["documents"] == []
        assert (await found(node, "trinidadroomquux", other_key))[0] == "trinidad-pathquux.md"
        assert told(folder) == [
            *[("changed", "private", {"new": 1})] * 2,
            ("changed", "shared", {"new": 1}),
            ("erased", "private", {"erased": 1}),
        ]
        again = await plant(node, "zanzibar", key)
        assert (await found(node, "zanzibarroomquux", key))[0] == "zanzibar-pathquux.md"
        assert again.on_disk(folder) == {}
    assert other.on_disk(folder) == {}
    assert (await verified(folder / "governance_logs")).ok


async def test_a_sentence_of_what_is_removed_is_in_no_byte(start: Start, tmp_path: Path) -> None:
    """Nor is the answer that quoted it, though it was for everybody here."""
    folder = tmp_path / "node"
    async with start(**SETTINGS) as node:
        planted = await plant(node, "zanzibar")
        for number in range(3):
            await plant(node, f"other{number}")
        answer = await ask(node, QUESTION)
        assert answer["stored"], answer
        assert (await ask(node, QUESTION))["hit"] is not None
        assert "data/blocks.sqlite-wal" in planted.on_disk(folder), "the test can see what it looks for"
        assert (await sent(node, "DELETE", f"/v1/documents/{planted.id}"))[0] == 200

        async def on_disk() -> dict[str, set[str]]:
            return planted.on_disk(folder)

        await eventually(on_disk, lambda left: left == {})
        assert told(folder)[-1] == ("removed", "shared", {"removed": 1})
        assert "zanzibarstory" not in (await ask(node, QUESTION, no_store=True))["answer"]
    assert planted.on_disk(folder) == {}


async def test_a_sentence_of_a_former_version_is_in_no_byte_after_the_upkeep(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "SCRUB_EVERY_S", 1)
    folder = tmp_path / "node"
    async with start(**SETTINGS) as node:
        planted = await plant(node, "zanzibar")
        assert "word" in planted.on_disk(folder)["data/documents.sqlite-wal"]
        path = "/v1/documents?path=zanzibar-pathquux.md"
        assert (await sent(node, "POST", path, data=b"Nothing of that any more."))[0] == 201

        async def on_disk() -> dict[str, set[str]]:
            return {
                name: parts
                for name in planted.on_disk(folder)
                if (parts := words_in((folder / name).read_bytes()))
            }

        def words_in(data: bytes) -> set[str]:
            return {
                word for word in ("storyquux", "roomquux", "headquux") if f"zanzibar{word}".encode() in data
            }

        await eventually(on_disk, lambda left: left == {})
        assert told(folder) == [("changed", "shared", {"new": 1}), ("changed", "shared", {"changed": 1})]
