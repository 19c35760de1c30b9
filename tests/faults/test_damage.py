"""Damage in the data directory: what is whole stays, what is lost is said, and nothing wrong is served."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.damage_kit import COUNT, QUESTIONS, asked, filled, flip, ruin_page
from tests.faults.node_kit import eventually, start


def exported(folder: Path, name: str = "knowledge-index.json") -> set[str]:
    return {entry["query"] for entry in json.loads((folder / "data" / name).read_bytes())["entries"]}


async def test_a_store_that_is_gone_is_said_and_its_export_is_kept(tmp_path: Path) -> None:
    cids = await filled(tmp_path)
    assert exported(tmp_path) >= set(QUESTIONS)
    for path in (tmp_path / "data").glob("blocks.sqlite*"):
        path.unlink()
    for _ in range(2):  # also the start after the next
        async with start(tmp_path) as node:
            check = await node.check("ipfs:blocks")
            assert check["status"] == "fail"
            assert "doctor --fix" in check["output"]
            assert "doctor --accept-loss" in check["output"]
            assert (await node.get("/health"))[0] == 503
            assert (await node.ask("What is 2+2?"))["answer"], "it goes on answering"
            await node.store("What is new here?", "This is new here.")
        assert not exported(tmp_path) & set(QUESTIONS)
        assert exported(tmp_path, "knowledge-index.kept.json") >= set(QUESTIONS), "the last copy"
    loss = json.loads((tmp_path / "data" / "loss.json").read_bytes())
    assert set(loss["cids"]) >= set(cids.values())


async def test_what_was_erased_is_not_kept_beside_the_export(tmp_path: Path) -> None:
    await filled(tmp_path)
    async with start(tmp_path) as node:
        cid = await node.store("What was the secret?", "Under the third stone.")
        assert await node.delete(cid) == 200
    kept = tmp_path / "data" / "knowledge-index.kept.json"
    assert not kept.exists(), "nothing is lost"
    for path in (tmp_path / "data").rglob("*"):
        if path.is_file():
            assert b"third stone" not in path.read_bytes(), path


@pytest.mark.parametrize("is_restarted", [True, False])
async def test_health_sees_a_damaged_block(tmp_path: Path, is_restarted: bool) -> None:
    cids = await filled(tmp_path)
    path = tmp_path / "data" / "blocks.sqlite"
    if is_restarted:
        flip(path, QUESTIONS[3])
    async with start(tmp_path) as node:
        if not is_restarted:
            flip(path, QUESTIONS[3])
        reply = await node.search(QUESTIONS[3])
        assert not is_restarted or reply["hit"] is None, "a miss, not a 500"
        await node.get(f"/v1/cache/entries/{cids[QUESTIONS[3]]}")
        check = await eventually(lambda: node.check("ipfs:blocks"), lambda check: check["status"] == "fail")
        assert cids[QUESTIONS[3]] in check["output"]
        assert (await asked(node, cids))["wrong"] == 0


async def test_a_damaged_page_takes_only_what_lies_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a file that is too large to be looked at as a whole at the start."""
    cids = await filled(tmp_path)
    rows = ruin_page(tmp_path / "data" / "blocks.sqlite", QUESTIONS[30])
    monkeypatch.setattr("node.store.writer.CHECK_BYTES_MAX", 0)
    async with start(tmp_path) as node:
        said = await asked(node, cids)
        assert said["error"] == said["wrong"] == 0
        assert said["right"] >= COUNT - rows
        check = await eventually(lambda: node.check("ipfs:blocks"), lambda check: check["status"] == "fail")
        assert "doctor --fix" in check["output"]
