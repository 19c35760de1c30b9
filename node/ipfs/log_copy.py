"""What IPFS holds of a log, for whoever mends its folder: an IPFS daemon that was given the log's blocks, and
what an earlier version stored of them here.

Nothing here comes out of the folder itself. Blocks are held against their CIDs; whether a head that names
them is right is for the caller to see from the log's root.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from node.audit.tlog.tiles import Tile
from node.core.errors import CorruptState, NodeError, NotFound, Rejected
from node.core.ipld.cid import Cid
from node.core.ports import Gets
from node.ipfs.log_head import Head

_log = logging.getLogger("neuroswarm.log_blocks")


class BlockCopy:
    """A ``Copy``. ``head``: the newest head of the log's blocks, read from ``heads``; ``places``: where the
    blocks of its files are looked for, in this order."""

    name = "IPFS blocks"

    def __init__(self, head: Callable[[], Cid | None], heads: Gets, places: Sequence[Gets]) -> None:
        self._head = head
        self._heads = heads
        self._places = places

    async def look(self, origin: str, tile: Tile) -> Sequence[bytes]:
        """The tile's bytes, if there are any: complete ones, and those of the newest head's right edge."""
        try:
            cid = self._head()
            while cid is not None:
                head = Head.parse(await self._heads.get(cid))
                if head.origin == origin and tile.path in head.new:
                    return [b"".join([await self._block(one) for one in head.new[tile.path]])]
                cid = head.prev
        except (NotFound, CorruptState, Rejected):
            return []
        except NodeError as exc:
            _log.info("event=log_copy_failed copy=ipfs reason=%s", exc)
        return []

    async def _block(self, cid: Cid) -> bytes:
        """Raises ``NotFound``, ``Unavailable``."""
        for place in self._places:
            try:
                data = await place.get(cid)
            except (NotFound, CorruptState):
                continue
            if cid.matches(data):
                return data
        raise NotFound(f"nobody has the block {cid}")
