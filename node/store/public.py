"""What anybody may have, found by multihash: blocks of public live records, of the logs and heads, and
imported ones.

Rules:
1. What is a record of this node is answered by the record store alone. That its bytes were imported as well
   (an export of shared records fed to ``ingest``, a copy from a peer) makes no record public that is not,
   and none that was withdrawn. The importer has those bytes himself, and may give them to whom he likes;
   this node does not.
2. Absent and not public look the same.
3. Bytes have been hashed on their way out of each store. An identity CID is answered from its own digest.

It knows nothing of scopes, requests or formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from node.errors import CorruptState, NotFound, Unavailable
from node.ipfs.cid import COMPUTED, SHA2_256, Cid
from node.ports import BlockStore


class NotPublic(NotFound):
    """What was asked for is a record of this node, live or not, and not for strangers. Never told to them."""


class PublicRecords(Protocol):
    """The record store, as far as strangers may look."""

    async def public_block(self, cid: Cid) -> bytes:
        """The block of a public live record. Raises ``NotFound``, ``NotPublic``, ``CorruptState``,
        ``Unavailable``."""
        ...


class PublicReader:
    """Implements ``PublicBlocks``. ``others``: stores in which everything is public, in the order in which
    they are asked. Closes none of them."""

    def __init__(self, store: PublicRecords, others: Sequence[BlockStore]) -> None:
        self._store = store
        self._others = tuple(others)

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound``; ``Unavailable``, also where the only copy is damaged."""
        if cid.is_identity:
            return cid.digest
        if cid.function not in COMPUTED:
            raise NotFound("no such block")
        damage: CorruptState | None = None
        try:
            return await self._store.public_block(cid)
        except NotPublic:
            raise NotFound("no such block") from None
        except NotFound:
            pass
        except CorruptState as exc:
            damage = exc
        for blocks in self._others:
            try:
                data = await blocks.get(cid)
            except NotFound:
                continue
            except CorruptState as exc:
                damage = exc
                continue
            if cid.function != SHA2_256 and await self._is_withheld(data):
                break
            return data
        if damage is not None:
            raise Unavailable(f"a block is damaged here: {damage}") from damage
        raise NotFound("no such block")

    async def has(self, cid: Cid) -> bool:
        try:
            await self.get(cid)
        except NotFound:
            return False
        return True

    async def _is_withheld(self, data: bytes) -> bool:
        """Whether bytes that were asked for by another hash function are a record that is not public."""
        try:
            await self._store.public_block(Cid.of(data))
        except NotPublic:
            return True
        except (NotFound, CorruptState):
            pass
        return False
