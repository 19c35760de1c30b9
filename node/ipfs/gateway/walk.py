"""The blocks below the end of a path, depth first: what a CAR of it holds behind the path's own blocks.

Source: trustless gateway specification (``dag-scope``, ``entity-bytes``, ``dups``), UnixFS specification.

Promises:
- Pre-order, links in the order of the block's bytes: ``order=dfs``. The same request gives the same blocks.
- A block that is not here ends the walk with the error of ``Get``; what was given before stays right.
- The data of identity CIDs are read where they lead somewhere and never given.
- A block whose form is broken, or whose codec is not known here, is given and has nothing below it: whoever
  asked holds the bytes and can see as much.
- Memory: the links that wait (``PENDING_MAX`` in one walk, ``Waiting`` in all together), the blocks that were
  given (``Seen``), those that were read ahead (``Ahead``). No recursion. At most ``BLOCKS_MAX`` blocks are
  read, which bounds what ``dups=y`` makes of a small graph with many ways through it, and at most
  ``AGAIN_PAGES_MAX`` of those that were given already, which bounds what lying sizes make of a file. Over
  each bound the walk ends with ``Unavailable``.
- However little it gives, it lets others run and asks whether to go on after each ``CHECK_LINKS`` links.
Must not know: HTTP, CARs, who stores the blocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any

from node.core.errors import Rejected, Unavailable
from node.core.ipld import dagcbor, dagjson, dagpb, hamt, unixfs
from node.core.ipld.cid import DAG_CBOR, DAG_PB, RAW, Cid
from node.core.ipld.links import links
from node.ipfs.gateway.ahead import BLOCKS, Ahead, GetMany
from node.ipfs.gateway.byte_range import ByteRange
from node.ipfs.gateway.dag import Get, Place, apart
from node.ipfs.gateway.seen import Pool, Seen, Waiting, waiting_pool

PENDING_MAX = 2**17
"""Links waiting to be followed in one walk: more than two blocks full of them. They take about 30 MB."""
BLOCKS_MAX = 2**22
AGAIN_PAGES_MAX = 2**14
"""Read again without being given, in pages begun. Where sizes are true that is only what holds an end of the
bytes that are wanted: at most two blocks of each level, twice."""
_PAGE_BYTES = 4096
CHECK_LINKS = 64

Block = tuple[Cid, bytes]


class Scope(Enum):
    """How much of the graph is wanted below the end of the path."""

    BLOCK = "block"
    ENTITY = "entity"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class _Alone:
    """Nothing below this block."""


@dataclass(frozen=True, slots=True)
class _Below:
    """Everything below this block or, with ``inner``, below the value there."""

    inner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Shards:
    """The shards of a directory without its entries."""


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The blocks that hold the bytes from ``first`` to ``last`` (inclusive) of this part of a file; None:
    all of them, whatever the sizes say."""

    span: tuple[int, int] | None = None


_Plan = _Alone | _Below | _Shards | _Bytes
_ALL, _WHOLE = _Below(), _Bytes()
"""One for all links that wait."""


async def plan(place: Place, scope: Scope, byte_range: ByteRange | None) -> _Plan:
    """What is to be given below ``place``. ``byte_range`` counts for the entity that is a file only.

    Raises ``BadInput`` for a range outside of the file.
    """
    return await apart(place.data, partial(_plan, place, scope, byte_range))


def _plan(place: Place, scope: Scope, byte_range: ByteRange | None) -> _Plan:
    if scope is Scope.BLOCK:
        return _Alone()
    if scope is Scope.ALL:
        return _Below(place.inner)
    if place.cid.codec == RAW and byte_range is not None:
        byte_range.within(len(place.data))  # one block, but the range may lie outside of it
    if place.cid.codec != DAG_PB or place.inner:
        return _Alone()
    try:
        node = dagpb.decode(place.data)
        content = unixfs.of(node)
    except Rejected:
        return _Alone()
    if content.kind == unixfs.HAMT:
        return _Shards()
    if content.kind not in unixfs.IS_FILE:
        return _Alone()
    if byte_range is None:
        return _Bytes()
    size = len(content.data) + sum(content.blocksizes)
    span = byte_range.within(size)
    if span is None:
        return _Alone()
    return _Bytes(None if span == (0, size - 1) else span)


