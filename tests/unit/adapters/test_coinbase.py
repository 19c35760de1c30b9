"""The second source of prices: what it claims beside CoinGecko, what it says, what it does not believe."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import aiohttp
import pytest

from adapters.coins import Coinbase, CoinGecko
from adapters.coins.coinbase import PER_MINUTE, PER_SECOND
from node.core.model import Found, Freshness, Missed
from node.core.settings import AdapterSettings
from tests.manual_clock import ManualClock
from tests.simulators.coinbase import CoinbaseStandIn, Pair
from tests.unit.adapters.asking import FAULTS, Asking, while_moving

NOW = datetime(2026, 5, 18, 8, 20, tzinfo=UTC)
Prices: TypeAlias = Asking[Coinbase, ManualClock]


@pytest.fixture
async def cb() -> AsyncIterator[CoinbaseStandIn]:
    async with CoinbaseStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def prices(cb: CoinbaseStandIn, http: aiohttp.ClientSession) -> Prices:
    clock = ManualClock(NOW)
    return Asking(Coinbase(AdapterSettings(base_url=cb.url), http, clock), clock)


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
def test_it_claims_what_coingecko_claims_under_the_same_key(prices: Prices, text: str) -> None:
    first = CoinGecko(AdapterSettings(base_url="http://127.0.0.1:9"), ManualClock(NOW)).recognise(text, NOW)
    second = prices.recognised(text)
    assert first is not None
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
def test_everything_else_is_not_its_own(prices: Prices, text: str) -> None:
    assert prices.adapter.recognise(text, NOW) is None


@pytest.mark.parametrize(
    ("earlier", "fragment", "words"),
    [
        ("price of btc", "and ETH?", "price of ethereum"),
        ("price of btc", "market cap?", None),
        ("market cap of btc", "and eth?", None),
        ("price of btc", "and yesterday?", None),
    ],
)
def test_it_goes_on_only_to_what_it_can_answer(
    prices: Prices, earlier: str, fragment: str, words: str | None
) -> None:
    assert prices.adapter.follow_up(fragment, earlier, NOW) == words


# --- what is said -------------------------------------------------------------------------------------


async def test_a_price_with_source_and_time(prices: Prices) -> None:
    evidence = await prices.found("price of btc")
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
async def test_other_wordings(prices: Prices, text: str, part: str) -> None:
    assert part in await prices.said(text)


async def test_a_pair_that_is_not_traded_is_missed(prices: Prices) -> None:
    assert await prices.outcome("xrp in gbp") == Missed("Coinbase does not trade that pair in GBP")


async def test_a_stale_price_says_so(prices: Prices, cb: CoinbaseStandIn) -> None:
    await prices.found("price of btc")
    prices.clock.advance(600)
    cb.misbehave("status", times=None, status=502)
    evidence = await while_moving(prices.clock, 0.5, prices.found("price of btc"))
    assert evidence.data["stale"] is True
    assert "Coinbase could not be asked just now; this was fetched 10 min ago." in evidence.text


# --- limits -------------------------------------------------------------------------------------------


async def test_equal_questions_are_one_request(prices: Prices, cb: CoinbaseStandIn) -> None:
    outcomes = await asyncio.gather(*(prices.outcome("price of btc") for _ in range(200)))
    assert all(isinstance(outcome, Found) for outcome in outcomes)
    assert cb.count() == 1
    await prices.found("price of btc", no_cache=True)
    assert cb.count() == 2


async def test_the_windows_hold(cb: CoinbaseStandIn, http: aiohttp.ClientSession) -> None:
    clock = ManualClock(NOW)
    # Less than a step: a question is refused rather than waits for a clock that nobody moves.
    made = Asking(Coinbase(AdapterSettings(base_url=cb.url), http, clock), clock, seconds=0.12)
    starts: list[float] = []
    for _ in range(600):
        before = cb.count()
        await made.outcome("price of btc", no_cache=True)
        starts += [clock.monotonic()] * (cb.count() - before)
        clock.advance(0.125)
    assert all(b - a >= 1 for a, b in zip(starts, starts[PER_SECOND:], strict=False))
    assert all(b - a >= 60 for a, b in zip(starts, starts[PER_MINUTE:], strict=False))
    assert len(starts) > PER_MINUTE
    assert {budget.limit for budget in made.adapter.budgets()} == {PER_SECOND, PER_MINUTE}


# --- lies ---------------------------------------------------------------------------------------------


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
    ids=str,
)
async def test_lies_are_refused(prices: Prices, cb: CoinbaseStandIn, fields: dict[str, object]) -> None:
    cb.misbehave("change", change=lambda value: {**value, **fields})
    outcome = await prices.failed("price of btc")
    assert outcome.code == "bad_answer"
    assert "76980" not in outcome.reason
    await prices.found("price of btc")


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [*FAULTS, ("body", {"text": "[]"}, "bad_answer"), ("body", {"text": '{"message": "No"}'}, "bad_answer")],
)
async def test_faults_are_clear_failures(
    prices: Prices, cb: CoinbaseStandIn, kind: str, options: dict[str, Any], code: str
) -> None:
    cb.misbehave(kind, times=None, **options)
    assert await while_moving(prices.clock, 0.05, prices.code("price of btc")) == code


@pytest.mark.parametrize(
    ("kind", "options"), [("html", {}), ("status", {"status": 403}), ("throttle", {"retry_after": 60})]
)
async def test_what_will_not_pass_is_asked_once(
    prices: Prices, cb: CoinbaseStandIn, kind: str, options: dict[str, Any]
) -> None:
    cb.misbehave(kind, **options)
    await prices.failed("price of btc")
    assert cb.count() == 1


@pytest.mark.parametrize("kind", ["hang", "drip", "drip_head"])
async def test_a_source_that_never_ends_is_left(prices: Prices, cb: CoinbaseStandIn, kind: str) -> None:
    cb.misbehave(kind, times=None)
    asking = asyncio.create_task(prices.code("price of btc"))
    await cb.wait_for(1)
    prices.clock.advance(4)
    assert await asking == "timeout"


async def test_another_pair_is_no_answer(prices: Prices, cb: CoinbaseStandIn) -> None:
    cb.pairs["XRP-USD"] = Pair("0", "0", "0")
    await prices.failed("price of xrp")
