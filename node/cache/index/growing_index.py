"""The vector index that serves: exact while a partition is small, HNSW where it has grown large.

Implements ``node.core.ports.VectorIndex``. Every (scope, context) starts as rows of a ``FlatIndex``. One
worker calls ``work`` again and again; it does a bounded step (milliseconds) each time and goes on where it
stopped:
1. Build: a partition beyond ``above`` rows is copied into a ``Graph``; searches go on over the flat rows.
2. Guard: stored vectors, and mixtures of two, are searched both ways. Only a graph that finds at least
   ``RECALL_MIN`` of the ten nearest takes over, with the smallest expansion that does; otherwise the
   partition stays exact, ``trouble`` says so, and it is tried again when it has doubled.
3. Take over: the graph is searched from one moment on; then the flat rows are dropped, so that memory does
   not double for good.
4. Merge: new rows are flat first, so that adding costs microseconds, and go into the graph in batches.
5. Check: when a graph has grown by a quarter, the guard measures it again; if no expansion is enough the
   partition goes back to flat rows.
6. Rebuild: when a fifth of the graph's places are dead, or ``tidy`` asked for it, from the living rows.
7. Shrink: a partition below half of ``above`` goes back to flat rows.

Promises: at each moment every stored row is in the flat rows or in a graph that is searched (for a while in
both), so an exact match is not missed because of a step here; what is added or removed during a step counts.
Kept as float16 in a graph, a vector comes back (``rows``) rounded, by less than 1e-3 of its length.
It must not know what the vectors mean, nor of files.
"""

from __future__ import annotations

import heapq
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from node.cache.index.flat_index import (
    NEIGHBOURS_MAX,
    QUICK_ROWS,
    ROWS_MAX,
    FlatIndex,
    Partition,
    Rows,
    taken,
    unit_row,
    unit_rows,
)
from node.cache.index.recall_guard import RECALL_MIN, measure, too_little
from node.core.errors import Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.ports import Neighbour, Vector

if TYPE_CHECKING:
    from node.cache.index.hnsw_index import Graph  # needs usearch, which may be missing

log = logging.getLogger("neuroswarm.index")

HNSW_ABOVE = 20_000
TAIL_ROWS = 1_024
"""Flat rows beside a graph that are worth a merge: scanning them takes 0.25 ms."""
GROWN = 1.25
DEAD_SHARE_MAX = 0.2

_BATCH = 64
_OVER = object()
_CHUNK = 1_024
_TRIES = 3


