from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.core.errors import BadInput, NotFound, Unavailable
from node.core.ipld.cid import DAG_CBOR, DAG_PB, Cid
from node.core.ipld.unixfs import DIRECTORY, FILE, METADATA, RAW, SYMLINK, Kind
from node.ipfs.gateway import dag, walk
from node.ipfs.gateway.byte_range import ByteRange
from node.ipfs.gateway.dag import resolve
from node.ipfs.gateway.seen import Pool, Seen
from node.ipfs.gateway.walk import Scope, blocks, plan
from tests.unit.ipfs.gateway.dags import Shelf, identity, link, names, unixfs


async def walked(
    shelf: Shelf, root: Cid, *path: str, scope: str = "all", span: str | None = None, dups: bool = False
) -> list[Cid]:
    place = await resolve(shelf.get, root, path)
    todo = await plan(place, Scope(scope), ByteRange.parse(span) if span else None)
    both = []
    for get_many in (None, shelf.get_many):
        found = []
        async for cid, data in blocks(shelf.get, place, todo, None if dups else Pool(), get_many):
            assert cid.matches(data)
            found.append(cid)
        both.append(found)
    assert both[0] == both[1], "reading ahead changes nothing"
    return both[0]


async def test_the_blocks_of_the_path_come_first(shelf: Shelf) -> None:
    parts = [shelf.put(part) for part in (b"aaaa", b"bbbb")]
    file = shelf.file([(part, 4) for part in parts])
    inner = shelf.directory({"file": file, "other": shelf.put(b"other")})
    root = shelf.directory({"sub": inner, "beside": shelf.put(b"beside")})
    assert await walked(shelf, root, "sub", "file") == [root, inner, file, *parts]
    assert await walked(shelf, root, "sub", "file", scope="block") == [root, inner, file]
    assert await walked(shelf, root, "sub", "file", scope="entity") == [root, inner, file, *parts]
    assert await walked(shelf, root, "sub", scope="entity") == [root, inner]
    assert await walked(shelf, root, "sub") == [root, inner, file, *parts, *names(shelf, inner)[1:]]


async def test_depth_first_in_the_order_of_links(shelf: Shelf) -> None:
    leaves = [shelf.put(b"%d" % number) for number in range(4)]
    left = shelf.directory({"a": leaves[0], "b": leaves[1]})
    right = shelf.cbor([link(leaf) for leaf in leaves[2:]])
    root = shelf.node(unixfs(DIRECTORY), [("z", left), ("y", right)])
    assert await walked(shelf, root) == [root, left, *leaves[:2], right, *leaves[2:]]


