"""The flat index is a dictionary that can be searched, under any sequence of changes, saves and loads."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from node.cache.flat_index import FlatIndex
from node.cache.index_file import Damaged, Loaded, load, path_for, save
from node.ipfs.cid import Cid
from node.ports import Neighbour, Vector

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


class IndexMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.index = FlatIndex(DIM)
        self.model: dict[Cid, tuple[str, str | None, Vector]] = {}
        self.directory = Path(tempfile.mkdtemp())

    def teardown(self) -> None:
        shutil.rmtree(self.directory)

    @rule(cid=names, vector=units, scope=scopes, context=contexts)
    def add(self, cid: Cid, vector: Vector, scope: str, context: str | None) -> None:
        self.index.add(cid, vector, scope=scope, context=context)
        self.model[cid] = (scope, context, vector)

    @rule(cid=names)
    def remove(self, cid: Cid) -> None:
        assert self.index.remove(cid) == (self.model.pop(cid, None) is not None)

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


def _cosine(one: Vector, other: Vector) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(np.clip((a @ b) / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))


IndexMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestIndex = IndexMachine.TestCase


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400), is_headed=st.booleans())
def test_any_bytes_are_damage_and_never_a_crash(data: bytes, is_headed: bool) -> None:
    header = b"NSWINDEX" + (1).to_bytes(4, "little") + DIM.to_bytes(4, "little") + bytes.fromhex(DIGEST)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "i"
        path.write_bytes(header + data if is_headed else data)
        assert isinstance(load(path, model_digest=DIGEST, dim=DIM), Damaged)
