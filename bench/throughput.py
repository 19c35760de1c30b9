"""Questions a second by kind of hit, number of connections and durability of the log, beside a bare handler.

    python -m bench.throughput [--records 10000] [--seconds 3] [--rounds 3] [--kinds exact,slot]
                               [--connections 1,16,64] [--durabilities behind_50ms] [--write]

Method. A node as shipped holds ``--records`` questions made by program (``bench.questions``), with the real
embedder and no language model. A bare aiohttp handler in one process reads the same requests and sends the
bytes of one of the node's replies. A client in a third process (``bench.load``) drives both in turn, so that
a busy spell of the machine falls on both; the ratio is the median over the rounds. No wording of a semantic
question or of a miss is asked twice in the whole run. *first*: stored questions that nobody has asked since
the node started; *exact*: drawn from all records, once each has been asked; *slot*: from all records too.
Afterwards every reply is looked at: a hit of the kind that was meant, the answer to that very question, a
request id and a place in the log of its own. *processor*: of the server's process, per request.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import multiprocessing
import random
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import orjson
from aiohttp import web

from bench.__main__ import machine
from bench.fresh_node import FreshNode, at_rest, fresh_node, load_average, processor_s
from bench.hits import EXACT, MISS, SEMANTIC, SLOT, write_index
from bench.load import Driven, drive
from bench.questions import Question, questions

RESULT = Path(__file__).resolve().parent / "results" / "throughput.md"
FIRST = "first"
KINDS = (FIRST, EXACT, SLOT, SEMANTIC, MISS)
DURABILITIES = ("memory", "behind_50ms", "before_reply")
WINDOW_MAX = 20_000
"""Requests that one window may hold; those asked once only have fewer."""
ONCE_MAX = 400
SEED = 20_261_128
_TIER = {FIRST: EXACT, EXACT: EXACT, SLOT: SLOT, SEMANTIC: SEMANTIC}
_BODY_MAX = 65_536


@dataclass(frozen=True, slots=True)
class Ask:
    """``mark`` stands in the right answer; None where nothing is stored."""

    text: str
    mark: str | None


@dataclass(slots=True)
class Cell:
    """One kind at one number of connections."""

    kind: str
    connections: int
    times_ms: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)
    bare_processor_us: list[float] = field(default_factory=list)
    meant: int = 0
    others: int = 0
    wrong: int = 0

    def row(self, durability: str) -> str:
        ratios = [ours / bare for ours, bare in zip(self.ours, self.bare, strict=True)]
        p50, p95, p99 = np.percentile(self.times_ms, [50, 95, 99])
        return (
            f"| {durability} | {self.kind} | {self.connections} | {statistics.median(self.ours):,.0f} "
            f"| {statistics.median(self.bare):,.0f} | {statistics.median(ratios):.3f} "
            f"| {p50:.1f} / {p95:.1f} / {p99:.1f} | {statistics.median(self.processor_us):,.0f} "
            f"| {statistics.median(self.bare_processor_us):,.0f} "
            f"| {self.meant / max(1, self.meant + self.others):.3f} | {self.wrong} |"
        )


# --- the bare handler -----------------------------------------------------------------------------


def _bare(reply: bytes, told: Connection) -> None:
    """aiohttp and nothing else: reads what is posted and sends these bytes."""

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=reply, content_type="application/json")

    async def run() -> None:
        app = web.Application(client_max_size=_BODY_MAX)
        app.router.add_post("/chat", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        told.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


@asynccontextmanager
async def bare_handler(reply: bytes) -> AsyncIterator[tuple[int, int]]:
    """(port, process) of a bare handler that sends ``reply``."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_bare, args=(reply, theirs), daemon=True)
    process.start()
    try:
        port = await asyncio.to_thread(ours.recv)
        assert process.pid is not None
        yield port, process.pid
    finally:
        process.terminate()
        process.join(10)


# --- what is asked --------------------------------------------------------------------------------


class Questions:
    """What each kind of window asks. What may be asked once only is taken in turn from all there is."""

    def __init__(self, stored: Sequence[Question], others: Sequence[Question]) -> None:
        self._random = random.Random(SEED)
        self._stored = stored
        self._unasked = iter(stored)
        turned = [one for one in stored if one.family.turned]
        self._random.shuffle(turned)
        self._semantic = iter(
            [Ask(one.turned(which), one.mark) for which in range(2) for one in turned if _has(one, which)]
        )
        unlike = [one for one in others if one.family.turned]
        self._random.shuffle(unlike)
        self._misses = iter(
            [Ask(one.turned(which), None) for which in range(2) for one in unlike if _has(one, which)]
        )

    def started(self) -> None:
        """The node has started: nobody has asked it anything."""
        self._unasked = iter(self._stored)

    def left(self) -> list[str]:
        """What nobody has asked yet."""
        return [one.text for one in self._unasked]

    def window(self, kind: str) -> list[Ask]:
        """Empty where all has been asked."""
        if kind == FIRST:
            return [Ask(one.text, one.mark) for one in itertools.islice(self._unasked, ONCE_MAX)]
        if kind == SEMANTIC:
            return list(itertools.islice(self._semantic, ONCE_MAX))
        if kind == MISS:
            return list(itertools.islice(self._misses, ONCE_MAX))
        some = self._random.choices(self._stored, k=WINDOW_MAX)
        if kind == EXACT:
            return [Ask(one.text, one.mark) for one in some]
        return [Ask(one.again(self._random.randrange(9)), one.mark) for one in some]


