"""Which notes a question is offered: by their relevance, by their ranks, by words alone."""

import numpy as np

from bench.evidence import Asked, by_rank, by_words, fit_coverage, found, nearest_of, order

COSINES, COVERED = np.array([0.7, 0.3, 0.4]), np.array([0.0, 0.5, 0.9])
ASKED = Asked("w1-q1", "?", ("w1-f1",), ("w1-f1", "w1-f2", "s0"), COSINES, COVERED)


def test_a_rank_does_not_say_how_near_the_nearest_is() -> None:
    assert order(ASKED, weight=0.2, floor=0.5) == ["w1-f1", "s0"]
    assert by_rank(ASKED) == ["s0", "w1-f1", "w1-f2"]
    assert found([ASKED], by_rank) == (0.0, 1.0, 1.0)


def test_what_is_far_is_neither_offered_nor_quoted() -> None:
    assert by_words(ASKED, fit_coverage([ASKED])) == ["s0"]
    assert nearest_of(ASKED, weight=0.8) == ("w1-f1", 0.7)
