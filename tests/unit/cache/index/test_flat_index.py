"""What is particular to the flat index: memory, bulk loading, searching beside changes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from node.cache.index.flat_index import FlatIndex
from node.core.errors import Rejected
from node.core.ipld.cid import Cid

DIM = 16


def cids_of(count: int, name: str = "row") -> list[Cid]:
    return [Cid.of(f"{name} {number}".encode()) for number in range(count)]


def units_of(count: int, seed: int = 5) -> NDArray[np.float32]:
    raw = np.random.default_rng(seed).standard_normal((count, DIM))
    unit: NDArray[np.float32] = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    return unit


def test_memory_doubles_halves_and_is_given_back() -> None:
    index = FlatIndex(DIM)
    cids = cids_of(1_000)
    for cid, vector in zip(cids, units_of(1_000), strict=True):
        index.add(cid, vector, scope="shared", context=None)
        assert index.allocated_bytes < 2 * len(index) * DIM * 4 + 1
    for cid in cids[:-1]:
        index.remove(cid)
        assert index.allocated_bytes <= 4 * max(1, len(index)) * DIM * 4
    index.remove(cids[-1])
    assert (len(index), len(index.sizes()), index.allocated_bytes) == (0, 0, 0)


def test_many_small_partitions_cost_one_row_each() -> None:
    index = FlatIndex(DIM)
    for number, (cid, vector) in enumerate(zip(cids_of(500), units_of(500), strict=True)):
        index.add(cid, vector, scope="shared", context=str(number))
    assert len(index.sizes()) == 500
    assert index.allocated_bytes == 500 * DIM * 4


def test_the_row_limit_holds() -> None:
    index = FlatIndex(DIM, rows_max=3)
    cids, units = cids_of(4), units_of(4)
    index.extend(cids[:3], units[:3], scope="shared", context=None)
    with pytest.raises(Rejected, match="full"):
        index.add(cids[3], units[3], scope="shared", context=None)
    index.add(cids[0], units[3], scope="public", context=None)  # replacing needs no room
    index.remove(cids[1])
    index.add(cids[3], units[3], scope="shared", context=None)
    assert len(index) == 3


def test_extend_equals_adding_one_by_one() -> None:
    cids, units = cids_of(200), units_of(200)
    one, many = FlatIndex(DIM), FlatIndex(DIM)
    for cid, vector in zip(cids, units, strict=True):
        one.add(cid, vector, scope="shared", context=None)
    many.extend(cids, units, scope="shared", context=None)
    for query in units_of(10, seed=6):
        assert one.search(query, scopes=["shared"], context=None, k=20) == many.search(
            query, scopes=["shared"], context=None, k=20
        )


def test_extend_takes_all_or_nothing() -> None:
    cids, units = cids_of(5), units_of(5)
    index = FlatIndex(DIM, rows_max=5)
    index.add(cids[4], units[4], scope="shared", context=None)
    bent = units.copy()
    bent[2] *= 2
    for bad_cids, bad_units in (
        (cids, units),  # one is there already
        ([cids[0], cids[0]], units[:2]),
        (cids[:3], bent[:3]),
        (cids[:2], units[:3]),
        (cids_of(5, "more"), units),  # too many
    ):
        with pytest.raises(Rejected):
            index.extend(bad_cids, bad_units, scope="shared", context=None)
        assert len(index) == 1


def test_many_equal_vectors_still_tie_by_cid() -> None:
    cids = cids_of(9_000)
    vector = units_of(1)[0]
    index = FlatIndex(DIM)
    index.extend(cids, np.tile(vector, (9_000, 1)), scope="shared", context=None)
    found = index.search(vector, scopes=["shared"], context=None, k=8)
    assert [neighbour.cid for neighbour in found] == sorted(cids)[:8]
    assert {neighbour.similarity for neighbour in found} == {1.0}


def test_near_ties_are_told_apart_in_millionths_and_no_finer() -> None:
    """Cosines a tenth of a millionth apart: a float32 product alone would rank and cut them otherwise."""
    query, other = np.linalg.qr(units_of(2, seed=9).astype(np.float64).T)[0].T
    cosines = 0.8 + np.arange(300) * 1e-7
    rows = (np.outer(cosines, query) + np.outer(np.sqrt(1 - cosines**2), other)).astype(np.float32)
    cids = cids_of(300)
    index = FlatIndex(DIM)
    index.extend(cids, rows, scope="shared", context=None)
    asked = query.astype(np.float32)
    wide, wide_rows = asked.astype(np.float64), rows.astype(np.float64)
    exact = wide_rows @ wide / np.linalg.norm(wide_rows, axis=1) / np.linalg.norm(wide)
    expected = sorted((-round(float(cosine), 6), cid) for cosine, cid in zip(exact, cids, strict=True))
    for k in (1, 3, 8, 25):
        found = index.search(asked, scopes=["shared"], context=None, k=k)
        assert [(-neighbour.similarity, neighbour.cid) for neighbour in found] == expected[:k]


def test_a_dimension_below_one_cannot_be() -> None:
    with pytest.raises(Rejected):
        FlatIndex(0)


def test_rows_gives_back_every_row_bit_for_bit() -> None:
    index = FlatIndex(DIM)
    cids, units = cids_of(50), units_of(50)
    places = [("shared", None), ("public", None), ("shared", "c1")]
    for number, (cid, vector) in enumerate(zip(cids, units, strict=True)):
        scope, context = places[number % 3]
        index.add(cid, vector, scope=scope, context=context)
    seen: dict[Cid, tuple[str, str | None, bytes]] = {}
    for rows in index.rows(chunk=7):
        assert 1 <= len(rows.cids) <= 7
        for cid, vector in zip(rows.cids, rows.vectors, strict=True):
            assert cid not in seen
            seen[cid] = (rows.scope, rows.context, vector.tobytes())
    assert seen == {cid: (*places[number % 3], units[number].tobytes()) for number, cid in enumerate(cids)}


def test_rows_misses_nothing_while_others_are_removed_and_added() -> None:
    """A removal moves the last row to the front, where a reader has been already."""
    index = FlatIndex(DIM)
    cids, units = cids_of(60), units_of(60)
    index.extend(cids[:50], units[:50], scope="shared", context=None)
    walk = index.rows(chunk=10)
    seen = list(next(walk).cids)
    for number in (0, 3, 12, 20):
        index.remove(cids[number])
    index.extend(cids[50:], units[50:], scope="shared", context=None)
    for rows in walk:
        for cid, vector in zip(rows.cids, rows.vectors, strict=True):
            assert vector.tobytes() == units[cids.index(cid)].tobytes()
        seen += rows.cids
    assert set(cids[:50]) - {cids[12], cids[20]} <= set(seen)
    assert len(seen) == len(set(seen))


def test_searching_in_threads_while_rows_come_and_go() -> None:
    """A set of rows stays for the whole test; every search must find exactly what is true of them, and may
    never pair a CID with the similarity of another row."""
    index = FlatIndex(DIM)
    staying, passing = units_of(400, seed=7), units_of(400, seed=8)
    stay_cids, pass_cids = cids_of(400, "stay"), cids_of(400, "pass")
    truth = dict(zip(stay_cids + pass_cids, np.vstack([staying, passing]).astype(np.float64), strict=True))
    for number in range(400):  # interleaved, so that removals move the staying rows about
        index.add(pass_cids[number], passing[number], scope="shared", context=None)
        index.add(stay_cids[number], staying[number], scope="shared", context=None)
    is_over = threading.Event()

    def search(seed: int) -> int:
        rounds = 0
        queries = units_of(50, seed=seed)
        while not is_over.is_set() or rounds < 50:
            query = queries[rounds % 50]
            rounds += 1
            found = index.search(query, scopes=["shared"], context=None, k=10)
            assert len(found) == 10
            wide = query.astype(np.float64)
            for neighbour in found:
                assert abs(float(truth[neighbour.cid] @ wide) - neighbour.similarity) < 1e-6
            best = max(float(truth[cid] @ wide) for cid in stay_cids)
            assert found[0].similarity >= best - 1e-6
        return rounds

    with ThreadPoolExecutor(2) as pool:
        searches = [pool.submit(search, seed) for seed in (21, 22)]
        try:
            for turn in range(6):
                for number in range(turn % 2, 400, 2):
                    index.remove(pass_cids[number])
                for number in range(turn % 2, 400, 2):
                    index.add(pass_cids[number], passing[number], scope="shared", context=None)
        finally:
            is_over.set()
        assert all(search_done.result(timeout=50) >= 50 for search_done in searches)
    assert len(index) == 800
