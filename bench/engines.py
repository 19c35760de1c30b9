"""Engines side by side: embedding speed, generation speed, and what a generating model costs a cache hit.

    python -m bench.engines

Real engines only, from the engines cache (``bash .ci/engines`` fills it) or by address
(``NEUROSWARM_TEST_OLLAMA_URL``); what is not there is named and left out. Three parts:

- embedding: the same 60 fresh questions one by one, then 240 more in one call, for the local engine, Ollama,
  Ollama's OpenAI-compatible routes and llama-cpp-python. All but the local one (int8 ONNX) run the same
  MiniLM in 16 bits. Engines take turns within each round, so that a busy spell falls on all alike;
- generation: the same three prompts, temperature 0, at most 64 tokens, the same Gemma 270M; tokens a second
  from the question to the last token, after one unmeasured prompt that loads the model;
- hits: a fresh node in a process of its own is asked stored questions, one at a time: while its model works
  without a pause, until it has given an answer, then as many while it rests, in turns. The ratio of the two
  95th percentiles is what is promised (at most 3).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from bench.fresh_node import fresh_node, load_average, spread
from bench.questions import questions
from node.answer import prompt as prompts
from node.core.clock import SystemClock
from node.core.errors import NodeError
from node.core.ports import Embedder, Generator
from node.core.settings import Settings, load
from node.models.embedders import factory
from tests import engines

SINGLE = 60
BULK = 240
ROUNDS = 3
TOKENS = 64
HITS = 60
GENERATION_MAX_S = 40.0
"""How long a round waits for the model to give an answer, so that it has certainly worked meanwhile."""
LIMIT_RATIO = 3.0
"""Design section 11: hits stay fast while a model generates."""

PROMPTS = (
    "Explain how a tide comes about",
    "Explain what a compiler does",
    "Explain why bread rises",
)


@dataclass(slots=True)
class Timed:
    """One embedding engine: seconds of single texts and of bulk calls."""

    name: str
    single_ms: list[float] = field(default_factory=list)
    bulk_texts_s: list[float] = field(default_factory=list)


def _settings(**sections: dict[str, object]) -> Settings:
    return load({}, flags=sections)


# --- embedding ------------------------------------------------------------------------------------


async def embedding(found: dict[str, Embedder]) -> list[Timed]:
    """Time each engine; every text is new, so that no engine answers from memory."""
    clock = SystemClock()
    timed = [Timed(name) for name in found]
    fresh = iter([question.text for question in questions()])
    for _ in range(ROUNDS):
        for one in timed:
            embedder = found[one.name]
            for _ in range(SINGLE // ROUNDS):
                text = next(fresh)
                started = clock.monotonic()
                await embedder.embed([text])
                one.single_ms.append((clock.monotonic() - started) * 1_000)
            texts = [next(fresh) for _ in range(BULK // ROUNDS)]
            started = clock.monotonic()
            vectors = await embedder.embed(texts)
            assert all(vector is not None for vector in vectors)
            one.bulk_texts_s.append(len(texts) / (clock.monotonic() - started))
    return timed


async def _embedders(
    stack: AsyncExitStack, ollama: engines.Ollama | None, gguf: Path | None
) -> dict[str, Embedder]:
    wanted: dict[str, Settings] = {"local (int8 ONNX)": _settings()}
    if ollama is not None:
        wanted["Ollama"] = _settings(
            embed={"engine": "ollama", "model": ollama.embed_model}, models={"ollama_url": ollama.url}
        )
        wanted["OpenAI-compatible (Ollama's /v1)"] = _settings(
            embed={"engine": "openai", "model": ollama.embed_model},
            models={"openai_base_url": f"{ollama.url}/v1", "openai_api_key": "unused"},
        )
    if gguf is not None:
        wanted["llama-cpp-python"] = _settings(embed={"engine": "llama_cpp", "gguf_path": str(gguf)})
    found: dict[str, Embedder] = {}
    for name, settings in wanted.items():
        try:
            embedder = await factory.load(settings, SystemClock())
        except NodeError as exc:
            print(f"left out: {name}: {exc}")
            continue
        stack.push_async_callback(embedder.close)
        found[name] = embedder
    return found


# --- generation -----------------------------------------------------------------------------------


async def generation(generator: Generator) -> list[float]:
    """Tokens a second for each prompt, after one that loads the model."""
    clock = SystemClock()
    rates = []
    for position, question in enumerate(("Explain what snow is", *PROMPTS)):
        asked = prompts.build(question, (), f"bench{position}", tokens_max=TOKENS)
        started = clock.monotonic()
        try:
            draft = await generator.generate(asked, timeout_s=120)
        except NodeError as exc:
            print(f"{generator.name}: no answer: {exc}")
            continue
        if position:
            rates.append(draft.completion_tokens / (clock.monotonic() - started))
    return rates


def _generators(ollama: engines.Ollama | None, gemma: Path | None) -> list[Generator]:
    clock = SystemClock()
    found: list[Generator] = []
    if ollama is not None:
        from node.models.generators.ollama import OllamaGenerator

        found.append(OllamaGenerator(ollama.url, ollama.model, clock, threads=1))
    if gemma is not None:
        from node.models.generators.llama import LlamaGenerator

        found.append(LlamaGenerator(gemma, clock, queue_max=8, threads=1))
    return found


# --- hits beside a generating model ---------------------------------------------------------------


async def hits(more: dict[str, str], folder: Path) -> tuple[list[float], list[float], int]:
    """Milliseconds of hits idle and while the model works, and how many answers it gave meanwhile."""
    clock = SystemClock()
    stored = [question.text for question in questions()[:HITS]]
    async with (
        fresh_node(folder, more) as node,
        aiohttp.ClientSession(trust_env=False, timeout=aiohttp.ClientTimeout(total=120)) as http,
    ):

        async def post(path: str, body: dict[str, object]) -> dict[str, Any]:
            async with http.post(node.url + path, json=body) as response:
                replied: dict[str, Any] = await response.json(content_type=None)
                return replied

        for text in stored:
            await post("/v1/cache/entries", {"query": text, "answer": "A stored answer."})
        first = await post("/chat", {"query": PROMPTS[0], "no_cache": True})
        if first["source"]["kind"] != "llm":
            print(f"the model gave no answer: {first['answer']}")

        async def ask(texts: Sequence[str]) -> list[float]:
            took = []
            for text in texts:
                started = clock.monotonic()
                reply = await post("/chat", {"query": text})
                took.append((clock.monotonic() - started) * 1_000)
                assert reply["source"]["kind"] == "cache", reply
            return took

        answered = 0

        async def generate() -> None:
            nonlocal answered
            number = 0
            while True:
                number += 1
                question = f"Explain at length how machine number {number} came to be invented"
                await post("/chat", {"query": question, "no_cache": True, "no_store": True})
                answered += 1

        idle: list[float] = []
        busy: list[float] = []
        await ask(stored[:20])  # warm
        for _ in range(ROUNDS):
            before, until = answered, clock.monotonic() + GENERATION_MAX_S
            working = [asyncio.create_task(generate()) for _ in range(2)]
            await asyncio.sleep(1)
            asked = 0
            while answered == before and clock.monotonic() < until:
                busy += await ask(stored)
                asked += 1
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            await asyncio.sleep(2)  # what was being generated ends
            for _ in range(asked):
                idle += await ask(stored)
    return idle, busy, answered


# --- all of it ------------------------------------------------------------------------------------


@asynccontextmanager
async def _ollama(folder: Path) -> AsyncIterator[engines.Ollama | None]:
    if (reason := engines.ollama_missing()) is not None:
        print(f"left out: Ollama: {reason}")
        yield None
        return
    with engines.ollama(folder) as server:
        yield server


def _file(name: str) -> Path | None:
    path = engines.cache_folder() / name
    if path.is_file():
        return path
    print(f"left out: {name} is not in the engines cache (bash .ci/engines puts it there)")
    return None


async def main() -> None:
    argparse.ArgumentParser(prog="bench.engines", description="engines side by side").parse_args()
    print(f"load {load_average()}")
    reason = engines.llama_cpp_missing()
    if reason is not None:
        print(f"left out: llama-cpp-python: {reason}")
    gemma = _file(engines.GEMMA) if reason is None else None
    minilm = _file(engines.MINILM) if reason is None else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            ollama = await stack.enter_async_context(_ollama(folder))
            found = await _embedders(stack, ollama, minilm)
            print("\n| embedding | one text, ms (min / p50 / p95) | texts/s in bulk |\n| --- | --- | --- |")
            for one in await embedding(found):
                print(f"| {one.name} | {spread(one.single_ms)} | {np.median(one.bulk_texts_s):.0f} |")
            print(
                "\n| generation, Gemma 270M, one thread | tokens/s (median of three prompts) |\n| --- | --- |"
            )
            for generator in _generators(ollama, gemma):
                rates = await generation(generator)
                print(
                    f"| {generator.name} | {np.median(rates):.1f} |" if rates else f"| {generator.name} | – |"
                )
                await generator.close()
            print("\n| hits beside a model | idle, ms | while it generates, ms | p95 ratio | answers then |")
            print("| --- | --- | --- | --- | --- |")
            nodes: dict[str, dict[str, str]] = {}
            if ollama is not None:
                nodes["Ollama"] = {
                    "MODELS__OLLAMA_URL": ollama.url,
                    "MODELS__OLLAMA_MODEL": ollama.model,
                }
            if gemma is not None:
                nodes["llama-cpp-python"] = {"MODELS__GGUF_PATH": str(gemma)}
            for engine, more in nodes.items():
                idle, busy, answered = await hits(more, folder / engine)
                ratio = float(np.percentile(busy, 95) / np.percentile(idle, 95))
                print(f"| {engine} | {spread(idle)} | {spread(busy)} | {ratio:.2f} | {answered} |")
                if ratio > LIMIT_RATIO:
                    print(f"| | | over the promised {LIMIT_RATIO:g} | | |")


if __name__ == "__main__":
    asyncio.run(main())
    sys.exit(0)
