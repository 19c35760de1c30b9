"""The other process of ``test_documents_faults.py``: takes a folder in until it is killed, or the disk full.

Each line on standard output was printed after the store had acknowledged what it names.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from node.core.errors import Unavailable
from node.knowledge import rows
from node.knowledge.rows import Changed
from node.store.record_keys import RecordKeys
from tests.documents_kit import World
from tests.faults.kill_kit import dying_after

ROOM_BYTES = 700_000


def say(*words: object) -> None:
    print(*words, flush=True)


async def ingest(base: Path) -> None:
    world = await World(base).open()
    world.store.listeners.append(lambda changed: say("stored", changed.count) if changed.hashes else None)
    run = await world.ingest()
    say("over", run.new, run.unchanged, run.failed)
    await world.close()


async def fill(base: Path) -> None:
    """A limit on file size stands for a full disk: the write fails in the middle of a transaction."""
    world = await World(base).open()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM_BYTES, hard))
    heard: list[Changed] = []
    world.store.listeners.append(heard.append)
    try:
        await world.ingest()
        say("no limit met")
    except Unavailable as exc:
        say("refused", str(exc).replace(" ", "_"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    say("told", sum(1 for one in heard if one.hashes))
    run = await world.ingest()
    say("over", run.new, run.unchanged, run.failed)
    await world.close()


async def erase(base: Path) -> None:
    """Dies in the middle: once the key is gone, or some of the rows."""
    world = await World(base).open()
    setattr(rows, "remove", dying_after(rows.remove, int(sys.argv[3])))  # noqa: B010 - a function is replaced
    if sys.argv[3] == "0":
        setattr(RecordKeys, "destroy", dying_after(RecordKeys.destroy))  # noqa: B010 - as above
    await world.store.erase("private:ana")
    say("over")


if __name__ == "__main__":
    asyncio.run({"ingest": ingest, "fill": fill, "erase": erase}[sys.argv[1]](Path(sys.argv[2])))
