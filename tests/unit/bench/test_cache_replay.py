"""Replaying a stream: every look-up is counted once, under the right name, whoever answers it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from bench.cache_plot import Panel, svg
from bench.cache_replay import (
    Course,
    Reply,
    Scored,
    by_cosine,
    ceiling,
    cosine_curve,
    from_served,
    replay,
    replay_decider,
    reply_curve,
    tally,
)
from bench.cache_report import Result, Times, judge, markdown, near_misses, panels
from bench.cache_streams import Stream, from_file
from bench.gatelab.families import Question
from bench.peers.vcache import VCache, fit, tau

ASKED = (
    ("Who wrote Faust?", "faust", 0.0),
    ("who wrote  Faust", "faust", 0.05),
    ("Who wrote Faust?", "faust", 0.0),
    ("Who wrote Fidelio?", "fidelio", 0.3),
    ("Who was it that wrote Fidelio?", "fidelio", 0.32),
    ("How old is the Sun?", "sun", 2.0),
)
"""Text, class and an angle: the cosine of two questions is that of the angle between them."""


def course() -> Course:
    questions = tuple(Question(text, cls, cls) for text, cls, _ in ASKED)
    angles = np.array([angle for *_, angle in ASKED])
    kinds = {text: "entity" for text, cls, _ in ASKED if cls == "fidelio"}
    stream = Stream("made", "by hand", questions, kinds=kinds)
    return Course(stream, np.stack((np.cos(angles), np.sin(angles)), axis=1).astype(np.float32))


class Nearest:
    """A service that serves the nearest stored question from .9 on, with all it has as candidates."""

    def __init__(self, on: Course) -> None:
        self._on = on
        self.stored: list[int] = []

    async def look_up(self, number: int) -> Reply:
        row = self._on.cosines[number]
        found = sorted(self.stored, key=lambda at: -row[at])
        candidates = tuple(Scored(at, float(row[at]), 1 - float(row[at]), float(row[at])) for at in found)
        served = found[0] if found and row[found[0]] >= 0.9 else None
        return Reply(served, "semantic", 1.0, candidates, "differs: 1 ≠ 2")

    async def store(self, number: int) -> None:
        self.stored.append(number)


async def test_what_a_service_serves_is_counted():
    one = course()
    looks = await replay(one, Nearest(one))
    counted = tally(looks)
    # The third is an exact repeat of the first. Fidelio is served Faust's answer, twice.
    assert (counted.look_ups, counted.again, counted.again_hits, counted.again_wrong) == (5, 1, 1, 0)
    assert (counted.right, counted.wrong, counted.repeats) == (1, 2, 2)
    assert counted.recall == 0.5
    assert counted.wrong_share == 0.4
    assert 0.4 < counted.wrong_upper < 1
    assert counted.kinds == {"entity": 2}
    assert counted.met == {"entity": 2}


async def test_a_rule_and_a_service_that_follows_it_agree():
    one = course()
    by_service = await replay(one, Nearest(one))
    by_rule = replay_decider(one, by_cosine(0.9))
    told = from_served(one, [look.reply.served for look in by_service])
    served = [look.reply.served for look in by_service]
    assert [look.reply.served for look in by_rule] == served
    assert tally(by_rule) == tally(told) == tally(by_service)
    assert served == [None, 0, 0, 0, 0, None]


def test_a_miss_stores_and_a_hit_does_not():
    one = course()
    served = [look.reply.served for look in replay_decider(one, by_cosine(0.96))]
    assert served == [None, 0, 0, None, 3, None]


async def test_curves_rise_and_hold_the_ceiling():
    one = course()
    looks = await replay(one, Nearest(one))
    ours = reply_curve(one, looks)
    assert ours[0].coverage == 0
    assert [point.cut for point in ours] == sorted(point.cut for point in ours)
    assert ours[-1].wrong == pytest.approx(0.4)
    assert ceiling(ours).recall == 0.5
    cosine = cosine_curve(one, [0.999, 0.96, 0.9, 0.7])
    assert ceiling(cosine).recall == 1.0
    assert ceiling(cosine).cut == 0.96
    assert ceiling([]).recall == 0.0


async def test_a_vetoed_candidate_is_on_no_curve():
    one = course()

    class Vetoes(Nearest):
        async def look_up(self, number: int) -> Reply:
            found = (await super().look_up(number)).candidates
            return Reply(None, candidates=tuple(Scored(c.stored, c.similarity, 1.0, 0.0) for c in found))

    assert reply_curve(one, await replay(one, Vetoes(one)))[-1].coverage == 0


async def test_the_report_tells_missed_marks_and_absent_peers():
    one = course()
    looks = await replay(one, Nearest(one))
    curves = {"ours": reply_curve(one, looks), "cosine": cosine_curve(one, [0.9])}
    ends = {name: ceiling(curve) for name, curve in curves.items()}
    deciders = {"ours": looks, "cosine 0.9": replay_decider(one, by_cosine(0.9))}
    result = Result(one, deciders, curves, ends, {"ours": Times([2.0], [1.0])}, [1.0] * len(one), 0)
    marks = judge([result])
    assert [mark.held for mark in marks] == [False, False]
    text = markdown([result], {"GPTCache": "not to be had here: no network"}, ["2 cores"], marks)
    assert "| ours | 3 | 2 = 40.00 % |" in text
    assert "not to be had here: no network" in text
    assert "| **entity** | 2 / 2 | 2 / 2 |" in text
    assert "differs 1" in text or "missed" in text
    assert near_misses([result], "ours")[1] == {"entity": 2}
    picture = ElementTree.fromstring(svg(panels([result])))
    assert picture.tag.endswith("svg")


def test_names_in_the_picture_are_text():
    picture = svg([Panel("<a> & b", {"x<y": [(0.0, 0.1), (0.02, 0.2)]}, {"p": (0.5, 0.9)}, 0.5)])
    titles = [node.text for node in ElementTree.fromstring(picture).iter() if node.text]
    assert "<a> & b" in titles


def test_a_stream_of_ones_own(tmp_path):
    file = tmp_path / "mine.jsonl"
    rows = [{"q": "a?", "cls": 1}, {"q": "b?", "cls": 2, "set": "s", "kind": "unit"}]
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    stream = from_file(file, 10)
    assert [question.cls for question in stream.questions] == ["1", "2"]
    assert stream.kind(stream.questions[1], stream.questions[0]) == "unit"
    assert len(from_file(file, 1).questions) == 1
    for wrong in ("no JSON", '{"q": "a"}', '{"q": 3, "cls": 1}', "[]"):
        file.write_text(wrong)
        with pytest.raises(ValueError, match="line 1"):
            from_file(file, 10)


def test_vcache_learns_before_it_serves():
    policy = VCache(0.05)
    near = [(0, 0.95)]
    assert policy.decide(1, near) is None
    for number in range(30):
        assert policy.learn(number, 0, 0.95, True) is False
        assert policy.learn(number, 0, 0.75, False) is True
    served = [policy.decide(number, near) for number in range(200)]
    assert served.count(0) > 20
    # What it knows to be wrong it serves as often as its user allows, no more: that is its bound.
    assert sum(policy.decide(number, [(0, 0.75)]) is not None for number in range(400)) < 400 * 0.09
    assert policy.decide(0, []) is None


def test_vcache_explores_less_the_nearer_and_the_more_it_may_err():
    seen = [(0.0, False), (1.0, True), *[(0.9, True)] * 20, *[(0.7, False)] * 20]
    assert tau(seen, 0.95, 0.02) < tau(seen, 0.85, 0.02) < tau(seen, 0.7, 0.02) <= 1
    assert tau(seen, 0.95, 0.05) < tau(seen, 0.95, 0.01)
    threshold, steepness, variance = fit(
        np.array([s for s, _ in seen]), np.array([float(y) for _, y in seen])
    )
    assert 0.7 < threshold < 0.9
    assert steepness > 0
    assert 0 < variance < 0.05