def _has(one: Question, which: int) -> bool:
    return which < len(one.family.turned)


# --- measuring ------------------------------------------------------------------------------------


class Bench:
    """One node, one bare handler, one client."""

    def __init__(self, node: FreshNode, client: ProcessPoolExecutor, seconds: float) -> None:
        self._node = node
        self._port = urlsplit(node.url).port or 0
        self._client = client
        self._seconds = seconds
        self._ids: set[str] = set()
        self._leaves: set[tuple[str, int]] = set()

    async def drive(self, port: int, texts: Sequence[str], connections: int, path: str = "/chat") -> Driven:
        work = partial(drive, port, path, texts, connections, self._seconds)
        return await asyncio.get_running_loop().run_in_executor(self._client, work)

    async def ask_all(self, texts: Sequence[str], port: int | None = None, path: str = "/chat") -> None:
        work = partial(drive, port or self._port, path, texts, 4, float("inf"))
        await asyncio.get_running_loop().run_in_executor(self._client, work)

    async def reply_to(self, text: str) -> bytes:
        """A reply of the node, for the bare handler to send."""
        return (await self.drive(self._port, [text], 1)).replies[0][2]

    async def measure(self, cell: Cell, asks: Sequence[Ask], bare: tuple[int, int], *, turned: bool) -> None:
        """One window of ours and one of the bare handler, in either order."""
        texts = [ask.text for ask in asks]

        async def ours() -> None:
            before = processor_s(self._node.pid)
            driven = await self.drive(self._port, texts, cell.connections)
            cell.processor_us.append((processor_s(self._node.pid) - before) * 1e6 / len(driven.times_ms))
            cell.ours.append(driven.per_s)
            cell.times_ms += driven.times_ms
            self._look_at(cell, asks, driven)

        async def theirs() -> None:
            port, process = bare
            before = processor_s(process)
            again = list(itertools.islice(itertools.cycle(texts), WINDOW_MAX))
            driven = await self.drive(port, again, cell.connections)
            cell.bare_processor_us.append((processor_s(process) - before) * 1e6 / len(driven.times_ms))
            cell.bare.append(driven.per_s)

        for one in (theirs, ours) if turned else (ours, theirs):
            await one()

    def _look_at(self, cell: Cell, asks: Sequence[Ask], driven: Driven) -> None:
        """Raises ``RuntimeError`` for a reply that is none, or shares its id or its place in the log."""
        for number, status, body in driven.replies:
            reply = orjson.loads(body)
            if status != 200:
                raise RuntimeError(f"{asks[number].text!r} was answered with {status}: {body[:200]!r}")
            where = (reply["decision"]["log"], reply["decision"]["index"])
            if reply["request_id"] in self._ids or where in self._leaves:
                raise RuntimeError(f"a reply shares its id or its leaf with another: {body[:200]!r}")
            self._ids.add(reply["request_id"])
            self._leaves.add(where)
            hit, mark = reply["hit"], asks[number].mark
            is_meant = (
                hit is not None and hit["kind"] == _TIER[cell.kind] if cell.kind != MISS else hit is None
            )
            cell.meant += is_meant
            cell.others += not is_meant
            cell.wrong += hit is not None and (mark is None or mark not in reply["answer"])


async def run(wanted: argparse.Namespace) -> list[str]:
    """The rows of the table."""
    every = questions()
    stored, others = every[: wanted.records], every[wanted.records :]
    lines = []
    asked = Questions(stored, others)
    with tempfile.TemporaryDirectory() as folder, client_process() as client:
        home, index = Path(folder) / "node", Path(folder) / "knowledge-index.json"
        await write_index(index, stored)
        for durability in wanted.durabilities:
            more = {"INDEX_FILE": str(index), "LOG__DURABILITY": durability}
            asked.started()
            async with fresh_node(home, more) as node:
                bench = Bench(node, client, wanted.seconds)
                for kind in wanted.kinds:
                    if kind == EXACT:
                        await bench.ask_all(asked.left())
                        await at_rest(node.pid)
                    first = asked.window(kind)
                    if not first:
                        continue
                    await bench.drive(urlsplit(node.url).port or 0, [one.text for one in first[:50]], 4)
                    async with bare_handler(await bench.reply_to(first[51].text)) as bare:
                        for connections in wanted.connections:
                            cell = Cell(kind, connections)
                            for turn in range(wanted.rounds):
                                if asks := asked.window(kind):
                                    await bench.measure(cell, asks, bare, turned=turn % 2 == 1)
                            if cell.ours:
                                lines.append(cell.row(durability))
                                print(lines[-1], flush=True)
    return lines


def client_process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


HEAD = (
    "| log | kind | connections | ours, a second | bare, a second | ratio | ours, ms p50 / p95 / p99 "
    "| processor, µs | of the bare | as meant | wrong |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="bench.throughput", description="hits a second beside a bare handler"
    )
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", type=_names, default=KINDS)
    parser.add_argument("--connections", type=_numbers, default=(1, 16, 64))
    parser.add_argument("--durabilities", type=_names, default=DURABILITIES)
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args(arguments)
    before = load_average()
    print(HEAD, flush=True)
    lines = asyncio.run(run(wanted))
    if wanted.write:
        facts = "\n".join(f"- {fact}" for fact in machine())
        text = "\n".join([f"# Throughput\n\n{facts}\n- load before: {before}\n\n{HEAD}", *lines])
        RESULT.write_text(text + "\n", encoding="utf-8")
    return 0


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
