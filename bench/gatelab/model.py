"""The gate's model: trees over a pair's numbers, and how often such a pair is wrong.

A model is one readable JSON file: the names of its numbers in order, the digest of the embedder that its
cosines come from, trees, and for each kind of pair (``measure.stake``) a curve of steps ``[score, p, u]``:
from that score on, the probability of a right answer and the one-sided 95 % upper limit of a wrong one.

    score = bias + cosine_weight * cosine + sum of one leaf of each tree

Promises: pure and total; ``p`` never falls and ``u`` never rises with the score; ``u`` is 1 below a curve's
first step and for numbers that are not finite or a cosine outside of what was trained on. Nothing but
Python. Must not know: records, routes, settings.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.gatelab.measure import AT, NAMES, VETOES, WordTable, measure, stake

VERSION = 1
HARD_VETOES = frozenset({"number", "unit", "negation", "time", "language", "joined", "length"})
"""First differences of today's gate that no score overrides."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes in a row. An inner node goes left where its number is at most its limit; a child below zero
    is the leaf ``-child - 1``."""

    number: tuple[int, ...]
    limit: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    leaf: tuple[float, ...]

    def value(self, numbers: Sequence[float]) -> float:
        node = 0 if self.number else -1
        while node >= 0:
            node = self.left[node] if numbers[self.number[node]] <= self.limit[node] else self.right[node]
        return self.leaf[-node - 1]


@dataclass(frozen=True, slots=True)
class Judgement:
    """``p`` of being right, ``u`` the upper limit of being wrong, ``code`` a stable word, ``reason`` for
    people, ``score`` and ``kind`` for explaining."""

    p: float
    u: float
    code: str
    reason: str
    score: float
    kind: str


@dataclass(frozen=True)
class GateModel:
    """See the module. ``vetoes`` are first differences that no score overrides."""

    bias: float
    cosine_weight: float
    trees: tuple[Tree, ...]
    curves: Mapping[str, tuple[tuple[float, float, float], ...]]
    cutoff: float
    digest: str
    cosine_low: float
    vetoes: frozenset[str] = HARD_VETOES

    @classmethod
    def read(cls, file: Path) -> GateModel:
        """Raises ``ValueError`` for another version or other numbers than this code makes."""
        raw = json.loads(file.read_text(encoding="utf-8"))
        if raw["version"] != VERSION or tuple(raw["numbers"]) != NAMES:
            raise ValueError(f"{file.name} is of another version: train again")
        trees = tuple(
            Tree(*(tuple(tree[key]) for key in ("n", "at", "l", "r", "v"))) for tree in raw["trees"]
        )
        curves = {kind: tuple(tuple(step) for step in curve) for kind, curve in raw["curves"].items()}
        return cls(
            raw["bias"],
            raw["cosine_weight"],
            trees,
            curves,
            raw["cutoff"],
            raw["embedder"],
            raw["cosine_low"],
            frozenset(raw["vetoes"]),
        )

    def write(self, file: Path) -> None:
        """One tree and one curve a line."""
        trees = [
            {"n": tree.number, "at": tree.limit, "l": tree.left, "r": tree.right, "v": tree.leaf}
            for tree in self.trees
        ]
        head = {
            "version": VERSION,
            "embedder": self.digest,
            "numbers": NAMES,
            "bias": self.bias,
            "cosine_weight": self.cosine_weight,
            "cosine_low": self.cosine_low,
            "cutoff": self.cutoff,
            "vetoes": sorted(self.vetoes),
        }
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        curves = ",\n".join(f"{json.dumps(kind)}: {json.dumps(steps)}" for kind, steps in self.curves.items())
        packed = ",\n".join(json.dumps(tree, separators=(",", ":")) for tree in trees)
        lines += [f'"curves": {{\n{curves}\n}}', f'"trees": [\n{packed}\n]']
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

    def score(self, numbers: Sequence[float]) -> float:
        return (
            self.bias
            + self.cosine_weight * numbers[AT["cosine"]]
            + math.fsum(tree.value(numbers) for tree in self.trees)
        )

    def limit(self, kind: str, score: float) -> tuple[float, float]:
        """p and u of a score."""
        curve = self.curves.get(kind, ())
        at = bisect_right([step[0] for step in curve], score) - 1
        return (curve[at][1], curve[at][2]) if at >= 0 else (0.0, 1.0)

    def judge_numbers(self, numbers: Sequence[float]) -> Judgement:
        """The judgement of a pair already measured."""
        kind = stake(numbers)
        if not all(map(math.isfinite, numbers)) or numbers[AT["cosine"]] < self.cosine_low:
            return Judgement(0.0, 1.0, "out_of_range", "unlike anything it was trained on", -math.inf, kind)
        score = self.score(numbers)
        p, u = self.limit(kind, score)
        veto = VETOES[int(numbers[AT["veto"]])]
        if veto in self.vetoes:
            return Judgement(0.0, 1.0, f"veto_{veto}", f"differs in {veto}", score, kind)
        if score < self.cutoff:
            return Judgement(p, 1.0, "below_cutoff", "too little speaks for the same question", score, kind)
        return Judgement(
            p, u, "gate_passed", f"same question as far as can be told, u = {u:.3f}", score, kind
        )

    def judge(
        self, query: str, candidate: str, similarity: float, margin: float | None, table: WordTable
    ) -> Judgement:
        """Whether the answer to ``candidate`` answers ``query``."""
        return self.judge_numbers(measure(query, candidate, similarity, margin, table))
