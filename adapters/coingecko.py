"""Prices and market figures of cryptocurrencies from CoinGecko.

It promises: a figure in an answer is one that the source stated for that coin, currency and time, checked to
be a finite number of the right sign; anything else is a ``Failed`` or ``Missed`` with a reason. A figure from
memory after a failure says so in words and in ``data["stale"]``. Amounts are multiplied exactly. Questions
are read by ``coin_questions``, the wire by ``coingecko_client``, and everything outside goes through one
``Guard``.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import TypeVar

from pycoingecko import CoinGeckoAPI

from adapters.coin_aliases import BY_ID
from adapters.coin_questions import CoinQuestion, canonical_key, read_question
from adapters.coingecko_client import PUBLIC_URL, CoinGeckoClient
from adapters.fetch import budgets_of
from node.clock import Clock
from node.errors import Forbidden, NodeError, NotFound, RateLimited, Rejected, TimedOut
from node.guard import BreakerOpen, Guard, Guarded, Window
from node.model import (
    Budget,
    Check,
    Citation,
    Evidence,
    Failed,
    Found,
    Freshness,
    Json,
    Missed,
    Outcome,
    Query,
    Recognition,
    Slots,
    SourceRef,
)
from node.settings import AdapterSettings

NAME = "coingecko"
PER_MINUTE_WITHOUT_KEY = 10
PER_MINUTE_WITH_KEY = 30
"""The provider states different limits in different places; these are on the careful side."""
PER_MONTH = 10_000
CONCURRENCY = 4
LINES = 6
"""Threads: two more than calls at a time, so that hanging name resolutions do not stop the rest at once."""
ATTEMPT_SHARE = 0.6
"""Part of ``timeout_s`` that one attempt may take, so that a quick failure leaves time for another."""
LIVE_TTL_S = 30.0
LASTING_TTL_S = 86_400.0
STALE_FOR_S = 3_600.0
CONFIDENCE = 0.95
CONFIDENCE_OLD = 0.75
QUOTE_OLD = timedelta(days=1)
CLOCKS_APART = timedelta(minutes=10)
"""A quote from further ahead than this is a lie or a wrong clock."""
FIGURE_MAX = Decimal(10) ** 24
CLOSE_RANKS = 3
"""Another coin of the same name whose rank is within this factor is named in the answer."""

_EXACT = Context(prec=120)
_METRICS = frozenset(("price", "market_cap", "volume_24h", "change_24h"))
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")
_VS = re.compile(r"[a-z]{3,5}\Z")
_NAME = re.compile(r"[a-z0-9]{1,20}\Z")
_AMOUNT = re.compile(r"\d{1,40}(?:\.\d{1,40})?\Z")
_SIGNS: Mapping[str, str] = {
    "usd": "$",
    "eur": "€",
    "gbp": "£",
    "jpy": "¥",
    "inr": "₹",
    "krw": "₩",
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Quote:
    """What the source says of one coin now. ``change`` in per cent; ``updated`` None when not stated."""

    price: Decimal
    market_cap: Decimal | None
    volume: Decimal | None
    change: Decimal | None
    updated: datetime | None


@dataclass(frozen=True, slots=True)
class _PastQuote:
    price: Decimal | None
    market_cap: Decimal | None
    volume: Decimal | None


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the list of the largest."""

    id: str
    label: str
    price: Decimal
    market_cap: Decimal
    updated: datetime | None