class GrowingIndex:
    """See the module. ``search`` is for any thread, ``add`` and ``remove`` for one (the event loop's). What
    ``work`` does and what happens inside ``paused`` waits for each other."""

    def __init__(
        self,
        dim: int,
        *,
        above: int = HNSW_ABOVE,
        tail_rows: int | None = None,
        rows_max: int = ROWS_MAX,
        graphs: dict[Partition, Graph] | None = None,
    ) -> None:
        """``graphs`` from files: they count as far as ``extend`` brings their rows; then ``extended``."""
        self._flat = FlatIndex(dim, rows_max=rows_max)
        self._above = above
        self._tail_rows = min(TAIL_ROWS, above // 4) if tail_rows is None else tail_rows
        self._rows_max = rows_max
        self._lock = threading.Lock()
        """Before the flat index's and a graph's own locks, never after them."""
        self._work_lock = threading.Lock()
        self._graphs: dict[Partition, Graph] = dict(graphs or {})
        self._checked: dict[Partition, int] = {}
        """Rows of a graph when the guard measured it last."""
        self._refused: dict[Partition, int] = {}
        """Rows at which HNSW was tried in vain."""
        self._tidied: set[Partition] = set()
        self._dropping: dict[Partition, list[Cid]] = {}
        """Rows that a graph has taken over and that may still be flat as well."""
        self._count = 0
        self._moves = 0
        """Changes during which a search might see a row in neither place."""
        self._is_copying = False
        self._touched: set[Cid] = set()
        """What was changed while rows are copied into a graph: that graph's row of it is not valid."""
        self._job: Iterator[None] | None = None
        self._is_due = bool(graphs)
        self._trouble: dict[Partition, str] = {}

    @property
    def dim(self) -> int:
        return self._flat.dim

    @property
    def graphs(self) -> dict[Partition, Graph]:
        """The partitions that are searched by HNSW."""
        with self._lock:
            return dict(self._graphs)

    @property
    def flat_bytes(self) -> int:
        return self._flat.allocated_bytes

    @property
    def is_quick(self) -> bool:
        """Whether a search costs the event loop no more than handing it to a thread: few flat rows, and no
        graph at work that it might have to wait for."""
        return len(self._flat) <= QUICK_ROWS and (self._job is None or not self._graphs)

    @property
    def trouble(self) -> str:
        """Why a large partition is searched row by row; empty when none is."""
        return "; ".join(dict.fromkeys(self._trouble.values()))

    def __len__(self) -> int:
        return self._count

    def __contains__(self, cid: Cid) -> bool:
        if cid in self._flat:
            return True
        return cid not in self._touched and any(cid in graph for graph in tuple(self._graphs.values()))

    # --- changing ---------------------------------------------------------------------------------

    def add(self, cid: Cid, vector: Vector, *, scope: str, context: str | None) -> None:
        """Add or replace the vector of ``cid``. Raises ``Rejected`` as ``FlatIndex.add`` does."""
        row = unit_row(vector, self.dim)
        with self._lock:
            is_there = cid in self
            if not is_there and self._count >= self._rows_max:
                raise Rejected(f"the vector index is full ({self._rows_max} rows)")
            self._moves += is_there
            self._count += not is_there
            self._flat.add(cid, row, scope=scope, context=context)
            self._kill(cid)
            self._note_size((scope, context))

    def _note_size(self, key: Partition) -> None:
        rows, graph = self._flat.size(key), self._graphs.get(key)
        is_many = rows > self._above if graph is None else rows >= self._tail_rows
        if is_many and self._may_try(key, rows + len(graph or ())):
            self._is_due = True

    def _kill(self, cid: Cid) -> bool:
        """Take it out of the graphs; what is being copied into one is not valid any more."""
        if self._is_copying:
            self._touched.add(cid)
        killed = [graph.kill(cid) for graph in self._graphs.values()]
        self._is_due = self._is_due or any(killed)
        return any(killed)

    def remove(self, cid: Cid) -> bool:
        """Forget ``cid``; True if it was there."""
        with self._lock:
            was_there = cid in self
            self._kill(cid)
            self._flat.remove(cid)
            self._count -= was_there
            return was_there

    def extend(
        self, cids: Sequence[Cid], vectors: NDArray[np.float32], *, scope: str, context: str | None
    ) -> None:
        """Add many rows of one partition, all or none. Raises ``Rejected`` as ``FlatIndex.extend`` does."""
        rows = unit_rows(vectors, self.dim)
        if len(rows) != len(cids):
            raise Rejected(f"{len(rows)} vectors for {len(cids)} CIDs")
        with self._lock:
            if len(set(cids)) != len(cids) or any(cid in self for cid in cids):
                raise Rejected("a CID comes twice")
            if self._count + len(cids) > self._rows_max:
                raise Rejected(f"the vector index is full ({self._rows_max} rows)")
            self._count += len(cids)
            self._is_due = True
            graph = self._graphs.get((scope, context))
            if graph is not None:
                known = graph.confirm(cids, rows)
                left = [number for number, is_known in enumerate(known) if not is_known]
                if not left:
                    return
                cids, rows = [cids[number] for number in left], rows[left]
            self._flat.extend(cids, rows, scope=scope, context=context)

    def extended(self) -> None:
        """All rows that a file gave are there: what else the graphs hold is dead."""
        with self._lock:
            for key, graph in tuple(self._graphs.items()):
                graph.confirmed()
                self._checked[key] = len(graph)
                if not len(graph):
                    del self._graphs[key]

    def tidy(self) -> None:
        """Have every graph with dead rows rebuilt, so that nothing is left of their vectors."""
        with self._lock:
            self._tidied = {key for key, graph in self._graphs.items() if graph.dead}
            self._is_due = self._is_due or bool(self._tidied)

    # --- searching --------------------------------------------------------------------------------

    def search(
        self, vector: Vector, *, scopes: Sequence[str], context: str | None, k: int
    ) -> list[Neighbour]:
        """The ``k`` (at most 1,024) most similar rows of these partitions, best first, ties by CID; fewer
        when there are fewer. Raises ``Rejected`` for a vector that could not be added. A graph that fails
        gives nothing, and ``trouble`` says so."""
        query, k = unit_row(vector, self.dim), min(k, NEIGHBOURS_MAX)
        if k < 1:
            return []
        wanted = [(scope, context) for scope in dict.fromkeys(scopes)]
        for _ in range(_TRIES):
            with self._lock:
                moves = self._moves
                graphs = [graph for key in wanted if (graph := self._graphs.get(key)) is not None]
            found = self._search(query, wanted, graphs, k)
            with self._lock:
                if self._moves == moves and all(one.cid in self for one in found):
                    return found
        with self._lock:
            graphs = [graph for key in wanted if (graph := self._graphs.get(key)) is not None]
            return [one for one in self._search(query, wanted, graphs, k) if one.cid in self]

    def _search(
        self, query: Vector, wanted: Sequence[Partition], graphs: Sequence[Graph], k: int
    ) -> list[Neighbour]:
        # Flat rows first: a row on its way into a graph is there before it leaves the flat ones.
        scopes, context = [scope for scope, _ in wanted], wanted[0][1] if wanted else None
        flat = self._flat.search(query, scopes=scopes, context=context, k=k)
        if not graphs:
            return flat
        found: list[Neighbour] = []
        for graph in graphs:
            try:
                found += graph.search(query, k)
            except Unavailable as exc:
                self._trouble[wanted[0]] = str(exc)
        return _best([*found, *flat], k)  # of a row in both the float32 one

    # --- saving -----------------------------------------------------------------------------------

    def rows(self, chunk: int = _CHUNK) -> Iterator[Rows]:
        """Every row that is there now and is not removed meanwhile, in chunks, grouped by
        partition."""
        with self._lock:
            snapshot = {key: self._flat.cids(key) for key in self._flat.sizes()}
            for key, graph in self._graphs.items():
                snapshot[key] = list(dict.fromkeys(graph.cids() + snapshot.get(key, [])))
        return taken(snapshot, self._take, chunk)

    def _take(self, partition: Partition, cids: Sequence[Cid]) -> Rows:
        """Copies of those of these rows that are in this partition, flat or in its graph."""
        with self._lock:
            flat = self._flat.take(partition, cids)
            graph = self._graphs.get(partition)
            if graph is None or len(flat.cids) == len(cids):
                return flat
            has = set(flat.cids)
            found, vectors = graph.vectors([cid for cid in cids if cid not in has])
        if not found:
            return flat
        return Rows(*partition, (*flat.cids, *found), np.concatenate((flat.vectors, vectors)))

    @contextmanager
    def paused(self) -> Iterator[dict[Partition, Graph]]:
        """No step of the work meanwhile: the graphs keep their nodes, so they can be written to files."""
        with self._work_lock:
            yield self.graphs

    # --- growing ----------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        return self._is_due or self._job is not None

    def work(self) -> bool:
        """One bounded step; False when there is nothing (more) to do. Never raises for what a graph did: the
        partition stays as it is, and ``trouble`` says why."""
        with self._work_lock:
            if self._job is None:
                self._is_due = False
                self._job = self._next_job()
            if self._job is None:
                return False
            self._is_due, is_over = True, True  # also where it fails
            try:
                is_over = next(self._job, _OVER) is _OVER
            finally:
                self._job = None if is_over else self._job
            return True

    def _next_job(self) -> Iterator[None] | None:
        with self._lock:
            sizes, graphs = self._flat.sizes(), dict(self._graphs)
        if self._dropping:
            return self._drop()
        for key, graph in graphs.items():
            tail = sizes.get(key, 0)
            live = len(graph) + tail
            if live < self._above // 2:
                return self._flatten(key, graph)
            if graph.doomed:
                return _bury(graph)
            is_wasteful = key in self._tidied or graph.dead > DEAD_SHARE_MAX * (graph.nodes + graph.dead)
            if is_wasteful and self._may_try(key, live):
                return self._build(key)
            if tail >= self._tail_rows and self._may_try(key, live):
                return self._merge(key, graph)
            if len(graph) > GROWN * self._checked.get(key, 0):
                return self._check(key, graph)
        for key, size in sizes.items():
            if key not in graphs and size > self._above and self._may_try(key, size):
                return self._build(key)
        return None

    def _may_try(self, key: Partition, rows: int) -> bool:
        return rows >= 2 * self._refused.get(key, 0)

    def _refuse(self, key: Partition, rows: int, why: str) -> None:
        scope, context = key
        self._refused[key] = rows
        self._trouble[key] = f"{rows} vectors of one scope are compared one by one: {why}"
        log.warning("HNSW is not used for scope %s, context %s (%d rows): %s", scope, context, rows, why)

    def _build(self, key: Partition) -> Iterator[None]:
        """A graph of all rows of the partition, beside what serves it now."""
        try:
            from node.cache.index.hnsw_index import Graph
        except ImportError as exc:
            self._refuse(key, self._flat.size(key), f"usearch cannot be loaded ({exc})")
            return
        with self._copying():
            former = self._graphs.get(key)
            cids = list(dict.fromkeys(self._flat.cids(key) + ([] if former is None else former.cids())))
            try:
                graph = Graph(self.dim)
                for start in range(0, len(cids), _BATCH):
                    part = self._take(key, cids[start : start + _BATCH])
                    known = [number for number, cid in enumerate(part.cids) if cid not in self._touched]
                    graph.add([part.cids[number] for number in known], part.vectors[known])
                    yield
                recall = yield from measure(graph)
            except Unavailable as exc:
                self._tidied.discard(key)
                self._refuse(key, len(cids), str(exc))
                return
            if recall < RECALL_MIN:
                self._tidied.discard(key)
                self._refuse(key, len(cids), too_little(recall))
            else:
                self._take_over(key, graph)

    @contextmanager
    def _copying(self) -> Iterator[None]:
        self._is_copying = True
        try:
            yield
        finally:
            with self._lock:
                self._is_copying, self._touched = False, set()

    def _take_over(self, key: Partition, graph: Graph) -> None:
        with self._lock:
            for cid in self._touched:
                graph.kill(cid)
            self._is_copying, self._touched = False, set()
            self._graphs[key] = graph
            self._moves += 1
            self._checked[key] = len(graph)
            self._refused.pop(key, None)
            self._trouble.pop(key, None)
            self._tidied.discard(key)
        self._dropping[key] = graph.cids()
        log.info("%d vectors of scope %s are searched by HNSW now", len(graph), key[0])

    def _drop(self) -> Iterator[None]:
        """The flat rows of what a graph has taken over."""
        for key in tuple(self._dropping):
            cids = self._dropping.pop(key)
            graph = self._graphs[key]
            for start in range(0, len(cids), _BATCH):
                with self._lock:
                    for cid in cids[start : start + _BATCH]:
                        if cid in graph:
                            self._flat.remove(cid)
                yield

    def _merge(self, key: Partition, graph: Graph) -> Iterator[None]:
        """Flat rows of a partition that has a graph go into it."""
        while cids := self._flat.cids(key, _BATCH):
            with self._copying():
                part = self._take(key, cids)
                known = [number for number, cid in enumerate(part.cids) if cid not in graph]
                try:
                    graph.add([part.cids[number] for number in known], part.vectors[known])
                except Unavailable as exc:
                    self._refuse(key, len(graph), str(exc))
                    return
                finally:
                    self._settle_merged(part.cids, graph)
            yield

    def _settle_merged(self, cids: Sequence[Cid], graph: Graph) -> None:
        with self._lock:
            for cid in self._touched:
                graph.kill(cid)
            self._touched = set()
            for cid in cids:
                if cid in graph:
                    self._flat.remove(cid)

    def _flatten(self, key: Partition, graph: Graph) -> Iterator[None]:
        """Back to flat rows."""
        cids = graph.cids()
        for start in range(0, len(cids), _BATCH):
            with self._lock:
                found, vectors = graph.vectors(cids[start : start + _BATCH])
                self._moves += 1
                for cid in found:
                    graph.kill(cid)
                self._flat.extend(found, unit_rows(vectors, self.dim), scope=key[0], context=key[1])
            yield
        with self._lock:
            del self._graphs[key]
            self._checked.pop(key, None)
            self._tidied.discard(key)

    # --- the guard --------------------------------------------------------------------------------

    def _check(self, key: Partition, graph: Graph) -> Iterator[None]:
        """Measure a graph that has grown; without enough recall its rows go back."""
        rows, why = len(graph), ""
        try:
            recall = yield from measure(graph)
        except Unavailable as exc:
            why = str(exc)
        else:
            why = "" if recall >= RECALL_MIN else too_little(recall)
        self._checked[key] = rows
        if why:
            self._refuse(key, rows, why)
            yield from self._flatten(key, graph)


def _bury(graph: Graph) -> Iterator[None]:
    while graph.doomed:
        graph.bury(_BATCH)
        yield


def _best(found: Sequence[Neighbour], k: int) -> list[Neighbour]:
    """The most similar, ties by CID; of one CID the last."""
    once = {one.cid: one for one in found}
    ranked = ((-one.similarity, one.cid.codec, one.cid.digest, one) for one in once.values())
    return [one for _, _, _, one in heapq.nsmallest(k, ranked)]
