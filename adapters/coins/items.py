"""Tokens to parts of a question: coins, currencies, numbers, words for a figure. Pure.

Rules of this file:
- The longest phrase wins; at equal length a coin wins over a filler when its own letters show that it is one.
- One letter amiss in a long name of a coin, or in a word for price beside a coin, is forgiven and remembered.
- What nothing knows is a ``name`` (it could be a ticker) or ``unknown``; whether that is allowed is decided
  by who reads the items.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from adapters.coins.aliases import EVERYDAY, MISSPELLABLE
from adapters.coins.words import COIN_WORDS, DATE_MARK, FIAT, PHRASE_WORDS_MAX, PHRASES, Token, one_apart

NAME = re.compile(r"[a-z][a-z0-9]{1,19}\Z")


@dataclass(frozen=True, slots=True)
class Item:
    """A phrase with its part. ``sure``: a coin beyond doubt; ``shown``: evidence seen in its own letters;
    ``joined`` and ``split`` as in ``Token``."""

    kind: str
    value: str
    alias: str = ""
    sure: bool = False
    shown: bool = False
    joined: str = ""
    split: bool = False


def items_of(tokens: Sequence[Token]) -> list[Item]:
    """The parts of a sentence, in order."""
    loud = _is_loud(tokens)
    out: list[Item] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        item, size = _item(tokens, at, loud)
        out.append(replace(item, joined=token.joined, split=token.split))
        at += size
    if any(
        (item.kind == "coin" and item.sure) or (item.kind == "name" and misspelt(item.value)) for item in out
    ):
        return [
            Item("price", "price", split=item.split) if _is_price_misspelt(item) else item for item in out
        ]
    return out


def _is_price_misspelt(item: Item) -> bool:
    """ "prcie": beside a coin beyond doubt, one letter away from a word for the figure."""
    return (
        item.kind == "name"
        and item.value.isalpha()
        and len(item.value) >= 4
        and item.value not in _NOT_PRICE
        and any(
            item.value[0] == word[0] and one_apart(item.value, word)
            for word in ("price", "value", "worth", "precio", "preis")
        )
    )


_NOT_PRICE = frozenset(("prime", "pride", "prince", "pricey", "priced", "valve", "worthy", "prices", "wort"))


def _is_loud(tokens: Sequence[Token]) -> bool:
    """Everything is in capitals, so capitals show nothing."""
    letters = [t for t in tokens if t.kind == "word" and t.text.isalpha() and (t.low,) not in COIN_WORDS]
    return bool(letters) and all(t.text.isupper() for t in letters)


def _item(tokens: Sequence[Token], at: int, loud: bool) -> tuple[Item, int]:
    token = tokens[at]
    if token.kind == "mark":
        return Item("date", DATE_MARK), 1
    if token.kind == "ticker":
        name = token.low[1:]
        coin_id, alias = COIN_WORDS.get((name,), ("", ""))
        if coin_id:
            return Item("coin", coin_id, alias, sure=True, shown=True), 1
        return Item("name", name, shown=True), 1
    for size in range(min(PHRASE_WORDS_MAX, len(tokens) - at), 0, -1):
        run = tokens[at : at + size]
        if any(t.kind in ("mark", "ticker") for t in run) or any(t.split for t in run[1:]):
            continue
        key = tuple(t.low for t in run)
        coin, phrase = COIN_WORDS.get(key), PHRASES.get(key)
        if coin is not None and (phrase is None or _shows(run, coin[1], at, loud)):
            if phrase is not None and phrase[0] == "number" and _coin_follows(tokens, at + size):
                return Item("number", phrase[1]), size
            alias = coin[1]
            return Item("coin", coin[0], alias, alias not in EVERYDAY, _shows(run, alias, at, loud)), size
        if phrase is not None:
            return Item(*phrase), size
    if token.kind == "number":
        return Item("number", token.low), 1
    if token.text == "TRY" and not loud:
        return Item("currency", "try"), 1
    if pair := _glued_pair(token.low):
        return pair, 1
    return Item("name" if NAME.match(token.low) else "unknown", token.low), 1


def _shows(run: Sequence[Token], alias: str, at: int, loud: bool) -> bool:
    """Capitals that ordinary writing would not use: SOL; a name like The Graph inside a sentence."""
    if loud:
        return False
    if all(t.text.isupper() and len(t.text) >= 2 for t in run):
        return True
    is_name = len(alias) >= 5 and alias != "trump"
    return is_name and at > 0 and all(t.text[0].isupper() for t in run)


def _coin_follows(tokens: Sequence[Token], at: int) -> bool:
    return any((tuple(t.low for t in tokens[at : at + size])) in COIN_WORDS for size in (1, 2, 3))


def _glued_pair(word: str) -> Item | None:
    """btcusd, etheur: a certain ticker and a currency code written as one."""
    for size in (3, 4):
        head, tail = word[:-size], word[-size:]
        coin = COIN_WORDS.get((head,))
        known = coin is not None and coin[1] not in EVERYDAY and len(head) <= 5
        if coin is not None and known and (tail in FIAT or tail in _GLUED):
            return Item("pair", f"{coin[0]} {_GLUED.get(tail, tail)}", coin[1], sure=True, shown=True)
    return None


_GLUED = {"btc": "btc", "eth": "eth", "usdt": "usd", "usdc": "usd"}


@lru_cache(maxsize=4_096)
def misspelt(word: str) -> str | None:
    """The id of the one long name that ``word`` differs from by a letter (added, missing, wrong, swapped)."""
    if not 5 <= len(word) <= 14 or not word.isalpha():
        return None
    near = {name for name in _BY_LETTER.get(word[0], ()) if one_apart(word, name)}
    ids = {COIN_WORDS[(name,)][0] for name in near}
    return ids.pop() if len(ids) == 1 else None


_BY_LETTER = {
    letter: tuple(name for name in MISSPELLABLE if name[0] == letter)
    for letter in {name[0] for name in MISSPELLABLE}
}
