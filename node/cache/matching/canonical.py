"""Canonical slots: dates, times of day, units, ordinals and names, folded over the tokens of a text.

Rules:
1. A date is its month and the ISO form behind it: "March 3rd, 2024", "3 Mar 2024", "2024-03-03" are
   "march 2024-03-03"; without a year "--03-03"; a month with its year "2024-03". "13/04/2024" has one
   reading and is a date, "03/04/2024" has two and stays as written.
2. "5 pm" and "17:00" are "17:00". A symbol of a unit behind a figure is the unit's word, if its case says
   which: MB is megabyte, Mb megabit, mb is left.
3. An ordinal before a noun is "#3": a third law is not three laws. With things that are told apart by
   ordinals it goes behind the noun, and so does a plain figure: "third chapter", "chapter 3" are "chapter
   #3". "proposal no. 123", "proposal number 123" are "proposal 123".
4. A name is the id of its line in ``aliases``. If a text has two spellings of one thing, or a word that asks
   about the name itself, these stay as written: they may be what is compared.

Promises: pure, total, linear in the tokens. Two token lists come to the same only if they say the same.
Must not know: what is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

from node.cache.matching import aliases, words
from node.cache.matching.token import CODE, END, NUMBER, SYMBOL, WORD, Token, token_at

_MONTH_NAMES = words.TABLE["words"]["months"].split()
_MONTHS = {
    **{name: number for number, name in enumerate(_MONTH_NAMES, start=1)},
    **{name[:3]: number for number, name in enumerate(_MONTH_NAMES, start=1)},
    "sept": 9,
}
_DAYS_MAX = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEAR = re.compile(r"[12]\d{3}")
_DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.([12]\d{3})")
_CLOCK = re.compile(r"\d:[0-5]\d")
"""A time of day that lacks the zero before its hour."""
_HOUR = re.compile(r"(\d{1,2})(?::([0-5]\d))?")
_WARS = words.pairs("wars")
_MONEY_SIGNS = frozenset("$€£¥₹")
_HOURS = words.pairs("hours")
_ORDINAL_ENDS = ("st", "nd", "rd", "th")
_UNIT_SYMBOLS = words.pairs("unit_symbols")
_COUNTED = words.table("counted")
_NUMBERED = words.table("numbered")
"""What a number may follow by "number", "no." or directly."""
_IN_ORDER = words.table("in_order")
"""Of these those that an ordinal names too."""
_NUMBER_WORDS = words.table("number_words")
_NOT_COUNTED_ON = frozenset({"century"})


def folded(tokens: Sequence[Token], *, mixed: bool) -> list[Token]:
    """The tokens with canonical slots. ``mixed``: capitals in the text can mean something."""
    out: list[Token] = []
    index = 0
    while index < len(tokens):
        found = _slot(tokens, index)
        if found is None:
            out.append(tokens[index])
            index += 1
        else:
            out.extend(found[1])
            index += found[0]
    return _names(out, mixed=mixed)


def _slot(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """What stands at a position: how many tokens and what they become."""
    token, before = tokens[at], token_at(tokens, at - 1)
    if token.kind == NUMBER:
        return _iso_date(tokens, at) or _day_first(tokens, at) or _clock(tokens, at) or _ordinal(tokens, at)
    if token.kind in (WORD, CODE) and token.text in _WARS:
        return 1, _war(token, _WARS[token.text])
    if token.kind == WORD:
        if token.raw in _MONEY_SIGNS and token_at(tokens, at + 1).kind == NUMBER:
            return 2, [tokens[at + 1], token]
        if token.text in _MONTHS:
            return _month_first(tokens, at)
        if token.text in _HOURS:
            return 1, [replace(token, text=_HOURS[token.text], kind=NUMBER)]
        if token.text in ("the", "year"):
            return _year(tokens, at)
        return _numbered(tokens, at) if token.text in _NUMBERED else None
    if token.kind == CODE and token.text == "s" and at and before.end < token.start:
        return 1, [replace(token, text="second", kind=WORD)]
    if token.kind == CODE and before.kind == NUMBER and token.text in _UNIT_SYMBOLS:
        return 1, [replace(token, text=_UNIT_SYMBOLS[token.text], kind=WORD)]
    return None


def _touching(tokens: Sequence[Token]) -> bool:
    return all(one.end == two.start for one, two in pairwise(tokens))


def _date(first: Token, last: Token, year: str, month: int, day: int) -> list[Token] | None:
    """The month's word and the date. ``day`` 0: the month of the year; ``year`` "": every year's."""
    if not 1 <= month <= 12 or day > _DAYS_MAX[month - 1]:
        return None
    text = f"{year or '-'}-{month:02d}" + (f"-{day:02d}" if day else "")
    return [
        Token(_MONTH_NAMES[month - 1], WORD, _MONTH_NAMES[month - 1], first.start, first.end),
        Token(text, NUMBER, text, first.start, last.end),
    ]


def _iso_date(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "2024-03-03", "2024/3/3", and the other order where a day above 12 tells which is which."""
    if match := _DOTTED_DATE.fullmatch(tokens[at].raw):
        date = _numeric(tokens[at], tokens[at], int(match[1]), int(match[2]), match[3])
        return (1, date) if date else None
    part = tokens[at : at + 5]
    if len(part) < 5 or part[1].text not in ("-", "/") or part[1].text != part[3].text:
        return None
    if not (_touching(part) and part[2].kind == part[4].kind == NUMBER):
        return None
    one, two, three = part[0].raw, part[2].raw, part[4].raw
    if not all(raw.isascii() and raw.isdigit() and len(raw) <= 4 for raw in (one, two, three)):
        return None
    if _YEAR.fullmatch(one) and len(two) <= 2 and len(three) <= 2 and int(three):
        date = _date(part[0], part[4], one, int(two), int(three))
    elif _YEAR.fullmatch(three) and len(one) <= 2 and len(two) <= 2:
        date = _numeric(part[0], part[4], int(one), int(two), three)
    else:
        return None
    return (5, date) if date else None


