"""The other process of ``test_sharing_kill.py``: publishes heads until it is killed.

Each line on standard output, ``<sequence> <head>``, was printed when a record was handed out.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from node.core.clock import SystemClock
from node.core.ipld import ipns
from node.core.ipld.ipns import IpnsName
from node.ipfs.head import Content, Head, HeadBlocks, HeadFiles, Signing
from node.store.sqlite import SqliteStore
from tests.head_world import WatchedNames
from tests.name_owner import Owner
from tests.record_builders import Author

US = Author(1)
OWNER = Owner(1)


class StoppedClock(SystemClock):
    """The wall clock stands still, so that only what is on disk keeps the sequence from going back."""

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


async def publish_until_killed(folder: Path, run: str) -> None:
    clock = StoppedClock()
    store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=US.did)
    blocks = await SqliteStore.open(folder / "head_blocks.sqlite", own_issuer=US.did)
    names = await WatchedNames.open(folder / "names.sqlite", clock, own=OWNER.name)
    published = asyncio.Event()
    head = Head(
        Content(store.records, lambda: None, lambda: None),
        HeadBlocks(blocks.blocks, blocks.stored),
        names,
        clock,
        files=HeadFiles(folder / "head.json", folder / "ipns-record"),
        signing=Signing(US.did, lambda: [OWNER.key]),
        every_s=0,
    )

    def tell(name: IpnsName, data: bytes) -> None:
        record = ipns.decode(data, name)
        print(record.sequence, record.value.removeprefix("/ipfs/"), flush=True)
        published.set()

    names.told = tell
    head.start()
    for step in range(100_000):
        published.clear()
        await store.records.add(US.answer(f"Question {run} {step}?", scope="public"))
        head.changed()
        await published.wait()


if __name__ == "__main__":
    asyncio.run(publish_until_killed(Path(sys.argv[1]), sys.argv[2]))
