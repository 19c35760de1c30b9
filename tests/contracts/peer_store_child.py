"""The other process of the peer store's contract: changes the file until it is killed. Each line on standard
output was printed after the store had acknowledged what it names."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from node.core.ipld.cid import Cid
from node.peers.rules.values import Held, Tier
from node.peers.store.sqlite import PeerStore
from tests.manual_clock import ManualClock

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
ALICE = "did:key:alice"


def _held(name: str) -> Held:
    data = f"block {name}".encode()
    return Held(
        Cid.of(data), data, ALICE, "did:key:node", Tier.UNTRUSTED, name, None, "00", START, None, 0, 0
    )


async def change_until_killed(path: Path) -> None:
    store = await PeerStore.open(path, ManualClock(START))
    for number in range(100_000):
        record, too = _held(str(number)), _held(f"{number} too")
        await store.hold([record, too])
        print("held", number, flush=True)
        said = Cid.of(b"said" + record.data)
        await store.add_statement(said, b"said", ALICE, "did:key:node", record.cid, "valid", START)
        print("said", number, flush=True)
        await store.entomb(record.cid, ALICE, Cid.of(b"stone" + record.data), b"stone", None)
        print("entombed", number, flush=True)
        await store.release(record.cid)
        print("released", number, flush=True)


if __name__ == "__main__":
    asyncio.run(change_until_killed(Path(sys.argv[1])))
