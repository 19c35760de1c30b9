"""Tightening: a wrong label bites at once, right ones outweigh it, and nothing ever loosens the gate."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from node.cache.quality.estimate import upper_limit
from node.cache.quality.tighten import QUESTIONS_MAX, Tightening
from node.store.hit_label import AUDIT, RIGHT, UNDECIDED, WRONG, Hit, Label

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DEFAULT_MAX = 0.05


def label(
    verdict: str, cid: str = "a", *, score: float = 0.8, question: str = "q", near: tuple[str, ...] = ()
) -> Label:
    return Label(Hit(cid, "generative", "semantic", 0.9, score, 0.01, question, near), AUDIT, verdict, NOW)


def test_nothing_known_is_no_floor() -> None:
    tightening = Tightening()
    assert tightening.u_floor("a", 0.8) == 0.0
    tightening.add(label(RIGHT))
    tightening.add(label(UNDECIDED))
    assert tightening.u_floor("a", 0.8) == 0.0
    assert tightening.tightened == 0


def test_one_wrong_label_refuses_what_is_no_nearer() -> None:
    tightening = Tightening([label(WRONG)])
    assert tightening.u_floor("a", 0.8) == 1.0
    assert tightening.u_floor("a", 0.3) == 1.0
    assert tightening.u_floor("a", 0.95) == 0.0, "a nearer question is another matter"
    assert tightening.u_floor("b", 0.8) == 0.0
    assert tightening.tightened == 1


def test_right_labels_outweigh_a_wrong_one_in_the_end() -> None:
    tightening = Tightening([label(WRONG, question="bad")])
    needed = 0
    while tightening.u_floor("a", 0.8) > DEFAULT_MAX:
        needed += 1
        tightening.add(label(RIGHT, question=f"good {needed}"))
        assert needed < 200
    assert upper_limit(1, 1 + needed) <= DEFAULT_MAX < upper_limit(1, needed)


def test_one_question_counts_once_however_often_it_is_asked() -> None:
    tightening = Tightening([label(WRONG, question="bad")])
    for _ in range(500):
        tightening.add(label(RIGHT, question="good"))
    assert tightening.u_floor("a", 0.8) == upper_limit(1, 2)


def test_right_labels_of_nearer_questions_do_not_speak_for_farther_ones() -> None:
    tightening = Tightening([label(WRONG, score=0.7, question="bad")])
    for number in range(200):
        tightening.add(label(RIGHT, score=0.95, question=f"{number}"))
    assert tightening.u_floor("a", 0.7) == 1.0


def test_a_neighbour_is_held_back_only_where_the_place_is_surely_bad() -> None:
    tightening = Tightening([label(WRONG, near=("b",), question="q1")])
    assert 0.0 < tightening.u_floor("b", 0.8) <= DEFAULT_MAX + 1e-9
    tightening.add(label(WRONG, near=("b",), question="q2"))
    assert tightening.u_floor("b", 0.8) > DEFAULT_MAX
    for number in range(100):
        tightening.add(label(RIGHT, "b", question=f"good {number}"))
    assert tightening.u_floor("b", 0.8) < DEFAULT_MAX


def test_memory_is_bounded_and_records_without_a_wrong_label_go_first() -> None:
    tightening = Tightening(records_max=3)
    tightening.add(label(WRONG, "bad"))
    for number in range(10):
        tightening.add(label(RIGHT, f"good {number}"))
    assert tightening.u_floor("bad", 0.8) == 1.0
    for number in range(QUESTIONS_MAX + 50):
        tightening.add(label(WRONG, "bad", question=f"{number}"))
    assert tightening.u_floor("bad", 0.8) == 1.0
    tightening.forget("bad")
    assert tightening.u_floor("bad", 0.8) == 0.0


def test_memory_is_bounded_in_questions_too() -> None:
    tightening = Tightening(entries_max=40)
    tightening.add(label(WRONG, "bad", near=("beside",)))
    for number in range(200):
        tightening.add(label(RIGHT, f"good {number}", question=f"{number}"))
    assert tightening.u_floor("bad", 0.8) == 1.0
    assert tightening.tightened == 2
    for number in range(100):
        tightening.add(label(WRONG, "worse", question=f"{number}"))
    assert tightening.u_floor("bad", 0.8) == 0.0, "the longest known goes when all are bad"


labels = st.builds(
    label,
    st.sampled_from([RIGHT, WRONG, UNDECIDED]),
    st.sampled_from(["a", "b", "c"]),
    score=st.floats(0.0, 1.0),
    question=st.integers(0, 12).map(str),
    near=st.lists(st.sampled_from(["a", "b", "c"]), max_size=2).map(tuple),
)
candidates = st.tuples(st.sampled_from(["a", "b", "c"]), st.floats(0.0, 1.0))


@given(st.lists(labels, max_size=30), labels, candidates)
def test_more_wrong_labels_never_lower_and_more_right_ones_never_raise(
    known: list[Label], more: Label, candidate: tuple[str, float]
) -> None:
    tightening = Tightening(known)
    before = tightening.u_floor(*candidate)
    assert 0.0 <= before <= 1.0
    tightening.add(more)
    after = tightening.u_floor(*candidate)
    if more.verdict == WRONG:
        assert after >= before
    elif more.verdict == RIGHT:
        assert after <= before
    else:
        assert after == before


@given(st.lists(labels, max_size=30), candidates, st.floats(0.0, 1.0))
def test_a_greater_score_never_has_a_greater_floor(
    known: list[Label], candidate: tuple[str, float], other: float
) -> None:
    tightening = Tightening(known)
    cid, score = candidate
    low, high = sorted((score, other))
    assert tightening.u_floor(cid, high) <= tightening.u_floor(cid, low)


@given(st.lists(labels, max_size=20), candidates, st.permutations(range(20)))
def test_the_order_of_labels_does_not_matter(
    known: list[Label], candidate: tuple[str, float], order: list[int]
) -> None:
    shuffled = [known[place] for place in order if place < len(known)]
    assert Tightening(known).u_floor(*candidate) == Tightening(shuffled).u_floor(*candidate)


def test_scores_that_are_no_numbers_are_the_lowest() -> None:
    tightening = Tightening([label(WRONG, score=float("nan"))])
    assert tightening.u_floor("a", 0.5) == 0.0
    assert tightening.u_floor("a", float("nan")) == 1.0
