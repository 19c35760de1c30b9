"""Recall and wrong serves of the cache's decision on pairs of questions written by hand.

``python -m bench.gate_blind [--show]``

The pairs of ``gate_blind.jsonl`` were written before the author had read the gate, its tables or its tests:
near-misses (``same`` false: an answer to one would be wrong for the other) and paraphrases, by kind. The
hash of the first text puts a pair into the part ``train``, whose errors were read to repair general causes,
or ``test``, whose errors were not read. Caution: one author wrote the pairs and, later, the repairs. Some
rules (slips of the pen, spellings, death and die, what something does) were written with pairs of ``test``
in memory, about half of its gain in recall; a second set by another hand is the fairer judge.

Served is a pair if one of two tiers serves it as the node would: *semantic* (cosine of the real embedder at
the floor of 0.7, no veto, u within 0.05) or *keyword* (equal keyword keys, no veto).
``--show`` lists the errors of the part ``train`` with the gate's reasons; those of ``test`` are never shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.gate_pairs import Pair, similarities
from node.cache.keys import keyword_key
from node.cache.lookup import SEMANTIC, SLOT, Candidate, Policy, choose
from node.core.errors import NodeError
from node.models.embedders.local import MiniLm, installed_files

FILE = Path(__file__).with_name("gate_blind.jsonl")
FLOOR = 0.7
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """A pair, its part, and whether it is served: ``near`` by cosine alone, ``served`` with the gate."""

    pair: Pair
    part: str
    cosine: float
    near: bool
    served: bool
    reason: str


def read(file: Path) -> list[tuple[Pair, str]]:
    """The pairs of a file of JSON lines with their parts."""
    out = []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        out.append((Pair(row["a"], row["b"], bool(row["same"]), str(row["kind"])), str(row["part"])))
    return out


def decide(asked: str, stored: str, cosine: float) -> tuple[bool, str]:
    """Whether the node would serve the answer to ``stored`` for ``asked``, and the reason."""
    candidates = [Candidate("semantic", stored, cosine, SEMANTIC, 1.0, NOW, None)]
    key = keyword_key(asked)
    if key is not None and key == keyword_key(stored):
        candidates.append(Candidate("keyword", stored, None, SLOT, 1.0, NOW, None, check_text=True))
    choice = choose(asked, candidates, Policy(floor=FLOOR), now=NOW)
    return choice.hit is not None, choice.reason


def rows(engine: MiniLm, pairs: Sequence[tuple[Pair, str]]) -> list[Row]:
    """Every pair decided."""
    out = []
    cosines = similarities(engine, [pair for pair, _ in pairs])
    for (pair, part), cosine in zip(pairs, cosines, strict=True):
        served, reason = decide(pair.a, pair.b, cosine)
        out.append(Row(pair, part, cosine, cosine >= FLOOR, served, reason))
    return out


def _share(part: Sequence[bool]) -> str:
    return f"{sum(part):3d}/{len(part):3d} {sum(part) / len(part):6.3f}" if part else f"{'–':>14}"


def table(decided: Sequence[Row], same: bool) -> None:
    """Print served shares by kind and part."""
    title = "paraphrases: recall" if same else "near-misses: served"
    print(f"\n{title:24} {'train cosine':>16} {'train gate':>16} {'test cosine':>16} {'test gate':>16}")
    chosen = [row for row in decided if row.pair.same is same]
    for kind in (*dict.fromkeys(row.pair.kind for row in chosen), "all"):
        cells = []
        for part in ("train", "test"):
            mine = [row for row in chosen if row.part == part and kind in (row.pair.kind, "all")]
            cells += [_share([row.near for row in mine]), _share([row.served for row in mine])]
        print(f"{kind:24} " + " ".join(f"{cell:>16}" for cell in cells))


def show(decided: Sequence[Row]) -> None:
    """Print the errors of the part ``train``."""
    for row in decided:
        if row.part == "train" and row.served != row.pair.same:
            mark = "MISSED" if row.pair.same else "WRONG "
            print(f"{mark} {row.pair.kind:13} {row.cosine:5.2f}  {row.pair.a} | {row.pair.b}  [{row.reason}]")


def main(arguments: Sequence[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="bench.gate_blind", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--show", action="store_true", help="list the errors of the part train")
    options = parser.parse_args(arguments)
    try:
        engine = MiniLm.open(installed_files(), threads=1)
    except NodeError as exc:
        print(f"cannot embed: {exc}", file=sys.stderr)
        return 1
    decided = rows(engine, read(FILE))
    if options.show:
        show(decided)
    table(decided, same=False)
    table(decided, same=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
