"""Links that wait in all walks together are bounded, and given back when a walk ends, however it ends."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from node.core.errors import NotFound, Unavailable
from node.core.ipld.cid import RAW, Cid
from node.ipfs.gateway.dag import resolve
from node.ipfs.gateway.seen import Pool, Waiting
from node.ipfs.gateway.walk import Scope, blocks, plan
from tests.unit.ipfs.gateway.dags import Shelf


def test_what_is_over_its_own_comes_from_the_pool_and_goes_back() -> None:
    pool = Pool(own=3, shared=10)
    one, other = Waiting(pool), Waiting(pool)
    one.set(3)
    assert pool.left == 10
    one.set(9)
    other.set(7)
    assert pool.left == 0
    other.set(7)
    with pytest.raises(Unavailable, match="wait"):
        one.set(10)
    assert pool.left == 0, "what is refused takes nothing"
    one.set(1)
    assert pool.left == 6
    other.set(0)
    one.set(0)
    assert pool.left == 10


@pytest.mark.parametrize("dups", [True, False])
async def test_walks_share_what_may_wait(shelf: Shelf, dups: bool) -> None:
    leaves = [shelf.put(b"%d" % number) for number in range(20)]
    root = shelf.node(None, [(None, leaf) for leaf in leaves])
    place = await resolve(shelf.get, root, [])
    todo = await plan(place, Scope.ALL, None)
    waiting = Pool(own=4, shared=20)

    first = blocks(shelf.get, place, todo, None if dups else Pool(), shelf.get_many, waiting=waiting)
    async with aclosing(first):
        await anext(first)
        await anext(first)
        assert waiting.left < 20
        second = blocks(shelf.get, place, todo, None if dups else Pool(), shelf.get_many, waiting=waiting)
        assert (await anext(second))[0] == root, "what is found out later comes later"
        with pytest.raises(Unavailable, match="wait"):
            await anext(second)
        assert len([cid async for cid, _ in first]) == 19
    assert waiting.left == 20
    third = blocks(shelf.get, place, todo, None if dups else Pool(), shelf.get_many, waiting=waiting)
    assert [cid async for cid, _ in third] == [root, *leaves]
    assert waiting.left == 20


async def test_a_walk_that_fails_or_is_left_gives_back(shelf: Shelf) -> None:
    leaves = [shelf.put(b"x"), *(Cid.of(b"absent %d" % number, RAW) for number in range(9))]
    root = shelf.node(None, [(None, leaf) for leaf in leaves])
    place = await resolve(shelf.get, root, [])
    todo = await plan(place, Scope.ALL, None)
    waiting = Pool(own=0, shared=10)
    failing = blocks(shelf.get, place, todo, None, waiting=waiting)
    with pytest.raises(NotFound):
        assert [cid async for cid, _ in failing] == []
    assert waiting.left == 10
    left = blocks(shelf.get, place, todo, None, waiting=waiting)
    await anext(left)
    await anext(left)
    assert waiting.left < 10
    await left.aclose()
    assert waiting.left == 10
