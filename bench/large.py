"""Vector indexes at 10,000, 100,000 and 1,000,000 rows: ours, exact and growing (HNSW), and faiss in one run.

    python -m bench.large [--rows 10000,100000] [--million]

Vectors are made, not embedded: 384 numbers of unit length from a fixed seed, around 200 topics. For every
five rows there is a family, its topic plus noise of 0.8 of its length; a row is its family plus noise of 0.45
(a cosine of 0.83 between two of a family, as between paraphrases). What is searched for are 200 more rows of
such families, k = 10. Recall is against a float32 product over all rows.

Each index is measured in a process of its own, with one thread, through what the node calls: ours keeps CIDs,
replaces and removes rows, checks what it is given and answers with exact cosines; faiss keeps row numbers.
Our HNSW has the links and effort of ``hnsw_index`` and takes what its guard chose, faiss's the usual 16 links
and 128 candidates: compare speed at a recall, not at a name. "Memory" is the growth of the process over
the vectors handed in; "restart" is reading what "save" wrote, with ours checksums and flushing included. The
work behind is done without the rests that the node makes.

A million rows take long: nearly all of it is building the two HNSW.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.cache.index import hnsw_file, vector_file
from node.cache.index.flat_index import FlatIndex
from node.cache.index.growing_index import GrowingIndex
from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.models.embedders.local import DIM

ROOT = Path(__file__).resolve().parents[1]
ROWS = (10_000, 100_000)
MILLION = 1_000_000
ENGINES = ("ours, exact", "ours, growing", "faiss flat", "faiss HNSW")

_K = 10
_QUERIES = 200
_TOPICS = 200
_FAMILY = 5
_TOPIC_NOISE = 0.8
_ROW_NOISE = 0.45
_BLOCK = 10_000
_DIGEST = hashlib.sha256(b"bench").hexdigest()
_CHILD_LIMIT_S = 7_200

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one index did at one size. Times in the unit that their name says; sizes in bytes."""

    engine: str
    rows: int
    recall: float
    p50_ms: float
    p95_ms: float
    memory_per_row: float
    build_s: float
    save_s: float
    restart_s: float
    file_per_row: float
    note: str = ""


