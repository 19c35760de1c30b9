"""What is counted again and again is told together: the page says the same."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from node.core.caller import Caller
from node.core.metrics import UNTOLD_MAX, Metrics
from node.core.model import (
    Answer,
    Confidence,
    Freshness,
    HitInfo,
    Kind,
    Query,
    Route,
    Source,
    SourceRef,
    Step,
)


def answer(kind: Kind, value: float) -> Answer:
    query = Query("r", "words?", "words", Caller(), datetime(2026, 1, 1, tzinfo=UTC), 30.0)
    hit = HitInfo("exact", 1.0, 0.9, None, 1.0, 0, "local", "same question", "same_question")
    return Answer(
        query,
        "an answer",
        Route(kind, (Source.CACHE,), 0.8, ""),
        SourceRef("llm", "m"),
        Confidence(value, {"support": value / 2}),
        Freshness.GENERAL,
        hit=hit,
        trace=(Step("recall", "hit"), Step("embed", "ok", "", 3.0)),
    )


def said(metrics: Metrics) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in metrics.text().decode().splitlines() if line[0] != "#"]
    return {name: float(value) for name, value in lines if "_created" not in name}


@pytest.mark.parametrize("times", [1, 7, UNTOLD_MAX - 1, 2 * UNTOLD_MAX + 3])
def test_together_comes_to_the_same_as_one_by_one(times: int) -> None:
    chance, alone, together = random.Random(times), Metrics(), Metrics()
    kinds = [answer(Kind.GENERATIVE, 0.9), answer(Kind.HISTORICAL, 0.31)]
    again, _ = [[to.observer(one) for one in kinds] for to in (together, alone)]
    for _ in range(times):
        which, seconds = chance.randrange(2), chance.choice((0.0, 0.005, 0.0051, 0.3, 60.0, 61.0))
        alone.observe(kinds[which], seconds)
        again[which](seconds)
    first, second = said(alone), said(together)
    assert first.keys() == second.keys()
    assert all(second[name] == pytest.approx(value) for name, value in first.items())
    assert said(together) == second, "told once"


def test_what_waits_is_bounded() -> None:
    metrics = Metrics()
    for _ in range(UNTOLD_MAX + 5):
        metrics.observer(answer(Kind.GENERATIVE, 0.9))(0.1)
    assert len(metrics._untold) < UNTOLD_MAX
    one = metrics.observer(answer(Kind.GENERATIVE, 0.9))
    for _ in range(UNTOLD_MAX + 5):
        one(0.1)
    assert all(len(again.seconds) < UNTOLD_MAX for again in metrics._untold)
