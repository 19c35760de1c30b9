"""Training and calibrating the gate: limits are right, curves fall, the cut-off holds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from bench.gatelab.streams import Row
from bench.gatelab.train import Rows, best_of, contested, curve, cutoff, scores, upper
from node.cache.matching.gate_model import AT, FIRST_NAMES, NAMES, GateModel
from node.cache.matching.neighbours import CONTEST
from node.cache.matching.trees import Tree


@pytest.mark.parametrize(
    ("wrong", "total", "limit"), [(0, 100, 0.02951), (3, 300, 0.02563), (10, 10, 1.0), (0, 0, 1.0)]
)
def test_upper_limits_are_clopper_and_pearsons(wrong, total, limit):
    assert upper(wrong, total) == pytest.approx(limit, abs=2e-4)


def test_many_are_scored_at_once_as_one_by_one():
    tree = Tree((AT["veto"], AT["cosine"]), (0.5, 0.8), (1, -1), (-3, -2), (-1.0, 1.0, -4.0))
    model = GateModel(2.0, (), (tree,), {}, (), "d" * 64, 0.7)
    rows = np.zeros((3, len(NAMES)), np.float32)
    rows[:, AT["cosine"]], rows[2, AT["veto"]] = (0.75, 0.9, 0.9), 3
    one_by_one = [model.scores([row.tolist()])[0] for row in rows]
    assert one_by_one == pytest.approx([1.5 - 1, 1.8 + 1, 1.8 - 4])
    assert scores((tree,), rows, 2.0) == pytest.approx(one_by_one, abs=1e-5)


def _even(score: float) -> float:
    """A share of wrong ones that falls with the score."""
    return 1 / (1 + math.exp(score - 8))


def test_a_curve_falls_and_holds_what_is_true() -> None:
    rng = np.random.default_rng(1)
    scored = rng.normal(11, 2, size=5_000)
    truth = np.array([_even(score) for score in scored])
    steps = curve(scored, rng.random(5_000) < truth)
    assert [u for _, _, u in steps] == sorted((u for _, _, u in steps), reverse=True)
    assert [p for _, p, _ in steps] == sorted(p for _, p, _ in steps)
    assert [score for score, _, _ in steps] == sorted(score for score, _, _ in steps)
    assert all(u >= 0.8 * _even(score) - 1e-5 for score, _, u in steps)
    assert all(u >= 1 - p for _, p, u in steps)
    served = next(score for score, _, u in steps if u <= 0.05)
    assert served < 11.5  # where 3 % are wrong: the limit is not wide


def test_a_curve_holds_nineteen_times_of_twenty() -> None:
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scored = rng.normal(10.5, 1.5, size=1_000)
        wrong = rng.random(1_000) < [_even(score) for score in scored]
        limit = {score: u for score, _, u in curve(scored, wrong)}
        held.append(limit[11.0] >= _even(11.0))
    assert sum(held) >= 0.9 * len(held)


def test_no_limit_falls_below_what_was_seen_around_or_above():
    scored = np.linspace(16, 8, 4_000)
    wrong = np.zeros(4_000, dtype=bool)
    wrong[:300:10] = True  # one in ten of the best: no line says so
    wrong[3_000::3] = True
    assert min(u for _, _, u in curve(scored, wrong)) >= 0.1


def test_few_rows_and_none_claim_nothing():
    few = curve(np.array([9.5, 9.0, 8.5]), np.array([False, False, True]))
    assert min(u for score, _, u in few if score <= 9.5) > 0.3
    assert {u for _, _, u in curve(np.array([]), np.array([], dtype=bool))} == {1.0}


def _rows(*same: bool) -> Rows:
    rows = tuple(Row("s", at, "g", "a", "b", 0.9, (), right, "k") for at, right in enumerate(same))
    return Rows(rows, np.zeros((len(same), len(NAMES)), np.float32))


def test_the_cut_off_is_where_the_limit_still_holds():
    rows = _rows(*[True] * 50, False, *[True] * 5, *[False] * 20)
    scored = np.arange(len(rows.rows), 0, -1).astype(float)
    allowed = np.ones(len(rows.rows), dtype=bool)
    # With 600 look-ups one wrong serve is within 1 % (0.79 %), two are not (1.05 %).
    assert cutoff(rows, scored, allowed, {"s": 600}, 0.01) == {"s": scored[55]}
    assert cutoff(rows, scored, allowed, {"s": 100}, 0.01) == {"s": math.inf}


def test_the_best_candidate_of_a_look_up_counts():
    rows = Rows(
        tuple(Row("s", 0, "g", "a", "b", 0.9, (), right, "k") for right in (False, True, False)),
        np.zeros((3, len(NAMES)), np.float32),
    )
    assert best_of(rows, np.array([1.0, 2.0, 3.0]), np.array([True, True, False])) == [1]


def test_what_a_look_up_contests_is_its_own():
    row = Row("s", 0, "g", "a", "b", 0.9, (), True, "k", "x")
    rows = (
        row,
        replace(row, stored="c", cosine=0.8, same=False, answer="y"),
        replace(row, look_up=1, stored="d"),
    )
    found = contested(Rows(rows, np.zeros((3, len(FIRST_NAMES)), np.float32)), np.array([3.0, 1.0, 9.0]))
    lead = found.numbers[:, len(FIRST_NAMES) + CONTEST.index("contest_rival")]
    assert lead.tolist() == [2.0, -2.0, 8.0]
    assert found.numbers.shape == (3, len(NAMES))
