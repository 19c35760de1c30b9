"""How long answers live here, by our own reading of the question."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from node.core.record import RecordSource
from node.peers.rules.admission import ClassLimit
from node.pipeline import class_limit as limits
from node.pipeline.understanding.route import Floors, Router
from tests.manual_clock import ManualClock
from tests.peer_builders import DAY, Publisher
from tests.record_builders import START
from tests.unit.pipeline.understanding.recognisers import RECOGNISERS

DAY_S = 86_400
A = Publisher("a")


def limit_of(query: str, kind: str = "client") -> ClassLimit:
    clock = ManualClock(START)
    limit = limits.class_limit(Router(RECOGNISERS, Floors()), clock, ZoneInfo("UTC"))
    return limit(A.answer(query, source=RecordSource(kind, "x"), expires=START + 9_000 * DAY))


@pytest.mark.parametrize("kind", ["adapter", "client", "llm", "documents"])
def test_a_live_question_has_its_class_whoever_answers(kind: str) -> None:
    assert limit_of("price of btc", kind) == ClassLimit("price", 45, True)
    assert limit_of("weather in Lisbon", kind).is_live


def test_a_day_that_is_past_is_settled() -> None:
    past = limit_of("price of bitcoin on 2025-03-01")
    assert (past.name, past.is_live) == ("past_price", False)
    assert past.limit_s == 30 * DAY_S


def test_what_no_adapter_claims_lives_as_our_own_would() -> None:
    assert limit_of("Why is the sky blue?", "documents") == ClassLimit(
        "definition", 90 * DAY_S, False, is_ours=False
    )
    assert limit_of("Why is the sky blue?", "llm") == ClassLimit("general", 7 * DAY_S, False, is_ours=False)


def test_the_wording_can_only_shorten_it() -> None:
    hurried = limit_of("Who is the mayor of Wrenfield right now?").limit_s
    assert hurried is not None
    assert hurried <= 3_600


def test_every_adapter_that_is_shipped_has_its_classes() -> None:
    assert {one.name for one in RECOGNISERS} == set(limits._BY_ADAPTER)
