"""Figures of coins beyond the price, lists of coins, sums over prices: what is asked, what is said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

from adapters.coins import CoinGecko, follow
from adapters.coins.claims import claim
from adapters.coins.slots import question_of
from node.core.model import Caller, Failed, Found, Missed, Query, Recognition
from node.core.settings import AdapterSettings
from tests.manual_clock import ManualClock
from tests.simulators.coingecko import CoinGeckoStandIn

NOW = datetime(2026, 5, 18, 8, 20, tzinfo=UTC)
TODAY = NOW.date()
FAR = 10.0**9
"""A deadline that no test reaches."""


@pytest.fixture
async def cg() -> AsyncIterator[CoinGeckoStandIn]:
    async with CoinGeckoStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def adapter(cg: CoinGeckoStandIn) -> AsyncIterator[CoinGecko]:
    made = CoinGecko(AdapterSettings(base_url=cg.url, timeout_s=4.0, per_minute=1_000), ManualClock(NOW))
    yield made
    await made.close()


async def outcome_of(adapter: CoinGecko, text: str) -> Any:
    recognition = adapter.recognise(text, NOW)
    assert recognition is not None, text
    return await adapter.ask(recognition, Query("id", text, text, Caller(), NOW, FAR))


async def said(adapter: CoinGecko, text: str) -> str:
    outcome = await outcome_of(adapter, text)
    assert isinstance(outcome, Found), outcome
    return outcome.evidence.text


def asked(text: str) -> tuple[str, tuple[str, ...], str]:
    found = claim(text, TODAY)
    assert found is not None, text
    return found.question.metric, found.question.ids or found.question.unresolved, found.question.vs


@pytest.mark.parametrize(
    ("metric", "texts"),
    [
        (
            "ath",
            "btc ath|whats bitcoins ath|bitcoin all-time high|when did btc hit its all time high"
            "|how far is btc from its ath|what's the highest price bitcoin has ever been"
            "|bitcoin allzeithoch|maximo historico de bitcoin|plus haut historique du bitcoin"
            "|record high of bitcoin|when was the ath of btc",
        ),
        ("atl", "btc all time low|lowest btc price ever|bitcoin atl|minimo historico de bitcoin"),
        ("fdv", "fully diluted valuation of bitcoin|btc fdv"),
        (
            "circulating_supply",
            "circulating supply of bitcoin|how many bitcoins are in circulation|how many bitcoin are there"
            "|cuantos bitcoins hay en circulacion|how much BTC is in circulation",
        ),
        (
            "max_supply",
            "max supply of btc|whats the max supply of bitcoin|how many bitcoins will there ever be",
        ),
        ("total_supply", "total supply of btc"),
        ("rank", "rank of bitcoin|what rank is bitcoin|what number is bitcoin by market cap|bitcoin rank"),
        ("change_7d", "btc 7d change|how much is bitcoin up this week|btc change this week"),
        ("change_30d", "btc change this month"),
        ("high_24h", "24h high of bitcoin|btc high today"),
        ("dominance", "btc dominance|what is bitcoin's dominance right now|bitcoin dominanz"),
    ],
)
def test_market_figures_are_recognised(metric: str, texts: str) -> None:
    for text in texts.split("|"):
        assert asked(text) == (metric, ("bitcoin",), "usd"), text


def test_pegs_lists_and_the_whole_market_are_recognised() -> None:
    for text in (
        *("is tether still at a dollar", "did tether lose its peg", "is usdt depegged", "usdt peg"),
        *("is usdt stable", "ist tether noch einen dollar wert", "l'usdt vaut-il toujours un dollar"),
        "is tether still 1 dollar",
    ):
        assert asked(text) == ("peg", ("tether",), "usd"), text
    assert asked("is eurc still at one euro") == ("peg", ("euro-coin",), "eur")
    for metric, texts in {
        "gainers": "biggest gainers today crypto|top crypto gainers|which coins are up the most today"
        "|was sind die größten gewinner bei krypto heute",
        "losers": "biggest crypto losers|worst performing coins today|top 3 losers among coins",
        "trending": "whats trending in crypto|trending coins|criptomonedas en tendencia"
        "|cryptos les plus populaires",
        "total_market_cap": "total crypto market cap|how big is the crypto market",
    }.items():
        for text in texts.split("|"):
            assert asked(text) == (metric, (), "usd"), text


@pytest.mark.parametrize(
    "text",
    """
    what is market cap|what does ath mean|what is a stablecoin peg|why did terra lose its peg
    how does usdc keep its peg|should i buy at the ath|who has the all time high score in pac-man
    what's trending on youtube|biggest gainers in the premier league|top gainers|is bitcoin stable
    how many coins are in a roll|what is fully diluted valuation|why is circulating supply important
    highest mountain ever|market cap of apple|difference between bitcoin and ethereum|bitcoin vs ethereum
    half of all bitcoin holders|double bitcoin scam|did usdc lose its peg in march 2023|near ath
    biggest gainers this week crypto|how many links are there|one bitcoin times square
    """.replace("\n", "|").split("|"),
)
def test_what_only_mentions_a_coin_is_left_alone(text: str) -> None:
    assert claim(text.strip(), TODAY) is None or not text.strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how far is BTC below its ath", ("ath", ("bitcoin",), "usd")),
        ("how far off its all-time high is eth", ("ath", ("ethereum",), "usd")),
        ("how far is bitcoin cash down from its peak", ("ath", ("bitcoin-cash",), "usd")),
        ("has btc reached a new ATH", ("ath", ("bitcoin",), "usd")),
        ("how much is bitcoin down today", ("change_24h", ("bitcoin",), "usd")),
        ("which coin has the biggest market cap", ("top", (), "usd")),
        ("does EURC hold its euro peg", ("peg", ("euro-coin",), "eur")),
        ("how far is USDC from one dollar", ("peg", ("usd-coin",), "usd")),
        ("show me the trending list", ("trending", (), "usd")),
        ("welche coins sind gerade im trend", ("trending", (), "usd")),
    ],
)
def test_distances_records_and_lists_are_recognised(
    text: str, expected: tuple[str, tuple[str, ...], str]
) -> None:
    assert asked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "which company has the biggest market cap",
        "has inflation reached a new record high",
        "how far is everest from its peak",
        "trending list on youtube",
        "welche filme sind gerade im trend",
    ],
)
def test_distances_records_and_lists_of_others_are_left_alone(text: str) -> None:
    assert claim(text, TODAY) is None


async def test_market_figures_are_said(adapter: CoinGecko) -> None:
    ath = await said(adapter, "btc ath")
    assert ath.startswith(
        "The all-time high of Bitcoin (BTC) is $126,080.00, reached on 2025-10-06 (it is now"
    )
    assert "38.40% below that), according to CoinGecko at 2026-05-18 08:17 UTC" in ath
    assert (await said(adapter, "max supply of btc")).startswith(
        "The maximum supply of Bitcoin (BTC) is 21,000,0"
    )
    assert "has no maximum supply that is stated" in await said(adapter, "max supply of dogecoin")
    assert "changed by −4.04% in 7 days, to $76,975.00" in await said(adapter, "btc change this week")
    assert "Cardano (ADA) is number 12 by market cap" in await said(adapter, "rank of cardano")
    assert "makes up 57.95% of the crypto market cap" in await said(adapter, "btc dominance")
    assert "together is €2,250,000,000,000" in await said(adapter, "total crypto market cap in euros")
    assert isinstance(await outcome_of(adapter, "dominance of dogecoin"), Missed)
    assert isinstance(await outcome_of(adapter, "fdv of ada"), Missed)


async def test_a_peg_is_said_as_it_stands(adapter: CoinGecko, cg: CoinGeckoStandIn) -> None:
    assert (await said(adapter, "did tether lose its peg")).startswith(
        "Tether (USDT) is at its peg at the moment: it trades at $0.9998, 0.02% below $1.00"
    )
    assert "has lost its peg" in await said(adapter, "is usdc still at a dollar")


async def test_lists_are_said(adapter: CoinGecko) -> None:
    losers = await said(adapter, "top 2 crypto losers")
    assert "lost most in 24 h: 1. Solana (SOL) −7.30% to $85.25; 2. USDC −2.60%" in losers
    assert "searched for at the moment are 1. dogwifhat (WIF); 2. Solana (SOL)" in await said(
        adapter, "trending coins"
    )


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
    adapter: CoinGecko, cg: CoinGeckoStandIn, path: str, body: str, text: str
) -> None:
    cg.misbehave("body", None, path, text=body)
    assert isinstance(await outcome_of(adapter, text), Failed | Missed)


# --- sums ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expr", "answer"),
    [
        ("what are 3.5 btc in euros plus 200", "3.5*{bitcoin}+200", "3.5 BTC + 200 = €231,243.75"),
        (
            "value of 12 sol and 0.3 btc together",
            "12*{solana}+0.3*{bitcoin}",
            "12 SOL + 0.3 BTC = $24,115.50",
        ),
        ("was sind 0.5 btc und 2 eth zusammen wert", "0.5*{bitcoin}+2*{ethereum}", "= $42,734.40"),
        ("i have 2 btc and 3 eth, what are they worth", "2*{bitcoin}+3*{ethereum}", "= $160,320.35"),
        ("btc price plus 10%", "{bitcoin}+10%", "BTC + 10% = $84,672.50"),
        ("15% of 2 eth in euros", "15% of (2*{ethereum})", "= €546.03"),
        ("(2 btc + 3 eth) / 2 in usd", "(2*{bitcoin}+3*{ethereum})/2", "= $80,160.18"),
        ("0.1 btc in usd divided by 12", "0.1*{bitcoin}/12", "= $641.46"),
        ("how many eth is one bitcoin", "{bitcoin}/{ethereum}", "= 36.2499705667663"),
        ("difference between btc and eth price", "abs({ethereum}-{bitcoin})", "= $74,851.55"),
        ("1 btc minus 100k usd", "1*{bitcoin}-100000", "= −$23,025.00"),
    ],
)
async def test_a_sum_is_computed_over_the_price(
    adapter: CoinGecko, text: str, expr: str, answer: str
) -> None:
    found = claim(text, TODAY)
    assert found is not None
    assert found.question.expr == expr
    told = await said(adapter, text)
    assert answer in told
    assert "(BTC at" in told or "(ETH at" in told or "(BTC" in told
    assert "according to CoinGecko at 2026-05-18" in told


def test_a_plain_multiple_is_an_amount() -> None:
    for text in ("double the price of eth", "2 eth", "price of 2 eth"):
        found = claim(text, TODAY)
        assert found is not None
        assert (found.question.amount, found.question.expr) == ("2", None)


def test_money_of_two_kinds_is_not_added() -> None:
    assert claim("2 btc in dollars plus 200 euros", TODAY) is None


async def test_foreign_slots_are_refused(adapter: CoinGecko) -> None:
    for expr in ("__import__('os')", "{bitcoin}+{ethereum}", "2+2", "9" * 400, None):
        slots = {"ids": ("bitcoin",), "vs": "usd", "metric": "sum", "expr": expr}
        recognition = Recognition("coingecko", slots, "k", False, "")
        outcome = await adapter.ask(recognition, Query("id", "x", "x", Caller(), NOW, FAR))
        assert isinstance(outcome, Missed), expr
    assert (
        question_of(
            Recognition("coingecko", {"ids": (), "vs": "usd", "metric": "ath"}, "k", False, ""), TODAY
        )
        is None
    )


def test_it_goes_on() -> None:
    today = date(2026, 5, 18)
    for earlier, fragment, metric, ids in (
        ("btc ath", "and eth?", "ath", ("ethereum",)),
        ("price of btc", "and its all time high?", "ath", ("bitcoin",)),
        ("circulating supply of bitcoin", "and the max supply", "max_supply", ("bitcoin",)),
    ):
        words = follow.follow_up(fragment, earlier, today)
        assert words is not None, fragment
        assert asked(words)[:2] == (metric, ids)
