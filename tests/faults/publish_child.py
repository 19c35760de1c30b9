"""The other process of ``test_sharing_kill.py``: stores, withdraws and publishes until it is killed.

Each line on standard output is the CID of a record that was durable in the store before it was printed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from node.audit.log.reader import FolderSource, LogReader
from node.audit.log.writer import Pace, TileLog
from node.core.clock import SystemClock
from node.core.errors import NotFound
from node.core.record import AnswerRecord
from node.peers.sync.publish import Places, Publisher, ReadBack
from node.peers.sync.publish_index import root_at
from node.store.sqlite import SqliteStore
from tests.record_builders import Author
from tests.tlog_memory import log_signer

US = Author(1)


async def opened(folder: Path) -> tuple[SqliteStore, TileLog, Publisher]:
    """Store, log and publisher of the folder."""
    clock = SystemClock()
    store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=US.did)
    log = await TileLog.open(
        folder / "publications",
        log_signer().verifier.name,
        [log_signer()],
        clock,
        high_water=folder / "signed",
        pace=Pace(every_s=0.05),
    )
    source = FolderSource(folder / "publications")
    reader = LogReader(source)

    async def entries(first: int, end: int) -> Sequence[bytes]:
        published = log.published
        return [] if published is None else await reader.entries(first, end - first, published.size)

    async def root(size: int) -> bytes:
        if log.published is None:
            raise NotFound("no checkpoint yet")
        return await root_at(source, log.published.note, size)

    def word(_: AnswerRecord) -> str:
        return "general"

    publisher = Publisher(
        store.records,
        log,
        clock,
        ReadBack(entries, root),
        own=US.did,
        class_of=word,
        places=Places(folder / "publications.json", folder / "publications.index", 5),
    )
    return store, log, publisher


async def work(folder: Path, run: str) -> None:
    store, _, publisher = await opened(folder)
    store.on_change = publisher.changed
    publisher.start()
    for number in range(100_000):
        record = US.answer(f"What is {run} {number}?", scope="public")
        stored = await store.records.add(record)
        print(stored.cid, flush=True)
        if number % 5 == 2:
            newer = US.answer(f"What is {run} {number}?", answer="Newer.", scope="public")
            print((await store.records.add(newer, supersede=[stored.cid])).cid, flush=True)
        if number % 5 == 4:
            await store.records.add(US.tombstone(stored.cid, scope="public"))
        await asyncio.sleep(0)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
