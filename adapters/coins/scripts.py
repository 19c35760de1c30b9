"""Questions about coins in Japanese, Chinese, Russian and Korean, whose words are found in the text itself.
Pure, bounded.

Rules of this file:
- A coin's name and a word for a figure must both stand in the text, or a coin, an amount and a currency; a
  word that asks why, what it is or what will be makes the text somebody else's.
- The longest name wins (比特币现金 is not 比特币); Russian names take endings.
- Latin tickers in such a text count when they are no everyday words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from adapters.coins import dates
from adapters.coins.aliases import COINS, EVERYDAY, SCRIPT_CURRENCIES, SCRIPT_NAMES
from adapters.coins.figures import COINS_MAX, decimal_of
from adapters.coins.slots import CoinQuestion
from adapters.coins.words import PATTERNS, TABLES, finds
from node.language.tables import pattern

TEXT_CHARS_MAX = 200

_TICKERS = {
    alias: coin.id
    for coin in COINS
    for alias in (*coin.symbols, *coin.names)
    if alias not in EVERYDAY and alias.isascii() and alias.isalnum() and not alias.isdigit()
}


def _longest_first(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_COIN = re.compile(
    rf"(?:(?<![а-я])(?P<name>{_longest_first(SCRIPT_NAMES)})(?P<end>[а-я]{{0,3}})(?![а-я])"
    rf"|(?<![a-z0-9])(?P<ticker>{_longest_first(_TICKERS)})(?![a-z0-9]))"
)
_CURRENCY = re.compile(
    rf"(?<![а-я])(?P<name>{_longest_first(SCRIPT_CURRENCIES)})[а-я]{{0,4}}|(?<![a-z])(?P<code>usd|eur|gbp|jpy|cny|rub|krw)(?![a-z])|(?P<sign>[$€£])"
)
_SIGNS = {"$": "usd", "€": "eur", "£": "gbp"}
_AMOUNT = re.compile(r"(?P<number>\d[\d,]*(?:\.\d+)?)\s*(?:個の|個|个|枚|개|万)?\s*\Z")
_METRICS = tuple(
    (name, pattern(TABLES["script_metrics"][name], {}))
    for name in ("market_cap", "volume_24h", "change_24h", "price")
)
_PAST = tuple(
    (said, pattern(TABLES["script_days"][day], {}))
    for said, day in (("today-2d", "before_yesterday"), ("yesterday", "yesterday"))
)
_NUMBER_DATE = re.compile(r"(?P<y>\d{4})[年.\-/년]\s*(?P<m>\d{1,2})[月.\-/월]\s*(?P<d>\d{1,2})[日日号일]?")


@dataclass(frozen=True, slots=True)
class Found:
    """A question; ``complete`` when every word of the text is accounted for, ``touches`` when the text asks
    for advice and the price is part of an answer."""

    question: CoinQuestion
    complete: bool = False
    touches: bool = False


def read(plain: str, today: date) -> Found | None:
    """The question of a folded text in one of these scripts; None when it is not about figures of coins."""
    if len(plain) > TEXT_CHARS_MAX:
        return None
    coins = coins_in(plain)
    if not coins or len(coins) > COINS_MAX:
        return None
    ids = tuple(dict.fromkeys(coin_id for coin_id, _ in coins))
    if finds("script_weak", plain):
        return Found(CoinQuestion(ids, (), "usd", "price"), touches=True)
    if finds("script_traps", plain):
        return None
    said, rest = _day(plain, today)
    if said == "":
        return None
    vs = currency_in(rest)
    amount = _amount(plain, coins) if len(ids) == 1 else ""
    metric = next((name for name, words in _METRICS if words.search(plain)), None)
    if metric is None and (vs is None or not amount):
        return None
    if (said is not None or amount) and metric not in (None, "price"):
        return None
    question = CoinQuestion(ids, (), vs or "usd", metric or "price", amount or None, said)
    return Found(
        question,
        complete=metric == "price" and _is_complete(rest, bool(_AMOUNT.search(plain[: coins[0][1]]))),
    )


def _is_complete(text: str, has_amount: bool) -> bool:
    """Whether nothing but names, an amount, words for figures and particles stands in the text."""
    if len(_NUMBER.findall(text)) > has_amount:
        return False  # "биткоин стоит 50000 долларов" tells
    rest = without_names(text)
    for _, words in _METRICS:
        rest = words.sub("", rest)
    for name in ("script_endings", "script_words", "script_fillers"):
        rest = PATTERNS[name].sub("", rest)
    return not rest


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def coins_in(plain: str) -> list[tuple[str, int]]:
    """The coins named, with where each begins."""
    return [
        (SCRIPT_NAMES[match["name"]] if match["name"] else _TICKERS[match["ticker"]], match.start())
        for match in _COIN.finditer(plain)
    ]


def currency_in(plain: str) -> str | None:
    """The one currency named; None for none. A number before it is not looked at."""
    found = {
        SCRIPT_CURRENCIES[match["name"]] if match["name"] else match["code"] or _SIGNS[match["sign"]]
        for match in _CURRENCY.finditer(_COIN.sub(" ", plain))
    }
    return found.pop() if len(found) == 1 else None


def without_names(plain: str) -> str:
    """The text without its coins and currencies, for who must know that nothing else is said."""
    return _CURRENCY.sub("", _COIN.sub("", plain))


def _day(plain: str, today: date) -> tuple[str | None, str]:
    """The past day named ("" for one that cannot be meant) and the text without it."""
    if match := _NUMBER_DATE.search(plain):
        said = f"{int(match['y']):04}-{int(match['m']):02}-{int(match['d']):02}"
        rest = plain[: match.start()] + plain[match.end() :]
        day = dates.day_of(said, today)
        return ("" if day is None else None if day == today else said), rest
    for said, words in _PAST:
        if words.search(plain):
            return said, words.sub("", plain)
    return None, plain


def _amount(plain: str, coins: list[tuple[str, int]]) -> str:
    match = _AMOUNT.search(plain[: coins[0][1]])
    if match is None:
        return ""
    amount = decimal_of(match["number"].rstrip(","))
    return "" if amount == "1" else amount
