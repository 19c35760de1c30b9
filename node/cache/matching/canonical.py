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
from node.cache.matching.token import CODE, END, NUMBER, SYMBOL, WORD, Token

_MONTH_NAMES = words.TABLE["words"]["months"].split()
_MONTHS = {
    **{name: number for number, name in enumerate(_MONTH_NAMES, start=1)},
    **{name[:3]: number for number, name in enumerate(_MONTH_NAMES, start=1)},
    "sept": 9,
}
_DAYS_MAX = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEAR = re.compile(r"[12]\d{3}")
_DOTTED_DATE = re.compile(r"(\d{1,2})\.(\d{1,2})\.([12]\d{3})")
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)")
_HOUR = re.compile(r"(\d{1,2})(?::([0-5]\d))?")
_WARS = {"ww1": "1", "wwi": "1", "ww2": "2", "wwii": "2"}
_MONEY_SIGNS = frozenset("$€£¥₹")
_HOURS = {"noon": "12:00", "midnight": "00:00"}
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
    token = tokens[at]
    if token.kind == NUMBER:
        return _iso_date(tokens, at) or _day_first(tokens, at) or _clock(tokens, at) or _ordinal(tokens, at)
    if token.kind in (WORD, CODE) and token.text in _WARS:
        return 1, _war(token, _WARS[token.text])
    if token.kind == WORD:
        if token.raw in _MONEY_SIGNS and at + 1 < len(tokens) and tokens[at + 1].kind == NUMBER:
            return 2, [tokens[at + 1], token]
        if token.text in _MONTHS:
            return _month_first(tokens, at)
        if token.text in _HOURS:
            return 1, [replace(token, text=_HOURS[token.text], kind=NUMBER)]
        if token.text in ("the", "year"):
            return _year(tokens, at)
        if token.text in _NUMBERED:
            return _numbered(tokens, at)
        return None
    if token.kind == CODE and token.text == "s" and at and tokens[at - 1].end < token.start:
        return 1, [replace(token, text="second", kind=WORD)]
    if token.kind == CODE and at and tokens[at - 1].kind == NUMBER and token.text in _UNIT_SYMBOLS:
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
    skip = 1 if at < len(tokens) and tokens[at].text in (",", "of") else 0
    token = tokens[at + skip] if at + skip < len(tokens) else None
    if token is not None and token.kind == NUMBER and _YEAR.fullmatch(token.raw):
        return token.text, skip + 1
    return "", 0


