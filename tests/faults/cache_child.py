"""The other process of ``test_cache_kill.py``: stores, withdraws and saves the index until it is killed.

Each line on standard output was printed after the store had acknowledged what it names.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from node.cache.index.vectors import IndexKeeper
from node.cache.keys import keyword_key
from node.core.ipld.cid import Cid
from node.core.ports import StoredRecord
from node.core.record import AnswerRecord, Embedding
from node.store.sqlite import SqliteStore
from tests.record_builders import Author
from tests.simulators.hash_embedder import HashEmbedder

US = Author(1)
EMBEDDER = HashEmbedder(128, by_word=True, model="kept")


def question(run: str, number: int) -> str:
    return f"What is kept in drawer {run}x{number}"


def reworded(query: str) -> str:
    """Common words enough for the vectors to be near, and another text."""
    return f"I wonder what {query.split()[-1]} holds in drawer"


def record_of(query: str) -> AnswerRecord:
    info = EMBEDDER.info
    data = EMBEDDER.vector_of(query).astype("<f4").tobytes()
    return US.answer(query, embedding=Embedding(info.model, info.digest, info.dim, data))


async def work(folder: Path, run: str) -> None:
    store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=US.did)
    keeper = await IndexKeeper.open(folder / "index", EMBEDDER.info, store.records)

    def say(what: str, cid: Cid, number: int) -> None:
        print(what, cid, number, flush=True)

    async def add(number: int) -> StoredRecord:
        record = record_of(question(run, number))
        stored = await store.records.add(record, keyword_key=keyword_key(record.query))
        keeper.add(stored, EMBEDDER.vector_of(record.query))
        say("added", stored.cid, number)
        return stored

    async def write(start: int, step: int) -> None:
        for number in range(start, 1_000_000, step):
            stored = await add(number)
            if number % 3 == 0:
                await store.records.withdraw(stored.cid, "gone")
                keeper.index.remove(stored.cid)
                say("withdrawn", stored.cid, number)

    async def save() -> None:
        while True:
            await keeper.save()
            await asyncio.sleep(0)

    await asyncio.gather(*(write(start, 4) for start in range(4)), save())


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
