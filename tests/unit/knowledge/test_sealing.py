"""Private documents are found as others are, lie sealed, and go with their tenant's key: also what is being
taken in at that moment, what a file of before holds, and what a lost key opened."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from node.core.errors import Rejected, Unavailable
from node.knowledge.ingest import Runs
from node.knowledge.store import DocumentStore
from tests.documents_kit import World

ANA, BEN = "private:ana", "private:ben"
CANARY = b"zanzibar"
TEXT = "# Zanzibar\n\n## Café zanzibarhead\n\nThe zanzibarquux is due on the fifth, don't forget.\n"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = await World(tmp_path).open()
    yield made
    await made.close()


async def fresh(world: World) -> World:
    """The same files opened again."""
    await world.close()
    return await world.open()


def seen(folder: Path) -> list[str]:
    """The files in which the canary can be read."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and CANARY in path.read_bytes().lower() and "papers" not in path.parts
    ]


async def upload(world: World, scope: str, name: str = "zanzibar.md", text: str = TEXT) -> Any:
    row = await world.ingestor.upload(name, text.encode(), scope, NOW)
    await world.vectors.idle()
    return row


async def test_what_is_private_is_found_by_words_and_vectors_and_lies_sealed(world: World) -> None:
    row = await upload(world, ANA)
    assert (row["path"], row["title"]) == ("zanzibar.md", "Zanzibar")
    for _ in range(2):
        for query in ("zanzibarquux", "CAFE", "café", "don't"):
            assert len(world.said(query, "public", "shared", ANA)) == 1, query
        assert world.said("garden", ANA) == []
        assert world.said("zanzibarquux", "shared", BEN) == []
        assert len(world.near("zanzibarquux", ANA)) == 1
        assert world.near("zanzibarquux", BEN) == []
        [paper] = world.corpus.documents([ANA])
        assert (paper.path, paper.sha256) == ("zanzibar.md", row["sha256"])
        assert world.corpus.documents([BEN, "shared"]) == []
        assert seen(world.base) == []
        await fresh(world)
    again = await upload(world, ANA, text=TEXT.replace("fifth", "sixth"))
    assert again["id"] == row["id"]
    assert "sixth" in world.said("zanzibarquux", ANA)[0]
    assert world.said("fifth", ANA) == []
    assert seen(world.base) == []


async def test_equal_texts_of_two_tenants_have_nothing_in_common_in_the_file(world: World) -> None:
    await upload(world, ANA)
    await upload(world, BEN)
    await upload(world, ANA, "second.md")
    counts = "SELECT (SELECT count(DISTINCT hash) FROM chunk), (SELECT count(*) FROM block)"
    assert tuple((await world.store.file.rows(counts))[0]) == (2, 2)
    [ana, ben] = await world.store.file.rows("SELECT words FROM chunk GROUP BY words")
    assert not {*ana[0].split()} & {*ben[0].split()}


async def test_an_erasure_takes_all_of_one_tenant_and_nothing_of_another(world: World) -> None:
    for scope in (ANA, BEN, "shared"):
        await upload(world, scope)
    world.gone.clear()
    [paper] = world.corpus.documents([ANA])
    assert await world.store.erase(ANA) == 1
    assert world.gone == [paper.known_as]
    await world.vectors.idle()
    assert (world.said("zanzibarquux", ANA), world.near("zanzibarquux", ANA)) == ([], [])
    assert len(world.said("zanzibarquux", BEN)) == len(world.said("zanzibarquux", "shared")) == 1
    look = "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM scope_key)"
    assert tuple((await world.store.file.rows(look))[0]) == (2, 1)
    await upload(world, ANA)
    assert len(world.said("zanzibarquux", ANA)) == 1, "a tenant may begin again"


async def test_a_copy_of_before_opens_with_nothing_after_an_erasure(world: World, tmp_path: Path) -> None:
    """Which is what a backup is."""
    await upload(world, ANA)
    await world.store.scrub()
    copy = tmp_path / "copy" / "documents.sqlite"
    copy.parent.mkdir()
    copy.write_bytes((world.base / "documents.sqlite").read_bytes())
    await world.store.erase(ANA)
    await world.close()
    (copy.parent / "keys").mkdir()
    for key in (world.base / "keys").iterdir():
        (copy.parent / "keys" / key.name).write_bytes(key.read_bytes())
    store = await DocumentStore.open(copy)
    assert (await store.counts())["documents"] == 0
    await store.close()
    await world.open()


async def test_an_upload_that_was_under_way_is_refused_after_an_erasure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go = asyncio.Event(), asyncio.Event()
    real = world.ingestor._taken

    async def slow(*args: Any) -> Any:
        begun.set()
        await may_go.wait()
        return await real(*args)

    monkeypatch.setattr(world.ingestor, "_taken", slow)
    first = asyncio.create_task(world.ingestor.upload("a.md", TEXT.encode(), ANA, NOW))
    await begun.wait()
    waiting = asyncio.create_task(world.ingestor.upload("b.md", TEXT.encode(), ANA, NOW))
    await asyncio.sleep(0)
    await world.ingestor.erase(ANA)
    may_go.set()
    for task in (first, waiting):
        with pytest.raises(Rejected, match="erased while it was taken in"):
            await task
    assert (await world.store.counts())["documents"] == 0
    assert (await world.ingestor.upload("a.md", TEXT.encode(), ANA, NOW))["path"] == "a.md"


