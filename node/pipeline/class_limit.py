"""How long an answer to a question may live here, whoever says it: the class, by our own reading of the text.

Promises: nothing that a peer writes beside question and source kind can lengthen a life; a question that an
adapter here claims has that adapter's class, whoever answered it; what no adapter claims lives as our own
answers of that kind of source would, and the wording can only shorten that.
Rules of lifetime are in ``node.store.retention.freshness``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from zoneinfo import ZoneInfo

from node.core.clock import Clock
from node.core.model import CLAIM, Freshness, Kind, Route
from node.core.record import AnswerRecord
from node.peers.rules.admission import ClassLimit
from node.pipeline.understanding.route import Router
from node.store.retention.freshness import lifetime_s
from node.store.retention.volatility import only_sounds_of_now

_BY_ADAPTER: Mapping[str, tuple[Freshness, Freshness]] = {
    "coingecko": (Freshness.PRICE, Freshness.PAST_PRICE),
    "coinbase": (Freshness.PRICE, Freshness.PAST_PRICE),
    "fx-rates": (Freshness.CURRENCY, Freshness.PAST_PRICE),
    "weather": (Freshness.WEATHER_NOW, Freshness.PAST_PRICE),
    "nba-scores": (Freshness.LIVE_SCORE, Freshness.FINAL_SCORE),
    "news-aggregator": (Freshness.NEWS, Freshness.NEWS),
    "world-time": (Freshness.CLOCK, Freshness.CLOCK),
    "snapshot": (Freshness.TIME_SENSITIVE, Freshness.TIME_SENSITIVE),
    "wikipedia": (Freshness.DEFINITION, Freshness.DEFINITION),
    "math-calculator": (Freshness.TIME_SENSITIVE, Freshness.TIME_SENSITIVE),
}
"""Adapter → the class of its answers, and of those about a past day that the question names. An adapter that
is not listed (a plugin) answers what is live."""

_LIVE = frozenset(
    {
        Freshness.CLOCK,
        Freshness.PRICE,
        Freshness.LIVE_SCORE,
        Freshness.WEATHER_NOW,
        Freshness.FORECAST,
        Freshness.NEWS,
        Freshness.CURRENCY,
        Freshness.TIME_SENSITIVE,
    }
)
_BY_SOURCE: Mapping[str, Freshness] = {
    "documents": Freshness.DEFINITION,
    "adapter": Freshness.DEFINITION,
    "client": Freshness.DEFINITION,
}
"""Kind of source → class, where no adapter here claims the question; others are ``GENERAL``."""


def class_limit(router: Router, clock: Clock, zone: ZoneInfo) -> Callable[[AnswerRecord], ClassLimit]:
    """The function that says it. ``zone``: the node's own, in which "today" is read."""

    def limit(record: AnswerRecord) -> ClassLimit:
        now = clock.now().astimezone(zone)
        route = router.route(record.query, now=now)
        freshness = _class_of(route, record, now.date())
        seconds = lifetime_s(
            freshness,
            query=record.query,
            time_sensitive=route.time_sensitive and not only_sounds_of_now(record.query),
            now=now,
        )
        is_ours = route.adapter is not None and route.strength >= CLAIM
        return ClassLimit(str(freshness), seconds, freshness in _LIVE, is_ours)

    return limit


def _class_of(route: Route, record: AnswerRecord, today: date) -> Freshness:
    if route.adapter is not None and route.strength >= CLAIM:
        live, settled = _BY_ADAPTER.get(route.adapter, (Freshness.TIME_SENSITIVE, Freshness.TIME_SENSITIVE))
        return settled if _is_of_a_past_day(route, today) else live
    if route.kind is Kind.DETERMINISTIC:
        return Freshness.TIME_SENSITIVE
    return _BY_SOURCE.get(record.source.kind, Freshness.GENERAL)


def _is_of_a_past_day(route: Route, today: date) -> bool:
    """Whether the question names an absolute day before today."""
    said = route.slots.get("date") or route.slots.get("when")
    try:
        return isinstance(said, str) and date.fromisoformat(said) < today
    except ValueError:
        return False
