"""Sums over live prices: "3.5 btc in euros plus 200", "12 sol and 0.3 btc together". Pure, bounded.

Rules of this file:
- The grammar of sums is the calculator's, in all its languages. Here each coin becomes a number that nobody
  types, the calculator reads the whole text, and in its canonical expression those numbers become names in
  braces again: ``3.5*{bitcoin}+200``.
- A plain amount of one coin ("double the price of eth") is its price with an amount. A text in which
  nothing but names shows that prices are meant is no sum.
- Money in the text and the currency of the answer are one currency; two of them are not added up here.
- The value is computed by the calculator over the stated prices, exactly, and rounded for people only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal, InvalidOperation

from adapters.coins.aliases import CURRENCIES, EVERYDAY, FAMILIAR
from adapters.coins.say import grouped, money
from adapters.coins.slots import CoinQuestion, ticker_of
from adapters.coins.words import COIN_WORDS, TABLES, plain
from adapters.math_calculator.understand import understand
from node.core.errors import NotFound
from node.language.tables import fill, later

CHARS_MAX = 160
COINS_MAX = 6
_FIRST = 900_000_011
"""Stands for the first coin, the next number for the next; far from what people type."""

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?|\.\d+)"
_NAMES: Mapping[str, str] = {
    " ".join(key): coin_id
    for key, (coin_id, alias) in COIN_WORDS.items()
    if len(" ".join(key)) > 1 and (alias not in EVERYDAY or alias in FAMILIAR)
}
_LONGEST_FIRST = "|".join(re.escape(name) for name in sorted(_NAMES, key=len, reverse=True))
_A = r"(?:an?\s|one\s|eine?[nrms]?\s|une?\s|uno\s|una\s)"
_COIN = later(
    rf"(?<![\w$.,]){_A}?(?:(?P<number>{_NUMBER})\s?)?\$?(?P<coin>{_LONGEST_FIRST})(?:'s)?(?!\w)(?:\scoins?\b)?"
)
_MONEY: Mapping[str, str] = {name: code for code, names in CURRENCIES.items() for name in names}
_WORDS = "|".join(re.escape(name) for name in sorted(_MONEY, key=len, reverse=True) if name.isalpha())
_SIGNS = "|".join(re.escape(name) for name in _MONEY if len(name) == 1 and not name.isalnum())
_ANSWER_IN = later(rf"\s(?:in|en|em|to|zu|into)\s(?:the\s)?({_WORDS}|{_SIGNS})(?!\w)")
_AMOUNT = later(rf"({_SIGNS})\s?(?={_NUMBER})|(?<=[\dkm])\s?({_WORDS}|{_SIGNS})(?!\w)")
_PRICED = later(
    fill(
        r"(?<!\w)(?:(?:the|my|el|la|le|der|den|du|del)\s)?(?:(?:current|total|combined|live)\s)?"
        r"<price_words>(?:\s(?:of|for|von|de|du|del|d'))?(?!\w)",
        TABLES["words"],
    )
)
_TOGETHER = later(fill(r"(?<!\w)<together>(?!\w)", TABLES["words"]))
_ASKS = later(fill(r"^[\s,:;]*(?:<sum_asks>\s)?(?:<sum_is>\s)*", TABLES["words"]))
_MANY = later(
    rf"^\W*(?:how\s(?:many|much)|wie\s?viele?)\s({_LONGEST_FIRST})\s(?:is|are|in|for|makes?|equals?|sind|ist)\s(.+)$"
)
_AND = later(r"\s(?:and|und|y|et|e|plus|&)\s|,\s(?:and\s)?")
_HINT = later(
    fill(
        r"[-+*/×÷%^(]|\s<sum_words>\s|\b(?:half|double|twice|triple|sqrt|square|difference|sum|one|two)\b",
        TABLES["words"],
    )
)
_EXPR = later(r"[0-9a-z.+*/^%(); -]{1,120}\Z")
_NAMED = later(r"\{([a-z0-9][a-z0-9._-]{0,99})\}")
_PLAIN_AMOUNT = later(r"-?\(?(?:(\d+(?:\.\d+)?)\*)?\{[^}]*\}\)?\Z")


def read_sum(text: str, today: date) -> CoinQuestion | None:
    """The sum that all of ``text`` asks for, or None."""
    low = re.sub(
        r"(?<![\d.,])(\d+) and a half\b", r"\1.5", " ".join(plain(text).lower().split()).rstrip(" ?!.")
    )
    if len(low) > CHARS_MAX or _HINT.search(low) is None:
        return None
    is_shown = re.search(r"\d", low) is not None or _PRICED.search(low) is not None
    currencies = {_MONEY[match[1]] for match in _ANSWER_IN.finditer(low)}
    low = _ANSWER_IN.sub(" ", low)
    currencies |= {_MONEY[match[1] or match[2]] for match in _AMOUNT.finditer(low)}
    low = _AMOUNT.sub("", low)
    if len(currencies) > 1:
        return None
    if (many := _MANY.match(low)) is not None:
        low, is_shown = f"({many[2]}) / {many[1]}", True
    names: dict[str, int] = {}
    low, amounts = _substituted(low, names)
    if not names or len(names) > COINS_MAX or not (is_shown or currencies):
        return None
    low = " ".join(_ASKS.sub("", _TOGETHER.sub(" ", _PRICED.sub(" ", low))).split()).strip(" ,")
    if amounts > 1:
        low = _AND.sub(" + ", low)
    solution = understand(f"what is {low}", today)
    if solution is None or solution.refused or solution.unit is not None or solution.answer is None:
        return None
    expr = solution.expr.replace(" ", "") if " of " not in solution.expr else solution.expr
    for coin_id, number in names.items():
        if str(number) not in expr:
            return None
        expr = expr.replace(str(number), f"{{{coin_id}}}")
    if "difference" in low:
        expr = f"abs({expr})"
    if not is_expression(expr, tuple(names)):
        return None
    question = CoinQuestion(
        tuple(sorted(names)), (), currencies.pop() if currencies else "usd", "sum", expr=expr
    )
    if (single := _PLAIN_AMOUNT.match(expr)) is None:
        return question
    is_amount = single[1] is not None and float(single[1]) > 0 and not expr.startswith("-")
    return replace(question, metric="price", amount=single[1], expr=None) if is_amount else None


def _substituted(low: str, names: dict[str, int]) -> tuple[str, int]:
    """``low`` with numbers for its coins, and how many stand there with an amount."""
    amounts = 0

    def number(match: re.Match[str]) -> str:
        nonlocal amounts
        placeholder = names.setdefault(_NAMES[match["coin"]], _FIRST + len(names))
        if match["number"] is None:
            return f" {placeholder} "
        amounts += 1
        return f" ({match['number']} * {placeholder}) "

    return _COIN.sub(number, low), amounts


def is_expression(expr: object, ids: tuple[str, ...]) -> bool:
    """Whether it is a sum over exactly those coins, as ``read_sum`` writes them."""
    if not isinstance(expr, str) or len(expr) > 2 * CHARS_MAX or set(_NAMED.findall(expr)) != set(ids):
        return False
    return _EXPR.match(_NAMED.sub("1", expr)) is not None


def value_of(expr: str, prices: Mapping[str, Decimal], today: date) -> Decimal | None:
    """The sum over these prices, to 15 digits; None where there is none (a division by nothing)."""
    filled = _NAMED.sub(lambda match: f"{prices[match[1]]:f}", expr)
    solution = understand(f"={filled}", today)
    try:
        return None if solution is None or solution.answer is None else Decimal(solution.answer)
    except InvalidOperation:
        return None


def is_money(expr: str, prices: Mapping[str, Decimal], today: date) -> bool:
    """Whether the result is an amount of money: it grows as prices grow. A ratio of prices stays as it is,
    and the root of a price is none."""
    far = [
        value_of(expr, {one: price * times for one, price in prices.items()}, today)
        for times in (10**6, 10**9)
    ]
    if far[0] is None or far[1] is None or not far[0]:
        return False
    return abs(far[1] / far[0] / 1000 - 1) < Decimal("0.01")


def say(expr: str, prices: Mapping[str, Decimal], labels: Mapping[str, str], vs: str, today: date) -> str:
    """3.5 BTC + 200 = €231,243.75 (BTC at €66,012.50). Raises ``NotFound`` for a sum without a value."""
    value = value_of(expr, prices, today)
    told = shown(expr, labels)
    at = ", ".join(f"{ticker_of(one, labels[one])} at {money(price, vs)}" for one, price in prices.items())
    if value is None:
        raise NotFound(f"{told} has no value at these prices ({at})")
    if is_money(expr, prices, today):
        result = money(value, vs) if value >= 0 else f"−{money(-value, vs)}"
    else:
        result = grouped(value)
    return f"{told} = {result} ({at})"


def shown(expr: str, labels: Mapping[str, str]) -> str:
    """``3.5*{bitcoin}+200`` for people: 3.5 BTC + 200."""
    text = re.sub(r"(?<![/\d.])([\d.]+)\*(?=\{)", r"\1 ", expr)
    text = re.sub(r"\s*([-+*/])\s*", r" \1 ", text).replace("*", "×")
    text = re.sub(r"(?<=[(^])\s+-\s|^\s+-\s", "-", text).strip()
    return _NAMED.sub(lambda match: ticker_of(match[1], labels[match[1]]), text)
