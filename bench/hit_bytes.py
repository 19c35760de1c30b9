"""What a cache hit costs on disk: decision log, its keys and blocks, state.

    python -m bench.hit_bytes [--seconds 15]

Method. A node as shipped holds 500 questions and is stopped; started again it is asked them by 16 connections
for so long, and stopped. The sum of its files has grown by so many bytes a hit. Partial tiles that newer ones
replaced are kept for a while and weigh in: the longer, the nearer to what a hit costs in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bench.fresh_node import fresh_node
from bench.hits import write_index
from bench.questions import questions
from bench.throughput import Bench, client_process

STORED, CONNECTIONS, SHOWN = 500, 16, 8


def sizes(home: Path) -> Counter[str]:
    """Bytes by file; the tiles of a kind together."""
    found: Counter[str] = Counter()
    for path in home.rglob("*"):
        if path.is_file():
            parts = path.relative_to(home).parts
            found["/".join(parts[:3] if "tile" in parts else parts)] += path.stat().st_size
    return found


async def run(seconds: float) -> None:
    stored = questions()[:STORED]
    texts = [one.text for one in stored]
    with tempfile.TemporaryDirectory() as folder, client_process() as client:
        home, index = Path(folder) / "node", Path(folder) / "knowledge-index.json"
        await write_index(index, stored)
        more = {"INDEX_FILE": str(index), "LOG__DURABILITY": "behind_50ms"}
        async with fresh_node(home, more) as node:
            await Bench(node, client, seconds).ask_all(texts)
        before = await asyncio.to_thread(sizes, home)
        async with fresh_node(home, more) as node:
            bench = Bench(node, client, seconds)
            await bench.ask_all(texts)
            driven = await bench.drive(urlsplit(node.url).port or 0, texts * 400, CONNECTIONS)
        hits = len(driven.times_ms) + len(texts)
        grown = await asyncio.to_thread(sizes, home)
    grown.subtract(before)
    print(f"{hits} hits, {sum(grown.values()) / hits:,.0f} bytes each:")
    for name, more_bytes in grown.most_common(SHOWN):
        print(f"  {more_bytes / hits:,.1f} {name}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.hit_bytes", description="bytes on disk of a cache hit")
    parser.add_argument("--seconds", type=float, default=15.0)
    asyncio.run(run(parser.parse_args(arguments).seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
