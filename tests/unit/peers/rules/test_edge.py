"""The right edge of a log that is read: the same hashes as the tree's, whatever it grows by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.core.errors import Rejected
from node.core.merkle import EMPTY_ROOT, leaf_hash, subtrees
from node.peers.rules.edge import Edge
from tests.tlog_memory import MemoryLog, leaf

LOG = MemoryLog.of(700)
LEAVES = [leaf_hash(leaf(index)) for index in range(700)]


@given(st.integers(0, 700), st.integers(0, 700))
def test_it_grows_by_leaves_and_by_subtrees(one: int, other: int) -> None:
    old, new = sorted((one, other))
    edge = Edge().grown(LEAVES[:old])
    assert (edge.size, edge.root) == (old, LOG.root(old))
    grown = edge.grown(LEAVES[old:new])
    assert grown.root == LOG.root(new)
    after = [(level, LOG.read(level, index)) for level, index in subtrees(old, new)]
    assert edge.joined(new, after) == grown


def test_no_leaves() -> None:
    assert Edge().root == EMPTY_ROOT


@pytest.mark.parametrize(
    ("size", "roots"),
    [(1, ()), (0, (bytes(32),)), (3, (bytes(32),)), (1, (bytes(31),)), (-1, ()), (2**63, (bytes(32),))],
)
def test_what_is_no_edge(size: int, roots: tuple[bytes, ...]) -> None:
    with pytest.raises(Rejected):
        Edge(size, roots)


def test_subtrees_that_make_up_another_size() -> None:
    with pytest.raises(Rejected):
        Edge().joined(3, [(0, bytes(32))])
    with pytest.raises(Rejected):
        Edge().joined(2**63, [])
