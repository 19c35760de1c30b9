"""Blocks read ahead in the order in which a walk wants them: many at a time cost hardly more than one.

Promises: what is held is bounded by blocks and bytes; a block that was not read ahead is read when it is
wanted, with the error that belongs to it. Nothing runs beside the walk: ending it leaves nothing behind.
A block that is withdrawn while it is held here still goes out.
Must not know: HTTP, CARs, who stores the blocks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from node.core.ipld.cid import Cid
from node.ipfs.gateway.dag import Get, load

GetMany = Callable[[Sequence[Cid], int], Awaitable[dict[Cid, bytes]]]
"""Some of these blocks, those in front first, until they have so many bytes. Raises ``Unavailable``."""

BLOCKS = 64
"""Read at once."""
BYTES = 2**19
"""Read at once, up to the block that goes over it."""
HELD_BLOCKS = 256
HELD_BYTES = 2**20
"""More than this is dropped before more is read. In a graph deeper than that, siblings are read again."""


class Ahead:
    """The blocks of one walk."""

    def __init__(self, get: Get, get_many: GetMany | None) -> None:
        self._get = get
        self._get_many = get_many
        self._held: dict[Cid, bytes] = {}
        self._bytes = 0
        self._alone = 0
        """Blocks to read one by one, because reading ahead found nothing."""

    def __contains__(self, cid: Cid) -> bool:
        return cid in self._held

    async def take(self, cid: Cid, following: Iterable[Cid]) -> bytes:
        """A block; ``following`` will be wanted next, most likely. Raises as ``Get`` does."""
        data = self._held.pop(cid, None)
        if data is not None:
            self._bytes -= len(data)
            return data
        if self._get_many is None or cid.is_identity:
            return await load(self._get, cid)
        if self._alone:
            self._alone -= 1
            return await self._get(cid)
        if len(self._held) > HELD_BLOCKS or self._bytes > HELD_BYTES:
            self._held.clear()
            self._bytes = 0
        found = await self._get_many([cid, *following], BYTES)
        if not found:
            self._alone = BLOCKS
        data = found.pop(cid, None)
        self._held |= found
        self._bytes = sum(map(len, self._held.values()))
        return await self._get(cid) if data is None else data
