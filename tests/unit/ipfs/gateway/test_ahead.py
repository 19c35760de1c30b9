"""Reading ahead: fewer reads, bounded memory, and the errors of the block that is missing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from node.core.errors import NotFound
from node.core.ipld.cid import Cid
from node.ipfs.gateway import ahead, walk
from node.ipfs.gateway.ahead import Ahead
from node.ipfs.gateway.dag import resolve
from node.ipfs.gateway.seen import Pool
from node.ipfs.gateway.walk import Scope, blocks, plan
from tests.unit.ipfs.gateway.dags import Shelf, identity, link


async def walked(shelf: Shelf, root: Cid) -> list[Cid]:
    place = await resolve(shelf.get, root, ())
    todo = await plan(place, Scope.ALL, None)
    return [cid async for cid, _ in blocks(shelf.get, place, todo, Pool(), shelf.get_many)]


def leaves_of(shelf: Shelf, count: int, size: int = 8) -> list[Cid]:
    return [shelf.put(b"%0*d" % (size, number)) for number in range(count)]


async def test_leaves_are_read_once_and_together(shelf: Shelf) -> None:
    leaves = leaves_of(shelf, 200)
    root = shelf.cbor([link(leaf) for leaf in leaves])
    assert await walked(shelf, root) == [root, *leaves]
    assert shelf.reads == [root]
    assert shelf.ahead == leaves


async def test_so_many_are_read_at_once(shelf: Shelf) -> None:
    sizes: list[int] = []

    async def many(cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        sizes.append(len(cids))
        return await shelf.get_many(cids, bytes_max)

    root = shelf.cbor([link(leaf) for leaf in leaves_of(shelf, 200)])
    place = await resolve(shelf.get, root, ())
    todo = await plan(place, Scope.ALL, None)
    assert len([cid async for cid, _ in blocks(shelf.get, place, todo, Pool(), many)]) == 201
    assert sizes == [ahead.BLOCKS, ahead.BLOCKS, ahead.BLOCKS, 200 - 3 * ahead.BLOCKS]


async def test_a_deep_graph_is_walked_whole_with_little_read_twice(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "BLOCKS", 4)
    monkeypatch.setattr(ahead, "HELD_BLOCKS", 8)
    level = leaves_of(shelf, 3**6)
    while len(level) > 1:
        level = [shelf.cbor([link(cid) for cid in level[at : at + 3]]) for at in range(0, len(level), 3)]
    found = await walked(shelf, level[0])
    assert len(found) == len(set(found)) == sum(3**height for height in range(7))
    assert len(shelf.ahead) + len(shelf.reads) < 1.5 * len(found)


async def test_what_is_never_taken_is_dropped(shelf: Shelf) -> None:
    for size, held_max in ((8, ahead.HELD_BLOCKS + ahead.BLOCKS), (2**17, 14)):
        leaves = leaves_of(shelf, 1_000 if size == 8 else 60, size)
        reader = Ahead(shelf.get, shelf.get_many)
        most = 0
        for at in range(0, len(leaves), 4):
            taken = await reader.take(leaves[at], leaves[at + 1 : at + 4])
            assert taken == shelf.blocks[leaves[at].multihash]
            most = max(most, sum(cid in reader for cid in leaves))
        assert held_max // 2 < most <= held_max


async def test_a_block_that_is_missing_is_said_to_be_when_it_is_wanted(shelf: Shelf) -> None:
    here, there, missing = leaves_of(shelf, 3)
    shelf.drop(missing)
    reader = Ahead(shelf.get, shelf.get_many)
    assert await reader.take(here, [missing, there]) == b"00000000"
    assert there in reader
    with pytest.raises(NotFound):
        await reader.take(missing, [])
    assert await reader.take(there, []) == b"00000001"
    assert shelf.reads == [missing]


async def test_where_nothing_can_be_read_ahead_it_is_seldom_tried(shelf: Shelf) -> None:
    leaves = leaves_of(shelf, 200)
    tries: list[int] = []

    async def nothing(cids: object, bytes_max: int) -> dict[Cid, bytes]:
        tries.append(bytes_max)
        return {}

    reader = Ahead(shelf.get, nothing)
    for leaf in leaves:
        assert await reader.take(leaf, [])
    assert shelf.reads == leaves
    assert len(tries) == 4
    assert await reader.take(identity(b"here"), []) == b"here"
