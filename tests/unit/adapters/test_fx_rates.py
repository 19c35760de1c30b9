"""Exchange rates: reading questions, figures of the source, its lies, limits and memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.currency import FxRates
from adapters.currency import questions as fx_questions
from adapters.currency.names import NAMES, canonical, classified, split
from adapters.currency.questions import Question, read_question
from node.core.model import (
    CERTAIN,
    CLAIM,
    Caller,
    Failed,
    Found,
    Freshness,
    Missed,
    Outcome,
    Query,
    Recognition,
)
from node.core.settings import AdapterSettings
from node.language.reading import read
from tests.manual_clock import ManualClock
from tests.simulators.frankfurter import FrankfurterStandIn
from tests.unit.adapters.guards import single

NOW = datetime(2026, 5, 18, 9, 0, tzinfo=UTC)
TODAY = NOW.date()


@pytest.fixture
async def source() -> AsyncIterator[FrankfurterStandIn]:
    async with FrankfurterStandIn() as stand_in:
        yield stand_in


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False, trust_env=False) as made:
        yield made


class Clocked:
    """The adapter with a clock that moves when told; sockets still need real time, so waits are not moved."""

    def __init__(self, source: FrankfurterStandIn, http: aiohttp.ClientSession, now: datetime = NOW) -> None:
        self.clock = ManualClock(now)
        guard = single("Frankfurter", self.clock, breaker_failures=50, stale_for_s=86_400.0)
        self.adapter = FxRates(AdapterSettings(base_url=source.url, timeout_s=3.0), http, self.clock, guard)

    async def ask(self, text: str) -> Outcome:
        now = self.clock.now()
        found = self.adapter.recognise(text, now)
        assert found is not None, text
        return await self.adapter.ask(found, self.query(text))

    def query(self, text: str) -> Query:
        return Query("id", text, text, Caller(), self.clock.now(), self.clock.monotonic() + 10.0)


async def found(clocked: Clocked, text: str) -> Found:
    outcome = await clocked.ask(text)
    assert isinstance(outcome, Found), outcome
    return outcome


def asked(text: str) -> tuple[str | None, str, str, str | None] | None:
    read_back = read_question(text, TODAY)
    if read_back is None:
        return None
    question = read_back.question
    return question.amount, question.base, question.quote, question.when


# --- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("usd to eur", (None, "usd", "eur", None)),
        ("gbpusd", (None, "gbp", "usd", None)),
        ("USD/EUR", (None, "usd", "eur", None)),
        ("how many yen is 50 bucks", ("50", "usd", "jpy", None)),
        ("convert 20 pounds to euros", ("20", "gbp", "eur", None)),
        ("$1,250.50 in €", ("1250.5", "usd", "eur", None)),
        ("1.000,50 euros a dólares", ("1000.5", "eur", "usd", None)),
        ("5k usd in gbp", ("5000", "usd", "gbp", None)),
        ("one hundred and fifty bucks in yen", ("150", "usd", "jpy", None)),
        ("what's a hundred bucks in pesos", ("100", "usd", "mxn", None)),
        ("how much are 3 million yen in dollars", ("3000000", "jpy", "usd", None)),
        ("how many dollars per euro", (None, "eur", "usd", None)),
        ("how much will i get in euros for 300 swiss francs", ("300", "chf", "eur", None)),
        ("what's the exchange rate between the dollar and the yen?", (None, "usd", "jpy", None)),
        ("usd to try", (None, "usd", "try", None)),
        ("usd to eur 100", ("100", "usd", "eur", None)),
        ("eur 100 to usd", ("100", "eur", "usd", None)),
        ("convert 200 to euros", ("200", "usd", "eur", None)),
        ("dollar rate today", (None, "usd", "eur", "today")),
        ("100 usd in gbp yesterday", ("100", "usd", "gbp", "yesterday")),
        ("euro to dollar exchange rate on 1 March 2024", (None, "eur", "usd", "2024-03-01")),
        ("what was the pound worth in dollars last friday", (None, "gbp", "usd", "last friday")),
        ("hey can you tell me how many canadian dollars i'd get for 250 euros", ("250", "eur", "cad", None)),
        ("cuántos euros son 100 dólares", ("100", "usd", "eur", None)),
        ("tipo de cambio euro peso mexicano", (None, "eur", "mxn", None)),
        ("wie viel sind 100 Euro in Schweizer Franken", ("100", "eur", "chf", None)),
        ("Wieviel Dollar bekomme ich für 50 Euro?", ("50", "eur", "usd", None)),
        ("combien font 100 dollars en euros ?", ("100", "usd", "eur", None)),
        ("quanto fa 50 sterline in euro", ("50", "gbp", "eur", None)),
        ("quanto vale o dólar em reais hoje", (None, "usd", "brl", "today")),
        ("1万円は何ドル", ("10000", "jpy", "usd", None)),
        ("今日のドル円の為替レート", (None, "usd", "jpy", "today")),
        ("100美元等于多少人民币", ("100", "usd", "cny", None)),
        ("美元兑人民币汇率", (None, "usd", "cny", None)),
        ("сколько рублей в 100 долларах", ("100", "usd", "rub", None)),
        ("курс доллара к рублю", (None, "usd", "rub", None)),
        ("1 000 рублей в евро", ("1000", "rub", "eur", None)),
        ("курс евро на сегодня", (None, "eur", "usd", "today")),
        ("¿a cuánto está el dólar?", (None, "usd", "eur", None)),
        ("wie steht der Dollar", (None, "usd", "eur", None)),
        ("aktueller Dollarkurs", (None, "usd", "eur", None)),
        ("combien vaut le dollar", (None, "usd", "eur", None)),
        ("is the euro above the dollar", (None, "eur", "usd", None)),
        ("¿el euro está por encima del dólar?", (None, "eur", "usd", None)),
        ("price 4.500 yen in eur", ("4500", "jpy", "eur", None)),
        ("2,50 € in Dollar", ("2.5", "eur", "usd", None)),
        ("1.5k usd to inr", ("1500", "usd", "inr", None)),
        ("half a million yen in dollars", ("500000", "jpy", "usd", None)),
        ("medio millón de pesos en euros", ("500000", "mxn", "eur", None)),
        ("two and a half million won in usd", ("2500000", "krw", "usd", None)),
        ("twenty five hundred dollars in euros", ("2500", "usd", "eur", None)),
        ("cent euros en livres", ("100", "eur", "gbp", None)),
        ("500 dirhams marocains en euros", ("500", "mad", "eur", None)),
        ("1.500 schwedische Kronen in Euro", ("1500", "sek", "eur", None)),
        ("current exchange rate for the rand", (None, "zar", "usd", None)),
        ("exchnage rate usd to jpy", (None, "usd", "jpy", None)),
        ("30 puonds in euros", ("30", "gbp", "eur", None)),
    ],
)
def test_reads_both_currencies_the_amount_and_the_day(
    text: str, expected: tuple[str | None, str, str, str | None]
) -> None:
    assert asked(text) == expected
    strength = read_question(text, TODAY)
    assert strength is not None
    assert strength.strength >= CERTAIN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what's my 250 euro hotel in pounds", ("250", "eur", "gbp", None)),
        ("I earn 3200 CAD a month, what is that in US dollars?", ("3200", "cad", "usd", None)),
        ("rent is 12000 czk, in euros?", ("12000", "czk", "eur", None)),
        ("a taxi in bangkok was 350 baht - how much is that in us dollars", ("350", "thb", "usd", None)),
        ("how much is 100 dollars in Japan", ("100", "usd", "jpy", None)),
        ("dólar hoy", (None, "usd", "eur", "today")),
        ("what is the price of the dollar", (None, "usd", "eur", None)),
    ],
)
def test_an_amount_may_be_the_price_of_something(
    text: str, expected: tuple[str | None, str, str, str | None]
) -> None:
    assert asked(text) == expected
    found = read_question(text, TODAY)
    assert found is not None
    assert CLAIM <= found.strength < CERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "100 dollars",
        "dollar store near me",
        "who is on the 100 dollar bill",
        "btc to usd",
        "how much is 2 eth in euros",
        "how do exchange rates work",
        "20 pounds to kg",
        "lose 20 pounds",
        "score a deal",
        "million dollar baby",
        "what is the price of freedom",
        "how many pounds in a stone",
        "when was the euro introduced",
        "why is the dollar falling against the euro",
        "i have 20 euros and 30 dollars",
        "the real deal",
        "50 cent albums",
        "the bucks won by 20 points",
        "bucks vs kings score",
        "try all of them",
        "real madrid score",
        "how much does an iphone cost in euros",
        "what is the currency of japan",
        "pound cake recipe",
        "gold price in euros",
        "euro 2024 winner",
        "what is the difference between the dollar and the euro",
        "which is better dollar or euro",
        "ビットコインは何ドル",
        "比特币多少美元",
        "почему доллар дороже евро",
        "cuánto cuesta un coche en euros",
        "what is the pound's history",
        "a pound of flour",
        "where can i change dollars to euros in paris",
        "what's the best way to exchange dollars for euros",
        "is a million dollars a lot of money in switzerland",
        "how much was 100 dollars in 1950",
        "my rent is 900 euros",
        "how much does a hotel cost in euros in paris",
    ],
)
def test_does_not_claim_what_merely_has_a_currency_in_it(text: str) -> None:
    assert read_question(text, TODAY) is None


@pytest.mark.parametrize("hinted", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "1e400 usd in eur",
        "100.5.5 usd in eur",
        "100-50 usd in eur",
        "½ usd in eur",
        "-100 usd in eur",
        "−100 usd in eur",
        "usd to eur -100",
        "-$5 in eur",
        "$-5 in eur",
        "minus 100 usd in eur",
        "10% usd in eur",
        "0 100 usd in eur",
        "two three usd in eur",
        "quatre vingt euros en dollars",
        "a couple of dollars in euros",
        "thousand dollars in euros",
        "fünfundzwanzigeinhalb euro in dollar",
        "vingt-et-un euros en dollars",
        "五十美元是多少欧元",
        "usd eur rate on 32 may",
        "usd to eur may 45",
        "usd to eur on 31 june",
        "euro en dolar el 32 de mayo",
        "курс доллара к рублю 32 мая",
        "euros to dollars 2026-13-01",
        "usd to eur at 5pm",
    ],
)
def test_a_number_that_is_not_understood_is_never_left_out(text: str, hinted: bool) -> None:
    assert read_question(text, TODAY, hinted=hinted) is None


@pytest.mark.parametrize("hinted", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "usd to usd",
        "usdusd",
        "dollars to us dollars",
        "100 dollars in america",
        "100 dollars in canadian cities",
        "how do you say 100 dollars in canadian",
        "100 usd in narnian",
        "how much is 100 dollars in wakanda",
        "exchange rate for hogwarts in dollars",
        "is 100 usd enough for paris",
        "exchange student in euros",
        "student loan rate in dollars",
    ],
)
def test_no_counter_currency_is_made_up(text: str, hinted: bool) -> None:
    assert read_question(text, TODAY, hinted=hinted) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100 dollars in canadian", ("100", "usd", "cad", None)),
        ("250 us dollars to australian", ("250", "usd", "aud", None)),
        ("us dollar to swiss", (None, "usd", "chf", None)),
        ("how much is a dollar", (None, "usd", "eur", None)),
        ("how much is a euro", (None, "eur", "usd", None)),
        ("convertir 200 a euros", ("200", "usd", "eur", None)),
        (".5 usd in eur", ("0.5", "usd", "eur", None)),
        ("2 trillion usd in eur", ("2000000000000", "usd", "eur", None)),
        ("3 lakh inr in usd", ("300000", "inr", "usd", None)),
        ("$100 usd in eur", ("100", "usd", "eur", None)),
        ("my hundred bucks over in the eurozone", ("100", "usd", "eur", None)),
        ("is the euro above the dollar yet", (None, "eur", "usd", None)),
    ],
)
def test_a_counter_currency_may_be_an_adjective_and_one_unit_is_told_in_another(
    text: str, expected: tuple[str | None, str, str, str | None]
) -> None:
    assert asked(text) == expected


@pytest.mark.parametrize("fragment", ["and -200?", "and ½?", "and 1e5?", "32 may?"])
def test_a_follow_up_takes_no_number_that_it_does_not_understand(fragment: str) -> None:
    assert fx_questions.follow_up(fragment, "usd to eur", TODAY) is None


@pytest.mark.parametrize(
    "text",
    ["a pound of flour", "who won euro 2020", "how to make won ton soup", "what is the real madrid score"],
)
def test_no_hint_makes_a_rate_of_a_trap(text: str) -> None:
    assert read_question(text, TODAY, hinted=True) is None


def test_a_long_statement_is_no_certain_question() -> None:
    read_back = read_question("I changed 100 dollars to euros at the airport and felt cheated", TODAY)
    assert read_back is None or read_back.strength < CERTAIN


def test_a_hint_lets_a_single_currency_pass_but_no_trap() -> None:
    assert read_question("my hundred bucks over there", TODAY) is None
    hinted = read_question("my hundred bucks over there", TODAY, hinted=True)
    assert hinted is not None
    assert CLAIM <= hinted.strength < CERTAIN
    assert hinted.question == Question("usd", "eur", "100")
    assert read_question("dollar store hours", TODAY, hinted=True) is None


def test_the_key_holds_the_day_and_not_its_words() -> None:
    monday = read_question("usd to eur yesterday", TODAY)
    tuesday = read_question("usd to eur yesterday", TODAY + timedelta(days=1))
    now = read_question("usd to eur today", TODAY)
    assert monday is not None
    assert tuesday is not None
    assert now is not None
    assert monday.question.key(TODAY) == "fx:usd:eur:2026-05-17"
    assert tuesday.question.key(TODAY + timedelta(days=1)) == "fx:usd:eur:2026-05-18"
    assert now.question.key(TODAY) == "fx:usd:eur"


_CODES = sorted(NAMES)


@settings(max_examples=300, deadline=None)
@given(
    base=st.sampled_from(_CODES),
    quote=st.sampled_from(_CODES),
    amount=st.one_of(st.none(), st.decimals("0.01", "999999999", places=2).map(canonical)),
    when=st.sampled_from([None, "today", "yesterday", "last friday", "today-3d", "2024-03-01", "2024-03"]),
)
def test_a_question_put_into_words_is_read_back(
    base: str, quote: str, amount: str | None, when: str | None
) -> None:
    if base == quote:
        return
    question = Question(base, quote, amount, when)
    again = read_question(question.phrase(TODAY), TODAY)
    assert again is not None, question.phrase(TODAY)
    assert again.question == question
    assert again.strength >= CERTAIN


@pytest.mark.parametrize(
    ("earlier", "fragment", "expected"),
    [
        ("100 usd to eur", "and in yen?", Question("usd", "jpy", "100")),
        ("usd to eur", "what about pounds", Question("usd", "gbp")),
        ("usd to eur", "y en libras?", Question("usd", "gbp")),
        ("usd to eur", "and 200?", Question("usd", "eur", "200")),
        ("100 usd to eur", "and 50 euros?", Question("eur", "usd", "50")),
        ("100 usd to eur", "from pounds", Question("gbp", "eur", "100")),
        ("usd to eur", "yesterday?", Question("usd", "eur", None, "yesterday")),
        ("100 usd to eur", "and the other way round?", Question("eur", "usd", "100")),
        ("100ドルは何円", "и в рублях?", Question("usd", "rub", "100")),
    ],
)
def test_follow_ups(earlier: str, fragment: str, expected: Question) -> None:
    words = fx_questions.follow_up(fragment, earlier, TODAY)
    assert words is not None
    again = read_question(words, TODAY)
    assert again is not None
    assert again.question == expected


@pytest.mark.parametrize(
    "fragment", ["", "why?", "and btc?", "and", "tell me a joke", "x" * 3_000, "and in usd and eur", "2 3"]
)
def test_other_fragments_are_left_alone(fragment: str) -> None:
    assert fx_questions.follow_up(fragment, "usd to eur", TODAY) is None


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1,000 usd", "1000"),
        ("1.000 usd", "1000"),
        ("1'000 usd", "1000"),
        ("1 000 000 usd", "1000000"),
        ("1,5 usd", "1.5"),
        ("0.5 usd", "0.5"),
        ("0.125 usd", "0.125"),
        ("half a million usd", "500000"),
        ("a quarter of a million usd", "250000"),
        ("a million and a half usd", "1500000"),
        ("twenty-five usd", "25"),
        ("1.234,56 usd", "1234.56"),
        ("1,234.56 usd", "1234.56"),
        ("two thousand five hundred usd", "2500"),
        ("mil usd", "1000"),
        ("zwanzig usd", "20"),
        ("1,5 mio usd", "1500000"),
        ("3億 usd", "300000000"),
    ],
)
def test_amounts(text: str, amount: str) -> None:
    tokens = classified(split(read(text).plain))
    assert [token.value for token in tokens] == [amount, "usd"]


# --- answers --------------------------------------------------------------------------------------


async def test_an_amount_is_multiplied_exactly(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clocked = Clocked(source, http)
    evidence = (await found(clocked, "100 usd to eur")).evidence
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


async def test_a_huge_amount_loses_no_digit(source: FrankfurterStandIn, http: aiohttp.ClientSession) -> None:
    evidence = (await found(Clocked(source, http), "123456789012.37 usd to eur")).evidence
    assert evidence.data["result"] == "114012344652.923695"
    assert "114,012,344,652.92 EUR" in evidence.text


async def test_a_past_day_is_asked_for_and_a_weekend_is_explained(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clocked = Clocked(source, http)
    evidence = (await found(clocked, "usd to gbp yesterday")).evidence
    assert source.requests[0].query["date"] == "2026-05-17"
    assert "of 15 May 2026" in evidence.text
    assert evidence.text.endswith("No rates are set at weekends; this is the last one before.")
    assert evidence.freshness is Freshness.PAST_PRICE
    assert evidence.key == "fx:usd:gbp:2026-05-17"
    friday = (await found(clocked, "usd to gbp on 8 May 2026")).evidence
    assert "of 8 May 2026, according to Frankfurter." in friday.text


async def test_at_a_weekend_the_latest_rate_says_so(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    sunday = Clocked(source, http, datetime(2026, 5, 17, 12, 0, tzinfo=UTC))
    evidence = (await found(sunday, "usd to eur")).evidence
    assert evidence.text.endswith("No rates are set at weekends; this is the latest.")


async def test_what_is_said_of_a_rate_does_not_depend_on_where_the_asker_is(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    """The answer is kept under a key that every asker shares."""
    clocked = Clocked(source, http, datetime(2026, 5, 18, 3, 0, tzinfo=UTC))
    answers = set()
    for zone in ("Pacific/Honolulu", "UTC", "Pacific/Auckland"):
        query = replace(clocked.query("usd to eur"), zone=ZoneInfo(zone))
        recognition = clocked.adapter.recognise("usd to eur", query.local)
        assert recognition is not None
        outcome = await clocked.adapter.ask(recognition, query)
        assert isinstance(outcome, Found)
        answers.add((outcome.evidence.key, outcome.evidence.text))
    assert len(answers) == 1
    assert "weekends" not in next(iter(answers))[1]


async def test_of_a_month_in_progress_the_latest_day_is_meant(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    evidence = (await found(Clocked(source, http), "rate usd eur in may 2026")).evidence
    assert "date" not in source.requests[0].query
    assert evidence.text.endswith("of 15 May 2026, according to Frankfurter.")
    assert evidence.freshness is Freshness.CURRENCY
    past = (await found(Clocked(source, http), "rate usd eur in april 2026")).evidence
    assert "of 30 April 2026, according to Frankfurter." in past.text


async def test_the_words_of_the_source_are_not_repeated(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    del source.rates["EUR"]  # "invalid currency: USD,EUR", it says
    outcome = await Clocked(source, http).ask("usd to eur")
    assert outcome == Missed("Frankfurter has no such rate: USD in EUR")


async def test_a_currency_beyond_the_european_central_bank_is_a_blend(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    evidence = (await found(Clocked(source, http), "100 usd to rub")).evidence
    assert "providers" not in source.requests[0].query
    assert "European" not in evidence.text
    assert "at the central bank rate of 15 May 2026" in evidence.text


@pytest.mark.parametrize("text", ["usd to eur tomorrow", "usd to eur on 3 May 1980"])
async def test_days_without_rates_are_missed_without_asking(
    text: str, source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    assert isinstance(await Clocked(source, http).ask(text), Missed)
    assert source.count() == 0


async def test_an_unknown_currency_is_missed(source: FrankfurterStandIn, http: aiohttp.ClientSession) -> None:
    outcome = await Clocked(source, http).ask("usd to kzt")
    assert isinstance(outcome, Missed)
    assert "no such rate" in outcome.reason


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
)
async def test_slots_are_checked_again(
    slots: dict[str, Any], source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clocked = Clocked(source, http)
    recognition = Recognition("fx-rates", slots, None, False, "")
    assert isinstance(await clocked.adapter.ask(recognition, clocked.query("")), Missed)
    assert source.count() == 0


def _row(**changes: Any) -> Any:
    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**rows[0], **changes}]

    return change


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
    change: Any, source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    source.misbehave("change", times=None, change=change)
    outcome = await Clocked(source, http).ask("usd to eur")
    assert isinstance(outcome, Failed)
    assert outcome.code == "bad_answer"


async def test_a_rate_of_another_day_than_the_asked_one_is_refused(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    source.misbehave("change", times=None, change=_row(date="2024-06-03"))
    outcome = await Clocked(source, http).ask("usd to eur on 5 March 2024")
    assert isinstance(outcome, Failed)


async def test_an_empty_list_is_missed(source: FrankfurterStandIn, http: aiohttp.ClientSession) -> None:
    source.misbehave("body", text="[]")
    assert isinstance(await Clocked(source, http).ask("usd to eur"), Missed)


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("throttle", {"retry_after": 7}, "rate_limited"),
        ("html", {}, "bad_answer"),
        ("plain", {"text": "Too many requests"}, "bad_answer"),
        ("status", {"status": 500}, "unreachable"),
        ("redirect", {"to": "http://127.0.0.1:9/"}, "bad_answer"),
        ("refuse", {}, "unreachable"),
        ("cut", {}, "unreachable"),
        ("oversized", {"size": 5_000_000}, "bad_answer"),
        ("nested_json", {}, "bad_answer"),
    ],
)
async def test_misbehaviour_is_a_clear_failure(
    kind: str, options: dict[str, Any], code: str, source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    source.misbehave(kind, times=None, **options)
    outcome = await Clocked(source, http).ask("usd to eur")
    assert isinstance(outcome, Failed)
    assert outcome.code == code
    assert outcome.reason


async def test_a_rate_from_memory_after_a_failure_says_so(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clocked = Clocked(source, http)
    await found(clocked, "usd to eur")
    clocked.clock.advance(3_600)
    source.misbehave("status", times=None, status=500)
    evidence = (await found(clocked, "usd to eur")).evidence
    assert evidence.data["stale"] is True
    assert evidence.text.endswith("Frankfurter could not be asked just now; this was fetched 1 hour ago.")
    assert evidence.confidence < 0.95


async def test_equal_questions_share_one_call(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clocked = Clocked(source, http)
    outcomes = await asyncio.gather(*(clocked.ask(f"{n} usd to eur") for n in range(1, 101)))
    assert all(isinstance(outcome, Found) for outcome in outcomes)
    assert source.count() == 1


async def test_a_burst_loses_none_and_keeps_the_limit(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    clock = ManualClock(NOW)
    adapter = FxRates(AdapterSettings(base_url=source.url, timeout_s=3.0, per_minute=20), http, clock)
    codes = ["usd", "eur", "gbp", "jpy", "chf", "cad", "inr"]
    texts = [f"{a} to {b} on {day} May 2026" for a in codes for b in codes if a != b for day in range(1, 13)]
    questions = [(text, adapter.recognise(text, NOW)) for text in texts[:500]]

    async def one(text: str, recognition: Recognition | None) -> Outcome:
        assert recognition is not None, text
        return await adapter.ask(
            recognition, Query("id", text, text, Caller(), NOW, clock.monotonic() + 10.0)
        )

    outcomes = await asyncio.gather(*(one(text, recognition) for text, recognition in questions))
    assert len(outcomes) == 500
    assert all(isinstance(outcome, Found | Failed) for outcome in outcomes)
    assert source.count() == sum(isinstance(outcome, Found) for outcome in outcomes) == 20
    assert adapter.budgets()[0].remaining == 0
    assert adapter.health().status == "warn"


async def test_a_base_address_may_hold_the_version(
    source: FrankfurterStandIn, http: aiohttp.ClientSession
) -> None:
    adapter = FxRates(AdapterSettings(base_url=f"{source.url}/v2/"), http, ManualClock(NOW))
    recognition = adapter.recognise("usd to eur", NOW)
    assert recognition is not None
    query = Query("id", "", "", Caller(), NOW, 2_000.0)
    assert isinstance(await adapter.ask(recognition, query), Found)
    assert source.requests[0].path == "/v2/rates"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert read_question(text, date(2026, 5, 18)) == read_question(text, date(2026, 5, 18))
