"""Trains and calibrates the gate's model, and writes it as one readable file.

``python -m bench.gatelab.train [--data FOLDER] [--out FILE]``; needs lightgbm (not one of this
project's packages: ``pip install lightgbm`` into an environment of its own).

Method. Rows are the nearest stored candidates that the streams of the part ``train`` bring up
(``streams``). Every source counts by its weight below, whatever its size. Trees are boosted on
``measure.NAMES``, monotone in the cosine; ``COSINE_WEIGHT`` times the cosine is added to their sum.

Calibration is cross-fitted: a row's score comes from trees that did not see its family (``FOLDS`` folds), or,
for text2sql, banking and medical questions, not its whole source. A score is a log-odds, so for each kind of
pair the log-odds of a wrong one are fitted as a line in the score over all rows from ``FIT_FROM`` on; ``u``
is the one-sided 95 % upper limit of that line at the score, and at least the share of wrong ones that was
observed among the ``WINDOW`` rows around it or anywhere above. Pairs that no stream brought up are trained
on, no more.
A cut-off is the lowest score at which on every calibration stream the upper limit of wrong serves among
look-ups is at most a rate of ``RATES``.

Promises: the same rows give the same file. Nothing of the part ``test`` is read.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.gatelab.streams import FOLDER, Row, Vectors, candidates, distinct, sources, texts_of
from node.cache.matching import measure as measuring
from node.cache.matching import neighbours as crowding
from node.cache.matching.gate import HARD_VETOES
from node.cache.matching.gate_model import AT, FIRST_NAMES, NAMES, STAKES, GateModel, stake
from node.cache.matching.measure import VETOES, measure
from node.cache.matching.neighbours import FLOOR, Near, contest
from node.cache.matching.trees import Forest, Tree
from node.models.embedders.local import DIGEST

WEIGHTS = {
    "families": 1.0,
    "families-dense": 3.0,
    "t2s": 0.6,
    "t2s-pairs": 0.3,
    "bank": 0.25,
    "mqp-pairs": 0.1,
}
LEFT_OUT_WHOLE = {"t2s": "t2s", "t2s-pairs": "t2s", "bank": "bank", "mqp-pairs": "mqp"}
MONOTONE = {
    "cosine": 1,
    "crowd_place": -1,
    "crowd_support": 1,
    "crowd_support_near": 1,
    "crowd_rivals": -1,
    "crowd_rival_margin": 1,
    "contest_rival": 1,
    "contest_support": 1,
}
FOLDS = 5
PROCESSES = 2
COSINE_WEIGHT = 8.0
RATES = (0.005, 0.01, 0.02)
"""Shares of wrong answers among look-ups that cut-offs are made for."""
FIT_FROM, FIT_TO, STEP = 8.0, 18.0, 0.1
"""Scores that limits are fitted from, made up to, and from limit to limit. Below them nothing is served."""
WINDOW = 300
"""Rows whose observed share of wrong ones no limit falls below."""
CONFIDENCE = 0.95
_DEVIATIONS = NormalDist().inv_cdf(CONFIDENCE)
_ROUNDS = 50
_RIDGE = 1e-3
"""Keeps the fit of a kind without wrong ones finite."""
PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.08,
    "num_leaves": 20,
    "min_data_in_leaf": 80,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "seed": 7,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
}
TREES = 200

Numbers = NDArray[np.float32]
Flags = NDArray[np.bool_]
Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Candidates with their numbers."""

    rows: tuple[Row, ...]
    numbers: Numbers

    @property
    def same(self) -> Flags:
        return np.array([row.same for row in self.rows], dtype=bool)

    def where(self, chosen: Flags) -> Rows:
        return Rows(
            tuple(row for row, take in zip(self.rows, chosen, strict=True) if take), self.numbers[chosen]
        )


