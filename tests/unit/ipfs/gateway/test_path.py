from __future__ import annotations

import threading

import pytest

from node.core.errors import NotFound
from node.core.ipld.cid import DAG_PB, Cid
from node.core.ipld.unixfs import DIRECTORY, HAMT, SYMLINK
from node.ipfs.gateway.dag import apart, resolve
from tests.unit.ipfs.gateway.dags import Shelf, identity, link, unixfs


async def test_only_a_small_block_is_read_on_the_event_loop() -> None:
    assert await apart(bytes(16 * 2**10), threading.get_ident) == threading.get_ident()
    assert await apart(bytes(16 * 2**10 + 1), threading.get_ident) != threading.get_ident()


async def test_the_root_alone(shelf: Shelf) -> None:
    root = shelf.put(b"leaf")
    place = await resolve(shelf.get, root, ())
    assert (place.cid, place.data, place.trail, place.roots, place.inner) == (root, b"leaf", (), (root,), ())


async def test_through_directories(shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    inner = shelf.directory({"ä file.txt": leaf, "other": shelf.put(b"other")})
    root = shelf.directory({"sub/dir": inner})
    place = await resolve(shelf.get, root, ("sub/dir", "ä file.txt"))
    assert (place.cid, place.trail, place.roots) == (leaf, (root, inner), (root, inner, leaf))
    assert shelf.reads == [root, inner, leaf]  # and nothing beside the way


async def test_through_shards_which_are_no_roots(shelf: Shelf) -> None:
    entries = {f"{number}.txt": shelf.put(b"%d" % number) for number in range(200)}
    root = shelf.shards(entries)
    deepest = 0
    for name, leaf in entries.items():
        shelf.reads.clear()
        place = await resolve(shelf.get, root, (name,))
        assert (place.cid, place.roots, place.trail[0]) == (leaf, (root, leaf), root)
        assert shelf.reads == [*place.trail, leaf]
        deepest = max(deepest, len(place.trail))
    assert deepest > 2
    with pytest.raises(NotFound, match="no 'absent'"):
        await resolve(shelf.get, root, ("absent",))
    with pytest.raises(NotFound):
        await resolve(shelf.get, root, ("0",))  # the name of a place, not of an entry


async def test_links_in_dag_cbor_and_dag_json(shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    inner = shelf.json({"list": [1, {"/": str(leaf)}]})
    root = shelf.cbor({"a": {"b": link(inner)}, "text": "value"})
    place = await resolve(shelf.get, root, ("a", "b", "list", "1"))
    assert (place.cid, place.trail, place.roots) == (leaf, (root, inner), (root, inner, leaf))


async def test_a_path_may_end_at_a_value(shelf: Shelf) -> None:
    root = shelf.cbor({"a": [{"text": "value"}]})
    place = await resolve(shelf.get, root, ("a", "0", "text"))
    assert (place.cid, place.trail, place.roots, place.inner) == (root, (), (root,), ("a", "0", "text"))


async def test_identity_cids_lead_on_without_a_block(shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    made = shelf.directory({"x": leaf})
    inlined = identity(shelf.blocks[made.multihash], DAG_PB)
    root = shelf.directory({"d": inlined})
    assert (await resolve(shelf.get, root, ("d", "x"))).trail == (root, inlined)
    assert inlined not in shelf.reads


@pytest.mark.parametrize(
    "path",
    [
        *(("nothing",), ("file", "below"), ("raw", "below"), ("cbor", "nothing"), ("cbor", "list", "7")),
        *(("cbor", "list", "00"), ("cbor", "text", "0"), ("link", "x"), ("odd", "x"), ("broken", "x")),
        ("shard", "x"),
    ],
)
async def test_what_leads_nowhere_is_not_found(shelf: Shelf, path: tuple[str, ...]) -> None:
    root = shelf.directory(
        {
            "file": shelf.chunks([b"a", b"b"]),
            "raw": shelf.put(b"raw"),
            "cbor": shelf.cbor({"list": ["a"], "text": "t"}),
            "link": shelf.node(unixfs(SYMLINK, b"raw"), []),
            "odd": shelf.put(b"odd", 0x0300),
            "broken": shelf.put(b"\xff\xff", DAG_PB),
            "shard": shelf.node(unixfs(HAMT, fanout=7), []),
        }
    )
    with pytest.raises(NotFound):
        await resolve(shelf.get, root, path)


async def test_a_plain_node_is_followed_by_the_names_of_its_links(shelf: Shelf) -> None:
    leaf = shelf.put(b"leaf")
    root = shelf.node(None, [("first", leaf), ("first", shelf.put(b"second"))])
    assert (await resolve(shelf.get, root, ("first",))).cid == leaf


async def test_a_block_missing_on_the_way_is_not_found(shelf: Shelf) -> None:
    inner = shelf.directory({"x": shelf.put(b"leaf")})
    root = shelf.directory({"d": inner})
    shelf.drop(inner)
    with pytest.raises(NotFound):
        await resolve(shelf.get, root, ("d", "x"))


async def test_shards_in_a_ring_of_claims_end(shelf: Shelf) -> None:
    """Each shard says that the name is below it: the bits of the hash end first."""
    content = unixfs(HAMT, b"\1", hash_type=0x22, fanout=8)
    below: Cid = shelf.node(content, [])
    for _ in range(40):
        below = shelf.node(content, [(f"{place:X}", below) for place in range(8)])
    with pytest.raises(NotFound, match="too deep"):
        await resolve(shelf.get, below, ("name",))
    assert len(shelf.reads) < 25


async def test_the_version_of_a_link_is_kept(shelf: Shelf) -> None:
    old = shelf.node(unixfs(DIRECTORY), [], version=0)
    root = shelf.directory({"old": old})
    place = await resolve(shelf.get, root, ("old",))
    assert str(place.cid).startswith("Qm")
    assert str(place.roots[-1]) == str(old)
