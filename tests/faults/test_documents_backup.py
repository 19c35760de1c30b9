"""What was removed or erased stays so when a backup of before is put back; what was not is there again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.node_kit import Client, start
from tests.faults.test_backup import backup, command, holds, restore
from tests.journeys.test_documents_erased import found, key_for, plant, sent

pytestmark = pytest.mark.slow
CANARY = "zanzibarstoryquux"


async def paths(node: Client, key: str = "") -> list[str]:
    return [one["path"] for one in (await sent(node, "GET", "/v1/documents", key))[1]["documents"]]


async def unpacked(home: Path, name: str) -> bytes:
    """The store of documents as the newest backup holds it."""
    from node.store.backup.folder import BackupFolder

    folder = BackupFolder.at(home / "bak")
    kept = folder.read(folder.names()[-1]).file("data/documents.sqlite")
    assert kept is not None
    folder.take(kept, home / name)
    return (home / name).read_bytes()


async def test_removed_and_erased_documents_stay_away_after_a_restore(tmp_path: Path) -> None:
    home, papers = tmp_path, tmp_path / "papers"
    papers.mkdir()
    for word in ("zanzibar", "kept"):
        (papers / f"{word}.md").write_text(f"# {word}\n\nIn the folder {word}folderquux.\n")
    keys = ("--keys", str(home / "keys.json"), "--no-passphrase")
    async with start(home / "one") as node:
        key, other = await key_for(node, "ana"), await key_for(node, "ben")
        gone = await plant(node, "zanzibar")
        await plant(node, "kept")
        await plant(node, "anaquux", key)
        await plant(node, "benquux", other)
        assert (await command(home / "one", "ingest", str(papers))).returncode == 0
        await backup(home / "one", home / "bak", *keys)
        assert (await sent(node, "DELETE", f"/v1/documents/{gone.id}"))[0] == 200
        done = await command(home / "one", "ingest", "--remove", f"{papers}/zanzibar.md")
        assert done.returncode == 0, done.stderr
        done = await command(home / "one", "cache", "erase", "--tenant", "ana", "--json")
        places = {one["place"]: one["state"] for one in json.loads(done.stdout)["places"]}
        assert places[f"backups in {home / 'bak'}"] == "later"
        assert await paths(node) == ["kept-pathquux.md", "kept.md"]
    assert CANARY.encode() in await unpacked(home, "before"), "the test can see what it looks for"
    left = holds(home / "one" / "data", "zanzibar")
    assert left == []
    done = await restore(home / "two", home / "bak", *keys[:2])
    assert done.returncode == 0, done.stderr
    assert holds(home / "two" / "data", CANARY) == []
    settings: dict[str, Any] = {"documents": {"folders": [str(papers)]}}
    async with start(home / "two", **settings) as node:
        for _ in range(2):
            assert (await command(home / "two", "ingest", str(papers))).returncode == 0
            assert await paths(node) == ["kept-pathquux.md", "kept.md"], "though its file lies there"
        assert "zanzibar-pathquux.md" not in await found(node, "zanzibarroomquux")
        assert (await found(node, "keptroomquux"))[0] == "kept-pathquux.md"
        key, other = await key_for(node, "ana"), await key_for(node, "ben")
        assert await paths(node, key) == []
        assert await paths(node, other) == ["benquux-pathquux.md"], "sealed, and its key is there"
        assert (await found(node, "benquuxroomquux", other))[0] == "benquux-pathquux.md"
        await plant(node, "anaquux", key)


async def test_the_next_backup_takes_it_out_of_the_older_ones(tmp_path: Path) -> None:
    home = tmp_path
    async with start(home / "one") as node:
        gone = await plant(node, "zanzibar")
        await plant(node, "kept")
        await backup(home / "one", home / "bak")
        assert CANARY.encode() in await unpacked(home, "before")
        assert (await sent(node, "DELETE", f"/v1/documents/{gone.id}"))[0] == 200
        again = await plant(node, "zanzibar")
        assert again.id != gone.id
        await backup(home / "one", home / "bak")
        done = await restore(home / "two", home / "bak", "--at", "x")
        assert done.returncode != 0
    assert CANARY.encode() in await unpacked(home, "after"), "what was taken in again is another document"
    from node.store.backup.folder import BackupFolder

    folder = BackupFolder.at(home / "bak")
    first = folder.read(folder.names()[0]).file("data/documents.sqlite")
    assert first is not None
    folder.take(first, home / "first")
    assert CANARY.encode() not in (home / "first").read_bytes()
    assert b"keptstoryquux" in (home / "first").read_bytes()
