"""Exchange rates of currencies from Frankfurter, which passes on the reference rates of central banks.

It promises: a rate in an answer is one that the source stated for that pair and a day that is not in the
future, positive and finite; amounts are multiplied exactly and rounded only where they are shown; the day
of the rate is always said, and when it is not the asked one (no rates are set at weekends) that is said too.
Where both currencies are among those that the European Central Bank quotes, its rates alone are asked for,
else Frankfurter's blend of central banks. Questions are read by ``questions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from urllib.parse import urlencode

from adapters.currency import questions
from adapters.currency.names import canonical
from adapters.currency.questions import Question
from adapters.fetch import Http, Reply, Source, check_of
from adapters.outcomes import failed
from adapters.outside import listing, mapping, number
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from node.core.model import (
    CLAIM,
    Budget,
    Check,
    Citation,
    Evidence,
    Found,
    Freshness,
    Missed,
    Outcome,
    Query,
    Recognition,
    SourceRef,
)
from node.core.settings import AdapterSettings
from node.language.reading import word_list

NAME = "fx-rates"
SOURCE = "Frankfurter"
BASE_URL = "https://api.frankfurter.dev"
PER_MINUTE = 60
"""The service states no figure, only fair use."""
CONCURRENCY = 4
LATEST_TTL_S = 1_800.0
LASTING_TTL_S = 86_400.0
STALE_FOR_S = 3 * 86_400.0
CONFIDENCE = 0.95
CONFIDENCE_OLD = 0.75
FIRST_DAY = date(1999, 1, 4)
"""The first reference rates of the euro."""
GAP_MAX = timedelta(days=14)
"""How far back the source itself looks for a rate; one from before is not that of the asked day."""
RATE_MAX = Decimal(10) ** 12
_EXACT = Context(prec=80)
_ECB = frozenset(
    word_list(
        "aud brl cad chf cny czk dkk eur gbp hkd huf idr ils inr isk jpy krw mxn myr nok nzd php pln ron "
        "sek sgd thb try usd zar"
    )
)
"""What the European Central Bank quotes."""
_MONTHS = word_list("January February March April May June July August September October November December")
_NO_CENTS = frozenset(["jpy", "krw", "idr", "vnd", "huf", "clp", "isk"])


@dataclass(frozen=True, slots=True)
class _Rate:
    day: date
    rate: Decimal


class FxRates:
    """``node.core.ports.Adapter`` for Frankfurter. Safe to call concurrently from one event loop."""

    def __init__(
        self, settings: AdapterSettings, http: Http, clock: Clock, guard: Guard | None = None
    ) -> None:
        """``settings.base_url`` empty means the public service, with or without its ``/v2``; ``per_minute``
        > 0 replaces the default limit."""
        self._clock = clock
        self._base = (settings.base_url or BASE_URL).rstrip("/").removesuffix("/v2")
        self._source = Source(
            self._base,
            http,
            clock,
            guard
            or Guard(
                SOURCE,
                clock,
                Limits(
                    windows=(Window(settings.per_minute or PER_MINUTE, 60.0),),
                    concurrency=CONCURRENCY,
                    attempts=3,
                    cache_entries=512,
                    stale_for_s=STALE_FOR_S,
                ),
            ),
            timeout_s=settings.timeout_s,
            explain=_explain,
        )

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return False

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``questions``."""
        read = questions.read_question(text, now.date(), hinted=hinted)
        if read is None:
            return None
        return Recognition(
            adapter=NAME,
            slots=read.question.slots,
            key=read.question.key(now.date()),
            local=False,
            reason=read.reason,
            strength=read.strength,
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """Another currency, amount or day for the earlier question."""
        return questions.follow_up(fragment, earlier, now.date())

    def warm(self) -> None:
        """Nothing is slow to load."""

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with rate and converted amount, ``Missed`` when there is none, else ``Failed``."""
        today = query.local.date()
        question = questions.question_of(recognition.slots, today)
        if question is None:
            return Missed("this is not a question about the rate of two currencies")
        day = question.day(today)
        if day is not None and day > today:
            return Missed(f"the exchange rate of {_date(day)} is not known yet")
        if day is not None and day < FIRST_DAY:
            return Missed(f"there are no exchange rates before {_date(FIRST_DAY)}")
        try:
            got = await self._fetch(question, day, query)
        except NotFound:
            # In our words: what the source says of it is written for programs, by somebody else.
            on = f" on {_date(day)}" if day is not None else ""
            pair = f"{question.base.upper()} in {question.quote.upper()}"
            return Missed(f"{SOURCE} has no such rate: {pair}{on}")
        except NodeError as exc:
            return failed(exc)
        evidence = self._evidence(question, day, got, query, partial=recognition.strength < CLAIM)
        return Found(evidence)

    def health(self) -> Check:
        return check_of(NAME, self._source.problems(), "No fresh exchange rates")

    def budgets(self) -> tuple[Budget, ...]:
        return self._source.budgets()

    async def close(self) -> None:
        """The session is not ours."""

    # --- asking -----------------------------------------------------------------------------------

    async def _fetch(self, question: Question, day: date | None, query: Query) -> Guarded[_Rate]:
        """The checked rate of one unit. Raises what ``Source.get`` raises."""
        today = self._today(query)

        def checked(reply: Reply) -> _Rate:
            return _read(reply.json(), question, day, today)

        return await self._source.get(
            "/v2/rates",
            _params(question, day),
            key=f"{question.base}:{question.quote}:{day or 'latest'}",
            read=checked,
            ttl_s=LATEST_TTL_S if day is None or day >= today else LASTING_TTL_S,
            deadline=query.deadline,
            max_age_s=0.0 if query.no_cache else query.max_age_s,
        )

    def _today(self, query: Query) -> date:
        """The day of the source, in UTC: what is said of a rate must not depend on where the asker is, for
        the answer is kept and given to others."""
        return max(self._clock.now(), query.received).astimezone(UTC).date()

    def _evidence(
        self, question: Question, day: date | None, got: Guarded[_Rate], query: Query, *, partial: bool
    ) -> Evidence:
        rate = got.value
        base, quote = question.base.upper(), question.quote.upper()
        bank = "European Central Bank reference rate" if _of_ecb(question) else "central bank rate"
        at_rate = f"at the {bank} of {_date(rate.day)}"
        one = f"1 {base} = {_figure(rate.rate)} {quote}"
        amount = Decimal(question.amount) if question.amount is not None else Decimal(1)
        result = _EXACT.multiply(amount, rate.rate)
        if question.amount is None or amount == 1:
            said = f"1 {base} is {_figure(rate.rate)} {quote} {at_rate}"
        else:
            said = f"{_figure(amount)} {base} is {_money(result, question.quote)} {quote} {at_rate} ({one})"
        sentences = [f"{said}, according to {SOURCE}."]
        today = self._today(query)
        note = _note(rate.day, day, today)
        if note:
            sentences.append(note)
        if got.stale:
            sentences.append(f"{SOURCE} could not be asked just now; this was fetched {_ago(got.age_s)} ago.")
        old = got.stale or (day is None and today - rate.day > GAP_MAX)
        at = datetime(rate.day.year, rate.day.month, rate.day.day, tzinfo=UTC)
        url = f"{self._base}/v2/rates?{urlencode(_params(question, day))}"
        return Evidence(
            text=" ".join(sentences),
            source=SourceRef("adapter", NAME, url=url, time=at),
            confidence=CONFIDENCE_OLD if old else CONFIDENCE,
            freshness=Freshness.CURRENCY if day is None or day >= today else Freshness.PAST_PRICE,
            partial=partial,
            data={
                "from": question.base,
                "to": question.quote,
                "rate": canonical(rate.rate),
                "amount": canonical(amount),
                "result": canonical(result),
                "date": rate.day.isoformat(),
                "stale": got.stale,
            },
            slots=question.slots,
            key=question.key(query.local.date()),
            citations=(Citation(SOURCE, f"{bank} of {rate.day}", one, url, at),),
            figures={f"{question.base}/{question.quote}": canonical(rate.rate)},
        )


def _of_ecb(question: Question) -> bool:
    return question.base in _ECB and question.quote in _ECB


def _params(question: Question, day: date | None) -> Mapping[str, str]:
    params = {"base": question.base.upper(), "quotes": question.quote.upper()}
    if day is not None:
        params["date"] = day.isoformat()
    if _of_ecb(question):
        params["providers"] = "ECB"
    return params


def _explain(reply: Reply) -> NodeError | None:
    """404 says that it has no data and 422 that it lacks a currency; its message is not repeated."""
    if reply.status not in (404, 422):
        return None
    return NotFound(f"{SOURCE} has no such rate")


def _read(value: object, question: Question, day: date | None, today: date) -> _Rate:
    """The rate in the answer. Raises ``Rejected`` for another pair, a day that does not fit or a rate that
    cannot be one, ``NotFound`` where there is none."""
    rows = listing(value, SOURCE, "list of rates", most=10)
    if not rows:
        raise NotFound(f"{SOURCE} has no rate of {question.base.upper()} in {question.quote.upper()}")
    found: _Rate | None = None
    for entry in rows:
        row = mapping(entry, SOURCE, "rate")
        if (row.get("base"), row.get("quote")) != (question.base.upper(), question.quote.upper()):
            continue
        rate = number(row.get("rate"), SOURCE, "rate")
        if not 0 < rate <= RATE_MAX:
            raise Rejected(f"{SOURCE} gave an impossible rate")
        stated = _day(row.get("date"))
        if stated > today or stated < FIRST_DAY:
            raise Rejected(f"{SOURCE} gave a rate of an impossible day")
        if day is not None and not day - GAP_MAX <= stated <= day:
            raise Rejected(f"{SOURCE} gave a rate of another day than the asked one")
        if found is None or stated > found.day:
            found = _Rate(stated, rate)
    if found is None:
        raise Rejected(f"{SOURCE} gave a rate of other currencies than the asked ones")
    return found


def _day(value: object) -> date:
    if not isinstance(value, str) or len(value) != 10:
        raise Rejected(f"{SOURCE} gave no day for the rate")
    try:
        return date.fromisoformat(value)
    except ValueError as exc:
        raise Rejected(f"{SOURCE} gave no day for the rate") from exc


# --- wording --------------------------------------------------------------------------------------


def _note(stated: date, day: date | None, today: date) -> str:
    """Why the rate is not of the asked day."""
    if day is not None:
        if stated == day:
            return ""
        if day.weekday() >= 5:
            why = "No rates are set at weekends"
        elif day >= today:
            why = f"No rate has been set for {_date(day)} yet"
        else:
            why = f"No rate was set on {_date(day)}"
        return f"{why}; this is the last one before."
    if today - stated > GAP_MAX:
        return f"That is the latest rate, and it is {(today - stated).days} days old."
    if today.weekday() >= 5 and stated < today:
        return "No rates are set at weekends; this is the latest."
    return ""


def _date(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _ago(seconds: float) -> str:
    """An age in the unit that people would give it in."""
    for unit, length in (("day", 86_400.0), ("hour", 3_600.0)):
        count = round(seconds / length)
        if seconds >= length:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


def _figure(value: Decimal) -> str:
    """An exact figure with thousands separated."""
    return f"{Decimal(canonical(value)):,f}"


def _money(value: Decimal, code: str) -> str:
    """An amount as people write it: whole for currencies without cents, else two places, small ones with four
    significant digits."""
    if 0 < abs(value) < 1:
        shown = Context(prec=4).plus(value)
        return f"{Decimal(canonical(shown)):f}"
    places = Decimal(1) if code in _NO_CENTS and abs(value) >= 100 else Decimal("0.01")
    return f"{_EXACT.quantize(value, places):,f}"
