"""What the decision log costs: durable entries, publication, verification, and `/chat` with it and without.

    python -m bench.log [--quick] [--write]

Method, all in one run, so that the ratios belong together:

- `/chat`: three nodes as shipped, in processes of their own, that differ in ``log.durability`` only:
  ``memory`` (nothing reaches a disk: the log off), ``behind_50ms``, ``before_reply``. Each imports the same
  stored questions; every question asked is one of them word for word, an exact hit, and leaves one entry.
  Rounds take turns over the nodes, each time beginning with another one. In a round one client asks alone
  (times), then 16 at once (throughput).
- The entry of one of these hits, as the node wrote it, is what the other measurements write: same members,
  same length.
- durable entries: one ``DecisionLog`` (commitment keys, journal, sync) in the temporary folder's file system,
  publishing meanwhile as it does in a node. 1, 16 and 256 writers, each appending again once its entry is
  durable, take turns; beside them the bare syncs that the disk makes of an entry's bytes alone.
- publication: one entry more under a new checkpoint, tiles and checkpoint synced, in a log of 42,000 entries
  and in one that was empty.
- verification: ``node.audit.log.verify`` over folders whose tiles are written here directly, without syncs.

``--quick`` (few rounds, 100 thousand instead of a million) shows that it runs. The report goes to the
terminal; ``--write`` also writes ``results/log.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.__main__ import machine
from bench.fresh_node import FreshNode, fresh_node, load_average, spread
from bench.hits import write_index
from bench.questions import questions
from node.audit.decisions.log import DecisionLog
from node.audit.log.reader import FolderSource, LogReader
from node.audit.log.verify import verify_log
from node.audit.log.writer import Pace, TileLog
from node.audit.tlog import leaf
from node.audit.tlog.tiles import ENTRIES, HEIGHT, WIDTH, Tile, encode_bundle
from node.core.clock import SystemClock
from node.core.merkle import Frontier, leaf_hash
from node.core.signed_note import Checkpoint, Ed25519Signer, Note

RESULT = Path(__file__).resolve().parent / "results" / "log.md"
ORIGIN = "bench.neuroswarm/decisions"
MODES = ("memory", "behind_50ms", "before_reply")
WRITERS = (1, 16, 256)
CLIENTS = 16
STORED = 200
WARM_UP = 40
ENTRIES_42K = 42_000
DEADLINE_S = 60.0
SMALL_TIMES = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    rounds: int
    asks: int
    window_s: float
    publications: int
    sizes: tuple[int, int]


WHOLE = Plan(rounds=6, asks=100, window_s=1.5, publications=30, sizes=(10_000, 1_000_000))
QUICK = Plan(rounds=2, asks=20, window_s=0.3, publications=5, sizes=(10_000, 100_000))


@dataclass(frozen=True, slots=True)
class Sample:
    """An entry as a node wrote it, without its commitments, and the names of those."""

    entry: Mapping[str, Any]
    private: Mapping[str, str]
    leaf_bytes: int

    @classmethod
    def of(cls, data: bytes) -> Sample:
        entry = dict(leaf.read_leaf(data).entry)
        names = entry.pop(leaf.COMMITMENTS, {})
        return cls(entry, {name: f"what {name} stands for" for name in names}, len(data))


def signer() -> Ed25519Signer:
    return Ed25519Signer(ORIGIN, Ed25519PrivateKey.generate())


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


# --- /chat ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Asked:
    """What one node was measured to do."""

    node: FreshNode
    alone_ms: list[float] = field(default_factory=list)
    asked: int = 0
    took_s: float = 0.0

    @property
    def per_s(self) -> float:
        return self.asked / self.took_s


@asynccontextmanager
async def nodes(folder: Path) -> AsyncIterator[tuple[dict[str, Asked], list[str]]]:
    """One node for each mode with the same stored questions, and these."""
    stored = questions()[:STORED]
    index = folder / "knowledge-index.json"
    await write_index(index, stored)
    async with AsyncExitStack() as stack:
        made = {}
        for mode in MODES:
            more = {"INDEX_FILE": str(index), "LOG__DURABILITY": mode}
            made[mode] = Asked(await stack.enter_async_context(fresh_node(folder / mode, more)))
        yield made, [one.text for one in stored]


async def hit(http: aiohttp.ClientSession, url: str, text: str) -> None:
    """Ask for what is stored; anything but an exact hit that was logged ends the measurement."""
    async with http.post(f"{url}/chat", json={"query": text}) as response:
        reply = await response.json(content_type=None)
    if not reply.get("hit") or reply["hit"]["kind"] != "exact" or not reply.get("decision"):
        raise SystemExit(f"not an exact hit with its entry in the log: {reply}")


async def ask_alone(asked: Asked, texts: Sequence[str]) -> None:
    clock = SystemClock()
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(connector=connector, trust_env=False) as http:
        await hit(http, asked.node.url, texts[-1])
        for text in texts:
            started = clock.monotonic()
            await hit(http, asked.node.url, text)
            asked.alone_ms.append((clock.monotonic() - started) * 1_000)


async def ask_at_once(asked: Asked, texts: Sequence[str]) -> None:
    clock = SystemClock()
    connector = aiohttp.TCPConnector(limit=CLIENTS)
    async with aiohttp.ClientSession(connector=connector, trust_env=False) as http:
        waiting = iter(texts)

        async def client() -> None:
            for text in waiting:
                await hit(http, asked.node.url, text)

        started = clock.monotonic()
        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        asked.took_s += clock.monotonic() - started
        asked.asked += len(texts)


async def written_entry(folder: Path) -> Sample:
    """The last entry of an exact hit in a node's log. Raises ``SystemExit`` where there is none."""
    reader = LogReader(FolderSource(folder))
    size = Checkpoint.of_note(await reader.checkpoint()).size
    for data in reversed(await reader.entries(max(0, size - WIDTH), min(size, WIDTH), size)):
        entry = orjson.loads(data)["entry"]
        if entry["kind"] == "answer" and (entry["hit"] or {}).get("kind") == "exact":
            return Sample.of(data)
    raise SystemExit("the node's log has no entry of an exact hit")


