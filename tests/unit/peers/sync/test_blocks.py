"""Blocks by CID, from whoever has them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from node.core.errors import NodeError, NotFound, Rejected, Unavailable
from node.core.ipld.cid import Cid
from node.peers.sync.blocks import PeerBlocks
from tests.desk_kit import Far

DATA = b"a block"
CID = Cid.of(DATA)


class Daemon:
    def __init__(self, problem: NodeError | None = None) -> None:
        self.problem = problem

    async def get(self, cid: Cid) -> bytes:
        if self.problem is not None:
            raise self.problem
        return DATA


class Link(Far):
    def __init__(self, problem: NodeError | None = None, *, has_it: bool = True) -> None:
        super().__init__("http://a.example")
        self.problem = problem
        self.has_it = has_it

    async def blocks(self, cids: Sequence[Cid], bytes_max: int) -> AsyncIterator[tuple[Cid, bytes]]:
        if self.problem is not None:
            raise self.problem
        if self.has_it:
            yield CID, DATA


async def test_the_daemon_first_then_each_peer() -> None:
    nobody: list[Link] = []
    assert await PeerBlocks(Daemon(), lambda: nobody).get(CID) == DATA
    links = [Link(Unavailable("away")), Link(Rejected("lies")), Link(has_it=False), Link()]
    assert await PeerBlocks(Daemon(Unavailable("away")), lambda: links).get(CID) == DATA
    assert await PeerBlocks(Daemon(NotFound("not here")), lambda: links).get(CID) == DATA


async def test_nobody_has_it_or_somebody_who_may_was_away() -> None:
    with pytest.raises(NotFound):
        await PeerBlocks(None, lambda: [Link(has_it=False), Link(Rejected("lies"))]).get(CID)
    with pytest.raises(Unavailable, match="away"):
        await PeerBlocks(None, lambda: [Link(Unavailable("away")), Link(has_it=False)]).get(CID)
