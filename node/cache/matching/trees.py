"""Decision trees, and many of them summed for a few rows at once.

Every node of every tree is asked at once, and takes away the leaves behind its other side; what is left of a
tree is the leaf that it ends at (after Lucchese et al., "QuickScorer", SIGIR 2015): a dozen operations on
arrays however deep the trees are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAVES_MAX = 64
_SHORT = {"number": "n", "limit": "at", "left": "l", "right": "r", "leaf": "v"}


class Tree(msgspec.Struct, frozen=True, rename=_SHORT):
    """Nodes in a row. An inner node goes left where its number is at most its limit; a child below zero
    is the leaf ``-child - 1``."""

    number: tuple[int, ...]
    limit: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    leaf: tuple[float, ...]


class Forest:
    """Trees of at most ``LEAVES_MAX`` leaves each; raises ``ValueError`` for a larger one. Each tree begins
    with a node that takes no leaf away, so that one without inner nodes has a place too."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        import numpy as np  # here and below: without it the node starts too, and has no semantic tier

        if any(len(tree.leaf) > LEAVES_MAX for tree in trees):
            raise ValueError(f"a tree has more than {LEAVES_MAX} leaves")
        numbers: list[int] = []
        limits: list[float] = []
        left_stays: list[int] = []
        right_stays: list[int] = []
        starts: list[int] = []
        for tree in trees:
            starts.append(len(numbers))
            whole = (1 << len(tree.leaf)) - 1
            numbers += [0, *tree.number]
            limits += [math.inf, *tree.limit]
            left_stays += [whole, *(whole & ~_leaves(tree, child) for child in tree.right)]
            right_stays += [whole, *(whole & ~_leaves(tree, child) for child in tree.left)]
        self._numbers, self._limits = np.array(numbers, np.intp), np.array(limits)
        self._left_stays = np.array(left_stays, np.uint64)
        self._right_stays = np.array(right_stays, np.uint64)
        self._starts = np.array(starts, np.intp)
        first_leaf = np.cumsum([0, *(len(tree.leaf) for tree in trees)], dtype=np.intp)
        self._before_leaf = first_leaf[:-1] - 1
        self._values = np.array([value for tree in trees for value in tree.leaf])

    def sums(self, rows: Sequence[Sequence[float]] | NDArray[np.floating]) -> NDArray[np.float64]:
        """The sum of one leaf of each tree, for each row of numbers."""
        import numpy as np

        if not len(self._starts) or not len(rows):
            return np.zeros(len(rows))
        is_left = np.array(rows, np.float64).take(self._numbers, axis=1) <= self._limits
        stays = np.where(is_left, self._left_stays, self._right_stays)
        leaf = np.bitwise_and.reduceat(stays, self._starts, axis=1)
        _, place = np.frexp(leaf.astype(np.float64))  # a power of two, exactly
        found: NDArray[np.float64] = self._values.take(self._before_leaf + place).sum(axis=1)
        return found


def _leaves(tree: Tree, node: int) -> int:
    """The leaves behind a node, one bit each."""
    if node < 0:
        return 1 << (-node - 1)
    return _leaves(tree, tree.left[node]) | _leaves(tree, tree.right[node])
