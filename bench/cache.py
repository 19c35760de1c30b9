"""Caches on streams of questions: the running node, and other caches with the same embedding.

    python -m bench.cache [--data FOLDER] [--stream FILE] [--source NAME] [--limit N] [--quick] [--asked]

Method. Each source (``cache_streams``) is replayed through a fresh node in a process of its own as a
client would: search, and on a miss store the true answer (``cache_service``). There is no language model.
The same questions, in the same order and with the same vectors, go through

    cosine        .9, .8, .7: the nearest stored question, from that threshold on
    cosine, afterwards  the threshold that finds most with at most 1 % of the look-ups wrong, picked on this
                  very stream: a ceiling, not a cache
    vCache        its published policy for 1 and 2 % (``peers.vcache``: written anew, with a perfect judge)
    GPTCache, RedisVL   as shipped, in environments of their own (``peers.outside``)

Exact repeats (same normalised text) are counted apart. What is counted: ``cache_replay``. Nothing is
fitted here: the node runs on the weights and cut-offs that it ships with.

Times of a look-up are the client's, one at a time. *without embedding*: less the time that the same
embedder took for the same text in this process, alone and just before; the node itself does not tell the
two apart.

The report goes to the terminal and, with ``--write`` (the default of a whole run), to
``results/cache.md`` and ``results/cache.svg``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from bench.__main__ import machine
from bench.cache_plot import svg
from bench.cache_replay import (
    Course,
    Look,
    Matrix,
    by_cosine,
    ceiling,
    cosine_curve,
    from_served,
    replay,
    replay_decider,
    reply_curve,
    tally,
)
from bench.cache_report import Result, Times, judge, markdown, panels
from bench.cache_service import Client, Service, session
from bench.cache_streams import Stream, streams
from bench.fresh_node import fresh_node, load_average
from bench.peers import outside
from bench.peers.vcache import VCache
from node.core.clock import SystemClock
from node.core.errors import NodeError
from node.core.normalise import normalise
from node.models.embedders.local import DIM, MiniLm, installed_files

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "cache"
RESULTS = Path(__file__).parent / "results"
LIMIT, LIMIT_MADE, LIMIT_QUICK = 1_300, 1_000, 80
CUTS = tuple(round(0.70 + step * 0.005, 3) for step in range(60))
PEERS_AT_ONCE = 2
WARM_UP = ("Is this the first question?", "How long is a piece of string?", "Who is there?")


class Engine:
    """The node's embedder in this process; keeps each text's vector and the milliseconds that it took."""

    def __init__(self) -> None:
        self._engine = MiniLm.open(installed_files(), threads=1)
        self._clock = SystemClock()
        self._known: dict[str, tuple[Matrix, float]] = {}

    def course(self, stream: Stream) -> tuple[Course, list[float]]:
        """The stream with its vectors, and the times of its embeddings, each text embedded alone."""
        found = [self._embed(normalise(question.text)) for question in stream.questions]
        matrix = np.stack([vector for vector, _ in found]) if found else np.zeros((0, DIM), np.float32)
        return Course(stream, matrix), [ms for _, ms in found]

    def _embed(self, text: str) -> tuple[Matrix, float]:
        if text not in self._known:
            started = self._clock.monotonic()
            [vector] = self._engine.embed([text])
            ms = (self._clock.monotonic() - started) * 1_000
            self._known[text] = (np.zeros(DIM, np.float32) if vector is None else np.asarray(vector), ms)
        return self._known[text]


async def through_node(course: Course, folder: Path, *, asks: bool) -> tuple[list[Look], Service]:
    """Replay through a fresh node."""
    async with fresh_node(folder, {}) as node, session() as http:
        client = Client(http, node.url, asks=asks)
        for text in WARM_UP:
            await client.search(text)
        service = Service(client, course.questions)
        return await replay(course, service), service


def by_rules(course: Course) -> dict[str, list[Look]]:
    """Cosine and vCache."""
    out = {
        f"cosine {threshold}": replay_decider(course, by_cosine(threshold)) for threshold in (0.9, 0.8, 0.7)
    }
    for delta in (0.01, 0.02):
        policy = VCache(delta)
        out[f"vCache {100 * delta:.0f} %"] = replay_decider(course, policy.decide, policy.learn)
    return out


def scan_ms(course: Course) -> list[float]:
    """What the nearest of all earlier questions costs in numpy: the whole work of a cosine cache."""
    clock = SystemClock()
    out = []
    for number in range(1, len(course)):
        if not course.again[number]:
            started = clock.monotonic()
            (course.matrix[:number] @ course.matrix[number]).argmax()
            out.append((clock.monotonic() - started) * 1_000)
    return out


async def asked(chosen: Sequence[Stream]) -> str:
    """Each source once as a client looks it up and once as people ask it: what route and floor cost, and what
    quoting notes does, of which no reply may count as a hit."""
    engine, lines = (
        Engine(),
        ["| source | looked up: recall, wrong | asked: recall, wrong |", "|---|---|---|"],
    )
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
        for stream in chosen:
            course, _ = engine.course(stream)
            told = []
            for asks in (False, True):
                looks, _ = await through_node(course, Path(folder) / f"{stream.name}-{asks}", asks=asks)
                counted = tally(looks)
                told.append(f"{counted.recall:.3f}, {counted.wrong} of {counted.look_ups}")
            lines.append(f"| {stream.name} ({len(stream.questions)}) | {told[0]} | {told[1]} |")
    return "\n".join(lines)


async def measure(stream: Stream, engine: Engine, folder: Path) -> Result:
    """One source through the node and through all rules."""
    course, embed_ms = engine.course(stream)
    looks, service = await through_node(course, folder, asks=False)
    curves = {"ours": reply_curve(course, looks), "cosine": cosine_curve(course, CUTS)}
    fresh = [look for look in looks if not look.again and look.reply.ms]
    return Result(
        course,
        {"ours": looks, **by_rules(course)},
        curves,
        {name: ceiling(curve) for name, curve in curves.items()},
        {
            "ours": Times(
                [look.reply.ms for look in fresh],
                [max(0.0, look.reply.ms - embed_ms[look.number]) for look in fresh],
            ),
            "ours, storing": Times(service.store_ms, []),
            "cosine (numpy)": without_embedding(course, embed_ms, scan_ms(course), skip=1),
        },
        embed_ms,
        service.not_stored,
    )


def outsiders(results: Sequence[Result], peers: Sequence[outside.Peer], *, make: bool) -> dict[str, str]:
    """All sources through the peers, two at a time; what each peer was, or why it is missing. ``make``: their
    environments may be made now."""
    notes: dict[str, str] = {}
    ready = []
    for peer in peers:
        try:
            outside.environment(peer, make=make)
            ready.append(peer)
            notes[peer.name] = peer.note
        except outside.Absent as exc:
            notes[peer.name] = f"not to be had here: {exc}"
    jobs = [(peer, result) for result in results for peer in ready]

    def one(job: tuple[outside.Peer, Result]) -> outside.Run | str:
        peer, result = job
        try:
            return outside.run(
                peer, [question.text for question in result.course.questions], result.course.matrix
            )
        except outside.Absent as exc:
            return str(exc)

    with ThreadPoolExecutor(PEERS_AT_ONCE) as pool:
        for (peer, result), found in zip(jobs, pool.map(one, jobs), strict=True):
            if isinstance(found, str):
                notes[peer.name] = f"{peer.note}; on {result.course.stream.name} it failed: {found}"
                continue
            result.looks[peer.name] = from_served(result.course, found.served)
            result.times[peer.name] = without_embedding(result.course, result.embed_ms, found.ms)
    return notes | {"BetterDB": outside.BETTERDB}


def without_embedding(course: Course, embed_ms: Sequence[float], ms: Sequence[float], skip: int = 0) -> Times:
    """Times of a cache that was handed its vectors: with, and without, the embedding timed apart."""
    fresh = [number for number in range(len(course)) if not course.again[number]]
    alone = [ms[number] for number in fresh] if len(ms) == len(course) else list(ms)
    whole = [embed_ms[number] + one for number, one in zip(fresh[skip:], alone, strict=False)]
    return Times(whole, alone)


async def run(
    chosen: Sequence[Stream], peers: Sequence[outside.Peer], *, make: bool
) -> tuple[list[Result], dict[str, str]]:
    """Everything; says on the terminal what is done."""
    clock = SystemClock()
    engine = Engine()
    results = []
    with tempfile.TemporaryDirectory(prefix="bench-cache-") as folder:
        for stream in chosen:
            started = clock.monotonic()
            results.append(await measure(stream, engine, Path(folder) / stream.name))
            counted = tally(results[-1].looks["ours"])
            print(
                f"{stream.name}: {len(stream.questions)} questions in {clock.monotonic() - started:.0f} s; "
                f"recall {counted.recall:.3f}, wrong {counted.wrong} of {counted.look_ups}",
                flush=True,
            )
    started = clock.monotonic()
    notes = await asyncio.to_thread(outsiders, results, peers, make=make)
    print(f"other caches: {clock.monotonic() - started:.0f} s\n", flush=True)
    return results, notes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 if a mark of a whole run is missed, 2 if it cannot run."""
    parser = argparse.ArgumentParser(prog="bench.cache", description="caches on streams of questions")
    parser.add_argument(
        "--data", type=Path, help="folder with labelled streams (default: where it is, shared/)"
    )
    parser.add_argument(
        "--stream", type=Path, action="append", default=[], help="a file of questions; may repeat"
    )
    parser.add_argument("--source", action="append", default=[], help="only this source; may repeat")
    parser.add_argument("--limit", type=int, help=f"questions of each source (default {LIMIT})")
    parser.add_argument(
        "--quick", action="store_true", help=f"{LIMIT_QUICK} questions each: does it run at all"
    )
    parser.add_argument(
        "--asked", action="store_true", help="only: the node looked up beside the same node asked over /chat"
    )
    parser.add_argument("--no-peers", action="store_true", help="without GPTCache and RedisVL")
    parser.add_argument("--write", action="store_true", help="write results/cache.md and .svg of any run")
    options = parser.parse_args(arguments)
    data = options.data or (DATA if DATA.is_dir() else None)
    limit = options.limit or (LIMIT_QUICK if options.quick else LIMIT)
    limit_made = min(limit, LIMIT_MADE) if options.limit is None else limit
    clock = SystemClock()
    started, load = clock.monotonic(), load_average()
    try:
        chosen = streams(data, options.stream, limit, limit_made)
        chosen = [one for one in chosen if not options.source or one.name in options.source]
        if not chosen:
            parser.error("no such source")
        if options.asked:
            print(asyncio.run(asked(chosen)))
            return 0
        results, notes = asyncio.run(
            run(chosen, () if options.no_peers else outside.PEERS, make=not options.quick)
        )
    except (NodeError, OSError, RuntimeError, ValueError) as exc:
        print(f"cannot run: {exc}", file=sys.stderr)
        return 2
    if data is None:
        notes["labelled streams"] = "not here (t2s, bank, qqp): only families made by program were replayed"
    if options.no_peers:
        notes |= {peer.name: "left out by --no-peers" for peer in outside.PEERS}
    whole = not (options.quick or options.source or options.limit)
    facts = [
        *machine(),
        f"load before {load}, after {load_average()}; {clock.monotonic() - started:.0f} s; at most {limit} "
        f"questions of a source, {limit_made} of one made by program"
        + ("" if whole else "; **not a whole run**"),
    ]
    marks = judge(results)
    text = markdown(results, notes, facts, marks)
    print(text)
    if whole or options.write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "cache.md").write_text(text, encoding="utf-8")
        (RESULTS / "cache.svg").write_text(svg(panels(results)), encoding="utf-8")
        print("written to bench/results/cache.md and cache.svg")
    return 1 if whole and not all(mark.held for mark in marks) else 0


if __name__ == "__main__":
    sys.exit(main())