def measured(rows: Sequence[Row], cache: Path | None = None) -> Rows:
    """The rows with their numbers; those of pairs are kept in ``cache``, which is only read if it is of the
    same pairs and code."""
    readers = sorted(Path(measuring.__file__).parent.glob("*.py"))
    names = ("tokens", "phrases", "words", "stem", "syntax", "features", "compare", "difference", "measure")
    code = hashlib.sha256(b"".join(file.read_bytes() for file in readers if file.stem in names))
    lines = (f"{r.asked}\t{r.stored}" for r in rows)
    key = hashlib.sha256("\n".join((code.hexdigest(), *lines)).encode()).hexdigest()
    numbers = None
    if cache is not None and cache.exists():
        with np.load(cache) as kept:
            numbers = kept["numbers"] if str(kept["key"]) == key else None
    if numbers is None:
        with ProcessPoolExecutor(PROCESSES) as pool:
            made = list(pool.map(_measure, rows, chunksize=250))
        numbers = np.array(made, np.float32).reshape(len(rows), len(measuring.NAMES))
        if cache is not None:
            np.savez(cache, key=np.array(key), numbers=numbers)
    around = np.array([row.crowd for row in rows], np.float32).reshape(len(rows), len(crowding.NAMES))
    return Rows(tuple(rows), np.concatenate([numbers, around], axis=1))


def _measure(row: Row) -> list[float]:
    return measure(row.asked, row.stored, row.cosine)


def load(part: str, data: Path | None, folder: Path = FOLDER) -> dict[str, Rows]:
    """All sources of a part, measured."""
    vectors = Vectors(folder)
    out = {}
    for source in sources(part, data):
        vectors.fill(texts_of(source))
        rows = candidates(source, vectors)
        out[source.name] = measured(rows, folder / f"pairs-{part}-{source.name}.npz")
    return out


def fold_of(group: str) -> int:
    return hashlib.sha256(b"fold" + group.encode()).digest()[0] % FOLDS


def weights_of(rows: Rows) -> Scores:
    """Each source weighs what ``WEIGHTS`` says, shared among its rows."""
    sizes: dict[str, int] = {}
    for row in rows.rows:
        sizes[row.source] = sizes.get(row.source, 0) + 1
    return np.array([10_000 * WEIGHTS.get(row.source, 0.0) / sizes[row.source] for row in rows.rows])


def contested(rows: Rows, first: Scores) -> Rows:
    """The rows with what the first scores of their look-up's other candidates say."""
    vetoed = ~not_vetoed(rows.numbers)
    together: dict[tuple[str, int], list[int]] = {}
    for index, row in enumerate(rows.rows):
        together.setdefault((row.source, row.look_up), []).append(index)
    added = np.zeros((len(rows.rows), len(crowding.CONTEST)), np.float32)
    for indices in together.values():
        near = [Near(rows.rows[index].cosine, rows.rows[index].answer) for index in indices]
        added[indices] = contest(near, [float(first[i]) for i in indices], [bool(vetoed[i]) for i in indices])
    return Rows(rows.rows, np.concatenate([rows.numbers[:, : len(FIRST_NAMES)], added], axis=1))


