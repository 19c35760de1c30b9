"""A fragment that goes on from a question about coins, as a question of its own. Pure.

Rules of this file:
- The whole fragment must fill slots of the question before: coins, a currency, a time, a figure, an amount.
- The result is a canonical English phrase that ``questions`` reads back to exactly the merged slots; where it
  does not, there is no result.
- After a question about coins a single word that nothing else knows may be a ticker: it is passed on to be
  looked up ("price of kaspa coin"), never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from adapters.coins import dates, scripts
from adapters.coins.aliases import ASKED_AS, BY_ID, COIN_CURRENCIES, EVERYDAY, FAMILIAR, UNPRICED
from adapters.coins.claims import claim
from adapters.coins.figures import COINS_MAX, decimal_of
from adapters.coins.items import Item, misspelt
from adapters.coins.metrics import LISTS
from adapters.coins.questions import sentences_of
from adapters.coins.slots import CoinQuestion
from adapters.coins.words import NOT_A_COIN_NAME, PATTERNS, PHRASES, TABLES, WORDS
from adapters.outgoing import may_leave
from node.core.model import CLAIM
from node.language.reading import read
from node.language.tables import any_of

FRAGMENT_CHARS_MAX = 80

_METRIC_KINDS = {
    "cap": "market_cap",
    "vol": "volume_24h",
    "chg": "change_24h",
    "24h": "change_24h",
    "price": "price",
}
_LEAD = re.compile(rf"^(?:(?:{any_of(TABLES['words']['follow_leads'])})\b[\s,]*)+", re.IGNORECASE)
_ITS = re.compile(rf"^(?:{any_of(TABLES['words']['its'])})\s+", re.IGNORECASE)
"""Before a figure, of the coins asked about before."""
_SCRIPT_LEAD = re.compile(rf"^(?:{any_of(TABLES['words']['script_leads'])})[\s、,]*")
_TICKER = re.compile(r"[a-z]{2,12}\Z")


def follow_up(fragment: str, earlier: str, today: date) -> str | None:
    """The self-contained question, or None."""
    if len(fragment) > FRAGMENT_CHARS_MAX or not fragment.strip():
        return None
    before = claim(earlier, today)
    if before is None or before.strength < CLAIM:
        return None
    merged = _merged(fragment, before.question, today)
    if merged is None or merged == before.question:
        return None
    if merged.unresolved and not may_leave(fragment):
        return None
    return phrase(merged, today)


def phrase(question: CoinQuestion, today: date) -> str | None:
    """English words for a question, which are read back to it with certainty; None when there are none."""
    vs = "" if question.vs == "usd" else f" in {'turkish lira' if question.vs == 'try' else question.vs}"
    if question.metric == "top":
        words = f"top {question.limit} cryptocurrencies{vs}"
    elif question.metric in LISTS:
        words = f"{question.limit} {question.metric} cryptocurrencies{vs}"
    else:
        names = [_alias(coin_id) for coin_id in question.ids]
        names += [f"{name} coin" for name in question.unresolved]
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        when = "" if question.date is None else f" {dates.phrase(question.date)}"
        amount = "" if question.amount is None else f"{question.amount} "
        words = f"{ASKED_AS[question.metric]} of {amount}{listed}{when}{vs}"
        if question.money is not None:
            words = f"{question.money} {'turkish lira' if question.vs == 'try' else question.vs} in {listed}"
    read_back = claim(words, today)
    return words if read_back is not None and read_back.question == question else None


def _alias(coin_id: str) -> str:
    """A name that is no everyday word, or the ticker with a ``$``."""
    coin = BY_ID.get(coin_id)
    if coin is None:
        return coin_id
    return next(
        (name for name in (*coin.names, *coin.symbols) if name not in EVERYDAY), f"${coin.symbols[0]}"
    )


def _merged(fragment: str, before: CoinQuestion, today: date) -> CoinQuestion | None:
    reading = read(fragment)
    if reading.script not in ("latin", "none"):
        return _from_script(reading.plain, before)
    text = fragment.strip().rstrip("?！!. ")
    shorter = _LEAD.sub("", text)
    figure = _ITS.sub("", shorter)
    sentences = sentences_of(figure or text, today)
    if len(sentences) != 1 or sentences[0].items is None or sentences[0].wrong_day:
        return None
    items = [item for item in sentences[0].items if item.kind != "fill"]
    if not items or (figure != shorter and any(item.kind in ("coin", "name") for item in items)):
        return None
    named_today = any(item.kind == "date" for item in items) and sentences[0].said is None
    return _fill(items, before, sentences[0].said, named_today=named_today)


def _fill(
    items: Sequence[Item], before: CoinQuestion, said: str | None, *, named_today: bool
) -> CoinQuestion | None:
    """The question with every item of the fragment in its slot; None when one has none."""
    merged: CoinQuestion | None = before
    ids: list[str] = []
    names: list[str] = []
    for at, item in enumerate(items):
        if merged is None:
            return None
        if item.kind in ("coin", "name"):
            quoted = at > 0 and items[at - 1].kind == "link" and items[at - 1].value != "vs"
            if quoted and item.kind == "coin" and not ids and before.ids and item.value not in before.ids:
                merged = replace(merged, vs=COIN_CURRENCIES.get(item.value, ""))
            elif (known := _known_coin(item)) is not None:
                ids.append(known)
            elif item.kind == "name" and _may_be_ticker(item, items):
                names.append(item.value)
            else:
                return None
        elif item.kind == "number":
            merged = _counted(merged, item, items)
        elif item.kind == "date":
            merged = replace(merged, date=None if named_today else said)
        elif item.kind in ("and", "link"):
            merged = merged if at + 1 < len(items) else None
        elif (filled := _with_word(merged, item)) is not None:
            merged = filled
        elif not _goes_along(item, items[at + 1 :], bool(ids or names), before):
            return None
    if merged is not None and (ids or names):
        if before.metric in LISTS or len(ids) + len(names) > COINS_MAX:
            return None
        merged = replace(merged, ids=tuple(sorted(set(ids))), unresolved=tuple(names))
    return merged if merged is not None and merged.vs and _fits(merged) else None


def _known_coin(item: Item) -> str | None:
    """The coin that an item names after a question about coins."""
    if item.kind == "name":
        return misspelt(item.value)
    is_meant = item.sure or item.shown or item.alias in FAMILIAR or item.alias in UNPRICED
    return item.value if is_meant else None


def _with_word(question: CoinQuestion, item: Item) -> CoinQuestion | None:
    """The question with what a word says in its slot; None for a word that says nothing of it."""
    if item.kind == "currency":
        return replace(question, vs=item.value)
    if item.kind == "now":
        return replace(question, date=None)
    if item.kind == "fig" and item.value in ASKED_AS:
        return _with_metric(question, item.value)
    if item.kind == "24h" and item.value:
        return _with_metric(question, f"change_{item.value}")
    return _with_metric(question, _METRIC_KINDS[item.kind]) if item.kind in _METRIC_KINDS else None


def _counted(question: CoinQuestion, item: Item, items: Sequence[Item]) -> CoinQuestion | None:
    """The question with a number in it: of coins in a list, of money, or of one coin."""
    amount = decimal_of(item.value)
    if not amount or any(one.kind in ("currency", "times") for one in items):
        return None
    if question.metric in LISTS:
        fits = amount.isdecimal() and 1 <= int(amount[:4]) <= 100
        return replace(question, limit=int(amount)) if fits else None
    if question.money is not None:
        return replace(question, money=amount)
    return replace(question, amount=None if amount == "1" else amount)


def _goes_along(item: Item, rest: Sequence[Item], named: bool, before: CoinQuestion) -> bool:
    """ "coin" beside a coin's name, "top" in a list of the largest: words that fill no slot."""
    if item.kind == "ctx":
        return named or (bool(rest) and rest[0].kind == "name")
    return item.kind == "top" and before.metric == "top"


