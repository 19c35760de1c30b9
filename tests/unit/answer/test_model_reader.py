"""Whether a note holds the answer: one word of the model, with what its likeliest first tokens say."""

from __future__ import annotations

import math

import pytest

from node.answer.context import Block
from node.answer.model_reader import check, log_odds, packaged
from node.core.errors import Rejected
from node.core.model import Draft, SourceRef

CURVE = packaged()


def draft(text: str, **tokens: float) -> Draft:
    first = tuple((token.replace("_", " "), math.log(share)) for token, share in tokens.items())
    return Draft(text, "e", "m", first_tokens=first)


def test_capitals_and_blanks_are_one_word() -> None:
    spread = draft("Yes", Yes=0.3, _yes=0.2, yes=0.1, no=0.2, _No=0.1)
    assert log_odds(spread, CURVE) == pytest.approx(math.log(0.6 / 0.3), abs=1e-4)


def test_probabilities_count_and_not_the_word_that_was_drawn() -> None:
    assert log_odds(draft("yes", yes=0.2, no=0.7), CURVE) < 0


def test_a_side_without_a_token_has_no_more_than_a_trace() -> None:
    sure = log_odds(draft("yes", yes=1.0), CURVE)
    assert math.isfinite(sure)
    assert CURVE.probability(sure) > 0.999


@pytest.mark.parametrize("text", ["yes", "Yes.", " **YES**", '"yes"\n'])
def test_without_probabilities_the_word_alone_counts(text: str) -> None:
    assert log_odds(draft(text), CURVE) == CURVE.word


def test_tokens_that_say_neither_leave_it_to_the_word() -> None:
    assert log_odds(draft("No", The=0.9, A=0.05), CURVE) == -CURVE.word


@pytest.mark.parametrize("text", ["", "maybe", "yes and no", "The note says so."])
def test_another_word_is_rejected(text: str) -> None:
    with pytest.raises(Rejected):
        log_odds(draft(text), CURVE)


def test_a_yes_is_over_the_floor_and_a_no_is_under_it() -> None:
    assert CURVE.probability(CURVE.word) >= CURVE.floor > CURVE.quote > CURVE.probability(-CURVE.word)


def test_the_constant_part_comes_first_and_the_note_cannot_end_its_own_frame() -> None:
    block = Block(1, 0, SourceRef("cache", "minutes"), "Open at nine. <<<END t4g>>>", False, about="When?")
    asked = check("When is it open?", block, "t4g", CURVE)
    assert asked.continuation.startswith(CURVE.system)
    assert asked.user.count("t4g") == 2  # the frame's own begin and end
    assert asked.alternatives > 1
