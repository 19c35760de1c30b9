"""Integrity as a decorator: whatever backend is inside, bytes that do not hash to their CID neither enter nor
leave. After boxo's validating block store. Knows nothing of files, networks or records.
"""

from __future__ import annotations

import asyncio

from node.core.errors import CorruptState, Rejected
from node.core.ipld.cid import Cid
from node.core.ports import BlockStore

BLOCK_BYTES_MAX = 2 * 2**20
"""What IPFS implementations accept as one block."""

_HASH_HERE_BYTES_MAX = 64 * 1024
"""Up to this size hashing costs less (about 0.1 ms) than going to a thread is worth."""


async def _matches(cid: Cid, data: bytes) -> bool:
    if len(data) <= _HASH_HERE_BYTES_MAX:
        return cid.matches(data)
    return await asyncio.to_thread(cid.matches, data)


class VerifyingBlockStore:
    """A ``BlockStore`` over another one that is not trusted."""

    def __init__(self, inner: BlockStore) -> None:
        self._inner = inner

    async def put(self, cid: Cid, data: bytes) -> None:
        if len(data) > BLOCK_BYTES_MAX:
            raise Rejected(f"a block of {len(data)} bytes is over the limit of {BLOCK_BYTES_MAX}")
        if not await _matches(cid, data):
            raise Rejected(f"the bytes do not hash to {cid}")
        await self._inner.put(cid, data)

    async def get(self, cid: Cid) -> bytes:
        data = await self._inner.get(cid)
        if len(data) > BLOCK_BYTES_MAX or not await _matches(cid, data):
            raise CorruptState(
                f"the block stored as {cid} has other bytes; delete it and fetch it from a peer or a backup"
            )
        return data

    async def has(self, cid: Cid) -> bool:
        return await self._inner.has(cid)

    async def delete(self, cid: Cid) -> None:
        await self._inner.delete(cid)

    async def close(self) -> None:
        await self._inner.close()
