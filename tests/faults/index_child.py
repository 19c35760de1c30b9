"""The other process of ``test_index_kill.py``: an index that grows and is saved, until it is killed.

    index_child.py FOLDER MOMENT

It opens the store of records in FOLDER, adds and withdraws, works and saves; at ``MOMENT`` it kills itself.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from node.cache.index import hnsw_file
from node.cache.index.growing_index import GrowingIndex
from node.cache.index.hnsw_index import Graph
from node.cache.index.vectors import IndexKeeper
from node.core.record import Embedding
from node.store.sqlite import SqliteStore
from tests.faults.kill_kit import die, dying_after
from tests.record_builders import Author
from tests.simulators.hash_embedder import HashEmbedder

US = Author(1)
MODEL = HashEmbedder(32)
ABOVE = 100
FIRST, MORE = 150, 150


def arm(moment: str) -> None:
    """Each is a step of the real work at which the process ends."""
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if not str(target).endswith(hnsw_file.SUFFIX):
            return real(self, target)
        if moment == "graph replaced":
            real(self, target)
        return Path(die())

    match moment:
        case "building":
            Graph.add = dying_after(Graph.add, 2)
        case "measured":
            GrowingIndex._take_over = die
        case "taken over":
            GrowingIndex._take_over = dying_after(GrowingIndex._take_over)
        case "graph written":
            hnsw_file._append_names = die
        case "graph synced" | "graph replaced":
            Path.replace = replace
        case "vectors saved":
            hnsw_file.save_all = die
        case "merging":
            GrowingIndex._settle_merged = die
        case "merged":
            GrowingIndex._settle_merged = dying_after(GrowingIndex._settle_merged, 3)


def embedding(query: str) -> Embedding:
    info = MODEL.info
    return Embedding(info.model, info.digest, info.dim, MODEL.vector_of(query).astype("<f4").tobytes())


async def main() -> None:
    folder, moment = Path(sys.argv[1]), sys.argv[2]
    store = await SqliteStore.open(folder / "blocks.sqlite", own_issuer=US.did)
    keeper = await IndexKeeper.open(folder / "index", MODEL.info, store.records, hnsw_above=ABOVE)

    async def add(start: int, stop: int) -> None:
        for first in range(start, stop, 100):
            queries = [f"question {number}" for number in range(first, min(stop, first + 100))]
            stored = await asyncio.gather(
                *(store.records.add(US.answer(query, embedding=embedding(query))) for query in queries)
            )
            for one in stored[::10]:
                await store.records.withdraw(one.cid, "test")
        await keeper.follow()

    def work() -> None:
        while keeper.index.work():
            pass

    arm(moment)
    await add(0, FIRST)
    work()
    await keeper.save()
    arm(moment.removeprefix("second: "))
    await add(FIRST, FIRST + MORE)
    work()
    await keeper.save()
    await add(FIRST + MORE, FIRST + MORE + 10)
    die()


if __name__ == "__main__":
    asyncio.run(main())
