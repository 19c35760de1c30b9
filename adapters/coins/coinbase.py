"""Prices of well-known coins from Coinbase Exchange: a second source beside CoinGecko, to compare with.

It promises: a price in an answer is the last trade that the exchange stated for that pair, checked to be a
positive decimal between a sane bid and ask, of the last day and not from the future; anything else is a
``Failed`` or ``Missed``. It claims the same questions under the same key as CoinGecko, a little more weakly:
live prices of one or two coins of the table in dollars, euros or pounds, and nothing else.

Wire format: ``GET /products/{BASE}-{QUOTE}/ticker`` gives ``price``, ``bid``, ``ask``, ``volume``, ``size``
as texts of digits, ``time`` in ISO 8601 and ``trade_id``; a pair without a trade lacks ``price`` and
``time``; an unknown pair is 404 with ``message``. The documentation states 10 requests a second by address,
15 in bursts; the windows here are far below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from adapters import outside
from adapters.coins import claims, follow, say
from adapters.coins.aliases import ON_COINBASE
from adapters.coins.read import fresh_moment
from adapters.coins.slots import CoinQuestion, canonical_key, label_of, question_of, slots_of, ticker_of
from adapters.fetch import Http, Reply, Source
from adapters.outcomes import failed
from adapters.remote import Look, Remote, max_age_s
from node.core.clock import Clock
from node.core.errors import NodeError, NotFound, Rejected
from node.core.guard import Guard
from node.core.limits import Limits, Window
from node.core.model import (
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
)
from node.core.settings import AdapterSettings

NAME = "coinbase"
PUBLIC_URL = "https://api.exchange.coinbase.com"
PER_SECOND = 3
PER_MINUTE = 100
COINS_MAX = 2
WEAKER_BY = 0.02
"""So that CoinGecko, which knows more coins and figures, wins where both claim."""
LIVE_TTL_S = 30.0
STALE_FOR_S = 3_600.0
BODY_BYTES_MAX = 64 * 1024
CONFIDENCE = 0.95
SPREAD_MAX = 2
"""A last price further from bid or ask than by this factor is no price of that moment."""

_QUOTED = frozenset(("usd", "eur", "gbp"))
_DECIMAL = re.compile(r"\d{1,24}(?:\.\d{1,24})?\Z")


@dataclass(frozen=True, slots=True)
class Trade:
    """The last trade of a pair."""

    price: Decimal
    at: datetime


class Coinbase(Remote):
    """``node.core.ports.Adapter`` for Coinbase Exchange. Safe to call concurrently from one event loop."""

    name = NAME
    disables = "No second source to compare prices with"

    def __init__(
        self, settings: AdapterSettings, http: Http, clock: Clock, guard: Guard | None = None
    ) -> None:
        """``settings.base_url`` empty means the public address; ``per_minute`` > 0 replaces the default."""
        self._clock = clock
        per_minute = settings.per_minute or PER_MINUTE
        guard = guard or Guard(
            "Coinbase",
            clock,
            Limits(
                windows=(Window(min(PER_SECOND, per_minute), 1.0), Window(per_minute, 60.0)),
                concurrency=2,
                attempts=2,
                cache_entries=128,
                stale_for_s=STALE_FOR_S,
            ),
        )
        self._source = Source(
            settings.base_url or PUBLIC_URL,
            http,
            clock,
            guard,
            timeout_s=settings.timeout_s,
            headers={"Accept": "application/json"},
            body_bytes_max=BODY_BYTES_MAX,
        )
        super().__init__(self._source)

    def recognise(self, text: str, now: datetime, *, hinted: bool = False) -> Recognition | None:
        """The live prices among the claims on coins."""
        claim = claims.claim(text, now.date(), hinted=hinted)
        if claim is None or not _is_traded(claim.question):
            return None
        return Recognition(
            adapter=NAME,
            slots=slots_of(claim.question),
            key=canonical_key(claim.question, now.date()),
            local=False,
            reason=claim.reason,
            strength=round(claim.strength - WEAKER_BY, 4),
        )

    def follow_up(self, fragment: str, earlier: str, now: datetime) -> str | None:
        """The question that goes on, if this exchange has an answer to it."""
        today = now.date()
        before, words = claims.claim(earlier, today), follow.follow_up(fragment, earlier, today)
        if before is None or words is None or not _is_traded(before.question):
            return None
        after = claims.claim(words, today)
        return words if after is not None and _is_traded(after.question) else None

    async def ask(self, recognition: Recognition, query: Query) -> Outcome:
        """``Found`` with the last trades, ``Missed`` for a pair that is not traded there, else ``Failed``."""
        today = query.local.date()
        question = question_of(recognition, today)
        if question is None or not _is_traded(question):
            return Missed("this is not a question about a live price of a coin that Coinbase trades")
        look = Look(deadline=query.deadline, max_age_s=max_age_s(query))
        try:
            trades = {coin_id: await self._trade(coin_id, question.vs, look) for coin_id in question.ids}
        except NotFound:
            return Missed(f"Coinbase does not trade that pair in {question.vs.upper()}")
        except NodeError as exc:
            return failed(exc)
        return Found(_evidence(question, canonical_key(question, today), trades, look))

    async def _trade(self, coin_id: str, vs: str, look: Look) -> Trade:
        pair = _pair(coin_id, vs)
        got = await self._source.get(
            f"/products/{pair}/ticker",
            key=pair,
            read=lambda reply: _read(reply, self._clock.now()),
            ttl_s=LIVE_TTL_S,
            deadline=look.deadline,
            max_age_s=look.max_age_s,
        )
        return look.take(got)


def _is_traded(question: CoinQuestion) -> bool:
    return (
        question.metric == "price"
        and question.date is None
        and question.vs in _QUOTED
        and not question.unresolved
        and 1 <= len(question.ids) <= COINS_MAX
        and all(coin_id in ON_COINBASE for coin_id in question.ids)
        and (question.amount is None or len(question.ids) == 1)
    )


def _pair(coin_id: str, vs: str) -> str:
    return f"{ON_COINBASE[coin_id]}-{vs.upper()}"


def _read(reply: Reply, now: datetime) -> Trade:
    """The checked last trade. Raises ``Rejected``."""
    row = outside.mapping(reply.json(), "Coinbase", "ticker")
    price, bid, ask = (_decimal(row.get(name), name) for name in ("price", "bid", "ask"))
    if bid > ask or not bid / SPREAD_MAX <= price <= ask * SPREAD_MAX:
        raise Rejected("Coinbase gave an impossible price between bid and ask")
    said = row.get("time")
    at = fresh_moment(said, "Coinbase", now) if isinstance(said, str) else None
    if at is None:
        raise Rejected("Coinbase did not state the time of the trade")
    return Trade(price, at)


def _decimal(value: object, what: str) -> Decimal:
    """A positive decimal from text, as this source writes its figures."""
    if not isinstance(value, str) or not value.isascii() or not _DECIMAL.match(value):
        raise Rejected(f"Coinbase gave no number for the {what}")
    figure = Decimal(value)
    if not 0 < figure <= outside.FIGURE_MAX:
        raise Rejected(f"Coinbase gave an impossible {what}")
    return figure


def _evidence(question: CoinQuestion, key: str, trades: Mapping[str, Trade], look: Look) -> Evidence:
    vs = question.vs
    at = min(trade.at for trade in trades.values())
    coin_id, trade = next(iter(trades.items()))
    if question.money is not None:
        sentence = say.bought(question.money, ticker_of(coin_id, label_of(coin_id)), trade.price, vs)
    elif question.amount is not None:
        sentence = say.converted(question.amount, ticker_of(coin_id, label_of(coin_id)), trade.price, vs)
    else:
        sentence = say.joined(
            [f"{label_of(i)} last traded at {say.money(trade.price, vs)}" for i, trade in trades.items()]
        )
    url = f"https://exchange.coinbase.com/trade/{_pair(question.ids[0], vs)}"
    coins: dict[str, Json] = {
        i: {"price": say.plain(trade.price), "last_updated_at": int(trade.at.timestamp())}
        for i, trade in trades.items()
    }
    return Evidence(
        text=f"{sentence}, according to Coinbase at {say.minute(at)}.{look.note('Coinbase')}",
        source=SourceRef(kind="adapter", id=NAME, url=url, time=at),
        confidence=CONFIDENCE,
        freshness=Freshness.PRICE,
        data={"coins": coins, "vs": vs, "stale": look.stale},
        slots=slots_of(question),
        key=key,
        citations=(Citation(source="Coinbase", url=url, time=at),),
        figures={i: format(trade.price, "f") for i, trade in trades.items()},
    )