async def chat(folder: Path, plan: Plan, lines: list[str]) -> Sample:
    rng = np.random.default_rng(7)
    async with nodes(folder) as (made, texts):
        for asked in made.values():
            await ask_at_once(Asked(asked.node), texts[:WARM_UP])
        for number in range(plan.rounds):
            some = [texts[place] for place in rng.integers(0, len(texts), plan.asks)]
            for place in range(len(MODES)):
                asked = made[MODES[(number + place) % len(MODES)]]
                await ask_alone(asked, some)
                await ask_at_once(asked, some * 3)
    base = made[MODES[0]]
    lines += [
        f"`/chat`, exact hits, {plan.rounds} rounds over three nodes in turns; ratios to `memory`:",
        "",
        row(
            "`log.durability`",
            "one client, ms min / p50 / p95",
            "p50",
            "p95",
            f"{CLIENTS} clients, per s",
            "",
        ),
        row("---", *["---:"] * 5),
    ]
    for mode, asked in made.items():
        p50, p95 = (
            f"{np.percentile(asked.alone_ms, q) / np.percentile(base.alone_ms, q):.2f}" for q in (50, 95)
        )
        ratio = f"{asked.per_s / base.per_s:.2f}"
        lines.append(row(f"`{mode}`", spread(asked.alone_ms), p50, p95, f"{asked.per_s:.0f}", ratio))
    return await written_entry(folder / "before_reply" / "governance_logs")


# --- durable entries ------------------------------------------------------------------------------


def syncs(path: Path, data: bytes, window_s: float) -> tuple[int, float]:
    """Append and sync for so long: how often, and seconds."""
    clock, count = SystemClock(), 0
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        started = clock.monotonic()
        while (took := clock.monotonic() - started) < window_s:
            os.write(fd, data)
            os.fsync(fd)
            count += 1
    finally:
        os.close(fd)
    return count, took


async def appended(log: DecisionLog, sample: Sample, writers: int, window_s: float) -> tuple[int, float]:
    """So many writers for so long: durable entries, and seconds. A full queue ends the measurement."""
    clock, count = SystemClock(), 0
    started = clock.monotonic()

    async def write() -> None:
        nonlocal count
        while clock.monotonic() - started < window_s:
            await log.append(sample.entry, private_texts=sample.private)
            count += 1

    await asyncio.gather(*(write() for _ in range(writers)))
    return count, clock.monotonic() - started


