"""Twenty askers at once with a real language model: is anybody turned away, is the order fair, and does an
asker who leaves free the engine?

    python -m bench.askers [--gguf FILE] [--askers 20] [--deadline 60]

Method. A fresh node in a process of its own with the GGUF file (that of ``make model`` where none is named;
with neither nothing is measured), everything as shipped but the deadline and,
for those who leave, one slot and a longer context. All
questions, each another one that only a model can explain, are sent within a second in a known order.
*Turned away*: no answer by the model although time was left of the asker's deadline. *Overtaken*: askers of
whom somebody who came later, by more than the engine has slots, was answered first. Then one asker's
question is with the model, a second one waits, and the first leaves, while the model writes or while it still
reads a long prompt that it has not seen before: *freed after* is how long from there the second one's
generation began. It is a miss where that took longer than 200 ms, or where nobody left at such a moment.
Other times are of this machine under its load; what counts there is who was served.
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
from node.core.clock import Clock, SystemClock
from node.language.reading import word_list
from node.models.llama.gguf_file import installed_model

ASKERS, DEADLINE_S = 20, 60.0
STAGGER_S = 0.03
SPARE_S = 5.0
"""An answer that comes so shortly before the deadline, or later, was not turned away early."""
SLOTS = 2
LEAVERS, LEAVES_AFTER_S = 5, 2.0
FREED_S = 0.2
"""The slot of an asker who left must be another's within this."""
LONG_CHARS = 4_000
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


@dataclass(frozen=True, slots=True)
class Left:
    """An asker left ``while_writing``, else before the model had said anything; ``freed_s`` later the next
    one's generation began."""

    while_writing: bool
    freed_s: float


async def _listen(http: aiohttp.ClientSession, url: str, text: str, heard: set[str]) -> None:
    """Ask, and note which events come."""
    async with http.post(f"{url}/chat", json={"query": text, "stream": True}) as response:
        async for line in response.content:
            if line.startswith(b"event: "):
                heard.add(line.decode().removeprefix("event: ").strip())


def long_question(about: str, chars: int = LONG_CHARS) -> str:
    """A question with a text of its own that no other question shares."""
    lines = [
        f"{about.capitalize()} of sort {n} came to town {n * 7} with {n * 3} carts of {other}."
        for n, other in enumerate(_THINGS * (chars // 500), 1)
    ]
    told = "\n".join(lines)[:chars]
    return f"Explain what this text says about {about}:\n\n{told}"


async def leave(url: str, first: str, second: str, clock: Clock) -> Left:
    """The second part: who asks ``first`` leaves while who asks ``second`` waits."""
    heard: set[str] = set()
    async with (
        aiohttp.ClientSession(trust_env=False) as other,
        aiohttp.ClientSession(trust_env=False) as http,
    ):
        leaving = asyncio.create_task(_listen(other, url, first, heard))
        await clock.sleep(LEAVES_AFTER_S)
        waiting = asyncio.create_task(_ask(http, url, second, clock, 0.0))
        await clock.sleep(LEAVES_AFTER_S / 4)
        leaving.cancel()
        left, while_writing = clock.monotonic(), "delta" in heard
        await asyncio.gather(leaving, return_exceptions=True)
        served = await waiting
    ms = {(step["stage"], step["outcome"]): step["ms"] for step in served.trace}
    # What the generation took holds the wait for its turn.
    spoke_ms: float = ms["generate", "ok"] - ms.get(("queue", "waited"), 0.0)
    return Left(while_writing, served.answered - spoke_ms / 1_000 - left)


def freed_in_time(left: list[Left]) -> bool:
    """Show what came of it; whether somebody left at either moment and every slot was freed in time."""
    is_well = True
    for while_writing, words in ((True, "wrote"), (False, "still read the prompt")):
        freed = [one.freed_s for one in left if one.while_writing == while_writing]
        told = ", ".join(f"{seconds * 1_000:.0f}" for seconds in freed)
        told = f"the next one's turn began {told} ms later" if freed else "nobody did"
        print(f"an asker left while the model {words}: {told}")
        late = sum(seconds > FREED_S for seconds in freed)
        is_well = is_well and bool(freed) and not late
        if late:
            print(f"  {late} of {len(freed)} later than {FREED_S * 1_000:.0f} ms")
    return is_well


async def measure(gguf: Path, askers: int, deadline_s: float) -> int:
    """Both parts; 0 if all is as it should be."""
    clock = SystemClock()
    more = {"MODELS__GGUF_PATH": str(gguf), "SERVER__REQUEST_TIMEOUT_S": str(deadline_s)}
    with tempfile.TemporaryDirectory() as folder:
        async with fresh_node(Path(folder) / "crowd", more) as node:
            is_fair = await crowd(node.url, askers, deadline_s, clock)
        more |= {"MODELS__GGUF_PARALLEL": "1", "MODELS__CONTEXT_CHARS_MAX": str(LONG_CHARS)}
        async with fresh_node(Path(folder) / "leave", more) as node:
            async with aiohttp.ClientSession(trust_env=False) as http:
                await _ask(http, node.url, WARM_UP, clock, 0.0)
            first, second, third, fourth = (_THINGS[n * LEAVERS : (n + 1) * LEAVERS] for n in range(4))
            pairs = [*zip([f"explain how {one} work" for one in first], second, strict=True)]
            pairs += zip(map(long_question, third), fourth, strict=True)
            left = [await leave(node.url, one, f"explain how {other} work", clock) for one, other in pairs]
    is_freed = freed_in_time(left)
    return int(not (is_fair and is_freed))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.askers")
    parser.add_argument("--gguf", type=Path, help="default: what make model has put into data/models")
    parser.add_argument("--askers", type=int, default=ASKERS)
    parser.add_argument("--deadline", type=float, default=DEADLINE_S)
    given = parser.parse_args()
    gguf = given.gguf or installed_model(Path("data"))
    if gguf is None:
        print("left out: there is no model file; type: make model, or name one with --gguf")
        return 0
    return asyncio.run(measure(gguf.resolve(), given.askers, given.deadline))


if __name__ == "__main__":
    sys.exit(main())
