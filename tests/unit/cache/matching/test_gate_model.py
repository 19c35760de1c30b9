"""The gate's model: numbers are symmetric and finite, scores add up, limits fall, the file comes back."""

from __future__ import annotations

import math

import pytest

from node.cache.matching.gate_model import (
    AT,
    NAMES,
    STAKES,
    WRONG_RATE,
    Estimate,
    GateModel,
    packaged,
    stake,
)
from node.cache.matching.measure import NAMES as PAIR
from node.cache.matching.measure import measure
from node.cache.matching.neighbours import CONTEST, SIZE_MAX, Near, contest, crowd
from node.cache.matching.neighbours import NAMES as CROWD
from node.cache.matching.trees import Tree
from node.models.embedders.local import DIGEST

PAIRS = (
    ("How do I boil 2 eggs?", "How do I boil 12 eggs?"),
    ("trains from Paris to Lyon", "trains from Lyon to Paris"),
    ("Who wrote Dracula?", "by whom was Dracula written"),
    ("Is Jupiter bigger than Saturn?", "is Saturn smaller than Jupiter"),
    ("", "?"),
    ("Was kostet ein Brot?", "How much is a loaf of bread?"),
    ("x" * 5_000, "y" * 5_000),
)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_numbers_are_finite_symmetric_and_in_order(one: str, other: str) -> None:
    numbers = measure(one, other, 0.9)
    assert len(numbers) == len(PAIR)
    assert all(map(math.isfinite, numbers))
    assert numbers == pytest.approx(measure(other, one, 0.9))
    assert stake(numbers) in STAKES


def test_what_is_at_stake() -> None:
    def kind(one: str, other: str) -> str:
        return stake(measure(one, other, 0.9))

    assert kind("How do I boil 2 eggs?", "How do I boil 12 eggs?") == "value"
    assert kind("trains from Paris to Lyon", "trains from Lyon to Paris") == "order"
    assert kind("Which foods are safe for dogs?", "Which foods are unsafe for dogs?") == "asked"
    assert kind("How do I reset my router?", "how can I reset my router please") == "same"
    assert kind("How do I paint a fence?", "How do I paint a wooden fence?") == "added"


def test_neighbours_support_and_rival() -> None:
    near = [Near(0.95, "x"), Near(0.9, "y"), Near(0.8, "x")]
    first, second, third = (dict(zip(CROWD, row, strict=True)) for row in crowd(near))
    assert (first["crowd_support"], first["crowd_rivals"], first["crowd_answers"]) == (1.0, 1.0, 2.0)
    assert first["crowd_rival_margin"] == pytest.approx(0.05)
    assert first["crowd_support_near"] == 0.8
    assert second["crowd_rival_margin"] == pytest.approx(-0.05)
    assert [row["crowd_place"] for row in (first, second, third)] == [0.0, 1.0, 2.0]
    lone = dict(zip(CROWD, crowd([Near(0.9, "x")])[0], strict=True))
    assert (lone["crowd_size"], lone["crowd_rivals"], lone["crowd_support"]) == (1.0, 0.0, 0.0)


def test_a_contest_compares_first_scores() -> None:
    near = [Near(0.95, "x"), Near(0.9, "y"), Near(0.8, "x")]
    first, second, third = (
        dict(zip(CONTEST, row, strict=True)) for row in contest(near, [2.0, 5.0, 1.0], [False, True, False])
    )
    assert first["contest_rival"] == -3.0
    assert second["contest_rival"] == 3.0
    assert first["contest_support"] == 1.0
    assert (first["contest_rivals_open"], first["contest_rivals_vetoed"]) == (0.0, 1.0)
    assert third["contest_support_open"] == 1.0
    assert all(math.isfinite(value) for value in (*first.values(), *second.values(), *third.values()))


def _model(**changed: object) -> GateModel:
    tree = Tree((AT["veto"], AT["cosine"]), (0.5, 0.8), (1, -1), (-3, -2), (-1.0, 1.0, -4.0))
    curves = dict.fromkeys(STAKES, ((0.0, 0.5, 0.5), (3.0, 0.99, 0.02)))
    values = {
        "cosine_weight": 2.5,
        "first": (),
        "trees": (tree,),
        "curves": curves,
        "cutoffs": ((0.005, 3.2), (0.01, 1.0)),
        "embedder": "d" * 64,
        "cosine_low": 0.7,
    }
    return GateModel(**(values | changed))


def _numbers(cosine: float, veto: float = 0.0) -> list[float]:
    numbers = [0.0] * len(NAMES)
    numbers[AT["cosine"]], numbers[AT["veto"]] = cosine, veto
    return numbers


def _estimate(model: GateModel, numbers: list[float], wrong_rate: float = WRONG_RATE) -> Estimate:
    [found] = model.estimates([numbers], wrong_rate)
    return found


def test_estimates() -> None:
    model = _model()
    assert model.scores([_numbers(0.9)]) == [pytest.approx(2.25 + 1)]
    assert _estimate(model, _numbers(0.9)).u == 0.02
    assert _estimate(model, _numbers(0.8)).u == 0.5
    assert _estimate(model, _numbers(0.5)).u == 1.0
    assert _estimate(model, _numbers(math.nan)).u == 1.0
    assert _estimate(_model(cutoffs=((0.01, 9.0),)), _numbers(0.9)).u == 1.0


def test_a_stricter_rate_has_a_higher_cut_off_and_none_below_the_least() -> None:
    model = _model()
    assert [model.cutoff(rate) for rate in (0.5, 0.01, 0.009, 0.005)] == [1.0, 1.0, 3.2, 3.2]
    assert math.isinf(model.cutoff(0.004))
    assert _estimate(model, _numbers(0.9), 0.01).u == 0.02
    assert _estimate(model, _numbers(0.85), 0.005).u == 1.0


def test_monotone_in_similarity() -> None:
    model = _model()
    found = [_estimate(model, _numbers(cosine)) for cosine in (0.7, 0.75, 0.8, 0.85, 0.95, 1.0)]
    assert [one.u for one in found] == sorted((one.u for one in found), reverse=True)
    assert [one.p for one in found] == sorted(one.p for one in found)


def test_the_file_comes_back_as_it_was_and_another_version_is_refused() -> None:
    text = _model().dump()
    assert GateModel.parse(text) == _model()
    with pytest.raises(ValueError, match="another version"):
        GateModel.parse(text.replace('"version": 1', '"version": 0'))


def test_the_shipped_model_is_tied_to_the_packaged_embedder() -> None:
    model = packaged()
    assert model.embedder == DIGEST
    assert set(model.curves) == set(STAKES)
    for curve in model.curves.values():
        assert [u for _, _, u in curve] == sorted((u for _, _, u in curve), reverse=True)
        assert [p for _, p, _ in curve] == sorted(p for _, p, _ in curve)
    assert model.estimate_all([], [], []) == []
    near = [Near(0.9, "x")] * SIZE_MAX
    pairs = [measure("price of gold", "gold price", 0.9)] * SIZE_MAX
    assert len(model.estimate_all(pairs, near, [False] * SIZE_MAX)) == SIZE_MAX
