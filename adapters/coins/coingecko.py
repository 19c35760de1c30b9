"""Prices and market figures of cryptocurrencies from CoinGecko.

It promises: a figure in an answer is one that the source stated for that coin, currency and time, checked to
be a finite number of the right sign; anything else is a ``Failed`` or ``Missed`` with a reason. A figure from
memory after a failure says so in words and in ``data["stale"]``. Questions are read by ``claims``, the wire
by ``coingecko_client`` and ``read``; everything outside goes through one ``Guard``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from adapters.coins import claims, follow, market, read, say, sums
from adapters.coins.coingecko_client import PUBLIC_URL, CoinGeckoClient
from adapters.coins.dates import day_of
from adapters.coins.metrics import DOMINANCE, LISTS, MARKET, MOVERS, PEG, WHOLE
from adapters.coins.slots import LIMIT_DEFAULT, CoinQuestion, canonical_key, label_of, question_of, slots_of
from adapters.fetch import ATTEMPT_SHARE, budgets_of, problems_of
from adapters.outcomes import failed
from adapters.remote import Look, Remote, max_age_s
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

if TYPE_CHECKING:
    from pycoingecko import CoinGeckoAPI

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


class CoinGecko(Remote):
    """``node.core.ports.Adapter`` for CoinGecko. Safe to call concurrently from one event loop."""

    name = NAME
    disables = "No fresh prices"

    def __init__(self, settings: AdapterSettings, clock: Clock, guard: Guard | None = None) -> None:
        """``settings.base_url`` empty means the public address; a key goes with the demo header, or with the
        pro header when the address is the provider's pro host. ``per_minute`` > 0 replaces the default
        limit."""
        super().__init__()
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
        look = Look(deadline=deadline, max_age_s=max_age_s(query))
        try:
            return Found(await self._answer(question, today, look))
        except _NoSuchCoin as exc:
            return Unclear(str(exc), "the source lists no coin of that name")
        except NotFound as exc:
            return Missed(str(exc))
        except NodeError as exc:
            return failed(exc)

    def problems(self) -> list[str]:
        hung = ["every line to CoinGecko hangs"] if self._client.free == 0 else []
        return problems_of(self._guard) + hung

    def health(self) -> Check:
        return replace(super().health(), since=self._guard.snapshot().since)

    def budgets(self) -> tuple[Budget, ...]:
        return budgets_of(self._guard)

    async def close(self) -> None:
        await self._client.close()

    # --- asking -----------------------------------------------------------------------------------

    async def _answer(self, question: CoinQuestion, today: date, look: Look) -> Evidence:
        if question.metric in LISTS:
            asked = say.Asked(question, {}, (), None, today)
            if question.metric == "top":
                return await self._top(asked, look)
            return await (self._movers if question.metric in MOVERS else self._trending)(asked, look)
        asked = await self._resolve(question, today, look)
        if asked.day is not None:
            return await self._past(asked, asked.day, look)
        if question.metric == DOMINANCE or question.metric in WHOLE:
            return await self._whole(asked, look)
        if question.metric in MARKET:
            return await self._market(asked, look)
        return await self._live(asked, look)

    async def _fetch(
        self,
        key: str,
        call: Callable[[CoinGeckoAPI], object],
        checked: Callable[[object], T],
        look: Look,
        *,
        ttl_s: float = 2 * LIVE_TTL_S,
    ) -> T:
        """The checked answer; only what ``checked`` accepts is ever remembered."""

        async def attempt(timeout_s: float) -> T:
            return checked(await self._client.fetch(call, timeout_s))

        attempts: Callable[[float], Awaitable[T]] = attempt
        got: Guarded[T] = await self._guard.call(
            attempts,
            key=key,
            ttl_s=ttl_s,
            deadline=look.deadline,
            attempt_timeout_s=self._timeout_s * ATTEMPT_SHARE,
            # What does not change is asked for once a day.
            max_age_s=None if ttl_s == LASTING_TTL_S else look.max_age_s,
        )
        return look.take(got)

    async def _resolve(self, question: CoinQuestion, today: date, look: Look) -> say.Asked:
        """Look up the names that the alias table lacks. Raises ``NotFound``."""
        labels = {coin_id: label_of(coin_id) for coin_id in question.ids}
        notes: list[str] = []
        ids = list(question.ids)
        for name in question.unresolved:
            try:
                named = await self._search(name, Look(deadline=look.deadline, max_age_s=None))
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
        return say.Asked(resolved, labels, tuple(notes), day, today)

    async def _search(self, name: str, look: Look) -> read.Named:
        return await self._fetch(
            f"search:{name}",
            lambda api: api.search(name),
            lambda body: read.search(body, name),
            look,
            ttl_s=LASTING_TTL_S,
        )

    async def _history(self, coin_id: str, day: date, vs: str, look: Look) -> read.PastQuote:
        return await self._fetch(
            f"past:{coin_id}:{vs}:{day}",
            lambda api: api.get_coin_history_by_id(coin_id, day.strftime("%d-%m-%Y"), localization="false"),
            lambda body: read.past(body, coin_id, vs),
            look,
            ttl_s=LASTING_TTL_S,
        )

    async def _live(self, asked: say.Asked, look: Look) -> Evidence:
        question = asked.question
        ids, vs = list(question.ids), question.vs
        quotes = await self._fetch(
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
            look,
            ttl_s=LIVE_TTL_S,
        )
        times = [quote.updated for quote in quotes.values() if quote.updated is not None]
        if question.expr is not None:
            prices = {coin_id: quote.price for coin_id, quote in quotes.items()}
            sentence = sums.say(question.expr, prices, asked.labels, vs, asked.today)
        elif question.metric == PEG:
            sentence = say.joined([market.say_peg(asked.labels[i], quotes[i], vs) for i in ids])
        else:
            sentence = say.live(asked, quotes)
        coins: dict[str, Json] = {
            coin_id: say.live_data(quote, question) for coin_id, quote in quotes.items()
        }
        updated = min(times) if len(times) == len(quotes) else None
        evidence = self._evidence(asked, look, sentence, updated, {"coins": coins})
        if question.metric != "price":
            return evidence
        return replace(evidence, figures={i: format(quote.price, "f") for i, quote in quotes.items()})

    async def _past(self, asked: say.Asked, day: date, look: Look) -> Evidence:
        question = asked.question
        quotes = {i: await self._history(i, day, question.vs, look) for i in question.ids}
        sentence = say.joined([say.past(asked, i, quote, day) for i, quote in quotes.items()])
        text = " ".join((f"{sentence}, according to CoinGecko.", *asked.notes)) + look.note("CoinGecko")
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
        coins: dict[str, Json] = {
            i: {"price": say.plain(quote.price), "date": day.isoformat()} for i, quote in quotes.items()
        }
        data: dict[str, Json] = {"coins": coins, "stale": look.stale}
        return _sourced(asked, text, at, CONFIDENCE, Freshness.PAST_PRICE, data)

    async def _market(self, asked: say.Asked, look: Look) -> Evidence:
        """A figure that only the list of markets states."""
        question, ids = asked.question, list(asked.question.ids)
        found = await self._fetch(
            f"market:{question.metric}:{'+'.join(ids)}:{question.vs}",
            lambda api: api.get_coins_markets(
                question.vs,
                ids=ids,
                per_page=len(ids),
                sparkline="false",
                price_change_percentage="7d,30d,1y",
            ),
            lambda body: market.listed(body, ids, question.metric, self._clock.now()),
            look,
        )
        rows = [found[coin_id] for coin_id in ids]
        coins: dict[str, Json] = {row.id: {question.metric: say.plain(row.figure)} for row in rows}
        sentence = market.say_listed(rows, question.metric, question.vs)
        return self._evidence(asked, look, sentence, market.oldest(rows), {"coins": coins})

    async def _whole(self, asked: say.Asked, look: Look) -> Evidence:
        """The whole market, or what share of it coins have."""
        question, vs = asked.question, asked.question.vs
        found = await self._fetch(
            f"global:{vs}",
            lambda api: api.get_global(),
            lambda body: market.whole({"data": body}, vs, self._clock.now()),
            look,
        )
        if question.metric == DOMINANCE:
            sentence = market.say_dominance(question.ids, asked.labels, found)
        else:
            sentence = market.say_whole(question.metric, found, vs)
        return self._evidence(asked, look, sentence, found.updated, {})

    async def _movers(self, asked: say.Asked, look: Look) -> Evidence:
        """What gained or lost most."""
        limit, vs, metric = asked.question.limit or LIMIT_DEFAULT, asked.question.vs, asked.question.metric
        rows = await self._fetch(
            f"{metric}:{vs}:{limit}",
            lambda api: _largest(api, vs, market.LARGEST),
            lambda body: market.movers(body, metric, limit, self._clock.now()),
            look,
        )
        data: dict[str, Json] = {metric: [{"id": r.id, "change": say.plain(r.figure)} for r in rows]}
        return self._evidence(asked, look, market.say_movers(rows, metric, vs), market.oldest(rows), data)

    async def _trending(self, asked: say.Asked, look: Look) -> Evidence:
        """What is searched for most."""
        found = await self._fetch(
            "trending", lambda api: api.get_search_trending(), market.trending, look, ttl_s=20 * LIVE_TTL_S
        )
        names = found[: asked.question.limit or LIMIT_DEFAULT]
        at = self._clock.now() - timedelta(seconds=look.age_s)
        return self._evidence(asked, look, market.say_trending(names), at, {"trending": list(names)})

    async def _top(self, asked: say.Asked, look: Look) -> Evidence:
        limit, vs = asked.question.limit or LIMIT_DEFAULT, asked.question.vs
        rows = await self._fetch(
            f"top:{vs}:{limit}",
            lambda api: _largest(api, vs, limit),
            lambda body: market.largest(body, limit, self._clock.now()),
            look,
        )
        listed: list[Json] = [
            {"id": row.id, "price": say.plain(row.price), "market_cap": say.plain(row.figure)} for row in rows
        ]
        return self._evidence(asked, look, market.say_largest(rows, vs), market.oldest(rows), {"top": listed})

    def _evidence(
        self,
        asked: say.Asked,
        look: Look,
        sentence: str,
        updated: datetime | None,
        data: Mapping[str, Json],
    ) -> Evidence:
        """A live answer with its source, its time and what is to be said against it."""
        if updated is None:
            text = f"{sentence}, according to CoinGecko, which did not state the time of the quote."
        else:
            text = f"{sentence}, according to CoinGecko at {say.minute(updated)}."
        age = None if updated is None else self._clock.now() - updated
        extra = list(asked.notes)
        if age is not None and age > QUOTE_AGED:
            old = "more than a day" if age > read.QUOTE_OLD else "several hours"
            extra.append(f"That quote is {old} old.")
        confidence = CONFIDENCE_OLD if age is None or age > QUOTE_AGED else CONFIDENCE
        more: dict[str, Json] = {
            **data,
            "vs": asked.question.vs,
            "last_updated_at": None if updated is None else int(updated.timestamp()),
            "stale": look.stale,
        }
        text = " ".join((text, *extra)) + look.note("CoinGecko")
        return _sourced(asked, text, updated, confidence, Freshness.PRICE, more)


def _largest(api: CoinGeckoAPI, vs: str, count: int) -> object:
    """The page of the largest coins."""
    page: object = api.get_coins_markets(
        vs, order="market_cap_desc", per_page=count, page=1, sparkline="false"
    )
    return page


def _sourced(
    asked: say.Asked,
    text: str,
    at: datetime | None,
    confidence: float,
    freshness: Freshness,
    data: Mapping[str, Json],
) -> Evidence:
    question = asked.question
    page = f"/coins/{question.ids[0]}" if len(question.ids) == 1 else ""
    url = f"https://www.coingecko.com/en{page}"
    return Evidence(
        text=text,
        source=SourceRef(kind="adapter", id=NAME, url=url, time=at),
        confidence=confidence,
        freshness=freshness,
        data=data,
        slots=slots_of(question),
        key=canonical_key(question, asked.today),
        citations=(Citation(source="CoinGecko", url=url, time=at),),
    )
