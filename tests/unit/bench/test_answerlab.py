"""What is learnt from labelled answers, on made-up numbers; and the committed data is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.answerlab import data
from bench.answerlab.fit import (
    HELD_MIN,
    PRIOR,
    SIGNS,
    Row,
    borne_out,
    cut_of,
    regression,
    rows_of,
    variants,
    without,
    worth,
)
from bench.answerlab.guess import asked, guess
from node.answer.score.answer_features import Answered
from node.answer.score.calibrated import AnswerModel, Head, packaged


def test_every_label_is_of_a_transcript_and_a_question() -> None:
    found = data.labelled()
    assert len(found) == len(data.labels()) > 0
    assert {one.id for one in found} <= asked().keys()
    shares = [data.is_held(item) for item in asked()]
    assert 0.4 < sum(shares) / len(shares) < 0.6


@pytest.mark.parametrize("line", ["a\tm\tfine\t", "a\tm\tright\t\na\tm\twrong\t"])
def test_labels_that_are_none_or_twice_are_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text(f"# a remark\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"labels\.tsv, line"):
        data.labels(path)


def test_transcripts_are_taken_in_without_what_is_not_needed(tmp_path: Path) -> None:
    raw: dict[str, Any] = {"id": "a", "q": "Who?", "s": 3.0, "first": {"text": "Ada.", "finish": "stop"}}
    raw["first"]["logprobs"] = [["Ada", -0.1234, -2.0], [".", -0.5]]
    source = tmp_path / "out.jsonl"
    source.write_text(json.dumps(raw) + "\n", encoding="utf-8")
    assert data.pack(source, "m", "tiny", tmp_path) == 1
    (tmp_path / "labels.tsv").write_text("a\tm\tright\t\n", encoding="utf-8")
    [one] = data.labelled(tmp_path)
    assert one.first == data.Said("Ada.", True, (-0.123, -0.5))
    assert (one.model, one.second, one.label) == ("tiny", None, "right")


def _said(text: str) -> Row:
    said = data.Said(text, True, (-0.1,))
    [row] = rows_of([data.Labelled("m", "a", "Who?", "m", said, data.Said("Ada."), (), "right")])
    return row


def test_a_transcript_is_judged_as_the_node_would_judge_it() -> None:
    assert _said("I don't know.").abstained
    row = _said("It was Ada Lovelace.")
    assert not row.abstained
    assert set(variants([row])) == {"alone", "alone+second", "alone+sure", "alone+sure+second"}
    assert not without(row, sure=False, second=True).said.logprobs


def test_weights_keep_their_side_and_follow_the_data() -> None:
    signal = np.linspace(0, 1, 200)
    right = (signal > 0.5).astype(float)
    line = regression(np.stack([signal, 1 - signal], axis=1), right, ("sure_mean", "sure_low"), 0.1)
    assert line[1] > 1
    assert line[2] == 0.0, "certainty never counts against an answer"
    assert SIGNS["sure_low"] > 0
    few = regression(np.ones((1, 1)), np.ones(1), ("agrees",), 100.0)
    assert few[1] == pytest.approx(PRIOR["agrees"], abs=0.05), "with little data what others published holds"


def test_the_cut_is_where_enough_are_right() -> None:
    probability = np.linspace(1, 0, 100)
    right = np.array([1.0] * 40 + [0.0] * 60)
    assert cut_of(probability, right, 0.95) == pytest.approx(probability[41], abs=1e-9)
    assert cut_of(probability, np.zeros(100), 0.95) is None
    assert cut_of(probability[:5], right[:5], 0.95) is None, "five answers choose nothing"


@pytest.mark.parametrize(
    ("right", "wrong", "stays"), [(HELD_MIN, 0, True), (HELD_MIN - 1, 0, False), (HELD_MIN, 9, False)]
)
def test_a_cut_that_the_kept_half_does_not_bear_out_is_taken_away(
    right: int, wrong: int, stays: bool
) -> None:
    sure = Head(5.0, {}, 0.9, 100)
    model = AnswerModel({"alone": sure, "evidence": sure}, ("tinymodel",))
    said = Answered("Who?", "Ada.")
    labels = ["right"] * right + ["wrong"] * wrong
    rows = [Row(str(i), said, it == "right", it, "tinymodel", True) for i, it in enumerate(labels)]
    # What was fitted on bears nothing out.
    rows += [Row(f"f{i}", said, True, "right", "tinymodel", False) for i in range(500)]
    left, taken = borne_out(model, rows)
    assert (left.heads["alone"].cut is not None) is stays
    assert left.heads["evidence"] == sure
    assert borne_out(model, [])[0].heads["alone"].cut is None, "nobody asked, nothing borne out"
    assert stays or (taken["alone"][0], taken["alone"][1].passed) == (0.9, right + wrong)


def test_what_the_figures_mean() -> None:
    found = worth(np.array([0.9, 0.9, 0.2, 0.1]), np.array([1.0, 0.0, 1.0, 0.0]), 0.8)
    assert (found.precision, found.coverage, found.auroc) == (0.5, 0.5, 0.625)
    assert found.brier_constant == 0.25


@pytest.mark.parametrize(
    ("text", "label"),
    [("It was Rembrandt.", "right"), ("Vermeer.", "wrong"), ("I don't know.", "honest"), ("Hm.", "wrong")],
)
def test_a_first_guess(text: str, label: str) -> None:
    assert guess({"must": ["rembrandt"], "wrong": ["vermeer"]}, text) == label
    assert guess({"must": []}, "It depends.") == "?"


def test_a_head_that_passes_the_bar_was_fitted_on_enough() -> None:
    for name, head in packaged().heads.items():
        assert head.cut is None or head.fitted_on >= 80, name
