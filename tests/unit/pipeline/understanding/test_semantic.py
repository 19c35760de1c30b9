"""The semantic head: what it says of a vector, what it refuses to read, and that the shipped one fits."""

from __future__ import annotations

import hashlib
import json
import math

import numpy as np
import pytest

from bench.routing_cases import QUESTIONS, read_cases
from bench.train_router import FOLDS, fit, fold_of, label_of, questions_digest, threshold, usable
from node.core.errors import CorruptState
from node.models.embedders.local import DIGEST, DIM, MODEL
from node.pipeline.understanding.semantic import FILE, SemanticHead, Verdict
from tests.each import each
from tests.unit.models.embedders.minilm import minilm

SMALL = {
    "version": 1,
    "model": "m@1",
    "digest": "d",
    "labels": ["a", "b", "c"],
    "weights": [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]],
    "bias": [0.0, 0.0, 0.5],
    "temperature": 0.5,
    "thresholds": {"a": 0.6, "b": None, "c": 0.99},
    "trained_on": {"file": "f", "questions": 3, "sha256": "s"},
}


def head(**changes: object) -> SemanticHead:
    return SemanticHead.read(json.dumps({**SMALL, **changes}))


def vector(*numbers: float) -> np.ndarray:
    return np.asarray(numbers, dtype=np.float32)


def test_the_verdict_is_the_softmax_at_the_temperature() -> None:
    shares = [math.exp(logit / 0.5) for logit in (0.6, 0.8, -0.9)]
    verdict = head().judge(vector(0.6, 0.8))
    assert verdict.label == "b"
    assert verdict.probability == pytest.approx(shares[1] / sum(shares), abs=1e-6)
    assert verdict.margin == pytest.approx((shares[1] - shares[0]) / sum(shares), abs=1e-6)


def test_a_label_is_given_from_its_threshold_on_and_never_without_one() -> None:
    assert head().decide(vector(1, 0)) == head().judge(vector(1, 0))
    bars = {"a": 0.999, "b": None, "c": 0.99}
    assert head(thresholds=bars).decide(vector(1, 0)) is None
    assert head().judge(vector(0, 1)).label == "b"
    assert head().decide(vector(0, 1)) is None


@each(
    ("name", "value"),
    [
        ("version", 2),
        ("labels", ["a", "b"]),
        ("labels", ["a", "b", "b"]),
        ("weights", [[1.0, 0.0], [0.0], [1.0, 1.0]]),
        ("weights", [[1.0, 0.0], [0.0, "x"], [1.0, 1.0]]),
        ("weights", [[1.0, 0.0], [0.0, math.nan], [1.0, 1.0]]),
        ("weights", [1.0, 0.0, 1.0]),
        ("bias", [0.0, 0.0]),
        ("bias", None),
        ("temperature", 0),
        ("temperature", math.inf),
        ("thresholds", {"a": 0.5}),
        ("thresholds", {"a": 1.5, "b": None, "c": None}),
        ("thresholds", {"a": math.nan, "b": None, "c": None}),
        ("thresholds", None),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(name: str, value: object) -> None:
    with pytest.raises(CorruptState):
        head(**{name: value})


def test_a_file_of_one_label_is_refused() -> None:
    with pytest.raises(CorruptState):
        head(labels=["a"], weights=[[1.0, 0.0]], bias=[0.0])


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", "null", "3"])
def test_a_file_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(CorruptState):
        SemanticHead.read(text)


def test_a_vector_of_another_size_is_refused() -> None:
    with pytest.raises(CorruptState, match="reads 2 numbers"):
        head().judge(vector(1, 0, 0))


# --- the shipped head ---------------------------------------------------------------------------------


def test_the_shipped_head_belongs_to_the_local_embedder() -> None:
    shipped = SemanticHead.load()
    assert (shipped.model, shipped.model_digest) == (MODEL, DIGEST)
    assert shipped.judge(np.full(DIM, DIM**-0.5, dtype=np.float32)).label in shipped.labels


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Will there be rain in Stuttgart on Tuesday afternoon?", "weather"),
        ("who won the game between the Raptors and the Magic", "nba-scores"),
        ("how many Swedish kronor are 90 US dollars", "fx-rates"),
        ("please explain how volcanoes come to be", "generative"),
    ],
)
def test_the_shipped_head_judges_unseen_questions(text: str, label: str) -> None:
    [embedded] = minilm().embed([text])
    assert embedded is not None
    verdict = SemanticHead.load().judge(embedded)
    assert isinstance(verdict, Verdict)
    assert verdict.label == label
    assert verdict.probability > 0.6


def test_the_shipped_head_was_trained_on_the_train_part_as_it_is_and_nothing_else() -> None:
    """Whoever changes the train part trains again: python -m bench.train_router."""
    text = (QUESTIONS.parents[1] / "node" / "pipeline" / "understanding" / FILE).read_text(encoding="utf-8")
    data = json.loads(text)
    train = usable(case for case in read_cases(QUESTIONS) if case.part == "train")
    assert data["trained_on"]["questions"] == len(train)
    assert data["trained_on"]["sha256"] == questions_digest(train)
    assert set(data["labels"]) == {label_of(case) for case in train}
    assert len(text) < 64 * 1024


# --- training -----------------------------------------------------------------------------------------


def test_training_finds_what_parts_the_classes_and_repeats_itself() -> None:
    angles = np.linspace(0, 2 * math.pi, 60, endpoint=False)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    wanted = (np.arange(60) // 20).astype(np.int64)
    weights, bias = fit(points, wanted, 3, 1e-4)
    said = (points @ weights.T + bias).argmax(axis=1)
    assert (said == wanted).mean() > 0.9
    again, _ = fit(points, wanted, 3, 1e-4)
    assert (again == weights).all()


def test_a_threshold_is_the_least_that_is_precise_enough() -> None:
    sure = np.linspace(0.5, 0.99, 50)
    shares = np.stack([sure, 1 - sure], axis=1)
    wanted = np.zeros(50, dtype=np.int64)
    wanted[:20] = 1  # the less sure verdicts are wrong
    bar = threshold(shares, wanted, 0)
    assert bar is not None
    assert sure[18] < bar <= sure[20]
    wanted[25::2] = 1
    assert threshold(shares, wanted, 0) is None


def test_the_questions_are_parted_by_their_hash_and_asked_once() -> None:
    seen = set()
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        whole = "\n".join((*row.get("history", ()), row["text"]))
        odd = hashlib.sha256(whole.encode()).digest()[0] % 2
        assert row["part"] == ("test" if odd else "train"), whole
        assert whole.casefold() not in seen, whole
        seen.add(whole.casefold())
    assert {fold_of(each) for each in seen} == set(range(FOLDS))
