"""The CoinGecko adapter: what it claims, what it says, and what it does to a source that errs, lies or hangs.

The other side is a stand-in on loopback (see ``tests.simulators.coingecko``), checked against the recorded
answers where those are at hand.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import aiohttp
import pytest

from adapters.coins.coingecko import LINES, CoinGecko
from adapters.coins.coingecko_client import WAIT_UNSTATED_S
from node.core.clock import SystemClock
from node.core.guard import Guard
from node.core.model import Failed, Found, Freshness, Missed, Outcome, Unclear
from node.core.settings import AdapterSettings
from tests.manual_clock import ManualClock
from tests.simulators.coingecko import QUOTED_AT, CoinGeckoStandIn
from tests.unit.adapters.asking import Asking
from tests.unit.adapters.guards import single
from tests.unit.adapters.tables import rows

NOW = datetime(2026, 5, 18, 8, 20, tzinfo=UTC)
TIMEOUT_S = 4.0
PAST = "price of bitcoin on 1 January 2024"
Coins: TypeAlias = Asking[CoinGecko, ManualClock]


@pytest.fixture
async def cg() -> AsyncIterator[CoinGeckoStandIn]:
    async with CoinGeckoStandIn() as stand_in:
        yield stand_in


class Maker:
    """Makes adapters over the stand-in, on the clock of the test, and closes them."""

    def __init__(self, cg: CoinGeckoStandIn) -> None:
        self.cg = cg
        self.clock = ManualClock(NOW)
        self.made: list[CoinGecko] = []

    def __call__(self, guard: Guard | None = None, **more: Any) -> Coins:
        settings = AdapterSettings(base_url=self.cg.url, **{"timeout_s": TIMEOUT_S, **more})
        self.made.append(CoinGecko(settings, self.clock, guard))
        return Asking(self.made[-1], self.clock)

    def single(self, **more: Any) -> Coins:
        """Where one fault is one request."""
        return self(single("CoinGecko", self.clock, **more))


@pytest.fixture
async def make(cg: CoinGeckoStandIn) -> AsyncIterator[Maker]:
    maker = Maker(cg)
    yield maker
    for made in maker.made:
        await made.close()


@pytest.fixture
def coins(make: Maker) -> Coins:
    return make.single()


# --- what is claimed ----------------------------------------------------------------------------------


def test_an_unknown_name_in_crypto_context_is_passed_on(coins: Coins) -> None:
    recognition = coins.recognised("price of pepecoin token")
    assert (recognition.unresolved, recognition.slots["ids"], recognition.key) == (("pepecoin",), (), None)


def test_slots_are_exactly_the_agreed_ones(coins: Coins) -> None:
    assert dict(coins.recognised("how much were 2 btc in euros on 1 January 2024").slots) == {
        "ids": ("bitcoin",),
        "vs": "eur",
        "metric": "price",
        "amount": "2",
        "date": "2024-01-01",
        "limit": None,
    }


@pytest.mark.parametrize(("day", "meant"), [(18, "2026-05-17"), (19, "2026-05-18")])
def test_the_day_is_said_in_the_slot_and_meant_in_the_key(coins: Coins, day: int, meant: str) -> None:
    now = datetime(2026, 5, day, 1, 30, tzinfo=ZoneInfo("Asia/Tokyo"))
    recognition = coins.adapter.recognise("price of bitcoin yesterday", now)
    assert recognition is not None
    assert recognition.slots["date"] == "yesterday"
    assert recognition.key == f"price:bitcoin:usd:date={meant}", "the asker's yesterday, not that of UTC"


def test_follow_ups_are_certain_questions(coins: Coins) -> None:
    words = coins.adapter.follow_up("and ETH?", "price of btc in euros", NOW)
    assert words is not None
    found = coins.recognised(words)
    assert (found.key, found.strength) == ("price:ethereum:eur", 1.0)
    assert coins.adapter.follow_up("and ETH?", "who wrote Hamlet?", NOW) is None


# --- what is said -------------------------------------------------------------------------------------


async def test_a_live_price_with_source_and_time(coins: Coins) -> None:
    evidence = await coins.found("price of btc")
    assert evidence.text == (
        "Bitcoin (BTC) is trading at $76,975.00 (−1.41% in 24 h), according to CoinGecko at "
        "2026-05-18 08:17 UTC."
    )
    assert evidence.freshness is Freshness.PRICE
    assert evidence.confidence == 0.95
    assert evidence.key == "price:bitcoin:usd"
    assert evidence.data["last_updated_at"] == QUOTED_AT
    assert evidence.data["stale"] is False
    [citation] = evidence.citations
    assert citation.source == "CoinGecko"
    assert citation.time == datetime.fromtimestamp(QUOTED_AT, UTC)
    assert citation.url == evidence.source.url == "https://www.coingecko.com/en/coins/bitcoin"


async def test_prices_are_figures_to_compare(coins: Coins) -> None:
    evidence = await coins.found("price of btc and eth")
    assert dict(evidence.figures) == {"bitcoin": "76975", "ethereum": "2123.45"}
    amount = await coins.found("how much is 2.5 btc")
    assert dict(amount.figures) == {"bitcoin": "76975"}, "the price, not the product"
    for text in ("market cap of btc", PAST, "top 2 cryptocurrencies"):
        assert not (await coins.found(text)).figures


async def test_a_said_day_is_resolved_on_the_asker_s_clock(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.coins["bitcoin"].past["2026-05-18"] = {"usd": 77_000.0}
    coins.clock.set_wall(datetime(2026, 5, 18, 20, 0, tzinfo=UTC))  # the 19th in Tokyo
    evidence = await coins.found("btc price yesterday", zone=ZoneInfo("Asia/Tokyo"))
    assert "$77,000.00 on 2026-05-18" in evidence.text
    assert evidence.key == "price:bitcoin:usd:date=2026-05-18"
    assert evidence.slots["date"] == "yesterday"


async def test_a_judgement_gets_the_price_as_context(coins: Coins) -> None:
    assert "$76,975.00" in await coins.said("What's the ROI of BTC?")


async def test_amounts_are_multiplied_exactly(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.set_price("ethereum", eur=1820.100000000001)
    evidence = await coins.found("how much is 2.5 ETH in euros")
    total = Decimal("2.5") * Decimal("1820.100000000001")
    assert evidence.data["coins"]["ethereum"]["total"] == str(total)
    assert "2.5 ETH is worth €4,550.25 (at €1,820.10 each)" in evidence.text


@pytest.mark.parametrize(
    ("text", "price", "part"),
    [
        ("100 usd in btc", 80_000, "$100 buys 0.00125 BTC (at $80,000.00 each)"),
        ("$0.50 in btc", 80_000, "$0.50 buys 0.00000625 BTC (at $80,000.00 each)"),
        ("100 usd in btc", 76_975, "$100 buys 0.0012991231 BTC (at $76,975.00 each)"),
        ("3,000,000 usd in btc", 76_975, "$3,000,000 buys 38.97369276 BTC (at $76,975.00 each)"),
    ],
)
async def test_money_is_divided_by_the_price(
    coins: Coins, cg: CoinGeckoStandIn, text: str, price: float, part: str
) -> None:
    cg.set_price("bitcoin", usd=price)
    evidence = await coins.found(text)
    assert evidence.text.startswith(f"{part}, according to CoinGecko")
    assert evidence.slots["amount"] is None
    assert dict(evidence.figures) == {"bitcoin": format(Decimal(str(price)), "f")}
    assert evidence.key != (await coins.found("price of btc")).key


@pytest.mark.parametrize("money", ["0", "-5", "1e9", "", 100, "1" * 60])
async def test_money_that_no_reader_makes_is_refused(coins: Coins, money: str | int) -> None:
    recognition = coins.recognised("100 usd in btc")
    forged = replace(recognition, slots={**recognition.slots, "money": money})
    assert isinstance(await coins.adapter.ask(forged, coins.query("x")), Missed)


@pytest.mark.parametrize(("text", "part"), rows("coins", "answers"))
async def test_other_figures(coins: Coins, text: str, part: str) -> None:
    said = await coins.said(text)
    assert part in said
    assert said.endswith("according to CoinGecko at 2026-05-18 08:17 UTC.")


async def test_a_past_price(coins: Coins, cg: CoinGeckoStandIn) -> None:
    evidence = await coins.found(PAST)
    assert evidence.text == (
        "Bitcoin (BTC) was worth $42,208.20 on 2024-01-01 (00:00 UTC), according to CoinGecko."
    )
    assert evidence.freshness is Freshness.PAST_PRICE
    assert evidence.source.time == datetime(2024, 1, 1, tzinfo=UTC)
    assert cg.requests[0].path.endswith("/coins/bitcoin/history")
    assert cg.requests[0].query["date"] == "01-01-2024", "day first"


async def test_a_day_without_a_price_is_missed(coins: Coins) -> None:
    outcome = await coins.outcome("price of bitcoin on 2 January 2009")
    assert isinstance(outcome, Missed)
    assert "2009-01-02" in outcome.reason


async def test_names_are_looked_up_and_close_calls_named(coins: Coins, cg: CoinGeckoStandIn) -> None:
    plain = await coins.found("price of $WIF")
    assert plain.text.startswith("dogwifhat (WIF) is trading at $0.215")
    assert plain.key == "price:dogwifcoin:usd"
    assert plain.slots["ids"] == ("dogwifcoin",)
    assert "Other coins" not in plain.text
    close = await coins.found("pepecoin token price")
    assert close.text.startswith("PepeCoin is trading at $0.07")
    assert "Other coins share that name: Pepecoin (stand-in) (PEPECOIN)." in close.text
    await coins.found("price of $WIF")
    assert cg.count("/search") == 2, "names are remembered"


@pytest.mark.parametrize(
    ("text", "name"), [("nosuchthing token price", "nosuchthing"), ("price of zorgcoin", "zorgcoin")]
)
async def test_of_a_name_that_nobody_has_it_says_so(coins: Coins, text: str, name: str) -> None:
    """No model is to guess a price of it."""
    outcome = await coins.outcome(text)
    assert isinstance(outcome, Unclear)
    assert outcome.ask.startswith(f"CoinGecko lists no coin called {name}, so there is no figure")


@pytest.mark.parametrize(
    ("age_s", "said"), [(5 * 3_600, "several hours old"), (3 * 86_400, "more than a day old")]
)
async def test_an_old_quote_says_so(coins: Coins, cg: CoinGeckoStandIn, age_s: int, said: str) -> None:
    cg.coins["bitcoin"].updated = QUOTED_AT - age_s
    evidence = await coins.found("price of btc")
    assert said in evidence.text
    assert evidence.confidence == 0.75


async def test_an_impossible_fall_is_left_out(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.misbehave("figure", value=-5_000, fields=("usd_24h_change",))
    evidence = await coins.found("price of btc")
    assert "in 24 h" not in evidence.text
    assert "$76,975.00" in evidence.text


async def test_missing_extras_are_left_out(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.misbehave("null_fields")
    evidence = await coins.found("price of btc")
    assert evidence.text.startswith(
        "Bitcoin (BTC) is trading at $76,975.00, according to CoinGecko, which did"
    )
    assert evidence.confidence == 0.75
    cg.misbehave("null_fields")
    outcome = await coins.outcome("market cap of solana")
    assert outcome == Missed("CoinGecko does not state the market cap of Solana (SOL)")


# --- one call for many --------------------------------------------------------------------------------


async def test_two_hundred_questions_are_one_request(coins: Coins, cg: CoinGeckoStandIn) -> None:
    wordings = [
        "price of btc",
        "Bitcoin value",
        "BTC worth today",
        "market cap of bitcoin",
        "24h change of btc",
    ]
    outcomes = await asyncio.gather(*(coins.outcome(wordings[n % 5]) for n in range(200)))
    assert all(isinstance(outcome, Found) for outcome in outcomes)
    assert cg.count() == 1
    coins.clock.advance(31)
    await coins.found("price of btc")
    assert cg.count() == 2


async def test_no_cache_asks_again_and_max_age_is_kept(coins: Coins, cg: CoinGeckoStandIn) -> None:
    await coins.found("price of btc")
    await coins.found("price of btc", no_cache=True)
    assert cg.count() == 2
    coins.clock.advance(10)
    await coins.found("price of btc", max_age_s=5)
    assert cg.count() == 3


CURRENCIES = ("usd", "eur", "gbp", "jpy", "inr", "krw", "chf", "aud", "cad", "nzd", "sgd", "hkd")


async def test_default_limits_hold(make: Maker, cg: CoinGeckoStandIn) -> None:
    made = make()
    cg.set_price("bitcoin", **dict.fromkeys(CURRENCIES, 1_000.0))
    outcomes = [await made.outcome(f"price of btc in {vs}") for vs in CURRENCIES]
    assert [isinstance(outcome, Found) for outcome in outcomes] == [True] * 10 + [False] * 2
    refused = outcomes[-1]
    assert isinstance(refused, Failed)
    assert (refused.code, refused.retry_after_s) == ("rate_limited", 60.0)
    assert cg.count() == 10


async def test_no_window_is_exceeded_in_an_hour_of_different_questions(
    make: Maker, cg: CoinGeckoStandIn
) -> None:
    made = make()
    starts: list[float] = []
    outcomes: list[Outcome] = []
    for asked in range(720):  # two every ten seconds
        day = (NOW - timedelta(days=asked + 1)).date().isoformat()
        before = cg.count()
        outcomes.append(await made.outcome(f"price of btc on {day}"))
        starts += [made.clock.monotonic()] * (cg.count() - before)
        made.clock.advance(10 * (asked % 2))
    assert all(
        isinstance(one, Found | Missed) or (isinstance(one, Failed) and one.code == "rate_limited")
        for one in outcomes
    )
    assert len(starts) == 600, "the limit is used, and no more"
    assert all(later - first >= 60 for first, later in zip(starts, starts[10:], strict=False))


async def test_five_hundred_different_questions_at_once_lose_none(make: Maker, cg: CoinGeckoStandIn) -> None:
    made = make()
    days = [(NOW - timedelta(days=n)).date().isoformat() for n in range(1, 501)]
    asking = [asyncio.create_task(made.outcome(f"price of btc on {day}")) for day in days]
    await cg.wait_for(10)
    made.clock.advance(TIMEOUT_S)
    outcomes = await asyncio.gather(*asking)
    assert all(isinstance(one, Found | Missed | Failed) for one in outcomes)
    assert cg.count() == 10


# --- a source that errs, lies or hangs ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "code", "reason"),
    [
        ("throttle", {"retry_after": 119}, "rate_limited", "limit"),
        ("throttle", {"retry_after": None}, "rate_limited", "limit"),
        ("throttle_in_200", {}, "rate_limited", "limit"),
        ("refuse", {}, "unreachable", "reached"),
        ("cut", {}, "unreachable", "reached"),
        ("html", {"status": 200}, "bad_answer", "not JSON"),
        ("html", {"status": 503}, "unreachable", "503"),
        ("html", {"status": 403}, "refused", "403"),
        ("status_error", {"code": 10002}, "refused", "key is missing"),
        ("status_error", {"code": 10005, "status": 200}, "refused", "plan"),
        ("nested_error", {"code": 10010}, "refused", "wrong kind"),
        ("nested_error", {"code": 10011, "status": 200}, "refused", "wrong kind"),
        ("nested_error", {"code": 429, "status": 200}, "rate_limited", "limit"),
        ("status_error", {"code": 1234, "status": 200}, "bad_answer", "1234"),
        ("text_error", {"text": "Something", "status": 200}, "bad_answer", "error"),
        ("text_error", {"text": "Something", "status": 400}, "bad_answer", "400"),
        ("status", {"status": 500}, "bad_answer", "500"),
        ("status", {"status": 502}, "unreachable", "502"),
        ("status", {"status": 503}, "unreachable", "503"),
        ("status", {"status": 503, "headers": {"Retry-After": "40"}}, "rate_limited", "overloaded"),
        ("status", {"status": 504}, "unreachable", "504"),
        ("oversized", {"declared": True, "size": 5_000_000}, "bad_answer", "bytes"),
        ("oversized", {"declared": False, "size": 5_000_000}, "bad_answer", "bytes"),
        ("nested_json", {}, "bad_answer", "nested"),
        ("body", {"text": ""}, "bad_answer", "not JSON"),
        ("body", {"text": "null"}, "bad_answer", "prices"),
        ("body", {"text": "[76975]"}, "bad_answer", "prices"),
        ("body", {"text": '{"bitcoin": 76975}'}, "bad_answer", "figures"),
        ("body", {"text": '{"bitcoin": {"eur": 76975}}'}, "bad_answer", "USD"),
        ("body", {"text": f'{{"bitcoin": {{"usd": {"9" * 5_000}}}}}'}, "bad_answer", "JSON"),
        ("body", {"text": '{"ethereum": {"usd": 2000}}'}, "bad_answer", "lists no coin bitcoin"),
        ("missing_id", {}, "bad_answer", "lists no coin bitcoin"),
        ("figure", {"value": math.nan}, "bad_answer", "price"),
        ("figure", {"value": math.inf}, "bad_answer", "price"),
        ("figure", {"value": -76975}, "bad_answer", "price"),
        ("figure", {"value": 0}, "bad_answer", "price"),
        ("figure", {"value": "76975"}, "bad_answer", "price"),
        ("figure", {"value": None}, "bad_answer", "price"),
        ("figure", {"value": True}, "bad_answer", "price"),
        ("figure", {"value": 1e300}, "bad_answer", "price"),
        ("figure", {"value": [76975]}, "bad_answer", "price"),
        ("figure", {"value": "now", "fields": ("last_updated_at",)}, "bad_answer", "time"),
        ("figure", {"value": 1_779_092_258_000, "fields": ("last_updated_at",)}, "bad_answer", "time"),
        ("figure", {"value": 1_900_000_000, "fields": ("last_updated_at",)}, "bad_answer", "future"),
        ("figure", {"value": math.nan, "fields": ("usd_24h_change",)}, "bad_answer", "change"),
        ("figure", {"value": -1, "fields": ("usd_market_cap",)}, "bad_answer", "market cap"),
    ],
)
async def test_every_fault_is_a_clear_failure_and_never_a_figure(
    coins: Coins, cg: CoinGeckoStandIn, kind: str, options: dict[str, Any], code: str, reason: str
) -> None:
    cg.misbehave(kind, **options)
    outcome = await coins.failed("price of btc")
    assert outcome.code == code, outcome
    assert reason in outcome.reason
    assert "76" not in outcome.reason
    assert cg.count() == 1
    coins.clock.advance(3_600)
    await coins.found("price of btc")


async def test_an_unknown_coin_of_the_history_is_missed(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.misbehave("text_error", text="coin not found", status=404)
    assert isinstance(await coins.outcome(PAST), Missed)


@pytest.mark.parametrize(
    "body",
    [
        '{"id": "ethereum", "market_data": {"current_price": {"usd": 42208.2}}}',
        '{"id": "bitcoin", "market_data": {"current_price": {"usd": "42208.2"}}}',
        '{"id": "bitcoin", "market_data": {"current_price": {"usd": NaN}}}',
        '{"id": "bitcoin", "market_data": [42208.2]}',
        '{"id": "bitcoin", "market_data": {"current_price": 42208.2}}',
        "[]",
    ],
)
async def test_lies_about_the_past_are_refused(coins: Coins, cg: CoinGeckoStandIn, body: str) -> None:
    cg.misbehave("body", text=body)
    assert await coins.code(PAST) == "bad_answer"


@pytest.mark.parametrize(
    "body",
    [
        "{}",
        '{"coins": {}}',
        '{"coins": [7]}',
        '{"coins": [{"id": "../../ping", "symbol": "WIF", "name": "x", "market_cap_rank": 1}]}',
        '{"coins": [{"id": "x", "symbol": "WIF", "market_cap_rank": 1}]}',
    ],
)
async def test_lies_of_the_search_are_refused(coins: Coins, cg: CoinGeckoStandIn, body: str) -> None:
    cg.misbehave("body", text=body, path="/search")
    assert await coins.code("price of $WIF") == "bad_answer"
    assert cg.count() == 1


@pytest.mark.parametrize("value", [math.nan, -1, 0, "1", None])
async def test_lies_in_the_list_are_refused(coins: Coins, cg: CoinGeckoStandIn, value: object) -> None:
    cg.misbehave("figure", value=value)
    assert await coins.code("top 3 cryptocurrencies") == "bad_answer"


async def test_outside_names_are_cleaned(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.coins["dogwifcoin"].name = "dog\u202e\x1b[31m\nwif" + "x" * 500
    evidence = await coins.found("price of $WIF")
    assert evidence.text.isprintable()
    assert len(evidence.text) < 250


async def test_redirects_are_not_followed(coins: Coins, cg: CoinGeckoStandIn) -> None:
    async with CoinGeckoStandIn() as elsewhere:
        cg.misbehave("redirect", to=f"{elsewhere.url}/simple/price")
        outcome = await coins.failed("price of btc")
        assert outcome.code == "bad_answer"
        assert "redirect" in outcome.reason
        assert elsewhere.count() == 0


async def test_the_stated_wait_holds_for_every_question(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.misbehave("throttle", retry_after=119)
    assert (await coins.failed("price of btc")).retry_after_s == 119
    for text in ("price of eth", "top 3 cryptocurrencies", PAST, "price of $WIF"):
        outcome = await coins.failed(text)
        assert outcome.code == "rate_limited", text
        assert outcome.retry_after_s == pytest.approx(119), text
    assert cg.count() == 1
    check = coins.adapter.health()
    assert check.status == "warn"
    assert "wait 119 s" in check.output
    coins.clock.advance(120)
    await coins.found("price of eth")
    assert coins.adapter.health().status == "pass"


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (format_datetime(NOW + timedelta(seconds=45), usegmt=True), 45.0),
        (format_datetime(NOW - timedelta(days=9), usegmt=True), 0.0),
        ("soon", WAIT_UNSTATED_S),
        ("-5", WAIT_UNSTATED_S),
        ("9" * 40, WAIT_UNSTATED_S),
    ],
)
async def test_the_wait_may_be_a_date_or_rubbish(
    coins: Coins, cg: CoinGeckoStandIn, stated: str, expected: float
) -> None:
    cg.misbehave("throttle", retry_after=stated)
    assert (await coins.failed("price of btc")).retry_after_s == pytest.approx(expected)


async def test_a_stale_figure_bridges_a_failure_and_says_so(coins: Coins, cg: CoinGeckoStandIn) -> None:
    await coins.found("price of btc")
    coins.clock.advance(600)
    cg.misbehave("status", status=503)
    evidence = await coins.found("price of btc")
    assert evidence.data["stale"] is True
    assert "could not be asked just now; this was fetched 10 min ago" in evidence.text
    coins.clock.advance(3_600)
    cg.misbehave("status", status=503)
    assert await coins.code("price of btc") == "unreachable"


async def test_passing_faults_are_retried_within_limits(cg: CoinGeckoStandIn) -> None:
    clock = SystemClock()
    guard = single("CoinGecko", clock, attempts=3)
    made = Asking(CoinGecko(AdapterSettings(base_url=cg.url, timeout_s=10), clock, guard), clock)
    cg.coins["bitcoin"].updated = int(clock.now().timestamp())
    cg.misbehave("status", status=502)
    cg.misbehave("refuse")
    await made.found("price of btc")
    assert cg.count() == 3
    cg.misbehave("status", times=None, status=503)
    assert await made.code("price of eth") == "unreachable"
    assert cg.count() == 6
    await made.adapter.close()


async def test_an_open_breaker_answers_at_once(make: Maker, cg: CoinGeckoStandIn) -> None:
    made = make.single(breaker_failures=2)
    cg.misbehave("refuse", times=2)
    for _ in range(2):
        await made.failed("price of btc")
    outcome = await made.failed("price of btc")
    assert outcome.code == "breaker_open"
    assert outcome.retry_after_s == pytest.approx(30)
    assert cg.count() == 2
    assert "asked again in 30 s" in made.adapter.health().output
    made.clock.advance(30)
    await made.found("price of btc")


# --- time and threads ---------------------------------------------------------------------------------


async def lines_back(coins: Coins) -> None:
    """Until every thread has come back; a real one takes a moment of real time."""
    async with asyncio.timeout(10):
        await coins.adapter._client.settle()
    assert coins.adapter._client.free == LINES


@pytest.mark.parametrize("kind", ["hang", "drip", "drip_head"])
async def test_a_source_that_never_ends_holds_neither_caller_nor_thread(
    coins: Coins, cg: CoinGeckoStandIn, kind: str
) -> None:
    cg.misbehave(kind, times=None)
    for _ in range(3):
        seen = cg.count()
        asking = [
            asyncio.create_task(coins.code(f"price of {coin}")) for coin in ("btc", "eth", "xrp", "ltc")
        ]
        await cg.wait_for(seen + 4)
        coins.clock.advance(TIMEOUT_S)
        assert await asyncio.gather(*asking) == ["timeout"] * 4
        await lines_back(coins)
    cg.behave()
    await coins.found("price of btc")


async def test_more_hanging_questions_than_threads(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.misbehave("hang", times=None)
    asking = [asyncio.create_task(coins.code(f"price of btc in {vs}")) for vs in CURRENCIES[:10]]
    await cg.wait_for(4)
    assert cg.count() == 4, "no more at a time"
    assert coins.adapter.health().status == "pass", "health answers meanwhile"
    coins.clock.advance(TIMEOUT_S)
    assert await asyncio.gather(*asking) == ["timeout"] * 10
    cg.behave()
    await coins.found("price of btc")
    await lines_back(coins)


async def test_cancelled_questions_leak_nothing(coins: Coins, cg: CoinGeckoStandIn) -> None:
    before = asyncio.all_tasks()
    cg.misbehave("hang", times=None, path="/simple/price")
    asking = [asyncio.create_task(coins.outcome("price of btc")) for _ in range(5)]
    await cg.wait_for(1)
    for task in asking:
        task.cancel()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    await lines_back(coins)
    cg.behave()
    await coins.found("price of btc")
    ours = {task for task in asyncio.all_tasks() - before if "guard" in repr(task.get_coro())}
    assert ours == set()


async def test_closing_ends_a_hanging_call(coins: Coins, cg: CoinGeckoStandIn) -> None:
    cg.misbehave("hang", times=None)
    asking = asyncio.create_task(coins.code("price of btc"))
    await cg.wait_for(1)
    await coins.adapter.close()
    assert await asking == "unreachable"
    assert await coins.code("price of eth") == "unreachable"


# --- the key and the way out --------------------------------------------------------------------------


async def test_the_key_travels_in_a_header_only(
    make: Maker, cg: CoinGeckoStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = make(single("CoinGecko", make.clock), api_key="CG-secret")
    await made.found("price of btc")
    cg.misbehave("status_error", code=10002)
    outcome = await made.failed("price of eth")
    [seen, _] = cg.requests
    assert seen.headers["x-cg-demo-api-key"] == "CG-secret"
    assert "secret" not in json.dumps(seen.query)
    shown = repr(AdapterSettings(api_key="CG-secret"))
    assert "secret" not in outcome.reason + made.adapter.health().output + caplog.text + shown


async def test_proxies_and_netrc_of_the_environment_are_ignored(
    coins: Coins, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    await coins.found("price of btc")


# --- the stand-in against the recorded answers --------------------------------------------------------


def shape(value: object) -> object:
    """Types and keys of a JSON value, lists by their first element; numbers are one type."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def within(ours: object, theirs: object) -> bool:
    """Every key of ours is theirs too, with the same shape."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return all(name in theirs and within(inner, theirs[name]) for name, inner in ours.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        return not ours or not theirs or within(ours[0], theirs[0])
    return ours == theirs


@pytest.mark.parametrize(
    ("path", "recorded"),
    [
        ("/ping", "ping.json"),
        (
            "/simple/price?ids=bitcoin&vs_currencies=usd&include_market_cap=true&include_24hr_vol=true"
            "&include_24hr_change=true&include_last_updated_at=true",
            "simple_price_full.json",
        ),
        ("/simple/price?ids=bitcoin&vs_currencies=usd", "simple_price_min.json"),
        ("/coins/markets?vs_currency=usd&per_page=1", "coins_markets_oas.json"),
        ("/search?query=ethereum", "search_ethereum.json"),
        ("/coins/bitcoin/history?date=01-01-2024", "coin_history_bitcoin.json"),
    ],
)
async def test_the_stand_in_speaks_the_recorded_shapes(
    cg: CoinGeckoStandIn, vendor_fixtures: Path, path: str, recorded: str
) -> None:
    theirs = shape(json.loads((vendor_fixtures / "coingecko" / recorded).read_bytes()))
    async with aiohttp.ClientSession() as session, session.get(cg.url + path) as response:
        ours = shape(await response.json())
    assert within(ours, theirs)


@pytest.mark.parametrize(
    ("kind", "options", "recorded"),
    [
        ("throttle", {"retry_after": 119}, "error_429.json"),
        ("throttle_in_200", {}, "error_429_in_200.json"),
        ("status_error", {"code": 10002}, "error_401_bad_key.json"),
        ("text_error", {}, "error_404_coin.json"),
        ("missing_id", {}, "simple_price_unknown_id.json"),
    ],
)
async def test_the_stand_in_errs_like_the_recorded_errors(
    cg: CoinGeckoStandIn, vendor_fixtures: Path, kind: str, options: dict[str, Any], recorded: str
) -> None:
    theirs = json.loads((vendor_fixtures / "coingecko" / recorded).read_bytes())
    cg.misbehave(kind, **options)
    address = cg.url + "/simple/price?ids=bitcoin&vs_currencies=usd"
    async with aiohttp.ClientSession() as session, session.get(address) as response:
        assert response.status == theirs["http_status"]
        assert response.headers.get("retry-after") == theirs["headers"].get("retry-after")
        assert shape(await response.json()) == shape(theirs["body"])


@pytest.mark.parametrize(
    ("recorded", "text", "part"),
    [
        ("simple_price_full.json", "price of btc", "$76,975.00 (−1.41% in 24 h)"),
        ("simple_price_min.json", "price of btc", "$42,317.00, according to CoinGecko, which did not state"),
        ("coins_markets_2023.json", "top 2 cryptocurrencies", "1. Bitcoin (BTC) at $43,602.00"),
        ("coins_markets_oas.json", "top 1 cryptocurrencies", "Bitcoin (BTC) at $77,671.00"),
        ("coin_history_bitcoin.json", PAST, "$42,208.20 on 2024-01-01"),
    ],
)
async def test_recorded_answers_are_understood(
    make: Maker, cg: CoinGeckoStandIn, vendor_fixtures: Path, recorded: str, text: str, part: str
) -> None:
    at = datetime(2023, 12, 25, 19, 0, tzinfo=UTC) if "2023" in recorded else None
    make.clock = ManualClock(at or datetime(2026, 5, 18, 13, 0, tzinfo=UTC))
    cg.misbehave("body", text=(vendor_fixtures / "coingecko" / recorded).read_text(encoding="utf-8"))
    assert part in await make.single().said(text)


@pytest.mark.parametrize(
    ("recorded", "name", "coin"),
    [("search_solana.json", "corn", "solanacorn"), ("search_solana.json", "kitty", "kitty-coin-solana")],
)
async def test_recorded_searches_are_understood(
    coins: Coins, cg: CoinGeckoStandIn, vendor_fixtures: Path, recorded: str, name: str, coin: str
) -> None:
    body = (vendor_fixtures / "coingecko" / recorded).read_text(encoding="utf-8")
    cg.misbehave("body", text=body, path="/search")
    cg.set_price(coin, usd=0.5)
    evidence = await coins.found(f"price of {name} token")
    assert evidence.slots["ids"] == (coin,)
