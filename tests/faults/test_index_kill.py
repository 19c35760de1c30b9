"""A growing index killed at every step of building and saving, and its files damaged: after a restart it
holds the live records, each of which is found by its own vector."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from node.cache.index import hnsw_file
from node.cache.index.vectors import IndexKeeper
from node.core.record import AnswerRecord
from node.store.sqlite import SqliteStore
from tests.faults.index_child import ABOVE, FIRST, MODEL, US

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
FIRST_MOMENTS = [
    "building",
    "measured",
    "taken over",
    "vectors saved",
    "graph written",
    "graph synced",
    "graph replaced",
]
SECOND_MOMENTS = ["merging", "merged", "vectors saved", "graph written", "graph synced", "graph replaced"]


def run_child(folder: Path, moment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.index_child", str(folder), moment],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


async def check_restart(folder: Path) -> int:
    """Open as a node does, before and after the work is done; how many graphs came from files."""
    store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=US.did)
    try:
        keeper = await IndexKeeper.open(folder / "index", MODEL.info, store.records, hnsw_above=ABOVE)
        assert keeper.total == 0
        opened = len(keeper.index.graphs)
        await check(keeper, store)
        while keeper.index.work():
            pass
        await check(keeper, store)
        assert keeper.index.graphs, "it is large enough for HNSW"
        assert keeper.index.trouble == ""
        await keeper.save()
        assert not list((folder / "index").glob("*.tmp"))
        again = await IndexKeeper.open(folder / "index", MODEL.info, store.records, hnsw_above=ABOVE)
        assert len(again.index.graphs) == 1
        await check(again, store)
    finally:
        await store.close()
    return opened


async def check(keeper: IndexKeeper, store: SqliteStore) -> None:
    live = {}
    sequence = 0
    while page := await store.records.since(sequence, limit=500):
        for stored in page:
            assert isinstance(stored.record, AnswerRecord)
            live[stored.cid] = stored.record.query
            sequence = stored.sequence
    found = {
        cid: row for part in keeper.index.rows() for cid, row in zip(part.cids, part.vectors, strict=True)
    }
    assert found.keys() == live.keys()
    assert len(keeper.index) == len(live) >= FIRST * 9 // 10
    for cid, query in live.items():
        vector = MODEL.vector_of(query)
        assert np.abs(found[cid] - vector).max() < 1e-3
        (nearest,) = keeper.index.search(vector, scopes=["shared"], context=None, k=1)
        assert nearest.cid == cid
        assert nearest.similarity == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("moment", [*FIRST_MOMENTS, *(f"second: {one}" for one in SECOND_MOMENTS), "the end"])
async def test_killed_at_a_step(tmp_path: Path, moment: str) -> None:
    run_child(tmp_path, moment)
    await check_restart(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of a node that saved, went on a little and was killed."""
    folder = tmp_path_factory.mktemp("finished")
    run_child(folder, "the end")
    return folder


def copy(finished: Path, folder: Path) -> Path:
    """A copy; its graph's file."""
    (folder / "index").mkdir()
    for path in finished.rglob("*"):
        if path.is_file():
            (folder / path.relative_to(finished)).write_bytes(path.read_bytes())
    (graph,) = (folder / "index").glob(f"*{hnsw_file.SUFFIX}")
    return graph


async def test_a_restart_loads_the_graph(finished: Path, tmp_path: Path) -> None:
    graph = copy(finished, tmp_path)
    before = graph.read_bytes()
    assert await check_restart(tmp_path) == 1
    assert graph.read_bytes() == before, "next to nothing was new, so it is not written again"


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "tail", "other name", "a folder"])
async def test_a_damaged_graph_is_built_again_with_a_warning(
    finished: Path, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    graph = copy(finished, tmp_path)
    whole = bytearray(graph.read_bytes())
    match damage:
        case "flipped":
            whole[len(whole) // 3] ^= 4
            graph.write_bytes(whole)
        case "cut":
            graph.write_bytes(whole[: len(whole) // 2])
        case "empty":
            graph.write_bytes(b"")
        case "tail":
            graph.write_bytes(whole + b"\0")
        case "other name":
            graph.rename(graph.with_name(graph.name.replace("-", "-0", 1)))
        case "a folder":
            graph.unlink()
            graph.mkdir()
            (graph / "x").write_bytes(b"")
    with caplog.at_level(logging.WARNING, "neuroswarm.index"):
        if damage == "a folder":
            store = await SqliteStore.open(tmp_path / "blocks.sqlite", own_issuer=US.did)
            keeper = await IndexKeeper.open(tmp_path / "index", MODEL.info, store.records, hnsw_above=ABOVE)
            await check(keeper, store)
            await store.close()
        else:
            assert await check_restart(tmp_path) == 0
    assert "is built again from the vectors" in caplog.text


async def test_a_graph_of_older_vectors_is_not_believed(finished: Path, tmp_path: Path) -> None:
    """The vectors' file is gone: everything comes from the records, and the graph alone is worth nothing."""
    copy(finished, tmp_path)
    for path in (tmp_path / "index").glob("*.nswindex"):
        path.unlink()
    assert await check_restart(tmp_path) == 0