def fit(rows: Rows, parameters: Mapping[str, object] = PARAMETERS, trees: int = TREES) -> tuple[Tree, ...]:
    """Boosted trees on some rows."""
    import lightgbm

    monotone = [MONOTONE.get(name, 0) for name in NAMES[: rows.numbers.shape[1]]]
    data = lightgbm.Dataset(rows.numbers, rows.same.astype(int), weight=weights_of(rows))
    booster = lightgbm.train({**parameters, "monotone_constraints": monotone}, data, trees)
    return tuple(_tree(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"])


def _tree(root: Mapping[str, Any]) -> Tree:
    number: list[int] = []
    limit: list[float] = []
    left: list[int] = []
    right: list[int] = []
    leaf: list[float] = []

    def walk(node: Mapping[str, Any]) -> int:
        if "split_feature" not in node:
            leaf.append(round(float(node["leaf_value"]), 5))
            return -len(leaf)
        at = len(number)
        number.append(int(node["split_feature"]))
        limit.append(_short(float(node["threshold"])))
        left.append(0)
        right.append(0)
        left[at] = walk(node["left_child"])
        right[at] = walk(node["right_child"])
        return at

    walk(root)
    return Tree(tuple(number), tuple(limit), tuple(left), tuple(right), tuple(leaf))


_ROWS_AT_ONCE = 1_000


def _short(value: float) -> float:
    return 0.0 if abs(value) < 1e-9 else float(f"{value:.5g}")


def scores(trees: Sequence[Tree], numbers: Numbers, cosine_weight: float = COSINE_WEIGHT) -> Scores:
    """The scores of many pairs at once: the same as ``GateModel.scores``."""
    forest = Forest(trees)
    starts = range(0, len(numbers), _ROWS_AT_ONCE)
    parts = [forest.sums(numbers[start : start + _ROWS_AT_ONCE]) for start in starts]
    found: Scores = cosine_weight * numbers[:, AT["cosine"]].astype(np.float64)
    found += np.concatenate([np.zeros(0), *parts])
    return found


def joined(parts: Sequence[Rows]) -> Rows:
    return Rows(
        tuple(row for part in parts for row in part.rows), np.concatenate([part.numbers for part in parts])
    )


def cross_fitted(all_rows: Rows, fitted: Callable[[Rows], tuple[Tree, ...]] = fit) -> Scores:
    """A score for each row by trees that did not see its family or its whole source."""
    whole = np.array([LEFT_OUT_WHOLE.get(row.source, "") for row in all_rows.rows])
    folds = np.array([fold_of(row.group) for row in all_rows.rows])
    out = np.zeros(len(all_rows.rows))
    for source in sorted(set(whole) - {""}):
        trees = fitted(all_rows.where(whole != source))
        out[whole == source] = scores(trees, all_rows.numbers[whole == source])
    program = whole == ""
    for fold in range(FOLDS):
        held = program & (folds == fold)
        trees = fitted(all_rows.where(~held))
        out[held] = scores(trees, all_rows.numbers[held])
    return out


def upper(wrong: int, total: int, confidence: float = CONFIDENCE) -> float:
    """The one-sided Clopper-Pearson upper limit of a share."""
    if total == 0 or wrong >= total:
        return 1.0
    low, high = wrong / total, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _at_most(wrong, total, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def _at_most(wrong: int, total: int, share: float) -> float:
    """The probability of at most so many wrong ones."""
    if share <= 0.0:
        return 1.0
    if share >= 1.0:
        return 0.0
    logs = [
        math.lgamma(total + 1)
        - math.lgamma(k + 1)
        - math.lgamma(total - k + 1)
        + k * math.log(share)
        + (total - k) * math.log1p(-share)
        for k in range(wrong + 1)
    ]
    most = max(logs)
    return math.exp(most) * math.fsum(math.exp(log - most) for log in logs)


def not_vetoed(numbers: Numbers, vetoes: frozenset[str] = HARD_VETOES) -> Flags:
    hard = [index for index, name in enumerate(VETOES) if name in vetoes]
    return ~np.isin(numbers[:, AT["veto"]].astype(int), hard)


def curve(scored: Scores, wrong: Flags) -> tuple[tuple[float, float, float], ...]:
    """Steps (score, p, u) of one kind, the lowest score first, each true from its score on; see the module's
    method. p never falls and u never rises with the score."""
    order = np.argsort(-scored, kind="stable")
    ranked, bad = scored[order], np.concatenate([[0], np.cumsum(wrong[order])])
    line = _fitted(*((values[ranked >= FIT_FROM]) for values in (ranked, wrong[order].astype(float))))
    steps: list[tuple[float, float, float]] = []
    p, u = 1.0, 0.0
    for score in np.arange(FIT_TO, FIT_FROM - STEP / 2, -STEP):
        above = int(np.searchsorted(-ranked, -score, side="right"))
        high = min(len(ranked), max(above + WINDOW // 2, WINDOW))
        low = max(0, high - WINDOW)
        observed = float(bad[high] - bad[low]) / max(1, high - low)
        share, limit = line(float(score))
        p, u = min(p, 1 - share), max(u, limit, observed)
        steps.append((round(float(score), 4), round(p, 5), round(u, 5)))
    return tuple(reversed(steps))


def _fitted(scored: Scores, wrong: Scores) -> Callable[[float], tuple[float, float]]:
    """The share of wrong ones at a score and its upper limit, by logistic regression (Newton's method; the
    limit by the normal approximation in log-odds)."""
    if not len(scored):
        return lambda score: (1.0, 1.0)
    middle = float(scored.mean())
    factors = np.stack([np.ones(len(scored)), scored - middle], axis=1)
    line = np.zeros(2)
    for _ in range(_ROUNDS):
        share = _logistic(factors @ line)
        bends = factors.T @ (factors * (share * (1 - share))[:, None]) + _RIDGE * np.eye(2)
        line = line + np.linalg.solve(bends, factors.T @ (wrong - share) - _RIDGE * line)
    spread = np.linalg.inv(bends)

    def at(score: float) -> tuple[float, float]:
        factor = np.array([1.0, score - middle])
        odds = float(factor @ line)
        limit = odds + _DEVIATIONS * math.sqrt(float(factor @ spread @ factor))
        return float(_logistic(np.array(odds))), float(_logistic(np.array(limit)))

    return at


def _logistic(odds: Scores) -> Scores:
    clipped: Scores = np.clip(odds, -60.0, 60.0)
    return 1 / (1 + np.exp(-clipped))


def best_of(rows: Rows, scored: Scores, allowed: Flags) -> list[int]:
    """The index of the candidate with the best score for each look-up that has one."""
    best: dict[tuple[str, int], int] = {}
    for index, row in enumerate(rows.rows):
        key = (row.source, row.look_up)
        if allowed[index] and (key not in best or scored[index] > scored[best[key]]):
            best[key] = index
    return list(best.values())


def cutoff(
    rows: Rows, scored: Scores, allowed: Flags, look_ups: Mapping[str, int], rate: float
) -> dict[str, float]:
    """For each stream the lowest score at which the limit of wrong serves is at most ``rate``."""
    chosen = best_of(rows, scored, allowed)
    out = {}
    for source, total in look_ups.items():
        mine = sorted((i for i in chosen if rows.rows[i].source == source), key=lambda i: -scored[i])
        wrong, held = 0, math.inf
        for index in mine:
            wrong += not rows.rows[index].same
            if upper(wrong, total) > rate:
                break
            held = float(scored[index])
        out[source] = held
    return out


def main(arguments: Sequence[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="bench.gatelab.train", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with labelled questions")
    parser.add_argument("--out", type=Path, default=Path("node/cache/matching/gate_model.json"))
    options = parser.parse_args(arguments)
    begun = time.process_time()
    parts = load("train", options.data)
    look_ups = {
        source.name: len(distinct(source.questions))
        for source in sources("train", options.data)
        if not source.pairs
    }
    rows = joined(list(parts.values()))
    print(f"{len(rows.rows)} rows, measured after {time.process_time() - begun:.0f} s")
    model = trained(rows, look_ups)
    options.out.write_text(model.dump(), encoding="utf-8")
    print(
        f"{options.out}: {options.out.stat().st_size / 1000:.0f} kB, "
        f"{time.process_time() - begun:.0f} s of CPU"
    )
    return 0


def trained(rows: Rows, look_ups: Mapping[str, int]) -> GateModel:
    """The model of all rows, calibrated by cross-fitted scores."""
    second = contested(rows, cross_fitted(rows))
    first, trees = fit(rows), fit(second)
    return calibrated(second, cross_fitted(second), look_ups, first, trees)


def calibrated(
    rows: Rows,
    held_out: Scores,
    look_ups: Mapping[str, int],
    first: tuple[Tree, ...],
    trees: tuple[Tree, ...],
) -> GateModel:
    """The model of some trees with the curves and the cut-off of cross-fitted scores."""
    allowed = not_vetoed(rows.numbers)
    met = np.array([row.source in look_ups for row in rows.rows])
    kinds = np.array([stake(numbers) for numbers in rows.numbers.tolist()])
    wrong = ~rows.same
    curves = {}
    for kind in STAKES:
        mine = (kinds == kind) & allowed & met
        curves[kind] = curve(held_out[mine], wrong[mine])
    cutoffs = []
    for rate in RATES:
        limits = cutoff(rows, held_out, allowed, look_ups, rate)
        print(f"cut-offs for {rate:.3f}:", {name: round(value, 3) for name, value in limits.items()})
        highest = max(limits.values(), default=math.inf)
        if math.isfinite(highest):
            cutoffs.append((rate, highest))
    return GateModel(COSINE_WEIGHT, first, trees, curves, tuple(cutoffs), DIGEST, FLOOR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
