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

TEXT_CHARS_MAX = 200

_TICKERS = {
    alias: coin.id
    for coin in COINS
    for alias in (*coin.symbols, *coin.names)
    if alias not in EVERYDAY and alias.isascii() and alias.isalnum() and not alias.isdigit()
}
_NAMES = {name: coin_id for coin_id, names in SCRIPT_NAMES.items() for name in names}
_MONEY = {name: code for code, names in SCRIPT_CURRENCIES.items() for name in names}


def _longest_first(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


_COIN = re.compile(
    rf"(?:(?<![а-я])(?P<name>{_longest_first(_NAMES)})(?P<end>[а-я]{{0,3}})(?![а-я])"
    rf"|(?<![a-z0-9])(?P<ticker>{_longest_first(_TICKERS)})(?![a-z0-9]))"
)
_CURRENCY = re.compile(
    rf"(?<![а-я])(?P<name>{_longest_first(_MONEY)})[а-я]{{0,4}}|(?<![a-z])(?P<code>usd|eur|gbp|jpy|cny|rub|krw)(?![a-z])|(?P<sign>[$€£])"
)
_SIGNS = {"$": "usd", "€": "eur", "£": "gbp"}
_AMOUNT = re.compile(r"(?P<number>\d[\d,]*(?:\.\d+)?)\s*(?:個の|個|个|枚|개|万)?\s*\Z")
_METRICS = (
    ("market_cap", re.compile(r"時価総額|市值|總市值|капитализаци|시가총액|시총")),
    (
        "volume_24h",
        re.compile(
            r"取引高|出来高|取引量|交易量|成交量|об[ъь]?[её]м торгов|торговый об[ъь]?ем|거래량|거래대금"
        ),
    ),
    (
        "change_24h",
        re.compile(
            r"変動率?|騰落|値動き|上がった|下がった|涨跌|漲跌|涨幅|跌幅|涨了|跌了|изменил|изменени|вырос|упал|подорожал|подешевел|변동|등락|올랐|떨어졌"
        ),
    ),
    (
        "price",
        re.compile(
            r"価格|値段|いくら|相場|レート|価値|何円|何ドル|何ユーロ|价格|價格|多少钱|多少錢|多少|行情|币价|幣價|价值|报价|什么价|現價|现价|值多少|几钱"
            r"|курс|цена|цену|цены|стоимост|сколько|почем|котировк|стоит|가격|시세|얼마|환율"
        ),
    ),
)
_TRAPS = re.compile(
    r"なぜ|とは|仕組み|予想|予測|見通し|将来|マイニング|採掘|半減|買うべき|買い方|投資|儲|来年|明日|誰|税"
    r"|为什么|為什麼|为何|什么是|是什么|原理|预测|預測|走势预|未来|將來|挖矿|减半|投资|该买|应该|怎么买|明天|明年|谁|历史|税|会涨|会跌"
    r"|почему|зачем|объясни|что такое|прогноз|предска|будет|майнин|халвинг|стоит ли|инвест|купить|завтра"
    r"|кто|налог|как работает"
    r"|왜|예측|전망|채굴|반감기|투자|내일|누가|세금|무엇"
)
_WEAK = re.compile(r"買うべき|投資|该买|应该|投资|стоит ли|инвест|купить|투자")
_PAST = (
    ("today-2d", re.compile(r"一昨日|おととい|前天|позавчера|그저께")),
    ("yesterday", re.compile(r"昨日|きのう|昨天|вчера|어제")),
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
    if _WEAK.search(plain):
        return Found(CoinQuestion(ids, (), "usd", "price"), touches=True)
    if _TRAPS.search(plain):
        return None
    said, rest = _day(plain, today)
    if said == "":
        return None
    vs = currency_in(rest)
    amount = _amount(plain, coins) if len(ids) == 1 else ""
    metric = next((name for name, pattern in _METRICS if pattern.search(plain)), None)
    if metric is None and (vs is None or not amount):
        return None
    if (said is not None or amount) and metric not in (None, "price"):
        return None
    question = CoinQuestion(ids, (), vs or "usd", metric or "price", amount or None, said)
    return Found(
        question,
        complete=metric == "price" and _is_complete(rest, bool(_AMOUNT.search(plain[: coins[0][1]]))),
    )


_RESTS = re.compile(
    r"[\s\d.,?!？！。、，¿:：]|です|ますか|ます|は|の|が|を|に|で|と|か|今|現在|今日|本日|いま|教えて|ください|一つ|1つ|する"
    r"|请问|請問|现在|現在|今天|目前|当前|最新|实时|的|是|值|一个|一個|一枚|个|個|等于|换|呢|吗|和|在|告诉我|查|一下"
    r"|\b(?:какой|какая|какова|каков|какую|сейчас|сегодня|на|к|в|и|за|один|одного|одна|мне|скажи|скажите|пожалуйста"
    r"|покажи|текущая|текущий|текущую|равен|это|подскажите|у|монеты?|криптовалюты)\b"
    r"|지금|현재|오늘|은|는|이|가|의|로|으로|요|인가|알려줘|알려|주세요|에요|예요"
)


def _is_complete(text: str, has_amount: bool) -> bool:
    """Whether nothing but names, an amount, words for figures and particles stands in the text."""
    if len(_NUMBER.findall(text)) > has_amount:
        return False  # "биткоин стоит 50000 долларов" tells
    rest = without_names(text)
    for _, pattern in _METRICS:
        rest = pattern.sub("", rest)
    return not _RESTS.sub("", _ENDINGS.sub("", rest))


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ENDINGS = re.compile(
    r"(?<![а-я])(?:сколько|стоит|стоят|стоимость|стоимости|цена|цену|курс|курсе|а|у|ом|е|ь)(?![а-я])"
)


def coins_in(plain: str) -> list[tuple[str, int]]:
    """The coins named, with where each begins."""
    return [
        (_NAMES[match["name"]] if match["name"] else _TICKERS[match["ticker"]], match.start())
        for match in _COIN.finditer(plain)
    ]


def currency_in(plain: str) -> str | None:
    """The one currency named; None for none. A number before it is not looked at."""
    found = {
        _MONEY[match["name"]] if match["name"] else match["code"] or _SIGNS[match["sign"]]
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
    for said, pattern in _PAST:
        if pattern.search(plain):
            return said, pattern.sub("", plain)
    return None, plain


def _amount(plain: str, coins: list[tuple[str, int]]) -> str:
    match = _AMOUNT.search(plain[: coins[0][1]])
    if match is None:
        return ""
    amount = decimal_of(match["number"].rstrip(","))
    return "" if amount == "1" else amount
