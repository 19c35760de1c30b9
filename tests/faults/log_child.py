"""The other process of ``test_log_faults.py``: appends to a log until it is killed, a line for each entry."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from node.audit.decisions.log import DecisionLog
from node.core.clock import SystemClock
from tests.log_kit import opened


async def work(log: DecisionLog, name: str) -> None:
    for number in range(100_000):
        text = f"{name}-{number}"
        place = await log.append({"kind": "answer", "n": text}, private_texts={"query": text})
        print(place.log, place.index, text, flush=True)


async def main(folder: str, shard: str) -> None:
    log = await opened(Path(folder), SystemClock(), shard_entries=int(shard), publish_every_s=0.05)
    await asyncio.gather(*(work(log, name) for name in "abcdefgh"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
