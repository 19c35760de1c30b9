"""Everyday sums by what is said of their numbers, in any order of words and in every language at once: a bill
split with a tip, a discount, a tax, so many things at a price, a rate for a time, a price by weight.

Rules:
- Every number of the text has its place in the sum; where one is left over, it is no such sum.
- Words are those of ``purchases.toml``; a few others may stand as names of things ("jacket was 120").
- The result is a tree of the grammar, whose text reads back without these rules.
Pure and bounded: texts of at most ``CHARS_MAX``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adapters.math_calculator import measures
from adapters.math_calculator.tree import Bin, Node, Percent, call, number
from node.language import numbers, tables

CHARS_MAX = 140
_DATA = tables.read_table(__package__, "purchases.toml")
_ROWS = {name: frozenset(row.split()) for name, row in _DATA.items() if isinstance(row, str)}
_OPEN_MAX: int = _DATA["open_words_max"]
_PERIODS = {word: name for name, words in _DATA["periods"]["names"].items() for word in words.split()}
_FACTORS: dict[str, int] = _DATA["periods"]["in"]
_AT = _ROWS["at"] | _ROWS["at_money"]
_YEARS = range(1900, 2100)
WORDS = frozenset().union(*_ROWS.values(), _PERIODS)
_TOKEN = re.compile(
    r"(?P<number>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?P<k>k\b)?|(?P<word>[^\W\d_]+)|(?P<sign>[%€$£@])"
    r"|(?P<other>[^\s.,;:!?()'\"-])"
)
_NEAR = 2
"""So many words behind a number may say that it counts people ("4 of us")."""


@dataclass(frozen=True, slots=True)
class _Said:
    """The text: ``words`` with None at the place of each number, ``amounts`` and ``percents`` by their
    places."""

    words: tuple[str | None, ...]
    amounts: dict[int, Fraction]
    percents: dict[int, Fraction]
    priced: frozenset[int]
    """Places of amounts that are written as money: with a currency, or with two places."""

    def has(self, row: str) -> bool:
        return not _ROWS[row].isdisjoint(self.words)

    def is_at(self, place: int, row: str) -> bool:
        return 0 <= place < len(self.words) and self.words[place] in _ROWS[row]


def understand(text: str) -> Node | None:
    """The sum that ``text`` (folded) asks for, or None."""
    if len(text) > CHARS_MAX or (said := _said(measures.with_points(text.lower()))) is None:
        return None
    for made in _SUMS:
        if (node := made(said)) is not None:
            return node
    return None


def _said(text: str) -> _Said | None:
    words: list[str | None] = []
    amounts: dict[int, Fraction] = {}
    percents: dict[int, Fraction] = {}
    priced: set[int] = set()
    for match in _TOKEN.finditer(text):
        word = match["word"] or match["sign"]
        at = len(words) - 1
        if match["other"]:
            return None
        if match["number"]:
            value = Fraction(match["number"].replace(",", "")) * (1000 if match["k"] else 1)
            amounts[len(words)] = value
            if len(match["number"].partition(".")[2]) == 2 or (words and words[-1] in _ROWS["currency"]):
                priced.add(len(words))
            words.append(None)
        elif word in _ROWS["percentage"] and at in amounts:
            percents[at] = amounts.pop(at)
        elif (
            word in ("ciento", "cento", "cent") and at - 1 in amounts and words[at] in ("por", "per", "pour")
        ):
            percents[at - 1] = amounts.pop(at - 1)
        else:
            if word in _ROWS["currency"] and at in amounts:
                priced.add(at)
            found = numbers.read([word or ""])
            if found is not None and found[0] > 1 and word not in WORDS:
                amounts[len(words)] = Fraction(found[0])
                words.append(None)
            else:
                words.append(word)
    unknown = [word for word in words if word is not None and word not in WORDS and _singular(word) is None]
    is_dozen = not _ROWS["dozen"].isdisjoint(words)
    if not (amounts or percents or is_dozen) or len(unknown) > _OPEN_MAX:
        return None
    return _Said(tuple(words), amounts, percents, frozenset(priced))


def _singular(word: str | None) -> str | None:
    """The period that a word names: "hours", "monaten"."""
    if word is None:
        return None
    return next(
        (
            _PERIODS[word[:end]]
            for end in range(len(word), max(1, len(word) - 3), -1)
            if word[:end] in _PERIODS
        ),
        None,
    )


def _one_each(said: _Said, amounts: int, percents: int) -> bool:
    if percents and any(value in _YEARS and at not in said.priced for at, value in said.amounts.items()):
        return False  # "vat 19% since 2007"
    return len(said.amounts) == amounts and len(said.percents) == percents


def _less(said: _Said) -> Node | None:
    if not _one_each(said, 1, 1) or not said.has("less"):
        return None
    return Bin("-", _only(said.amounts), Percent(_only(said.percents)))


def _taxed(said: _Said) -> Node | None:
    if not _one_each(said, 1, 1) or not said.has("tax"):
        return None
    amount, percent = _only(said.amounts), Percent(_only(said.percents))
    place = next(iter(said.amounts))
    near = {
        row: min((abs(at - place) for at, word in enumerate(said.words) if word in _ROWS[row]), default=99)
        for row in ("gross", "net")
    }
    if said.has("gross") and said.has("net"):
        if near["gross"] < near["net"]:
            return Bin("/", amount, Bin("+", number(1), percent))
        return Bin("+", amount, percent)
    if said.has("gross"):
        return None
    return Bin("+", amount, percent) if said.has("added") or said.has("net") else Bin("of", percent, amount)


def _shared(said: _Said) -> Node | None:
    if len(said.amounts) != 2 or len(said.percents) > 1 or (said.percents and not said.has("tip")):
        return None
    counts = [at for at in said.amounts if _is_count(said, at)]
    orders = bool(said.words) and said.words[0] in _ROWS["share"]
    if len(counts) != 1 or not (orders or said.priced or said.has("bill") or said.has("tip")):
        return None
    if not any(map(said.has, ("share", "among", "tip", "asks"))):
        return None
    count = said.amounts[counts[0]]
    amount = number(next(value for at, value in said.amounts.items() if at != counts[0]))
    if count.denominator != 1 or count < 1:
        return None
    if said.percents:
        amount = Bin("+", amount, Percent(_only(said.percents)))
    return Bin("/", amount, number(count))


def _is_count(said: _Said, at: int) -> bool:
    if at in said.priced:
        return False
    behind = any(said.is_at(place, "people") for place in range(at + 1, at + 1 + _NEAR))
    return behind or said.is_at(at - 1, "among") or said.is_at(at - 1, "we_are")


def _changed(said: _Said) -> Node | None:
    if not _one_each(said, 2, 0) or not said.has("percentage"):
        return None
    first, second = sorted(said.amounts)
    if not (said.is_at(first - 1, "from") and any(said.is_at(at, "to") for at in range(first + 1, second))):
        return None
    return call("percentchange", number(said.amounts[first]), number(said.amounts[second]))


def _bought(said: _Said) -> Node | None:
    """So many things at a price each."""
    if not _one_each(said, 2, 0) or (said.has("share") and not said.has("apiece")) or said.has("dozen"):
        return None
    count, price = sorted(said.amounts)
    between = said.words[count + 1 : price]
    things = [word for word in between if word not in _AT | _ROWS["apiece"] | _ROWS["currency"]]
    at = _AT if said.has("currency") else _ROWS["at"]  # "3 people at 10.30" meet
    behind = [word for word in said.words[price + 1 :] if word not in _ROWS["currency"]]
    is_each = not _ROWS["apiece"].isdisjoint([*between, *behind[:1]])
    said_each = is_each or (price in said.priced and not at.isdisjoint(between))
    is_first = all(word in _ROWS["fill"] for word in said.words[:count])
    if not (said_each and is_first and 1 <= len(things) <= _NEAR and said.amounts[count].denominator == 1):
        return None
    if any(_singular(word) or word in _ROWS["people"] for word in things) or count in said.priced:
        return None
    return Bin("*", number(said.amounts[count]), number(said.amounts[price]))


def _dozens(said: _Said) -> Node | None:
    at = next((at for at, word in enumerate(said.words) if word in _ROWS["dozen"]), None)
    if at is None or said.percents or len(said.amounts) > 1:
        return None
    if at - 1 in said.amounts:
        count = said.amounts[at - 1]
    elif not said.amounts and not _ROWS["half"].isdisjoint(said.words[max(0, at - 2) : at]):
        count = Fraction(1, 2)
    else:
        return None
    return Bin("*", number(count), number(12))


def _earned(said: _Said) -> Node | None:
    """A rate for a time ("12.50 an hour for 38 hours"), or by another one ("5k a month, what a year")."""
    places = [
        (at, name)
        for at, word in enumerate(said.words)
        if (name := _singular(word)) is not None and (word != "an" or said.is_at(at - 1, "per"))
    ]
    if len(places) != 2 or said.percents or not said.is_at(places[0][0] - 1, "per"):
        return None
    (first, unit), (second, other) = places
    rate = next((at for at in sorted(said.amounts) if at < first), None)
    if rate is None or any(word not in _ROWS["currency"] for word in said.words[rate + 1 : first - 1]):
        return None
    if unit == other and len(said.amounts) == 2 and second - 1 in said.amounts:
        return Bin("*", number(said.amounts[rate]), number(said.amounts[second - 1]))
    factor = _FACTORS.get(f"{unit} {other}")
    if factor is None or len(said.amounts) != 1:
        return None
    return Bin("*", number(said.amounts[rate]), number(factor))


def _by_weight(said: _Said) -> Node | None:
    """The price of a kilo or litre, where another weight costs so much."""
    weights = [at for at in said.amounts if said.is_at(at + 1, "weighs")]
    costs = [at for at in said.amounts if any(said.is_at(place, "costs") for place in (at - 1, at - 2))]
    if said.percents or not costs or not weights or not said.has("costs"):
        return None
    weight, cost = weights[0], costs[0]
    rest = [at for at in said.amounts if at not in (weight, cost)]
    wanted = [at for at, word in enumerate(said.words) if word in _ROWS["a_unit"] and at != weight + 1]
    if weight == cost or not wanted or any(said.amounts[at] != 1 for at in rest):
        return None
    parts = 1000 if said.words[weight + 1] in ("g", "ml") else 1
    price = Bin("/", number(said.amounts[cost]), number(said.amounts[weight]))
    return price if parts == 1 else Bin("*", price, number(parts))


def _only(values: dict[int, Fraction]) -> Node:
    return number(next(iter(values.values())))


_SUMS: tuple[Callable[[_Said], Node | None], ...] = (
    _less,
    _taxed,
    _by_weight,
    _earned,
    _dozens,
    _changed,
    _bought,
    _shared,
)
