"""What is measured about a model's answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.answer.score.answer_features import Answered, agrees, features, sums_hold
from node.core.model import Support

SUPPORT = Support(words=0.9, weakest=0.8, figures=1.0, names=1.0, question=0.7, cited=True)


def test_what_has_no_source_is_absent() -> None:
    bare = features(Answered("Who wrote Hamlet?", "William Shakespeare."))
    assert not {"sure_mean", "agrees", "held_words"} & bare.keys()
    full = features(
        Answered("Who wrote Hamlet?", "William Shakespeare.", (-0.1, -0.2), "Shakespeare.", support=SUPPORT)
    )
    assert {"sure_mean", "sure_low", "agrees", "same_words", "held_words", "silent"} <= full.keys()


@given(
    question=st.text(max_size=80),
    text=st.text(max_size=200),
    logprobs=st.lists(st.floats(-1e6, 0), max_size=20),
    second=st.none() | st.text(max_size=80),
)
def test_every_feature_is_a_share(
    question: str, text: str, logprobs: list[float], second: str | None
) -> None:
    found = features(Answered(question, text, tuple(logprobs), second, support=SUPPORT))
    assert all(0.0 <= value <= 1.0 for value in found.values())


def test_a_surer_model_is_surer() -> None:
    sure, unsure = (
        features(Answered("Who?", "Ada.", logprobs))["sure_mean"]
        for logprobs in ((-0.01, -0.02), (-0.4, -0.9))
    )
    assert sure > unsure


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("17 + 25 = 42.", True),
        ("17 * 25 = 425", True),
        ("17 × 25 = 435", False),
        ("10 / 4 = 2.5", True),
        ("1 / 0 = 0", False),
        ("1,000 - 1 = 999", True),
        ("2 + 3 + 4 = 9", True),
        ("2 + 3 = 5 + 4", True),
        ("It has 12 legs.", True),
    ],
)
def test_sums_are_computed_again(text: str, holds: bool) -> None:
    assert sums_hold(text) is holds


def test_a_second_sample_agrees_or_contradicts() -> None:
    question = "Who painted the Night Watch?"
    first = "The Night Watch was painted by Rembrandt."
    assert agrees(Answered(question, first, second="Rembrandt painted the Night Watch."))
    other = features(Answered(question, first, second="The Night Watch was painted by Vermeer."))
    assert other["contradicts"] == 1.0
    assert not agrees(Answered(question, first))
