"""Which figure of which coins the parts of a sentence ask for. Pure.

Rules of this file:
- Every part has its place (a coin, a currency, an amount, a time, a word for a figure, a polite filler); one
  that has none makes the sentence somebody else's.
- A coin alone asks nothing: a word for the figure is needed, or a pair (BTC/USD, 2 ETH in euros).
- An alias that is an everyday word names a coin only with evidence beside it: capitals as in SOL, a ``$``
  before it, "coin" or "token" next to it, "crypto" in the sentence, a pair joined by a stroke, or a list with
  a coin beyond doubt.
- An unknown name is passed on for look-up only in crypto context, never guessed.
- What cannot be told for certain (an amount of money instead of coins, two figures at once) is not claimed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from adapters.coins.aliases import COIN_CURRENCIES, FAMILIAR, PEGS
from adapters.coins.items import Item, misspelt
from adapters.coins.metrics import DOMINANCE, MARKET, PEG, WHOLE
from adapters.coins.slots import LIMIT_DEFAULT, CoinQuestion
from adapters.coins.words import NAMED_ENDINGS, NOT_A_COIN_NAME

COINS_MAX = 10
TOP_MAX = 100
MOVERS_LIMIT = 5
DIGITS_MAX = 24

_NO_PAIR = frozenset(("past", "aux", "24h", "pct", "how", "quantity"))
_CHANGE_TIMES = frozenset(("now", "24h", "past", "aux", "quantity", "pct", "doing"))
"""One of them makes "how did it change" ask for a figure rather than for an explanation."""
_METRICS: Mapping[str, str] = {
    "cap": "market_cap",
    "vol": "volume_24h",
    "chg": "change_24h",
    "price": "price",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A question found; ``guessed`` when a coin's name was misspelt."""

    question: CoinQuestion
    guessed: bool = False


def figure(
    items: Sequence[Item], said: str | None, *, assume_price: bool = False, trusted: bool = False
) -> Figure | None:
    """The question, or None. ``said`` is the past day asked of. ``assume_price``: a coin without a word for a
    figure asks for its price. ``trusted``: the talk is of coins, so that everyday aliases name them."""
    if (bought := _bought(items)) is not None:
        return None if said is not None else Figure(bought)
    items = [_as_figure(item) for item in items]
    kinds = [item.kind for item in items]
    if {"unknown", "list", "mover"} & set(kinds) or kinds.count("date") > 1:
        return None
    parts = _without_amount_of_money(_moves(list(items)))
    if not parts:
        return None
    metric = _metric(parts)
    resolved = _coins(parts, trusted or _has_crypto(parts))
    if resolved is None:
        return None
    coins, names, guessed = resolved
    currency = _currency(parts, coins)
    if currency is None:
        return None
    vs, paired, coins = currency
    if not coins and not names and metric not in WHOLE:
        return None
    if metric == PEG:
        pegs = {PEGS.get(coin) for coin in coins}
        if None in pegs or len(pegs) + len(names) != 1:
            return None
        vs = PEGS[coins[0]] if coins else vs
    if metric in WHOLE and (coins or names):
        return None
    amount = _amount(parts)
    if amount is None:
        return None
    if metric is None:
        # Without a word for the figure only a plain pair asks: BTC/USD, 2 ETH in euros.
        asked_at = _ends_in_at(parts)
        plain_pair = (paired or asked_at) and not (names or guessed or _NO_PAIR & set(kinds))
        if not (plain_pair or assume_price):
            return None
        metric = "price"
    if not _times_fit(set(kinds), metric, said is None):
        return None
    ids = tuple(dict.fromkeys(coins))
    if len(ids) + len(names) > COINS_MAX or (amount and (len(ids) + len(names) > 1 or metric != "price")):
        return None
    question = CoinQuestion(ids=ids, unresolved=names, vs=vs, metric=metric, amount=amount or None, date=said)
    return Figure(question, guessed)


_AROUND_MONEY = frozenset(("fill", "now", "how_much", "ctx", "coin", "currency", "number", "times", "link"))


def _bought(items: Sequence[Item]) -> CoinQuestion | None:
    """ "100 usd in btc": an amount of money as coins. The money comes first and the one coin after "in"."""
    if any(item.kind not in _AROUND_MONEY for item in items):
        return None
    said = _joined_times([item for item in items if item.kind not in ("fill", "now", "how_much")])
    kinds = [item.kind for item in said]
    if kinds and kinds[-1] == "ctx":
        kinds, said = kinds[:-1], said[:-1]  # "in bitcoin crypto", "in doge coin"
    if kinds not in (["number", "currency", "link", "coin"], ["currency", "number", "link", "coin"]):
        return None
    coin, link = said[3], said[2]
    familiar = coin.alias in FAMILIAR and len(coin.alias) > 3  # not "5 dollars to ada"
    if not (coin.sure or coin.shown or familiar) or link.value == "vs":
        return None
    number, currency = (said[0], said[1]) if kinds[0] == "number" else (said[1], said[0])
    money = decimal_of(number.value)
    if not money:
        return None
    return CoinQuestion(ids=(coin.value,), unresolved=(), vs=currency.value, metric="price", money=money)


