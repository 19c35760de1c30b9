"""Whether an entry is about what is asked: cosines of the right embedder with words, else words alone."""

from __future__ import annotations

import pytest

from node.answer.evidence.relevance import Rule, packaged
from node.core.normalise import normalise
from node.models.embedders.local import MiniLm, installed_files


@pytest.fixture(scope="module")
def engine() -> MiniLm:
    return MiniLm.open(installed_files(), threads=1)


RULE = Rule("ab" * 32, weight=0.5, floor=0.4, coverage_floor=0.6)


@pytest.mark.parametrize(
    ("cosine", "coverage", "relevance"),
    [(0.4, 0.0, 0.4), (0.39, 0.0, None), (0.3, 0.2, 0.4), (-1.0, 1.0, 0.5), (-1.0, 0.5, None)],
)
def test_the_sum_of_likeness_and_words(cosine: float, coverage: float, relevance: float | None) -> None:
    assert RULE.score(cosine, coverage, RULE.embedder) == relevance


def test_cosines_of_another_embedder_are_not_looked_at() -> None:
    assert RULE.score(0.99, 0.5, "cd" * 32) is None
    assert RULE.score(-0.99, 0.6, "cd" * 32) == 0.6


def test_without_a_vector_words_alone_decide() -> None:
    assert RULE.score(None, 0.59, RULE.embedder) is None
    assert RULE.score(None, 0.6, RULE.embedder) == 0.6


def test_the_packaged_rule_belongs_to_the_embedder_that_comes_with_the_node() -> None:
    rule = packaged()
    assert len(rule.embedder) == 64
    assert rule.score(1.0, 0.0, rule.embedder) is not None
    assert rule.score(0.0, 0.0, rule.embedder) is None


def test_one_far_note_says_nothing_and_many_that_are_near_say_whose_question_it_is() -> None:
    rule = packaged()
    assert not rule.concerns([])
    assert not rule.concerns([(0.3, 0.3)])
    assert rule.concerns([(0.5, 0.5)] * 5)
    assert rule.concerns([(0.5, 0.5)] * 3 + [(0.3, 0.3)] * 4)
    assert not RULE.concerns([(0.9, 0.9)] * 5)  # it was not fitted for that


@pytest.mark.parametrize(
    ("question", "is_theirs"),
    [
        ("can i smoke in the yard", True),
        ("do you have an oscilloscope in the workshop", True),
        ("when does the club meet", True),
        ("can i freeze cooked rice", False),
        ("is there life on Mars", False),
        ("who painted the mona lisa", False),
    ],
)
def test_a_questions_own_words_say_whether_it_is_asked_of_a_place(
    engine: MiniLm, question: str, is_theirs: bool
) -> None:
    [vector] = engine.embed([normalise(question)])
    assert packaged().concerns([(0.5, 0.45)] * 3, vector) is is_theirs
    assert not packaged().concerns([], vector)