async def test_duplicates_are_repeated_or_not(shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    file = shelf.file([(leaf, 4), (leaf, 4)])
    root = shelf.directory({"a": file, "b": file, "c": leaf})
    assert await walked(shelf, root) == [root, file, leaf]
    assert await walked(shelf, root, dups=True) == [root, file, leaf, leaf, file, leaf, leaf, leaf]


async def test_a_shared_graph_with_a_thousand_ways_is_walked_once(shelf: Shelf) -> None:
    below = shelf.put(b"leaf")
    for _ in range(60):
        below = shelf.node(None, [("a", below), ("b", below)])
    assert len(await walked(shelf, below)) == 61
    assert len(shelf.reads) + len(shelf.ahead) < 260, "walked twice"


async def test_what_repeats_without_end_ends(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "BLOCKS_MAX", 1_000)
    below = shelf.put(b"leaf")
    for _ in range(60):
        below = shelf.node(None, [("a", below), ("b", below)])
    with pytest.raises(Unavailable, match="1000"):
        await walked(shelf, below, dups=True)


async def test_links_that_wait_are_bounded(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "PENDING_MAX", 50)
    leaves = [(str(number), shelf.put(b"%d" % number)) for number in range(30)]
    deeper = shelf.node(None, leaves)
    root = shelf.node(None, [("0", deeper), *leaves])
    with pytest.raises(Unavailable, match="wait"):
        await walked(shelf, root)
    assert len(await walked(shelf, deeper)) == 31


def test_what_was_seen_is_bounded_over_all_and_given_back() -> None:
    pool = Pool(own=1, shared=2)
    first, second = Seen(pool), Seen(pool)
    old, new = Cid(DAG_PB, b"\1" * 32, version=0), Cid(DAG_PB, b"\1" * 32)
    assert first.add(old)
    assert new in first
    assert not first.add(new)
    assert first.add(Cid(DAG_CBOR, b"\1" * 32))  # other links are in it
    assert first.add(Cid(DAG_PB, b"\2" * 32))
    with pytest.raises(Unavailable, match="dups=y"):
        first.add(Cid(DAG_PB, b"\3" * 32))
    assert second.add(new)  # its own
    with pytest.raises(Unavailable):
        second.add(Cid(DAG_PB, b"\4" * 32))
    first.forget()
    assert pool.left == 2
    assert second.add(Cid(DAG_PB, b"\4" * 32))
    assert new not in first


async def test_a_walk_gives_back_what_it_remembered(shelf: Shelf) -> None:
    leaves = [shelf.put(b"%d" % number) for number in range(20)]
    root = shelf.file([(leaf, 2) for leaf in leaves])
    pool = Pool(own=5, shared=40)
    place = await resolve(shelf.get, root, ())
    todo = await plan(place, Scope.ALL, None)
    assert len([cid async for cid, _ in blocks(shelf.get, place, todo, pool)]) == 21
    assert pool.left == 40
    walking = blocks(shelf.get, place, todo, pool)
    for _ in range(10):
        await anext(walking)
    assert pool.left == 35
    await walking.aclose()
    assert pool.left == 40


async def test_large_blocks_are_read_like_small_ones(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the event loop, that is."""
    monkeypatch.setattr(dag, "LARGE_BYTES", 10)
    leaves = {str(number): shelf.put(b"%d" % number) for number in range(40)}
    shards = shelf.shards(leaves)
    root = shelf.directory({"d": shards, "c": shelf.cbor({"x": [link(shards)]})})
    assert (await walked(shelf, root, "c", "x", "0", "17", scope="entity"))[-1] == leaves["17"]
    assert set(await walked(shelf, root, "d")) > set(leaves.values())


async def test_identity_cids_are_never_given_but_followed(shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    made = shelf.directory({"x": leaf})
    inlined = identity(shelf.blocks[made.multihash], DAG_PB)
    root = shelf.directory({"d": inlined, "e": identity(b"hello")})
    for dups in (False, True):
        assert await walked(shelf, root, dups=dups) == [root, leaf]
        assert await walked(shelf, root, "d", "x", dups=dups) == [root, leaf]
        assert await walked(shelf, identity(b""), dups=dups) == []
        assert await walked(shelf, inlined, dups=dups) == [leaf]


async def test_a_missing_child_ends_the_walk_after_what_was_there(shelf: Shelf) -> None:
    parts = [shelf.put(part) for part in (b"aa", b"bb", b"cc")]
    root = shelf.file([(part, 2) for part in parts])
    shelf.drop(parts[1])
    place = await resolve(shelf.get, root, ())
    for get_many in (None, shelf.get_many):
        walking = blocks(shelf.get, place, await plan(place, Scope.ALL, None), Pool(), get_many)
        assert [(await anext(walking))[0] for _ in range(2)] == [root, parts[0]]
        with pytest.raises(NotFound):
            await anext(walking)
    assert await walked(shelf, root, span="0:1", scope="entity") == [root, parts[0]]
    assert await walked(shelf, root, span="4:*", scope="entity") == [root, parts[2]]


async def test_an_entity_of_a_sharded_directory_is_its_shards(shelf: Shelf) -> None:
    entries = {f"{number}.txt": shelf.chunks([b"%d" % number, b"more"]) for number in range(60)}
    root = shelf.shards(entries)
    found = await walked(shelf, root, scope="entity")
    assert found[0] == root
    assert len(found) > 5
    assert not set(found) & set(entries.values())
    assert set(entries.values()) < set(await walked(shelf, root))
    name = max(entries, key=lambda name: len(name))
    way = await walked(shelf, root, name, scope="block")
    assert way[-1] == entries[name]
    assert set(way[:-1]) <= set(found)


@pytest.mark.parametrize("kind", [SYMLINK, METADATA, DIRECTORY])
async def test_other_entities_are_one_block(shelf: Shelf, kind: Kind) -> None:
    leaf = shelf.put(b"leaf")
    links = [] if kind == SYMLINK else [("x", leaf)]
    root = shelf.node(unixfs(kind, b"x"), links)
    assert await walked(shelf, root, scope="entity") == [root]
    assert await walked(shelf, root, scope="entity", span="0:*") == [root]


async def test_bytes_of_documents_are_ignored(shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    root = shelf.cbor({"x": link(leaf)})
    assert await walked(shelf, root, scope="entity", span="900:*") == [root]
    assert await walked(shelf, root, "x", scope="entity", span="0:*") == [root, leaf]
    with pytest.raises(BadInput):
        await walked(shelf, leaf, scope="entity", span="4:*")


async def test_below_a_value_are_the_links_in_it(shelf: Shelf) -> None:
    one, two, three = (shelf.put(text) for text in (b"1", b"2", b"3"))
    root = shelf.cbor({"a": [{"x": link(one)}, link(two)], "b": link(three)})
    assert await walked(shelf, root, "a") == [root, one, two]
    assert await walked(shelf, root, "a", "0") == [root, one]
    assert await walked(shelf, root, "a", scope="entity") == [root]
    assert await walked(shelf, root) == [root, one, two, three]
    document = shelf.json({"a": {"b": [{"/": str(one)}]}, "c": {"/": str(two)}})
    assert await walked(shelf, document, "a", "b") == [document, one]


async def test_blocks_that_cannot_be_read_have_nothing_below_them(shelf: Shelf) -> None:
    broken, odd = shelf.put(b"\xff\xff", DAG_PB), shelf.put(b"odd", 0x0300)
    lying = shelf.node(unixfs(FILE, blocksizes=[1, 2]), [("", odd)])
    root = shelf.directory({"a": broken, "b": odd, "c": lying})
    assert await walked(shelf, root) == [root, broken, odd, lying]
    assert await walked(shelf, broken, scope="entity") == [broken]
    assert await walked(shelf, lying, scope="entity", span="0:*") == [lying]
    assert await walked(shelf, odd, scope="entity") == [odd]
    file = shelf.file([(shelf.put(b"\xff", DAG_PB), 4), (shelf.directory({}), 4), (odd, 4)])
    assert len(await walked(shelf, file, scope="entity")) == 4
    assert len(await walked(shelf, file, scope="entity", span="5:6")) == 2


async def test_bytes_that_stand_in_a_node_itself_come_before_its_children(shelf: Shelf) -> None:
    leaf = shelf.put(b"cdef")
    root = shelf.file([(leaf, 4)], inline=b"ab")
    assert await walked(shelf, root, scope="entity", span="0:1") == [root]
    assert await walked(shelf, root, scope="entity", span="1:2") == [root, leaf]
    with pytest.raises(BadInput):
        await walked(shelf, root, scope="entity", span="6:*")
    assert await walked(shelf, root, scope="entity", span="3:2") == [root]


async def test_a_part_wanted_first_in_piece_and_then_whole_is_given_whole(shelf: Shelf) -> None:
    parts = [shelf.put(part) for part in (b"aa", b"bb")]
    part = shelf.file([(cid, 2) for cid in parts])
    root = shelf.file([(part, 4), (part, 4)])
    assert await walked(shelf, root, scope="entity", span="2:*") == [root, part, parts[1], parts[0]]
    assert await walked(shelf, root, scope="entity", span="2:*", dups=True) == [
        root, part, parts[1], part, *parts
    ]  # fmt: skip


async def test_sizes_that_lie_cost_no_more_than_the_blocks(shelf: Shelf) -> None:
    below = shelf.chunks([b"ab", b"cd"])
    for level in range(60):
        below = shelf.file([(below, 2**level), (below, 2 ** (level + 1))])
    shelf.reads.clear()
    found = await walked(shelf, below, scope="entity", span="1:-2")
    assert len(found) == len(set(found)) <= 63
    assert len(shelf.reads) < 4_000


def liar(shelf: Shelf, levels: int) -> Cid:
    """A file whose sizes make another span of each way through the same few blocks."""
    below = shelf.put(b"x" * 8)
    for level in range(levels):
        below = shelf.file([(below, level**2 + 1_000), (below, 10_000)])
    return below


async def test_sizes_that_lie_end_the_walk(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "AGAIN_PAGES_MAX", 500)
    root = liar(shelf, 300)
    with pytest.raises(Unavailable, match="contradict"):
        await walked(shelf, root, scope="entity", span="1:-7")
    assert len(shelf.reads) < 1_000


async def test_the_same_part_is_walked_once(shelf: Shelf) -> None:
    below = shelf.put(b"x" * 8)
    for level in range(300):
        below = shelf.file([(below, 4 * level + 1_000), (below, 10)])
    assert len(await walked(shelf, below, scope="entity", span="1:-7")) == 301
    assert len(shelf.reads) < 2_000


async def test_a_walk_that_gives_nothing_asks_whether_to_go_on(shelf: Shelf) -> None:
    root = liar(shelf, 300)
    place = await resolve(shelf.get, root, ())
    todo = await plan(place, Scope.ENTITY, ByteRange.parse("1:-7"))
    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked == 10:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        async for _ in blocks(shelf.get, place, todo, Pool(), check=check):
            pass
    assert len(shelf.reads) <= 10 * walk.CHECK_LINKS


def tree(shelf: Shelf, parts: Sequence[bytes], width: int) -> tuple[Cid, dict[Cid, list[tuple[int, int]]]]:
    """A file of several levels, and where the bytes of each leaf stand in it."""
    level = [(shelf.put(part), len(part)) for part in parts]
    where: dict[Cid, list[tuple[int, int]]] = {}
    start = 0
    for cid, size in level:
        where.setdefault(cid, []).append((start, start + size - 1))
        start += size
    while len(level) > 1 or level[0][0] in where:
        level = [
            (shelf.file(group, kind=FILE if width % 2 else RAW), sum(size for _, size in group))
            for group in (level[at : at + width] for at in range(0, len(level), width))
        ]
    return level[0][0], where


@settings(max_examples=60)
@given(
    st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=30),
    st.integers(2, 4),
    st.integers(-60, 60),
    st.integers(-60, 60) | st.none(),
)
async def test_a_range_gives_the_leaves_that_hold_it_and_no_others(
    parts: list[bytes], width: int, first: int, last: int | None
) -> None:
    shelf = Shelf()
    root, where = tree(shelf, parts, width)
    span = ByteRange(first, last)
    try:
        bounds = span.within(sum(map(len, parts)))
    except BadInput:
        return
    for dups in (False, True):
        found = await walked(shelf, root, scope="entity", span=str(span), dups=dups)
        leaves = [cid for cid in found if cid in where]
        if bounds is None:
            assert found == [root]
            continue
        needed = [
            (start, cid)
            for cid, places in where.items()
            for start, end in places
            if start <= bounds[1] and end >= bounds[0]
        ]
        expected = [cid for _, cid in sorted(needed)]
        assert leaves == (expected if dups else list(dict.fromkeys(expected)))
        assert dups or len(set(found)) == len(found)
