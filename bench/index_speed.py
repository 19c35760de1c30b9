"""How fast the exact index is here at 2,000, 10,000 and 200,000 rows: searching, adding, saving, loading.

    python -m bench.index_speed

Vectors are unit vectors around 200 centres, as embeddings of questions are, from a fixed seed. Every
tenth search is checked against a plain float64 product. Takes under half a minute.
"""

from __future__ import annotations

import hashlib
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from node.cache.index.flat_index import FlatIndex
from node.cache.index.vector_file import Watermarks, load_into, path_for, save
from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.models.embedders.local import DIM

_SIZES = (2_000, 10_000, 200_000)
_SEARCHES = 100
_K = 8
_CENTRES = 200
_CHANGES = 500


def _vectors(count: int, centres: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    raw = rng.standard_normal((count, DIM), dtype=np.float32) * np.float32(0.6)
    raw += centres[rng.integers(0, _CENTRES, size=count)]
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    return raw


def _cids(start: int, count: int) -> list[Cid]:
    return [Cid(0x71, hashlib.sha256(b"%d" % number).digest()) for number in range(start, start + count)]


def _measure(rows: int, clock: SystemClock, rng: np.random.Generator) -> None:
    centres = rng.standard_normal((_CENTRES, DIM), dtype=np.float32)
    vectors, cids = _vectors(rows, centres, rng), _cids(0, rows)
    index = FlatIndex(DIM)
    start = clock.monotonic()
    index.extend(cids, vectors, scope="shared", context=None)
    bulk_s = clock.monotonic() - start

    times_ms = []
    cpu_start = time.process_time()
    queries = _vectors(_SEARCHES, centres, rng)
    for query in queries:
        start = clock.monotonic()
        index.search(query, scopes=("public", "shared", "private:local"), context=None, k=_K)
        times_ms.append((clock.monotonic() - start) * 1000)
    cpu_ms = (time.process_time() - cpu_start) * 1000 / _SEARCHES
    for query in queries[::10]:
        exact = vectors.astype(np.float64) @ query.astype(np.float64) if rows <= 10_000 else vectors @ query
        found = index.search(query, scopes=("shared",), context=None, k=_K)
        best = np.sort(exact)[::-1][:_K]
        assert np.allclose([neighbour.similarity for neighbour in found], best, rtol=0, atol=2e-6)

    start = clock.monotonic()
    for cid, vector in zip(_cids(rows, _CHANGES), _vectors(_CHANGES, centres, rng), strict=True):
        index.add(cid, vector, scope="shared", context=None)
    add_us = (clock.monotonic() - start) * 1e6 / _CHANGES
    start = clock.monotonic()
    for cid in cids[:_CHANGES]:
        index.remove(cid)
    remove_us = (clock.monotonic() - start) * 1e6 / _CHANGES

    with tempfile.TemporaryDirectory() as directory:
        digest = hashlib.sha256(b"bench").hexdigest()
        path = path_for(Path(directory), digest)
        start = clock.monotonic()
        save(path, index, model_digest=digest, sequence=1, change=1)
        save_s = clock.monotonic() - start
        size_mib = path.stat().st_size / 2**20
        start = clock.monotonic()
        again = FlatIndex(DIM)
        loaded = load_into(again, path, model_digest=digest)
        load_s = clock.monotonic() - start
        assert isinstance(loaded, Watermarks)
        assert len(again) == rows

    p50, p95 = np.percentile(times_ms, [50, 95])
    print(
        f"{rows:7} rows: search p50 {p50:.2f} ms, p95 {p95:.2f} ms, CPU {cpu_ms:.2f} ms; "
        f"add {add_us:.0f} us, remove {remove_us:.0f} us, bulk add {bulk_s:.2f} s; "
        f"save {save_s:.2f} s, load {load_s:.2f} s, file {size_mib:.1f} MiB, "
        f"matrices {index.allocated_bytes / 2**20:.1f} MiB"
    )


def main() -> None:
    clock, rng = SystemClock(), np.random.default_rng(20260101)
    print(f"exact cosine, {DIM} x float32, k = {_K}, numpy {np.__version__}, {platform.machine()}")
    for rows in _SIZES:
        _measure(rows, clock, rng)


if __name__ == "__main__":
    main()
