"""The second source of prices: what it claims beside CoinGecko, what it says, what it does not believe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapters.coins import Coinbase, CoinGecko
from adapters.coins.coinbase import PER_MINUTE, PER_SECOND
from node.core.clock import Clock
from node.core.model import Caller, Evidence, Failed, Found, Freshness, Missed, Outcome, Query
from node.core.settings import AdapterSettings
from tests.contracts.adapter_case import session
from tests.manual_clock import ManualClock
from tests.simulators.coinbase import CoinbaseStandIn, Pair

NOW = datetime(2026, 5, 18, 8, 20, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def cb() -> AsyncIterator[CoinbaseStandIn]:
    async with CoinbaseStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def adapter(cb: CoinbaseStandIn, clock: ManualClock) -> AsyncIterator[Coinbase]:
    async with AsyncExitStack() as stack:
        yield Coinbase(AdapterSettings(base_url=cb.url), await session(stack), clock)


async def ask(adapter: Coinbase, clock: Clock, text: str, **options: Any) -> Outcome:
    recognition = adapter.recognise(text, clock.now())
    assert recognition is not None, text
    query = Query("id", text, text, Caller(), clock.now(), clock.monotonic() + 30, **options)
    return await adapter.ask(recognition, query)


async def found(adapter: Coinbase, clock: Clock, text: str = "price of btc", **options: Any) -> Evidence:
    outcome = await ask(adapter, clock, text, **options)
    assert isinstance(outcome, Found), outcome
    return outcome.evidence


# --- what is claimed ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "price of btc",
        "2.5 eth in euros",
        "price of btc and eth",
        "sol price in gbp",
        "btc?",
        "btc roi?",
        "$9 in eth",
    ],
)
def test_it_claims_what_coingecko_claims_under_the_same_key(adapter: Coinbase, text: str) -> None:
    first = CoinGecko(AdapterSettings(base_url="http://127.0.0.1:9"), ManualClock(NOW)).recognise(text, NOW)
    second = adapter.recognise(text, NOW)
    assert first is not None
    assert second is not None
    assert (second.key, second.slots) == (first.key, first.slots)
    assert second.strength < first.strength


@pytest.mark.parametrize(
    "text",
    [
        "market cap of btc",
        "24h change of btc",
        "price of btc yesterday",
        "price of btc in yen",
        "price of kaspa",
        "price of $WIF",
        "price of btc, eth and sol",
        "top 5 cryptocurrencies",
        "eth in btc",
        "who wrote the bitcoin whitepaper",
    ],
)
def test_everything_else_is_not_its_own(adapter: Coinbase, text: str) -> None:
    assert adapter.recognise(text, NOW) is None


def test_it_goes_on_only_to_what_it_can_answer(adapter: Coinbase) -> None:
    assert adapter.follow_up("and ETH?", "price of btc", NOW) == "price of ethereum"
    assert adapter.follow_up("market cap?", "price of btc", NOW) is None
    assert adapter.follow_up("and eth?", "market cap of btc", NOW) is None
    assert adapter.follow_up("and yesterday?", "price of btc", NOW) is None


# --- what is said -------------------------------------------------------------------------------------


async def test_a_price_with_source_and_time(adapter: Coinbase, clock: ManualClock) -> None:
    evidence = await found(adapter, clock)
    assert evidence.text == (
        "Bitcoin (BTC) last traded at $76,980.01, according to Coinbase at 2026-05-18 08:17 UTC."
    )
    assert dict(evidence.figures) == {"bitcoin": "76980.01"}
    assert evidence.freshness is Freshness.PRICE
    assert evidence.key == "price:bitcoin:usd"
    [citation] = evidence.citations
    assert (citation.source, citation.time) == ("Coinbase", datetime(2026, 5, 18, 8, 17, 40, 123456, UTC))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("2.5 eth in euros", "2.5 ETH is worth €4,550.55 (at €1,820.22 each), according to Coinbase"),
        ("100 usd in btc", "$100 buys 0.0012990385 BTC (at $76,980.01 each), according to Coinbase"),
        ("price of btc and eth", "$76,980.01 and Ethereum (ETH) last traded at $2,123.60, according"),
        ("btc in gbp", "£57,300.25,"),
        ("price of shib", "Shiba Inu (SHIB) last traded at $0.00000583,"),
    ],
)
async def test_other_wordings(adapter: Coinbase, clock: ManualClock, text: str, part: str) -> None:
    assert part in (await found(adapter, clock, text)).text


async def test_a_pair_that_is_not_traded_is_missed(adapter: Coinbase, clock: ManualClock) -> None:
    assert await ask(adapter, clock, "xrp in gbp") == Missed("Coinbase does not trade that pair in GBP")


async def test_a_stale_price_says_so(adapter: Coinbase, cb: CoinbaseStandIn, clock: ManualClock) -> None:
    await found(adapter, clock)
    clock.advance(600)
    cb.misbehave("status", times=None, status=502)
    asking = asyncio.create_task(found(adapter, clock))
    await cb.wait_for(2)
    while not asking.done():
        clock.advance(0.5)
        await asyncio.sleep(0)
    evidence = await asking
    assert evidence.data["stale"] is True
    assert "Coinbase could not be asked just now; this was fetched 10 min ago." in evidence.text


# --- limits -------------------------------------------------------------------------------------------


async def test_equal_questions_are_one_request(
    adapter: Coinbase, cb: CoinbaseStandIn, clock: ManualClock
) -> None:
    outcomes = await asyncio.gather(*(ask(adapter, clock, "price of btc") for _ in range(200)))
    assert all(isinstance(outcome, Found) for outcome in outcomes)
    assert cb.count() == 1
    await found(adapter, clock, no_cache=True)
    assert cb.count() == 2


async def test_the_windows_hold(cb: CoinbaseStandIn, clock: ManualClock) -> None:
    async with AsyncExitStack() as stack:
        made = Coinbase(AdapterSettings(base_url=cb.url, timeout_s=0.05), await session(stack), clock)
        starts: list[float] = []
        for _ in range(600):
            before = cb.count()
            await ask(made, clock, "price of btc", no_cache=True)
            starts += [clock.monotonic()] * (cb.count() - before)
            clock.advance(0.125)
        assert all(b - a >= 1 for a, b in zip(starts, starts[PER_SECOND:], strict=False))
        assert all(b - a >= 60 for a, b in zip(starts, starts[PER_MINUTE:], strict=False))
        assert len(starts) > PER_MINUTE
        assert {budget.limit for budget in made.budgets()} == {PER_SECOND, PER_MINUTE}


# --- lies ---------------------------------------------------------------------------------------------


def changed(**fields: object) -> Callable[[Any], Any]:
    return lambda value: {**value, **fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"price": 76980.01},
        {"price": None},
        {"price": "NaN"},
        {"price": "Infinity"},
        {"price": "-1"},
        {"price": "0"},
        {"price": "0.0"},
        {"price": "1e5"},
        {"price": "٧٦"},
        {"price": "9" * 25},
        {"price": ["76980.01"]},
        {"price": "760000"},
        {"bid": "77000", "ask": "76000"},
        {"bid": None},
        {"ask": "0"},
        {"time": None},
        {"time": "soon"},
        {"time": 1_779_092_258},
        {"time": (NOW + timedelta(hours=1)).isoformat()},
        {"time": (NOW - timedelta(days=2)).isoformat()},
    ],
)
async def test_lies_are_refused(
    adapter: Coinbase, cb: CoinbaseStandIn, clock: ManualClock, fields: dict[str, object]
) -> None:
    cb.misbehave("change", change=changed(**fields))
    outcome = await ask(adapter, clock, "price of btc")
    assert isinstance(outcome, Failed), outcome
    assert outcome.code == "bad_answer"
    assert "76980" not in outcome.reason
    await found(adapter, clock)


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("throttle", {"retry_after": 60}, "rate_limited"),
        ("html", {}, "bad_answer"),
        ("plain", {"text": "slow down"}, "bad_answer"),
        ("body", {"text": "[]"}, "bad_answer"),
        ("body", {"text": '{"message": "NotFound"}'}, "bad_answer"),
        ("oversized", {"size": 1_000_000}, "bad_answer"),
        ("gzip_bomb", {"size": 5_000_000}, "bad_answer"),
        ("nested_json", {}, "bad_answer"),
        ("redirect", {"to": "http://127.0.0.1:9/"}, "bad_answer"),
        ("status", {"status": 403}, "refused"),
    ],
)
async def test_faults_are_clear_failures(
    adapter: Coinbase,
    cb: CoinbaseStandIn,
    clock: ManualClock,
    kind: str,
    options: dict[str, Any],
    code: str,
) -> None:
    cb.misbehave(kind, **options)
    outcome = await ask(adapter, clock, "price of btc")
    assert isinstance(outcome, Failed)
    assert outcome.code == code, outcome
    assert cb.count() == 1


@pytest.mark.parametrize("kind", ["hang", "drip", "drip_head"])
async def test_a_source_that_never_ends_is_left(
    adapter: Coinbase, cb: CoinbaseStandIn, clock: ManualClock, kind: str
) -> None:
    cb.misbehave(kind, times=None)
    asking = asyncio.create_task(ask(adapter, clock, "price of btc"))
    await cb.wait_for(1)
    clock.advance(4)
    outcome = await asking
    assert isinstance(outcome, Failed)
    assert outcome.code == "timeout"


async def test_another_pair_is_no_answer(adapter: Coinbase, cb: CoinbaseStandIn, clock: ManualClock) -> None:
    cb.pairs["XRP-USD"] = Pair("0", "0", "0")
    outcome = await ask(adapter, clock, "price of xrp")
    assert isinstance(outcome, Failed)
