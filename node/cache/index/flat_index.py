"""Exact nearest neighbours by brute force: one float32 matrix per (scope, context), one product per search.

Promises:
- similarity is the cosine, computed anew in double precision for the rows that matter and rounded to
  millionths (what records and floors are written in), so that equal vectors tie and 0.90 is 0.90;
- a partition that was not asked for is never looked at;
- adding and removing take constant time (amortised: matrices double, and halve when a quarter full);
- one thread may write while others search: see ``FlatIndex``.

It is never the truth: records are, and the index is rebuilt from them. It must not know what the
vectors mean.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.ports import Neighbour, Vector

NORM_TOLERANCE = 1e-3
ROWS_MAX = 1_000_000
NEIGHBOURS_MAX = 1_024
QUICK_ROWS = 5_000
"""Up to here an exact scan (0.4 ms measured) costs the event loop no more than handing it to a thread."""
SIMILARITY_DECIMALS = 6

_UNIT_TOLERANCE = 1e-6
"""Vectors further than this from length 1 (and within ``NORM_TOLERANCE``) are scaled before they are kept, so
that the first, float32 pass of a search ranks by the cosine up to ``_SLACK``."""

_SLACK = 1e-5
"""Rows that come this near to the k-th best of the float32 pass are looked at in double precision: twice
``_UNIT_TOLERANCE``, half a rounding step and the error of a float32 sum of 384 products, with room."""

_BLOCK_NUMBERS = 393_216
"""Matrix elements of one product (1,024 rows of 384). OpenBLAS spreads larger products over threads that wait
for each other spinning: on two busy cores 5,000 rows in one product took 8 ms, in blocks 0.4."""

_REFINE_ROWS = 4_096
_OPTIMISTIC_TRIES = 3

Partition: TypeAlias = tuple[str, str | None]
"""(scope, context)."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of one partition; ``vectors`` has shape (len(cids), dim) and belongs to the reader."""

    scope: str
    context: str | None
    cids: tuple[Cid, ...]
    vectors: NDArray[np.float32]


def unit_row(vector: Vector, dim: int) -> Vector:
    """The vector at unit length. Raises ``Rejected``: wrong dimension, not finite, length not 1 +- 0.001."""
    if vector.ndim != 1:
        raise Rejected(f"a vector of shape {vector.shape} does not fit an index of ({dim},)")
    row: Vector = unit_rows(vector[np.newaxis], dim)[0]
    return row


def unit_rows(vectors: NDArray[np.float32], dim: int) -> NDArray[np.float32]:
    """The vectors as rows of unit length. Raises ``Rejected``."""
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        raise Rejected(f"a vector of shape {vectors.shape[1:]} does not fit an index of ({dim},)")
    wide = vectors.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    # A comparison with NaN is false, so what is not finite fails here too.
    if not bool((np.abs(norms - 1.0) <= NORM_TOLERANCE).all()):
        raise Rejected("a vector is not finite or its length is not 1")
    if bool((np.abs(norms - 1.0) <= _UNIT_TOLERANCE).all()):
        return vectors.astype(np.float32, copy=False)
    scaled: NDArray[np.float32] = (wide / norms[:, np.newaxis]).astype(np.float32)
    return scaled


def cosines(rows: NDArray[np.float32], query: Vector) -> list[float]:
    """The exact cosine of each row with ``query``, rounded to millionths."""
    wide_query = query.astype(np.float64)
    wide_query /= np.sqrt((wide_query * wide_query).sum())
    wide = rows.astype(np.float64)
    # Sums along each row on its own: a product of matrices may round equal rows differently.
    found = (wide * wide_query).sum(axis=1) / np.sqrt((wide * wide).sum(axis=1))
    exact: list[float] = np.clip(found, -1.0, 1.0).round(SIMILARITY_DECIMALS).tolist()
    return exact


