"""What memory keeps of labelled turns: ``python -m bench.memory_facts --url URL --model NAME``.

Each line of ``bench/memorylab/*.jsonl``: a message (``said``), the facts that are to be kept (``about``, and
``words`` that the line has to hold) and what must not be written (``never``). A real model behind an
OpenAI-compatible address proposes; the node's own rules decide. Prints precision, recall, what was written of
``never``, by file, and every wrong line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np

from node.agent.memory import facts, worth
from node.agent.memory.books import Books
from node.agent.memory.keeper import Keeper, Means
from node.core.caller import Caller
from node.core.clock import SystemClock
from node.core.ports import Prompt
from node.core.settings import Embed
from node.models.embedders.local import LocalEmbedder

LAB = Path(__file__).resolve().parent / "memorylab"
TIMEOUT_S = 120


class Engine:
    """An OpenAI-compatible address."""

    def __init__(self, session: aiohttp.ClientSession, url: str, model: str) -> None:
        self._session, self._url, self._model = session, url, model

    async def generate(self, prompt: Prompt, deadline: float) -> str:
        turns = [
            {"role": role, "content": text}
            for asked, answered in prompt.turns
            for role, text in (("user", asked), ("assistant", answered))
        ]
        body = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": prompt.system},
                *turns,
                {"role": "user", "content": prompt.user},
            ],
            "temperature": prompt.temperature,
            "max_tokens": prompt.tokens_max,
            "seed": 1,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "facts", "schema": json.loads(prompt.schema)},
            },
        }
        async with self._session.post(f"{self._url}/chat/completions", json=body) as reply:
            reply.raise_for_status()
            return str((await reply.json())["choices"][0]["message"]["content"])


class Never:
    """Nothing is done behind replies here."""

    def submit(self, key: object, work: object) -> bool:
        return False


def right(line: facts.Fact, wanted: Sequence[Mapping[str, Any]]) -> int | None:
    """Which of the wanted facts a line is."""
    text = line.text.casefold()
    for at, fact in enumerate(wanted):
        if fact["about"] == line.about and all(word.casefold() in text for word in fact["words"]):
            return at
    return None


async def main(url: str, model: str, turns: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    embedder = await LocalEmbedder.load(Embed(), SystemClock())

    async def worths(texts: Sequence[str]) -> list[float]:
        rows = await embedder.embed(texts)
        return [0.0 if row is None else worth.packaged().worth_of(row) for row in rows]

    async def alike(text: str, lines: Sequence[str]) -> tuple[float, ...]:
        first, *rest = await embedder.embed([text, *lines])
        return tuple(0.0 if row is None or first is None else float(np.dot(first, row)) for row in rest)

    async def record(*_: object) -> None:
        pass

    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        engine = Engine(session, url, model)
        with tempfile.TemporaryDirectory() as folder:
            means = Means(engine.generate, worths, alike, record, Never(), SystemClock())
            keeper = Keeper(Books(Path(folder)), means)
            for name, rows in turns.items():
                await measure(name, rows, keeper)
    await embedder.close()


async def measure(name: str, rows: Sequence[Mapping[str, Any]], keeper: Keeper) -> None:
    counts: Counter[str] = Counter()
    for number, row in enumerate(rows):
        counts["turns"] += 1
        counts["wanted"] += len(row["facts"])
        caller = Caller(tenant=f"{name}{number}")
        told = worth.statements(row["said"])
        judged = await keeper.keep(caller, await keeper.proposed(told, 0.0) if told else [], told)
        written = [one.fact for one in judged if not one.against]
        hits = {right(fact, row["facts"]) for fact in written} - {None}
        counts["written"] += len(written)
        counts["right"] += sum(right(fact, row["facts"]) is not None for fact in written)
        counts["found"] += len(hits)
        counts["leaked"] += sum(bad in fact.text for fact in written for bad in row.get("never", ()))
        if len(hits) < len(row["facts"]) or any(right(fact, row["facts"]) is None for fact in written):
            said = "; ".join(f"{one.fact.text} ({one.against or 'kept'})" for one in judged)
            print(f"  {row['said'][:70]!r}: {said or 'nothing'}")
    print(
        f"{name}: {counts['turns']} turns, precision "
        f"{counts['right'] / max(1, counts['written']):.2f} of {counts['written']}, recall "
        f"{counts['found'] / max(1, counts['wanted']):.2f} of {counts['wanted']}, "
        f"leaked {counts['leaked']}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="http://127.0.0.1:11434/v1")
    parser.add_argument("--model", required=True)
    args = parser.parse_args()
    read = {path.stem: path.read_text("utf-8").splitlines() for path in sorted(LAB.glob("*.jsonl"))}
    rows = {name: [json.loads(line) for line in lines] for name, lines in read.items()}
    asyncio.run(main(args.url.rstrip("/"), args.model, rows))
