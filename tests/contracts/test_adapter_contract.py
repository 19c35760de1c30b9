"""The contract of ``node.core.ports.Adapter``, over every adapter.

An adapter joins by a line in ``adapters.py`` and a table in ``adapter_cases.toml``.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters import registry
from node.core.caller import Caller
from node.core.clock import SystemClock
from node.core.model import CERTAIN, Check, Failed, Found, Freshness, Missed, Query, Recognition
from node.core.ports import Adapter
from node.core.settings import Adapters, AdapterSettings
from tests.contracts.adapter_case import NOW, Case, session
from tests.contracts.adapters import ADAPTERS
from tests.manual_clock import ManualClock

CODES = ("timeout", "rate_limited", "breaker_open", "bad_answer", "unreachable", "refused")
WORDS = """
    price of btc bitcoin eth in usd $ $SOL 2.5 1,000 24h volume what is the top 5 coins and / - , %
    yesterday 1 January 2024 may 5 ago 2 days + * ( ) ^ 10² ６ ½ sqrt of km to miles
"""


@pytest.fixture(params=sorted(ADAPTERS))
def case(request: pytest.FixtureRequest) -> Case:
    chosen = ADAPTERS[request.param]
    if chosen.skip is not None:
        pytest.skip(chosen.skip)
    return chosen


@pytest.fixture
async def adapter(case: Case) -> AsyncIterator[Adapter]:
    async with AsyncExitStack() as stack:
        made = await case.build(stack, True)
        stack.push_async_callback(made.close)
        yield made


def query(text: str, *, seconds: float = 10.0) -> Query:
    deadline = SystemClock().monotonic() + seconds
    return Query("id", text, text, Caller(), NOW, deadline)


def recognised(adapter: Adapter, text: str) -> Recognition:
    found = adapter.recognise(text, NOW)
    assert found is not None, text
    return found


async def test_every_adapter_of_the_registry_is_here() -> None:
    async with AsyncExitStack() as stack:
        built = registry.build(Adapters(), ManualClock(NOW), await session(stack))
        for made in built:
            stack.push_async_callback(made.close)
        assert {made.name for made in built} <= set(ADAPTERS)
        assert [made.name for made in built if made.is_local] == [made.name for made in built[:2]]


async def test_a_disabled_adapter_knows_its_questions_and_answers_none() -> None:
    off = AdapterSettings(enabled=False)
    async with AsyncExitStack() as stack:
        built = registry.build(Adapters(coingecko=off), ManualClock(NOW), await session(stack))
        for made in built:
            stack.push_async_callback(made.close)
        [coins] = [made for made in built if made.name == "coingecko"]
        outcome = await coins.ask(recognised(coins, "price of btc"), query("price of btc"))
        assert isinstance(outcome, Missed)
        assert "does not look such things up" in outcome.reason
        assert (coins.health().status, coins.health().output) == ("pass", "switched off")
        assert coins.budgets() == ()
        assert coins.follow_up("and eth?", "price of btc", NOW)


async def test_recognitions_have_the_uniform_shape(adapter: Adapter, case: Case) -> None:
    for text in case.questions:
        found = recognised(adapter, text)
        assert found.adapter == adapter.name
        assert found.local == adapter.is_local
        assert 0 < found.strength <= 1
        assert found.reason
        assert (found.key is None) == bool(found.unresolved) or found.key is not None
        for name, value in found.slots.items():
            assert isinstance(name, str)
            assert isinstance(value, str | int | bool | tuple | None)
        assert adapter.recognise(text, NOW) == found, "pure"


async def test_the_same_question_in_other_words_has_the_same_key(adapter: Adapter, case: Case) -> None:
    for one, other in case.same:
        key = recognised(adapter, one).key
        assert key is not None
        assert recognised(adapter, other).key == key


async def test_answers_have_the_uniform_shape(adapter: Adapter, case: Case) -> None:
    for text in case.questions:
        recognition = recognised(adapter, text)
        outcome = await adapter.ask(recognition, query(text))
        assert isinstance(outcome, Found), outcome
        evidence = outcome.evidence
        assert evidence.text
        assert evidence.text == " ".join(evidence.text.split())
        assert evidence.source.kind == "adapter"
        assert 0.5 <= evidence.confidence <= 1
        assert evidence.key == recognition.key
        assert dict(evidence.slots) == dict(recognition.slots)
        assert evidence.partial == case.partial
        if adapter.is_local:
            assert evidence.freshness in (Freshness.COMPUTED, Freshness.TIME_SENSITIVE, Freshness.CLOCK)
        else:
            assert evidence.citations
            assert evidence.citations[0].source in evidence.text
            assert evidence.source.url


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=300) | st.lists(st.sampled_from(WORDS.split()), max_size=14).map(" ".join))
def test_recognise_is_total_and_pure_on_any_text(adapter: Adapter, text: str) -> None:
    for hinted in (False, True):
        found = adapter.recognise(text, NOW, hinted=hinted)
        assert adapter.recognise(text, NOW, hinted=hinted) == found
    assert adapter.follow_up(text, "who wrote Hamlet?", NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        *("price of btc " * 5_000, "9" * 3_000 + " btc in usd", "price of " + "a" * 65_000),
        *("1" * 65_536, "(" * 65_536, "$" * 65_536, "-" * 65_536, " " * 65_536, "1," * 32_000),
        *("1 january " * 6_000, "\x00\ud7ff\ue000 price of btc"),
    ],
    ids=lambda text: repr(text[:12]),
)
async def test_recognise_is_bounded_on_long_text(adapter: Adapter, text: str) -> None:
    adapter.recognise(text, NOW)
    adapter.recognise(text, NOW, hinted=True)


async def test_health_makes_no_call(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("health reached out")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    check = adapter.health()
    assert isinstance(check, Check)
    assert check.status in ("pass", "warn", "fail")
    assert adapter.name in check.name


async def test_ask_never_raises_on_foreign_recognitions(adapter: Adapter, case: Case) -> None:
    good = recognised(adapter, case.questions[0])
    foreign = (
        replace(good, slots={}),
        replace(good, slots={"ids": ("../ping",), "vs": "usd", "metric": "price"}),
        replace(good, slots=dict.fromkeys(good.slots, 7)),
        replace(good, slots={**good.slots, "metric": "no_such", "date": "2024-13-45", "amount": "NaN"}),
    )
    for recognition in foreign:
        outcome = await adapter.ask(recognition, query("what is this"))
        assert isinstance(outcome, Found | Missed | Failed)


async def test_a_passed_deadline_and_a_dead_source_are_values(case: Case) -> None:
    async with AsyncExitStack() as stack:
        dead = await case.build(stack, False)
        stack.push_async_callback(dead.close)
        for seconds in (10.0, -1.0):
            for text in case.questions[:2]:
                outcome = await dead.ask(recognised(dead, text), query(text, seconds=seconds))
                if dead.is_local:
                    assert isinstance(outcome, Found)
                else:
                    assert isinstance(outcome, Failed)
                    assert outcome.reason
                    assert outcome.code in CODES


async def test_a_cancelled_ask_leaves_the_adapter_usable(adapter: Adapter, case: Case) -> None:
    text = case.questions[0]
    task = asyncio.create_task(adapter.ask(recognised(adapter, text), query(text)))
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task  # one that computes may have answered already
    assert isinstance(await adapter.ask(recognised(adapter, text), query(text)), Found)


async def test_follow_ups_become_self_contained_questions(adapter: Adapter, case: Case) -> None:
    for earlier, fragment, same in case.follow_ups:
        resolved = adapter.follow_up(fragment, earlier, NOW)
        assert resolved is not None, (earlier, fragment)
        found = recognised(adapter, resolved)
        assert found.strength >= CERTAIN, resolved
        assert found.key == recognised(adapter, same).key, resolved
        assert adapter.follow_up(fragment, "who wrote Hamlet?", NOW) is None
    for fragment in ("", "why?", "and", "?", "tell me a joke about it", "x" * 3_000):
        assert adapter.follow_up(fragment, "who wrote Hamlet?", NOW) is None


async def test_budgets_name_their_source_and_shrink_with_use(adapter: Adapter, case: Case) -> None:
    before = adapter.budgets()
    assert (not before) == adapter.is_local
    for budget in before:
        assert budget.source
        assert 0 <= budget.remaining <= budget.limit
        assert budget.window_s > 0
    await adapter.ask(recognised(adapter, case.questions[0]), query(case.questions[0]))
    after = adapter.budgets()
    if not adapter.is_local:
        assert sum(one.remaining for one in after) < sum(one.remaining for one in before)


async def test_close_is_idempotent(adapter: Adapter) -> None:
    await adapter.close()
    await adapter.close()
