"""Sharded UnixFS directories: which link of a shard a name leads to.

Source: UnixFS specification, HAMTDirectory. Pure; a name is hashed once per call and at most 64 bits deep.
"""

from __future__ import annotations

from dataclasses import dataclass

import mmh3

from node.core.errors import Rejected
from node.core.ipld.cid import Cid
from node.core.ipld.dagpb import PbNode
from node.core.ipld.unixfs import HAMT, UnixFs

MURMUR3_X64_64 = 0x22
FANOUT_MAX = 1_024
_HASH_BITS = 64


@dataclass(frozen=True, slots=True)
class Child:
    """A link of a shard: an entry with its ``name``, or a sub-shard (``name`` is None)."""

    cid: Cid
    name: str | None

    @property
    def is_shard(self) -> bool:
        return self.name is None


def _fanout(unixfs: UnixFs) -> int:
    fanout = unixfs.fanout or 0
    if unixfs.kind != HAMT or unixfs.hash_type != MURMUR3_X64_64:
        raise Rejected("UnixFS: no shard, or one with a hash function other than murmur3-x64-64")
    if not 8 <= fanout <= FANOUT_MAX or fanout & (fanout - 1):
        raise Rejected(f"UnixFS: a shard's fanout is not a power of two from 8 to {FANOUT_MAX}")
    return fanout


def bucket(name: str, fanout: int, depth: int) -> int:
    """The place of ``name`` in the shard ``depth`` levels below the root, from the first bits of the hash
    downwards. Raises ``Rejected`` where the hash has no bits left, and for a name that is not UTF-8."""
    width = fanout.bit_length() - 1
    shift = _HASH_BITS - width * (depth + 1)
    if shift < 0:
        raise Rejected("UnixFS: a sharded directory is too deep")
    try:
        hashed = mmh3.hash64(name.encode(), signed=False)[0]
    except UnicodeEncodeError as exc:
        raise Rejected("a name in a path is not UTF-8") from exc
    return hashed >> shift & (fanout - 1)


def find(node: PbNode, unixfs: UnixFs, name: str, depth: int) -> Child | None:
    """The child of the shard that ``name`` leads to: the entry itself, a sub-shard to go on in with
    ``depth + 1``, or None when there is no such name. ``depth``: 0 in the root.

    Raises ``Rejected`` for what is no shard and for one that is too deep.
    """
    fanout = _fanout(unixfs)
    digits = len(f"{fanout - 1:X}")
    prefix = f"{bucket(name, fanout, depth):0{digits}X}"
    for link in node.links:
        if link.name == prefix:
            return Child(link.cid, None)
        if link.name == prefix + name:
            return Child(link.cid, name)
    return None


def children(node: PbNode, unixfs: UnixFs) -> list[Child]:
    """All links of the shard in their order. Raises ``Rejected``."""
    fanout = _fanout(unixfs)
    digits = len(f"{fanout - 1:X}")
    found: list[Child] = []
    for link in node.links:
        prefix = (link.name or "")[:digits]
        if len(prefix) < digits or not all(char in "0123456789ABCDEF" for char in prefix):
            raise Rejected("UnixFS: a shard's link has no place in its name")
        if int(prefix, 16) >= fanout:
            raise Rejected("UnixFS: a shard's link has a place outside its fanout")
        found.append(Child(link.cid, (link.name or "")[digits:] or None))
    return found
