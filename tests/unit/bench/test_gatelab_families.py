"""The question families: read, deterministic, labelled as they are built, and two sets that share nothing."""

from __future__ import annotations

import re

import pytest

from bench.gatelab.families import (
    TEST,
    TRAIN,
    Concept,
    Maker,
    difference,
    frames,
    is_near_name,
    names,
    read,
    read_all,
)


@pytest.fixture(scope="module")
def train():
    return read_all(TRAIN)


@pytest.fixture(scope="module")
def test():
    return read_all(TEST)


def test_the_two_sets_share_no_family_no_frame_and_no_name(train, test):
    assert not set(train) & set(test)
    assert not frames(train.values()) & frames(test.values())
    assert not names(train.values()) & names(test.values())


def test_they_share_no_appended_phrase(train, test):
    one, other = ({phrase for f in some.values() for _, phrase in f.twists} for some in (train, test))
    assert not one & other


def test_there_are_many_of_many_domains(train, test):
    assert len(train) >= 100
    assert len(test) >= 50
    assert len({family.domain for family in train.values()}) >= 20
    assert len({family.domain for family in test.values()}) >= 15


def test_every_hole_is_filled(train, test):
    for families in (train, test):
        maker = Maker(families, 5)
        for name, family in families.items():
            for intent in range(len(family.intents)):
                for _ in range(3):
                    text = maker.word(maker.concept(name, intent), rough=False)
                    assert not re.search(r"[{}~|@]|  ", text), text


def test_equal_seeds_give_equal_streams(train):
    one, other = (Maker(train, 3).stream(300, dense=True) for _ in range(2))
    assert one == other
    assert one != Maker(train, 4).stream(300, dense=True)


def test_no_text_stands_for_two_classes(train, test):
    for families in (train, test):
        classes: dict[str, str] = {}
        for question in Maker(families, 1).stream(3_000, dense=True):
            assert classes.setdefault(question.text.casefold().rstrip("?. "), question.cls) == question.cls


def test_a_dense_stream_has_near_misses_and_repeats(test):
    stream = Maker(test, 2).stream(2_000, dense=True)
    by_group: dict[str, set[str]] = {}
    for question in stream:
        by_group.setdefault(question.group, set()).add(question.cls)
    classes = {question.cls for question in stream}
    assert len(classes) < 0.6 * len(stream)
    assert sum(len(found) > 3 for found in by_group.values()) > 40


@pytest.mark.parametrize(
    ("intent", "values", "intent2", "values2", "kind"),
    [
        (0, ("Lyon", "Rome"), 0, ("Lyon", "Rome"), "same"),
        (0, ("Lyon", "Rome"), 0, ("Rome", "Lyon"), "same"),
        (1, ("Lyon", "Rome"), 1, ("Rome", "Lyon"), "role"),
        (1, ("Lyon", "Rome"), 1, ("Lyon", "Tokyo"), "name"),
        (1, ("Lyon", "Rome"), 1, ("Paris", "Tokyo"), "several"),
        (0, ("Lyon", "Rome"), 4, ("Lyon", "Rome"), "time"),
        (1, ("Lyon", "Rome"), 4, ("Paris", "Rome"), "several"),
    ],
)
def test_differences_are_named_by_how_they_are_made(train, intent, values, intent2, values2, kind):
    def concept(at: int, filled: tuple[str, str]) -> Concept:
        name = "train_families/distance"
        return Concept(name, at, tuple(zip("xy", filled, strict=True)), train[name].intents[at].symmetric)

    assert difference(concept(intent, values), concept(intent2, values2), train) == kind


def test_names_alike_are_told_from_others():
    assert is_near_name("Niger", "Nigeria")
    assert is_near_name("Portland, Maine", "Portland, Oregon")
    assert not is_near_name("Tokyo", "Lisbon")


def test_a_near_concept_differs_in_one_thing_or_not_at_all(train):
    maker = Maker(train, 9)
    several = 0
    for name in train:
        one = maker.concept(name)
        several += difference(one, maker.near(one), train) == "several"
    assert several <= len(train) // 20


def test_a_line_of_no_format_is_refused(tmp_path):
    file = tmp_path / "bad.txt"
    file.write_text("F a; b; x=int:1..2\nwhat is this\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        read(file)
