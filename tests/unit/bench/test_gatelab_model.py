"""Training and calibrating the gate: limits are right, curves fall, the cut-off holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.gatelab.streams import Row
from bench.gatelab.train import Rows, best_of, contested, curve, cutoff, scores, upper
from node.cache.crowd import CONTEST
from node.cache.gate_model import AT, FIRST_NAMES, NAMES, GateModel, Tree


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
    one_by_one = [model.score(row.tolist()) for row in rows]
    assert one_by_one == pytest.approx([1.5 - 1, 1.8 + 1, 1.8 - 4])
    assert scores((tree,), rows, 2.0) == pytest.approx(one_by_one, abs=1e-5)


def test_a_curve_falls_and_holds_what_is_true():
    rng = np.random.default_rng(1)
    scored = rng.normal(size=5_000)
    truth = 1 / (1 + np.exp(2 * scored + 1))
    steps = curve(scored, rng.random(5_000) < truth)
    assert [u for _, _, u in steps] == sorted((u for _, _, u in steps), reverse=True)
    assert [p for _, p, _ in steps] == sorted(p for _, p, _ in steps)
    assert [score for score, _, _ in steps] == sorted(score for score, _, _ in steps)
    held = [u >= 1 / (1 + math.exp(2 * score + 1)) for score, _, u in steps[5:-3]]
    assert sum(held) > 0.9 * len(held)
    assert all(u >= 1 - p for _, p, u in steps)


def test_few_rows_are_one_window_and_none_no_curve():
    few = curve(np.array([3.0, 2.0, 1.0]), np.array([False, False, True]))
    assert {u for _, _, u in few} == {round(upper(1, 3), 5)}
    assert curve(np.array([]), np.array([], dtype=bool)) == ()


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
        Row("s", 0, "g", "a", "c", 0.8, (), False, "k", "y"),
        Row("s", 1, "g", "a", "d", 0.9, (), True, "k", "x"),
    )
    found = contested(Rows(rows, np.zeros((3, len(FIRST_NAMES)), np.float32)), np.array([3.0, 1.0, 9.0]))
    lead = found.numbers[:, len(FIRST_NAMES) + CONTEST.index("contest_rival")]
    assert lead.tolist() == [2.0, -2.0, 8.0]
    assert found.numbers.shape == (3, len(NAMES))
