"""What an exact hit from memory consists of: calls, bytecodes, system calls, processor by thread.

    python -m bench.hit_cost [--records 500] [--hits 20000] [--connections 16] [--rounds 3] [--shown 25]
                             [--durability behind_50ms] [--parts processor,calls,codes,system,idle]

Method. A node as shipped holds ``--records`` questions made by program and has been asked each once. A client
in another process drives it over loopback. Nothing that is told depends on how fast the machine is, or on
who else works on it, but for *processor*, which is what the kernel has counted for each thread of the node.

- *processor*: microseconds a hit by thread, the median over the rounds of ``--hits`` each; beside it what a
  bare aiohttp handler needs to send the same bytes, asked in turn.
- *calls*: functions called by the event loop's thread (``cProfile``), C functions too; *codes*: bytecodes
  that it executes (``sys.settrace``). Both for 1,000 and for 3,000 hits; the difference, by 2,000.
- *system*: system calls of all threads (``strace -f -c``, where it is there), for 2,000 and for 6,000 hits.
- *idle*: milliseconds of processor a second, while nobody asks anything, by thread, over ``--idle-s``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from bench.counted import CALLS, CODES, COUNT, COUNT_TO
from bench.fresh_node import FreshNode, at_rest, fresh_node, processor_s
from bench.hits import write_index
from bench.questions import questions
from bench.throughput import Bench, bare_handler, client_process

PROCESSOR, SYSTEM, IDLE = "processor", "system", "idle"
PARTS = (PROCESSOR, CALLS, CODES, SYSTEM, IDLE)
SHORT, LONG = 1_000, 3_000
SYSTEM_TIMES = 2
"""So many times the hits under ``strace``, whose counts are of all threads and of more chance."""
SETTLE_S = 2.0
"""What follows a burst (keys, checkpoints, blocks) is over after so long."""
TOTAL = "in all"


class Node:
    """A node that counts, and whoever asks it."""

    def __init__(self, node: FreshNode, bench: Bench, told: Path, texts: Sequence[str]) -> None:
        self.pid = node.pid
        self._node = node
        self._bench = bench
        self._told = told
        self._texts = texts

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[tuple[int, int]]:
        """Port and process of a bare handler that sends the bytes of a reply of the node."""
        async with bare_handler(await self._bench.reply_to(self._texts[0])) as bare:
            yield bare

    async def ask(self, hits: int, connections: int, port: int | None = None) -> None:
        again = [self._texts[number % len(self._texts)] for number in range(hits)]
        driven = await self._bench.drive(port or urlsplit(self._node.url).port or 0, again, connections)
        if len(driven.times_ms) != hits:
            raise RuntimeError(f"{len(driven.times_ms)} of {hits} hits came")

    async def processor_us(self, hits: int, connections: int) -> dict[str, float]:
        """By thread, a hit."""
        names, before = await self.threads(), self._worked_ns()
        await self.ask(hits, connections)
        await asyncio.sleep(SETTLE_S)
        return _per(_by_name(names | await self.threads(), before, self._worked_ns()), hits * 1_000)

    async def idle_ms(self, seconds: float) -> dict[str, float]:
        """By thread, a second."""
        await asyncio.sleep(SETTLE_S)
        names, before = await self.threads(), self._worked_ns()
        await asyncio.sleep(seconds)
        return _per(_by_name(names | await self.threads(), before, self._worked_ns()), seconds * 1e6)

    async def counted(self, connections: int) -> dict[str, float]:
        """What the node counts between two signals, a hit."""
        found = [await self._counted(hits, connections) for hits in (SHORT, LONG)]
        return _per(_less(found[1], found[0]), LONG - SHORT)

    async def system_calls(self, connections: int) -> dict[str, float]:
        """A hit, by name."""
        found = [await self._traced(SYSTEM_TIMES * hits, connections) for hits in (SHORT, LONG)]
        return _per(_less(found[1], found[0]), SYSTEM_TIMES * (LONG - SHORT))

    async def threads(self) -> dict[str, str]:
        """Names by number."""
        found: dict[str, str] = orjson.loads(await self._tell(signal.SIGUSR2))
        return found

    async def _counted(self, hits: int, connections: int) -> dict[str, int]:
        os.kill(self._node.pid, signal.SIGUSR1)
        await asyncio.sleep(SETTLE_S / 4)
        await self.ask(hits, connections)
        found: dict[str, int] = orjson.loads(await self._tell(signal.SIGUSR1))
        return found

    async def _traced(self, hits: int, connections: int) -> dict[str, int]:
        to = self._told.with_suffix(".strace")
        process = await asyncio.create_subprocess_exec(
            *("strace", "-f", "-c", "-o", str(to), "-p", str(self._node.pid)),
            stderr=asyncio.subprocess.DEVNULL,
        )
        await asyncio.sleep(SETTLE_S)
        await self.ask(hits, connections)
        process.send_signal(signal.SIGINT)
        await process.wait()
        rows = [line.split() for line in to.read_text().splitlines()]
        return {
            row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit() and row[-1] != "total"
        }

    async def _tell(self, number: int) -> bytes:
        self._told.unlink(missing_ok=True)
        os.kill(self._node.pid, number)
        while not self._told.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)
        return self._told.read_bytes()

    def _worked_ns(self) -> dict[str, int]:
        """By thread; what ended meanwhile is lost."""
        found = {}
        for task in Path(f"/proc/{self._node.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found[task.name] = int((task / "schedstat").read_text().split()[0])
        return found


def _by_name(names: Mapping[str, str], before: Mapping[str, int], after: Mapping[str, int]) -> Counter[str]:
    """Threads of a pool together."""
    found: Counter[str] = Counter()
    for number, worked in after.items():
        found[names.get(number, "others (C)").rstrip("0123456789").rstrip("-_ ")] += worked - before.get(
            number, 0
        )
    return found


def _less(more: Mapping[str, int], less: Mapping[str, int]) -> dict[str, int]:
    return {name: count - less.get(name, 0) for name, count in more.items()}


def _per(found: Mapping[str, int], by: float) -> dict[str, float]:
    return {name: count / by for name, count in found.items()}


def _median(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one.get(name, 0.0) for one in found) for name in found[0]}


def show(title: str, found: Mapping[str, float], shown: int) -> None:
    print(f"{title}: {sum(found.values()):,.2f} {TOTAL}")
    for name, count in sorted(found.items(), key=lambda one: -one[1])[:shown]:
        if count >= 0.005:
            print(f"  {count:10,.2f} {name}")
    sys.stdout.flush()


async def run(wanted: argparse.Namespace) -> None:
    stored = questions()[: wanted.records]
    texts = [one.text for one in stored]
    with tempfile.TemporaryDirectory() as folder, client_process() as client:
        home, index, told = (
            Path(folder) / "node",
            Path(folder) / "knowledge-index.json",
            Path(folder) / "told",
        )
        await write_index(index, stored)
        more = {"INDEX_FILE": str(index), "LOG__DURABILITY": wanted.durability}
        for kind in (CALLS, CODES):
            parts = [one for one in wanted.parts if one == kind or (kind == CALLS and one != CODES)]
            if not parts:
                continue
            os.environ |= {COUNT: kind, COUNT_TO: str(told)}
            async with fresh_node(home, more, module="bench.counted") as node:
                asker = Node(node, Bench(node, client, float("inf")), told, texts)
                await measured(asker, parts, wanted)


async def measured(asker: Node, parts: Sequence[str], wanted: argparse.Namespace) -> None:
    await asker.ask(max(SHORT, 2 * wanted.records), wanted.connections)
    print(f"behind the start: {await at_rest(asker.pid):.1f} s of processor", flush=True)
    if IDLE in parts:
        show("processor while idle, ms a second", await asker.idle_ms(wanted.idle_s), wanted.shown)
    await asker.ask(SHORT, wanted.connections)
    if PROCESSOR in parts:
        rounds, bare = [], []
        async with asker.bare() as (port, process):
            for _ in range(wanted.rounds):
                rounds.append(await asker.processor_us(wanted.hits, wanted.connections))
                before = processor_s(process)
                await asker.ask(wanted.hits, wanted.connections, port)
                bare.append((processor_s(process) - before) * 1e6 / wanted.hits)
        print("rounds:", " ".join(f"{sum(one.values()):.0f}" for one in rounds), end="; ")
        print("a bare handler, µs:", " ".join(f"{one:.0f}" for one in bare))
        show("processor, µs a hit", _median(rounds), wanted.shown)
    for kind, title in ((CALLS, "calls"), (CODES, "bytecodes")):
        if kind in parts:
            show(f"{title} a hit, event loop", await asker.counted(wanted.connections), wanted.shown)
    if SYSTEM in parts and shutil.which("strace"):
        show("system calls a hit", await asker.system_calls(wanted.connections), wanted.shown)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.hit_cost", description="what an exact hit consists of")
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--hits", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shown", type=int, default=25)
    parser.add_argument("--idle-s", type=float, default=30.0)
    parser.add_argument("--durability", default="behind_50ms")
    parser.add_argument("--parts", type=lambda text: tuple(text.split(",")), default=PARTS)
    asyncio.run(run(parser.parse_args(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
