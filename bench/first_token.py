"""The first token of a streamed chat completion through the node's OpenAI door, and again when it is stored.

    python -m bench.first_token [--model model.gguf]

Real engines only, from the engines cache (``bash .ci/engines`` fills it); what is not there is named and left
out. For each way to a model a fresh node in a process of its own: ``neuroswarm/<model>`` in front of Ollama's
own ``/v1`` (and that ``/v1`` without the node, in turns, which shows what the node adds), ``neuroswarm`` with
llama-cpp-python and with xllamacpp. Each question is asked as a stream and then once more; the time ends at
the first event with text in it. The second answer has to be the first one byte for byte where the node says
that it comes from the cache; a column says how many did, for an answer below the bar is not stored.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from bench.fresh_node import at_rest, fresh_node, load_average, spread
from node.core.clock import SystemClock
from tests import engines

QUESTIONS = (
    "Why do leaves change colour in autumn?",
    "What does a compiler do?",
    "How does a refrigerator keep food cold?",
    "Why is the sky blue?",
    "What is the difference between a virus and a bacterium?",
    "How do tides come about?",
    "Why does bread rise?",
    "What is a semiconductor?",
)
TOKENS, STOP = 256, "."
"""What is cut off by a limit is not stored: each answer is one sentence."""
LIMIT_S = 180.0


@dataclass(slots=True)
class Way:
    """One way to a model; milliseconds."""

    name: str
    first_ms: list[float] = field(default_factory=list)
    again_ms: list[float] = field(default_factory=list)
    whole_ms: list[float] = field(default_factory=list)
    stored: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """A streamed answer: milliseconds to its first text and to its end, and where the node has it from."""

    text: str
    first_ms: float
    whole_ms: float
    is_stored: bool


async def _said(session: aiohttp.ClientSession, base: str, model: str, question: str) -> Said | None:
    body = {"model": model, "stream": True, "max_tokens": TOKENS, "stop": [STOP]}
    body |= {"temperature": 0, "messages": [{"role": "user", "content": question}]}
    clock = SystemClock()
    started, first, text = clock.monotonic(), 0.0, ""
    async with session.post(f"{base}/v1/chat/completions", json=body) as response:
        if response.status != 200:
            return None
        is_stored = "; hit" in response.headers.get("Cache-Status", "")
        async for line in response.content:
            if not line.startswith(b"data: {"):
                continue
            event = orjson.loads(line.removeprefix(b"data: "))
            is_stored |= bool((event.get("neuroswarm") or {}).get("hit"))
            for choice in event.get("choices", ()):
                if piece := choice["delta"].get("content"):
                    first = first or clock.monotonic() - started
                    text += piece
    return Said(text, first * 1_000, (clock.monotonic() - started) * 1_000, is_stored) if text else None


async def measure(way: Way, session: aiohttp.ClientSession, base: str, model: str, question: str) -> None:
    """Ask twice. Raises ``RuntimeError`` where the cache has given another text."""
    first = await _said(session, base, model, question)
    again = await _said(session, base, model, question)
    if first is None or again is None:
        way.failed += 1
        return
    way.first_ms.append(first.first_ms)
    way.whole_ms.append(first.whole_ms)
    if again.is_stored:
        if again.text != first.text:
            raise RuntimeError(f"{way.name}: another text from the cache: {question}")
        way.stored += 1
        way.again_ms.append(again.first_ms)


@asynccontextmanager
async def _asked(more: Mapping[str, str]) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    with tempfile.TemporaryDirectory() as name:
        async with (
            fresh_node(Path(name), more) as node,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(LIMIT_S)) as session,
        ):
            await at_rest(node.pid)
            yield session, node.url


async def with_ollama() -> list[Way]:
    """Ollama through the node and without it, in turns; its model is loaded by a question before."""
    with tempfile.TemporaryDirectory() as folder, engines.ollama(Path(folder)) as server:
        ways = [Way(f"`neuroswarm/{server.model}`, Ollama"), Way("that Ollama's own `/v1`")]
        async with _asked({"MODELS__OLLAMA_URL": server.url}) as (session, url):
            await _said(session, server.url, server.model, "Say hello.")
            for question in QUESTIONS:
                await measure(ways[0], session, url, f"neuroswarm/{server.model}", question)
                await measure(ways[1], session, server.url, server.model, question)
    return ways


async def with_file(engine: str, gguf: Path) -> list[Way]:
    """The whole walk with a model in a child process of the node's."""
    way = Way(f"`neuroswarm`, {engine}, {gguf.stem}")
    async with _asked({"MODELS__GGUF_PATH": str(gguf), "MODELS__GGUF_ENGINE": engine}) as (session, url):
        await _said(session, url, "neuroswarm", "Explain what snow is.")
        for question in QUESTIONS:
            await measure(way, session, url, "neuroswarm", question)
    return [way]


def table(ways: list[Way]) -> str:
    """As it stands in the docs."""
    rows = [
        "| way | first token, ms | whole answer, ms | again from the cache, ms | of them |",
        "|---|---|---|---|---|",
    ]
    for way in ways:
        of = f"{way.stored} of {len(way.first_ms)}" + (f", {way.failed} failed" if way.failed else "")
        cells = (way.name, spread(way.first_ms), spread(way.whole_ms), spread(way.again_ms), of)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


async def _main(arguments: Any) -> None:
    print(f"min / p50 / p95; {load_average()}\n")
    ways: list[Way] = []
    if (missing := engines.ollama_missing()) is None:
        ways += await with_ollama()
    else:
        print(f"left out: Ollama: {missing}\n")
    gguf = arguments.model or engines.cached(engines.QWEN)
    for engine, why in (
        ("llama_cpp", engines.llama_cpp_missing()),
        ("xllamacpp", engines.xllamacpp_missing()),
    ):
        if why is None and gguf.exists():
            ways += await with_file(engine, gguf)
        else:
            print(f"left out: {engine}: {why or f'no model at {gguf}'}\n")
    print(table(ways))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", type=Path, help="a GGUF chat model; default: the engines cache's")
    asyncio.run(_main(parser.parse_args()))