class _Vectors:
    """The rows and, from the same families, what is asked."""

    def __init__(self, rows: int) -> None:
        rng = np.random.default_rng(20260101)
        topics = _unit(rng.standard_normal((_TOPICS, DIM), dtype=np.float32))
        families = max(1, rows // _FAMILY)
        centres = np.empty((families, DIM), np.float32)
        for start in range(0, families, _BLOCK):
            part = centres[start : start + _BLOCK]
            part[:] = _near(topics[rng.integers(0, _TOPICS, len(part))], _TOPIC_NOISE, rng)
        self.rows = np.empty((rows, DIM), np.float32)
        for start in range(0, rows, _BLOCK):
            part = self.rows[start : start + _BLOCK]
            part[:] = _near(centres[rng.integers(0, families, len(part))], _ROW_NOISE, rng)
        self.queries = _near(centres[rng.integers(0, families, _QUERIES)], _ROW_NOISE, rng)
        self.nearest = self._exact()

    def _exact(self) -> list[set[int]]:
        best = np.full((_QUERIES, _K), -np.inf, np.float32)
        which = np.zeros((_QUERIES, _K), np.int64)
        for start in range(0, len(self.rows), _BLOCK):
            part = self.queries @ self.rows[start : start + _BLOCK].T
            both = np.concatenate((best, part), axis=1)
            numbers = np.arange(start, start + part.shape[1])
            all_numbers = np.concatenate((which, np.broadcast_to(numbers, part.shape)), axis=1)
            top = np.argpartition(both, both.shape[1] - _K, axis=1)[:, -_K:]
            best, which = np.take_along_axis(both, top, 1), np.take_along_axis(all_numbers, top, 1)
        return [set(row.tolist()) for row in which]


def _unit(raw: Matrix) -> Matrix:
    made: Matrix = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    return made


def _near(centres: Matrix, noise: float, rng: np.random.Generator) -> Matrix:
    scale = np.float32(noise / DIM**0.5)
    return _unit(centres + scale * rng.standard_normal(centres.shape, dtype=np.float32))


def _memory() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class _Watch:
    def __init__(self) -> None:
        self._clock = SystemClock()
        self._start = self._clock.monotonic()

    def lap_s(self) -> float:
        now = self._clock.monotonic()
        took, self._start = now - self._start, now
        return took


def _searched(vectors: _Vectors, search: Callable[[Matrix], Sequence[int]]) -> tuple[float, float, float]:
    """Recall, p50 and p95 in milliseconds."""
    search(vectors.queries[0])
    watch, times, found = _Watch(), [], 0
    for query, nearest in zip(vectors.queries, vectors.nearest, strict=True):
        watch.lap_s()
        numbers = search(query)
        times.append(watch.lap_s() * 1_000)
        found += len(nearest.intersection(numbers))
    p50, p95 = np.percentile(times, [50, 95])
    return found / (_K * _QUERIES), float(p50), float(p95)


def _cids(count: int) -> list[Cid]:
    return [Cid(0x71, number.to_bytes(32, "big")) for number in range(count)]


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


def _ours(engine: str, vectors: _Vectors, directory: Path) -> Figures:
    rows = len(vectors.rows)
    is_growing = engine == "ours, growing"
    before = _memory()
    cids = _cids(rows)
    watch = _Watch()
    index: FlatIndex | GrowingIndex = GrowingIndex(DIM) if is_growing else FlatIndex(DIM)
    for start in range(0, rows, _BLOCK):
        part = slice(start, start + _BLOCK)
        index.extend(cids[part], vectors.rows[part], scope="shared", context=None)
    if isinstance(index, GrowingIndex):
        while index.work():
            pass
    build_s = watch.lap_s()
    memory = _memory() - before

    def search(query: Matrix) -> list[int]:
        found = index.search(query, scopes=("public", "shared", "private:local"), context=None, k=_K)
        return [int.from_bytes(one.cid.digest, "big") for one in found]

    recall, p50, p95 = _searched(vectors, search)
    path = vector_file.path_for(directory, _DIGEST)
    watch.lap_s()
    vector_file.save(path, index, model_digest=_DIGEST, sequence=1, change=1)
    if isinstance(index, GrowingIndex):
        with index.paused() as graphs:
            hnsw_file.save_all(directory, graphs, model_digest=_DIGEST)
    save_s = watch.lap_s()
    note = "exact" if not is_growing else _how(index)
    had_graph = isinstance(index, GrowingIndex) and bool(index.graphs)
    watch.lap_s()
    again: FlatIndex | GrowingIndex = FlatIndex(DIM)
    if is_growing:
        again = GrowingIndex(DIM, graphs=hnsw_file.load_all(directory, model_digest=_DIGEST, dim=DIM))
    marks = vector_file.load_into(again, path, model_digest=_DIGEST)
    if isinstance(again, GrowingIndex):
        again.extended()
        assert bool(again.graphs) == had_graph, "a graph is loaded, not built again"
    restart_s = watch.lap_s()
    assert isinstance(marks, vector_file.Watermarks)
    assert len(again) == rows
    return Figures(
        engine,
        rows,
        recall,
        p50,
        p95,
        memory / rows,
        build_s,
        save_s,
        restart_s,
        _size(directory) / rows,
        note,
    )


def _how(index: FlatIndex | GrowingIndex) -> str:
    if isinstance(index, GrowingIndex) and (graphs := list(index.graphs.values())):
        return f"HNSW f16, expansion {graphs[0].expansion}"
    return "exact: too small for a graph, or the guard refused it"


def _faiss(engine: str, vectors: _Vectors, directory: Path) -> Figures:
    import faiss

    faiss.omp_set_num_threads(1)
    rows, is_flat = len(vectors.rows), engine == "faiss flat"
    before = _memory()
    watch = _Watch()
    index: Any
    if is_flat:
        index = faiss.IndexFlatIP(DIM)
    else:
        index = faiss.IndexHNSWFlat(DIM, 16, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = index.hnsw.efSearch = 128
    for start in range(0, rows, _BLOCK):
        index.add(vectors.rows[start : start + _BLOCK])
    build_s = watch.lap_s()
    memory = _memory() - before

    def search(query: Matrix) -> list[int]:
        _, numbers = index.search(query[np.newaxis], _K)
        found: list[int] = numbers[0].tolist()
        return found

    recall, p50, p95 = _searched(vectors, search)
    path = directory / "faiss"
    watch.lap_s()
    faiss.write_index(index, str(path))
    save_s = watch.lap_s()
    watch.lap_s()
    again = faiss.read_index(str(path))
    restart_s = watch.lap_s()
    assert again.ntotal == rows
    note = "exact, f32" if is_flat else "f32, efSearch 128; no checksum, no flush"
    return Figures(
        engine,
        rows,
        recall,
        p50,
        p95,
        memory / rows,
        build_s,
        save_s,
        restart_s,
        _size(directory) / rows,
        note,
    )


def measure(engine: str, rows: int) -> Figures:
    """Measure in this process. Raises ``ImportError`` where faiss is asked for and absent."""
    vectors = _Vectors(rows)
    with tempfile.TemporaryDirectory() as name:
        return (_faiss if engine.startswith("faiss") else _ours)(engine, vectors, Path(name))


def measure_apart(engine: str, rows: int) -> Figures | str:
    """Measure in a process of its own; a reason where that is not possible."""
    command = [sys.executable, "-m", "bench.large", "--only", engine, "--rows", str(rows)]
    # Arrays that are given up go back to the system at once, so that growth is what an index holds.
    settled = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | settled,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=_CHILD_LIMIT_S,
        check=False,
    )
    if done.returncode:
        return f"ended with status {done.returncode}"
    said = json.loads(done.stdout)
    return said["absent"] if "absent" in said else Figures(**said)


HEAD = (
    f"| rows | index | recall@{_K} | p50 ms | p95 ms | memory a row | build s | save s | restart s "
    "| file a row | how |\n"
    "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
)


def line(one: Figures) -> str:
    return (
        f"| {one.rows:,} | {one.engine} | {one.recall:.4f} | {one.p50_ms:.2f} | {one.p95_ms:.2f} "
        f"| {one.memory_per_row:,.0f} B | {one.build_s:.1f} | {one.save_s:.2f} | {one.restart_s:.2f} "
        f"| {one.file_per_row:,.0f} B | {one.note} |"
    )


def run(sizes: Sequence[int]) -> list[Figures | str]:
    """Measure all, printing each as it comes; for an index that is absent or failed the reason."""
    print(f"unit vectors of {DIM} numbers, {_QUERIES} look-ups each, one thread:\n")
    print(HEAD, flush=True)
    found: list[Figures | str] = []
    for rows in sizes:
        for engine in ENGINES:
            one = measure_apart(engine, rows)
            found.append(one)
            said = line(one) if isinstance(one, Figures) else f"| {rows:,} | {engine} | {one} |" + " |" * 8
            print(said, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when one of ours fell short of recall 0.98 or an index failed; an absent faiss is only said."""
    parser = argparse.ArgumentParser(prog="bench.large", description="vector indexes at size")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="sizes, joined by commas")
    parser.add_argument("--million", action="store_true", help="1,000,000 rows as well")
    parser.add_argument("--only", choices=ENGINES, help="measure one here and print JSON")
    options = parser.parse_args(arguments)
    sizes = [int(part) for part in options.rows.split(",")]
    if options.only:
        try:
            print(json.dumps(dataclasses.asdict(measure(options.only, sizes[0]))))
        except ImportError as exc:
            print(json.dumps({"absent": f"absent ({exc})"}))
        return 0
    found = run(sizes + [MILLION] * options.million)
    ours = [one for one in found if isinstance(one, Figures) and one.engine.startswith("ours")]
    short = [one for one in ours if one.recall < 0.98]
    failed = [one for one in found if isinstance(one, str) and not one.startswith("absent")]
    for one in short:
        print(f"recall of {one.engine} at {one.rows:,} rows is below 0.98")
    return 1 if short or failed or len(ours) < 2 * len(set(sizes)) else 0


if __name__ == "__main__":
    sys.exit(main())
