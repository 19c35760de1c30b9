"""Streams and replay: halves never share a group, nearest candidates are right, every serve is counted."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from bench.gatelab import evaluate, streams
from bench.gatelab.families import Question
from bench.gatelab.streams import Source, candidates, distinct, group_of, half, nearest, sources
from node.cache.matching.neighbours import NAMES


@pytest.fixture
def data(tmp_path):
    def write(name: str, rows: list[dict[str, object]]) -> None:
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    flights = [{"q": f"q{i} {j}", "cls": f"atis:{i}:x={j}"} for i in range(40) for j in (1, 2)]
    write("stream_t2s.jsonl.gz", flights)
    for name in ("bank", "qqp"):
        write(f"stream_{name}.jsonl.gz", [{"q": f"{name} {i}", "cls": f"{name}:c{i}"} for i in range(40)])
    for name in ("mqp", "t2s"):
        rows = [{"a": f"a{i}", "b": f"b{i}", "same": i % 2, "kind": "k", "group": f"g{i}"} for i in range(40)]
        write(f"pairs_{name}.jsonl.gz", rows)
    return tmp_path


def _groups(part: str, data) -> set[str]:
    out = set()
    for source in sources(part, data):
        asked = [*source.questions, *(question for pair in source.pairs for question in pair[:2])]
        out |= {question.group for question in asked}
    return out


def test_no_group_is_in_both_parts(data, monkeypatch):
    monkeypatch.setattr(streams, "SIZES", {"train": (200, 200), "test": (200, 200), "trap": (100, 100)})
    train, test = _groups("train", data), _groups("test", data)
    assert not train & test
    assert len(train) > 100
    assert len(test) > 60


def test_nothing_of_quora_is_trained_on(data, monkeypatch):
    monkeypatch.setattr(streams, "SIZES", {"train": (50, 50), "test": (50, 50), "trap": (50, 50)})
    assert not any(group.startswith("qqp") for group in _groups("train", data))
    assert any(group.startswith("qqp") for group in _groups("test", data))


def test_groups_and_halves():
    assert group_of("t2s", "atis:73:city=x|day=2") == "atis:73"
    assert group_of("bank", "bank:card_lost") == "card_lost"
    assert {half(f"g{i}") for i in range(50)} == {"tune", "report"}


def test_nearest_above_the_floor_only():
    held = np.array([[1, 0], [0, 1], [0.8, 0.6], [0.96, 0.28]], np.float32)
    found = nearest(held, [4, 5, 6, 7], np.array([1, 0], np.float32))
    assert [at for at, _ in found] == [4, 7, 6]


def test_exact_repeats_are_left_out():
    asked = [Question(text, "c", "g") for text in ("Who is it?", "Who  is it", "who is it")]
    assert [question.text for question in distinct(asked)] == ["Who is it?", "who is it"]


class _Vectors(streams.Vectors):
    """Vectors by the first letter; no embedder."""

    def __init__(self) -> None:
        pass

    def __getitem__(self, text: str) -> streams.Matrix:
        angle = 0.2 * (ord(text[0].lower()) - ord("a"))
        return np.array([np.cos(angle), np.sin(angle)], np.float32)


CLASSES = {"a one": "1", "a uno": "1", "b two": "2", "a ein": "1", "z far": "3", "b due": "2"}
QUESTIONS = tuple(Question(text, cls, cls) for text, cls in CLASSES.items())


def test_rows_are_labelled_and_know_what_stands_around():
    rows = candidates(Source("s", "train", QUESTIONS), _Vectors())
    first = [row for row in rows if row.asked == "a uno"]
    assert [(row.stored, row.same, row.answer) for row in first] == [("a one", True, "1")]
    margin = NAMES.index("crowd_rival_margin")
    for row in rows:
        assert row.same == (row.answer == CLASSES[row.asked])
        assert len(row.crowd) == len(NAMES)
    disputed = [row for row in rows if row.asked == "b due"]
    assert {row.crowd[margin] > 0 for row in disputed} == {True, False}
    assert not any(row.asked == "z far" for row in rows)


def test_a_replay_counts_serves_and_stores_misses_only():
    stream = evaluate.Stream(Source("s", "test", QUESTIONS), _Vectors())
    never = stream.replay(lambda found: None)
    assert (never.look_ups, never.repeats, never.right, never.wrong) == (6, 3, 0, 0)
    always = stream.replay(lambda found: 0 if found else None)
    # "b two" is served "a one" and therefore never stored: so is "b due".
    assert (always.right, always.wrong) == (2, 2)
    strict = stream.replay(evaluate.by_cosine(0.999))
    assert (strict.right, strict.wrong, strict.recall) == (3, 0, 1.0)