def _with_metric(question: CoinQuestion, metric: str) -> CoinQuestion:
    """Another figure of the same coins; an amount has a price only."""
    if question.metric in LISTS:
        return replace(question, metric="")
    if metric == question.metric:
        return replace(question, money=None)  # "and the price?" after "100 usd in btc"
    return replace(question, metric=metric, amount=question.amount if metric == "price" else None, money=None)


def _fits(question: CoinQuestion) -> bool:
    if question.metric in LISTS:
        return question.date is None
    if question.metric not in ASKED_AS or not (question.ids or question.unresolved):
        return False
    if question.money is not None and (question.date is not None or len(question.ids) != 1):
        return False
    several = len(question.ids) + len(question.unresolved) != 1
    return not (question.amount and (several or question.metric != "price"))


def _may_be_ticker(item: Item, items: Sequence[Item]) -> bool:
    """A single word of which nothing else is known."""
    if sum(one.kind in ("name", "coin") for one in items) > 1:
        return False
    known = item.value in WORDS["common"] or item.value in NOT_A_COIN_NAME or (item.value,) in PHRASES
    return item.shown or (_TICKER.match(item.value) is not None and not known)


def _from_script(plain: str, before: CoinQuestion) -> CoinQuestion | None:
    """ "イーサリアムは?", "那以太坊呢", "а эфир?", "в евро?"."""
    text = _SCRIPT_LEAD.sub("", plain.strip())
    if PATTERNS["script_rest"].sub("", scripts.without_names(text)):
        return None
    coins = tuple(sorted({coin_id for coin_id, _ in scripts.coins_in(text)}))
    vs = scripts.currency_in(text)
    if before.metric in LISTS and coins:
        return None
    merged = replace(before, vs=vs or before.vs)
    if coins:
        merged = replace(merged, ids=coins, unresolved=())
    return merged if (coins or vs) and _fits(merged) else None