def _day_first(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "3 March 2024", "3rd of March"."""
    day = _day(tokens[at])
    then = at + 1
    if then < len(tokens) and tokens[then].text == "of" and _is_ordinal(tokens[at]):
        then += 1
    if not day or then >= len(tokens) or tokens[then].kind != WORD or tokens[then].text not in _MONTHS:
        return None
    if at and tokens[at - 1].text in ("-", "/"):
        return None
    month = _MONTHS[tokens[then].text]
    year, used = _year_at(tokens, then + 1)
    written = tokens[then].raw[:1].isupper() or (at > 0 and tokens[at - 1].text in _BEFORE_MONTH)
    if not year and not written and not _is_month(tokens, then, dated=True):
        return None
    date = _date(tokens[at], tokens[then + used], year, month, day)
    return (then + 1 + used - at, date) if date else None


def _month_first(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "March 3rd, 2024", "March 3", "March 2024"."""
    month = _MONTHS[tokens[at].text]
    then = at + 1
    if then >= len(tokens):
        return None
    skip = 1 if tokens[then].text == "the" and then + 1 < len(tokens) and _is_ordinal(tokens[then + 1]) else 0
    if day := _day(tokens[then + skip]):
        then += skip
        year, used = _year_at(tokens, then + 1)
        after = tokens[then + 1].text if then + 1 < len(tokens) else ""
        if after in ("-", "/", "percent") or after.rstrip("s") in _COUNTED or after in _UNIT_SYMBOLS:
            return None
        if not year and not _is_month(tokens, at, dated=True):
            return None
        date = _date(tokens[at], tokens[then + used], year, month, day)
        return (then + 1 + used - at, date) if date else None
    year, used = _year_at(tokens, then)
    if year and _is_month(tokens, at, dated=False):
        date = _date(tokens[at], tokens[at + used], year, month, 0)
        return (1 + used, date) if date else None
    return None


_BEFORE_MONTH = words.table("before_month")


def _is_month(tokens: Sequence[Token], at: int, *, dated: bool) -> bool:
    """Whether a word like "may", "march", "mar", "dec" is surely a month where no whole date says so."""
    text = tokens[at].text
    if text not in ("may", "march", "mar", "sep", "jan", "dec"):
        return True
    before = tokens[at - 1] if at else None
    if before is None:
        return dated is False or tokens[at].raw[:1].isupper()
    return before.text in _BEFORE_MONTH or (dated and before.kind == NUMBER and text != "may")


def _year(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "in the year 2020" is "in 2020"."""
    then = at + (tokens[at].text == "the")
    if then + 1 < len(tokens) and tokens[then].text == "year" and tokens[then].kind == WORD:
        number = tokens[then + 1]
        if number.kind == NUMBER and _YEAR.fullmatch(number.raw):
            return then + 2 - at, [number]
    return None


def _clock(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    """ "5 pm", "5:30 pm", "9:05"."""
    token = tokens[at]
    half = tokens[at + 1].text if at + 1 < len(tokens) and tokens[at + 1].kind == CODE else ""
    if half in ("@am", "@pm"):
        match = _HOUR.fullmatch(token.text)
        if match is None or not 1 <= int(match[1]) <= 12:
            return None
        hour = int(match[1]) % 12 + (12 if half == "@pm" else 0)
        text = f"{hour:02d}:{match[2] or '00'}"
        return 2, [Token(text, NUMBER, f"{token.raw} {half[1:]}", token.start, tokens[at + 1].end)]
    match = _CLOCK.fullmatch(token.text)
    if match is not None and len(match[1]) == 1:
        return 1, [replace(token, text="0" + token.text)]
    return None


def _is_ordinal(token: Token) -> bool:
    """Whether a figure was written as an ordinal ("3rd", "third")."""
    raw = token.raw.casefold()
    if token.kind != NUMBER or not token.text.isdigit():
        return False
    return (raw.endswith(_ORDINAL_ENDS) and raw != "thousand") or raw in ("first", "second", "third")


def _ordinal(tokens: Sequence[Token], at: int) -> tuple[int, list[Token]] | None:
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if not _is_ordinal(token) or following is None or following.kind not in (WORD, CODE):
        return None
    noun = following.text
    if noun in words.FILLER or noun in _NOT_COUNTED_ON or noun in _MONTHS or noun in words.NEGATIONS:
        return None
    if noun == "world" and at + 2 < len(tokens) and tokens[at + 2].text == "war":
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
    then = at + 1
    if then < len(tokens) and tokens[then].text in _NUMBER_WORDS:
        then += 1
    if then >= len(tokens) or tokens[then].kind != NUMBER or tokens[then].text.startswith("#"):
        return None
    number = tokens[then]
    if noun.text in _IN_ORDER:
        after = tokens[then + 1] if then + 1 < len(tokens) else None
        counted = after is not None and after.kind in (WORD, CODE) and after.text not in words.FILLER
        if number.text.isdigit() and not counted:
            number = replace(number, text="#" + number.text)
    return then + 1 - at, [noun, number]


def _names(tokens: list[Token], *, mixed: bool) -> list[Token]:
    """Names folded to their ids."""
    texts = [token.text for token in tokens]
    if not aliases.ABOUT_THE_NAME.isdisjoint(texts):
        return tokens
    money = not aliases.MONEY.isdisjoint(texts)
    found: list[tuple[int, int, str]] = []
    spelt: dict[str, set[tuple[str, ...]]] = {}
    index = 0
    while index < len(tokens):
        match = _state(tokens, index, mixed) or _alias(tokens, texts, index, mixed=mixed, money=money)
        if match is None:
            index += 1
            continue
        size, name = match
        found.append((index, size, name))
        spelt.setdefault(name, set()).add(tuple(texts[index : index + size]))
        index += size
    if not found:
        return tokens
    out: list[Token] = []
    done = 0
    for start, size, name in found:
        out.extend(tokens[done:start])
        part = tokens[start : start + size]
        if len(spelt[name]) > 1:
            out.extend(part)
        else:
            raw = " ".join(token.raw for token in part if token.text != ",")
            out.append(Token(name, CODE, raw, part[0].start, part[-1].end))
        done = start + size
    return [*out, *tokens[done:]]


def _alias(
    tokens: Sequence[Token], texts: Sequence[str], at: int, *, mixed: bool, money: bool
) -> tuple[int, str] | None:
    token = tokens[at]
    if token.text == "us" and at and texts[at - 1] == "the" and token.kind == WORD:
        return 1, "usa"
    rows = _table().get(token.text)
    if rows is None or token.kind in (END, SYMBOL):
        return None
    for spelling in rows:
        size = len(spelling.words)
        if size > 1 and tuple(texts[at : at + size]) != spelling.words:
            continue
        before = texts[at - 1] if at else ""
        ticker = size == 1 and len(token.text) <= _TICKER_MAX
        if ticker and not money and spelling.name.endswith(aliases.COIN):
            continue
        if size == 1 and spelling.name in aliases.PLACES and before not in aliases.ONLY_BEHIND:
            continue
        if any(spelling.cases):
            if not mixed:
                continue
            raws = (one.raw for one in tokens[at : at + size])
            if not all(map(_cased, raws, spelling.cases)):
                continue
        if before in aliases.NOT_BEHIND.get(spelling.name, ()):
            return None
        return size, spelling.name
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


_BARE_NOT = frozenset({"new york", "georgia", "washington"})
"""States whose names alone are more often another place's."""


def _state(tokens: Sequence[Token], at: int, mixed: bool) -> tuple[int, str] | None:
    """ ", OR" and ", Oregon" behind a place, and the unmistakable names anywhere."""
    listed = tokens[at].text == ","
    then = at + listed
    if then >= len(tokens) or tokens[then].kind not in (WORD, CODE):
        return None
    states = aliases.states()
    if not listed and tokens[then].text not in _state_starts():
        return None
    if listed:
        place = tokens[at - 1] if at else None
        token = tokens[then]
        if place is None or place.kind == NUMBER:
            return None
        if mixed and place.raw[:1].isupper() and len(token.raw) == 2 and token.raw in states:
            return 2, states[token.raw]
        for size in (2, 1):
            name = " ".join(one.text for one in tokens[then : then + size])
            if name in states and len(name) > 2:
                return size + 1, states[name]
        return None
    for size in (2, 1):
        name = " ".join(one.text for one in tokens[then : then + size])
        if name in states and name not in _BARE_NOT and len(name) > 2:
            return size, states[name]
    return None