@dataclass(frozen=True, slots=True)
class _Named:
    """A coin found by name; ``others`` are the close calls."""

    id: str
    label: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question whose coins are known. ``labels`` for people, ``notes`` about the choice of a coin."""

    question: CoinQuestion
    labels: Mapping[str, str]
    notes: tuple[str, ...] = ()


class CoinGecko:
    """``node.ports.Adapter`` for CoinGecko. Safe to call concurrently from one event loop."""

    def __init__(self, settings: AdapterSettings, clock: Clock, guard: Guard | None = None) -> None:
        """``settings.base_url`` empty means the public address; a key goes with the demo header, or with the
        pro header when the address is the provider's pro host. ``per_minute`` > 0 replaces the default
        limit."""
        self._clock = clock
        self._timeout_s = settings.timeout_s
        per_minute = settings.per_minute or (
            PER_MINUTE_WITH_KEY if settings.api_key else PER_MINUTE_WITHOUT_KEY
        )
        self._guard = guard or Guard(
            "CoinGecko",
            clock,
            windows=(Window(per_minute, 60.0), Window(max(PER_MONTH, per_minute), 31 * 86_400.0)),
            concurrency=CONCURRENCY,
            attempts=3,
            breaker_failures=5,
            breaker_open_s=30.0,
            cache_entries=512,
            stale_for_s=STALE_FOR_S,
        )
        self._client = CoinGeckoClient(settings.base_url or PUBLIC_URL, settings.api_key, clock, lines=LINES)

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return False

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``coin_questions``; ``key`` is None while a name is still to be looked up."""
        question = read_question(text, now)
        if question is None:
            return None
        question = replace(question, ids=tuple(sorted(question.ids)))
        if question.metric == "top":
            reason = f"the {question.limit} largest coins in {question.vs}"
        else:
            what = ", ".join((*question.ids, *question.unresolved))
            reason = f"{question.metric} of {what} in {question.vs}"
        strength = 1.0
        if question.unresolved:
            strength = 0.85
        elif question.guessed:
            strength, reason = 0.8, f"{reason}, misspelt"
        return Recognition(
            adapter=NAME,
            slots=_slots(question),
            key=None if question.unresolved else canonical_key(question),
            local=False,
            reason=reason,
            strength=strength,
            unresolved=question.unresolved,
        )

    def warm(self) -> None:
        """Nothing is slow to load."""

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        return None

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with the figure, ``Missed`` when the source has none, else ``Failed``."""
        question = _question(recognition)
        if question is None:
            return Missed("this is not a question about the price of a coin")
        deadline = min(query.deadline, self._clock.monotonic() + self._timeout_s)
        max_age_s = 0.0 if query.no_cache else query.max_age_s
        try:
            if question.metric == "top":
                return Found(await self._top(question, deadline, max_age_s))
            asked = await self._resolve(question, deadline)
            if asked.question.date is not None:
                return Found(await self._past(asked, deadline))
            return Found(await self._live(asked, deadline, max_age_s))
        except NotFound as exc:
            return Missed(str(exc))
        except NodeError as exc:
            return _failed(exc)

    def health(self) -> Check:
        now = self._guard.snapshot()
        problems: list[str] = []
        if now.state != "closed":
            problems.append(f"left alone after repeated failures, asked again in {now.reopens_s:.0f} s")
        if now.not_before_s > 0:
            problems.append(f"CoinGecko asked to wait {now.not_before_s:.0f} s")
        if any(free == 0 for _, free in now.remaining):
            problems.append("the limit of calls is used up for the moment")
        if self._client.free == 0:
            problems.append("every line hangs")
        if problems and now.last_error:
            problems.append(f"last error: {now.last_error}")
        output = "" if not problems else f"No fresh prices: {'; '.join(problems)}."
        return Check(f"adapter:{NAME}", "warn" if problems else "pass", output, since=now.since)

    def budgets(self) -> tuple[Budget, ...]:
        return budgets_of(self._guard)

    async def close(self) -> None:
        await self._client.close()

    # --- asking -----------------------------------------------------------------------------------

    async def _fetch(
        self,
        key: str,
        call: Callable[[CoinGeckoAPI], object],
        read: Callable[[object], T],
        *,
        ttl_s: float,
        deadline: float,
        max_age_s: float | None = None,
    ) -> Guarded[T]:
        """The checked answer; only what ``read`` accepts is ever remembered."""

        async def attempt(timeout_s: float) -> T:
            return read(await self._client.fetch(call, timeout_s))

        checked: Callable[[float], Awaitable[T]] = attempt
        return await self._guard.call(
            checked,
            key=key,
            ttl_s=ttl_s,
            deadline=deadline,
            attempt_timeout_s=self._timeout_s * ATTEMPT_SHARE,
            max_age_s=max_age_s,
        )

    async def _resolve(self, question: CoinQuestion, deadline: float) -> _Asked:
        """Look up the names that the alias table lacks. Raises ``NotFound``."""
        labels = {coin_id: _label_of(coin_id) for coin_id in question.ids}
        notes: list[str] = []
        ids = list(question.ids)
        for name in question.unresolved:
            found = await self._search(name, deadline)
            named = found.value
            labels[named.id] = named.label
            ids.append(named.id)
            if named.others:
                notes.append(f"Other coins share that name: {', '.join(named.others)}.")
        resolved = replace(question, ids=tuple(sorted(set(ids))), unresolved=())
        return _Asked(resolved, labels, tuple(notes))

    async def _search(self, name: str, deadline: float) -> Guarded[_Named]:
        return await self._fetch(
            f"search:{name}",
            lambda api: api.search(name),
            lambda body: _read_search(body, name),
            ttl_s=LASTING_TTL_S,
            deadline=deadline,
        )

    async def _history(self, coin_id: str, day: date, vs: str, deadline: float) -> Guarded[_PastQuote]:
        return await self._fetch(
            f"past:{coin_id}:{vs}:{day}",
            lambda api: api.get_coin_history_by_id(coin_id, day.strftime("%d-%m-%Y"), localization="false"),
            lambda body: _read_past(body, coin_id, vs),
            ttl_s=LASTING_TTL_S,
            deadline=deadline,
        )

    async def _live(self, asked: _Asked, deadline: float, max_age_s: float | None) -> Evidence:
        question = asked.question
        ids, vs = list(question.ids), question.vs
        got = await self._fetch(
            f"live:{'+'.join(ids)}:{vs}",
            lambda api: api.get_price(
                ids=ids,
                vs_currencies=vs,
                include_market_cap=True,
                include_24hr_vol=True,
                include_24hr_change=True,
                include_last_updated_at=True,
                precision="full",
            ),
            lambda body: _read_quotes(body, ids, vs, self._clock.now()),
            ttl_s=LIVE_TTL_S,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        quotes = got.value
        sentence = _say_live(asked, quotes)
        oldest = min((q.updated for q in quotes.values() if q.updated is not None), default=None)
        complete = all(quote.updated is not None for quote in quotes.values())
        return self._evidence(
            asked.question,
            sentence,
            oldest if complete else None,
            got,
            notes=asked.notes,
            data={"coins": {coin_id: _live_data(q, question) for coin_id, q in quotes.items()}},
        )

    async def _past(self, asked: _Asked, deadline: float) -> Evidence:
        question = asked.question
        day = date.fromisoformat(question.date or "")
        sentences: list[str] = []
        data: dict[str, Json] = {}
        stale = False
        for coin_id in question.ids:
            got = await self._history(coin_id, day, question.vs, deadline)
            sentences.append(_say_past(asked, coin_id, got.value, day))
            data[coin_id] = {"price": _text(got.value.price), "date": day.isoformat()}
            stale = stale or got.stale
        text = f"{'; '.join(sentences)}, according to CoinGecko."
        if asked.notes:
            text = f"{text} {' '.join(asked.notes)}"
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return _sourced(question, text, at, CONFIDENCE, Freshness.PAST_PRICE, {"coins": data, "stale": stale})

    async def _top(self, question: CoinQuestion, deadline: float, max_age_s: float | None) -> Evidence:
        limit, vs = question.limit or 10, question.vs
        got = await self._fetch(
            f"top:{vs}:{limit}",
            lambda api: api.get_coins_markets(
                vs, order="market_cap_desc", per_page=limit, page=1, sparkline="false"
            ),
            lambda body: _read_markets(body, limit, self._clock.now()),
            ttl_s=LIVE_TTL_S * 2,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        rows = got.value
        listed = "; ".join(
            f"{place}. {row.label} at {_money(row.price, vs)} (market cap {_whole_money(row.market_cap, vs)})"
            for place, row in enumerate(rows, start=1)
        )
        head = (
            f"The {len(rows)} largest cryptocurrencies by market cap are"
            if len(rows) > 1
            else "The largest is"
        )
        updated = min((row.updated for row in rows if row.updated is not None), default=None)
        data: dict[str, Json] = {
            "top": [
                {"id": row.id, "price": _text(row.price), "market_cap": _text(row.market_cap)} for row in rows
            ]
        }
        return self._evidence(question, f"{head} {listed}", updated, got, notes=(), data=data)

    def _evidence(
        self,
        question: CoinQuestion,
        sentence: str,
        updated: datetime | None,
        got: Guarded[T],
        *,
        notes: Sequence[str],
        data: dict[str, Json],
    ) -> Evidence:
        """A live answer with its source, its time and what is to be said against it."""
        if updated is None:
            text = f"{sentence}, according to CoinGecko, which did not state the time of the quote."
        else:
            text = f"{sentence}, according to CoinGecko at {_minute(updated)}."
        is_old = updated is None or self._clock.now() - updated > QUOTE_OLD
        extra = list(notes)
        if updated is not None and is_old:
            extra.append("That quote is more than a day old.")
        if got.stale:
            minutes = max(1, round(got.age_s / 60))
            extra.append(f"CoinGecko could not be asked just now; this was fetched {minutes} min ago.")
        data = {
            **data,
            "vs": question.vs,
            "last_updated_at": None if updated is None else int(updated.timestamp()),
            "stale": got.stale,
        }
        confidence = CONFIDENCE_OLD if is_old else CONFIDENCE
        return _sourced(question, " ".join((text, *extra)), updated, confidence, Freshness.PRICE, data)


# --- slots --------------------------------------------------------------------------------------------


def _slots(question: CoinQuestion) -> Slots:
    return {
        "ids": question.ids,
        "vs": question.vs,
        "metric": question.metric,
        "amount": question.amount,
        "date": question.date,
        "limit": question.limit,
    }


def _question(recognition: Recognition) -> CoinQuestion | None:
    """The question of a recognition, or None when its slots are not ones that ``recognise`` makes."""
    slots = recognition.slots
    ids, vs, metric = slots.get("ids"), slots.get("vs"), slots.get("metric")
    amount, day, limit = slots.get("amount"), slots.get("date"), slots.get("limit")
    names = recognition.unresolved
    if not isinstance(ids, tuple | list) or not isinstance(vs, str) or not isinstance(metric, str):
        return None
    if not all(isinstance(i, str) and _ID.match(i) for i in ids) or not _VS.match(vs) or len(ids) > 20:
        return None
    if len(names) > 5 or not all(_NAME.match(name) for name in names):
        return None
    if amount is not None and not (isinstance(amount, str) and _AMOUNT.match(amount)):
        return None
    if day is not None:
        try:
            date.fromisoformat(day if isinstance(day, str) else "")
        except ValueError:
            return None
    if metric == "top":
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= 250:
            return None
    elif metric not in _METRICS or not (ids or names):
        return None
    return CoinQuestion(
        ids=tuple(ids),
        unresolved=tuple(names),
        vs=vs,
        metric=metric,
        amount=amount if isinstance(amount, str) else None,
        date=day if isinstance(day, str) else None,
        limit=limit if isinstance(limit, int) else None,
    )


def _failed(exc: NodeError) -> Failed:
    if isinstance(exc, RateLimited):
        return Failed("rate_limited", str(exc), exc.retry_after_s)
    if isinstance(exc, BreakerOpen):
        return Failed("breaker_open", str(exc), exc.retry_after_s)
    if isinstance(exc, TimedOut):
        return Failed("timeout", str(exc))
    if isinstance(exc, Forbidden):
        return Failed("refused", str(exc))
    if isinstance(exc, Rejected):
        return Failed("bad_answer", str(exc))
    return Failed("unreachable", str(exc))


# --- reading what the source says ---------------------------------------------------------------------


def _number(value: object, what: str) -> Decimal:
    """A finite number. Raises ``Rejected`` for anything else, text included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Rejected(f"CoinGecko gave no number for the {what}")
    if isinstance(value, int) and abs(value) > FIGURE_MAX:
        raise Rejected(f"CoinGecko gave an impossible {what}")
    number = Decimal(repr(value))
    if not number.is_finite() or abs(number) > FIGURE_MAX:
        raise Rejected(f"CoinGecko gave an impossible {what}")
    return number


