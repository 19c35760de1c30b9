"""Recall, false hits and precision of the cache by similarity floor, .60 to .95 (S2-87).

    python -m bench.floors --data FOLDER [--sample N]

Method: of each labelled set (``pairs_*.jsonl.gz`` with a, b, same, group) the half ``report`` of
``bench.gate_pairs``, and of it a sample by a fixed seed; besides, the families made here by program. The
real embedder gives each pair its cosine. *recall*: pairs with one answer at or above the floor, of all such
pairs; *false hits*: the others at or above it, of all others; *precision*: pairs with one answer, of those at
or above it, which depends on how many of either kind the set has. *with the gate*: what the node serves, for
which nothing vetoes and ``u`` is within its limit too. With ``--data`` the tables also go to
``bench/results/floors.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.gate_pairs import U_LIMIT, Pair, family_pairs, read_pairs, similarities
from node.cache.matching.gate import judge
from node.core.errors import NodeError
from node.models.embedders.local import MiniLm, installed_files

RESULT = Path(__file__).resolve().parent / "results" / "floors.md"
FLOORS = tuple(round(0.60 + 0.05 * step, 2) for step in range(8))
SAMPLE = 600
SEED = 17
_REPORT_SIDE = 1


@dataclass(frozen=True, slots=True)
class Row:
    """Shares at one floor; None where there is nothing to divide by."""

    floor: float
    recall: float
    false_hits: float
    precision: float | None
    recall_gate: float
    false_hits_gate: float
    precision_gate: float | None


def sampled(pairs: Sequence[Pair], most: int) -> list[Pair]:
    """At most so many pairs, the same ones each time."""
    return list(pairs) if len(pairs) <= most else Random(SEED).sample(list(pairs), most)


def curve(pairs: Sequence[Pair], cosines: Sequence[float]) -> list[Row]:
    """The shares at each floor."""
    judged = [
        (pair.same, cosine, verdict.veto is None and verdict.u <= U_LIMIT)
        for pair, cosine in zip(pairs, cosines, strict=True)
        for verdict in (judge(pair.a, pair.b, similarity=cosine),)
    ]
    same = max(1, sum(one for one, _, _ in judged))
    others = max(1, len(judged) - sum(one for one, _, _ in judged))
    rows = []
    for floor in FLOORS:
        cells: list[float | None] = []
        for gated in (False, True):
            served = [one for one, cosine, passed in judged if cosine >= floor and (passed or not gated)]
            right = sum(served)
            wrong = len(served) - right
            cells += [right / same, wrong / others, right / len(served) if served else None]
        rows.append(Row(floor, *cells))  # type: ignore[arg-type] # only precision may be None
    return rows


def table(name: str, pairs: Sequence[Pair], rows: Sequence[Row]) -> list[str]:
    """One set in Markdown."""
    same = sum(pair.same for pair in pairs)

    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    lines = [
        f"\n## {name}: {same} pairs with one answer, {len(pairs) - same} others\n",
        "| floor | recall | false hits | precision | recall, gate | false hits, gate | precision, gate |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = (
            row.recall, row.false_hits, row.precision,
            row.recall_gate, row.false_hits_gate, row.precision_gate,
        )  # fmt: skip
        lines.append(f"| {row.floor:.2f} | " + " | ".join(map(share, cells)) + " |")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 if the embedder is not installed."""
    parser = argparse.ArgumentParser(prog="bench.floors", description="recall and false hits by floor")
    parser.add_argument("--data", type=Path, help="folder with labelled pairs (pairs_*.jsonl.gz)")
    parser.add_argument("--sample", type=int, default=SAMPLE, help="pairs of each set (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=RESULT)
    options = parser.parse_args(arguments)
    try:
        engine = MiniLm.open(installed_files(), threads=1)
    except NodeError as exc:
        print(f"no embedder: {exc}", file=sys.stderr)
        return 1
    sets = {"families made by program": sampled(list(family_pairs()), options.sample)}
    for file in sorted(options.data.glob("pairs_*.jsonl.gz")) if options.data else ():
        name = file.name.removesuffix(".jsonl.gz")
        sets[name] = sampled(read_pairs(file, _REPORT_SIDE), options.sample)
    lines = [
        "# Recall and false hits by similarity floor\n",
        f"`python -m bench.floors`, at most {options.sample} pairs of each set, seed {SEED}. The floors of "
        "the node: .70 generative, .80 historical and default, .90 deterministic; the gate stands behind.",
    ]
    for name, pairs in sets.items():
        lines += table(name, pairs, curve(pairs, similarities(engine, pairs)))
    text = "\n".join(lines) + "\n"
    print(text)
    if options.data:
        options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
