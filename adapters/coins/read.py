"""CoinGecko's answers as checked values. Pure.

Rules of this file:
- A figure is a finite JSON number of the right sign for that coin and currency; all else is ``Rejected``.
- What the source may leave out (market cap, volume, change, the time of the quote) is None when it is null.
- A quote from the future is a lie or a wrong clock; one from before the last day is no price of now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from adapters import outside
from adapters.coins.slots import is_coin_id
from node.core.errors import NotFound, Rejected

CLOCKS_APART = timedelta(minutes=10)
QUOTE_OLD = timedelta(days=1)
"""A quote that is older is no price of now."""
FALL_MAX = Decimal(-100)
"""Nothing falls by more than all it is worth."""
CLOSE_RANKS = 3
"""Another coin of the same name whose rank is within this factor is named in the answer."""

_SOURCE = "CoinGecko"
_SEARCHED_MAX = 250


@dataclass(frozen=True, slots=True)
class Quote:
    """What the source says of one coin now. ``change`` in per cent; ``updated`` None when not stated."""

    price: Decimal
    market_cap: Decimal | None
    volume: Decimal | None
    change: Decimal | None
    updated: datetime | None


@dataclass(frozen=True, slots=True)
class PastQuote:
    """What it says of one coin on a day; a price of None: it has none."""

    price: Decimal | None
    market_cap: Decimal | None
    volume: Decimal | None


@dataclass(frozen=True, slots=True)
class Named:
    """A coin found by name; ``others`` are the close calls."""

    id: str
    label: str
    others: tuple[str, ...]


def moment_of(value: object, source: str, now: datetime) -> datetime | None:
    """The time of a quote from unix seconds or ISO text; None when not stated; not from the future."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value[:40])
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        else:
            moment = datetime.fromtimestamp(float(outside.number(value, source, "time of the quote")), UTC)
        ahead = moment - now
    except (ValueError, OverflowError, OSError) as exc:
        raise Rejected(f"{source} gave an impossible time of the quote") from exc
    if ahead > CLOCKS_APART:
        raise Rejected(f"{source} gave a quote from the future")
    return moment.astimezone(UTC)


def fresh_moment(value: object, source: str, now: datetime) -> datetime | None:
    """``moment_of`` a quote of now, which is of the last day."""
    moment = moment_of(value, source, now)
    if moment is not None and now - moment > QUOTE_OLD:
        raise Rejected(f"{source} gave a quote that is more than a day old")
    return moment


def quotes(body: object, ids: Sequence[str], vs: str, now: datetime) -> Mapping[str, Quote]:
    """``/simple/price``: every coin asked for, or ``Rejected``."""
    rows = outside.mapping(body, _SOURCE, "prices")
    found: dict[str, Quote] = {}
    for coin_id in ids:
        if coin_id not in rows:
            raise Rejected(f"CoinGecko lists no coin {coin_id}")
        row = outside.mapping(rows[coin_id], _SOURCE, f"figures for {coin_id}")
        if vs not in row:
            raise Rejected(f"CoinGecko has no price of {coin_id} in {vs.upper()}")
        found[coin_id] = Quote(
            price=positive(row[vs], f"price of {coin_id}"),
            market_cap=_optional(row.get(f"{vs}_market_cap"), "market cap"),
            volume=_optional(row.get(f"{vs}_24h_vol"), "volume"),
            change=_change(row.get(f"{vs}_24h_change")),
            updated=moment_of(row.get("last_updated_at"), _SOURCE, now),
        )
    return found


def past(body: object, coin_id: str, vs: str) -> PastQuote:
    """``/coins/{id}/history``."""
    row = outside.mapping(body, _SOURCE, "history")
    if row.get("id") != coin_id:
        raise Rejected("CoinGecko answered about another coin")
    if row.get("market_data") is None:
        return PastQuote(None, None, None)
    figures = outside.mapping(row["market_data"], _SOURCE, "history")

    def figure(name: str, what: str) -> object:
        return outside.mapping(figures.get(name) or {}, _SOURCE, what).get(vs)

    price = figure("current_price", "prices")
    if price is None:
        return PastQuote(None, None, None)
    return PastQuote(
        positive(price, f"price of {coin_id}"),
        _optional(figure("market_cap", "market cap"), "market cap"),
        _optional(figure("total_volume", "volume"), "volume"),
    )


def search(body: object, name: str) -> Named:
    """``/search``: the coin of exactly that name or ticker with the best rank. Raises ``NotFound`` too."""
    coins = outside.mapping(body, _SOURCE, "search result").get("coins")
    ranked: list[tuple[int, str, str]] = []
    unranked: list[tuple[str, str]] = []
    for entry in outside.listing(coins, _SOURCE, "search result", most=_SEARCHED_MAX):
        row = outside.mapping(entry, _SOURCE, "search result")
        names = {str(row.get(part, "")).strip().lower()[:80] for part in ("id", "symbol", "name")}
        if name not in names and name not in {one.replace(" ", "") for one in names}:
            continue
        coin_id, label = coin_id_of(row.get("id")), label_from(row.get("name"), row.get("symbol"))
        rank = row.get("market_cap_rank")
        if isinstance(rank, int) and not isinstance(rank, bool) and rank > 0:
            ranked.append((rank, coin_id, label))
        else:
            unranked.append((coin_id, label))
    if ranked:
        ranked.sort()
        best = ranked[0]
        close = [label for rank, _, label in ranked[1:] if rank <= best[0] * CLOSE_RANKS][:3]
        return Named(best[1], best[2], tuple(close))
    if len(unranked) == 1:
        return Named(*unranked[0], ())
    if unranked:
        raise NotFound(f"several unranked coins are called {name}; CoinGecko does not say which is meant")
    raise NotFound(f"CoinGecko lists no coin called {name}")


def positive(value: object, what: str) -> Decimal:
    """A figure above nothing."""
    number = outside.number(value, _SOURCE, what)
    if number <= 0:
        raise Rejected(f"CoinGecko gave an impossible {what}")
    return number


def _optional(value: object, what: str, *, signed: bool = False) -> Decimal | None:
    """None for null; a market cap of nothing is the source's way to say unknown."""
    if value is None:
        return None
    number = outside.number(value, _SOURCE, what)
    if number < 0 and not signed:
        raise Rejected(f"CoinGecko gave an impossible {what}")
    return number if signed or number > 0 else None


def _change(value: object) -> Decimal | None:
    """A change in per cent; None where none is stated, or one that no price can make."""
    change = _optional(value, "change", signed=True)
    return None if change is not None and change < FALL_MAX else change


def coin_id_of(value: object) -> str:
    if not isinstance(value, str) or not is_coin_id(value):
        raise Rejected("CoinGecko gave an impossible coin id")
    return value


def label_from(name: object, symbol: object) -> str:
    """Name and ticker for people, from outside text: printable, cut short."""
    title, ticker = outside.plain(name, most=60), outside.plain(symbol, most=15).upper()
    if not title:
        raise Rejected("CoinGecko gave a coin without a name")
    return f"{title} ({ticker})" if ticker and ticker != title.upper() else title
