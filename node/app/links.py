"""The way to each peer's address, and to any block and name that peers or the IPFS daemon have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from node.core.clock import Clock
from node.core.errors import NodeError, NotFound
from node.core.http import Http
from node.core.ipld import ipns
from node.core.ipld.ipns import IpnsName, IpnsRecord
from node.core.peer_address import address_of
from node.core.settings import Settings
from node.ipfs.kubo import KuboBlockStore
from node.models.deadline import within
from node.peers.ports import PeerLink
from node.peers.sync.block_link import BlockPeer
from node.peers.sync.blocks import PeerBlocks
from node.peers.sync.client import HttpPeer, resolved
from node.store.ipns_records import Names

OTHERS_MAX = 8
"""Peers that are asked for a block that its issuer does not have."""
RECORD_SHARE = 0.8
"""Of the time that a look for a name's record has, for each who is asked."""

_Record: TypeAlias = Callable[[IpnsName], Awaitable[bytes | None]]
"""What somebody has for a name, if anything. Raises ``NodeError``."""


class Links:
    """The way to each address: one for each, so that what is learned of a peer is kept. ``blocks``: any block
    by its CID, from whoever has it."""

    def __init__(
        self, settings: Settings, http: Http, names: Names, daemon: KuboBlockStore | None, clock: Clock
    ) -> None:
        self._timeout_s = settings.peers.timeout_s
        self._http = http
        self._names = names
        self._daemon = daemon
        self._clock = clock
        self._links: dict[str, PeerLink] = {}
        self.blocks = PeerBlocks(None if daemon is None else daemon.blocks, self.over_http)
        for url in settings.peers.urls:
            self.to(address_of(url))

    def to(self, address: str) -> PeerLink:
        """The link to ``address``, which the operator has named: it may lead anywhere."""
        return self._kept(address, is_told=False)

    def told(self, address: str) -> PeerLink:
        """The link to an address that a peer has named: it may lead to the public internet only."""
        return self._kept(address, is_told=True)

    def _kept(self, address: str, *, is_told: bool) -> PeerLink:
        link = self._links.get(address)
        if link is None or (isinstance(link, HttpPeer) and link.is_told != is_told):
            link = self._links[address] = self._made(address, is_told=is_told)
        return link

    def over_http(self) -> Sequence[HttpPeer]:
        """Those that can be asked for any block."""
        return [link for link in self._links.values() if isinstance(link, HttpPeer)][:OTHERS_MAX]

    def dated(self) -> Sequence[Callable[[], Awaitable[object]]]:
        """Asks each peer that the operator has named for its newest checkpoint, which comes with a date."""
        return [link.checkpoint for link in self.over_http() if not link.is_told]

    def forget_others(self, addresses: Sequence[str]) -> None:
        """Keep the links to these only."""
        self._links = {one: link for one, link in self._links.items() if one in addresses}

    def _made(self, address: str, *, is_told: bool) -> PeerLink:
        if "://" in address:
            resolve = resolved if is_told else None
            return HttpPeer(address, self._http, self._clock, timeout_s=self._timeout_s, resolve=resolve)
        return BlockPeer(
            IpnsName.parse(address), self._record, self.blocks, self._clock, timeout_s=self._timeout_s
        )

    async def _record(self, name: IpnsName) -> bytes:
        """The newest record of a name that this node, its daemon or a peer has. All are asked together, and
        none may use up the time of the others."""
        asks: list[_Record] = [self._names.get, *(link.ipns_record for link in self.over_http())]
        if self._daemon is not None:
            asks.append(self._daemon.get_name)
        found = await asyncio.gather(*(self._checked(name, ask) for ask in asks))
        best: tuple[IpnsRecord, bytes] | None = None
        for one in found:
            if one is not None and (best is None or ipns.better(one[0], best[0])):
                best = one
        if best is None:
            raise NotFound(f"nobody who was asked knows a record of the name {name.text}")
        return best[1]

    async def _checked(self, name: IpnsName, ask: _Record) -> tuple[IpnsRecord, bytes] | None:
        limit_s = self._timeout_s * RECORD_SHARE
        try:
            data = await within(self._clock, limit_s, ask(name), "the record did not come in time")
            return None if data is None else (ipns.decode(data, name), data)
        except NodeError:
            return None
