"""How many of the truly nearest rows a graph finds, measured on rows of its own, in small steps."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from node.cache.index.flat_index import unit_rows
from node.core.ipld.cid import Cid

if TYPE_CHECKING:
    from node.cache.index.hnsw_index import Graph  # needs usearch, which may be missing

log = logging.getLogger("neuroswarm.vectors")

RECALL_AT = 10
RECALL_MIN = 0.98
_SAMPLE = 100
_EQUAL = 1e-5
_MIXED = np.float32(0.45)
"""A cosine of 0.91, as a paraphrase has. With 0.7 the nearest lie in two topics at once: of 100,000 made
vectors the guard then measured 0.96 at the largest expansion, though look-ups near stored ones found all."""
_MIXED_MIN = 0.1
"""Opposite vectors mix to nothing that has a direction."""
_CHUNK = 1_024


def measure(graph: Graph) -> Generator[None, None, float]:
    """Recall at the smallest expansion that is enough, from the present one on, or at the largest; the
    graph is left with it."""
    from node.cache.index.hnsw_index import EXPANSIONS

    cids = graph.cids()
    queries = _queries(graph, cids)
    nearest = np.full((len(queries), RECALL_AT), -np.inf, np.float32)
    which = np.full((len(queries), RECALL_AT), -1)
    for start in range(0, len(cids), _CHUNK):
        here, rows = graph.vectors(cids[start : start + _CHUNK])
        # Cosines, as searches give: float16 rows are not quite of length 1.
        exact = queries @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T
        places = {cid: place for place, cid in enumerate(cids[start : start + _CHUNK], start)}
        numbers = np.broadcast_to(np.array([places[cid] for cid in here], np.int64), exact.shape)
        both = np.concatenate((nearest, exact), axis=1)
        top = np.argpartition(both, both.shape[1] - RECALL_AT, axis=1)[:, -RECALL_AT:]
        nearest = np.take_along_axis(both, top, 1)
        which = np.take_along_axis(np.concatenate((which, numbers), axis=1), top, 1)
        yield
    recall = 0.0
    for expansion in (one for one in EXPANSIONS if one >= graph.expansion):
        graph.expansion = expansion
        found = wanted = 0
        for query, best, places_of_best in zip(queries, nearest, which.tolist(), strict=True):
            # Counted by similarity, so that of many equal ones any will do; what was removed meanwhile
            # is not missed.
            least = float(best.min()) - _EQUAL
            hits = sum(one.similarity >= least for one in graph.search(query, RECALL_AT))
            living = sum(place >= 0 and cids[place] in graph for place in places_of_best)
            found += min(hits, living)
            wanted += living
            yield
        recall = found / wanted if wanted else 1.0
        if recall >= RECALL_MIN:
            break
    log.info("HNSW of %d vectors: recall@%d %.4f at expansion %d", len(cids), RECALL_AT, recall, expansion)
    return recall


def _queries(graph: Graph, cids: Sequence[Cid]) -> NDArray[np.float32]:
    """Stored vectors from all over the partition, half of them turned towards another one: what is asked
    later is near what is stored, not equal."""
    _, rows = graph.vectors(cids[:: max(1, len(cids) // _SAMPLE)][:_SAMPLE])
    mixed = rows.copy()
    mixed[::2] += _MIXED * np.roll(rows, 1, axis=0)[::2]
    norms = np.linalg.norm(mixed, axis=1, keepdims=True)
    made: NDArray[np.float32] = np.where(norms > _MIXED_MIN, mixed / np.maximum(norms, _MIXED_MIN), rows)
    return unit_rows(made / np.linalg.norm(made, axis=1, keepdims=True), graph.dim)


def too_little(recall: float) -> str:
    return f"HNSW found {recall:.3f} of the {RECALL_AT} nearest, less than {RECALL_MIN}"