def _joined_times(items: Sequence[Item]) -> list[Item]:
    """Numbers with "thousand" behind them as one; empty when it stands behind anything else."""
    out: list[Item] = []
    for item in items:
        if item.kind != "times":
            out.append(item)
        elif out and out[-1].kind == "number":
            out[-1] = replace(out[-1], value=f"{out[-1].value} {item.value}")
        else:
            return []
    return out


def _moves(items: list[Item]) -> list[Item]:
    """A word for movement asks for the change where a time or a verb says so: "the rise of bitcoin" does not
    (then the list is empty)."""
    kinds = {item.kind for item in items}
    if "move" not in kinds:
        return items
    if not kinds & {"now", "24h", "aux", "past", "pct", "quantity", "chg"}:
        return []
    return [replace(item, kind="chg") if item.kind == "move" else item for item in items]


def _ends_in_at(items: Sequence[Item]) -> bool:
    """ "what is BTC at", "where is BTC at right now", "check what BTC is at"."""
    rest = [item.kind for item in items if item.kind != "now"]
    if len(rest) < 4 or rest[0] != "fill" or rest[-1] != "at":
        return False
    coins = [at for at, kind in enumerate(rest) if kind == "coin"]
    return (
        len(coins) == 1
        and coins[0] >= 2
        and len(rest) - coins[0] <= 3
        and set(rest) <= {"fill", "coin", "at"}
    )


def _as_figure(item: Item) -> Item:
    """ "cardano rank": beside a coin a rank is its figure, not a list in order."""
    return replace(item, kind="fig") if item.kind == "list" and item.value == "rank" else item


def _metric(items: Sequence[Item]) -> str | None:
    """The figure asked for; empty text when two are asked at once."""
    kinds = {item.kind for item in items}
    figures = {item.value for item in items if item.kind == "fig"}
    if figures:
        return figures.pop() if len(figures) == 1 and not kinds & {"cap", "vol", "chg"} else ""
    spans = {item.value for item in items if item.kind == "24h" and item.value}
    if spans:
        return f"change_{spans.pop()}" if len(spans) == 1 and not kinds & {"cap", "vol"} else ""
    asked = [kind for kind in ("cap", "vol", "chg") if kind in kinds]
    if len(asked) > 1 or (asked and asked[0] in ("cap", "vol") and "price" in kinds):
        return ""
    if asked:
        return _METRICS[asked[0]]
    if {"price", "how_much"} & kinds or {"how", "doing"} <= kinds:
        return "price"
    return None


def _times_fit(kinds: set[str], metric: str, live: bool) -> bool:
    if metric == "":
        return False
    if metric in MARKET and metric.startswith("change"):
        return live
    if metric in MARKET or metric in WHOLE or metric in (PEG, DOMINANCE):
        return live and not kinds & {"24h", "pct", "how", "doing"}
    if "24h" in kinds and metric not in ("volume_24h", "change_24h"):
        return False
    if metric == "change_24h" and "how" in kinds and not kinds & _CHANGE_TIMES:
        return False
    if ({"pct", "aux"} & kinds) and metric != "change_24h":
        return False
    if "doing" in kinds and "how" not in kinds:
        return False
    if live:
        return "past" not in kinds or metric == "change_24h"
    return "now" not in kinds and "24h" not in kinds and metric != "change_24h"


def _has_crypto(items: Sequence[Item]) -> bool:
    return any(item.kind == "ctx" and item.value.startswith("crypto") for item in items)


def _without_amount_of_money(items: list[Item]) -> list[Item]:
    """Join numbers with "thousand"; empty when the amount is one of money (a price of 100 dollars)."""
    out: list[Item] = []
    for item in _joined_times(items):
        before = out[-1].kind if out else ""
        if item.kind == "currency" and before == "number":
            return []
        if item.kind == "number" and before == "currency":
            return []
        out.append(item)
    return out


@dataclass(frozen=True, slots=True)
class _Around:
    """What the whole sentence says of its coins. ``cost``: of the cost of a thing."""

    crypto: bool
    certain: bool
    cost: bool
    priced: bool
    in_money: bool


