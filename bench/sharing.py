"""What it costs to follow a peer: records a second read and held, admitted and served; and what a crowd does.

    python -m bench.sharing [--records N] [--crowd N] [--write]

Method: peers are stand-ins over loopback (``tests.simulators.peer``) that publish signed records; the node is
``neuroswarm serve`` in a process of its own with the packaged embedder and everything on disk. Timed by wall
clock is one ``POST /peers/sync`` from nothing: first by a node to whom the peer is a stranger (every record
is fetched, examined and held aside), then by one that trusts it (also embedded and stored). Questions are
made of words at random, so that few are neighbours.
The crowd: a second trusted peer publishes near-duplicates round one question that the first has answered;
200 look-ups of other questions and of that one are timed before and after, in one run, in the same order.

The report goes to the terminal; ``--write`` also writes ``results/sharing.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.__main__ import machine
from bench.fresh_node import processor_s
from node.core.clock import SystemClock
from node.core.ipld.cid import Cid
from node.core.record import block_of
from node.peers.rules.entry import Publish
from tests.journeys.test_lying_peers import Liar, liar
from tests.journeys.test_peers import Peer, peer
from tests.simulators.peer import PeerStandIn

RESULT = Path(__file__).resolve().parent / "results" / "sharing.md"
QUESTION = "Which tree grows in the yard of the Wrenfield mill?"
LOOKUPS = 200
REST_S = 30
"""For what a round leaves to be done in the background."""
_THINGS = """
    anchor barley candle drum engine feather granite harbour ivory jacket kettle ladder mirror needle orchard
    pepper quarry ribbon saddle timber umbrella valley window yarn zinc bridge copper desert elbow furnace
    glacier hammer island jungle lantern marble noodle oyster pigeon rocket spider tunnel"""
_DEEDS = "carry melt paint weigh shelter trade repair scatter polish bury tame borrow grind follow"


def question(rng: random.Random) -> str:
    one, two, three, four = rng.sample(_THINGS.split(), 4)
    first, second = rng.sample(_DEEDS.split(), 2)
    return f"Why would a {one} {first} the {two} when {three}s {second} every {four}?"


def publish(one: Liar, query: str, answer: str) -> Cid:
    """As ``Publishing.publish``, with the record's own entry."""
    record = one.answer(query, answer=answer)
    cid, data = block_of(record)
    one.blocks[cid] = data
    one.enter(Publish(cid, "general", record.query_hash, record.expires))
    return cid


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds by the wall clock, and of the node's process."""

    wall: float
    processor: float


async def round_of(node: Peer) -> tuple[dict[str, Any], Took]:
    """One round with everybody, as the last of its requests reports it, and what it took. A round of many
    records takes several requests."""
    clock = SystemClock()
    began, worked = clock.monotonic(), processor_s(node.child.process.pid)
    [*reports] = await node.sync(within_s=1_800)
    took = Took(clock.monotonic() - began, processor_s(node.child.process.pid) - worked)
    return reports[-1], took


async def lookups(node: Peer, queries: list[str]) -> list[float]:
    """Seconds that each search took."""
    clock, took = SystemClock(), []
    for query in queries:
        began = clock.monotonic()
        await node.client.search(query)
        took.append(clock.monotonic() - began)
    return sorted(took)


async def measure(records: int, crowd: int) -> list[str]:
    rng = random.Random(9)
    honest, crowding = liar(1), liar(2)
    queries = [question(rng) for _ in range(records)]
    for number, query in enumerate(queries):
        publish(honest, query, f"Because of {number}.")
    truth = publish(honest, QUESTION, "A copper beech grows there.")
    for number in range(crowd):
        publish(crowding, f"{QUESTION[:-1]} number {number}?", "A plastic palm grows there.")
    rows = [
        "| what | records | seconds | a second | processor, ms each | bytes read |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    notes = []
    with tempfile.TemporaryDirectory() as folder:
        async with PeerStandIn(honest) as good, PeerStandIn(crowding) as bad:
            async with peer(Path(folder) / "stranger", PEERS__URLS=good.url) as node:
                report, took = await round_of(node)
                assert report["held"] == records + 1, report
                rows.append(_row("synced, examined, held aside", report["held"], took, report["bytes"]))
            trusting = {"PEERS__TRUSTED": f"{honest.root},{crowding.root}"}
            async with peer(Path(folder) / "b", PEERS__URLS=good.url, **trusting) as node:
                report, took = await round_of(node)
                taken = report["admitted"]
                rows.append(_row("the same, embedded and served", taken, took, report["bytes"]))
                notes.append(
                    f"not served of {records + 1}: {records + 1 - taken} (near-duplicates by chance)"
                )
                asked = [*rng.sample(queries, LOOKUPS - 20), *[QUESTION] * 20]
                await lookups(node, asked)  # warm
                await asyncio.sleep(REST_S)
                before = await lookups(node, asked)
                await node.command("add", bad.url)
                report, took = await round_of(node)
                assert report["size"] == crowd, report
                rows.append(_row("a crowd of near-duplicates", crowd, took, None))
                at_once = await lookups(node, asked)
                await asyncio.sleep(REST_S)
                after = await lookups(node, asked)
                found = await node.client.search(QUESTION)
                p95 = round(0.95 * LOOKUPS)
                notes += [
                    f"of the crowd of {crowd}, {await held(node, crowding.root)} are held or served",
                    f"the honest record is found: {'yes' if found['cid'] == str(truth) else 'no'}",
                    *(
                        f"look-ups beside the crowd, {when}: p95 {some[p95] / before[p95]:.2f} and median "
                        f"{some[LOOKUPS // 2] / before[LOOKUPS // 2]:.2f} times those before it"
                        for when, some in (
                            ("right behind the round, whose refusals still enter the log", at_once),
                            (f"after a rest of {REST_S} s", after),
                        )
                    ),
                ]
    return [*rows, "", *(f"- {note}" for note in notes)]


async def held(node: Peer, root: str) -> int:
    """How many records of a root the node has."""
    _, listed = await node.get("/peers")
    [one] = [one for one in listed["peers"] if one["root"] == root]
    return int(one["usage"]["records"])


def _row(what: str, records: int, took: Took, size: int | None) -> str:
    return (
        f"| {what} | {records} | {took.wall:.1f} | {records / took.wall:.0f} "
        f"| {took.processor * 1_000 / records:.1f} | {'' if size is None else size} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sharing", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--crowd", type=int, default=5_000)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = asyncio.run(measure(asked.records, asked.crowd))
    report = "\n".join(
        [
            "# Following a peer",
            "",
            "`python -m bench.sharing`",
            "",
            *(f"- {one}" for one in machine()),
            "",
            *rows,
        ]
    )
    print(report)
    if asked.write:
        RESULT.write_text(report + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
