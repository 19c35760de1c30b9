"""The label file: kept over restarts, bounded, without texts."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from node.core.errors import CorruptState, Rejected, Unavailable
from node.store.hit_label import Hit, Label
from node.store.hit_labels import LabelStore
from tests.unit.store.conftest import Opened

NOW = datetime(2026, 11, 22, 9, 30, 0, 123_000, tzinfo=UTC)
HIT = Hit("bafyone", "generative", "semantic", 0.93, 0.8, 0.012, "ab" * 32, ("bafytwo", "bafythree"))
SLOT = Hit("bafytwo", "historical", "slot", None, 0.9, None, "cd" * 32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.sqlite"


async def test_labels_come_back_as_they_were_after_a_restart(path: Path, opened: Opened[LabelStore]) -> None:
    labels = [
        Label(HIT, "audit", "right", NOW),
        Label(SLOT, "feedback", "wrong", NOW + timedelta(seconds=1)),
        Label(HIT, "shadow", "undecided", NOW + timedelta(seconds=2)),
    ]
    store = await LabelStore.open(path)
    assert await store.newest() == []
    for label in labels:
        await store.add(label)
    await store.remember("request-1", HIT)
    await store.close()
    with pytest.raises(Unavailable):
        await store.newest()
    store = await opened(LabelStore.open(path))
    assert await store.newest() == labels
    assert await store.newest(2) == labels[1:]
    assert await store.newest(0) == []
    assert await store.served("request-1") == HIT
    assert await store.served("request-2") is None


async def test_the_oldest_make_room(path: Path, opened: Opened[LabelStore]) -> None:
    store = await opened(LabelStore.open(path, labels_max=3, requests_max=2))
    for number in range(10):
        await store.add(Label(replace(HIT, cid=f"bafy{number}"), "audit", "right", NOW))
        await store.remember(f"request-{number}", HIT)
    assert [row.hit.cid for row in await store.newest()] == ["bafy7", "bafy8", "bafy9"]
    assert await store.served("request-7") is None
    assert await store.served("request-8") == HIT
    await store.remember("request-8", SLOT)
    assert await store.served("request-8") == SLOT


@pytest.mark.parametrize(
    "hit",
    [
        replace(HIT, cid="b" * 300),
        replace(HIT, near=("x" * 300,)),
        replace(HIT, near=("two words",)),
        replace(HIT, near=tuple(f"n{number}" for number in range(17))),
        replace(HIT, query_hash="\ud800"),
    ],
)
async def test_what_no_label_can_be_is_refused(path: Path, opened: Opened[LabelStore], hit: Hit) -> None:
    store = await opened(LabelStore.open(path))
    for entering in (store.add(Label(hit, "audit", "right", NOW)), store.remember("request", hit)):
        with pytest.raises(Rejected):
            await entering
    assert await store.newest() == []


async def test_a_foreign_file_is_named_and_left_alone(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(CorruptState, match="move it away"):
        await LabelStore.open(path)


async def test_what_is_erased_leaves_its_labels_without_a_hash(
    path: Path, opened: Opened[LabelStore]
) -> None:
    store = await opened(LabelStore.open(path))
    for hit in (HIT, SLOT):
        await store.add(Label(hit, "audit", "right", NOW))
        await store.remember(f"request of {hit.cid}", hit)
    await store.forget([HIT.cid, "bafyabsent"])
    await store.scrub()
    assert [row.hit for row in await store.newest()] == [replace(HIT, query_hash=""), SLOT]
    assert await store.served(f"request of {HIT.cid}") is None
    assert await store.served(f"request of {SLOT.cid}") == SLOT
    files = b"".join(each.read_bytes() for each in (path, path.with_name("labels.sqlite-wal")))
    assert HIT.query_hash.encode() not in files
    assert SLOT.query_hash.encode() in files
