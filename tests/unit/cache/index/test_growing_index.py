"""What is particular to the growing index: searching and changing beside the worker, and the guard."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from node.cache.index import growing_index
from node.cache.index.growing_index import GrowingIndex
from node.cache.index.hnsw_index import Graph
from node.core.errors import Unavailable
from node.core.ports import Neighbour, Vector
from tests.unit.cache.index.test_flat_index import DIM, cids_of, units_of


def _work(index: GrowingIndex) -> None:
    while index.work():
        pass


def _nearest(index: GrowingIndex, vector: Vector) -> Neighbour:
    return index.search(vector, scopes=["shared"], context=None, k=1)[0]


def test_no_exact_match_is_missed_while_a_thread_builds_and_switches() -> None:
    """Beside the worker rows come, go and come back; each search asks for a vector that is there."""
    index, cids, units = GrowingIndex(DIM, above=300), cids_of(1_200), units_of(1_200)
    index.extend(cids[:600], units[:600], scope="shared", context=None)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(_work, index)
        for number in range(600, 1_200):
            index.add(cids[number], units[number], scope="shared", context=None)
            gone = number - 600
            assert index.remove(cids[gone])
            assert _nearest(index, units[gone]).cid != cids[gone]
            if gone % 2:
                index.add(cids[gone], units[gone], scope="shared", context=None)
                assert _nearest(index, units[gone]).cid == cids[gone]
            asked = (number * 7) % (number - gone - 1) + gone + 1
            assert _nearest(index, units[asked]).cid == cids[asked]
        working.result(timeout=100)
    _work(index)
    assert list(index.graphs) == [("shared", None)]
    assert len(index) == 900
    for number in range(600, 1_200):
        assert _nearest(index, units[number]).cid == cids[number]


def test_numpy_rows_are_given_back_after_the_switch() -> None:
    index = GrowingIndex(DIM, above=300)
    index.extend(cids_of(1_000), units_of(1_000), scope="shared", context=None)
    before = index.flat_bytes
    _work(index)
    assert before >= 1_000 * DIM * 4
    assert index.flat_bytes == 0
    assert len(index) == 1_000
    assert index.is_quick


def test_too_little_recall_stays_exact_says_so_and_is_tried_when_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(growing_index, "RECALL_MIN", 1.1)
    index, cids, units = GrowingIndex(DIM, above=100), cids_of(300), units_of(300)
    index.extend(cids[:120], units[:120], scope="shared", context=None)
    _work(index)
    assert not index.graphs
    assert "compared one by one" in index.trouble
    monkeypatch.setattr(growing_index, "RECALL_MIN", 0.98)
    index.extend(cids[120:200], units[120:200], scope="shared", context=None)
    _work(index)
    assert not index.graphs, "not before it has doubled"
    index.extend(cids[200:], units[200:], scope="shared", context=None)
    _work(index)
    assert list(index.graphs) == [("shared", None)]
    assert index.trouble == ""


def test_a_graph_that_cannot_grow_leaves_the_exact_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise Unavailable("out of memory")

    monkeypatch.setattr(Graph, "add", full)
    index, cids, units = GrowingIndex(DIM, above=100), cids_of(150), units_of(150)
    index.extend(cids, units, scope="shared", context=None)
    _work(index)
    assert "out of memory" in index.trouble
    assert _nearest(index, units[7]).cid == cids[7]


def test_many_equal_vectors_do_not_hide_the_others() -> None:
    units = units_of(1_000)
    index, same = GrowingIndex(DIM, above=100), cids_of(2_000, "same")
    index.extend(same, np.repeat(units[:1], 2_000, axis=0), scope="shared", context=None)
    cids = cids_of(999)
    index.extend(cids, units[1:], scope="shared", context=None)
    _work(index)
    assert index.graphs, index.trouble
    for cid, vector in zip(cids, units[1:], strict=True):
        assert _nearest(index, vector).cid == cid
    assert _nearest(index, units[0]).cid == min(same)