def _positive(value: object, what: str) -> Decimal:
    number = _number(value, what)
    if number <= 0:
        raise Rejected(f"CoinGecko gave an impossible {what}")
    return number


def _optional(value: object, what: str, *, signed: bool = False) -> Decimal | None:
    """None for null; a market cap of nothing is the source's way to say unknown."""
    if value is None:
        return None
    number = _number(value, what)
    if number < 0 and not signed:
        raise Rejected(f"CoinGecko gave an impossible {what}")
    return number if signed or number > 0 else None


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise Rejected(f"CoinGecko gave no {what}")
    return value


def _moment(value: object, now: datetime) -> datetime | None:
    """The time of a quote from unix seconds or ISO text; None when not stated; not from the future."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value[:40])
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        else:
            moment = datetime.fromtimestamp(float(_positive(value, "time of the quote")), UTC)
        ahead = moment - now
    except (ValueError, OverflowError, OSError) as exc:
        raise Rejected("CoinGecko gave an impossible time of the quote") from exc
    if ahead > CLOCKS_APART:
        raise Rejected("CoinGecko gave a quote from the future")
    return moment.astimezone(UTC)


def _read_quotes(body: object, ids: Sequence[str], vs: str, now: datetime) -> Mapping[str, _Quote]:
    rows = _mapping(body, "prices")
    quotes: dict[str, _Quote] = {}
    for coin_id in ids:
        if coin_id not in rows:
            raise Rejected(f"CoinGecko lists no coin {coin_id}")
        row = _mapping(rows[coin_id], f"figures for {coin_id}")
        if vs not in row:
            raise Rejected(f"CoinGecko has no price of {coin_id} in {vs.upper()}")
        quotes[coin_id] = _Quote(
            price=_positive(row[vs], f"price of {coin_id}"),
            market_cap=_optional(row.get(f"{vs}_market_cap"), "market cap"),
            volume=_optional(row.get(f"{vs}_24h_vol"), "volume"),
            change=_optional(row.get(f"{vs}_24h_change"), "change", signed=True),
            updated=_moment(row.get("last_updated_at"), now),
        )
    return quotes


def _read_past(body: object, coin_id: str, vs: str) -> _PastQuote:
    row = _mapping(body, "history")
    if row.get("id") != coin_id:
        raise Rejected("CoinGecko answered about another coin")
    if row.get("market_data") is None:
        return _PastQuote(None, None, None)
    figures = _mapping(row["market_data"], "history")

    def figure(name: str, what: str) -> object:
        return _mapping(figures.get(name) or {}, what).get(vs)

    price = figure("current_price", "prices")
    if price is None:
        return _PastQuote(None, None, None)
    return _PastQuote(
        _positive(price, f"price of {coin_id}"),
        _optional(figure("market_cap", "market cap"), "market cap"),
        _optional(figure("total_volume", "volume"), "volume"),
    )


def _read_markets(body: object, limit: int, now: datetime) -> tuple[_Row, ...]:
    if not isinstance(body, list) or not body:
        raise Rejected("CoinGecko gave no list of coins")
    rows: list[_Row] = []
    for entry in body[:limit]:
        row = _mapping(entry, "list of coins")
        rows.append(
            _Row(
                id=_coin_id(row.get("id")),
                label=_label(row.get("name"), row.get("symbol")),
                price=_positive(row.get("current_price"), "price"),
                market_cap=_positive(row.get("market_cap"), "market cap"),
                updated=_moment(row.get("last_updated"), now),
            )
        )
    if len({row.id for row in rows}) != len(rows):
        raise Rejected("CoinGecko listed a coin twice")
    return tuple(rows)


def _read_search(body: object, name: str) -> _Named:
    """The coin of exactly that name or ticker with the best rank. Raises ``NotFound``, ``Rejected``."""
    found = _mapping(body, "search result").get("coins")
    if not isinstance(found, list):
        raise Rejected("CoinGecko gave no search result")
    ranked: list[tuple[int, str, str]] = []
    unranked: list[tuple[str, str]] = []
    for entry in found[:250]:
        row = _mapping(entry, "search result")
        names = {str(row.get(part, "")).strip().lower()[:80] for part in ("id", "symbol", "name")}
        if name not in names:
            continue
        coin_id, label = _coin_id(row.get("id")), _label(row.get("name"), row.get("symbol"))
        rank = row.get("market_cap_rank")
        if isinstance(rank, int) and not isinstance(rank, bool) and rank > 0:
            ranked.append((rank, coin_id, label))
        else:
            unranked.append((coin_id, label))
    if ranked:
        ranked.sort()
        best = ranked[0]
        close = [label for rank, _, label in ranked[1:] if rank <= best[0] * CLOSE_RANKS][:3]
        return _Named(best[1], best[2], tuple(close))
    if len(unranked) == 1:
        return _Named(*unranked[0], ())
    if unranked:
        raise NotFound(f"several unranked coins are called {name}; CoinGecko does not say which is meant")
    raise NotFound(f"CoinGecko lists no coin called {name}")


def _coin_id(value: object) -> str:
    if not isinstance(value, str) or not _ID.match(value):
        raise Rejected("CoinGecko gave an impossible coin id")
    return value


def _label(name: object, symbol: object) -> str:
    """Name and ticker for people, from outside text: printable, cut short."""

    def clean(value: object, chars: int) -> str:
        text = value if isinstance(value, str) else ""
        return " ".join("".join(c if c.isprintable() else " " for c in text[:200]).split())[:chars]

    title, ticker = clean(name, 60), clean(symbol, 15).upper()
    if not title:
        raise Rejected("CoinGecko gave a coin without a name")
    return f"{title} ({ticker})" if ticker and ticker != title.upper() else title


def _label_of(coin_id: str) -> str:
    coin = BY_ID.get(coin_id)
    if coin is None:
        return coin_id
    return _label(coin.title, coin.symbols[0])


# --- saying it ----------------------------------------------------------------------------------------


def _say_live(asked: _Asked, quotes: Mapping[str, _Quote]) -> str:
    """One sentence without its end. Raises ``NotFound`` when the source does not state the figure."""
    question = asked.question
    vs = question.vs
    if question.amount is not None:
        coin_id, quote = next(iter(quotes.items()))
        total = _EXACT.multiply(Decimal(question.amount), quote.price)
        ticker = BY_ID[coin_id].symbols[0].upper() if coin_id in BY_ID else asked.labels[coin_id]
        amount = _grouped(Decimal(question.amount))
        return f"{amount} {ticker} is worth {_money(total, vs)} (at {_money(quote.price, vs)} each)"
    parts = [_say_figure(asked.labels[i], quotes[i], question.metric, vs) for i in question.ids]
    return _joined(parts)


def _say_figure(label: str, quote: _Quote, metric: str, vs: str) -> str:
    change = "" if quote.change is None else f" ({_percent(quote.change)} in 24 h)"
    if metric == "price":
        return f"{label} is trading at {_money(quote.price, vs)}{change}"
    if metric == "change_24h":
        if quote.change is None:
            raise NotFound(f"CoinGecko does not state the change of {label}")
        return f"{label} changed by {_percent(quote.change)} in 24 h, to {_money(quote.price, vs)}"
    figure, words = (
        (quote.market_cap, "market cap") if metric == "market_cap" else (quote.volume, "24 h trading volume")
    )
    if figure is None:
        raise NotFound(f"CoinGecko does not state the {words} of {label}")
    return f"the {words} of {label} is {_whole_money(figure, vs)}"


def _say_past(asked: _Asked, coin_id: str, quote: _PastQuote, day: date) -> str:
    question, label = asked.question, asked.labels[coin_id]
    when = f"on {day.isoformat()} (00:00 UTC)"
    if quote.price is None:
        raise NotFound(f"CoinGecko has no price of {label} in {question.vs.upper()} {when}")
    if question.metric == "price":
        if question.amount is None:
            return f"{label} was worth {_money(quote.price, question.vs)} {when}"
        total = _EXACT.multiply(Decimal(question.amount), quote.price)
        return f"{_grouped(Decimal(question.amount))} {label} were worth {_money(total, question.vs)} {when}"
    figure, words = (
        (quote.market_cap, "market cap")
        if question.metric == "market_cap"
        else (quote.volume, "24 h trading volume")
    )
    if figure is None or question.metric == "change_24h":
        raise NotFound(f"CoinGecko does not state that figure of {label} {when}")
    return f"the {words} of {label} was {_whole_money(figure, question.vs)} {when}"


def _joined(parts: Sequence[str]) -> str:
    text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"The {text[4:]}" if text.startswith("the ") else text


def _money(value: Decimal, vs: str) -> str:
    """Two decimals from one unit up, six significant digits below, never in exponent form."""
    if abs(value) >= 1:
        digits = format(value.quantize(Decimal("0.01"), context=_EXACT), ",f")
    else:
        places = max(2, 5 - value.adjusted())
        digits = format(value.quantize(Decimal(1).scaleb(-places), context=_EXACT), ",f").rstrip("0")
        whole, _, fraction = digits.partition(".")
        digits = f"{whole}.{fraction:0<2}"
    return _in_currency(digits, vs)


def _whole_money(value: Decimal, vs: str) -> str:
    if abs(value) < 1_000:
        return _money(value, vs)
    return _in_currency(format(value.quantize(Decimal(1), context=_EXACT), ",f"), vs)


def _in_currency(digits: str, vs: str) -> str:
    sign = _SIGNS.get(vs)
    return f"{sign}{digits}" if sign else f"{digits} {vs.upper()}"


def _percent(value: Decimal) -> str:
    rounded = value.quantize(Decimal("0.01"), context=_EXACT)
    sign = "−" if rounded < 0 else "+"
    return f"{sign}{abs(rounded):,.2f}%"


def _grouped(value: Decimal) -> str:
    return format(value, ",f")


def _text(value: Decimal | None) -> str | None:
    return None if value is None else format(value, "f")


def _live_data(quote: _Quote, question: CoinQuestion) -> dict[str, Json]:
    data: dict[str, Json] = {
        "price": _text(quote.price),
        "market_cap": _text(quote.market_cap),
        "volume_24h": _text(quote.volume),
        "change_24h": _text(quote.change),
        "last_updated_at": None if quote.updated is None else int(quote.updated.timestamp()),
    }
    if question.amount is not None:
        data["amount"] = question.amount
        data["total"] = _text(_EXACT.multiply(Decimal(question.amount), quote.price))
    return data


def _minute(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def _sourced(
    question: CoinQuestion,
    text: str,
    at: datetime | None,
    confidence: float,
    freshness: Freshness,
    data: Mapping[str, Json],
) -> Evidence:
    page = f"/coins/{question.ids[0]}" if len(question.ids) == 1 else ""
    url = f"https://www.coingecko.com/en{page}"
    return Evidence(
        text=text,
        source=SourceRef(kind="adapter", id=NAME, url=url, time=at),
        confidence=confidence,
        freshness=freshness,
        data=data,
        slots=_slots(question),
        key=canonical_key(question),
        citations=(Citation(source="CoinGecko", url=url, time=at),),
    )
