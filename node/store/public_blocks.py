"""What anybody may have, found by multihash: blocks of public live records, of the logs and heads, and
imported ones.

Rules:
1. What is a record of this node is answered by the record store alone. That its bytes were imported as well
   (an export of shared records fed to ``ingest``, a copy from a peer) makes no record public that is not,
   and none that was withdrawn. The importer has those bytes himself, and may give them to whom he likes;
   this node does not.
2. Absent and not public look the same, and take the same time: the same stores are asked for both.
3. Bytes have been hashed on their way out of each store. An identity CID is answered from its own digest.

It knows nothing of scopes, requests or formats.
"""

from __future__ import annotations

from collections.abc import Sequence

from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld.cid import COMPUTED, SHA2_256, Cid
from node.core.ports import BlockStore
from node.store.imported_blocks import ForeignBlocks
from node.store.record_reads import NotPublic
from node.store.sqlite import SqliteStore


class PublicReader:
    """Implements ``PublicBlocks``. ``imported``, and ``others`` in their order behind it: stores in which
    everything is public. Closes none of them."""

    def __init__(
        self, store: SqliteStore, others: Sequence[BlockStore], imported: ForeignBlocks | None = None
    ) -> None:
        self._store = store
        self._imported = imported
        self._behind: tuple[BlockStore, ...] = (*([] if imported is None else [imported]), *others)

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound``; ``Unavailable``, also where the only copy is damaged."""
        if cid.is_identity:
            return cid.digest
        if cid.function not in COMPUTED:
            raise NotFound("no such block")
        damage: CorruptState | None = None
        is_withheld = False
        try:
            return await self._store.public_block(cid)
        except NotPublic:
            is_withheld = True
        except NotFound:
            pass
        except CorruptState as exc:
            damage = exc
        for blocks in self._behind:
            try:
                data = await blocks.get(cid)
            except NotFound:
                continue
            except CorruptState as exc:
                damage = exc
                continue
            if cid.function != SHA2_256 and not is_withheld:
                is_withheld = await self._is_withheld(data)
            if not is_withheld:
                return data
        if damage is not None and not is_withheld:
            raise Unavailable(f"a block is damaged here: {damage}") from damage
        raise NotFound("no such block")

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        """Of public records and of imports: two reads for all. Raises ``Unavailable``."""
        asked = [cid for cid in cids if cid.function == SHA2_256]
        looked = await self._store.public_blocks(asked, bytes_max)
        found = {cid: data for cid, data in looked.items() if data is not None}
        left = bytes_max - sum(map(len, found.values()))
        others = [cid for cid in asked if cid not in found]
        if self._imported is not None and others and left > 0:
            imported = await self._imported.get_many(others, left)
            found |= {cid: data for cid, data in imported.items() if cid in looked}
        return found

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
