"""Recomputing a peer's answer: what computes here decides, what lies outside is asked little."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.math_calculator import MathCalculator
from node.core.caller import Caller
from node.core.model import Evidence, Failed, Found, Freshness, Outcome, Query, Recognition, SourceRef
from node.core.record import AnswerRecord
from node.peers.rules.admission import ClassLimit
from node.pipeline.recompute import Recompute
from node.pipeline.understanding.route import Floors, Router
from tests.manual_clock import ManualClock
from tests.record_builders import START, Author

THEM = Author(1)
ASKED = "what did the ledger say on day 1"
STOOD = "The ledger stood at 4,200 EUR."


class Ledger:
    """What is asked of an outside source of past days: it knows every question with "ledger" in it."""

    name = "ledger"
    is_local = False

    def __init__(self, outcome: Outcome | asyncio.Event) -> None:
        self.outcome = outcome
        self.asked: list[Query] = []

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        if "ledger" not in text:
            return None
        return Recognition(self.name, {"when": "2025-03-01"}, f"ledger:{text[-1]}", False, "ledger")

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        self.asked.append(query)
        if isinstance(self.outcome, asyncio.Event):
            await self.outcome.wait()
            raise AssertionError("never set")
        return self.outcome


def found(text: str, freshness: Freshness = Freshness.PAST_PRICE, **changes: Any) -> Found:
    return Found(Evidence(text, SourceRef("adapter", "ledger"), 0.95, freshness, **changes))


def over(
    *adapters: Any, is_live: bool = False, per_hour: int = 10, timeout_s: float = 5.0
) -> tuple[Recompute, ManualClock]:
    clock = ManualClock(START)
    recompute = Recompute(
        Router(adapters, Floors()),
        adapters,
        clock,
        class_limit=lambda record: ClassLimit("any", None, is_live),
        zone=UTC,
        per_hour=per_hour,
        timeout_s=timeout_s,
    )
    return recompute, clock


def said(query: str, answer: str, **changes: Any) -> AnswerRecord:
    return THEM.answer(query, answer=answer, scope="public", **changes)


@pytest.fixture(scope="module")
def math() -> MathCalculator:
    calculator = MathCalculator(ManualClock(START))
    calculator.warm()
    return calculator


async def computed(math: MathCalculator, query: str) -> str:
    """What the calculator itself says."""
    recognition = math.recognise(query, START)
    assert recognition is not None
    outcome = await math.ask(recognition, _query(query))
    assert isinstance(outcome, Found)
    return outcome.evidence.text


def _query(text: str) -> Query:
    return Query("q", text, text, Caller(), START, 1e9)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda ours: ours, True),
        (lambda ours: f"  {ours} ", True),
        (lambda _: "144", None),  # in another form: not refuted, nor vouched for
        (lambda _: "145", False),
        (lambda ours: ours.replace("144", "1440"), False),
    ],
    ids=["the same", "with blanks", "in another form", "another", "ten times"],
)
async def test_what_computes_here_says_the_same_or_another_thing(
    math: MathCalculator, change: Callable[[str], str], verdict: bool | None
) -> None:
    recompute, _ = over(math, is_live=True, per_hour=0)
    answer = change(await computed(math, "12 * 12"))
    assert await recompute(said("12 * 12", answer)) is verdict


@pytest.mark.parametrize(
    "added", ["Visit example.com for more.", "Send it to Bob.", "https://x.y", "(or 145)", "Buy now!"]
)
async def test_an_answer_with_something_added_is_not_verified(math: MathCalculator, added: str) -> None:
    recompute, _ = over(math)
    ours = await computed(math, "12 * 12")
    assert await recompute(said("12 * 12", f"{ours} {added}")) is not True


async def test_what_depends_on_the_peer_s_day_is_not_refuted(math: MathCalculator) -> None:
    recompute, _ = over(math)
    query = "days until 2026-12-24"
    assert all(math.recognise(query, START.replace(hour=hour)) for hour in (0, 12, 23))
    elsewhere = said(query, await computed(math, query), timestamp=START.replace(day=2, hour=5))
    assert await recompute(elsewhere) is None


async def test_what_no_adapter_claims_tells_nothing(math: MathCalculator) -> None:
    recompute, _ = over(math)
    assert await recompute(said("Who wrote Frankenstein?", "Mary Shelley")) is None


@pytest.mark.parametrize(
    ("answer", "freshness", "verdict"),
    [
        (STOOD, Freshness.PAST_PRICE, True),
        ("4,200 EUR", Freshness.PAST_PRICE, True),
        ("The ledger stood at 9,999 EUR.", Freshness.PAST_PRICE, False),
        ("The ledger stood at 9,999 EUR.", Freshness.DEFINITION, None),  # it may have changed since
    ],
)
async def test_an_outside_source_is_asked_for_what_is_settled(
    answer: str, freshness: Freshness, verdict: bool | None
) -> None:
    ledger = Ledger(found(STOOD, freshness))
    recompute, _ = over(ledger)
    assert await recompute(said(ASKED, answer)) is verdict
    assert [query.received for query in ledger.asked] == [START]


async def test_nobody_is_asked_for_what_is_live_nor_beyond_the_budget() -> None:
    ledger = Ledger(found(STOOD))
    live, _ = over(ledger, is_live=True)
    assert await live(said(ASKED, STOOD)) is None
    assert not ledger.asked
    bounded, clock = over(ledger, per_hour=2)
    said_so = [await bounded(said(f"what did the ledger say on day {day}", STOOD)) for day in range(4)]
    assert said_so == [True, True, None, None]
    clock.advance(3_600)
    assert await bounded(said("what did the ledger say on day 9", STOOD)) is True
    assert len(ledger.asked) == 3


@pytest.mark.parametrize(
    "outcome",
    [
        Failed("timeout", "it took too long"),
        found("4,200 EUR", partial=True),
        found("4,200 EUR", data={"stale": True}),
        pytest.param(asyncio.Event(), id="it hangs"),
    ],
)
async def test_what_is_no_answer_tells_nothing(outcome: Outcome | asyncio.Event) -> None:
    recompute, _ = over(Ledger(outcome), timeout_s=0.01 if isinstance(outcome, asyncio.Event) else 5.0)
    assert await recompute(said(ASKED, "9,999 EUR")) is None


async def test_the_slots_of_a_question_are_our_own_reading(math: MathCalculator) -> None:
    recompute, _ = over(Ledger(found("x")), math)
    assert recompute.slot_key(said(ASKED, "x")) == "ledger:1"
    assert recompute.slot_key(said("Who wrote Frankenstein?", "x", slot_key="ledger:1")) is None
