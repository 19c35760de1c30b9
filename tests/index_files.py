"""Reading an index file into an exact index of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from node.cache.index.flat_index import ROWS_MAX, FlatIndex
from node.cache.index.vector_file import Damaged, load_into


@dataclass(frozen=True, slots=True)
class Loaded:
    """An index and the watermarks from which the record store is replayed."""

    index: FlatIndex
    sequence: int
    change: int


def load(path: Path, *, model_digest: str, dim: int, rows_max: int = ROWS_MAX) -> Loaded | Damaged:
    """As ``load_into`` a new exact index."""
    index = FlatIndex(dim, rows_max=rows_max)
    found = load_into(index, path, model_digest=model_digest)
    return found if isinstance(found, Damaged) else Loaded(index, found.sequence, found.change)
