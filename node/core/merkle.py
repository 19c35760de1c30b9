"""The Merkle tree of a log: hashes, roots, inclusion and consistency proofs.

Promises: the hashes and proofs of RFC 6962 section 2.1 with SHA-256, for every size below 2^63. Checking is
total: a proof of any length and any sizes either hold or raise ``Rejected``; nothing else escapes. Proofs are
made from complete subtrees only, which is what tiles hold.
Must not know: where hashes are kept, what entries mean.

A complete subtree is named by its level and index: of ``1 << level`` leaves each, it is number ``index``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from node.core.errors import Rejected

HASH_BYTES = 32
SIZE_MAX = 2**63 - 1
PROOF_HASHES_MAX = 63
"""No inclusion proof needs more, nor a consistency proof below 2^62 leaves; tlog-witness takes no more."""

EMPTY_ROOT = hashlib.sha256(b"").digest()

ReadHash: TypeAlias = Callable[[int, int], bytes]
"""(level, index) → the hash of that complete subtree."""


def leaf_hash(entry: bytes) -> bytes:
    """SHA-256(0x00 || entry)."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaf_hashes: Sequence[bytes]) -> bytes:
    """The root of the tree over these leaf hashes; of none, ``EMPTY_ROOT``."""
    if not leaf_hashes:
        return EMPTY_ROOT
    row = list(leaf_hashes)
    while len(row) > 1:
        # A last hash without a partner rises unchanged: pairing from the left is the same tree as the RFC's
        # split at the largest power of two below the size.
        odd = row[-1:] if len(row) % 2 else []
        row = [node_hash(row[at], row[at + 1]) for at in range(0, len(row) - 1, 2)] + odd
    return row[0]


# --- which complete subtrees a root or a proof needs ----------------------------------------------


def subtrees(start: int, end: int) -> list[tuple[int, int]]:
    """The fewest complete subtrees (level, index) that make up the leaves ``[start, end)``, left to right."""
    if not 0 <= start <= end <= SIZE_MAX:
        raise Rejected(f"there are no leaves from {start} up to {end}: sizes go from 0 to 2^63 - 1")
    found = []
    while start < end:
        level = (end - start).bit_length() - 1
        if start:
            level = min(level, (start & -start).bit_length() - 1)
        found.append((level, start >> level))
        start += 1 << level
    return found


def inclusion_ranges(index: int, size: int) -> list[tuple[int, int]]:
    """The leaf ranges whose roots are the inclusion proof, the leaf's sibling first. Raises ``Rejected``."""
    if not 0 <= index < size <= SIZE_MAX:
        raise Rejected(f"a tree of size {size} has no entry {index}")
    ranges = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    return ranges[::-1]


def consistency_ranges(old: int, new: int) -> list[tuple[int, int]]:
    """The leaf ranges whose roots are the consistency proof, in its order. Raises ``Rejected``.

    Empty for ``old`` 0 (tlog-witness: the empty tree needs no proof) and for equal sizes.
    """
    if not 0 <= old <= new <= SIZE_MAX:
        raise Rejected(f"a tree of size {old} cannot be the start of one of size {new}")
    if old in (0, new):
        return []
    ranges = []
    start, end = 0, new
    while end != old:
        middle = start + _split(end - start)
        if old <= middle:
            ranges.append((middle, end))
            end = middle
        else:
            ranges.append((start, middle))
            start = middle
    if start:  # otherwise the old tree is a complete subtree whose root the checker holds already
        ranges.append((start, end))
    return ranges[::-1]


# --- making roots and proofs ----------------------------------------------------------------------


def root_from(read: ReadHash, size: int) -> bytes:
    """The root of the first ``size`` leaves. Raises ``Rejected`` for an impossible size."""
    return _range_root(read, 0, size)


def inclusion_proof(read: ReadHash, index: int, size: int) -> list[bytes]:
    """The hashes from the leaf's sibling up to the root's child (RFC 6962 section 2.1.1).

    Raises ``Rejected`` where the tree of ``size`` leaves has no leaf ``index``.
    """
    return [_range_root(read, *leaves) for leaves in inclusion_ranges(index, size)]


def consistency_proof(read: ReadHash, old: int, new: int) -> list[bytes]:
    """That the tree of ``old`` leaves is the start of the one of ``new`` (RFC 6962 section 2.1.2).

    Raises ``Rejected`` where ``old`` is above ``new``.
    """
    return [_range_root(read, *leaves) for leaves in consistency_ranges(old, new)]


