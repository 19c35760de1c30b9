"""Sharded directories: places as the specification and another implementation have them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from node.core.errors import Rejected
from node.core.ipld import hamt, unixfs
from node.core.ipld.cid import RAW, Cid
from node.core.ipld.dagpb import PbLink, PbNode, decode
from node.core.ipld.unixfs import Kind, UnixFs
from tests.unit.core.ipld.vectors import JS_SHARD, JS_SUB_SHARD

SHARD = decode(JS_SHARD)
SUB_SHARD = decode(JS_SUB_SHARD)
CONTENT = unixfs.of(SHARD)
X = Cid.of(b"x", RAW)


def test_places_of_the_specification() -> None:
    """UnixFS specification, HAMTDirectory: 470.txt is at 00 then 6E, 742.txt at 00 then FF."""
    assert [hamt.bucket("470.txt", 256, depth) for depth in (0, 1)] == [0x00, 0x6E]
    assert [hamt.bucket("742.txt", 256, depth) for depth in (0, 1)] == [0x00, 0xFF]


def test_every_name_is_found_where_another_implementation_put_it() -> None:
    sub_shard = Cid.of(JS_SUB_SHARD, 0x70)
    found: dict[int, hamt.Child | None] = {
        number: hamt.find(SHARD, CONTENT, f"{number}.txt", 0) for number in range(40)
    }
    assert all(found.values())
    assert {number for number, child in found.items() if child and not child.is_shard} == {4, 10, 23, 32}
    below = [number for number, child in found.items() if child and child.cid == sub_shard]
    assert sorted(below) == [1, 2, 26]
    for number in below:
        assert hamt.find(SUB_SHARD, unixfs.of(SUB_SHARD), f"{number}.txt", 1) == hamt.Child(
            X, f"{number}.txt"
        )
    assert hamt.find(SUB_SHARD, unixfs.of(SUB_SHARD), "3.txt", 1) is None


def test_children_tell_entries_from_shards() -> None:
    entries = {child.name for child in hamt.children(SHARD, CONTENT) if not child.is_shard}
    assert entries == {"10.txt", "32.txt", "4.txt", "23.txt"}
    assert len(hamt.children(SHARD, CONTENT)) == 16
    assert [child.name for child in hamt.children(SUB_SHARD, CONTENT)] == ["2.txt", "1.txt", "26.txt"]


def test_an_absent_name_is_none() -> None:
    empty = PbNode(SHARD.data, ())
    assert hamt.find(empty, CONTENT, "4.txt", 0) is None


@pytest.mark.parametrize(("fanout", "digits"), [(8, 1), (16, 1), (32, 2), (256, 2), (512, 3), (1_024, 3)])
def test_prefixes_are_as_wide_as_the_fanout_needs(fanout: int, digits: int) -> None:
    content = UnixFs(Kind.HAMT, hash_type=0x22, fanout=fanout)
    place = f"{hamt.bucket('name', fanout, 0):0{digits}X}"
    node = PbNode(None, (PbLink(X, place + "name"),))
    assert hamt.find(node, content, "name", 0) == hamt.Child(X, "name")
    assert hamt.children(node, content) == [hamt.Child(X, "name")]


@pytest.mark.parametrize(("fanout", "levels"), [(8, 21), (16, 16), (256, 8), (1_024, 6)])
def test_depth_ends_with_the_hash(fanout: int, levels: int) -> None:
    assert 0 <= hamt.bucket("name", fanout, levels - 1) < fanout
    with pytest.raises(Rejected, match="deep"):
        hamt.bucket("name", fanout, levels)


@pytest.mark.parametrize("fanout", [None, 0, 1, 4, 12, 100, 2_048, 2**62, 2**64 - 1])
def test_fanouts_that_are_not_allowed(fanout: int | None) -> None:
    with pytest.raises(Rejected, match="fanout"):
        hamt.find(SHARD, replace(CONTENT, fanout=fanout), "a", 0)


@pytest.mark.parametrize(
    "content", [replace(CONTENT, hash_type=None), replace(CONTENT, hash_type=0x12), UnixFs(Kind.DIRECTORY)]
)
def test_what_is_no_shard_is_refused(content: UnixFs) -> None:
    with pytest.raises(Rejected, match="shard"):
        hamt.find(SHARD, content, "a", 0)
    with pytest.raises(Rejected, match="shard"):
        hamt.children(SHARD, content)


@pytest.mark.parametrize("name", [None, "", "g", "a", "-1", " 1"])
def test_links_without_a_place_are_refused(name: str | None) -> None:
    with pytest.raises(Rejected, match="place"):
        hamt.children(PbNode(None, (PbLink(X, name),)), CONTENT)


def test_a_place_outside_the_fanout_is_refused() -> None:
    with pytest.raises(Rejected, match="outside"):
        hamt.children(PbNode(None, (PbLink(X, "8a"),)), replace(CONTENT, fanout=8))


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(Rejected, match="UTF-8"):
        hamt.find(SHARD, CONTENT, "\ud800", 0)