async def durable(folder: Path, plan: Plan, sample: Sample, lines: list[str]) -> None:
    key, clock = signer(), SystemClock()
    await asyncio.to_thread(folder.mkdir)
    log = await DecisionLog.open(folder / "log", ORIGIN, lambda _: [key], clock, keys=folder / "keys")
    counts = dict.fromkeys((0, *WRITERS), 0)
    seconds = dict.fromkeys((0, *WRITERS), 0.0)
    data = bytes(sample.leaf_bytes)
    for _ in range(plan.rounds):
        for writers in counts:
            if writers:
                count, took_s = await appended(log, sample, writers, plan.window_s)
            else:
                count, took_s = await asyncio.to_thread(syncs, folder / "bare", data, plan.window_s)
            counts[writers] += count
            seconds[writers] += took_s
    await log.close()
    report = await verify_log(FolderSource(folder / "log"), [key.verifier])
    wanted = sum(counts[writers] for writers in WRITERS)
    if not report.ok or report.entries < wanted:
        raise SystemExit(f"of {wanted} acknowledged entries the log holds {report.entries}: {report.reason}")
    per_s = {writers: counts[writers] / seconds[writers] for writers in counts}
    lines += [
        f"Durable entries of {sample.leaf_bytes} bytes, publishing meanwhile, two syncs for those that wait "
        f"together (keys, journal); all {wanted} acknowledged ones are in the log, which verifies:",
        "",
        row("writers", "entries per s", "to one writer", "to a bare sync"),
        row("---", *["---:"] * 3),
        row("bare sync of as many bytes", f"{per_s[0]:.0f}", "", "1.00"),
    ]
    for writers in WRITERS:
        ratios = f"{per_s[writers] / per_s[1]:.1f}", f"{per_s[writers] / per_s[0]:.2f}"
        lines.append(row(writers, f"{per_s[writers]:.0f}", *ratios))


# --- publication and verification -----------------------------------------------------------------