def _coins(items: Sequence[Item], crypto: bool) -> tuple[list[str], tuple[str, ...], bool] | None:
    """Ids, names to look up, and whether one was guessed from a misspelling; None when in doubt."""
    around = _Around(
        crypto,
        any(item.kind in ("coin", "pair") and item.sure for item in items),
        any(a.value == "cost" and b.value == "of" for a, b in itertools.pairwise(items)),
        any(item.kind in ("price", "how_much", "vol", "cap", "chg", "fig") for item in items)
        or _ends_in_at(items),
        any(a.kind == "link" and b.kind == "currency" for a, b in itertools.pairwise(items)),
    )
    coins: list[str] = []
    names: list[str] = []
    guessed = False
    for at, item in enumerate(items):
        before = items[at - 1] if at else None
        after = items[at + 1] if at + 1 < len(items) else None
        if item.kind == "pair":
            coins.append(item.value.split()[0])
        elif item.kind == "coin":
            if not _is_coin(item, before, after, around):
                return None
            coins.append(item.value)
        elif item.kind == "name":
            beside = any(n is not None and n.kind == "ctx" for n in (before, after))
            if item.value in NOT_A_COIN_NAME:
                return None
            if item.shown or (beside and not _plural_context(before, after)) or _says_coin(item.value):
                names.append(item.value)
            elif (around.priced or crypto) and (known := misspelt(item.value)) is not None:
                coins.append(known)
                guessed = True
            else:
                return None
    if len(names) > 1 or (guessed and len(coins) + len(names) > 1):
        return None
    return coins, tuple(names), guessed


def _is_coin(item: Item, before: Item | None, after: Item | None, around: _Around) -> bool:
    """Whether an alias means the coin here: beyond doubt, or an everyday word with evidence."""
    if item.sure or item.shown or around.crypto:
        return True
    neighbours = [n for n in (before, after) if n is not None]
    tied = item.joined or (after is not None and after.joined)
    crowded = not item.split and any(
        n.kind == "coin" and n.value != item.value and not (n is after and after.split) for n in neighbours
    )
    if crowded and not tied and not (item.alias in FAMILIAR and around.certain and around.priced):
        return False
    beside = any(n.kind == "ctx" for n in neighbours)
    listed = around.certain and (
        item.split or any(n.kind == "and" for n in neighbours) or (after is not None and after.split)
    )
    stroked = any(
        n is not None and n.kind in ("currency", "coin") and tie
        for n, tie in ((before, item.joined), (after, after.joined if after else ""))
    )
    twin = any(n.kind == "coin" and n.value == item.value and n.alias != item.alias for n in neighbours)
    article = before is not None and before.kind == "fill" and before.value == "a"
    familiar = (
        item.alias in FAMILIAR and (around.priced or around.in_money) and not around.cost and not article
    )
    return beside or listed or stroked or familiar or twin


def _says_coin(name: str) -> bool:
    """ "zorgcoin": a name that says that it is a coin's and is nobody's misspelling."""
    return len(name) >= 7 and name.endswith(NAMED_ENDINGS) and misspelt(name) is None


def _plural_context(before: Item | None, after: Item | None) -> bool:
    """ "tokens" and "coins" name kinds of things, not one coin; "crypto" before a word is no name either."""
    near = [item for item in (before, after) if item is not None and item.kind == "ctx"]
    return any(item.value in ("coins", "cryptos") for item in near)


def _currency(items: Sequence[Item], coins: list[str]) -> tuple[str, bool, list[str]] | None:
    """The currency, whether it stands as the second half of a pair, and the coins without it."""
    found: list[str] = []
    paired = False
    first_coin = next((at for at, i in enumerate(items) if i.kind in ("coin", "pair", "name")), None)
    for at, item in enumerate(items):
        before = items[at - 1] if at else None
        after = items[at + 1] if at + 1 < len(items) else None
        if item.kind == "pair":
            found.append(item.value.split()[1])
            paired = True
        elif item.kind == "currency":
            if first_coin is not None and at < first_coin:
                # "euro price of btc" and "price in euros of btc" are one, "euros in btc" is the other way
                # round.
                names_figure = after is not None and after.kind in ("price", "cap", "vol")
                in_money = before is not None and before.kind == "link" and before.value != "vs"
                if not (names_figure or (in_money and (after is None or after.kind != "link"))):
                    return None
            else:
                paired = paired or (before is not None and before.kind in ("link", "coin"))
            found.append(item.value)
    if _is_quoted_in_one(items) and (found or len(set(coins)) != 2 or len(coins) != 2):
        return None
    if not found and len(coins) == 2 and coins[0] != coins[1]:
        quoted = _coin_quoted(items, coins)
        if quoted == "":
            return None
        if quoted is not None:
            return quoted, True, coins[:1]
    if len(set(found)) > 1:
        return None
    return (found[0] if found else "usd"), paired, coins


