"""How much faster a cached answer is than the model's: the same questions, asked once, then in other words.

    python -m bench.model_ratio [--ollama URL] [--model NAME]

A fresh node in a process of its own, with a real Ollama behind it, is asked explanatory questions (the
model answers, and the answer is stored), then each in four other wordings (the cache answers).
Without an Ollama that has a model, nothing is measured and the output says so. The address comes from
``--ollama``, else ``NEUROSWARM_TEST_OLLAMA_URL``, else the node's default; without ``--model`` the node
chooses as it always does. The model is loaded by one unmeasured question first. Times are the client's,
over HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from bench.fresh_node import fresh_node, load_average, spread
from node.core.clock import SystemClock
from node.core.settings import Models

TIMEOUT_S = 120.0
_WARM_UP = "Explain why leaves are green"

QUESTIONS = (
    (
        "Explain quantum computing",
        (
            "What is quantum computing?",
            "Could you please explain quantum computing?",
            "tell me about quantum computing",
            "Quantum computing: what is that?",
        ),
    ),
    (
        "How does photosynthesis work?",
        (
            "explain how photosynthesis works",
            "I want to know how photosynthesis works",
            "Photosynthesis: how does it work?",
            "in what way does photosynthesis work",
        ),
    ),
    (
        "What is the difference between a virus and a bacterium?",
        (
            "can you explain the difference between a virus and a bacterium?",
            "how do you distinguish between a virus and a bacterium",
            "What are the differences between viruses and bacteria?",
            "A virus and a bacterium: what is the difference between them?",
        ),
    ),
    (
        "Why does the moon have phases?",
        (
            "What is the reason why the moon has phases?",
            "how come the moon has phases?",
            "The moon: why does it have phases?",
            "Please explain why there are phases of the moon",
        ),
    ),
    (
        "How does a vaccine protect against a disease?",
        (
            "Please explain how vaccines protect against diseases",
            "how do vaccines protect against an illness?",
            "A vaccine: how does it protect against a disease?",
            "Against a disease, how does a vaccine protect?",
        ),
    ),
)
"""Each question and four other wordings, each asked once: a wording asked again would find its embedding
remembered."""


async def models_at(url: str) -> list[str]:
    """Names of the models that an Ollama at ``url`` has; none if nobody answers there."""
    timeout = aiohttp.ClientTimeout(total=3)
    try:
        async with (
            aiohttp.ClientSession(trust_env=False, timeout=timeout) as http,
            http.get(f"{url.rstrip('/')}/api/tags") as response,
        ):
            listed = await response.json(content_type=None)
            return [str(model["name"]) for model in listed["models"]]
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError):
        return []


async def _ask(http: aiohttp.ClientSession, url: str, text: str) -> tuple[float, dict[str, Any]]:
    clock = SystemClock()
    started = clock.monotonic()
    async with http.post(f"{url}/chat", json={"query": text, "verbose": True}) as response:
        reply: dict[str, Any] = await response.json()
        return (clock.monotonic() - started) * 1_000, reply


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


async def run(ollama: str, model: str) -> bool:
    """Measure and print; False if the model answered nothing or the cache none of it."""
    more = {"MODELS__OLLAMA_URL": ollama, "MODELS__OLLAMA_MODEL": model}
    asked: list[float] = []
    hits: list[float] = []
    ratios: list[float] = []
    tiers: Counter[str] = Counter()
    tokens = 0
    name = ""
    print(f"load before: {load_average()}\n")
    print(
        "| question | model, s | tokens | confidence | stored | hits in other words, p50, ms | answered by |"
    )
    print("| --- | ---: | ---: | ---: | --- | ---: | --- |")
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            fresh_node(Path(folder) / "node", more) as node,
            aiohttp.ClientSession(trust_env=False, timeout=timeout) as http,
        ):
            await _ask(http, node.url, _WARM_UP)
            for text, again in QUESTIONS:
                took_ms, reply = await _ask(http, node.url, text)
                if reply["source"]["kind"] != "llm":
                    print(f"| {text} | not answered by the model: {reply['source']['kind']} | | | | | |")
                    continue
                name = str(reply["source"]["id"])
                asked.append(took_ms)
                tokens += reply["usage"]["completion_tokens"]
                mine: list[float] = []
                kinds: Counter[str] = Counter()
                for words in again if reply["stored"] else ():
                    hit_ms, answer = await _ask(http, node.url, words)
                    kind = answer["hit"]["kind"] if answer["hit"] else answer["source"]["kind"]
                    kinds[kind] += 1
                    if answer["hit"] and answer["cid"] == reply["cid"]:
                        mine.append(hit_ms)
                if mine:
                    ratios.append(took_ms / float(np.median(mine)))
                hits += mine
                tiers += kinds
                shown = _counted(kinds) or "–"
                middle = f"{np.median(mine):.1f}" if mine else "–"
                stored = "yes" if reply["stored"] else "no"
                print(
                    f"| {text} | {took_ms / 1_000:.1f} | {reply['usage']['completion_tokens']} "
                    f"| {reply['confidence']:.2f} | {stored} | {middle} | {shown} |"
                )
    print()
    if not asked or not hits:
        print("no ratio: the model answered nothing, or nothing of it came back from the cache")
        return False
    least, middle_s, most = (figure / 1_000 for figure in (min(asked), np.median(asked), max(asked)))
    print(
        f"model {name}: {least:.1f} / {middle_s:.1f} / {most:.1f} s (min / p50 / max, n = {len(asked)}), "
        f"{tokens} tokens in all"
    )
    print(f"cache hit: {spread(hits)} ms (min / p50 / p95, n = {len(hits)})")
    print(f"the {tiers.total()} other wordings were answered by: {_counted(tiers)}")
    ratio = float(np.median(asked)) / float(np.median(hits))
    print(
        f"a hit is {ratio:,.0f} times as fast as the model (medians; by question "
        f"{min(ratios):,.0f} to {max(ratios):,.0f})"
    )
    print(f"load after: {load_average()}, the model's own work included")
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 also when it is skipped."""
    parser = argparse.ArgumentParser(prog="bench.model_ratio", description="a cache hit against the model")
    parser.add_argument("--ollama", help="address of an Ollama")
    parser.add_argument("--model", default="", help="name of an installed model")
    options = parser.parse_args(arguments)
    ollama = options.ollama or os.environ.get("NEUROSWARM_TEST_OLLAMA_URL") or Models().ollama_url
    models = asyncio.run(models_at(ollama))
    if not models:
        print("skipped: no Ollama with a model answers (give --ollama URL or NEUROSWARM_TEST_OLLAMA_URL)")
        return 0
    return 0 if asyncio.run(run(ollama, options.model)) else 1


if __name__ == "__main__":
    sys.exit(main())