def write_folder(folder: Path, key: Ed25519Signer, entry: bytes, size: int) -> bytes:
    """A log of ``size`` leaves with this entry, as a writer leaves it but for the syncs; its checkpoint."""
    edge, rows, bundle = Frontier(), dict[int, list[bytes]](), list[bytes]()
    folder.mkdir(parents=True)

    def write(tile: Tile, data: bytes) -> None:
        path = folder / tile.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    for index in range(size):
        bundle.append(leaf.compose(entry, index, 1_700_000_000_000_000 + index))
        for level, place, digest in edge.append(leaf_hash(bundle[-1])):
            if level % HEIGHT:
                continue
            hashes = rows.setdefault(level // HEIGHT, [])
            hashes.append(digest)
            if len(hashes) == WIDTH:
                write(Tile(level // HEIGHT, place // WIDTH), b"".join(hashes))
                hashes.clear()
        if len(bundle) == WIDTH:
            write(Tile(ENTRIES, index // WIDTH), encode_bundle(bundle))
            bundle.clear()
    if bundle:
        write(Tile(ENTRIES, size // WIDTH, len(bundle)), encode_bundle(bundle))
    for level, hashes in rows.items():
        if hashes:
            write(Tile(level, (size >> HEIGHT * level) // WIDTH, len(hashes)), b"".join(hashes))
    text = Checkpoint(ORIGIN, size, edge.root()).text()
    note = Note(text, (key.sign(text, 0),)).encode()
    (folder / "vkey").write_text(key.verifier.vkey + "\n", encoding="ascii")
    (folder / "checkpoint").write_bytes(note)
    return note


async def opened(stack: AsyncExitStack, folder: Path, key: Ed25519Signer) -> TileLog:
    """A log that publishes only when it is told to."""
    log = await TileLog.open(
        folder,
        ORIGIN,
        [key],
        SystemClock(),
        high_water=folder.with_suffix(".high_water"),
        pace=Pace(every_s=DEADLINE_S, at_entries=WIDTH * WIDTH),
    )
    stack.push_async_callback(log.close)
    return log


async def publication(folder: Path, plan: Plan, entry: bytes, lines: list[str]) -> None:
    key, clock = signer(), SystemClock()
    large = folder / "large"
    note = await asyncio.to_thread(write_folder, large, key, entry, ENTRIES_42K)
    await asyncio.to_thread(large.with_suffix(".high_water").write_bytes, note)
    async with AsyncExitStack() as stack:
        times_ms: dict[TileLog, list[float]] = {
            await opened(stack, place, key): [] for place in (large, folder / "empty")
        }
        for _ in range(plan.publications):
            for log, taken in times_ms.items():
                await log.append(lambda index, time_us: leaf.compose(entry, index, time_us))
                started = clock.monotonic()
                await log.publish()
                taken.append((clock.monotonic() - started) * 1_000)
    into_large, into_empty = times_ms.values()
    ratio = np.median(into_large) / np.median(into_empty)
    lines.append(
        f"Publishing one entry, tiles and checkpoint synced, {plan.publications} times in turns, ms "
        f"min / p50 / p95: into {ENTRIES_42K} entries {spread(into_large)}, into a log that was empty "
        f"{spread(into_empty)} (ratio of p50 {ratio:.2f})"
    )


async def verified(folder: Path, key: Ed25519Signer, size: int) -> float:
    """Seconds of one verification of the whole log."""
    clock = SystemClock()
    started = clock.monotonic()
    report = await verify_log(FolderSource(folder), [key.verifier])
    took_s = clock.monotonic() - started
    if not report.ok or report.entries != size:
        raise SystemExit(f"the log does not verify: {report.where}: {report.reason}")
    return took_s


async def verification(folder: Path, plan: Plan, entry: bytes, lines: list[str]) -> None:
    key = signer()
    for size in plan.sizes:
        await asyncio.to_thread(write_folder, folder / str(size), key, entry, size)
    small, large = plan.sizes
    taken: dict[int, list[float]] = {size: [] for size in plan.sizes}
    # The small one before and after: what else the machine does falls on both.
    for size in (*[small] * SMALL_TIMES, large, *[small] * SMALL_TIMES):
        taken[size].append(await verified(folder / str(size), key, size))
    lines += [
        f"Verifying a whole log of entries of {len(entry)} bytes (signature, every leaf's form and hash, "
        "every tile, root):",
        "",
        row("entries", "times", "seconds, median", "entries per s", "time for an entry, to the first"),
        row("---", *["---:"] * 4),
    ]
    base = float(np.median(taken[small])) / small
    for size, seconds in taken.items():
        median = float(np.median(seconds))
        ratio = f"{median / size / base:.2f}"
        lines.append(row(size, len(seconds), f"{median:.2f}", f"{size / median:.0f}", ratio))


# --- the report -----------------------------------------------------------------------------------


async def run(plan: Plan) -> list[str]:
    """All measurements; the lines of the report."""
    lines = [f"load before: {load_average()}", ""]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample = await chat(folder, plan, lines)
        lines.append("")
        await durable(folder / "durable", plan, sample, lines)
        lines.append("")
        entry = leaf.canonical({**sample.entry, leaf.COMMITMENTS: dict.fromkeys(sample.private, "0" * 64)})
        await publication(folder / "publication", plan, entry, lines)
        lines.append("")
        await verification(folder / "verification", plan, entry, lines)
    return [*lines, "", f"load after: {load_average()}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="bench.log", description="what the decision log costs")
    parser.add_argument("--quick", action="store_true", help="few rounds and entries: does it run at all")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name} into bench/results")
    options = parser.parse_args(arguments)
    lines = asyncio.run(run(QUICK if options.quick else WHOLE))
    print("\n".join(lines))
    if options.write:
        facts = "\n".join(f"- {fact}" for fact in machine())
        command = f"`python -m bench.log{' --quick' if options.quick else ''}`"
        RESULT.write_text(
            f"# The decision log\n\nWritten by {command} with `--write`.\n\n{facts}\n\n"
            + "\n".join(lines)
            + "\n",
            encoding="utf-8",
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
