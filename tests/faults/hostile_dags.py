"""Graphs that somebody made to hurt a gateway, each with the requests that it is made for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from node.core.ipld import hamt, protobuf
from node.core.ipld.cid import DAG_CBOR, DAG_JSON, DAG_PB, RAW, Cid, encode_varint
from node.core.ipld.unixfs import DIRECTORY, FILE, HAMT, SYMLINK
from tests.unit.ipfs.gateway.dags import Shelf, identity, unixfs

MIB = 2**20
LINKS = 50_000
"""Of one block: about 2 MiB."""
DEEP = 2_000


@dataclass(frozen=True, slots=True)
class Bomb:
    """``statuses``: what may be answered to it."""

    name: str
    path: str
    statuses: frozenset[int]


def absent(number: int) -> Cid:
    """A block that nobody has."""
    return Cid(RAW, hashlib.sha256(b"absent %d" % number).digest())


def waiting(shelf: Shelf) -> Cid:
    """Wide below wide, and then large leaves: whoever reads slowly has 100,000 links wait for him."""
    large: list[tuple[str | None, Cid]] = [(None, shelf.put(bytes([number]) * MIB)) for number in range(24)]
    below = shelf.node(None, large + [(None, absent(number)) for number in range(LINKS)])
    rest: list[tuple[str | None, Cid]] = [(None, absent(LINKS + number)) for number in range(LINKS)]
    return shelf.node(None, [(None, below), *rest])


def shard(
    shelf: Shelf, links: Sequence[tuple[str | None, Cid]], fanout: int = 8, function: int = 0x22
) -> Cid:
    return shelf.node(unixfs(HAMT, b"\xff", hash_type=function, fanout=fanout), links)


def bombs(shelf: Shelf) -> Iterator[Bomb]:
    """Puts the blocks on the shelf as it goes."""
    yield from _shards(shelf)
    yield from _cbor(shelf)
    yield from _json(shelf)
    yield from _wide(shelf)
    yield from _files(shelf)
    yield from _ladders(shelf)


FOUND = frozenset({200})
NOT_THERE = frozenset({404})


def _both(name: str, cid: Cid, path: str, in_path: frozenset[int]) -> Iterator[Bomb]:
    """Under a path, and as a whole in every scope."""
    yield Bomb(f"{name}, a path", f"/ipfs/{cid}/{path}?format=car", in_path)
    for more in ("dag-scope=entity", "entity-bytes=0:*", "dag-scope=all", "car-dups=y"):
        yield Bomb(f"{name}, {more}", f"/ipfs/{cid}?format=car&{more}", FOUND)


def _shards(shelf: Shelf) -> Iterator[Bomb]:
    name = "readme"
    leaf = shelf.put(b"leaf")
    below = leaf
    for depth in range(DEEP, -1, -1):
        place = f"{hamt.bucket(name, 8, depth % 21):X}"
        below = shard(shelf, [(place, below)])
    yield from _both("deep shards", below, name, NOT_THERE)
    same = shard(shelf, [(f"{place:X}{place}", leaf) for place in range(8)])
    for _ in range(20):
        same = shard(shelf, [(f"{place:X}", same) for place in range(8)])
    yield from _both("shards that all lead to the same", same, name, NOT_THERE)
    for fanout in (0, 1, 7, 2, 2**20, 2**63, 2**64 - 1):
        lie = shard(shelf, [("0" + name, leaf), ("FFFFFFFF", leaf)], fanout)
        yield from _both(f"shards of fan-out {fanout}", lie, name, NOT_THERE)
    other = shard(shelf, [("0" + name, leaf)], 256, 0x12)
    yield from _both("shards by another hash", other, name, NOT_THERE)
    place = f"{hamt.bucket(name, 8, 0):X}"
    for what, below in (
        ("raw", leaf),
        ("no UnixFS", shelf.node(b"\xff\xff\xff", [])),
        ("a file", shelf.file([(leaf, 4)])),
        ("CBOR", shelf.cbor({"readme": 1})),
    ):
        yield from _both(f"a shard below which is {what}", shard(shelf, [(place, below)]), name, NOT_THERE)
    names: list[tuple[str | None, Cid]] = [("ZZ", leaf), ("", leaf), (None, leaf), ("0" * 1_000, leaf)]
    yield from _both("shards with odd names", shard(shelf, names), name, NOT_THERE)
    many = shard(shelf, [(f"{number % 8:X}{number}", absent(number)) for number in range(40_000)])
    yield from _both("a shard with more links than places", many, name, NOT_THERE)


def _cbor(shelf: Shelf) -> Iterator[Bomb]:
    deep = {
        "lists in lists": b"\x81" * (2 * MIB - 1) + b"\x00",
        "maps in maps": b"\xa1\x60" * (MIB - 1) + b"\xa0",
        "tags in tags": b"\xd8\x2a" * (MIB - 1) + b"\x00",
        "lists of a depth that is taken": b"\x81" * 1_024 + b"\x00",
        "a list of 2^64 - 1": b"\x9b" + b"\xff" * 8,
        "a map of 2^63": b"\xbb\x80" + b"\x00" * 7,
        "a text of 2^64 - 1 bytes": b"\x7b" + b"\xff" * 8 + b"x" * 100,
        "bytes of 2^63": b"\x5b\x80" + b"\x00" * 7,
        "many heads of long texts": b"\x9a\x00\x03\x00\x00" + b"\x7b\x7f" + b"\xff" * 7 + b"\x60" * 200_000,
        "a list without end": b"\x9f" + b"\x00" * 1_000,
        "many items": b"\x9a\x00\x03\xff\xff" + b"\x00" * 0x3FFFF,
        "many empty lists": b"\x9a\x00\x03\xff\xff" + b"\x80" * 0x3FFFF,
        "a link that is none": b"\x81\xd8\x2a\x45\x00\x01\x02\x03\x04",
        "cut off": b"\x82\x00",
    }
    for name, data in deep.items():
        cid = shelf.put(data, DAG_CBOR)
        inside = "0/" * 60 + "0"
        in_path = NOT_THERE | FOUND if name in ("lists of a depth that is taken",) else NOT_THERE
        yield from _both(name, cid, inside, in_path)
    link = b"\xd8\x2a\x58\x25\x00" + bytes(absent(1))
    wide = shelf.put(b"\x99\xc3\x50" + link * LINKS, DAG_CBOR)
    yield from _both("CBOR with many links to what is absent", wide, "49999", NOT_THERE)


def _json(shelf: Shelf) -> Iterator[Bomb]:
    for name, data in {
        "JSON lists in lists": b"[" * (2 * MIB),
        "JSON maps in maps": b'{"a":' * (400_000 - 1) + b"0" + b"}" * (400_000 - 1),
        "a JSON text without end": b'"' + b"\\" * (2 * MIB - 2),
        "a JSON number without end": b"9" * (2 * MIB),
        "JSON of quotes": b'"' * (2 * MIB),
        "JSON of commas": b"[" + b"," * MIB + b"]",
    }.items():
        yield from _both(name, shelf.put(data[: 2 * MIB], DAG_JSON), "a/a/a", NOT_THERE)


def _wide(shelf: Shelf) -> Iterator[Bomb]:
    leaf = shelf.put(b"leaf")
    to_one = shelf.node(unixfs(DIRECTORY), [(None, leaf)] * LINKS)
    yield from _both("a directory with many links to one", to_one, "x", NOT_THERE)
    to_none = shelf.node(unixfs(DIRECTORY), [(None, absent(number)) for number in range(LINKS)])
    yield from _both("a directory with many links to nothing", to_none, "x", NOT_THERE)
    inline = shelf.node(unixfs(DIRECTORY), [(None, identity(b"", RAW))] * LINKS)
    yield from _both("a directory with many identity CIDs", inline, "x", NOT_THERE)
    empty = protobuf.bytes_field(2, b"") * (MIB - 10)
    yield from _both("links without a CID", shelf.put(empty, DAG_PB), "x", NOT_THERE)
    fields = protobuf.number_field(9, 1) * (MIB - 10)
    yield from _both("fields of nothing", shelf.put(fields, DAG_PB), "x", NOT_THERE)
    cut = b"\x12" + encode_varint(2**62) + b"x"
    yield from _both("a link that is cut off", shelf.put(cut, DAG_PB), "x", NOT_THERE)
    pointer = shelf.node(unixfs(SYMLINK, b"../" * 500_000), [])
    yield from _both("a long symlink", pointer, "x", NOT_THERE)
    for depth in range(4):  # each waits until all below the one before is done
        links: list[tuple[str | None, Cid]] = [(None, to_none)]
        links += [(None, absent(depth * LINKS + number)) for number in range(LINKS - 1)]
        to_none = shelf.node(None, links)
    yield from _both("wide below wide", to_none, "x", NOT_THERE)


def _files(shelf: Shelf) -> Iterator[Bomb]:
    leaf = shelf.put(b"x" * 1_000)
    for name, size in (("nothing", 0), ("too much", 2**63 - 1), ("more than that", 2**64 - 1), ("one", 1)):
        lie = shelf.file([(leaf, size)] * 20_000)
        yield from _both(f"a file whose parts say {name}", lie, "x", NOT_THERE)
        for span in ("0:*", "-1:*", "500:1000", f"{2**62}:*", f"-{2**63 - 1}:*", "0:0"):
            path = f"/ipfs/{lie}?format=car&dag-scope=entity&entity-bytes={span}"
            yield Bomb(f"a file whose parts say {name}, bytes {span}", path, FOUND | {400})
    fewer = shelf.node(unixfs(FILE, filesize=10, blocksizes=[5]), [("", leaf)] * 1_000)
    yield from _both("a file with a size for one part of many", fewer, "x", NOT_THERE)
    sizes = shelf.node(unixfs(FILE, filesize=10, blocksizes=[5] * 100_000), [("", leaf)])
    yield from _both("a file with many sizes for one part", sizes, "x", NOT_THERE)
    whole = shelf.node(unixfs(FILE, b"y", filesize=2**64 - 1), [])
    yield from _both("a file that says it is larger", whole, "x", NOT_THERE)
    nested = shelf.file([(leaf, 1_000)] * 2)
    for _ in range(30):
        nested = shelf.file([(nested, 7), (nested, 2**40)])
    yield from _both("files in files with sizes that contradict", nested, "x", NOT_THERE)


def _ladders(shelf: Shelf) -> Iterator[Bomb]:
    """Small graphs with many ways through them."""
    rung = shelf.put(b"rung")
    below = shelf.node(None, [(None, rung)] * 2)
    for _ in range(40):
        below = shelf.node(None, [("a", below), ("b", below)])
    yield from _both("a ladder", below, "/".join("ab" * 20), FOUND)
    cbor = bytes(shelf.put(b"\x80", DAG_CBOR))
    for _ in range(40):
        link = b"\xd8\x2a\x58\x25\x00" + cbor
        cbor = bytes(shelf.put(b"\x82" + link * 2, DAG_CBOR))
    yield from _both("a ladder of CBOR", Cid.from_bytes(cbor), "0/1/0/1", FOUND)
    heavy = shelf.node(None, [(None, identity(b"", RAW))] * LINKS)
    for _ in range(12):
        heavy = shelf.node(None, [("a", heavy), ("b", heavy), *[(None, identity(b"", RAW))] * (LINKS // 2)])
    yield from _both("a ladder of heavy rungs", heavy, "a/b/a/b", FOUND)
    chain = shelf.put(b"end")
    for number in range(DEEP):
        chain = shelf.node(b"%d" % number, [("x", chain)])
    yield from _both("a long chain of what is no UnixFS", chain, "x/" * 60 + "x", NOT_THERE)
