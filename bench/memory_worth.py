"""Fits what tells lasting facts from others: ``python -m bench.memory_worth [--write]``.

Logistic regression on the packaged embedder's vector of each line of ``bench/memorylab/keep.txt`` and
``drop.txt``; prints precision and recall by tenfold cross-validation, and writes the weights to
``node/agent/memory/worth.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

import numpy as np

from bench.train_router import Matrix, fit
from node.core.clock import SystemClock
from node.core.settings import Embed
from node.models.embedders.local import LocalEmbedder

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "bench" / "memorylab"
WEIGHTS = ROOT / "node" / "agent" / "memory" / "worth.json"
RIDGE = 0.0003
FOLDS = 10


def chance(rows: Matrix, weights: Matrix, bias: Matrix) -> Matrix:
    """How likely each row is to be kept."""
    odds = rows @ (weights[1] - weights[0]) + bias[1] - bias[0]
    likely: Matrix = 1.0 / (1.0 + np.exp(-odds))
    return likely


async def main(*, write: bool) -> None:
    keep, drop = ((LAB / f"{name}.txt").read_text("utf-8").splitlines() for name in ("keep", "drop"))
    embedder = await LocalEmbedder.load(Embed(), SystemClock())
    try:
        rows = np.array([np.asarray(row) for row in await embedder.embed([*keep, *drop])], dtype=np.float64)
        model_id = embedder.info.model
    finally:
        await embedder.close()
    wanted = np.array([1] * len(keep) + [0] * len(drop))
    chances = np.zeros(len(rows))
    order = np.random.default_rng(18).permutation(len(rows))
    for part in np.array_split(order, FOLDS):
        rest = np.setdiff1d(order, part)
        chances[part] = chance(rows[part], *fit(rows[rest], wanted[rest], 2, RIDGE))
    print("| from | precision | recall |\n| --- | --- | --- |")
    for least in (0.4, 0.5, 0.6, 0.7, 0.8):
        kept = chances >= least
        print(f"| {least:.1f} | {wanted[kept].mean():.2f} | {kept[wanted == 1].mean():.2f} |")
    if write:
        weights, bias = fit(rows, wanted, 2, RIDGE)
        row = [round(float(value), 4) for value in weights[1] - weights[0]]
        made = {"model": model_id, "bias": round(float(bias[1] - bias[0]), 4), "weights": row}
        WEIGHTS.write_text(json.dumps(made) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    asyncio.run(main(write=parser.parse_args().write))
