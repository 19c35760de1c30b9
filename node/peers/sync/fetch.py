"""The blocks that a peer's log names: from the peer itself, else from others, else remembered as missing.

Promises: bounded in blocks, bytes and how much others are asked for; a block comes once, in no certain order;
a peer that fails while it gives leaves a failure unless others had the rest. Must not know what blocks mean.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from itertools import islice

from node.core.errors import NodeError
from node.core.ipld.cid import Cid
from node.core.ipld.dagcbor import BLOCK_BYTES_MAX
from node.peers.ports import PeerLink
from node.peers.rules.entry import PublicationEntry

AT_ONCE = 256
"""Blocks that one request asks for: 64 MiB at most, which is what a peer gives at once."""
AGAIN_BYTES = 32 * 2**20
"""After so many bytes in one answer what it left out may only have had no room."""
PASSES_MAX = 4
OTHERS_MAX = 4
OTHERS_BLOCKS_MAX = 1_024
"""How many blocks others are asked for in a round: whoever names blocks that nobody has does not make us
flood them."""
MISSING_OF_ONE = 4_096
MISSING_ROOTS = 256
TRIES_MAX = 8


class Fetcher:
    """For one round with ``link``. ``others``: who is asked for what it has not. ``bytes`` and ``blocks``:
    what has come; ``absent``: what the last call of ``fetch`` could not get."""

    def __init__(self, link: PeerLink, others: Sequence[PeerLink]) -> None:
        self._link = link
        self._others = others[:OTHERS_MAX]
        self._others_left = OTHERS_BLOCKS_MAX
        self.bytes = 0
        self.blocks = 0
        self.absent: list[Cid] = []

    async def fetch(self, cids: Sequence[Cid]) -> AsyncGenerator[tuple[Cid, bytes], None]:
        """Each of these blocks that can be had. Raises what kept the peer from giving the others."""
        self.absent = []
        for at in range(0, len(cids), AT_ONCE):
            wanted = dict.fromkeys(cids[at : at + AT_ONCE])
            async with contextlib.aclosing(self._some(wanted)) as some:
                async for one in some:
                    yield one
            self.absent += wanted

    async def _some(self, wanted: dict[Cid, None]) -> AsyncGenerator[tuple[Cid, bytes], None]:
        problem: NodeError | None = None
        for _ in range(PASSES_MAX):
            before = self.bytes
            try:
                async with contextlib.aclosing(self._from(self._link, wanted)) as found:
                    async for one in found:
                        yield one
            except NodeError as exc:
                problem = exc
                break
            if not wanted or self.bytes - before < AGAIN_BYTES:
                break
        for other in self._others:
            asked = dict.fromkeys(list(wanted)[: self._others_left])
            if not asked:
                break
            self._others_left -= len(asked)
            with contextlib.suppress(NodeError):
                async with contextlib.aclosing(self._from(other, asked)) as found:
                    async for cid, data in found:
                        del wanted[cid]
                        yield cid, data
        if wanted and problem is not None:
            raise problem

    async def _from(self, link: PeerLink, wanted: dict[Cid, None]) -> AsyncGenerator[tuple[Cid, bytes], None]:
        """Some of ``wanted``, which then are no longer in it."""
        coming = link.blocks(list(wanted), len(wanted) * BLOCK_BYTES_MAX)
        try:
            async for cid, data in coming:
                self.bytes += len(data)
                if cid in wanted and cid.matches(data):
                    del wanted[cid]
                    self.blocks += 1
                    yield cid, data
        finally:
            if isinstance(coming, AsyncGenerator):
                await coming.aclose()


class Missing:
    """Entries whose blocks nobody had, by root; forgotten by a restart, after which ``mend`` finds them."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, OrderedDict[Cid, tuple[int, PublicationEntry, int]]] = OrderedDict()

    def add(self, root: str, cid: Cid, index: int, entry: PublicationEntry) -> None:
        """Remember, unless there is no room, or it was tried ``TRIES_MAX`` times."""
        known = self._of.setdefault(root, OrderedDict())
        self._of.move_to_end(root)
        tries = known[cid][2] + 1 if cid in known else 0
        if tries >= TRIES_MAX:
            del known[cid]
        elif cid in known or len(known) < MISSING_OF_ONE:
            known[cid] = (index, entry, tries)
            known.move_to_end(cid)
        while len(self._of) > MISSING_ROOTS:
            self._of.popitem(last=False)

    def some(self, root: str, most: int) -> list[tuple[Cid, int, PublicationEntry]]:
        """Those that were tried longest ago."""
        known = self._of.get(root, OrderedDict())
        return [(cid, found[0], found[1]) for cid, found in islice(known.items(), most)]

    def found(self, root: str, cid: Cid) -> None:
        """It is here, or wanted no longer."""
        known = self._of.get(root)
        if known is not None:
            known.pop(cid, None)
            if not known:
                del self._of[root]

    def forget(self, root: str) -> None:
        """Nothing of this root is wanted any more."""
        self._of.pop(root, None)
