"""Graphs made by hand, and a shelf to fetch their blocks from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from cbrrr import CID

from node.core.errors import NotFound
from node.core.ipld import dagcbor, dagpb, hamt, protobuf
from node.core.ipld.cid import DAG_CBOR, DAG_JSON, DAG_PB, IDENTITY, RAW, SHA2_256, Cid
from node.core.ipld.unixfs import DIRECTORY, FILE, HAMT, Kind

FANOUT = 8


class Shelf:
    """Blocks by multihash; what is taken off is missing. ``reads`` says what was fetched
    alone, ``ahead`` what was with others."""

    def __init__(self) -> None:
        self.blocks: dict[bytes, bytes] = {}
        self.reads: list[Cid] = []
        self.ahead: list[Cid] = []
        self.in_memory: set[Cid] = set()

    async def get(self, cid: Cid) -> bytes:
        self.reads.append(cid)
        if cid.is_identity:
            return cid.digest
        try:
            return self.blocks[cid.multihash]
        except KeyError:
            raise NotFound("no such block") from None

    def held(self, cid: Cid) -> bytes | None:
        return self.blocks.get(cid.multihash) if cid in self.in_memory else None

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        """As a store does: no more than fit, in order, and nothing said of what is missing."""
        found: dict[Cid, bytes] = {}
        for cid in cids:
            if cid.multihash in self.blocks and bytes_max > 0:
                self.ahead.append(cid)
                found[cid] = self.blocks[cid.multihash]
                bytes_max -= len(found[cid])
        return found

    async def has(self, cid: Cid) -> bool:
        return cid.multihash in self.blocks

    def drop(self, cid: Cid) -> None:
        del self.blocks[cid.multihash]

    def put(self, data: bytes, codec: int = RAW, version: int = 1) -> Cid:
        digest = Cid.of(data, codec).digest
        cid = Cid(codec, digest, SHA2_256, version)
        self.blocks[cid.multihash] = data
        return cid

    def node(self, content: bytes | None, links: Sequence[tuple[str | None, Cid]], version: int = 1) -> Cid:
        """A DAG-PB node whose links stay in this order."""
        parts = [
            protobuf.bytes_field(
                2,
                protobuf.bytes_field(1, bytes(cid))
                + (b"" if name is None else protobuf.bytes_field(2, name.encode())),
            )
            for name, cid in links
        ]
        if content is not None:
            parts.append(protobuf.bytes_field(1, content))
        return self.put(b"".join(parts), DAG_PB, version)

    def file(
        self, children: Sequence[tuple[Cid, int]], inline: bytes = b"", kind: Kind = FILE, version: int = 1
    ) -> Cid:
        """A file of its own bytes and of children with the sizes that it claims."""
        sizes = [size for _, size in children]
        content = unixfs(kind, inline, filesize=len(inline) + sum(sizes), blocksizes=sizes)
        return self.node(content, [("", cid) for cid, _ in children], version)

    def chunks(self, parts: Sequence[bytes], version: int = 1) -> Cid:
        """A file with a raw leaf for each part."""
        return self.file([(self.put(part), len(part)) for part in parts], version=version)

    def directory(self, entries: Mapping[str, Cid]) -> Cid:
        return self.node(unixfs(DIRECTORY), sorted(entries.items()))

    def shards(self, entries: Mapping[str, Cid], depth: int = 0) -> Cid:
        """A sharded directory."""
        buckets: dict[int, dict[str, Cid]] = {}
        for name, cid in entries.items():
            buckets.setdefault(hamt.bucket(name, FANOUT, depth), {})[name] = cid
        links: list[tuple[str | None, Cid]] = []
        for place in sorted(buckets):
            inside = buckets[place]
            prefix = f"{place:X}"
            if len(inside) == 1:
                links += [(prefix + name, cid) for name, cid in inside.items()]
            else:
                links.append((prefix, self.shards(inside, depth + 1)))
        return self.node(unixfs(HAMT, b"\1", hash_type=hamt.MURMUR3_X64_64, fanout=FANOUT), links)

    def cbor(self, value: Any) -> Cid:
        return self.put(dagcbor.encode(value), DAG_CBOR)

    def json(self, value: Any) -> Cid:
        return self.put(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), DAG_JSON)


def link(cid: Cid) -> CID:
    """As it stands in a DAG-CBOR value."""
    return CID(bytes(cid))


def identity(data: bytes, codec: int = RAW) -> Cid:
    return Cid(codec, data, IDENTITY)


def unixfs(
    kind: Kind,
    data: bytes = b"",
    *,
    filesize: int | None = None,
    blocksizes: Sequence[int] = (),
    hash_type: int | None = None,
    fanout: int | None = None,
) -> bytes:
    parts = [protobuf.number_field(1, kind)]
    if data:
        parts.append(protobuf.bytes_field(2, data))
    if filesize is not None:
        parts.append(protobuf.number_field(3, filesize))
    parts += [protobuf.number_field(4, size) for size in blocksizes]
    if hash_type is not None:
        parts.append(protobuf.number_field(5, hash_type))
    if fanout is not None:
        parts.append(protobuf.number_field(6, fanout))
    return b"".join(parts)


def names(shelf: Shelf, cid: Cid) -> list[Cid]:
    """The links of a DAG-PB block on the shelf."""
    return [found.cid for found in dagpb.decode(shelf.blocks[cid.multihash]).links]
