"""The other process of ``test_sharing_kill.py``: follows a peer over HTTP until killed, or until it has all.

Each line on standard output, ``<what> <cid>``, was printed when it was durable.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import aiohttp

from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.core.record import AnswerRecord, decode
from node.peers.rules.entry import Retract
from node.peers.rules.keys import KeyRing
from node.peers.rules.values import Contact
from node.peers.store.sqlite import PeerStore
from node.peers.sync.admit import Arrived
from node.peers.sync.client import HttpPeer
from node.peers.sync.follow import Limits, PeerSync, Watch, Ways
from tests.peer_builders import held_of
from tests.record_builders import Author


class Keeper:
    """An admitter that keeps everything and says so."""

    def __init__(self, store: PeerStore) -> None:
        self._store = store

    async def admit(self, root: str, ring: KeyRing, arrived: Sequence[Arrived]) -> list[str]:
        for one in arrived:
            record = decode(one.data)
            assert isinstance(record, AnswerRecord)
            await self._store.hold([held_of(record, root, one.data, one.index)])
            print("admit", one.cid, flush=True)
        return ["held"] * len(arrived)

    async def retract(self, root: str, entry: Retract, tombstone_block: bytes | None) -> str:
        await self._store.release(entry.cid)
        if tombstone_block is not None and entry.tombstone is not None:
            await self._store.entomb(entry.cid, root, entry.tombstone, tombstone_block, None)
        print("retract", entry.cid, flush=True)
        return "withdrawn"

    async def validation(self, root: str, ring: KeyRing, cid: Cid, data: bytes) -> str:
        return "counted"

    async def retier(self, root: str) -> None:
        await self._store.finish(root)

    async def drop(self, root: str, reason: str) -> None:
        raise AssertionError("an honest peer is not dropped")


async def follow(folder: Path, url: str) -> None:
    clock = SystemClock()
    store = await PeerStore.open(folder / "peers.sqlite", clock)
    await store.put_contact(Contact(url, "settings"))

    async def keep(root: str, notes: Mapping[str, bytes]) -> None:
        raise AssertionError("an honest peer does not contradict itself")

    async with aiohttp.ClientSession(auto_decompress=False) as http:
        link = HttpPeer(url, http, clock, timeout_s=10)
        sync = PeerSync(
            store,
            Keeper(store),
            clock,
            Ways(lambda address: link, lambda address: link, list),
            Watch(keep),
            Author(99).did,
            limits=Limits(entries=512),
        )
        while (await sync.sync(url)).outcome == "partial":
            pass
    await store.close()
    print("done", url, flush=True)


if __name__ == "__main__":
    asyncio.run(follow(Path(sys.argv[1]), sys.argv[2]))
