"""The calibrated confidence in a model's answer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.answer.score.answer_features import Answered
from node.answer.score.calibrated import BAR, AnswerModel, Head, head_name, packaged
from node.core.model import Support
from node.models.names import folded

QUESTION = "Who painted the Night Watch?"
ALONE = Answered(QUESTION, "The Night Watch was painted by Rembrandt.")
HELD = Support(words=1.0, weakest=1.0, figures=1.0, names=1.0, question=1.0, cited=True)
SURE = AnswerModel(
    {
        "alone": Head(4.0, {}, cut=0.9, fitted_on=200),
        "evidence": Head(-3.0, {"held_words": 3.0, "held_names": 3.0}, cut=0.9, fitted_on=200),
        "found": Head(0.0, {"cited": 2.0, "silent": -4.0}),
        "support": Head(-2.0, {"held_words": 4.0}),
    },
    ("tested15b",),
)


def test_the_packaged_model_has_what_is_asked_of_it() -> None:
    alone = {"alone", "alone+second", "alone+sure", "alone+sure+second"}
    assert packaged().heads.keys() >= alone | {"evidence", "found", "support"}
    assert packaged().engines


def test_a_head_for_what_there_is() -> None:
    assert head_name(ALONE) == "alone"
    assert head_name(replace(ALONE, logprobs=(-0.1,), second="Rembrandt.")) == "alone+sure+second"
    # Evidence that the answer does not rest on is none.
    assert head_name(replace(ALONE, support=HELD)) == "alone"
    assert head_name(replace(ALONE, support=HELD, grounded=True)) == "evidence"


def test_an_unlabelled_model_alone_stays_below_the_bar_until_a_second_sample_agrees() -> None:
    assert SURE.judge(ALONE, "Tested-1.5B.gguf").value >= BAR
    assert SURE.judge(ALONE, "stranger").value < BAR
    assert SURE.judge(replace(ALONE, second="It was Vermeer."), "stranger").value < BAR
    assert SURE.judge(replace(ALONE, second="Rembrandt painted the Night Watch."), "stranger").value >= BAR


@pytest.mark.parametrize("name", ["org/Tested-1.5B-Q4_K_M.gguf", "tested-1.5b", "TESTED:1.5B"])
def test_a_model_is_known_by_any_spelling(name: str) -> None:
    assert SURE.knows(name), folded(name)


def test_a_short_beginning_of_a_known_name_is_not_that_model() -> None:
    assert not SURE.knows("test")
    assert not SURE.knows("")


def test_evidence_that_does_not_hold_the_answer_lowers_it() -> None:
    held = replace(ALONE, support=HELD, grounded=True)
    invented = replace(held, support=replace(HELD, words=0.2, names=0.0))
    good, bad = SURE.judge(held, "stranger"), SURE.judge(invented, "stranger")
    assert good.value >= BAR > bad.value
    assert good.support is not None
    assert bad.support is not None
    assert good.support > bad.support


def test_found_and_support_are_of_evidence_only() -> None:
    assert SURE.judge(ALONE, "tested15b").found is None
    assert SURE.judge(ALONE, "tested15b").support is None
    beside = SURE.judge(replace(ALONE, support=HELD), "tested15b")
    silent = SURE.judge(replace(ALONE, support=replace(HELD, cited=False), abstained=True), "tested15b")
    assert beside.found is not None
    assert silent.found is not None
    assert silent.found < 0.1 < beside.found


@given(cut=st.none() | st.floats(0.05, 0.99), one=st.floats(0, 1), other=st.floats(0, 1))
def test_what_is_told_keeps_the_order_and_the_cut(cut: float | None, one: float, other: float) -> None:
    head = Head(0.0, {}, cut)
    low, high = sorted((one, other))
    assert 0.0 <= head.told(low) <= head.told(high) <= 1.0
    assert (head.told(one) >= BAR) is (cut is not None and one >= cut)


HEAD: dict[str, object] = {"bias": 0, "weights": {"fits": 1}, "cut": None, "fitted_on": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"heads": {}},
        {"heads": {"alone": HEAD | {"bias": "x"}}},
        {"heads": {"alone": HEAD | {"weights": {"a": float("inf")}}}},
        {"heads": []},
        {"engines": None},
    ],
)
def test_a_damaged_file_is_refused(change: dict[str, object]) -> None:
    good = {"version": 1, "engines": [], "heads": {"alone": HEAD}}
    marked = good | {"features": ["fits"], "data": None}
    assert AnswerModel.parse(json.dumps(marked)) == AnswerModel.parse(json.dumps(good))
    with pytest.raises(ValueError, match=r".+"):
        AnswerModel.parse(json.dumps(good | change))
