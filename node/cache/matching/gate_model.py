"""The gate's model: trees over the numbers of a candidate, and how often such a candidate is wrong.

A model is one readable JSON file: the names of its numbers in order, the digest of the embedder that its
cosines come from, trees, and for each kind of pair (``stake``) a curve of steps ``[score, p, u]``: from that
score on, the probability of a right answer and the one-sided 95 % upper limit of a wrong one.

    score = cosine_weight * cosine + sum of one leaf of each tree

The ``first`` trees read the pair and the cosines around it; the others read besides how the first scores of
its neighbours stand to its own (``neighbours.contest``).

It is made by ``python -m bench.gatelab.train``, which says how. Promises: pure and total; ``p`` never falls
and ``u`` never rises with the score; ``u`` is 1 below a curve's first step, below the cut-off, and for
numbers that are not finite or a cosine below what was trained on. Must not know: records, routes, settings.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import msgspec

from node.cache.matching import measure, neighbours
from node.cache.matching.features import COMPARISON, NAME, SCOPE, TIME, UNIT
from node.cache.matching.neighbours import Near
from node.cache.matching.token import CODE, NUMBER, SYMBOL
from node.cache.matching.trees import Forest, Tree

VERSION = 1
WRONG_RATE = 0.01
"""Wrong answers among all look-ups that are borne unless somebody says otherwise."""
FIRST_NAMES = measure.NAMES + neighbours.NAMES
NAMES = FIRST_NAMES + neighbours.CONTEST
AT = {name: index for index, name in enumerate(NAMES)}
_HIGH = tuple(AT[f"alone_{kind}_high"] for kind in (NUMBER, SYMBOL, UNIT, NAME, CODE, TIME))
_ORDER = (AT["turned"], AT["inverted"], AT["role_from_to"])
_HARD = tuple(
    tuple(AT[f"alone_{kind}_{end}"] for kind in ("hard", COMPARISON, SCOPE)) for end in ("low", "high")
)
STAKES = ("value", "asked", "order", "same", "added", "other")


def stake(numbers: Sequence[float]) -> str:
    """The kind of question that a pair puts, from its numbers: what u is calibrated by.

    In this order: ``value`` figures, units, names, times unmatched; ``asked`` another thing asked, a
    negation, an opposite; ``order`` words in another order or role; ``same`` no content unmatched;
    ``added`` content on one side only; ``other`` content on both sides.
    """
    if any(numbers[at] for at in _HIGH):
        return "value"
    if numbers[AT["opposite"]] or numbers[AT["negations"]] or numbers[AT["asks_differ"]] > 1:
        return "asked"
    if any(numbers[at] for at in _ORDER):
        return "order"
    hard = [sum(numbers[at] for at in places) for places in _HARD]
    if not hard[1]:
        return "same"
    return "other" if hard[0] else "added"


@dataclass(frozen=True, slots=True)
class Estimate:
    """``p`` of being right, ``u`` the upper limit of being wrong, ``score`` and ``kind`` for explaining.
    ``u`` is 1 below the cut-off."""

    p: float
    u: float
    score: float
    kind: str


Curve = tuple[tuple[float, float, float], ...]


class GateModel(msgspec.Struct, frozen=True, dict=True):
    """See the module. ``embedder`` is the digest of the weights that cosines must come from."""

    cosine_weight: float
    first: tuple[Tree, ...]
    trees: tuple[Tree, ...]
    curves: dict[str, Curve]
    cutoffs: tuple[tuple[float, float], ...]
    embedder: str
    cosine_low: float
    version: int = VERSION
    numbers: tuple[str, ...] = NAMES

    @classmethod
    def parse(cls, text: str) -> GateModel:
        """A model from its file's text. Raises ``ValueError`` for another version or other numbers than this
        code makes."""
        model = msgspec.json.decode(text, type=cls)
        if model.version != VERSION or model.numbers != NAMES:
            raise ValueError("the gate's model is of another version: train again")
        return model

    def dump(self) -> str:
        """The file's text: one tree and one curve a line."""
        head = ("version", "embedder", "numbers", "cosine_weight", "cosine_low", "cutoffs")
        lines = [f'"{name}": {json.dumps(getattr(self, name))}' for name in head]
        curves = ",\n".join(f"{json.dumps(kind)}: {json.dumps(steps)}" for kind, steps in self.curves.items())
        lines += [f'"curves": {{\n{curves}\n}}']
        for name, trees in (("first", self.first), ("trees", self.trees)):
            packed = (json.dumps(msgspec.to_builtins(tree), separators=(",", ":")) for tree in trees)
            lines.append(f'"{name}": [\n' + ",\n".join(packed) + "\n]")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @cached_property
    def _first_forest(self) -> Forest:
        return Forest(self.first)

    @cached_property
    def _forest(self) -> Forest:
        return Forest(self.trees)

    def first_scores(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """The scores of pairs before their neighbours' scores are known (numbers in the order of
        ``FIRST_NAMES``)."""
        return self._sums(self._first_forest, rows)

    def scores(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """The scores of candidates (numbers in the order of ``NAMES``)."""
        return self._sums(self._forest, rows)

    def _sums(self, forest: Forest, rows: Sequence[Sequence[float]]) -> list[float]:
        cosines = (self.cosine_weight * row[AT["cosine"]] for row in rows)
        return [near + float(more) for near, more in zip(cosines, forest.sums(rows), strict=True)]

    def limit(self, kind: str, score: float) -> tuple[float, float]:
        """p and u of a score."""
        curve = self.curves.get(kind, ())
        at = bisect_right([step[0] for step in curve], score) - 1
        return (curve[at][1], curve[at][2]) if at >= 0 else (0.0, 1.0)

    def cutoff(self, wrong_rate: float) -> float:
        """The least score at which wrong answers stay within ``wrong_rate`` of all look-ups on every
        calibration stream; infinite below the least rate that was calibrated."""
        return next((score for rate, score in reversed(self.cutoffs) if rate <= wrong_rate), math.inf)

    def estimates(self, rows: Sequence[Sequence[float]], wrong_rate: float = WRONG_RATE) -> list[Estimate]:
        """What is to be thought of candidates with these numbers (in the order of ``NAMES``)."""
        return [
            self._estimate(row, score, wrong_rate) for row, score in zip(rows, self.scores(rows), strict=True)
        ]

    def _estimate(self, numbers: Sequence[float], score: float, wrong_rate: float) -> Estimate:
        kind = stake(numbers)
        if not all(map(math.isfinite, numbers)) or numbers[AT["cosine"]] < self.cosine_low:
            return Estimate(0.0, 1.0, -math.inf, kind)
        p, u = self.limit(kind, score)
        return Estimate(p, u if score >= self.cutoff(wrong_rate) else 1.0, score, kind)

    def estimate_all(
        self,
        pairs: Sequence[Sequence[float]],
        near: Sequence[Near],
        vetoed: Sequence[bool],
        wrong_rate: float = WRONG_RATE,
    ) -> list[Estimate]:
        """What is to be thought of each of a look-up's nearest stored questions, given what ``measure`` says
        of each and whether a veto stands against it."""
        rows = [[*pair, *beside] for pair, beside in zip(pairs, neighbours.crowd(near), strict=True)]
        contested = neighbours.contest(near, self.first_scores(rows), vetoed)
        return self.estimates(
            [[*row, *beside] for row, beside in zip(rows, contested, strict=True)], wrong_rate
        )


@cache
def packaged() -> GateModel:
    """The model that is shipped."""
    return GateModel.parse((files("node.cache.matching") / "gate_model.json").read_text(encoding="utf-8"))
