"""``kill -9`` while the cache stores, withdraws and saves its index: it equals the records then."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from node.cache.index.vectors import IndexKeeper
from node.core.ipld.cid import Cid
from node.core.normalise import query_hash
from node.core.ports import StoredRecord
from node.store.sqlite import SqliteStore
from tests.faults.cache_child import EMBEDDER, US, question, reworded
from tests.faults.node_kit import ROOT
from tests.record_builders import SCOPES

KILLS = 24


def work_and_kill(folder: Path, run: str, lines_max: int) -> list[tuple[str, Cid, int]]:
    """Let the child work until it has acknowledged ``lines_max`` things, then SIGKILL it. All that it
    acknowledged, what it printed while being killed included."""
    command = [sys.executable, "-m", "tests.faults.cache_child", str(folder), run]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(lines_max)]
        process.kill()
        lines += process.stdout.readlines()
    words = [line.split() for line in lines if line.endswith("\n")]
    assert len(words) >= lines_max, "the child ended by itself"
    return [(what, Cid.parse(cid), int(number)) for what, cid, number in words]


@pytest.mark.timeout(180)
async def test_killed_at_any_point_the_index_equals_the_records(tmp_path: Path) -> None:
    """The child stores, withdraws and saves its index all the time; so each kill meets another step."""
    (tmp_path / "index").mkdir()
    chance = random.Random(6)
    added: dict[Cid, str] = {}
    withdrawn: set[Cid] = set()
    from_file = 0
    for kill in range(KILLS):
        run = f"r{kill}"
        done = await asyncio.to_thread(work_and_kill, tmp_path, run, chance.randint(1, 60))
        for what, cid, number in done:
            if what == "added":
                added[cid] = question(run, number)
            else:
                withdrawn.add(cid)
        store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
        keeper = await IndexKeeper.open(tmp_path / "index", EMBEDDER.info, store.records)
        live: dict[Cid, StoredRecord] = {}
        watermark = 0
        while page := await store.records.since(watermark, limit=500):
            live |= {one.cid: one for one in page}
            watermark = page[-1].sequence
        assert len(keeper.index) == len(live)
        assert all(cid in keeper.index for cid in live)
        assert not withdrawn & set(live)
        assert not [cid for cid in withdrawn if cid in keeper.index]
        undone = set(added) - withdrawn - set(live)
        assert all(number_of(added[cid]) % 3 == 0 for cid in undone), "acknowledged and lost"
        newest = [cid for what, cid, _ in done if what == "added"]
        for cid in newest if kill < KILLS - 1 else added:
            await check_found(store, keeper, cid, added[cid], is_live=cid in live)
        from_file += any((tmp_path / "index").iterdir())
        await store.close()
    assert from_file == KILLS, "the index was saved before each kill but perhaps the first"


def number_of(query: str) -> int:
    return int(query.split()[-1].partition("x")[2])


async def check_found(
    store: SqliteStore, keeper: IndexKeeper, cid: Cid, query: str, *, is_live: bool
) -> None:
    """A live record is found by its words and by near words; another by neither."""
    exact = await store.records.find("query_hash", query_hash(query), scopes=SCOPES, context=None)
    assert (cid in [one.cid for one in exact]) is is_live
    for text in (query, reworded(query)):
        vector = EMBEDDER.vector_of(text)
        near = keeper.index.search(vector, scopes=SCOPES, context=None, k=8)
        assert (cid in [one.cid for one in near]) is is_live, text
