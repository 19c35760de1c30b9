"""An index is a dictionary that can be searched, under any sequence of changes, steps of work, saves and
loads."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from node.cache.index import hnsw_file
from node.cache.index.flat_index import FlatIndex
from node.cache.index.growing_index import GrowingIndex
from node.cache.index.vector_file import Damaged, Watermarks, load_into, path_for, save
from node.core.ipld.cid import Cid
from node.core.ports import Neighbour, Vector
from tests.index_files import Loaded, load

DIM = 4
DIGEST = hashlib.sha256(b"model").hexdigest()
SCOPES = ["public", "shared", "private:a", "private:b"]

names = st.integers(0, 30).map(lambda number: Cid.of(b"%d" % number))
scopes = st.sampled_from(SCOPES)
contexts = st.sampled_from([None, "c1", "c2"])


def _unit(parts: list[int]) -> Vector:
    raw = np.array(parts, np.float64)
    if not raw.any():
        raw[0] = 1
    unit: Vector = (raw / np.linalg.norm(raw)).astype(np.float32)
    return unit


# Small whole numbers, so that equal, opposite and orthogonal vectors are common.
units = st.lists(st.integers(-3, 3), min_size=DIM, max_size=DIM).map(_unit)


class Machine(RuleBasedStateMachine):
    """An index beside a dictionary of what it should hold."""

    index: Any

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[Cid, tuple[str, str | None, Vector]] = {}
        self.directory = Path(tempfile.mkdtemp())

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    def put(self, cid: Cid, vector: Vector, scope: str, context: str | None) -> None:
        self.index.add(cid, vector, scope=scope, context=context)
        self.model[cid] = (scope, context, vector)

    @rule(cid=names)
    def remove(self, cid: Cid) -> None:
        assert self.index.remove(cid) == (self.model.pop(cid, None) is not None)


class IndexMachine(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.index = FlatIndex(DIM)

    @rule(cid=names, vector=units, scope=scopes, context=contexts)
    def add(self, cid: Cid, vector: Vector, scope: str, context: str | None) -> None:
        self.put(cid, vector, scope, context)

    @rule(query=units, wanted=st.lists(scopes, max_size=5), context=contexts, k=st.integers(0, 12))
    def search(self, query: Vector, wanted: list[str], context: str | None, k: int) -> None:
        expected = [
            Neighbour(cid, round(_cosine(query, vector), 6))
            for cid, (scope, own, vector) in self.model.items()
            if scope in wanted and own == context
        ]
        expected.sort(key=lambda neighbour: (-neighbour.similarity, neighbour.cid))
        assert self.index.search(query, scopes=wanted, context=context, k=k) == expected[:k]

    @rule(sequence=st.integers(0, 2**64 - 1), change=st.integers(0, 2**64 - 1))
    def save_and_load(self, sequence: int, change: int) -> None:
        path = path_for(self.directory, DIGEST)
        save(path, self.index, model_digest=DIGEST, sequence=sequence, change=change)
        loaded = load(path, model_digest=DIGEST, dim=DIM)
        assert isinstance(loaded, Loaded)
        assert (loaded.sequence, loaded.change) == (sequence, change)
        self.index = loaded.index

    @invariant()
    def holds_the_same_rows(self) -> None:
        assert len(self.index) == len(self.model)
        rows = {
            cid: (part.scope, part.context, vector.tobytes())
            for part in self.index.rows(chunk=3)
            for cid, vector in zip(part.cids, part.vectors, strict=True)
        }
        assert rows == {
            cid: (scope, context, vector.tobytes()) for cid, (scope, context, vector) in self.model.items()
        }


class GrowingMachine(Machine):
    """Partitions of a few rows go to HNSW and back while the worker is anywhere in its work."""

    def __init__(self) -> None:
        super().__init__()
        self.index = GrowingIndex(DIM, above=4, tail_rows=2)

    @rule(cid=names, vector=units, scope=st.sampled_from(SCOPES[:2]), context=st.sampled_from([None, "c1"]))
    def add(self, cid: Cid, vector: Vector, scope: str, context: str | None) -> None:
        self.put(cid, vector, scope, context)

    @rule(numbers=st.sets(st.integers(0, 30), min_size=6), vector=units)
    def add_many(self, numbers: set[int], vector: Vector) -> None:
        for number in numbers:
            turned = np.roll(vector, number % DIM) * np.float32(-1 if number % 2 else 1)
            self.put(Cid.of(b"%d" % number), turned, "shared", None)

    @rule(steps=st.integers(1, 9))
    def work(self, steps: int) -> None:
        for _ in range(steps):
            self.index.work()

    @rule()
    def work_to_the_end(self) -> None:
        while self.index.work():
            pass
        sizes: dict[tuple[str, str | None], int] = {}
        for scope, context, _ in self.model.values():
            sizes[scope, context] = sizes.get((scope, context), 0) + 1
        # A graph is given up below half of the limit only, so between the two it may be either.
        assert {key for key, size in sizes.items() if size > 4} <= set(self.index.graphs)
        assert all(sizes.get(key, 0) >= 2 for key in self.index.graphs)

    @rule()
    def tidy(self) -> None:
        self.index.tidy()

    @rule(query=units, wanted=st.lists(scopes, max_size=5), context=contexts, k=st.integers(1, 12))
    def search(self, query: Vector, wanted: list[str], context: str | None, k: int) -> None:
        expected = sorted(
            (
                (_cosine(query, vector), cid)
                for cid, (scope, own, vector) in self.model.items()
                if scope in wanted and own == context
            ),
            key=lambda one: -one[0],
        )
        found = self.index.search(query, scopes=wanted, context=context, k=k)
        assert len({one.cid for one in found}) == len(found) == min(k, len(expected))
        for neighbour, (similarity, _) in zip(found, expected, strict=False):
            assert abs(neighbour.similarity - similarity) < 2e-3
            scope, own, vector = self.model[neighbour.cid]
            assert scope in wanted
            assert own == context
            assert abs(neighbour.similarity - _cosine(query, vector)) < 1e-3

    @rule(loses=st.booleans())
    def save_and_load(self, loses: bool) -> None:
        path = path_for(self.directory, DIGEST)
        save(path, self.index, model_digest=DIGEST, sequence=1, change=1)
        with self.index.paused() as graphs:
            hnsw_file.save_all(self.directory, graphs, model_digest=DIGEST)
        if loses:
            for lost in self.directory.glob("*.nswgraph"):
                lost.unlink()
        graphs = hnsw_file.load_all(self.directory, model_digest=DIGEST, dim=DIM)
        self.index = GrowingIndex(DIM, above=4, tail_rows=2, graphs=graphs)
        assert load_into(self.index, path, model_digest=DIGEST) == Watermarks(1, 1)
        self.index.extended()

    @invariant()
    def holds_the_same_rows(self) -> None:
        assert len(self.index) == len(self.model)
        rows = {
            cid: (part.scope, part.context, vector)
            for part in self.index.rows(chunk=3)
            for cid, vector in zip(part.cids, part.vectors, strict=True)
        }
        assert rows.keys() == self.model.keys()
        for cid, (scope, context, vector) in self.model.items():
            assert cid in self.index
            assert rows[cid][:2] == (scope, context)
            assert np.abs(rows[cid][2] - vector).max() < 1e-3


def _cosine(one: Vector, other: Vector) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(np.clip((a @ b) / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))


RUNS = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
IndexMachine.TestCase.settings = RUNS
TestIndex = IndexMachine.TestCase
GrowingMachine.TestCase.settings = RUNS
TestGrowingIndex = GrowingMachine.TestCase


@given(data=st.binary(max_size=400), is_headed=st.booleans())
def test_any_bytes_are_damage_and_never_a_crash(data: bytes, is_headed: bool) -> None:
    header = b"NSWINDEX" + (1).to_bytes(4, "little") + DIM.to_bytes(4, "little") + bytes.fromhex(DIGEST)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "i"
        path.write_bytes(header + data if is_headed else data)
        assert isinstance(load(path, model_digest=DIGEST, dim=DIM), Damaged)
