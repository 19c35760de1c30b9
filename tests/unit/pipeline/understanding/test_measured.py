"""The kept-back part of the labelled questions, by rules alone: a floor under what ``bench.routing`` reports.

The floors are what the issue asks; the measured figures stand in ``docs/benchmarks.md``. The embedder's
classifier is left out here (it needs the model), so this is the weaker half of what a node does.
``unclassified`` is rare and has too few questions for a figure of its own.
"""

from __future__ import annotations

import asyncio
import statistics

import pytest

from bench.routing import NOW, Result, Units, f1_by_route, slots_right
from bench.routing_cases import ENGLISH, QUESTIONS, read_cases
from node.core.model import Kind
from node.pipeline.understanding.route import Floors, Router
from node.pipeline.understanding.understand import Understanding
from tests.simulators.semantics import OneModel
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS


@pytest.fixture(scope="module")
def results() -> list[Result]:
    """What is understood of each question of the part ``test``."""
    understanding = Understanding(Router(RECOGNISERS, Floors()), OneModel(), None)

    async def ask_all() -> list[Result]:
        made = []
        for case in read_cases(QUESTIONS):
            if case.part == "test":
                parts = await understanding.understand(case.text, now=NOW, turns=case.history)
                made.append(Result(case, tuple(parts), 0.0))
        return made

    return asyncio.run(ask_all())


def share(flags: list[bool]) -> float:
    assert len(flags) >= 30
    return sum(flags) / len(flags)


@pytest.mark.parametrize(("english", "floor"), [(True, 0.95), (False, 0.85)])
def test_the_kept_back_questions_find_their_routes(
    results: list[Result], english: bool, floor: float
) -> None:
    """Macro-F1 over the routes, English and the other languages apart."""
    chosen = [one for one in results if (one.case.lang == ENGLISH) is english]
    scores = f1_by_route(chosen)
    scores.pop(Kind.UNCLASSIFIED.value, None)
    assert statistics.fmean(scores.values()) >= floor, scores


def test_traps_adapters_and_slots_of_the_kept_back_questions(results: list[Result]) -> None:
    single = [one for one in results if not one.case.parts]
    judged = [one for one in single if not one.case.any_route]
    assert share([one.routed for one in single if one.case.trap]) >= 0.90
    assert share([one.adapted for one in judged if one.routed]) >= 0.98
    units = Units()
    flags = [slots_right(one.case.wanted, one.route, units) for one in judged if one.routed and one.adapted]
    assert share([flag for flag in flags if flag is not None]) >= 0.92


def test_hostile_texts_have_no_answer(results: list[Result]) -> None:
    refused = [one for one in results if one.case.refused]
    assert len(refused) >= 5
    assert not [one.case.text[:60] for one in refused if one.route.slots.get("answer")]
