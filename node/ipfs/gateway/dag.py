"""Where a content path leads: from a root over UnixFS directories, shards and links in DAG-CBOR or DAG-JSON.

Source: path gateway specification, content resolution; UnixFS specification; DAG-PB path resolution.

Promises: reads the blocks on the way and no others; remembers the way by CIDs, so that memory is one block.
A path ends at a block or, inside a DAG-CBOR or DAG-JSON block, at a value. Links of a plain DAG-PB node (one
that is no UnixFS) are followed by name.
Must not know: HTTP, who stores the blocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from node.core.errors import NotFound, Rejected
from node.core.ipld import dagpb, hamt, links, unixfs
from node.core.ipld.cid import DAG_PB, Cid

Get = Callable[[Cid], Awaitable[bytes]]
"""The bytes of a block, checked against its CID. Raises ``NotFound`` and ``Unavailable``."""

LARGE_BYTES = 16 * 1024
"""What is walked on the event loop; with a value in every byte it stops all else for some 15 ms."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path ends: in block ``cid`` with its bytes ``data``, there at ``inner`` if not empty.

    ``trail``: the blocks before it in their order, shards too. ``roots``: the block that each part of the
    path leads to, beginning with the root.
    """

    cid: Cid
    data: bytes
    trail: tuple[Cid, ...] = ()
    roots: tuple[Cid, ...] = ()
    inner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """``link`` is None: the path ends in this block when ``used`` is all that is left of it, and else leads
    nowhere. ``is_shard``: the link is on the way to what the first part names."""

    link: Cid | None
    used: int
    is_shard: bool = False


async def load(get: Get, cid: Cid) -> bytes:
    """The bytes of a block; those of an identity CID are in the CID. Raises as ``Get`` does."""
    return cid.digest if cid.is_identity else await get(cid)


async def apart(data: bytes, work: Callable[[], _Result]) -> _Result:
    """Do ``work``, which reads ``data``: beside the event loop if they are many, which takes up to 0.6 s."""
    return work() if len(data) <= LARGE_BYTES else await asyncio.to_thread(work)


async def resolve(get: Get, root: Cid, path: Sequence[str]) -> Place:
    """Follow ``path`` from ``root``. Raises ``NotFound``, which says from where on there is nothing, and
    ``Unavailable``."""
    cid, data = root, await load(get, root)
    trail: list[Cid] = []
    roots = [root]
    left = tuple(path)
    depth = 0
    while left:
        try:
            found = await apart(data, partial(_step, cid, data, left, depth))
        except Rejected as exc:
            raise NotFound(f"the path cannot be followed into block {cid}: {exc}") from exc
        if found.link is None:
            if found.used == len(left):
                break
            raise NotFound(f"there is no {'/'.join(left[: found.used + 1])!r} in block {cid}")
        trail.append(cid)
        cid = found.link
        data = await load(get, cid)
        if found.is_shard:
            depth += 1
            continue
        depth = 0
        left = left[found.used :]
        roots.append(cid)
    return Place(cid, data, tuple(trail), tuple(roots), left)


def _step(cid: Cid, data: bytes, path: Sequence[str], depth: int) -> _Step:
    """``depth``: shards of this directory that were passed; the bits of a name's hash bound it."""
    if cid.codec != DAG_PB and not depth:
        inside = links.step(cid, data, path)
        return _Step(inside.link, inside.used)
    node = dagpb.decode(data)
    if node.data or depth:
        content = unixfs.of(node)
        if depth or content.kind == unixfs.HAMT:
            child = hamt.find(node, content, path[0], depth)
            return _Step(None, 0) if child is None else _Step(child.cid, 1, child.is_shard)
        if content.kind != unixfs.DIRECTORY:
            return _Step(None, 0)
    link = next((link.cid for link in node.links if link.name == path[0]), None)
    return _Step(link, 1 if link else 0)
