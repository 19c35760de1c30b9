"""Figures of coins beyond the price, lists of coins, sums over prices: what is asked, what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TypeAlias

import pytest

from adapters.coins import CoinGecko, follow
from adapters.coins.claims import claim
from adapters.coins.slots import question_of
from node.core.model import Failed, Missed, Recognition, Slots
from node.core.settings import AdapterSettings
from tests.each import each
from tests.manual_clock import ManualClock
from tests.simulators.coingecko import CoinGeckoStandIn
from tests.unit.adapters.asking import Asking
from tests.unit.adapters.tables import rows

NOW = datetime(2026, 5, 18, 8, 20, tzinfo=UTC)
TODAY = NOW.date()
Coins: TypeAlias = Asking[CoinGecko, ManualClock]

AT = ", according to CoinGecko at 2026-05-18 08:17 UTC"


@pytest.fixture
async def cg() -> AsyncIterator[CoinGeckoStandIn]:
    async with CoinGeckoStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def coins(cg: CoinGeckoStandIn) -> AsyncIterator[Coins]:
    clock = ManualClock(NOW)
    made = CoinGecko(AdapterSettings(base_url=cg.url, timeout_s=4.0, per_minute=1_000), clock)
    yield Asking(made, clock)
    await made.close()


def asked(text: str) -> tuple[str, tuple[str, ...], str]:
    found = claim(text, TODAY)
    assert found is not None, text
    return found.question.metric, found.question.ids or found.question.unresolved, found.question.vs


@each(("text", "metric", "coin", "vs"), rows("coins", "market"))
def test_figures_pegs_and_lists_are_recognised(text: str, metric: str, coin: str | None, vs: str) -> None:
    assert asked(text) == (metric, () if coin is None else (coin,), vs)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("btc ath", "The all-time high of Bitcoin (BTC) is $126,080.00, reached on 2025-10-06 (it is now"),
        ("btc ath", f"38.40% below that){AT}"),
        ("max supply of btc", "The maximum supply of Bitcoin (BTC) is 21,000,0"),
        ("max supply of dogecoin", "has no maximum supply that is stated"),
        ("btc change this week", "changed by −4.04% in 7 days, to $76,975.00"),
        ("rank of cardano", "Cardano (ADA) is number 12 by market cap"),
        ("btc dominance", "makes up 57.95% of the crypto market cap"),
        ("total crypto market cap in euros", "together is €2,250,000,000,000"),
        (
            "did tether lose its peg",
            "Tether (USDT) is at its peg at the moment: it trades at $0.9998, 0.02% be",
        ),
        ("is usdc still at a dollar", "has lost its peg"),
        ("top 2 crypto losers", "lost most in 24 h: 1. Solana (SOL) −7.30% to $85.25; 2. USDC −2.60%"),
        ("trending coins", "searched for at the moment are 1. dogwifhat (WIF); 2. Solana (SOL)"),
    ],
)
async def test_figures_pegs_and_lists_are_said(coins: Coins, text: str, part: str) -> None:
    assert part in await coins.said(text)


@pytest.mark.parametrize("text", ["dominance of dogecoin", "fdv of ada"])
async def test_a_figure_that_is_not_stated_is_missed(coins: Coins, text: str) -> None:
    assert isinstance(await coins.outcome(text), Missed)


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        (
            "/coins/markets",
            '[{"id": "bitcoin", "name": "B", "symbol": "b", "current_price": 1, "ath": -4}]',
            "btc ath",
        ),
        ("/coins/markets", "[]", "btc ath"),
        ("/coins/markets", "[]", "biggest crypto losers"),
        ("/global", '{"data": {"market_cap_percentage": {"btc": 300}}}', "btc dominance"),
        ("/global", "{}", "btc dominance"),
        ("/search/trending", '{"coins": [{"item": {}}]}', "trending coins"),
    ],
)
async def test_nonsense_is_no_answer(
    coins: Coins, cg: CoinGeckoStandIn, path: str, body: str, text: str
) -> None:
    cg.misbehave("body", None, path, text=body)
    assert isinstance(await coins.outcome(text), Failed | Missed)


# --- sums ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "expr", "answer"), rows("coins", "sums"))
async def test_a_sum_is_computed_over_the_price(coins: Coins, text: str, expr: str, answer: str) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert found.question.expr == expr
    told = await coins.said(text)
    assert answer in told
    assert "(BTC" in told or "(ETH at" in told
    assert "according to CoinGecko at 2026-05-18" in told


@pytest.mark.parametrize("text", ["double the price of eth", "2 eth", "price of 2 eth"])
def test_a_plain_multiple_is_an_amount(text: str) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert (found.question.amount, found.question.expr) == ("2", None)


def test_money_of_two_kinds_is_not_added() -> None:
    assert claim("2 btc in dollars plus 200 euros", TODAY) is None


@pytest.mark.parametrize(
    "expr",
    ["__import__('os')", "{bitcoin}+{ethereum}", "2+2", "9" * 400, None],
    ids=lambda expr: str(expr)[:9],
)
async def test_foreign_slots_are_refused(coins: Coins, expr: str | None) -> None:
    slots: Slots = {"ids": ("bitcoin",), "vs": "usd", "metric": "sum", "expr": expr}
    outcome = await coins.adapter.ask(Recognition("coingecko", slots, "k", False, ""), coins.query("x"))
    assert isinstance(outcome, Missed)


def test_a_figure_of_no_coin_is_no_question() -> None:
    slots: Slots = {"ids": (), "vs": "usd", "metric": "ath"}
    assert question_of(Recognition("coingecko", slots, "k", False, ""), TODAY) is None


@pytest.mark.parametrize(
    ("earlier", "fragment", "metric", "coin"),
    [
        ("btc ath", "and eth?", "ath", "ethereum"),
        ("price of btc", "and its all time high?", "ath", "bitcoin"),
        ("circulating supply of bitcoin", "and the max supply", "max_supply", "bitcoin"),
    ],
)
def test_it_goes_on(earlier: str, fragment: str, metric: str, coin: str) -> None:
    words = follow.follow_up(fragment, earlier, TODAY)
    assert words is not None
    assert asked(words)[:2] == (metric, (coin,))
