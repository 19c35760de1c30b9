"""A question about coins as slots, and back. Pure; shared by every source of prices.

Rules of this file:
- ``CoinQuestion`` holds a time as it was said (``yesterday``, ``today-7d``, ``2024-01-01``); the key holds
  the day that it means, so that the same words ask something else tomorrow.
- Slots that come back from a route are checked again: nothing but what ``slots_of`` makes passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from adapters.coins.aliases import BY_ID
from adapters.coins.dates import day_of
from adapters.coins.metrics import DOMINANCE, LISTS, MARKET, PEG, SUM, WHOLE
from adapters.outgoing import may_leave
from node.core.model import Recognition, Slots, SlotValue

METRICS = frozenset(("price", "market_cap", "volume_24h", "change_24h", DOMINANCE, PEG, SUM, *MARKET))
LIMIT_DEFAULT = 10
LIMIT_MAX = 250

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}\Z")
_VS = re.compile(r"[a-z]{3,5}\Z")
_NAME = re.compile(r"[a-z0-9]{1,20}\Z")
_AMOUNT = re.compile(r"\d{1,40}(?:\.\d{1,40})?\Z")


@dataclass(frozen=True, slots=True)
class CoinQuestion:
    """What is asked. ``unresolved`` are names still to be looked up; ``metric`` is one of price, market_cap,
    volume_24h, change_24h and those of ``metrics``; ``amount`` a canonical decimal; ``date`` as said, None
    for now. ``money`` is an amount of ``vs`` instead: how many coins it buys is asked. ``expr`` is a sum over
    prices (see ``sums``)."""

    ids: tuple[str, ...]
    unresolved: tuple[str, ...]
    vs: str
    metric: str
    amount: str | None = None
    date: str | None = None
    limit: int | None = None
    money: str | None = None
    expr: str | None = None


def canonical_key(question: CoinQuestion, today: date) -> str:
    """The slot key, e.g. ``price:bitcoin:usd`` or ``price:bitcoin+ethereum:eur:date=2024-01-01``."""
    parts = [question.metric]
    if question.ids:
        parts.append("+".join(sorted(question.ids)))
    parts.append(question.vs)
    if question.amount is not None:
        parts.append(f"amount={question.amount}")
    if question.money is not None:
        parts.append(f"money={question.money}")
    if question.date is not None and (day := day_of(question.date, today)) is not None:
        parts.append(f"date={day.isoformat()}")
    if question.limit is not None:
        parts.append(f"limit={question.limit}")
    if question.expr is not None:
        parts.append(f"expr={question.expr}")
    return ":".join(parts)


def slots_of(question: CoinQuestion) -> Slots:
    """The agreed slots, all of them; ``money`` and ``expr`` besides where they are said."""
    slots: dict[str, SlotValue] = {
        "ids": question.ids,
        "vs": question.vs,
        "metric": question.metric,
        "amount": question.amount,
        "date": question.date,
        "limit": question.limit,
    }
    if question.money is not None:
        slots["money"] = question.money
    if question.expr is not None:
        slots["expr"] = question.expr
    return slots


def question_of(recognition: Recognition, today: date) -> CoinQuestion | None:
    """The question of a recognition, or None when its slots are not ones that a reader of coins makes."""
    slots = recognition.slots
    ids, vs, metric = slots.get("ids"), slots.get("vs"), slots.get("metric")
    amount, day, limit = slots.get("amount"), slots.get("date"), slots.get("limit")
    money = slots.get("money")
    names = recognition.unresolved
    if not isinstance(ids, tuple | list) or not isinstance(vs, str) or not isinstance(metric, str):
        return None
    if not all(isinstance(i, str) and _ID.match(i) for i in ids) or not _VS.match(vs) or len(ids) > 20:
        return None
    if len(names) > 5 or not all(_NAME.match(name) and may_leave(name) for name in names):
        return None
    if amount is not None and not (isinstance(amount, str) and _AMOUNT.match(amount)):
        return None
    if money is not None:
        if not (isinstance(money, str) and _AMOUNT.match(money) and Decimal(money) > 0):
            return None
        if metric != "price" or amount is not None or day is not None or len(ids) + len(names) != 1:
            return None
    if day is not None and not (isinstance(day, str) and day_of(day, today) is not None):
        return None
    expr = slots.get("expr")
    if (metric == SUM) != isinstance(expr, str) or (metric == SUM and (names or not ids)):
        return None
    if metric in LISTS:
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= LIMIT_MAX:
            return None
    elif metric not in WHOLE and (metric not in METRICS or not (ids or names)):
        return None
    return CoinQuestion(
        ids=tuple(ids),
        unresolved=tuple(names),
        vs=vs,
        metric=metric,
        amount=amount if isinstance(amount, str) else None,
        date=day if isinstance(day, str) else None,
        limit=limit if isinstance(limit, int) else None,
        money=money if isinstance(money, str) else None,
        expr=expr if isinstance(expr, str) else None,
    )


def is_coin_id(value: object) -> bool:
    """Whether it could be an id of the source: nothing that changes an address."""
    return isinstance(value, str) and _ID.match(value) is not None


def label_of(coin_id: str) -> str:
    """Name and ticker for people, of a coin of the alias table; otherwise the id."""
    coin = BY_ID.get(coin_id)
    if coin is None:
        return coin_id
    ticker = coin.symbols[0].upper()
    return coin.title if ticker == coin.title.upper() else f"{coin.title} ({ticker})"


def ticker_of(coin_id: str, label: str) -> str:
    """What stands behind an amount: ``2.5 ETH``."""
    return BY_ID[coin_id].symbols[0].upper() if coin_id in BY_ID else label
