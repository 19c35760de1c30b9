"""The gate's model: numbers are symmetric and bounded, limits are right, the file comes back as it was."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.gatelab.measure import AT, EMPTY, MARGIN_NONE, NAMES, STAKES, WordTable, measure, stake
from bench.gatelab.model import GateModel, Tree
from bench.gatelab.streams import Row
from bench.gatelab.train import Rows, best_of, curve, cutoff, scores, upper

PAIRS = (
    ("How do I boil 2 eggs?", "How do I boil 12 eggs?"),
    ("trains from Paris to Lyon", "trains from Lyon to Paris"),
    ("Who wrote Dracula?", "by whom was Dracula written"),
    ("Is Jupiter bigger than Saturn?", "is Saturn smaller than Jupiter"),
    ("", "?"),
    ("Was kostet ein Brot?", "How much is a loaf of bread?"),
    ("x" * 5_000, "y" * 5_000),
)
TABLE = WordTable(
    {"eggs": 0.5, "boil": 0.6},
    {"eggs": 0, "boil": 1, "cook": 2},
    np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32),
)


@pytest.mark.parametrize("table", [EMPTY, TABLE])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_numbers_are_finite_symmetric_and_in_order(one, other, table):
    numbers = measure(one, other, 0.9, 0.1, table)
    assert len(numbers) == len(NAMES)
    assert all(map(math.isfinite, numbers))
    assert numbers == pytest.approx(measure(other, one, 0.9, 0.1, table))
    assert stake(numbers) in STAKES


def test_what_is_at_stake():
    def kind(one: str, other: str) -> str:
        return stake(measure(one, other, 0.9, None, EMPTY))

    assert kind("How do I boil 2 eggs?", "How do I boil 12 eggs?") == "value"
    assert kind("trains from Paris to Lyon", "trains from Lyon to Paris") == "order"
    assert kind("Which foods are safe for dogs?", "Which foods are unsafe for dogs?") == "asked"
    assert kind("How do I reset my router?", "how can I reset my router please") == "same"
    assert kind("How do I paint a fence?", "How do I paint a wooden fence?") == "added"


def test_a_missing_margin_is_marked():
    assert measure("a cat", "a dog", 0.8, None, EMPTY)[AT["margin"]] == MARGIN_NONE


def test_near_words_count_as_near():
    near = measure("how to boil eggs", "how to cook eggs", 0.9, None, TABLE)[AT["worst_near"]]
    assert near == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("wrong", "total", "limit"), [(0, 100, 0.02951), (3, 300, 0.02563), (10, 10, 1.0), (0, 0, 1.0)]
)
def test_upper_limits_are_clopper_and_pearsons(wrong, total, limit):
    assert upper(wrong, total) == pytest.approx(limit, abs=2e-4)


def _model(**changed) -> GateModel:
    tree = Tree((AT["veto"], AT["cosine"]), (0.5, 0.8), (1, -1), (-3, -2), (-1.0, 1.0, -4.0))
    values = {
        "bias": 0.5,
        "cosine_weight": 2.0,
        "trees": (tree,),
        "curves": dict.fromkeys(STAKES, ((0.0, 0.5, 0.5), (3.0, 0.99, 0.02))),
        "cutoff": 1.0,
        "digest": "d" * 64,
        "cosine_low": 0.7,
    }
    return GateModel(**(values | changed))


def _numbers(cosine: float, veto: float = 0.0) -> list[float]:
    numbers = [0.0] * len(NAMES)
    numbers[AT["cosine"]], numbers[AT["veto"]] = cosine, veto
    return numbers


def test_a_score_is_the_sum_of_its_parts_one_by_one_and_all_at_once():
    model = _model()
    rows = [_numbers(0.75), _numbers(0.9), _numbers(0.9, 3.0)]
    one_by_one = [model.score(row) for row in rows]
    assert one_by_one == pytest.approx([0.5 + 1.5 - 1, 0.5 + 1.8 + 1, 0.5 + 1.8 - 4])
    together = scores(model.trees, np.array(rows, np.float32), 2.0) + 0.5
    assert together == pytest.approx(one_by_one, abs=1e-5)


def test_judgements():
    model = _model()
    assert model.judge_numbers(_numbers(0.9)).code == "gate_passed"
    assert model.judge_numbers(_numbers(0.9)).u == 0.02
    assert model.judge_numbers(_numbers(0.75)).u == 0.5
    assert model.judge_numbers(_numbers(0.5)).code == "out_of_range"
    assert model.judge_numbers(_numbers(math.nan)).u == 1.0
    assert _model(cutoff=9.0).judge_numbers(_numbers(0.9)).code == "below_cutoff"


def test_no_score_overrides_a_veto():
    model = _model(bias=100.0)
    judged = model.judge("proposal 12 result", "proposal 13 result", 0.99, None, EMPTY)
    assert (judged.code, judged.u) == ("veto_number", 1.0)


def test_monotone_in_similarity():
    model = _model()
    judged = [model.judge_numbers(_numbers(cosine)) for cosine in (0.7, 0.75, 0.8, 0.85, 0.95, 1.0)]
    assert [one.u for one in judged] == sorted((one.u for one in judged), reverse=True)
    assert [one.p for one in judged] == sorted(one.p for one in judged)


def test_the_file_comes_back_as_it_was_and_another_version_is_refused(tmp_path):
    file = tmp_path / "model.json"
    _model().write(file)
    assert GateModel.read(file) == _model()
    file.write_text(file.read_text().replace('"version": 1', '"version": 0'))
    with pytest.raises(ValueError, match="another version"):
        GateModel.read(file)


def test_a_curve_falls_and_its_worst_source_counts():
    rng = np.random.default_rng(1)
    scored = np.sort(rng.normal(size=2_000))[::-1]
    wrong = rng.random(2_000) < 1 / (1 + np.exp(2 * scored + 1))
    source = ["one"] * 2_000
    steps = curve(scored, wrong, source)
    assert [u for _, _, u in steps] == sorted((u for _, _, u in steps), reverse=True)
    assert [score for score, _, _ in steps] == sorted(score for score, _, _ in steps)
    mixed = ["bad" if is_wrong or index % 5 == 0 else "good" for index, is_wrong in enumerate(wrong)]
    assert all(u2 >= u for (_, _, u), (_, _, u2) in zip(steps, curve(scored, wrong, mixed), strict=True))


def _rows(*same: bool) -> Rows:
    rows = tuple(Row("s", at, "g", "a", "b", 0.9, None, right, "k") for at, right in enumerate(same))
    return Rows(rows, np.zeros((len(same), len(NAMES)), np.float32))


def test_the_cut_off_is_where_the_limit_still_holds():
    rows = _rows(*[True] * 50, False, *[True] * 5, *[False] * 20)
    scored = np.arange(len(rows.rows), 0, -1).astype(float)
    allowed = np.ones(len(rows.rows), dtype=bool)
    # With 600 look-ups one wrong serve is within 1 % (0.79 %), two are not (1.05 %).
    assert cutoff(rows, scored, allowed, {"s": 600}) == {"s": scored[55]}
    assert cutoff(rows, scored, allowed, {"s": 100}) == {"s": math.inf}


def test_the_best_candidate_of_a_look_up_counts():
    rows = Rows(
        tuple(Row("s", 0, "g", "a", "b", 0.9, None, right, "k") for right in (False, True, False)),
        np.zeros((3, len(NAMES)), np.float32),
    )
    assert best_of(rows, np.array([1.0, 2.0, 3.0]), np.array([True, True, False])) == [1]
