"""The contract of ``node.core.ports.VectorIndex``.

An index joins by a line in ``INDEXES``: how to make one of a dimension, and how far its similarities
may be from the exact cosine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from node.cache.index.flat_index import FlatIndex
from node.cache.index.growing_index import GrowingIndex
from node.core.errors import Rejected
from node.core.ipld.cid import RAW, Cid
from node.core.ports import Vector, VectorIndex

DIM = 48
CONTEXT = hashlib.sha256(b"a system message").hexdigest()


@dataclass(frozen=True, slots=True)
class Kind:
    make: Callable[[int], VectorIndex]
    tolerance: float


def settled(index: GrowingIndex) -> None:
    """Have the worker do all there is to do."""
    while index.work():
        pass


class EagerIndex(GrowingIndex):
    """Everything in HNSW graphs at once: after each change the worker runs to its end."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim, above=1, tail_rows=1)

    def add(self, cid: Cid, vector: Vector, *, scope: str, context: str | None) -> None:
        super().add(cid, vector, scope=scope, context=context)
        settled(self)

    def remove(self, cid: Cid) -> bool:
        was_there = super().remove(cid)
        settled(self)
        return was_there


class BusyIndex(GrowingIndex):
    """A worker that does one step after each change, so that tests look at it half done."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim, above=8, tail_rows=4)

    def add(self, cid: Cid, vector: Vector, *, scope: str, context: str | None) -> None:
        super().add(cid, vector, scope=scope, context=context)
        self.work()

    def remove(self, cid: Cid) -> bool:
        was_there = super().remove(cid)
        self.work()
        return was_there


INDEXES = {
    "flat": Kind(FlatIndex, 1e-6),
    "growing, small": Kind(GrowingIndex, 1e-6),
    "growing, at work": Kind(BusyIndex, 1e-4),
    "hnsw": Kind(EagerIndex, 1e-4),
}


@pytest.fixture(params=sorted(INDEXES))
def kind(request: pytest.FixtureRequest) -> Kind:
    return INDEXES[request.param]


@pytest.fixture
def index(kind: Kind) -> VectorIndex:
    return kind.make(DIM)


def cid(name: object) -> Cid:
    return Cid.of(str(name).encode())


def vectors(count: int, *, seed: int = 1) -> list[Vector]:
    raw = np.random.default_rng(seed).standard_normal((count, DIM))
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    return list(unit.astype(np.float32))


def fill(index: VectorIndex, stored: list[Vector]) -> None:
    """Each by its number, shared."""
    for number, vector in enumerate(stored):
        index.add(cid(number), vector, scope="shared", context=None)


def at_cosine(base: Vector, cosine: float) -> Vector:
    """A unit vector whose cosine with ``base`` is ``cosine``."""
    other = vectors(1, seed=99)[0].astype(np.float64)
    wide = base.astype(np.float64)
    other -= wide * (other @ wide)
    other /= np.linalg.norm(other)
    made: Vector = (cosine * wide + (1 - cosine**2) ** 0.5 * other).astype(np.float32)
    return made


def test_an_empty_index_has_no_neighbours(index: VectorIndex) -> None:
    assert len(index) == 0
    assert index.search(vectors(1)[0], scopes=["shared"], context=None, k=8) == []


def test_similarity_is_the_cosine_and_best_comes_first(index: VectorIndex, kind: Kind) -> None:
    stored = vectors(300)
    fill(index, stored)
    for query in vectors(20, seed=2):
        cosines = np.vstack(stored).astype(np.float64) @ query.astype(np.float64)
        expected = np.argsort(-cosines)[:10]
        found = index.search(query, scopes=["shared"], context=None, k=10)
        assert [neighbour.cid for neighbour in found] == [cid(number) for number in expected]
        assert [neighbour.similarity for neighbour in found] == pytest.approx(
            cosines[expected].tolist(), abs=kind.tolerance
        )


def test_a_vector_is_its_own_nearest(index: VectorIndex, kind: Kind) -> None:
    stored = vectors(100)
    fill(index, stored)
    for number, vector in enumerate(stored):
        (nearest,) = index.search(vector, scopes=["shared"], context=None, k=1)
        assert nearest.cid == cid(number)
        assert nearest.similarity == pytest.approx(1, abs=kind.tolerance)
        assert -1 <= nearest.similarity <= 1


@pytest.mark.parametrize("cosine", [0.69, 0.70, 0.71, 0.89, 0.90, 0.91, 0.0, -0.5, -1.0])
def test_a_floor_means_what_it_says(index: VectorIndex, kind: Kind, cosine: float) -> None:
    for number, query in enumerate(vectors(10, seed=3)):
        index.add(cid(number), at_cosine(query, cosine), scope=f"private:{number}", context=None)
        (found,) = index.search(query, scopes=[f"private:{number}"], context=None, k=1)
        assert found.similarity == pytest.approx(cosine, abs=kind.tolerance)
        if kind.tolerance <= 1e-6:
            assert found.similarity == cosine


def test_partitions_are_hard(index: VectorIndex) -> None:
    (vector,) = vectors(1)
    places: list[tuple[str, str | None]] = [
        (scope, None) for scope in ("public", "shared", "private:a", "private:b")
    ]
    places += [("shared", CONTEXT), ("private:a", CONTEXT)]
    for place in places:
        index.add(cid(place), vector, scope=place[0], context=place[1])

    def seen(scopes: list[str], context: str | None) -> set[Cid]:
        return {found.cid for found in index.search(vector, scopes=scopes, context=context, k=50)}

    scopes = ["public", "shared", "private:a"]
    assert seen(scopes, None) == {cid((scope, None)) for scope in scopes}
    assert seen(["shared"], CONTEXT) == {cid(("shared", CONTEXT))}
    assert seen(["private:b"], CONTEXT) == set()
    assert seen(["private"], None) == set()
    assert seen([], None) == set()
    assert seen(["shared"], "") == set()


def test_asked_partitions_are_merged_best_first(index: VectorIndex) -> None:
    (query,) = vectors(1)
    for number, cosine in enumerate((0.5, 0.9, 0.7, 0.8, 0.6)):
        scope = ("public", "shared")[number % 2]
        index.add(cid(cosine), at_cosine(query, cosine), scope=scope, context=None)
    found = index.search(query, scopes=["shared", "public", "shared"], context=None, k=4)
    assert [neighbour.cid for neighbour in found] == [cid(0.9), cid(0.8), cid(0.7), cid(0.6)]


def test_ties_go_by_cid(index: VectorIndex) -> None:
    (vector,) = vectors(1)
    names = [cid(number) for number in range(40)]
    for name in names:
        index.add(name, vector, scope="shared", context=None)
    for k in (1, 7, 40, 50):
        found = index.search(vector, scopes=["shared"], context=None, k=k)
        assert [neighbour.cid for neighbour in found] == sorted(names)[:k]


def test_ties_do_not_depend_on_partition_or_codec(index: VectorIndex) -> None:
    (vector,) = vectors(1)
    names = [Cid.of(b"one"), Cid.of(b"two"), Cid.of(b"one", RAW), Cid.of(b"two", RAW)]
    for number, name in enumerate(names):
        index.add(name, vector, scope=("public", "shared")[number % 2], context=None)
    found = index.search(vector, scopes=["public", "shared"], context=None, k=3)
    assert [neighbour.cid for neighbour in found] == sorted(names)[:3]


@pytest.mark.parametrize("k", [0, -1])
def test_no_neighbours_asked_none_given(index: VectorIndex, k: int) -> None:
    (vector,) = vectors(1)
    index.add(cid("x"), vector, scope="shared", context=None)
    assert index.search(vector, scopes=["shared"], context=None, k=k) == []


def test_add_is_idempotent_and_the_last_wins(index: VectorIndex) -> None:
    one, two = vectors(2)
    for _ in range(3):
        index.add(cid("x"), one, scope="shared", context=None)
    assert len(index) == 1
    index.add(cid("x"), two, scope="public", context=CONTEXT)
    assert len(index) == 1
    assert index.search(one, scopes=["shared"], context=None, k=5) == []
    (found,) = index.search(two, scopes=["public"], context=CONTEXT, k=5)
    assert found.cid == cid("x")
    assert found.similarity > 0.99


def test_remove(index: VectorIndex) -> None:
    stored = vectors(30)
    fill(index, stored)
    for number in (29, 0, 14, 13, 28):
        assert index.remove(cid(number))
        assert not index.remove(cid(number))
    assert len(index) == 25
    left = {found.cid for found in index.search(stored[0], scopes=["shared"], context=None, k=100)}
    assert left == {cid(number) for number in range(30)} - {cid(number) for number in (29, 0, 14, 13, 28)}
    index.add(cid(14), stored[14], scope="shared", context=None)
    assert index.search(stored[14], scopes=["shared"], context=None, k=1)[0].cid == cid(14)


def test_the_index_keeps_its_own_copy(index: VectorIndex) -> None:
    vector = vectors(1)[0].copy()
    original = vector.copy()
    index.add(cid("x"), vector, scope="shared", context=None)
    vector[:] = 0
    (found,) = index.search(original, scopes=["shared"], context=None, k=1)
    assert found.similarity > 0.99


GOOD = vectors(1)[0]


def bent(number: float) -> Vector:
    """With this in the place of one component."""
    return np.concatenate([GOOD[:3], np.array([number], np.float32), GOOD[4:]])


BAD: dict[str, Vector] = {
    "short": GOOD[:-1],
    "long": np.append(GOOD, np.float32(0)),
    "matrix": GOOD.reshape(2, -1),
    "rows": np.vstack([GOOD, GOOD]),
    "scalar": np.array(1, np.float32),
    "zero": np.zeros(DIM, np.float32),
    "too long": GOOD * np.float32(1.002),
    "too short": GOOD * np.float32(0.998),
    "huge": GOOD * np.float32(1e30),
    "empty": np.empty(0, np.float32),
    "nan": bent(np.nan),
    "infinite": bent(np.inf),
}


@pytest.mark.parametrize("name", BAD)
def test_an_unusable_vector_is_rejected_and_changes_nothing(index: VectorIndex, name: str) -> None:
    (good,) = vectors(1)
    index.add(cid("good"), good, scope="shared", context=None)
    for target in ("good", "bad"):
        with pytest.raises(Rejected):
            index.add(cid(target), BAD[name], scope="shared", context=None)
    with pytest.raises(Rejected):
        index.search(BAD[name], scopes=["shared"], context=None, k=1)
    assert len(index) == 1
    assert index.search(good, scopes=["shared"], context=None, k=1)[0].cid == cid("good")


def test_a_length_within_tolerance_is_taken_and_alters_no_cosine(index: VectorIndex, kind: Kind) -> None:
    query, *others = vectors(3)
    for number, scale in enumerate((0.9995, 1.0005)):
        index.add(cid(number), others[number] * np.float32(scale), scope="shared", context=None)
    found = {
        neighbour.cid: neighbour.similarity
        for neighbour in index.search(query * np.float32(1.0005), scopes=["shared"], context=None, k=2)
    }
    for number, other in enumerate(others):
        assert found[cid(number)] == pytest.approx(float(other @ query), abs=kind.tolerance)
