"""UnixFS: nodes of other implementations, and what contradicts itself refused."""

from __future__ import annotations

import pytest

from node.core.errors import Rejected
from node.core.ipld import protobuf, unixfs
from node.core.ipld.car import CarReader
from node.core.ipld.cid import DAG_PB, RAW, Cid
from node.core.ipld.dagpb import PbLink, PbNode, decode
from node.core.ipld.limits import LINKS_MAX
from node.core.ipld.unixfs import Kind, UnixFs
from tests.unit.core.ipld.vectors import JS_FILE_CAR, JS_SHARD

SOME = PbLink(Cid.of(b"", RAW))


def test_a_small_file_of_the_specification() -> None:
    """UnixFS specification, test vector "Single dag-pb Block File": 32 bytes in a block of 40."""
    content = b"Hello from IPFS Gateway Checker\n"
    data = protobuf.bytes_field(1, b"\x08\x02" + protobuf.bytes_field(2, content) + b"\x18\x20")
    assert str(Cid.of(data, DAG_PB)) == "bafybeifx7yeb55armcsxwwitkymga5xf53dxiarykms3ygqic223w5sk3m"
    assert unixfs.of(decode(data)) == UnixFs(Kind.FILE, content, 32)


def test_a_file_in_blocks_of_another_implementation() -> None:
    blocks = {cid: data for cid, data in CarReader().feed(JS_FILE_CAR) if cid.codec == DAG_PB}
    (root,) = blocks.values()
    assert unixfs.of(decode(root)) == UnixFs(Kind.FILE, b"", 10, (4, 4, 2))


def test_a_shard_of_another_implementation() -> None:
    found = unixfs.of(decode(JS_SHARD))
    assert (found.kind, found.hash_type, found.fanout) == (Kind.HAMT, 0x22, 16)


def test_the_empty_directory() -> None:
    """QmUNLLs…: the CID that every IPFS node knows."""
    cid = Cid.parse("QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn")
    assert cid.matches(b"\x0a\x02\x08\x01")
    assert unixfs.of(decode(b"\x0a\x02\x08\x01")) == UnixFs(Kind.DIRECTORY)


def test_sizes_may_be_packed_and_mode_and_time_are_passed_over() -> None:
    plain = b"\x08\x02\x20\x04\x20\x05"
    packed = b"\x08\x02\x22\x02\x04\x05"
    beyond = b"\x38\xa4\x03" + protobuf.bytes_field(8, b"\x08\x01\x15\x00\x00\x00\x00") + b"\x4d\0\0\0\0"
    assert unixfs.decode(plain) == unixfs.decode(packed) == unixfs.decode(plain + beyond)


BAD = {
    "nothing": b"",
    "no type": b"\x18\x01",
    "type 6": b"\x08\x06",
    "type twice": b"\x08\x02\x08\x02",
    "type as bytes": b"\x0a\x01\x02",
    "data twice": b"\x08\x02\x12\x00\x12\x00",
    "data as a number": b"\x08\x02\x10\x00",
    "size as fixed": b"\x08\x02\x25\0\0\0\0",
    "packed cut off": b"\x08\x02\x22\x01\x80",
    "too many sizes": b"\x08\x02" + b"\x20\x01" * (LINKS_MAX + 1),
    "too many packed sizes": b"\x08\x02" + protobuf.bytes_field(4, b"\x01" * (LINKS_MAX + 1)),
    "too many unknown fields": b"\x08\x02" + b"\x78\x01" * (LINKS_MAX + 20),
    "gigabytes of data": b"\x08\x02\x12\xff\xff\xff\xff\x0f",
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_is_no_unixfs_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        unixfs.decode(BAD[name])


@pytest.mark.parametrize(
    "node",
    [
        PbNode(None, ()),
        PbNode(b"", ()),
        PbNode(b"some data", ()),
        PbNode(b"\x08\x02\x18\x01\x20\x01", ()),
        PbNode(b"\x08\x02", (SOME,)),
        PbNode(b"\x08\x00", (SOME,)),
        PbNode(b"\x08\x04\x12\x01a", (SOME,)),
    ],
)
def test_links_must_fit_what_the_node_says(node: PbNode) -> None:
    with pytest.raises(Rejected):
        unixfs.of(node)


def test_a_symlink_has_its_target() -> None:
    assert unixfs.of(PbNode(b"\x08\x04\x12\x01a", ())) == UnixFs(Kind.SYMLINK, b"a")
