"""Weights of sources and the comparison of their figures."""

from __future__ import annotations

from decimal import Decimal

import pytest

from node.answer.score.agreement import weigh
from node.core.model import Evidence, Freshness, SourceRef
from node.language.same_answer import TOLERANCE


def evidence(price: str | None, *, confidence: float = 0.95, stale: bool = False) -> Evidence:
    return Evidence(
        text="a figure",
        source=SourceRef("adapter", "x"),
        confidence=confidence,
        freshness=Freshness.PRICE,
        data={"stale": stale},
        figures={} if price is None else {"bitcoin": price},
    )


def test_one_source_weighs_all_and_has_nothing_to_compare_with() -> None:
    [one] = weigh([("a", 0.9, evidence("100"))])
    assert (one.weight, one.comparable, one.agreeing, one.apart) == (1.0, 1, 1, None)


def test_relevance_decides_between_equal_sources_and_changes_the_order() -> None:
    first = weigh([("a", 0.6, evidence("100")), ("b", 0.9, evidence("100.5"))])
    assert [one.adapter for one in first] == ["b", "a"]
    assert first[0].weight == pytest.approx(0.6)
    second = weigh([("a", 0.9, evidence("100")), ("b", 0.6, evidence("100.5"))])
    assert [one.adapter for one in second] == ["a", "b"]


def test_the_one_that_nobody_confirms_weighs_less() -> None:
    weighed = weigh([("a", 1.0, evidence("200")), ("b", 0.9, evidence("100")), ("c", 0.9, evidence("101"))])
    assert [(one.adapter, one.agreeing, one.comparable) for one in weighed] == [
        ("b", 2, 3),
        ("c", 2, 3),
        ("a", 1, 3),
    ]
    assert sum(one.weight for one in weighed) == pytest.approx(1.0)


def test_a_stale_figure_gives_way_to_a_fresh_one() -> None:
    weighed = weigh([("a", 1.0, evidence("100", stale=True)), ("b", 0.6, evidence("100"))])
    assert weighed[0].adapter == "b"


def test_the_tolerance_is_relative_and_includes_its_edge() -> None:
    at = Decimal(100) * (1 - TOLERANCE)
    [one, _] = weigh([("a", 1.0, evidence("100")), ("b", 0.9, evidence(str(at)))])
    assert (one.agreeing, one.apart) == (2, TOLERANCE)
    [two, _] = weigh([("a", 1.0, evidence("100")), ("b", 0.9, evidence(str(at - 1)))])
    assert (two.agreeing, two.comparable) == (1, 2)


def test_what_states_no_common_figure_is_not_compared() -> None:
    weighed = weigh([("a", 1.0, evidence("100")), ("b", 0.9, evidence(None)), ("c", 0.5, evidence("no"))])
    assert [(one.comparable, one.apart) for one in weighed] == [(1, None)] * 3
