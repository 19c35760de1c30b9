"""What every embedder owes for a vector before it leaves, whatever engine made it.

Rules:
- unit length, so that similarity is a dot product everywhere;
- finite, of the promised dimension, neither zero nor constant: such a vector is near everything or
  nothing, and a cache that compares it serves one question the answer of another.

Pure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from node.core.errors import NodeError, Unavailable
from node.core.ports import Vector

_T = TypeVar("_T")

NORM_TOLERANCE = 1e-3
"""How far from 1 a length may lie; float32 sums of a few hundred squares stay far below it."""

_NORM_MIN = 1e-6
_SPREAD_MIN = 1e-3
"""Least standard deviation of the components, as a share of 1/sqrt(dim), which is what a unit vector with
mean 0 has. A constant vector has 0; measured embeddings of sentences have between 0.99 and 1."""


def unit(raw: NDArray[np.float32]) -> Vector:
    """``raw`` scaled to length 1; a vector without a usable length comes back as zeros, which
    ``why_degenerate`` refuses."""
    wide = raw.astype(np.float64)
    norm = float(np.sqrt((wide * wide).sum()))
    if not np.isfinite(norm) or norm < _NORM_MIN:
        return np.zeros(raw.shape, np.float32)
    scaled: Vector = (wide / norm).astype(np.float32)
    return scaled


async def of_some(
    texts: Sequence[str], can: Callable[[str], bool], work: Callable[[list[str]], Awaitable[Sequence[_T]]]
) -> list[_T | None]:
    """What ``work`` makes of the texts that it can be given, None for the others, in order."""
    able = [can(text) for text in texts]
    given = [text for text, is_able in zip(texts, able, strict=True) if is_able]
    found = iter(await work(given) if given else ())
    return [next(found) if is_able else None for is_able in able]


def usable(raw: NDArray[np.float32], dim: int, refused: type[NodeError] = Unavailable) -> Vector:
    """``raw`` at unit length; read-only, because callers share it. Raises ``refused`` where it must not be
    used."""
    with np.errstate(over="ignore", invalid="ignore"):
        vector = unit(raw)
    if reason := why_degenerate(vector, dim):
        raise refused(f"degenerate embedder: a vector is unusable: {reason}")
    vector.setflags(write=False)
    return vector


def why_degenerate(vector: Vector, dim: int) -> str | None:
    """In words why ``vector`` must not be used, or None when it is sound."""
    if vector.shape != (dim,):
        return f"its shape is {vector.shape}, not ({dim},)"
    if vector.dtype != np.float32:
        return f"its type is {vector.dtype}, not float32"
    if not bool(np.isfinite(vector).all()):
        return "it holds a number that is not finite"
    norm = float(np.linalg.norm(vector))
    if norm == 0:
        return "its length is zero or not finite"
    if abs(norm - 1.0) > NORM_TOLERANCE:
        return f"its length is {norm:.4f}, not 1"
    if dim > 1 and float(vector.std()) * dim**0.5 < _SPREAD_MIN:
        return "all its components are the same"
    return None
