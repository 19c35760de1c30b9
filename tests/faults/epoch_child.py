"""The other process of ``test_epoch_kill.py``: appends to a log whose epochs end and move all the time, until
it is killed; a line for each entry."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from node.audit.decisions.keeper import Bounds, EpochKeeper
from node.audit.decisions.log import DecisionLog
from node.audit.log.archive import FolderArchive
from node.core.clock import SystemClock
from tests.log_kit import opened


async def work(log: DecisionLog, name: str) -> None:
    for number in range(100_000):
        text = f"{name}-{number}"
        place = await log.append({"kind": "answer", "n": text}, private_texts={})
        print(place.log, place.index, text, flush=True)


async def keep(log: DecisionLog, keeper: EpochKeeper) -> None:
    while True:
        await keeper.tick()
        await log.end_epoch("age")


async def main(folder: str) -> None:
    log = await opened(Path(folder), SystemClock(), shard_entries=300, publish_every_s=0.05)
    archive = FolderArchive(Path(folder) / "archive")
    bounds = Bounds(kept_here=0)
    keeper = EpochKeeper(log, SystemClock(), bounds, archive, followed=lambda: log.epoch)
    await asyncio.gather(keep(log, keeper), *(work(log, name) for name in "abcd"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
