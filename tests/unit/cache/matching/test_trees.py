"""Many trees at once, against one node after the other."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.cache.matching.trees import LEAVES_MAX, Forest, Tree

WIDTH = 4
VALUES = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-3, 3), st.just(math.nan))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A leaf is replaced by a node with two, again and again."""
    number: list[int] = []
    limit: list[float] = []
    children: list[list[int]] = []
    leaves = 1
    for _ in range(draw(st.integers(0, 12))):
        places = [
            (node, side) for node in range(len(children)) for side in (0, 1) if children[node][side] < 0
        ]
        number.append(draw(st.integers(0, WIDTH - 1)))
        limit.append(draw(st.sampled_from([0.0, 1.0, -1.0, 0.5])))
        if places:
            node, side = draw(st.sampled_from(places))
            kept = children[node][side]
            children[node][side] = len(children)
        else:
            kept = -1
        leaves += 1
        children.append(draw(st.permutations([kept, -leaves])))
    left, right = (tuple(pair[side] for pair in children) for side in (0, 1))
    leaf = tuple(draw(st.floats(-1, 1)) for _ in range(leaves))
    return Tree(tuple(number), tuple(limit), left, right, leaf)


def walked(tree: Tree, numbers: list[float]) -> float:
    node = 0 if tree.number else -1
    while node >= 0:
        side = tree.left if numbers[tree.number[node]] <= tree.limit[node] else tree.right
        node = side[node]
    return tree.leaf[-node - 1]


@given(
    st.lists(trees(), max_size=5),
    st.lists(st.lists(VALUES, min_size=WIDTH, max_size=WIDTH), max_size=4),
)
def test_each_tree_ends_where_a_walk_ends(some: list[Tree], rows: list[list[float]]) -> None:
    wanted = [math.fsum(walked(tree, row) for tree in some) for row in rows]
    assert Forest(some).sums(rows).tolist() == pytest.approx(wanted, abs=1e-9)


def test_a_tree_with_too_many_leaves_is_refused() -> None:
    inner = LEAVES_MAX
    chain = Tree(
        (0,) * inner,
        tuple(map(float, range(inner))),
        tuple(-at - 1 for at in range(inner)),
        (*range(1, inner), -inner - 1),
        (0.0,) * (inner + 1),
    )
    with pytest.raises(ValueError, match=str(LEAVES_MAX)):
        Forest([chain])
