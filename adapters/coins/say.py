"""Figures of coins in words for people. Pure.

Rules of this file:
- Amounts are multiplied exactly; money is shown with two decimals from one unit up and six significant digits
  below, never in exponent form.
- A sentence comes without its end: who says so and when is added by the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal

from adapters.coins.read import PastQuote, Quote
from adapters.coins.slots import CoinQuestion, ticker_of
from node.core.errors import NotFound
from node.core.model import Json

EXACT = Context(prec=120)
_SIGNS: Mapping[str, str] = {"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥", "inr": "₹", "krw": "₩"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose coins are known. ``labels`` for people, ``notes`` about the choice of a coin, ``day``
    the past day meant, ``today`` the asker's."""

    question: CoinQuestion
    labels: Mapping[str, str]
    notes: tuple[str, ...]
    day: date | None
    today: date


def live(asked: Asked, quotes: Mapping[str, Quote]) -> str:
    """Raises ``NotFound`` when the source does not state the figure."""
    question = asked.question
    if question.money is not None:
        coin_id, quote = next(iter(quotes.items()))
        return bought(question.money, ticker_of(coin_id, asked.labels[coin_id]), quote.price, question.vs)
    if question.amount is not None:
        coin_id, quote = next(iter(quotes.items()))
        return converted(question.amount, ticker_of(coin_id, asked.labels[coin_id]), quote.price, question.vs)
    return joined([_figure(asked.labels[i], quotes[i], question.metric, question.vs) for i in question.ids])


def converted(amount: str, ticker: str, price: Decimal, vs: str) -> str:
    """2.5 ETH is worth €4,550.25 (at €1,820.10 each)"""
    total = EXACT.multiply(Decimal(amount), price)
    return f"{grouped(Decimal(amount))} {ticker} is worth {money(total, vs)} (at {money(price, vs)} each)"


def bought(spent: str, ticker: str, price: Decimal, vs: str) -> str:
    """$100 buys 0.0013071895 BTC (at $76,500.00 each)"""
    amount = Decimal(spent)
    is_whole = amount == amount.to_integral_value()
    words = _in_currency(grouped(amount), vs) if is_whole else money(amount, vs)
    return f"{words} buys {coins_for(spent, price)} {ticker} (at {money(price, vs)} each)"


def coins_for(spent: str, price: Decimal) -> str:
    """How many coins the money buys: eight decimals, or eight significant digits where those are more."""
    coins = EXACT.divide(Decimal(spent), price)
    places = max(8, 7 - coins.adjusted())
    digits = format(coins.quantize(Decimal(1).scaleb(-places), context=EXACT), ",f")
    return digits.rstrip("0").rstrip(".")


def _figure(label: str, quote: Quote, metric: str, vs: str) -> str:
    change = "" if quote.change is None else f" ({percent(quote.change)} in 24 h)"
    if metric == "price":
        return f"{label} is trading at {money(quote.price, vs)}{change}"
    if metric == "change_24h":
        if quote.change is None:
            raise NotFound(f"CoinGecko does not state the change of {label}")
        return f"{label} changed by {percent(quote.change)} in 24 h, to {money(quote.price, vs)}"
    figure, words = _of_market(quote, metric)
    if figure is None:
        raise NotFound(f"CoinGecko does not state the {words} of {label}")
    return f"the {words} of {label} is {whole_money(figure, vs)}"


def _of_market(quote: Quote | PastQuote, metric: str) -> tuple[Decimal | None, str]:
    """The market cap or the volume, with its name."""
    if metric == "market_cap":
        return quote.market_cap, "market cap"
    return quote.volume, "24 h trading volume"


def past(asked: Asked, coin_id: str, quote: PastQuote, day: date) -> str:
    """Raises ``NotFound`` when the source does not state the figure."""
    question, label = asked.question, asked.labels[coin_id]
    when = f"on {day.isoformat()} (00:00 UTC)"
    if quote.price is None:
        raise NotFound(f"CoinGecko has no price of {label} in {question.vs.upper()} {when}")
    if question.metric == "price":
        if question.amount is None:
            return f"{label} was worth {money(quote.price, question.vs)} {when}"
        total = EXACT.multiply(Decimal(question.amount), quote.price)
        ticker = ticker_of(coin_id, label)
        return f"{grouped(Decimal(question.amount))} {ticker} was worth {money(total, question.vs)} {when}"
    figure, words = _of_market(quote, question.metric)
    if figure is None or question.metric == "change_24h":
        raise NotFound(f"CoinGecko does not state that figure of {label} {when}")
    return f"the {words} of {label} was {whole_money(figure, question.vs)} {when}"


def joined(parts: Sequence[str]) -> str:
    """Clauses as one sentence without its end."""
    text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"The {text[4:]}" if text.startswith("the ") else text


def money(value: Decimal, vs: str) -> str:
    """Two decimals from one unit up, six significant digits below."""
    if abs(value) >= 1:
        digits = format(value.quantize(Decimal("0.01"), context=EXACT), ",f")
    else:
        places = max(2, 5 - value.adjusted())
        digits = format(value.quantize(Decimal(1).scaleb(-places), context=EXACT), ",f").rstrip("0")
        whole, _, fraction = digits.partition(".")
        digits = f"{whole}.{fraction:0<2}"
    return _in_currency(digits, vs)


def whole_money(value: Decimal, vs: str) -> str:
    """Without decimals from a thousand up."""
    if abs(value) < 1_000:
        return money(value, vs)
    return _in_currency(format(value.quantize(Decimal(1), context=EXACT), ",f"), vs)


def _in_currency(digits: str, vs: str) -> str:
    sign = _SIGNS.get(vs)
    return f"{sign}{digits}" if sign else f"{digits} {vs.upper()}"


def percent(value: Decimal) -> str:
    """Signed, two decimals."""
    rounded = value.quantize(Decimal("0.01"), context=EXACT)
    sign = "−" if rounded < 0 else "+"
    return f"{sign}{abs(rounded):,.2f}%"


def grouped(value: Decimal) -> str:
    """With separators, never in exponent form."""
    return format(value, ",f")


def plain(value: Decimal | None) -> str | None:
    """A figure as text for ``data`` and ``figures``."""
    return None if value is None else format(value, "f")


def minute(moment: datetime) -> str:
    """2026-05-18 08:17 UTC"""
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def live_data(quote: Quote, question: CoinQuestion) -> dict[str, Json]:
    """The figures of one coin for ``Evidence.data``."""
    data: dict[str, Json] = {
        "price": plain(quote.price),
        "market_cap": plain(quote.market_cap),
        "volume_24h": plain(quote.volume),
        "change_24h": plain(quote.change),
        "last_updated_at": None if quote.updated is None else int(quote.updated.timestamp()),
    }
    if question.amount is not None:
        data["amount"] = question.amount
        data["total"] = plain(EXACT.multiply(Decimal(question.amount), quote.price))
    if question.money is not None:
        data["money"] = question.money
        data["buys"] = coins_for(question.money, quote.price).replace(",", "")
    return data
