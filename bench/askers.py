"""Twenty askers at once with a real language model: is anybody turned away, is the order fair, and does an
asker who leaves free the engine?

    python -m bench.askers --gguf FILE [--askers 20] [--deadline 60]

Method. A fresh node in a process of its own with the GGUF file, everything as shipped but the deadline. All
questions, each another one that only a model can explain, are sent within a second in a known order.
*Turned away*: no answer by the model although time was left of the asker's deadline. *Overtaken*: askers of
whom somebody who came later, by more than the engine has slots, was answered first. Then one asker's
question is being answered, a second one waits, and the first leaves: *freed after* is how long from there
the second one's generation began. Times are of this machine under its load; what counts is who was served.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bench.fresh_node import fresh_node, load_average
from node.clock import Clock, SystemClock
from node.reading import word_list

ASKERS, DEADLINE_S = 20, 60.0
STAGGER_S = 0.03
SPARE_S = 5.0
"""An answer that comes so shortly before the deadline, or later, was not turned away early."""
SLOTS = 2
LEAVERS, LEAVES_AFTER_S = 5, 2.0
WARM_UP = "explain how ink dries"
_THINGS = word_list(
    """rain thunder rust yeast soap glass batteries magnets tides snow concrete vinegar mirrors candles sails
    bridges compasses thermometers kites springs pulleys anchors pendulums wheels lenses"""
)


@dataclass(frozen=True, slots=True)
class Served:
    """One asker: when the question was sent and answered (seconds from the first), by what, and the trace."""

    sent: float
    answered: float
    kind: str
    trace: tuple[dict[str, Any], ...]


async def _ask(http: aiohttp.ClientSession, url: str, text: str, clock: Clock, began: float) -> Served:
    sent = clock.monotonic() - began
    async with http.post(f"{url}/chat", json={"query": text, "verbose": True}) as response:
        reply = await response.json(content_type=None)
    kind = reply["source"]["kind"] if response.status == 200 else f"HTTP {response.status}"
    return Served(sent, clock.monotonic() - began, kind, tuple(reply.get("trace", ())))


def overtaken(served: list[Served], slots: int) -> int:
    """How many were answered later than somebody who came more than ``slots`` places behind them."""
    return sum(
        any(later.answered < one.answered for later in served[place + slots + 1 :])
        for place, one in enumerate(served)
    )


async def crowd(url: str, askers: int, deadline_s: float, clock: Clock) -> bool:
    """The first part; whether nobody was turned away and nobody overtaken."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(trust_env=False, connector=connector) as http:
        await _ask(http, url, WARM_UP, clock, 0.0)
        began = clock.monotonic()

        async def one(place: int) -> Served:
            await clock.sleep(place * STAGGER_S)
            return await _ask(http, url, f"explain how {_THINGS[place % len(_THINGS)]} work", clock, began)

        served = await asyncio.gather(*(one(place) for place in range(askers)))
    by_model = [each for each in served if each.kind == "llm"]
    away = [
        each for each in served if each.kind != "llm" and each.answered - each.sent < deadline_s - SPARE_S
    ]
    late = len(served) - len(by_model) - len(away)
    order = overtaken(by_model, SLOTS)
    print(f"{askers} askers at once, deadline {deadline_s:.0f} s: {len(by_model)} answered by the model,")
    print(f"  {late} told at their deadline that there was no time, {len(away)} turned away before it")
    print(f"  overtaken: {order} of {len(by_model)}")
    print(f"  seconds to the answer, first to last: {', '.join(f'{e.answered:.0f}' for e in served)}")
    print(f"  load when it ended: {load_average()}")
    return not away and not order


async def leave(url: str, first: str, second: str, clock: Clock) -> float:
    """The second part: seconds from the first asker's leaving to the beginning of the second's turn."""
    async with (
        aiohttp.ClientSession(trust_env=False) as other,
        aiohttp.ClientSession(trust_env=False) as http,
    ):
        leaving = asyncio.create_task(_ask(other, url, f"explain how {first} work", clock, 0.0))
        await clock.sleep(LEAVES_AFTER_S)
        waiting = asyncio.create_task(_ask(http, url, f"explain how {second} work", clock, 0.0))
        await clock.sleep(LEAVES_AFTER_S / 4)
        leaving.cancel()
        left = clock.monotonic()
        await asyncio.gather(leaving, return_exceptions=True)
        served = await waiting
    ms = {(step["stage"], step["outcome"]): step["ms"] for step in served.trace}
    # What the generation took holds the wait for its turn.
    spoke_ms: float = ms["generate", "ok"] - ms.get(("queue", "waited"), 0.0)
    return served.answered - spoke_ms / 1_000 - left


async def measure(gguf: Path, askers: int, deadline_s: float) -> int:
    """Both parts; 0 if all is as it should be."""
    clock = SystemClock()
    more = {"MODELS__GGUF_PATH": str(gguf), "SERVER__REQUEST_TIMEOUT_S": str(deadline_s)}
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_node(Path(folder) / "crowd", more) as node:
            is_fair = await crowd(node.url, askers, deadline_s, clock)
        async with fresh_node(Path(folder) / "leave", {**more, "MODELS__GGUF_PARALLEL": "1"}) as node:
            async with aiohttp.ClientSession(trust_env=False) as http:
                await _ask(http, node.url, WARM_UP, clock, 0.0)
            pairs = zip(_THINGS[:LEAVERS], _THINGS[LEAVERS : 2 * LEAVERS], strict=True)
            freed = [await leave(node.url, *pair, clock) for pair in pairs]
    told = ", ".join(f"{seconds * 1_000:.0f}" for seconds in freed)
    print(f"an asker left while being answered: the next one's turn began {told} ms later")
    return int(not is_fair)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.askers")
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--askers", type=int, default=ASKERS)
    parser.add_argument("--deadline", type=float, default=DEADLINE_S)
    given = parser.parse_args()
    return asyncio.run(measure(given.gguf.resolve(), given.askers, given.deadline))


if __name__ == "__main__":
    sys.exit(main())
