"""The other process of ``test_car_faults.py``: imports a CAR until it is killed or the disk says no."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from node.core.errors import Rejected, Unavailable
from node.core.ipld.car import header, section
from node.core.ipld.cid import RAW, Cid
from node.store import imported_blocks
from node.store.imported_blocks import ForeignStore

BLOCKS = 2_000
BATCH = 20
BYTES = 5_000


def block(number: int) -> tuple[Cid, bytes]:
    data = number.to_bytes(8, "big") * (BYTES // 8)
    return Cid.of(data, RAW), data


async def car() -> AsyncIterator[bytes]:
    """Ten blocks a piece; each line says that the pieces before are read."""
    yield header([block(0)[0]])
    for start in range(0, BLOCKS, 10):
        print(start, flush=True)
        yield b"".join(section(*block(number)) for number in range(start, start + 10))


async def work(path: Path) -> None:
    imported_blocks.BATCH_BLOCKS = BATCH
    store = await ForeignStore.open(path, bytes_max=2**30)
    await store.add(car())
    await store.close()


async def fill_the_disk(path: Path) -> None:
    """A limit on file size stands for a full disk: the write fails in the middle of a transaction."""
    imported_blocks.BATCH_BLOCKS = BATCH
    store = await ForeignStore.open(path, bytes_max=2**30)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, hard))
    said = ""
    try:
        await store.add(car())
    except (Unavailable, Rejected) as exc:
        said = f"{type(exc).__name__}: {exc}"
    stored = (await store.counts())["blocks"]
    readable = [number for number in range(BLOCKS) if await store.blocks.has(block(number)[0])]
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    again = await store.add(car())
    await store.close()
    print(json.dumps({"said": said, "stored": stored, "readable": len(readable), "known": again.known}))


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    asyncio.run({"work": work, "fill": fill_the_disk}[sys.argv[1]](Path(sys.argv[2])))