async def test_a_run_that_was_under_way_stops_and_its_files_stay_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        world.write(f"{number}.md", TEXT)
    reached, may_go = asyncio.Event(), asyncio.Event()
    real, done = world.ingestor._taken, 0

    async def slow(*args: Any) -> Any:
        nonlocal done
        done += 1
        if done == 4:
            reached.set()
            await may_go.wait()
        return await real(*args)

    monkeypatch.setattr(world.ingestor, "_taken", slow)
    runs = Runs(world.ingestor)
    runs.begin(world.folder, ANA)
    await reached.wait()
    await runs.stop(ANA)
    assert await world.ingestor.erase(ANA) == 3
    may_go.set()
    run = await world.ingestor.folder(str(world.folder), ANA, world.steps.append)
    assert (run.new, run.left_out) == (3, 3), "what was there stays away, though its tenant's key is gone"
    await runs.close()


async def test_what_a_file_of_the_first_format_holds_is_sealed_when_it_is_opened(world: World) -> None:
    await upload(world, "shared")
    world.write("a.md", TEXT.replace("fifth", "sixth"))
    await world.ingest("shared")
    await world.close()
    path = world.base / "documents.sqlite"
    with closing(sqlite3.connect(path)) as old:
        for table, column in (
            *(("document", name) for name in ("uid", "nonce", "sealed", "digest", "is_owed")),
            *(("chunk", name) for name in ("words", "digest")),
        ):
            old.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        old.executescript(
            "DROP TABLE scope_key; DROP TABLE entry; PRAGMA user_version = 1;"
            f"UPDATE document SET scope = '{ANA}' WHERE path = 'a.md';"
        )
    for _ in range(2):
        await world.open()
        await world.vectors.catch_up()
        await world.vectors.idle()
        assert world.said("sixth", ANA) == [TEXT.split("\n\n")[2].strip().replace("fifth", "sixth")]
        assert len(world.near("sixth", ANA)) == 1
        assert world.status() == {"zanzibar.md": "current"}
        assert len(world.said("fifth")) == 1
        await world.store.scrub()
        assert b"sixth" not in path.read_bytes()
        await world.close()
    await world.open()


async def test_without_its_key_nothing_is_served_and_an_emptied_key_file_gives_it_up(world: World) -> None:
    await upload(world, ANA)
    await upload(world, "shared")
    await world.close()
    key = world.base / "keys" / "document_keys"
    kept = key.read_bytes()
    key.unlink()
    await world.open()
    assert (world.corpus.documents([ANA]), world.said("zanzibarquux", ANA)) == ([], [])
    assert len(world.said("zanzibarquux")) == 1
    assert world.store.sealer.lost == {ANA}
    with pytest.raises(Unavailable, match="document_keys"):
        await upload(world, ANA)
    await world.close()
    key.write_bytes(kept)
    await world.open()
    assert len(world.said("zanzibarquux", ANA)) == 1
    await world.close()
    key.write_bytes(b"")
    await world.open()
    assert (world.corpus.documents([ANA]), world.store.sealer.lost) == ([], frozenset())
    await upload(world, ANA)
    assert len(world.said("zanzibarquux", ANA)) == 1


@pytest.mark.parametrize("scope", [ANA, "shared"])
@pytest.mark.parametrize("what", ["text", "heading", "title", "status", "page"])
async def test_a_row_that_is_not_as_it_was_written_is_not_served(world: World, scope: str, what: str) -> None:
    await upload(world, scope)
    await upload(world, scope, "other.md", "# Other\n\nThe other one is due too.\n")
    table, where = ("document", "id = 1") if what in ("title", "status") else ("chunk", "document = 1")
    if scope == ANA and what != "status":
        column = "sealed" if table == "document" else "text"
        change = f"{column} = zeroblob(60)"
    else:
        change = "page = 7" if what == "page" else f"{what} = 'legacy'"
    await world.store.file.run(f"UPDATE {table} SET {change} WHERE {where}")
    await fresh(world)
    if scope == ANA and what == "status":
        [paper, _] = sorted(world.corpus.documents([scope]), key=lambda one: one.id)
        assert paper.status == "current", "as it was sealed"
        return
    assert world.said("zanzibarquux", scope) == []
    if table == "document":
        assert [paper.path for paper in world.corpus.documents([scope])] == ["other.md"]
        assert len(world.store.dropped) == 1
    else:
        assert world.store.unreadable == {1}
        assert await world.ingestor.reread() == 1, "from its own bytes"
        assert len(world.said("zanzibarquux", scope)) == 1
    assert len(world.said("other", scope)) == 1
