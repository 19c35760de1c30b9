"""Prices and market figures of cryptocurrencies from CoinGecko.

It promises: a figure in an answer is one that the source stated for that coin, currency and time, checked to
be a finite number of the right sign; anything else is a ``Failed`` or ``Missed`` with a reason. A figure from
memory after a failure says so in words and in ``data["stale"]``. Questions are read by ``claims``, the wire
by ``coingecko_client`` and ``read``; everything outside goes through one ``Guard``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from pycoingecko import CoinGeckoAPI

from adapters.coins import claims, follow, market, read, say, sums
from adapters.coins.coingecko_client import PUBLIC_URL, CoinGeckoClient
from adapters.coins.dates import day_of
from adapters.coins.metrics import DOMINANCE, LISTS, MARKET, MOVERS, PEG, WHOLE
from adapters.coins.slots import (
    LIMIT_DEFAULT,
    CoinQuestion,
    canonical_key,
    label_of,
    question_of,
    slots_of,
)
from adapters.fetch import ATTEMPT_SHARE, budgets_of, check_of, problems_of
from adapters.outcomes import failed
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound
from node.core.guard import Guard, Guarded
from node.core.limits import Limits, Window
from node.core.model import (
    Budget,
    Check,
    Citation,
    Evidence,
    Found,
    Freshness,
    Json,
    Missed,
    Outcome,
    Query,
    Recognition,
    SourceRef,
    Unclear,
)
from node.core.settings import AdapterSettings

NAME = "coingecko"
PER_MINUTE_WITHOUT_KEY = 10
PER_MINUTE_WITH_KEY = 30
"""The provider states different limits in different places; these are on the careful side."""
PER_MONTH = 10_000
CONCURRENCY = 4
LINES = 6
"""Threads: two more than calls at a time, so that hanging name resolutions do not stop the rest at once."""
LIVE_TTL_S = 30.0
LASTING_TTL_S = 86_400.0
STALE_FOR_S = 3_600.0
CONFIDENCE = 0.95
CONFIDENCE_OLD = 0.75
QUOTE_AGED = timedelta(hours=3)
"""A quote that is older says so."""

T = TypeVar("T")


class _NoSuchCoin(NotFound):
    """No coin is known by a name that was asked for; the message is for the asker."""


class CoinGecko:
    """``node.core.ports.Adapter`` for CoinGecko. Safe to call concurrently from one event loop."""

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
            Limits(
                windows=(Window(per_minute, 60.0), Window(max(PER_MONTH, per_minute), 31 * 86_400.0)),
                concurrency=CONCURRENCY,
                attempts=3,
                cache_entries=512,
                stale_for_s=STALE_FOR_S,
            ),
        )
        self._client = CoinGeckoClient(settings.base_url or PUBLIC_URL, settings.api_key, clock, lines=LINES)

    @property
    def name(self) -> str:
        return NAME

    @property
    def is_local(self) -> bool:
        return False

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """See ``claims``; ``key`` is None while a name is still to be looked up."""
        claim = claims.claim(text, now.date(), hinted=hinted)
        if claim is None:
            return None
        question = claim.question
        return Recognition(
            adapter=NAME,
            slots=slots_of(question),
            key=None if question.unresolved else canonical_key(question, now.date()),
            local=False,
            reason=claim.reason,
            strength=claim.strength,
            unresolved=question.unresolved,
        )

    def warm(self) -> None:
        """Nothing is slow to load."""

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """See ``follow``."""
        return follow.follow_up(fragment, earlier, now.date())

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with the figure, ``Missed`` when the source has none, else ``Failed``."""
        today = query.local.date()
        question = question_of(recognition, today)
        if question is None or (question.expr and not sums.is_expression(question.expr, question.ids)):
            return Missed("this is not a question about the price of a coin")
        deadline = min(query.deadline, self._clock.monotonic() + self._timeout_s)
        max_age_s = 0.0 if query.no_cache else query.max_age_s
        try:
            if question.metric in LISTS:
                lists = self._top if question.metric == "top" else self._list
                return Found(await lists(question, today, deadline, max_age_s))
            asked = await self._resolve(question, today, deadline)
            if asked.day is not None:
                return Found(await self._past(asked, today, asked.day, deadline))
            if question.metric == DOMINANCE or question.metric in WHOLE:
                return Found(await self._whole(asked, today, deadline, max_age_s))
            if question.metric in MARKET:
                return Found(await self._market(asked, today, deadline, max_age_s))
            return Found(await self._live(asked, today, deadline, max_age_s))
        except _NoSuchCoin as exc:
            return Unclear(str(exc), "the source lists no coin of that name")
        except NotFound as exc:
            return Missed(str(exc))
        except NodeError as exc:
            return failed(exc)

    def health(self) -> Check:
        problems = problems_of(self._guard)
        if self._client.free == 0:
            problems.append("every line to CoinGecko hangs")
        return replace(check_of(NAME, problems, "No fresh prices"), since=self._guard.snapshot().since)

    def budgets(self) -> tuple[Budget, ...]:
        return budgets_of(self._guard)

    async def close(self) -> None:
        await self._client.close()

    # --- asking -----------------------------------------------------------------------------------

    async def _fetch(
        self,
        key: str,
        call: Callable[[CoinGeckoAPI], object],
        checked: Callable[[object], T],
        *,
        ttl_s: float,
        deadline: float,
        max_age_s: float | None = None,
    ) -> Guarded[T]:
        """The checked answer; only what ``checked`` accepts is ever remembered."""

        async def attempt(timeout_s: float) -> T:
            return checked(await self._client.fetch(call, timeout_s))

        attempts: Callable[[float], Awaitable[T]] = attempt
        return await self._guard.call(
            attempts,
            key=key,
            ttl_s=ttl_s,
            deadline=deadline,
            attempt_timeout_s=self._timeout_s * ATTEMPT_SHARE,
            max_age_s=max_age_s,
        )

    async def _resolve(self, question: CoinQuestion, today: date, deadline: float) -> say.Asked:
        """Look up the names that the alias table lacks. Raises ``NotFound``."""
        labels = {coin_id: label_of(coin_id) for coin_id in question.ids}
        notes: list[str] = []
        ids = list(question.ids)
        for name in question.unresolved:
            try:
                named = (await self._search(name, deadline)).value
            except NotFound as exc:
                raise _NoSuchCoin(
                    f"{exc}, so there is no figure to give. Check the spelling, or give the ticker, for"
                    " example: price of BTC."
                ) from exc
            labels[named.id] = named.label
            ids.append(named.id)
            if named.others:
                notes.append(f"Other coins share that name: {', '.join(named.others)}.")
        resolved = replace(question, ids=tuple(sorted(set(ids))), unresolved=())
        day = None if question.date is None else day_of(question.date, today)
        return say.Asked(resolved, labels, tuple(notes), day)

    async def _search(self, name: str, deadline: float) -> Guarded[read.Named]:
        return await self._fetch(
            f"search:{name}",
            lambda api: api.search(name),
            lambda body: read.search(body, name),
            ttl_s=LASTING_TTL_S,
            deadline=deadline,
        )

    async def _history(self, coin_id: str, day: date, vs: str, deadline: float) -> Guarded[read.PastQuote]:
        return await self._fetch(
            f"past:{coin_id}:{vs}:{day}",
            lambda api: api.get_coin_history_by_id(coin_id, day.strftime("%d-%m-%Y"), localization="false"),
            lambda body: read.past(body, coin_id, vs),
            ttl_s=LASTING_TTL_S,
            deadline=deadline,
        )

    async def _live(
        self, asked: say.Asked, today: date, deadline: float, max_age_s: float | None
    ) -> Evidence:
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
            lambda body: read.quotes(body, ids, vs, self._clock.now()),
            ttl_s=LIVE_TTL_S,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        quotes = got.value
        times = [quote.updated for quote in quotes.values() if quote.updated is not None]
        if question.expr is not None:
            prices = {coin_id: quote.price for coin_id, quote in quotes.items()}
            sentence = sums.say(question.expr, prices, asked.labels, vs, today)
        elif question.metric == PEG:
            sentence = say.joined([market.say_peg(asked.labels[i], quotes[i], vs) for i in ids])
        else:
            sentence = say.live(asked, quotes)
        evidence = self._evidence(
            question,
            today,
            sentence,
            min(times) if len(times) == len(quotes) else None,
            got,
            notes=asked.notes,
            data={"coins": {coin_id: say.live_data(quote, question) for coin_id, quote in quotes.items()}},
        )
        if question.metric != "price":
            return evidence
        figures = {coin_id: format(quote.price, "f") for coin_id, quote in quotes.items()}
        return replace(evidence, figures=figures)

    async def _past(self, asked: say.Asked, today: date, day: date, deadline: float) -> Evidence:
        question = asked.question
        sentences: list[str] = []
        data: dict[str, Json] = {}
        notes = list(asked.notes)
        stale = False
        for coin_id in question.ids:
            got = await self._history(coin_id, day, question.vs, deadline)
            sentences.append(say.past(asked, coin_id, got.value, day))
            data[coin_id] = {"price": say.plain(got.value.price), "date": day.isoformat()}
            if got.stale and not stale:
                notes.append(say.stale_note("CoinGecko", got.age_s))
                stale = True
        text = " ".join((f"{say.joined(sentences)}, according to CoinGecko.", *notes))
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return _sourced(
            question, today, text, at, CONFIDENCE, Freshness.PAST_PRICE, {"coins": data, "stale": stale}
        )

    async def _market(
        self, asked: say.Asked, today: date, deadline: float, max_age_s: float | None
    ) -> Evidence:
        """A figure that only the list of markets states."""
        question, ids = asked.question, list(asked.question.ids)
        got = await self._fetch(
            f"market:{question.metric}:{'+'.join(ids)}:{question.vs}",
            lambda api: api.get_coins_markets(
                question.vs,
                ids=ids,
                per_page=len(ids),
                sparkline="false",
                price_change_percentage="7d,30d,1y",
            ),
            lambda body: market.listed(body, ids, question.metric, self._clock.now()),
            ttl_s=LIVE_TTL_S * 2,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        rows = [got.value[coin_id] for coin_id in ids]
        return self._evidence(
            question,
            today,
            market.say_listed(rows, question.metric, question.vs),
            min((row.updated for row in rows if row.updated is not None), default=None),
            got,
            notes=asked.notes,
            data={"coins": {row.id: {question.metric: say.plain(row.figure)} for row in rows}},
        )

    async def _whole(
        self, asked: say.Asked, today: date, deadline: float, max_age_s: float | None
    ) -> Evidence:
        """The whole market, or what share of it coins have."""
        question, vs = asked.question, asked.question.vs
        got = await self._fetch(
            f"global:{vs}",
            lambda api: api.get_global(),
            lambda body: market.whole({"data": body}, vs, self._clock.now()),
            ttl_s=LIVE_TTL_S * 2,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        if question.metric == DOMINANCE:
            sentence = market.say_dominance(question.ids, asked.labels, got.value)
        else:
            sentence = market.say_whole(question.metric, got.value, vs)
        return self._evidence(question, today, sentence, got.value.updated, got, notes=asked.notes, data={})

    async def _list(
        self, question: CoinQuestion, today: date, deadline: float, max_age_s: float | None
    ) -> Evidence:
        """What gained or lost most, or is searched for most."""
        limit, vs, metric = question.limit or LIMIT_DEFAULT, question.vs, question.metric
        if metric in MOVERS:
            got = await self._fetch(
                f"{metric}:{vs}:{limit}",
                lambda api: api.get_coins_markets(
                    vs, order="market_cap_desc", per_page=market.LARGEST, page=1, sparkline="false"
                ),
                lambda body: market.movers(body, metric, limit, self._clock.now()),
                ttl_s=LIVE_TTL_S * 2,
                deadline=deadline,
                max_age_s=max_age_s,
            )
            updated = min((row.updated for row in got.value if row.updated is not None), default=None)
            data: dict[str, Json] = {metric: [{"id": r.id, "change": say.plain(r.figure)} for r in got.value]}
            sentence = market.say_movers(got.value, metric, vs)
            return self._evidence(question, today, sentence, updated, got, notes=(), data=data)
        names = await self._fetch(
            "trending",
            lambda api: api.get_search_trending(),
            market.trending,
            ttl_s=LIVE_TTL_S * 20,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        at = self._clock.now() - timedelta(seconds=names.age_s)
        sentence = market.say_trending(names.value[:limit])
        data = {"trending": list(names.value[:limit])}
        return self._evidence(question, today, sentence, at, names, notes=(), data=data)

    async def _top(
        self, question: CoinQuestion, today: date, deadline: float, max_age_s: float | None
    ) -> Evidence:
        limit, vs = question.limit or LIMIT_DEFAULT, question.vs
        got = await self._fetch(
            f"top:{vs}:{limit}",
            lambda api: api.get_coins_markets(
                vs, order="market_cap_desc", per_page=limit, page=1, sparkline="false"
            ),
            lambda body: read.markets(body, limit, self._clock.now()),
            ttl_s=LIVE_TTL_S * 2,
            deadline=deadline,
            max_age_s=max_age_s,
        )
        rows = got.value
        updated = min((row.updated for row in rows if row.updated is not None), default=None)
        data: dict[str, Json] = {
            "top": [
                {"id": row.id, "price": say.plain(row.price), "market_cap": say.plain(row.market_cap)}
                for row in rows
            ]
        }
        return self._evidence(question, today, say.largest(rows, vs), updated, got, notes=(), data=data)

    def _evidence(
        self,
        question: CoinQuestion,
        today: date,
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
            text = f"{sentence}, according to CoinGecko at {say.minute(updated)}."
        is_old = updated is None or self._clock.now() - updated > QUOTE_AGED
        extra = list(notes)
        if updated is not None and is_old:
            age = self._clock.now() - updated
            old = "more than a day" if age > read.QUOTE_OLD else "several hours"
            extra.append(f"That quote is {old} old.")
        if got.stale:
            extra.append(say.stale_note("CoinGecko", got.age_s))
        data = {
            **data,
            "vs": question.vs,
            "last_updated_at": None if updated is None else int(updated.timestamp()),
            "stale": got.stale,
        }
        confidence = CONFIDENCE_OLD if is_old else CONFIDENCE
        return _sourced(question, today, " ".join((text, *extra)), updated, confidence, Freshness.PRICE, data)


def _sourced(
    question: CoinQuestion,
    today: date,
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
        slots=slots_of(question),
        key=canonical_key(question, today),
        citations=(Citation(source="CoinGecko", url=url, time=at),),
    )
