"""A damaged store of documents is put aside, and a new one begun with what is whole in it."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from node.app.data_files import renewed
from node.core.clock import SystemClock
from node.knowledge.schema import PAGE_BYTES
from node.knowledge.store import DocumentStore
from tests.documents_kit import World


async def test_a_damaged_store_is_put_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "documents.sqlite"
    await (await DocumentStore.open(path)).close()
    data = bytearray(path.read_bytes())
    data[20_000:60_000] = b"\xff" * 40_000
    path.write_bytes(data)
    store, is_renewed = await renewed(path, SystemClock(), lambda: DocumentStore.open(path))
    assert is_renewed
    assert (await store.counts())["documents"] == 0
    [kept] = (tmp_path / "damaged").iterdir()
    assert kept.read_bytes() == bytes(data)
    await store.close()


ANA = "private:ana"


async def mended(world: World) -> None:
    """As a node starts after its file was damaged: what is whole comes over, the rest is read again."""
    path = world.base / "documents.sqlite"
    store, _ = await renewed(path, SystemClock(), lambda: DocumentStore.open(path))
    await store.close()
    await world.open()
    await world.ingestor.reread()
    await world.vectors.catch_up()
    await world.vectors.idle()


async def filled(world: World) -> dict[str, bytes]:
    texts = {
        f"{number}.md": b"# Paper %d\n\nThe number of this one is %d.\n\n" % (number, number)
        + b"It goes on. " * 9_000
        for number in range(12)
    }
    for number, (name, data) in enumerate(texts.items()):
        scope = (ANA, "shared", "public")[number % 3]
        await world.ingestor.upload(name, data, scope, datetime(2026, 1, 1, tzinfo=UTC))
    await world.vectors.idle()
    await world.store.scrub()
    await world.close()
    return texts


def statuses(world: World) -> dict[str, str]:
    return world.status("shared", "public", ANA)


@pytest.mark.slow
async def test_documents_come_back_from_their_own_bytes(tmp_path: Path) -> None:
    """Every table that is made from others is ruined; nothing but the bytes is left."""
    world = await World(tmp_path).open()
    texts = await filled(world)
    path = tmp_path / "documents.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        look = "SELECT rootpage FROM sqlite_master WHERE name IN ('chunk', 'vector', 'keyword_data')"
        roots = [row[0] for row in connection.execute(look)]
    data = bytearray(path.read_bytes())
    for root in roots:
        data[(root - 1) * PAGE_BYTES : (root - 1) * PAGE_BYTES + 64] = b"\xee" * 64
    path.write_bytes(data)
    await mended(world)
    assert statuses(world) == dict.fromkeys(texts, "current")
    for name in texts:
        said = world.said(f"number {name[:-3]}", "shared", "public", ANA)
        assert any(f"is {name[:-3]}." in one for one in said), name
    assert len(world.near("paper", "shared", "public", ANA)) > 0
    await world.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_whatever_is_damaged_nothing_else_than_was_sent_is_served(tmp_path: Path, seed: int) -> None:
    """Runs of pages are ruined, anywhere: each document is as it was, or missing, or gone."""
    world = await World(tmp_path).open()
    texts = await filled(world)
    path, rng = tmp_path / "documents.sqlite", random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(3):
        at = rng.randrange(PAGE_BYTES, len(data))
        end = min(len(data), at + rng.choice((1, 64, 3 * PAGE_BYTES)))
        data[at:end] = rng.randbytes(end - at)
    path.write_bytes(data)
    await mended(world)
    world.said("paper", "shared")  # which is when a damaged index of keywords is met
    await world.ingestor.reread()
    found = statuses(world)
    assert set(found) <= set(texts)
    assert len(world.said("paper", "shared")) > 0 or "current" not in world.status().values()
    assert set(found.values()) <= {"current", "missing"}
    for scope in (ANA, "shared", "public"):
        for paper in world.corpus.documents([scope]):
            chunks = world.corpus.neighbours(paper.id, 0, 10_000)
            assert all(chunk.text.encode() in texts[paper.path] for chunk in chunks)
            assert paper.title == f"Paper {paper.path[:-3]}" or paper.status == "missing"
    await world.close()