async def blocks(
    get: Get,
    place: Place,
    wanted: _Plan,
    pool: Pool | None,
    get_many: GetMany | None = None,
    check: Callable[[], None] = lambda: None,
    waiting: Pool | None = None,
) -> AsyncGenerator[Block, None]:
    """The blocks of the path and then those that ``wanted`` says. None of them twice, remembered with the
    help of ``pool``; None: each as often as it is linked to. ``get_many``: to read ahead with.
    ``check``: raises to end the walk. ``waiting``: for the links that wait in all walks; None: in this one.

    Raises ``NotFound`` and ``Unavailable`` as ``get`` does, ``Unavailable`` over a bound.
    """
    ahead, sent, held = Ahead(get, get_many), _Sent(pool), Waiting(waiting or waiting_pool())
    try:
        for cid in place.trail:
            if sent.is_wanted(cid):
                yield cid, await ahead.take(cid, ())
        pending: list[tuple[Cid, _Plan]] = [(place.cid, wanted)]
        first: bytes | None = place.data
        links_left = CHECK_LINKS
        while pending:
            links_left -= 1
            if not links_left:
                links_left = CHECK_LINKS
                await asyncio.sleep(0)
                check()
            cid, todo = pending.pop()
            if sent.is_done(cid, todo):
                continue
            data = await ahead.take(cid, _next(pending, ahead, sent)) if first is None else first
            first = None
            if sent.is_wanted(cid, len(data)):
                yield cid, data
            below = [] if cid.codec == RAW else await apart(data, partial(_children, cid, data, todo))
            if len(pending) + len(below) > PENDING_MAX:
                raise Unavailable(f"more than {PENDING_MAX} links wait to be followed; ask for parts of it")
            held.set(len(pending) + len(below))
            pending += reversed(below)
    finally:
        sent.forget()
        held.set(0)


def _next(pending: Sequence[tuple[Cid, _Plan]], ahead: Ahead, sent: _Sent) -> Iterator[Cid]:
    """What is wanted after this block if it has nothing below it."""
    for cid, _ in islice(reversed(pending), BLOCKS - 1):
        if not (cid.is_identity or cid in ahead or cid in sent):
            yield cid


class _Sent:
    """What was given in one walk."""

    def __init__(self, pool: Pool | None) -> None:
        self._read = 0
        self._again_pages = 0
        self._given = None if pool is None else Seen(pool)
        self._walked = None if pool is None else Seen(pool)
        """Blocks of files with the part of what is below that was given: whole, or some bytes first."""

    def __contains__(self, cid: Cid) -> bool:
        """Whether it was given already and will not be again."""
        return self._given is not None and cid in self._given

    def is_done(self, cid: Cid, todo: _Plan) -> bool:
        """Whether the block and everything that ``todo`` says was given, or waits to be. Asked once before
        a block is read, and takes note that it will be."""
        if self._given is None or self._walked is None or cid.is_identity:
            return False
        if isinstance(todo, _Bytes) and cid.codec != RAW:
            return cid in self._walked or not self._walked.add(cid, todo.span)
        return cid in self._given

    def is_wanted(self, cid: Cid, size: int = 0) -> bool:
        """Whether the block of ``size`` bytes is to be given now, and takes note that it was read. Raises
        ``Unavailable``."""
        self._read += 1
        if self._read > BLOCKS_MAX:
            raise Unavailable(f"a CAR has at most {BLOCKS_MAX} blocks here; ask for parts of it")
        if cid.is_identity:
            return False
        if self._given is None or self._given.add(cid):
            return True
        self._again_pages += 1 + size // _PAGE_BYTES
        if self._again_pages > AGAIN_PAGES_MAX:
            raise Unavailable("the same blocks are wanted again and again: the file's sizes contradict it")
        return False

    def forget(self) -> None:
        """Give the pool back what was taken."""
        for seen in (self._given, self._walked):
            if seen is not None:
                seen.forget()


def _children(cid: Cid, data: bytes, todo: _Plan) -> list[tuple[Cid, _Plan]]:
    try:
        match todo:
            case _Alone():
                return []
            case _Below(inner):
                found = links(cid, data) if not inner else _links_at(cid, data, inner)
                return [(link, _ALL) for link in found]
            case _Shards():
                node = dagpb.decode(data)
                return [(child.cid, todo) for child in hamt.children(node, unixfs.of(node)) if child.is_shard]
            case _Bytes(span):
                return list(_parts(cid, data, span))
    except Rejected:
        return []


def _parts(cid: Cid, data: bytes, span: tuple[int, int] | None) -> Iterator[tuple[Cid, _Plan]]:
    """The children of a file's block that hold a byte of ``span``, by the sizes that the block says."""
    if cid.codec != DAG_PB:
        return
    node = dagpb.decode(data)
    content = unixfs.of(node)
    if content.kind not in unixfs.IS_FILE:
        return
    if span is None:
        yield from ((link.cid, _WHOLE) for link in node.links)
        return
    start = len(content.data)
    for link, size in zip(node.links, content.blocksizes, strict=True):
        first, last = max(span[0] - start, 0), min(span[1] - start, size - 1)
        if first <= last:
            yield link.cid, _WHOLE if (first, last) == (0, size - 1) else _Bytes((first, last))
        start += size


def _links_at(cid: Cid, data: bytes, path: Sequence[str]) -> list[Cid]:
    """The links below a value inside a block. ``path`` was followed there before."""
    value: Any = (dagcbor.decode_foreign(data) if cid.codec == DAG_CBOR else dagjson.decode(data))[0]
    for part in path:
        value = value[int(part)] if isinstance(value, list) else value[part]
    found: list[Cid] = []
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Cid):
            found.append(value)
        elif isinstance(value, dict):
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)
    return found
