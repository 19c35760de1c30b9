"""Approximate nearest neighbours of one partition: a usearch HNSW graph of unit vectors, held as float16.

Promises:
- a similarity is the exact cosine, in double precision, of the vector as it is stored; rounding to float16
  moves it by less than 1e-3 (384 numbers: 6e-5 at most in 4 million pairs) from that of float32;
- equal vectors are one node with many CIDs: thousands of them would otherwise trap the search among
  themselves (3,000 among 6,000 left 0.9 of the others findable);
- a vector that is found is one of a CID that was there when the search looked at it; more candidates are
  fetched while too few of them live or the last of them ties;
- one thread (the worker) changes the graph, others search: see ``Graph``.

What it does not promise is that all neighbours are found; ``growing_index`` measures how many are. It must
not know of partitions, files or what the vectors mean.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from node.cache.index.flat_index import NEIGHBOURS_MAX, cosines
from node.cache.index.usearch_library import Index
from node.core.errors import Unavailable
from node.core.ipld.cid import Cid
from node.core.ports import Neighbour, Vector

CONNECTIVITY = 32
EXPANSION_ADD = 256
"""Links of a node, and candidates looked at when it is linked. Tried once by hand on the library alone with
200,000 vectors as in ``bench.large``, asked half-way between two stored ones: 1,024 candidates then led to
0.99 of the 10 nearest, with 16 and 128 to 0.95; building took 2.3 times as long. Asked near stored ones, all
were found either way."""

EXPANSIONS = (128, 256, 512, 1_024, 2_048, 4_096)
"""Candidates looked at in a search, least first. The least that the guard finds enough is taken; below 0.98
the exact scan stays. A million vectors of ``bench.large`` take 256 (0.99 of the 10 nearest); in graphs of
half as many links the guard found 0.89 of them with 512 and 0.96 with 4,096, and refused."""

SLICE = 4
"""Rows added between two chances for a search to go ahead: 1 to 4 ms."""

_EXPANSION_TWIN = 32
_FETCH_LEAST = 24
_FETCH_MAX = 4_096
_SAME = 2.0**-11
"""Components of unit vectors that differ by less are the same float16, however it was rounded."""


def _set_expansion(core: Index, value: int) -> None:
    core.expansion_search = value  # type: ignore[misc] # mypy misses a setter that stands apart


def new_core(dim: int) -> Index:
    return Index(ndim=dim, metric="ip", dtype="f16", connectivity=CONNECTIVITY, expansion_add=EXPANSION_ADD)


class Graph:
    """One HNSW with the CIDs of its nodes.

    Threads: ``add``, ``bury``, ``confirm`` and saving belong to one worker at a time (the owner sees to
    that). ``kill`` and the properties are for whoever holds the owner's lock. ``search`` and ``vectors`` are
    for everybody. All calls into the library that could meet take turns, a waiting search before the next
    slice, so that nothing depends on what the library allows at once.

    A killed row stays as a node without a CID until ``bury`` frees it; what comes later takes its place.
    Until then its vector is in memory and, after saving, in the file.
    """

    def __init__(self, dim: int, core: Index | None = None, members: Sequence[tuple[Cid, ...]] = ()) -> None:
        self.dim = dim
        self.core = new_core(dim) if core is None else core
        self.added = 0
        """Rows added so far."""
        self.saved = 0
        """How many of them are in the file."""
        self._expansion = EXPANSIONS[0]
        self.expansion = self._expansion
        self._members: list[tuple[Cid, ...]] = [()] * len(members)
        self._labels: dict[Cid, int] = {}
        self._claimed = {cid: label for label, cids in enumerate(members) for cid in cids}
        self._doomed: set[int] = set()
        self._free: list[int] = []
        self._next = threading.Lock()
        self._turn = threading.Lock()
        self._names = threading.Lock()
        """Held for the moment in which CIDs of a node change: killing does not wait for a turn."""

    @contextmanager
    def _turns(self) -> Iterator[None]:
        """Two locks: who waits for the inner one holds the outer one, so nobody can take two turns in a row
        past a waiting thread."""
        with self._next:
            self._turn.acquire()
        try:
            yield
        finally:
            self._turn.release()

    def __len__(self) -> int:
        """CIDs, not nodes."""
        return len(self._labels)

    def __contains__(self, cid: Cid) -> bool:
        return cid in self._labels

    @property
    def expansion(self) -> int:
        return self._expansion

    @expansion.setter
    def expansion(self, value: int) -> None:
        self._expansion = value
        _set_expansion(self.core, value)

    @property
    def nodes(self) -> int:
        """Those that are found, killed ones not yet buried included."""
        return len(self.core)

    @property
    def dead(self) -> int:
        """Places of nodes without a CID."""
        return len(self._doomed) + len(self._free)

    @property
    def doomed(self) -> int:
        return len(self._doomed)

    @property
    def members(self) -> list[tuple[Cid, ...]]:
        """The CIDs of each node, by label; a copy."""
        return list(self._members)

    def cids(self) -> list[Cid]:
        return list(self._labels)

    # --- changing ---------------------------------------------------------------------------------

    def add(self, cids: Sequence[Cid], rows: NDArray[np.float32]) -> None:
        """Add unit vectors of CIDs that are not there. Raises ``Unavailable``."""
        for start in range(0, len(cids), SLICE):
            part = slice(start, start + SLICE)
            with self._turns():
                self._add_some(cids[part], np.ascontiguousarray(rows[part]))

    def _add_some(self, cids: Sequence[Cid], rows: NDArray[np.float32]) -> None:
        known: dict[bytes, int] = {}
        halves = rows.astype(np.float16)
        try:
            twins = self._twins(rows, halves)
            for number, cid in enumerate(cids):
                key = halves[number].tobytes()
                label = known.get(key, twins[number])
                if label is None or not self._members[label]:
                    label = self._new_label()
                    self.core.add(label, rows[number], threads=1)
                known[key] = label
                self._name(cid, label)
        except (RuntimeError, ValueError, MemoryError) as exc:
            raise Unavailable(f"the HNSW index cannot grow: {exc}") from exc

    def _name(self, cid: Cid, label: int) -> None:
        with self._names:
            self._members[label] += (cid,)
            self._labels[cid] = label
            self._doomed.discard(label)
            self.added += 1

    def _twins(self, rows: NDArray[np.float32], halves: NDArray[np.float16]) -> list[int | None]:
        """For each row the node that has the same vector, where the search finds one."""
        if not len(self.core):
            return [None] * len(rows)
        _set_expansion(self.core, _EXPANSION_TWIN)
        found = [self.core.search(row, 1, threads=1).keys for row in rows]
        _set_expansion(self.core, self._expansion)
        labels = [int(keys[0]) if len(keys) else None for keys in found]
        return [
            label if label is not None and (self._rows([label])[0].astype(np.float16) == half).all() else None
            for label, half in zip(labels, halves, strict=True)
        ]

    def _new_label(self) -> int:
        if self._free:
            return self._free.pop()
        self._members.append(())
        return len(self._members) - 1

    def kill(self, cid: Cid) -> bool:
        """It is not found any more; True if it was there."""
        with self._names:
            label = self._labels.pop(cid, None)
            if label is None:
                return False
            self._members[label] = tuple(one for one in self._members[label] if one != cid)
            if not self._members[label]:
                self._doomed.add(label)
            return True

    def bury(self, limit: int) -> None:
        """Take at most ``limit`` killed nodes out of what searches look at."""
        for _ in range(min(limit, len(self._doomed))):
            with self._turns(), self._names:
                label = self._doomed.pop()
                self.core.remove(label)
                self._free.append(label)

    # --- what a file gave -------------------------------------------------------------------------

    def confirm(self, cids: Sequence[Cid], rows: NDArray[np.float32]) -> list[bool]:
        """Which of these rows the graph was built with; only they are found from now on."""
        known = [number for number, cid in enumerate(cids) if cid in self._claimed]
        good = [False] * len(cids)
        if known:
            labels = [self._claimed[cids[number]] for number in known]
            same = (np.abs(self._rows(labels) - rows[known]) <= _SAME).all(axis=1).tolist()
            for number, label, is_same in zip(known, labels, same, strict=True):
                del self._claimed[cids[number]]
                if is_same:
                    good[number] = True
                    self._name(cids[number], label)
        return good

    def confirmed(self) -> None:
        """No more is confirmed: the other nodes are dead."""
        self._claimed = {}
        self.saved = self.added
        for label, cids in enumerate(self._members):
            if not cids:
                if self.core.contains(label):
                    self._doomed.add(label)
                else:
                    self._free.append(label)

    # --- reading ----------------------------------------------------------------------------------

    def _rows(self, labels: Sequence[int]) -> NDArray[np.float32]:
        rows = self.core.get(np.array(labels, np.uint64), dtype="f32")
        assert isinstance(rows, (tuple, list, np.ndarray))
        return np.asarray(rows, np.float32).reshape(len(labels), self.dim)

    def vectors(self, cids: Sequence[Cid]) -> tuple[list[Cid], NDArray[np.float32]]:
        """Copies of those of these rows that are there."""
        with self._turns():
            here = [(cid, label) for cid in cids if (label := self._labels.get(cid)) is not None]
            if not here:
                return [], np.empty((0, self.dim), np.float32)
            return [cid for cid, _ in here], self._rows([label for _, label in here])

    def search(self, query: Vector, k: int) -> list[Neighbour]:
        """The ``k`` most similar that the graph leads to, best first, ties by CID. Raises ``Unavailable``."""
        count = max(_FETCH_LEAST, 2 * k)
        while True:
            with self._turns():
                size = len(self.core)
                if not size:
                    return []
                count = min(count, size)
                try:
                    keys = self.core.search(query, count, threads=1).keys.tolist()
                except (RuntimeError, ValueError, MemoryError) as exc:
                    raise Unavailable(f"the HNSW index cannot be searched: {exc}") from exc
                labels = [label for label in keys if self._members[label]]
                groups = [(label, self._members[label]) for label in labels]
                rows = self._rows(labels) if labels else np.empty((0, self.dim), np.float32)
            found = sorted(
                (-similarity, cid.codec, cid.digest, cid)
                for similarity, (label, cids) in zip(cosines(rows, query), groups, strict=True)
                for cid in cids
                if self._labels.get(cid) == label
            )
            is_all = len(keys) < count or count >= min(size, _FETCH_MAX)
            if is_all or (len(found) > k and found[k - 1][0] < found[-1][0]):
                best = found[: min(k, NEIGHBOURS_MAX)]
                return [Neighbour(cid, -negative + 0.0) for negative, _, _, cid in best]
            count *= 4