def _is_quoted_in_one(items: Sequence[Item]) -> bool:
    """Whether a coin after another stands behind "in" or "to": it is what the other is quoted in, so that "2
    btc in btc" and "btc and eth in btc" ask for no price in dollars."""
    coins = [at for at, item in enumerate(items) if item.kind == "coin"]
    return any(items[at - 1].kind == "link" and items[at - 1].value != "vs" for at in coins[1:])


def _coin_quoted(items: Sequence[Item], coins: list[str]) -> str | None:
    """Two coins tied as a pair: the currency that the second one is; None when they are a list; empty when
    the source does not quote in it or when they may only be compared (bitcoin vs ethereum)."""
    at = next((i for i, item in enumerate(items) if item.kind == "coin" and item.value == coins[1]), None)
    if at is None:
        return None
    before = items[at - 1] if at else None
    if before is not None and before.kind == "link" and before.value == "vs":
        return None if any(item.kind in ("price", "cap", "vol", "chg") for item in items) else ""
    if items[at].joined or (before is not None and before.kind == "link"):
        return COIN_CURRENCIES.get(coins[1], "")
    return None


def _amount(items: Sequence[Item]) -> str | None:
    """Canonical decimal; empty text when there is none or it is one; None when a number makes no sense."""
    amount = ""
    for at, item in enumerate(items):
        if item.kind != "number":
            continue
        after = items[at + 1 :]
        while after and (after[0].kind == "ctx" or (after[0].kind == "fill" and len(after) > 1)):
            after = after[1:]
        if amount or not after or after[0].kind not in ("coin", "name"):
            return None
        amount = decimal_of(item.value)
        if not amount:
            return None
    return "" if amount == "1" else amount


_SUFFIX_TIMES = {"k": 1_000, "m": 1_000_000, "b": 1_000_000_000}


def decimal_of(text: str) -> str:
    """Canonical positive decimal of "1,000", "2,5", "10k", "2 1000"; empty when out of bounds."""
    digits, _, times = text.partition(" ")
    factor = Decimal(times or 1)
    if digits[-1:] in _SUFFIX_TIMES:
        factor *= _SUFFIX_TIMES[digits[-1]]
        digits = digits[:-1]
    if re.fullmatch(r"\d+,\d{1,2}", digits):
        digits = digits.replace(",", ".")
    digits = digits.replace(",", "")
    if len(digits) > DIGITS_MAX:
        return ""
    value = Decimal(digits) * factor
    if value <= 0:
        return ""
    plain = format(value, "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


# --- lists --------------------------------------------------------------------------------------------


def top(items: Sequence[Item], kinds: set[str], *, loosely: bool = False) -> CoinQuestion | None:
    """ "top 5 coins by market cap": of coins for certain, and by market cap or nothing said. ``loosely``: a
    number of coins will do, which may be others."""
    allowed = {"fill", "at", "now", "top", "list", "number", "ctx", "cap", "currency", "link", "and", "price"}
    movers = {item.value for item in items if item.kind == "mover"}
    allowed |= {"aux"} if "cap" in kinds else set()
    if movers:
        allowed |= {"mover", "24h", "aux", "past"}
    if kinds - allowed or len(movers) > 1 or any(item.kind == "24h" and item.value for item in items):
        return None
    if any(item.value == "kinds" for item in items if item.kind == "ctx"):
        return None  # the list is of all coins, not of those of one kind
    contexts = [item.value for item in items if item.kind == "ctx"]
    crypto = any(value.startswith("crypto") for value in contexts)
    is_top = any(item.kind == "top" for item in items)
    numbered = loosely and "number" in kinds
    if not contexts or not (movers or (is_top and (crypto or "cap" in kinds or numbered))):
        return None
    numbers = [item.value for item in items if item.kind == "number"]
    currencies = {item.value for item in items if item.kind == "currency"}
    if len(numbers) > 1 or len(currencies) > 1:
        return None
    if numbers:
        if not numbers[0].isdecimal() or not 1 <= int(numbers[0][:6]) <= TOP_MAX:
            return None
        limit = int(numbers[0])
    else:
        is_one = all(value == "coin" or (value == "crypto" and not movers) for value in contexts)
        limit = 1 if is_one else MOVERS_LIMIT if movers else LIMIT_DEFAULT
    return CoinQuestion(
        ids=(),
        unresolved=(),
        vs=currencies.pop() if currencies else "usd",
        metric=movers.pop() if movers else "top",
        limit=limit,
    )
