"""Blocks here, and behind them the daemon: what is missing or damaged here is asked of it.

Promises: writing, deleting and ``has`` are about this node alone; a read that finds the block here asks
nobody; what comes from the daemon has been hashed and is not written back. For imports and for serving blocks
by CID: nothing on the way of a question reads through this.
"""

from __future__ import annotations

from node.core.errors import CorruptState, NodeError, NotFound
from node.core.ipld.cid import Cid
from node.core.ports import BlockStore


class LocalFirstBlockStore:
    """``here`` with ``daemon`` behind it. Closing it closes neither."""

    def __init__(self, here: BlockStore, daemon: BlockStore) -> None:
        self._here = here
        self._daemon = daemon

    async def put(self, cid: Cid, data: bytes) -> None:
        await self._here.put(cid, data)

    async def get(self, cid: Cid) -> bytes:
        try:
            return await self._here.get(cid)
        except (NotFound, CorruptState) as exc:
            try:
                return await self._daemon.get(cid)
            except NodeError:
                raise exc from None  # what is wrong here is what the caller can do something about

    async def has(self, cid: Cid) -> bool:
        return await self._here.has(cid)

    async def delete(self, cid: Cid) -> None:
        await self._here.delete(cid)

    async def close(self) -> None:
        """The two belong to whoever built them."""