def _numeric(first: Token, last: Token, one: int, two: int, year: str) -> list[Token] | None:
    if one > 12 and two:
        return _date(first, last, year, two, one)
    return _date(first, last, year, one, two) if two > 12 and one else None


def _day(token: Token) -> int:
    """A day of a month; 0 if it is none."""
    text = token.text
    if token.kind != NUMBER or not (text.isascii() and text.isdigit() and len(text) <= 2):
        return 0
    return int(text) if 1 <= int(text) <= 31 else 0


def _year_at(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """A year at a position, a comma or "of" before it: (year, tokens)."""
    skip = int(token_at(tokens, at).text in (",", "of"))
    token = token_at(tokens, at + skip)
    if token.kind == NUMBER and _YEAR.fullmatch(token.raw):
        return token.text, skip + 1
    return "", 0


def _day_first(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "3 March 2024", "3rd of March"."""
    day, before = _day(tokens[at]), token_at(tokens, at - 1).text
    then = at + 1 + (token_at(tokens, at + 1).text == "of" and _is_ordinal(tokens[at]))
    month = token_at(tokens, then)
    if not day or month.kind != WORD or month.text not in _MONTHS or before in ("-", "/"):
        return None
    year, used = _year_at(tokens, then + 1)
    written = month.raw[:1].isupper() or before in _BEFORE_MONTH
    if not year and not written and not _is_month(tokens, then, dated=True):
        return None
    date = _date(tokens[at], tokens[then + used], year, _MONTHS[month.text], day)
    return (then + 1 + used - at, date) if date else None


def _month_first(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "March 3rd, 2024", "March 3", "March 2024"."""
    month = _MONTHS[tokens[at].text]
    then = at + 1 + (token_at(tokens, at + 1).text == "the" and _is_ordinal(token_at(tokens, at + 2)))
    day = _day(token_at(tokens, then))
    year, used = _year_at(tokens, then + 1 if day else at + 1)
    if day:
        after = token_at(tokens, then + 1).text
        if after in ("-", "/", "percent") or after.rstrip("s") in _COUNTED or after in _UNIT_SYMBOLS:
            return None
        last = then + used
    else:
        last = at + used
    if not (year and day) and not ((year or day) and _is_month(tokens, at, dated=bool(day))):
        return None
    date = _date(tokens[at], tokens[last], year, month, day)
    return (last + 1 - at, date) if date else None


_BEFORE_MONTH = words.table("before_month")
_MONTHS_OR_WORDS = words.table("months_or_words")


def _is_month(tokens: Sequence[Token], at: int, *, dated: bool) -> bool:
    """Whether a word like "may", "march", "mar", "dec" is surely a month where no whole date says so."""
    text = tokens[at].text
    if text not in _MONTHS_OR_WORDS:
        return True
    if not at:
        return not dated or tokens[at].raw[:1].isupper()
    before = tokens[at - 1]
    return before.text in _BEFORE_MONTH or (dated and before.kind == NUMBER and text != "may")


def _year(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "in the year 2020" is "in 2020"."""
    then = at + (tokens[at].text == "the")
    year, number = token_at(tokens, then), token_at(tokens, then + 1)
    if year.text == "year" and year.kind == WORD and number.kind == NUMBER and _YEAR.fullmatch(number.raw):
        return then + 2 - at, [number]
    return None


def _clock(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "5 pm", "5:30 pm", "9:05"."""
    token, half = tokens[at], token_at(tokens, at + 1)
    if half.kind == CODE and half.text in ("@am", "@pm"):
        match = _HOUR.fullmatch(token.text)
        if match is None or not 1 <= int(match[1]) <= 12:
            return None
        hour = int(match[1]) % 12 + (12 if half.text == "@pm" else 0)
        text = f"{hour:02d}:{match[2] or '00'}"
        return 2, [Token(text, NUMBER, f"{token.raw} {half.text[1:]}", token.start, half.end)]
    if _CLOCK.fullmatch(token.text):
        return 1, [replace(token, text="0" + token.text)]
    return None


def _is_ordinal(token: Token) -> bool:
    """Whether a figure was written as an ordinal ("3rd", "third")."""
    raw = token.raw.casefold()
    if token.kind != NUMBER or not token.text.isdigit():
        return False
    return (raw.endswith(_ORDINAL_ENDS) and raw != "thousand") or raw in ("first", "second", "third")


def _ordinal(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    token, following = tokens[at], token_at(tokens, at + 1)
    if not _is_ordinal(token) or following.kind not in (WORD, CODE):
        return None
    noun = following.text
    if noun in words.FILLER or noun in _NOT_COUNTED_ON or noun in _MONTHS or noun in words.NEGATIONS:
        return None
    if noun == "world" and token_at(tokens, at + 2).text == "war":
        return 3, _war(token, token.text)
    marked = replace(token, text="#" + token.text)
    return (2, [following, marked]) if noun in _IN_ORDER else (1, [marked])


def _war(token: Token, number: str) -> list[Token]:
    """ "WW2" and "the second world war" as "World War II" is read."""
    return [
        replace(token, text="world", kind=WORD),
        replace(token, text="war", kind=WORD),
        replace(token, text=number, kind=NUMBER),
    ]


def _numbered(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "proposal number 123", "chapter 3"."""
    noun = tokens[at]
    then = at + 1 + (token_at(tokens, at + 1).text in _NUMBER_WORDS)
    number, after = token_at(tokens, then), token_at(tokens, then + 1)
    if number.kind != NUMBER or number.text.startswith("#"):
        return None
    counted = after.kind in (WORD, CODE) and after.text not in words.FILLER
    if noun.text in _IN_ORDER and number.text.isdigit() and not counted:
        number = replace(number, text="#" + number.text)
    return then + 1 - at, [noun, number]


def _names(tokens: list[Token], *, mixed: bool) -> list[Token]:
    """Names folded to their ids."""
    texts = [token.text for token in tokens]
    if not aliases.ABOUT_THE_NAME.isdisjoint(texts):
        return tokens
    money = not aliases.MONEY.isdisjoint(texts)
    runs: list[tuple[int, str]] = []
    spelt: dict[str, set[tuple[str, ...]]] = {}
    index = 0
    while index < len(tokens):
        size, name = (
            _state(tokens, index, mixed) or _alias(tokens, texts, index, mixed=mixed, money=money) or (1, "")
        )
        runs.append((size, name))
        spelt.setdefault(name, set()).add(tuple(texts[index : index + size]))
        index += size
    out: list[Token] = []
    index = 0
    for size, name in runs:
        part = tokens[index : index + size]
        if name and len(spelt[name]) == 1:
            raw = " ".join(token.raw for token in part if token.text != ",")
            part = [Token(name, CODE, raw, part[0].start, part[-1].end)]
        out += part
        index += size
    return out


def _alias(
    tokens: Sequence[Token], texts: Sequence[str], at: int, *, mixed: bool, money: bool
) -> tuple[int, str] | None:
    token, before = tokens[at], texts[at - 1] if at else ""
    if token.text == "us" and before == "the" and token.kind == WORD:
        return 1, "usa"
    if token.kind in (END, SYMBOL):
        return None
    for spelling in _table().get(token.text, ()):
        size = len(spelling.words)
        if size == 1:
            is_ticker = len(token.text) <= _TICKER_MAX and spelling.name.endswith(aliases.COIN)
            is_place = spelling.name in aliases.PLACES
            if (is_ticker and not money) or (is_place and before not in aliases.ONLY_BEHIND):
                continue
        elif tuple(texts[at : at + size]) != spelling.words:
            continue
        raws = (one.raw for one in tokens[at : at + size])
        if any(spelling.cases) and not (mixed and all(map(_cased, raws, spelling.cases))):
            continue
        return None if before in aliases.NOT_BEHIND.get(spelling.name, ()) else (size, spelling.name)
    return None


_TICKER_MAX = 4
_table = cache(aliases.spellings)


def _cased(raw: str, case: str) -> bool:
    raw = raw.replace("\u2019", "'").partition("'")[0]
    if case == "AA":
        return raw.isupper()
    return raw[:1].isupper() if case == "A" else True


@cache
def _state_starts() -> frozenset[str]:
    return frozenset(name.partition(" ")[0] for name in aliases.states() if len(name) > 2)


_BARE_NOT = frozenset(words.TABLE["phrases"]["not_states"].split("|"))
"""States whose names alone are more often another place's."""


def _state(tokens: Sequence[Token], at: int, mixed: bool) -> tuple[int, str] | None:
    """ ", OR" and ", Oregon" behind a place, and the unmistakable names anywhere."""
    listed = tokens[at].text == ","
    then, place = at + listed, token_at(tokens, at - 1)
    token, states = token_at(tokens, then), aliases.states()
    if token.kind not in (WORD, CODE):
        return None
    if not listed and token.text not in _state_starts():
        return None
    if listed and (not at or place.kind == NUMBER):
        return None
    if listed and mixed and place.raw[:1].isupper() and len(token.raw) == 2 and token.raw in states:
        return 2, states[token.raw]
    for size in (2, 1):
        name = " ".join(one.text for one in tokens[then : then + size])
        if name in states and len(name) > 2 and (listed or name not in _BARE_NOT):
            return size + listed, states[name]
    return None
