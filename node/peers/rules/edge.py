"""The right edge of a peer's log, as far as it was read: what the next entries are hashed on to.

Promises: the hashes of RFC 6962 (``node.core.merkle``); at most 63 roots, whatever the size; values that are
not changed once made. Must not know where entries come from, nor whose signature stands for a root.

An edge is the roots of the complete subtrees of the first ``size`` leaves, left to right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from node.core.errors import Rejected
from node.core.merkle import HASH_BYTES, SIZE_MAX, fold, node_hash, subtrees


@dataclass(frozen=True, slots=True)
class Edge:
    """Raises ``Rejected`` where so many roots are not the edge of so many leaves."""

    size: int = 0
    roots: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.size <= SIZE_MAX or len(self.roots) != self.size.bit_count():
            raise Rejected(f"{len(self.roots)} hashes are not the edge of a log of {self.size} entries")
        if any(len(root) != HASH_BYTES for root in self.roots):
            raise Rejected(f"an edge holds a hash that is not {HASH_BYTES} bytes long")

    @property
    def root(self) -> bytes:
        """The root of the whole tree."""
        return fold(self.roots)

    def grown(self, leaves: Sequence[bytes]) -> Edge:
        """With these leaf hashes at its end."""
        return self.joined(self.size + len(leaves), ((0, leaf) for leaf in leaves))

    def joined(self, size: int, subtrees_after: Iterable[tuple[int, bytes]]) -> Edge:
        """With complete subtrees (level, root) at its end, left to right, each in its place: those of
        ``merkle.subtrees(self.size, size)``, or leaves. Raises ``Rejected`` where they make up another
        size."""
        if size > SIZE_MAX:
            raise Rejected("no log holds so many entries")
        levels = [level for level, _ in subtrees(0, self.size)]
        roots = list(self.roots)
        for level, root in subtrees_after:
            while levels and levels[-1] == level:
                levels.pop()
                root = node_hash(roots.pop(), root)
                level += 1
            levels.append(level)
            roots.append(root)
        if sum(1 << level for level in levels) != size:
            raise Rejected(f"these subtrees do not make up {size} leaves")
        return Edge(size, tuple(roots))
