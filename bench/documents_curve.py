"""The curve of windows of documents (``documents`` in ``node/answer/reading.json``): ``python -m
bench.documents_curve DOCUMENTS.SQLITE [--write FLOOR]`` fits it on the train questions of ``bench/community``
and says what would be quoted; ``--split held_out`` only says it.

DOCUMENTS.SQLITE: of a node that took the community in (``make_distractors.py`` beside it), not running."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from node.answer import documents
from node.core.clock import SystemClock
from node.core.ports import Embedded
from node.core.settings import Embed
from node.knowledge.corpus import StoredCorpus
from node.knowledge.evaluation.outcome import has_fact
from node.knowledge.retrieve import Search, retrieve
from node.knowledge.store import DocumentStore
from node.knowledge.vectors import DocumentVectors
from node.knowledge.windows import Window, windows
from node.language.tongue import may_be_english
from node.models.embedders.cross_encoder import CrossEncoder
from node.models.embedders.local import LocalEmbedder, installed_files

QUESTIONS = Path(__file__).parent / "community" / "questions.jsonl"
FILE = Path(documents.__file__).with_name("reading.json")
RIDGE = 2.0
SCOPES = ("shared",)


@dataclass
class Asked:
    """A question with its windows and what the curve weighs of each."""

    question: dict[str, Any]
    windows: Sequence[Window]
    signs: NDArray[np.float64]
    named_missing: bool

    @property
    def labels(self) -> NDArray[np.float64]:
        """Which windows hold a fact of a gold document."""
        facts, gold = self.question["facts"], self.question["gold"]
        held = [has_fact(one.text, facts) and one.document.path in gold for one in self.windows]
        return np.array(held, float)


class Semantic:
    """The local embedder as the vectors of documents want it."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self._embedder, self.info = embedder, embedder.info

    async def embed(self, texts: Sequence[str]) -> list[Embedded | None]:
        found = await self._embedder.embed(list(texts))
        return [None if one is None else Embedded(one, self.info) for one in found]


async def ask(file: Path, split: str) -> list[Asked]:
    """The questions of a split."""
    embedder = await LocalEmbedder.load(Embed(), SystemClock())
    store = await DocumentStore.open(file)
    semantic: Any = Semantic(embedder)
    vectors = await DocumentVectors.open(store, semantic, len, SystemClock(), hnsw_above=20_000)
    search = Search(StoredCorpus(store, vectors), embedder)
    reader, found = CrossEncoder.open(installed_files(), threads=2), []
    shelf = search.shelf(SCOPES)
    for line in QUESTIONS.read_text("utf-8").splitlines():
        question = json.loads(line)
        if question["split"] != split:
            continue
        asked = question["question"]
        passages = documents.standing(asked, await retrieve(asked, SCOPES, search), shelf)
        some = windows(asked, passages, documents.READ_MAX)
        known = [may_be_english(asked) and may_be_english(one.text) for one in some]
        texts = [one.read for one, is_known in zip(some, known, strict=True) if is_known]
        read = iter(reader.score(asked, texts))
        odds = [next(read) if is_known else None for is_known in known]
        signs = np.array(documents.signs(asked, some, odds, passages))
        found.append(Asked(question, some, signs, bool(shelf.missing_named(asked))))
    await vectors.close()
    await store.close()
    await embedder.close()
    return found


def fitted(rows: NDArray[np.float64], labels: NDArray[np.float64]) -> list[float]:
    """Logistic weights with a ridge on standardised signs; the last is the offset."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    mean[-1], spread[-1] = 0.0, 1.0
    scaled, weights = (rows - mean) / spread, np.zeros(rows.shape[1])
    ridge = np.eye(len(weights)) * RIDGE
    ridge[-1, -1] = 1e-6
    for _ in range(60):
        share = 1 / (1 + np.exp(-scaled @ weights))
        slope = (scaled.T * (share * (1 - share))) @ scaled + ridge
        weights += np.linalg.solve(slope, scaled.T @ (labels - share) - ridge @ weights)
    told = weights / spread
    told[-1] = weights[-1] - (weights[:-1] * mean[:-1] / spread[:-1]).sum()
    return [round(float(one), 3) for one in told]


def table(found: Sequence[Asked], curve: documents.Curve) -> dict[str, int]:
    """Right, wrong and silent by category; ``*`` marks questions across languages."""
    counts: Counter[str] = Counter()
    for one in found:
        weighed = zip(one.windows, one.signs, strict=True)
        rows = [documents.Said(window, curve.probability(row)) for window, row in weighed]
        rows.sort(key=lambda row: -row.share)
        name = one.question["category"] + ("*" if one.question["across"] else "")
        if not rows or one.named_missing or rows[0].share < curve.floor:
            counts[f"{name} silent"] += 1
            continue
        said = " ".join(row.window.text for row in documents.quoted(rows, curve.floor))
        is_right = has_fact(said, one.question["facts"])
        counts[f"{name} {'right' if is_right else 'wrong'}"] += 1
    return dict(sorted(counts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--split", default="train")
    parser.add_argument("--write", type=float)
    args = parser.parse_args()
    found = asyncio.run(ask(args.file, args.split))
    curve = documents.curve()
    if args.split == "train":
        kept = [one for one in found if len(one.windows)]
        rows = np.concatenate([one.signs for one in kept])
        weights = fitted(rows, np.concatenate([one.labels for one in kept]))
        curve = documents.Curve(tuple(weights), args.write or curve.floor)
        print(f"weights {weights}")
        if args.write:
            data = json.loads(FILE.read_text("utf-8"))
            data["documents"] = {"weights": weights, "floor": args.write}
            FILE.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", "utf-8")
    for name, count in table(found, curve).items():
        print(f"{count:4} {name}")


if __name__ == "__main__":
    main()
