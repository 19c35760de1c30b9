"""Replay: lines that are and are not questions, plain cosine, verdicts, and the report."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from node.core.errors import BadInput
from node.core.ports import Vector
from node.pipeline import replay
from tests.each import each


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


SYSTEM = {"role": "system", "content": "x"}
USER = {"role": "user", "content": "Who wrote Hamlet?"}
SAID = {"role": "assistant", "content": "Shakespeare"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (line(query="What is a CID?"), replay.Line("What is a CID?")),
        (line(query="q", answer="a", **{"class": "c"}), replay.Line("q", "a", "c")),
        (line(query="q", id=7, other=[1]), replay.Line("q", None, "7")),
        (line(query="q", answer=""), replay.Line("q")),
        (line(query="q", time=0), replay.Line("q", time=datetime(1970, 1, 1, tzinfo=UTC))),
        (
            line(query="q", time="2026-01-01T00:00:00Z"),
            replay.Line("q", time=datetime(2026, 1, 1, tzinfo=UTC)),
        ),
        (line(query="q", time="2026-01-01"), replay.Line("q", time=datetime(2026, 1, 1, tzinfo=UTC))),
        (line(messages=[USER]), replay.Line("Who wrote Hamlet?")),
        (line(messages=[SYSTEM, USER, SAID]), replay.Line(USER["content"], "Shakespeare")),
        (line(messages=[USER], answer="S."), replay.Line(USER["content"], "S.")),
    ],
)
def test_lines_that_are_questions(raw: bytes, expected: replay.Line) -> None:
    assert replay.parse(raw) == expected


@each(
    ("raw", "reason"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[1]", "is not an object"),
        (b"{}", 'no "query"'),
        (line(query=" ?? "), 'no "query"'),
        (line(query=5), 'no "query"'),
        (line(query="q", answer=5), '"answer" that is not text'),
        (line(query="q", id=[1]), "neither text nor a whole number"),
        (line(query="q", time="soon"), '"time" that is neither'),
        (line(query="q", time=1e30), '"time" that is neither'),
        (line(query="q", time=True), '"time" that is neither'),
        (line(query="q", time="9999-12-31"), "after 2200"),
        (line(query="q", time="0001-01-01T00:00:00+14:00"), "before 1970"),
        (line(query="q", time=-1), "before 1970"),
        (line(messages=[USER, SAID, USER]), "several turns"),
        (line(messages=[SAID]), "several turns"),
        (line(messages="x"), "not a list"),
        (line(messages=[{"role": "user", "content": [1]}]), "not text"),
        (b'{"query": "' + b"x" * replay.LINE_BYTES_MAX + b'"}', "longer than"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_lines_that_are_not(raw: bytes, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        replay.parse(raw)


def vector(angle: float) -> Vector:
    return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


def test_plain_cosine_serves_the_nearest_from_its_threshold_on() -> None:
    cache = replay.CosineCache(0.9)
    for text, label, angle in [
        ("a", "1", 0.0),
        ("a", "1", 0.0),  # exact
        ("b", "1", 0.1),  # near, right
        ("c", "2", 0.2),  # near, wrong
        ("d", "3", 1.5),  # far
        ("e", "3", 1.4),  # near to d
    ]:
        cache.ask(text, replay.Line(text, label=label), vector(angle))
    cache.ask("f", replay.Line("f", answer="Paris"), None)
    cache.ask("f", replay.Line("f", answer="Paris"), None)
    tally = cache.tally
    assert (tally.lookups, tally.hits) == (8, 5)
    assert dict(tally.found) == {"exact": 2, "semantic": 3}
    assert dict(tally.judged) == {"right": 4, "wrong": 1}
    assert tally.of_lookups.share == 1 / 8
    assert tally.of_hits.share == 1 / 5


def test_plain_cosine_holds_more_than_it_was_made_for() -> None:
    cache = replay.CosineCache(0.999999)
    for number in range(700):
        cache.ask(f"{number}", replay.Line(f"{number}"), vector(number / 500))
    cache.ask("again", replay.Line("again"), vector(1.0))
    assert cache.tally.found["semantic"] >= 1
    assert cache.tally.judged["undecided"] == cache.tally.hits


def test_the_clock_follows_the_traffic() -> None:
    clock = replay.ReplayClock()
    then = datetime(2020, 5, 1, tzinfo=UTC)
    clock.set_to(then)
    assert then <= clock.now() < then + timedelta(minutes=5)


def a_report() -> replay.Report:
    ours = replay.Tally("this cache", lookups=10)
    for verdict in ("right", "right", "wrong", "undecided"):
        ours.add("semantic", verdict)
    return replay.Report(
        ours,
        [replay.Tally("cosine 0.9", lookups=10)],
        worst=[replay.Example(0.93, "asked", "stored", 0.01, "same content")],
        bad=[(3, "is not JSON")],
        bad_lines=2,
        not_stored=1,
        repeats=4,
        stopped_at_limit=True,
    )


def test_the_report_for_programs() -> None:
    report = replay.as_json(a_report())
    ours = report["caches"][0]
    assert (ours["hits"], ours["right"], ours["wrong"], ours["undecided"]) == (4, 2, 1, 1)
    assert ours["wrong_share"] == 1 / 9, "what nothing tells is left out"
    assert ours["wrong_share"] < ours["wrong_share_upper"] < 1
    assert ours["wrong_of_hits"] == 1 / 3
    assert report["worst"][0]["stored"] == "stored"
    assert json.loads(json.dumps(report)) == report


def test_the_report_for_people() -> None:
    text = replay.as_text(a_report())
    for said in (
        "10 questions replayed",
        "11.11%",
        "line 3 is not JSON",
        "and 1 more lines",
        "neither class nor answer tells",
        "stopped at --limit",
        "0.930  asked",
        "4 questions had a class",
        "1 answers cannot be stored",
    ):
        assert said in text
    assert "-" in replay.as_text(replay.Report(replay.Tally("this cache"), []))
