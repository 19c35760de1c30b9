"""Market figures beyond the price: CoinGecko's answers as checked values, and as sentences. Pure.

Rules of this file, beside those of ``read`` and ``say``:
- One figure is read of each coin, the one that is asked for; what the source leaves out is None.
- A sentence about a peg says the figure and how far it lies off, whatever was hoped for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from adapters import outside
from adapters.coins.aliases import BY_ID
from adapters.coins.metrics import MARKET, MOVERS, WHOLE
from adapters.coins.read import FALL_MAX, Quote, coin_id_of, label_from, moment_of, positive
from adapters.coins.say import EXACT, grouped, joined, money, percent, whole_money
from adapters.coins.slots import ticker_of
from node.core.errors import NotFound, Rejected

LARGEST = 250
"""Gainers and losers are those among this many of the largest: one page of the source."""
TRENDING_MAX = 15
HOLDS = Decimal("0.5")
SLIPS = Decimal(2)
"""Per cent off its peg at which a stablecoin has left it; below ``HOLDS`` it is at it."""
_SOURCE = "CoinGecko"


@dataclass(frozen=True, slots=True)
class Listed:
    """One coin with one figure of it. ``reached`` is the day of an extreme."""

    id: str
    label: str
    price: Decimal
    figure: Decimal | None
    updated: datetime | None
    reached: datetime | None = None
    away: Decimal | None = None


def listed(body: object, ids: Sequence[str], metric: str, now: datetime) -> dict[str, Listed]:
    """``/coins/markets`` of ``ids``: each of them, or ``Rejected``."""
    field, form = MARKET[metric].field, MARKET[metric].form
    found: dict[str, Listed] = {}
    for entry in outside.listing(body, _SOURCE, "list of coins", most=LARGEST):
        row = outside.mapping(entry, _SOURCE, "list of coins")
        coin_id = str(row.get("id"))
        if coin_id not in ids:
            continue
        stated = row.get(field)
        figure = None if stated is None else outside.number(stated, _SOURCE, MARKET[metric].words)
        if figure is not None and (figure < FALL_MAX if form == "percent" else figure <= 0):
            raise Rejected(f"CoinGecko gave an impossible {MARKET[metric].words} of {coin_id}")
        reached, away = row.get(f"{field}_date"), row.get(f"{field}_change_percentage")
        found[coin_id] = Listed(
            coin_id,
            label_from(row.get("name"), row.get("symbol")),
            positive(row.get("current_price"), f"price of {coin_id}"),
            figure,
            moment_of(row.get("last_updated"), _SOURCE, now),
            moment_of(reached, _SOURCE, now),
            None if away is None else outside.number(away, _SOURCE, "distance"),
        )
    if missing := [coin_id for coin_id in ids if coin_id not in found]:
        raise Rejected(f"CoinGecko lists no coin {missing[0]}")
    return found


def largest(body: object, limit: int, now: datetime) -> tuple[Listed, ...]:
    """``/coins/markets``: the largest, each once, with its market cap."""
    rows = [
        Listed(
            coin_id_of(row.get("id")),
            label_from(row.get("name"), row.get("symbol")),
            positive(row.get("current_price"), "price"),
            positive(row.get("market_cap"), "market cap"),
            moment_of(row.get("last_updated"), _SOURCE, now),
        )
        for row in (
            outside.mapping(entry, _SOURCE, "list of coins")
            for entry in outside.listing(body, _SOURCE, "list of coins", most=limit)
        )
    ]
    if not rows:
        raise Rejected("CoinGecko gave no list of coins")
    if len({row.id for row in rows}) != len(rows):
        raise Rejected("CoinGecko listed a coin twice")
    return tuple(rows)


def oldest(rows: Iterable[Listed]) -> datetime | None:
    """The time of the oldest quote; None when none is stated."""
    return min((row.updated for row in rows if row.updated is not None), default=None)


def movers(body: object, metric: str, limit: int, now: datetime) -> tuple[Listed, ...]:
    """``/coins/markets``: those of the largest that gained or lost most in 24 h. One without a price or a
    change is passed over. Raises ``NotFound`` when none moved that way."""
    rows: list[Listed] = []
    sign = 1 if metric == "gainers" else -1
    for entry in outside.listing(body, _SOURCE, "list of coins", most=LARGEST):
        row = outside.mapping(entry, _SOURCE, "list of coins")
        if row.get("price_change_percentage_24h") is None or row.get("current_price") is None:
            continue
        change = outside.number(row["price_change_percentage_24h"], _SOURCE, "change")
        if change * sign <= 0 or change < FALL_MAX:
            continue
        label = label_from(row.get("name"), row.get("symbol"))
        price = positive(row["current_price"], f"price of {label}")
        updated = moment_of(row.get("last_updated"), _SOURCE, now)
        rows.append(Listed(str(row.get("id"))[:100], label, price, change, updated))
    if not rows:
        raise NotFound(f"none of the {LARGEST} largest coins {MOVERS[metric]} in 24 h")
    rows.sort(key=lambda row: -sign * (row.figure or Decimal(0)))
    return tuple(rows[:limit])


def trending(body: object) -> tuple[str, ...]:
    """``/search/trending``: what is searched for most, by name."""
    entries = outside.mapping(body, _SOURCE, "trending list").get("coins")
    items = [
        outside.mapping(outside.mapping(one, _SOURCE, "trending coin").get("item"), _SOURCE, "trending coin")
        for one in outside.listing(entries, _SOURCE, "trending list", most=TRENDING_MAX)
    ]
    if not items:
        raise Rejected("CoinGecko gave no trending list")
    return tuple(label_from(item.get("name"), item.get("symbol")) for item in items)


@dataclass(frozen=True, slots=True)
class Whole:
    """The whole market in one currency; ``shares`` in per cent by ticker."""

    figures: Mapping[str, Decimal]
    shares: Mapping[str, Decimal]
    updated: datetime | None


def whole(body: object, vs: str, now: datetime) -> Whole:
    """``/global``."""
    data = outside.mapping(outside.mapping(body, _SOURCE, "figures").get("data"), _SOURCE, "figures")
    figures = {
        metric: positive(outside.mapping(data.get(row.field), _SOURCE, row.words).get(vs), row.words)
        for metric, row in WHOLE.items()
    }
    shares = {
        str(ticker): outside.number(share, _SOURCE, "dominance")
        for ticker, share in outside.mapping(
            data.get("market_cap_percentage"), _SOURCE, "dominance of coins"
        ).items()
    }
    if any(not 0 <= share <= 100 for share in shares.values()):
        raise Rejected("CoinGecko gave an impossible dominance")
    return Whole(figures, shares, moment_of(data.get("updated_at"), _SOURCE, now))


# --- sentences ----------------------------------------------------------------------------------------


def say_listed(rows: Sequence[Listed], metric: str, vs: str) -> str:
    """Raises ``NotFound`` when the source does not state the figure."""
    return joined([_figure(row, metric, vs) for row in rows])


def _figure(row: Listed, metric: str, vs: str) -> str:
    words, form, figure = MARKET[metric].words, MARKET[metric].form, row.figure
    if figure is None:
        if metric == "max_supply":
            return f"{row.label} has no maximum supply that is stated"
        raise NotFound(f"CoinGecko does not state the {words} of {row.label}")
    if form == "rank":
        return f"{row.label} is number {figure:f} by market cap"
    if form == "percent":
        return (
            f"{row.label} changed by {percent(figure)} {words.partition(' ')[2]}, to {money(row.price, vs)}"
        )
    shown = {
        "whole": lambda: whole_money(figure, vs),
        "coins": lambda: f"{grouped(figure.quantize(Decimal(1)))} {ticker_of(row.id, row.label)}",
    }.get(form, lambda: money(figure, vs))()
    head = f"the {words} of {row.label} is {shown}"
    if form != "extreme":
        return head
    when = "" if row.reached is None else f", reached on {row.reached:%Y-%m-%d}"
    side = "below" if row.away is None or row.away < 0 else "above"
    away = "" if row.away is None else f", {percent(abs(row.away))[1:]} {side} that"
    return f"{head}{when} (it is now at {money(row.price, vs)}{away})"


def say_largest(rows: Sequence[Listed], vs: str) -> str:
    """The list of the largest coins."""
    told = "; ".join(
        f"{place}. {row.label} at {money(row.price, vs)}"
        f" (market cap {whole_money(row.figure or Decimal(0), vs)})"
        for place, row in enumerate(rows, start=1)
    )
    if len(rows) == 1:
        return f"The largest cryptocurrency by market cap is {told.removeprefix('1. ')}"
    return f"The {len(rows)} largest cryptocurrencies by market cap are {told}"


def say_movers(rows: Sequence[Listed], metric: str, vs: str) -> str:
    """The list of gainers or losers."""
    if len(rows) == 1:
        row = rows[0]
        return (
            f"Of the {LARGEST} largest cryptocurrencies {row.label} {MOVERS[metric]} most in 24 h:"
            f" {percent(row.figure or Decimal(0))}, to {money(row.price, vs)}"
        )
    told = "; ".join(
        f"{place}. {row.label} {percent(row.figure or Decimal(0))} to {money(row.price, vs)}"
        for place, row in enumerate(rows, start=1)
    )
    return f"Of the {LARGEST} largest cryptocurrencies these {MOVERS[metric]} most in 24 h: {told}"


def say_trending(labels: Sequence[str]) -> str:
    """The list of what is searched for most."""
    told = "; ".join(f"{place}. {label}" for place, label in enumerate(labels, start=1))
    return f"The cryptocurrencies most searched for at the moment are {told}"


def say_dominance(ids: Sequence[str], labels: Mapping[str, str], market: Whole) -> str:
    """Raises ``NotFound`` for a coin whose share the source does not state."""
    parts: list[str] = []
    for coin_id in ids:
        tickers = BY_ID[coin_id].symbols if coin_id in BY_ID else ()
        share = next((market.shares[ticker] for ticker in tickers if ticker in market.shares), None)
        if share is None:
            raise NotFound(f"CoinGecko does not state the dominance of {labels[coin_id]}")
        parts.append(f"{labels[coin_id]} makes up {percent(share)[1:]} of the crypto market cap")
    return joined(parts)


def say_whole(metric: str, market: Whole, vs: str) -> str:
    """A figure of the whole market."""
    return f"The {WHOLE[metric].words} is {whole_money(market.figures[metric], vs)}"


def say_peg(label: str, quote: Quote, vs: str) -> str:
    """How far a stablecoin lies off its peg."""
    off = EXACT.multiply(quote.price - 1, Decimal(100))
    side = "below" if off < 0 else "above"
    apart = "exactly" if percent(off)[1:] == "0.00%" else f"{percent(off)[1:]} {side}"
    state = "is at its peg"
    if abs(off) >= HOLDS:
        state = "has slipped from its peg" if abs(off) < SLIPS else "has lost its peg"
    price, par = money(quote.price, vs), money(Decimal(1), vs)
    return f"{label} {state} at the moment: it trades at {price}, {apart} {par}"
