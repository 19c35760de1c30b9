"""Blocks by CID from wherever they may be: the daemon, then each peer by its address.

Promises: what comes matches its CID; what nobody has is ``NotFound``; a peer that fails is passed over. Only
CIDs are asked for, never a question. Whether a block may be kept is for others to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from node.core.errors import NodeError, NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.core.ipld.dagcbor import BLOCK_BYTES_MAX
from node.core.ports import Gets
from node.peers.ports import PeerLink


class PeerBlocks:
    """Implements ``Gets``. ``links``: the peers that may be asked now, in order."""

    def __init__(self, daemon: Gets | None, links: Callable[[], Sequence[PeerLink]]) -> None:
        self._daemon = daemon
        self._links = links

    async def get(self, cid: Cid) -> bytes:
        """Raises ``NotFound``; ``Unavailable`` where somebody who may have it could not be asked."""
        problem: NodeError | None = None
        if self._daemon is not None:
            try:
                return await self._daemon.get(cid)
            except NotFound:
                pass  # the peers are asked
            except NodeError as exc:
                problem = exc
        for link in self._links():
            try:
                async for found, data in link.blocks([cid], BLOCK_BYTES_MAX):
                    if found == cid:
                        return data
            except (NotFound, Rejected):
                continue
            except NodeError as exc:
                problem = exc
        if problem is not None:
            raise Unavailable(f"block {cid} could not be fetched: {problem}") from problem
        raise NotFound(f"no peer has block {cid}")
