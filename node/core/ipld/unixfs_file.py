"""A file's bytes as UnixFS blocks, as ``ipfs add --cid-version=1`` makes them.

Raw leaves of 256 KiB, nodes of at most 174 links, balanced. A file of one leaf is that leaf. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from node.core.ipld import dagpb, protobuf
from node.core.ipld.cid import DAG_PB, RAW, Cid
from node.core.ipld.dagpb import PbLink, PbNode
from node.core.ipld.unixfs import FILE

LEAF_BYTES = 256 * 2**10
LINKS = 174


@dataclass(frozen=True, slots=True)
class _Part:
    """``size``: of the file's bytes below it; ``total``: of all its blocks."""

    cid: Cid
    size: int
    total: int


def blocks(data: bytes) -> Iterator[tuple[Cid, bytes]]:
    """Every block, children before their parents, the root last."""
    parts: list[_Part] = []
    for start in range(0, max(1, len(data)), LEAF_BYTES):
        leaf = data[start : start + LEAF_BYTES]
        cid = Cid.of(leaf, RAW)
        parts.append(_Part(cid, len(leaf), len(leaf)))
        yield cid, leaf
    while len(parts) > 1:
        above: list[_Part] = []
        for start in range(0, len(parts), LINKS):
            below = parts[start : start + LINKS]
            node = _node(below)
            cid = Cid.of(node, DAG_PB)
            size = sum(one.size for one in below)
            above.append(_Part(cid, size, len(node) + sum(one.total for one in below)))
            yield cid, node
        parts = above


def read(root: Cid, block: Callable[[Cid], bytes]) -> bytes:
    """The bytes of a file by its root. Raises what ``block`` raises, and ``Rejected`` for a block that is
    none."""
    data = block(root)
    if root.codec == RAW:
        return data
    return b"".join(read(link.cid, block) for link in dagpb.decode(data).links)


def _node(below: list[_Part]) -> bytes:
    size = sum(one.size for one in below)
    said = protobuf.number_field(1, FILE) + protobuf.number_field(3, size)
    said += b"".join(protobuf.number_field(4, one.size) for one in below)
    return dagpb.encode(PbNode(said, tuple(PbLink(one.cid, "", one.total) for one in below)))
