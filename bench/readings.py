"""What a language model reads beside the packaged reader, on communities that the reader was not trained on.

    python -m bench.readings --gguf FILE [--every 3] [--folder readerlab/curves]

A node in this process holds the facts of a community; every so many of its questions are asked as the
pipeline asks them, and each note that would be read by the model is. One line for each is added to
``answerlab/readings_beside.jsonl``: the question, the note, whether it holds the answer, the model's log
odds of "yes". What was read before is not read again. ``python -m bench.evidence`` fits the curve on them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from node.answer import context, model_reader, notes
from node.app.node import running
from node.core.errors import Rejected
from node.core.model import Evidence
from node.core.settings import load

HERE = Path(__file__).parent
OUT = HERE / "answerlab" / "readings_beside.jsonl"
OUTSIDE = ("coingecko", "coinbase", "open_meteo", "espn", "balldontlie", "news", "frankfurter", "snapshot")
WAIT_S = 300.0

Said = dict[int, tuple[float, float]]


class Readings:
    """Stands in for ``notes._by_model``: every note that is wanted is read, none ends the reading early, and
    the walk then finds nothing to answer from, so that no answer is generated."""

    def __init__(self) -> None:
        self.read: list[tuple[Evidence, float]] = []

    async def by_model(
        self, readers: notes.Readers, asked: str, wanted: Sequence[Evidence], pack: notes.Pack, **how: Any
    ) -> Said:
        curve = model_reader.packaged()
        for one in wanted:
            blocks: Sequence[context.Block] = pack([one]).blocks
            if not blocks:
                continue
            result = await readers.chain.first(
                model_reader.check(notes.addressed(asked, blocks[0].told), blocks[0], how["tag"], curve),
                lambda draft: model_reader.log_odds(draft, curve),
                deadline=how["deadline"],
            )
            if result.value is None:
                raise Rejected(f"the model did not read: {result}")
            self.read.append((one, result.value))
        return {id(one): (-9.0, 0.0) for one, _ in self.read}


def questions(path: Path, every: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The facts of a community, and every so-and-so-many-th of its questions."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    facts = [row for row in lines if row["kind"] == "fact"]
    return facts, [row for row in lines if row["kind"] != "fact"][::every]


async def read(path: Path, gguf: Path, every: int, known: set[tuple[str, str]]) -> None:
    facts, asked = questions(path, every)
    wanted = [row for row in asked if (path.stem, row["q"]) not in known]
    if not wanted:
        return
    by_answer = {" ".join(row["a"].split()): row["id"] for row in facts}
    with tempfile.TemporaryDirectory() as folder:
        flags: Mapping[str, Any] = {
            "data_dir": f"{folder}/data",
            "governance_dir": f"{folder}/logs",
            "server": {"port": 0},
            "adapters": {name: {"enabled": False} for name in OUTSIDE},
            "models": {"ollama_url": "", "gguf_path": str(gguf)},
        }
        async with running(load({}, flags=flags)) as node, aiohttp.ClientSession() as http:
            for row in facts:
                entry = {"query": row["q"], "answer": row["a"]}
                async with http.post(f"{node.url}/v1/cache/entries", json=entry) as reply:
                    reply.raise_for_status()
            for row in wanted:
                readings = Readings()
                notes._by_model = readings.by_model  # type: ignore[assignment] # it takes the same, by name
                timeout = aiohttp.ClientTimeout(total=WAIT_S)
                async with http.post(f"{node.url}/chat", json={"query": row["q"]}, timeout=timeout) as reply:
                    reply.raise_for_status()
                made = [
                    {
                        "community": path.stem,
                        "q": row["q"],
                        "note": by_answer.get(" ".join(one.text.split()), "starter"),
                        "log_odds": round(odds, 3),
                    }
                    for one, odds in readings.read
                ]
                with OUT.open("a") as out:
                    for each in made or [{"community": path.stem, "q": row["q"], "note": ""}]:
                        out.write(json.dumps(each, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.readings")
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=HERE / "readerlab" / "curves")
    given = parser.parse_args()
    rows = [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []
    known = {(row["community"], row["q"]) for row in rows}
    for path in sorted(given.folder.glob("*.jsonl")):
        asyncio.run(read(path, given.gguf.resolve(), given.every, known))


if __name__ == "__main__":
    main()