class _Matrix:
    """The rows of one partition. ``removals`` counts the changes that alter rows already there; additions
    only write behind the last row, so they do not disturb a reader who knows how many rows he saw."""

    __slots__ = ("cids", "removals", "rows")

    def __init__(self, dim: int, capacity: int = 1) -> None:
        self.rows: NDArray[np.float32] = np.empty((capacity, dim), np.float32)
        self.cids: list[Cid] = []
        self.removals = 0

    def reserve(self, count: int) -> None:
        capacity = len(self.rows)
        while capacity < count:
            capacity *= 2
        self._resize(capacity)

    def _resize(self, capacity: int) -> None:
        """Readers keep the old array; it is never written again."""
        if capacity != len(self.rows):
            grown = np.empty((capacity, self.rows.shape[1]), np.float32)
            grown[: len(self.cids)] = self.rows[: len(self.cids)]
            self.rows = grown

    def append(self, cid: Cid, vector: Vector) -> int:
        row = len(self.cids)
        self.reserve(row + 1)
        self.rows[row] = vector
        self.cids.append(cid)
        return row

    def remove(self, row: int) -> Cid | None:
        """Put the last row in the place of ``row``; returns the one that moved."""
        self.removals += 1
        last = len(self.cids) - 1
        moved: Cid | None = None
        if row != last:
            self.rows[row] = self.rows[last]
            moved = self.cids[row] = self.cids[last]
        self.cids.pop()
        if last <= len(self.rows) // 4:
            self._resize(max(1, len(self.rows) // 2))
        return moved


class FlatIndex:
    """The ``VectorIndex`` port over numpy.

    ``search`` is synchronous. Reading 20,000 rows of 384 numbers takes 3 ms and grows
    linearly, so a coroutine calls it through ``asyncio.to_thread`` unless ``is_quick``; that is safe while
    the loop's thread goes on adding and removing.

    How: each change happens under one lock, held for microseconds. A search notes, under the lock, which
    matrices and how many rows it looks at, computes without it, and looks again: if meanwhile a row was
    removed (the last one is moved into the gap, so rows changed under the reader) it starts anew,
    and after three such tries it computes holding the lock.
    """

    def __init__(self, dim: int, *, rows_max: int = ROWS_MAX) -> None:
        if dim < 1:
            raise Rejected(f"an index of {dim} dimensions cannot be")
        self._dim = dim
        self._rows_max = rows_max
        self._lock = threading.Lock()
        self._partitions: dict[Partition, _Matrix] = {}
        self._places: dict[Cid, tuple[Partition, int]] = {}

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def allocated_bytes(self) -> int:
        """Memory of the matrices, unused rows included."""
        with self._lock:
            return sum(matrix.rows.nbytes for matrix in self._partitions.values())

    @property
    def is_quick(self) -> bool:
        return len(self._places) <= QUICK_ROWS

    def sizes(self) -> dict[Partition, int]:
        """Rows by partition."""
        with self._lock:
            return {key: len(matrix.cids) for key, matrix in self._partitions.items()}

    def size(self, partition: Partition) -> int:
        matrix = self._partitions.get(partition)
        return 0 if matrix is None else len(matrix.cids)

    def cids(self, partition: Partition, limit: int | None = None) -> list[Cid]:
        """Those of one partition, at most the first ``limit``, in no order."""
        with self._lock:
            matrix = self._partitions.get(partition)
            return [] if matrix is None else matrix.cids[:limit]

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, cid: Cid) -> bool:
        return cid in self._places

    # --- changing ---------------------------------------------------------------------------------

    def add(self, cid: Cid, vector: Vector, *, scope: str, context: str | None) -> None:
        """Add or replace the vector of ``cid``. Raises ``Rejected``: wrong dimension, not finite, length not
        1 +- 0.001, or the index is full."""
        row = unit_row(vector, self._dim)
        with self._lock:
            if cid in self._places:
                self._remove(cid)
            elif len(self._places) >= self._rows_max:
                raise Rejected(f"the vector index is full ({self._rows_max} rows)")
            self._append((scope, context), cid, row)

    def extend(
        self, cids: Sequence[Cid], vectors: NDArray[np.float32], *, scope: str, context: str | None
    ) -> None:
        """Add many rows of one partition, all or none. Raises ``Rejected`` as ``add`` does, and when a CID is
        there already or comes twice."""
        rows = unit_rows(vectors, self._dim)
        if len(rows) != len(cids):
            raise Rejected(f"{len(rows)} vectors for {len(cids)} CIDs")
        with self._lock:
            if len(set(cids)) != len(cids) or any(cid in self._places for cid in cids):
                raise Rejected("a CID comes twice")
            if len(self._places) + len(cids) > self._rows_max:
                raise Rejected(f"the vector index is full ({self._rows_max} rows)")
            for cid, row in zip(cids, rows, strict=True):
                self._append((scope, context), cid, row)

    def remove(self, cid: Cid) -> bool:
        """Forget ``cid``; True if it was there."""
        with self._lock:
            if cid not in self._places:
                return False
            self._remove(cid)
            return True

    def _append(self, partition: Partition, cid: Cid, vector: Vector) -> None:
        matrix = self._partitions.get(partition)
        if matrix is None:
            matrix = self._partitions[partition] = _Matrix(self._dim)
        self._places[cid] = (partition, matrix.append(cid, vector))

    def _remove(self, cid: Cid) -> None:
        partition, row = self._places.pop(cid)
        matrix = self._partitions[partition]
        moved = matrix.remove(row)
        if moved is not None:
            self._places[moved] = (partition, row)
        if not matrix.cids:
            del self._partitions[partition]

    # --- searching --------------------------------------------------------------------------------

    def search(
        self, vector: Vector, *, scopes: Sequence[str], context: str | None, k: int
    ) -> list[Neighbour]:
        """The ``k`` (at most 1,024) most similar rows of these partitions, best first, ties by CID; fewer
        when there are fewer, none for k < 1. Raises ``Rejected`` for a vector that could not be added."""
        query = unit_row(vector, self._dim)
        k = min(k, NEIGHBOURS_MAX)
        if k < 1:
            return []
        wanted: list[Partition] = [(scope, context) for scope in dict.fromkeys(scopes)]
        for _ in range(_OPTIMISTIC_TRIES):
            with self._lock:
                views = self._views(wanted)
            found = [(view, _nearest(view.rows, query, k)) for view in views]
            with self._lock:
                if all(view.is_unchanged for view in views):
                    return _merge(found, k)
        with self._lock:
            return _merge([(view, _nearest(view.rows, query, k)) for view in self._views(wanted)], k)

    def _views(self, wanted: Sequence[Partition]) -> list[_View]:
        matrices = [matrix for key in wanted if (matrix := self._partitions.get(key)) is not None]
        return [_View(matrix, matrix.removals, matrix.rows[: len(matrix.cids)]) for matrix in matrices]

    # --- saving -----------------------------------------------------------------------------------

    def rows(self, chunk: int = 1_024) -> Iterator[Rows]:
        """Every row that is there now and is not removed meanwhile, in chunks, grouped by
        partition. Rows may be added and removed between two steps; copies one chunk at a time."""
        with self._lock:
            # The CIDs, not the rows, are the snapshot: a row moves when another one is removed.
            snapshot = {key: list(matrix.cids) for key, matrix in self._partitions.items()}
        return taken(snapshot, self.take, chunk)

    def take(self, partition: Partition, cids: Sequence[Cid]) -> Rows:
        """Copies of those of these rows that are in this partition."""
        with self._lock:
            places = [(cid, self._places.get(cid)) for cid in cids]
            here = [(cid, place[1]) for cid, place in places if place is not None and place[0] == partition]
            matrix = self._partitions.get(partition)
            if matrix is None or not here:
                return Rows(*partition, (), np.empty((0, self._dim), np.float32))
            vectors = matrix.rows[[row for _, row in here]]
        return Rows(*partition, tuple(cid for cid, _ in here), vectors)


def taken(
    snapshot: Mapping[Partition, Sequence[Cid]],
    take: Callable[[Partition, Sequence[Cid]], Rows],
    chunk: int,
) -> Iterator[Rows]:
    """The rows of a snapshot that are there when their turn comes, in chunks."""
    for partition, cids in snapshot.items():
        for start in range(0, len(cids), chunk):
            part = take(partition, cids[start : start + chunk])
            if part.cids:
                yield part


@dataclass(frozen=True, slots=True)
class _View:
    """What a search looks at: the first rows of a matrix, and how to see that they changed."""

    matrix: _Matrix
    removals: int
    rows: NDArray[np.float32]

    @property
    def is_unchanged(self) -> bool:
        return self.matrix.removals == self.removals


_Candidates: TypeAlias = list[tuple[float, int]]
"""(similarity, row)."""


def _nearest(rows: NDArray[np.float32], query: Vector, k: int) -> _Candidates:
    """All rows that may belong to the k best, with their exact similarity."""
    rough = np.empty(len(rows), np.float32)
    block = max(1, _BLOCK_NUMBERS // len(query))
    for start in range(0, len(rows), block):
        np.dot(rows[start : start + block], query, out=rough[start : start + block])
    if len(rough) > k:
        kth = np.partition(rough, len(rough) - k)[len(rough) - k]
        chosen = np.flatnonzero(rough >= kth - _SLACK)
    else:
        chosen = np.arange(len(rough))
    out: _Candidates = []
    for start in range(0, len(chosen), _REFINE_ROWS):  # many only where many are (nearly) equal
        part = chosen[start : start + _REFINE_ROWS]
        out += zip(cosines(rows[part], query), part.tolist(), strict=True)
    return out


def _merge(found: Sequence[tuple[_View, _Candidates]], k: int) -> list[Neighbour]:
    """The k best of all partitions. Call under the lock: rows are named by the matrices' current CIDs."""
    # Many candidates only where many rows are equal; plain tuples, so that even then it takes milliseconds.
    merged = (
        (-similarity, (cid := view.matrix.cids[row]).codec, cid.digest, cid)
        for view, part in found
        for similarity, row in part
    )
    return [Neighbour(cid, -negative + 0.0) for negative, _, _, cid in heapq.nsmallest(k, merged)]