class Frontier:
    """The right edge of a growing tree: the roots of its complete subtrees, at most 63."""

    __slots__ = ("_roots", "_size")

    def __init__(self) -> None:
        self._roots: list[bytes] = []
        self._size = 0

    @classmethod
    def at(cls, read: ReadHash, size: int) -> Frontier:
        """The edge of the tree of ``size`` leaves whose subtrees ``read`` gives. Raises ``Rejected``."""
        frontier = cls()
        frontier._roots = [read(level, index) for level, index in subtrees(0, size)]
        frontier._size = size
        return frontier

    @property
    def size(self) -> int:
        """How many leaves the tree has."""
        return self._size

    def append(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Add a leaf hash; returns what is complete now as (level, index, hash), the leaf first."""
        if self._size >= SIZE_MAX:
            raise Rejected("the log is full: it holds 2^63 - 1 entries")
        index = self._size
        completed = [(0, index, leaf)]
        level = 0
        while index & 1:
            leaf = node_hash(self._roots.pop(), leaf)
            index >>= 1
            level += 1
            completed.append((level, index, leaf))
        self._roots.append(leaf)
        self._size += 1
        return completed

    def root(self) -> bytes:
        """The root of all leaves so far."""
        return fold(self._roots)

    def copy(self) -> Frontier:
        """An edge that grows on its own from here."""
        other = Frontier()
        other._roots = list(self._roots)
        other._size = self._size
        return other


# --- checking -------------------------------------------------------------------------------------


def check_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raise ``Rejected`` unless this leaf hash stands at ``index`` in the tree of that size and root."""
    ranges = inclusion_ranges(index, size)
    _check_proof(proof, len(ranges))
    found = leaf
    for (start, _), sibling in zip(ranges, proof, strict=True):
        found = node_hash(found, sibling) if start > index else node_hash(sibling, found)
    if found != root:
        raise Rejected(f"the inclusion proof of entry {index} does not lead to the root of size {size}")


def check_consistency(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Raise ``Rejected`` unless the old tree is the start of the new one.

    A tree of size 0 has ``EMPTY_ROOT`` and takes no proof; equal sizes need equal roots and take no proof.
    """
    ranges = consistency_ranges(old, new)
    _check_proof(proof, len(ranges))
    for size, root in ((old, old_root), (new, new_root)):
        if size == 0 and root != EMPTY_ROOT:
            raise Rejected("a tree of size 0 has another root than the empty tree")
    if old == 0:
        return
    if old == new:
        if old_root != new_root:
            raise Rejected(f"two trees of size {old} have different roots")
        return
    hashes = iter(proof)
    ranges_up = iter(ranges)
    # The walk up starts at the largest complete subtree that ends where the old tree ends.
    if ranges[0][1] == old:
        next(ranges_up)
        old_found = new_found = next(hashes)
    else:
        old_found = new_found = old_root
    for (start, _), sibling in zip(ranges_up, hashes, strict=True):
        if start < old:
            old_found = node_hash(sibling, old_found)
            new_found = node_hash(sibling, new_found)
        else:
            new_found = node_hash(new_found, sibling)
    if old_found != old_root or new_found != new_root:
        raise Rejected(f"the trees of sizes {old} and {new} are not consistent by this proof")


# --- the rules below ------------------------------------------------------------------------------


def _split(size: int) -> int:
    """The largest power of two below ``size`` (at least 2)."""
    return 1 << ((size - 1).bit_length() - 1)


def fold(roots: Iterable[bytes]) -> bytes:
    """The root over neighbouring complete subtrees, largest first."""
    found = None
    for left in reversed(list(roots)):
        found = left if found is None else node_hash(left, found)
    return EMPTY_ROOT if found is None else found


def _range_root(read: ReadHash, start: int, end: int) -> bytes:
    return fold(read(level, index) for level, index in subtrees(start, end))


def _check_proof(proof: Sequence[bytes], count: int) -> None:
    if len(proof) != count:
        raise Rejected(f"the proof has {len(proof)} hashes instead of {count}")
    if any(len(one) != HASH_BYTES for one in proof):
        raise Rejected(f"the proof holds a hash that is not {HASH_BYTES} bytes long")
