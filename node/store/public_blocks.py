"""What anybody may have, found by multihash: blocks of public live records, of the logs and heads, and
imported ones.

Rules:
1. What is a record of this node is answered by the record store alone. That its bytes were imported as well
   (an export of shared records fed to ``ingest``, a copy from a peer) makes no record public that is not,
   and none that was withdrawn. The importer has those bytes himself, and may give them to whom he likes;
   this node does not.
2. Absent and not public look the same, and take the same time: the same stores are asked for both.
3. Bytes have been hashed on their way out of each store. An identity CID is answered from its own digest.
4. Records and imports that were read are held in memory, up to ``HELD_BYTES``, until a commit changes them or
   an import is deleted: what is no longer public is gone before whoever withdrew it hears that it is. What a
   read brings while anything changes is not held.

It knows nothing of scopes, requests or formats.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence

from node.core.errors import CorruptState, NotFound, Unavailable
from node.core.ipld.cid import COMPUTED, SHA2_256, Cid
from node.core.ports import BlockStore
from node.store.imported_blocks import ForeignBlocks
from node.store.record_reads import NotPublic
from node.store.sqlite import SqliteStore

HELD_BYTES = 16 * 2**20
HELD_BLOCK_BYTES_MAX = 64 * 2**10


class PublicReader:
    """What anybody may have. ``imported``, and ``others`` in their order behind it: stores in which all of it
    is public. Closes none of them."""

    def __init__(
        self, store: SqliteStore, others: Sequence[BlockStore], imported: ForeignBlocks | None = None
    ) -> None:
        self._store = store
        self._imported = imported
        self._behind: tuple[BlockStore, ...] = (*([] if imported is None else [imported]), *others)
        self._held: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._changes = 0
        store.on_blocks_touched(self._forget)
        if imported is not None:
            imported.on_deleted = lambda: self._forget(tuple(self._held))

    def held(self, cid: Cid) -> bytes | None:
        """What ``get`` gives, where it lies in memory."""
        name = cid.multihash
        data = self._held.get(name)
        if data is not None:
            self._held.move_to_end(name)
        return data

    def _hold(self, name: bytes, data: bytes, changes: int) -> None:
        """``changes``: how many there were when the read began."""
        if changes != self._changes or len(data) > HELD_BLOCK_BYTES_MAX or name in self._held:
            return
        self._held[name] = data
        self._bytes += len(data)
        while self._bytes > HELD_BYTES:
            self._bytes -= len(self._held.popitem(last=False)[1])

    def _forget(self, names: Collection[bytes]) -> None:
        self._changes += 1
        for name in names:
            self._bytes -= len(self._held.pop(name, b""))

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound`` for what is absent and for what is not public, without a difference;
        ``Unavailable``, also where the only copy is damaged."""
        if cid.is_identity:
            return cid.digest
        if cid.function not in COMPUTED:
            raise NotFound("no such block")
        held = self.held(cid)
        if held is not None:
            return held
        damage: CorruptState | None = None
        is_withheld = False
        changes = self._changes
        try:
            data = await self._store.public_block(cid)
            self._hold(cid.multihash, data, changes)
            return data
        except NotPublic:
            is_withheld = True
        except NotFound:
            pass  # the other stores may hold it
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
                if blocks is self._imported and cid.function == SHA2_256:
                    self._hold(cid.multihash, data, changes)
                return data
        if damage is not None and not is_withheld:
            raise Unavailable(f"a block is damaged here: {damage}") from damage
        raise NotFound("no such block")

    async def get_many(self, cids: Sequence[Cid], bytes_max: int) -> dict[Cid, bytes]:
        """Some of these blocks, those in front first, until they have ``bytes_max`` or more. What is left out
        says nothing: ``get`` does. Raises ``Unavailable``."""
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
            pass  # it is no record that can be read
        return False
