"""Exchange rates: reading questions, figures of the source, its lies, limits and memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.currency import FxRates
from adapters.currency import questions as fx_questions
from adapters.currency.names import NAMES, canonical, classified, split
from adapters.currency.questions import Question, read_question
from node.core.model import CERTAIN, CLAIM, Failed, Found, Freshness, Missed, Recognition
from node.core.settings import AdapterSettings
from node.language.reading import read
from tests.each import each
from tests.manual_clock import ManualClock
from tests.simulators.frankfurter import FrankfurterStandIn
from tests.unit.adapters.asking import FAULTS, Asking, is_claimed
from tests.unit.adapters.guards import single
from tests.unit.adapters.tables import Row, rows, texts

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
TODAY = NOW.date()
Rates: TypeAlias = Asking[FxRates, ManualClock]


@pytest.fixture
async def source() -> AsyncIterator[FrankfurterStandIn]:
    async with FrankfurterStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def rates(source: FrankfurterStandIn, http: aiohttp.ClientSession) -> Rates:
    """Its clock moves when told; sockets still need real time, so waits are not moved."""
    clock = ManualClock(NOW)
    guard = single("Frankfurter", clock, breaker_failures=50, stale_for_s=86_400.0)
    return Asking(FxRates(AdapterSettings(base_url=source.url, timeout_s=30), http, clock, guard), clock)


def question_of(text: str, least: float, *, below: float = 1.1) -> Row:
    found = read_question(text, TODAY)
    assert found is not None, text
    assert least <= found.strength < below
    question = found.question
    return question.amount, question.base, question.quote, question.when


# --- questions ------------------------------------------------------------------------------------


@each("row", rows("fx", "certain"))
def test_reads_both_currencies_the_amount_and_the_day(row: Row) -> None:
    assert question_of(str(row[0]), CERTAIN) == row[1:]


@pytest.mark.parametrize("row", rows("fx", "claimed"), ids=lambda row: row[0])
def test_an_amount_may_be_the_price_of_something(row: Row) -> None:
    assert question_of(str(row[0]), CLAIM, below=CERTAIN) == row[1:]


@each("row", rows("fx", "read"))
def test_a_counter_currency_may_be_an_adjective_and_one_unit_is_told_in_another(row: Row) -> None:
    assert question_of(str(row[0]), 0) == row[1:]


@each("text", texts("fx", "traps"))
def test_does_not_claim_what_merely_has_a_currency_in_it(text: str) -> None:
    assert read_question(text, TODAY) is None


@each("hinted", [False, True])
@each("text", texts("fx", "no number"))
def test_a_number_that_is_not_understood_is_never_left_out(text: str, hinted: bool) -> None:
    assert read_question(text, TODAY, hinted=hinted) is None


@each("hinted", [False, True])
@each("text", texts("fx", "no counter currency"))
def test_no_counter_currency_is_made_up(text: str, hinted: bool) -> None:
    assert read_question(text, TODAY, hinted=hinted) is None


@pytest.mark.parametrize(
    "text",
    [
        "a pound of flour",
        "who won euro 2020",
        "how to make won ton soup",
        "what is the real madrid score",
        "dollar store hours",
    ],
)
def test_no_hint_makes_a_rate_of_a_trap(text: str) -> None:
    assert read_question(text, TODAY, hinted=True) is None


def test_a_long_statement_is_no_certain_question() -> None:
    read_back = read_question("I changed 100 dollars to euros at the airport and felt cheated", TODAY)
    assert read_back is None or read_back.strength < CERTAIN


def test_a_hint_lets_a_single_currency_pass() -> None:
    assert read_question("my hundred bucks over there", TODAY) is None
    hinted = read_question("my hundred bucks over there", TODAY, hinted=True)
    assert hinted is not None
    assert is_claimed(hinted.strength)
    assert hinted.question == Question("usd", "eur", "100")


@pytest.mark.parametrize(
    ("text", "day", "key"),
    [
        ("usd to eur yesterday", "2026-05-18", "fx:usd:eur:2026-05-17"),
        ("usd to eur yesterday", "2026-05-19", "fx:usd:eur:2026-05-18"),
        ("usd to eur today", "2026-05-18", "fx:usd:eur"),
    ],
)
def test_the_key_holds_the_day_and_not_its_words(text: str, day: str, key: str) -> None:
    found = read_question(text, date.fromisoformat(day))
    assert found is not None
    assert found.question.key(date.fromisoformat(day)) == key


_CODES = sorted(NAMES)


@given(
    pair=st.lists(st.sampled_from(_CODES), min_size=2, max_size=2, unique=True),
    amount=st.one_of(st.none(), st.decimals("0.01", "999999999", places=2).map(canonical)),
    when=st.sampled_from([None, "today", "yesterday", "last friday", "today-3d", "2024-03-01", "2024-03"]),
)
def test_a_question_put_into_words_is_read_back(
    pair: list[str], amount: str | None, when: str | None
) -> None:
    base, quote = pair
    question = Question(base, quote, amount, when)
    again = read_question(question.phrase(TODAY), TODAY)
    assert again is not None, question.phrase(TODAY)
    assert again.question == question
    assert again.strength >= CERTAIN


@pytest.mark.parametrize("row", rows("fx", "follow ups"), ids=lambda row: row[1])
def test_follow_ups(row: Row) -> None:
    earlier, fragment, base, quote, amount, when = row
    words = fx_questions.follow_up(str(fragment), str(earlier), TODAY)
    assert words is not None
    assert question_of(words, 0) == (amount, base, quote, when)


@pytest.mark.parametrize(
    "fragment", ["", "why?", "and btc?", "and", "tell me a joke", "x" * 3_000, "and in usd and eur", "2 3"]
)
def test_other_fragments_are_left_alone(fragment: str) -> None:
    assert fx_questions.follow_up(fragment, "usd to eur", TODAY) is None


@pytest.mark.parametrize("fragment", ["and -200?", "and ½?", "and 1e5?", "32 may?"])
def test_a_follow_up_takes_no_number_that_it_does_not_understand(fragment: str) -> None:
    assert fx_questions.follow_up(fragment, "usd to eur", TODAY) is None


@each(("text", "amount"), rows("fx", "amounts"))
def test_amounts(text: str, amount: str) -> None:
    tokens = classified(split(read(text).plain))
    assert [token.value for token in tokens] == [amount, "usd"]


# --- answers --------------------------------------------------------------------------------------


async def test_an_amount_is_multiplied_exactly(rates: Rates, source: FrankfurterStandIn) -> None:
    evidence = await rates.found("100 usd to eur")
    assert evidence.text == (
        "100 USD is 92.35 EUR at the European Central Bank reference rate of 15 May 2026 (1 USD = 0.9235 EUR)"
        ", according to Frankfurter."
    )
    assert evidence.data["result"] == "92.35"
    assert evidence.freshness is Freshness.CURRENCY
    assert evidence.key == "fx:usd:eur:amount=100"
    assert evidence.figures == {"usd/eur": "0.9235"}
    assert evidence.citations[0].source == "Frankfurter"
    assert source.requests[0].query == {"base": "USD", "quotes": "EUR", "providers": "ECB"}


async def test_a_huge_amount_loses_no_digit(rates: Rates) -> None:
    evidence = await rates.found("123456789012.37 usd to eur")
    assert evidence.data["result"] == "114012344652.923695"
    assert "114,012,344,652.92 EUR" in evidence.text


async def test_a_past_day_is_asked_for_and_a_weekend_is_explained(
    rates: Rates, source: FrankfurterStandIn
) -> None:
    evidence = await rates.found("usd to gbp yesterday")
    assert source.requests[0].query["date"] == "2026-05-17"
    assert "of 15 May 2026" in evidence.text
    assert evidence.text.endswith("No rates are set at weekends; this is the last one before.")
    assert evidence.freshness is Freshness.PAST_PRICE
    assert evidence.key == "fx:usd:gbp:2026-05-17"
    assert "of 8 May 2026, according to Frankfurter." in await rates.said("usd to gbp on 8 May 2026")


async def test_at_a_weekend_the_latest_rate_says_so(rates: Rates) -> None:
    rates.clock.set_wall(datetime(2026, 5, 17, 12, 0, tzinfo=UTC))
    assert (await rates.said("usd to eur")).endswith("No rates are set at weekends; this is the latest.")


async def test_what_is_said_of_a_rate_does_not_depend_on_where_the_asker_is(rates: Rates) -> None:
    """The answer is kept under a key that every asker shares."""
    rates.clock.set_wall(datetime(2026, 5, 18, 3, 0, tzinfo=UTC))
    zones = ("Pacific/Honolulu", "UTC", "Pacific/Auckland")
    found = [await rates.found("usd to eur", zone=ZoneInfo(zone)) for zone in zones]
    assert len({(evidence.key, evidence.text) for evidence in found}) == 1
    assert "weekends" not in found[0].text


async def test_of_a_month_in_progress_the_latest_day_is_meant(
    rates: Rates, source: FrankfurterStandIn
) -> None:
    evidence = await rates.found("rate usd eur in may 2026")
    assert "date" not in source.requests[0].query
    assert evidence.text.endswith("of 15 May 2026, according to Frankfurter.")
    assert evidence.freshness is Freshness.CURRENCY
    assert "of 30 April 2026, according to Frankfurter." in await rates.said("rate usd eur in april 2026")


async def test_the_words_of_the_source_are_not_repeated(rates: Rates, source: FrankfurterStandIn) -> None:
    del source.rates["EUR"]  # "invalid currency: USD,EUR", it says
    assert await rates.outcome("usd to eur") == Missed("Frankfurter has no such rate: USD in EUR")


async def test_a_currency_beyond_the_european_central_bank_is_a_blend(
    rates: Rates, source: FrankfurterStandIn
) -> None:
    said = await rates.said("100 usd to rub")
    assert "providers" not in source.requests[0].query
    assert "European" not in said
    assert "at the central bank rate of 15 May 2026" in said


@pytest.mark.parametrize("text", ["usd to eur tomorrow", "usd to eur on 3 May 1980"])
async def test_days_without_rates_are_missed_without_asking(
    rates: Rates, source: FrankfurterStandIn, text: str
) -> None:
    assert isinstance(await rates.outcome(text), Missed)
    assert source.count() == 0


@pytest.mark.parametrize(
    "slots",
    [
        {},
        {"from": "usd", "to": "usd", "amount": None, "date": None},
        {"from": "usd", "to": "zzz", "amount": None, "date": None},
        {"from": "usd", "to": "eur", "amount": "NaN", "date": None},
        {"from": "usd", "to": "eur", "amount": "-5", "date": None},
        {"from": "usd", "to": "eur", "amount": None, "date": "2024-13-45"},
        {"from": "usd&quotes=X", "to": "eur", "amount": None, "date": None},
    ],
    ids=str,
)
async def test_slots_are_checked_again(
    rates: Rates, source: FrankfurterStandIn, slots: dict[str, Any]
) -> None:
    recognition = Recognition("fx-rates", slots, None, False, "")
    assert isinstance(await rates.adapter.ask(recognition, rates.query()), Missed)
    assert source.count() == 0


def _row(**changes: Any) -> Any:
    return lambda rows: [{**rows[0], **changes}]


@pytest.mark.parametrize(
    "change",
    [
        _row(rate=0),
        _row(rate=-1.1),
        _row(rate=float("nan")),
        _row(rate=float("inf")),
        _row(rate="0.9"),
        _row(rate=None),
        _row(rate=True),
        _row(rate=1e30),
        _row(date="2026-05-19"),
        _row(date="tomorrow"),
        _row(date=None),
        _row(date="1970-01-01"),
        _row(base="GBP"),
        _row(quote="JPY"),
        lambda rows: {"rates": rows},
        lambda rows: rows[0],
        lambda rows: None,
        lambda rows: [None],
        lambda rows: [rows],
        lambda rows: [{}],
    ],
)
async def test_a_lie_of_the_source_never_becomes_a_figure(
    rates: Rates, source: FrankfurterStandIn, change: Any
) -> None:
    source.misbehave("change", times=None, change=change)
    assert await rates.code("usd to eur") == "bad_answer"


async def test_a_rate_of_another_day_than_the_asked_one_is_refused(
    rates: Rates, source: FrankfurterStandIn
) -> None:
    source.misbehave("change", times=None, change=_row(date="2024-06-03"))
    await rates.failed("usd to eur on 5 March 2024")


async def test_an_empty_list_is_missed(rates: Rates, source: FrankfurterStandIn) -> None:
    source.misbehave("body", text="[]")
    assert isinstance(await rates.outcome("usd to eur"), Missed)


@pytest.mark.parametrize(("kind", "options", "code"), FAULTS)
async def test_misbehaviour_is_a_clear_failure(
    rates: Rates, source: FrankfurterStandIn, kind: str, options: dict[str, Any], code: str
) -> None:
    source.misbehave(kind, times=None, **options)
    outcome = await rates.failed("usd to eur")
    assert outcome.code == code
    assert outcome.reason


async def test_a_rate_from_memory_after_a_failure_says_so(rates: Rates, source: FrankfurterStandIn) -> None:
    await rates.found("usd to eur")
    rates.clock.advance(3_600)
    source.misbehave("status", times=None, status=500)
    evidence = await rates.found("usd to eur")
    assert evidence.data["stale"] is True
    assert evidence.text.endswith("Frankfurter could not be asked just now; this was fetched 1 hour ago.")
    assert evidence.confidence < 0.95


async def test_equal_questions_share_one_call(rates: Rates, source: FrankfurterStandIn) -> None:
    outcomes = await asyncio.gather(*(rates.outcome(f"{n} usd to eur") for n in range(1, 101)))
    assert all(isinstance(outcome, Found) for outcome in outcomes)
    assert source.count() == 1


async def test_a_burst_loses_none_and_keeps_the_limit(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clock = ManualClock(NOW)
    adapter = FxRates(AdapterSettings(base_url=source.url, timeout_s=30, per_minute=20), http, clock)
    rates = Asking(adapter, clock)
    codes = ["usd", "eur", "gbp", "jpy", "chf", "cad", "inr"]
    asked = [f"{a} to {b} on {day} May 2026" for a in codes for b in codes if a != b for day in range(1, 13)]
    outcomes = await asyncio.gather(*(rates.outcome(text) for text in asked[:500]))
    assert all(isinstance(outcome, Found | Failed) for outcome in outcomes)
    assert source.count() == sum(isinstance(outcome, Found) for outcome in outcomes) == 20
    assert adapter.budgets()[0].remaining == 0
    assert adapter.health().status == "warn"


async def test_a_base_address_may_hold_the_version(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clock = ManualClock(NOW)
    await Asking(FxRates(AdapterSettings(base_url=f"{source.url}/v2/"), http, clock), clock).found(
        "usd to eur"
    )
    assert source.requests[0].path == "/v2/rates"
