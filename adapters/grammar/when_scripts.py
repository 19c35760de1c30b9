"""The time that a text in Japanese, Chinese or Russian names. Pure.

It promises the same as ``when.find``, for a folded text that is not cut into words. The words of each
language are patterns in its ``calendar`` table; what is written with figures stands here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Protocol

from adapters.grammar import days
from adapters.grammar.days import WEEKDAYS, NoDateError, When
from node.language import numbers, tables

PLAIN_CHARS = 600
"""``find_script`` looks at this much of a text."""

_TABLES = {code: table for code, table in tables.by_language("calendar").items() if "times" in table}
_RUSSIAN = _TABLES["ru"]


_HAN_NUMBER = r"(?:\d{1,5}|[一二两兩三四五六七八九]?十[一二三四五六七八九]?|[一二两兩三四五六七八九])"
_HAN_DIGITS = {char: value for value, char in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
_HAN_WEEKDAYS = {char: index for row in ("月火水木金土", "一二三四五六日") for index, char in enumerate(row)}
_HAN_WEEKDAY = tables.later(
    r"(?P<which>来週|先週|今週|下个?|下個?|上个?|上個?|本|这个?|這個?)?の?"
    r"(?:(?P<ja>[月火水木金土日])曜日?|(?:周|週|星期|礼拜|禮拜)(?P<zh>[一二三四五六日天]))"
)
_HAN_DATE = tables.later(r"(?:(\d{4})年)?(\d{1,2})月(?:(\d{1,2})[日号號])?")
_HAN_YEAR = tables.later(r"(\d{4})年")
_HAN_AGO = tables.later(
    rf"({_HAN_NUMBER})\s*(日|天|週間|周|星期|个星期|か月|ヶ月|个月|年)(?:之|以)?(前|后|後)"
)
_HAN_AHEAD = ("今後", "未来", "未來", "接下来", "これから")
_HAN_SPAN = tables.later(
    rf"(過去|过去|ここ|この|直近|最近|近|{'|'.join(_HAN_AHEAD)})の?的?\s*({_HAN_NUMBER})\s*"
    r"(日間?|天|週間|周|个?星期|か月|ヶ月|个月|年)"
)
_RU_NUMBERS = numbers.phrases("ru")
_RU_NUMBER = r"(\d{1,5}|" + "|".join(sorted(_RU_NUMBERS, key=len, reverse=True)) + ")"
_RU_UNIT = "|".join(f"(?P<{unit}>{tables.any_of(row)})" for unit, row in _RUSSIAN["counted"].items())
_RU_COUNT = rf"{_RU_NUMBER} (?:{_RU_UNIT})"
_RU_AGO = tables.later(rf"\b{_RU_COUNT} назад\b")
_RU_AHEAD = tables.later(rf"\bчерез {_RU_COUNT}(?![а-я])")
_RU_SPAN = tables.later(
    r"\b(?:за |в |на |в течение )?(?:(?P<back>последн[а-я]+)|ближайши[ехй]|следующи[ехй])"
    rf" {_RU_COUNT}(?![а-я])"
)
_RU_WEEKDAY = tables.later(
    r"\b(?:(?:в|во|на) )?(?:(?:(?P<next>следующ[а-я]+)|(?P<last>прошл[а-я]+)|эт[а-я]+|ближайш[а-я]+) )?(?:"
    + "|".join(f"(?P<d{at}>{name})" for at, name in enumerate(tables.listed(_RUSSIAN["weekdays"])))
    + r")[а-я]?(?![а-я])"
)
_RU_MONTH = "|".join(f"(?P<m{at}>{name})" for at, name in enumerate(tables.listed(_RUSSIAN["months"]), 1))
_RU_OF_YEAR = rf"(?:{_RU_MONTH})[а-я]?(?: (?P<year>\d{{4}}))?(?: год[а-я]*)?(?![а-я])"
_RU_DATE = tables.later(rf"\b(?P<day>\d{{1,2}}) {_RU_OF_YEAR}")
_RU_IN_MONTH = tables.later(rf"\bв {_RU_OF_YEAR}")
_ISO = tables.later(r"(?<![\d.])(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_DOTTED = tables.later(r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")


def find_script(plain: str, today: date, *, past: bool = False) -> tuple[When | None, str]:
    """``when.find`` for a folded text in Japanese, Chinese or Russian (``Reading.plain``): the time and the
    text without it. The same rules: two that differ, or a date that does not exist, are None and the whole
    text."""
    rest = plain[:PLAIN_CHARS]
    found: list[When] = []
    try:
        for pattern, read in _READERS:
            rest = _swept(pattern, rest, found, partial(read, today=today, past=past))
    except (NoDateError, ValueError, OverflowError):
        return None, plain
    if not found:
        return None, plain
    chosen = next((when for when in found if when.said != "now"), found[0])
    if not all(when.means(chosen) for when in found):
        return None, plain
    return chosen, " ".join((rest + plain[PLAIN_CHARS:]).split())


def _swept(
    pattern: re.Pattern[str], text: str, found: list[When], read: Callable[[re.Match[str]], When | None]
) -> str:
    """``text`` with a blank in the place of each time that ``read`` makes of a match."""

    def taken(match: re.Match[str]) -> str:
        when = read(match)
        if when is None:
            return match.group()
        found.append(when)
        return " "

    return pattern.sub(taken, text)


def _han_date(match: re.Match[str], today: date, past: bool) -> When | None:
    year, month, day = match.groups()
    if day:
        if year:
            return days.checked(int(year), int(month), int(day))
        return days.yearless(int(month), int(day), today, past)
    return days.month(int(year), int(month)) if year else None


def _russian_date(match: re.Match[str], today: date, past: bool) -> When | None:
    named = match.groupdict()
    month = next(number for number in range(1, 13) if named[f"m{number}"])
    if day := named.get("day"):
        if named["year"]:
            return days.checked(int(named["year"]), month, int(day))
        return days.yearless(month, int(day), today, past)
    if named["year"]:
        return days.month(int(named["year"]), month)
    return days.month_from(today, "", month, past)


def _han_days(number: str, unit: str) -> int:
    if number.isascii():
        value = int(number)
    elif "十" in number:
        tens, _, ones = number.partition("十")
        value = _HAN_DIGITS.get(tens, 1) * 10 + _HAN_DIGITS.get(ones, 0)
    else:
        value = _HAN_DIGITS[number]
    of = "week" if unit[0] in "週周星" or "星期" in unit else "month" if "月" in unit else "year"
    return value * (days.UNIT_DAYS[of] if of != "year" or unit == "年" else 1)


def _russian_days(match: re.Match[str]) -> int:
    number = next(group for group in match.groups() if group and (group in _RU_NUMBERS or group.isdigit()))
    unit = next(unit for unit in _RUSSIAN["counted"] if match[unit])
    return (_RU_NUMBERS.get(number) or int(number)) * days.UNIT_DAYS[unit]


def _han_weekday(match: re.Match[str], today: date, past: bool) -> When | None:
    day, which = match["ja"] or match["zh"], (match["which"] or "")[:1]
    name = WEEKDAYS[6 if day in "日天" else _HAN_WEEKDAYS[day]]
    said = f"next {name}" if which in ("来", "下") else f"last {name}" if which in ("先", "上") else name
    return days.resolve(said, today, past=past)


def _russian_weekday(match: re.Match[str], today: date, past: bool) -> When | None:
    name = WEEKDAYS[next(at for at in range(7) if match[f"d{at}"])]
    said = f"next {name}" if match["next"] else f"last {name}" if match["last"] else name
    return days.resolve(said, today, past=past)


class _Reader(Protocol):
    def __call__(self, match: re.Match[str], /, today: date, past: bool) -> When | None: ...


def _means(said: str) -> _Reader:
    return lambda match, today, past: days.resolve(said, today, past=past)


def _worded(section: str) -> list[tuple[re.Pattern[str], _Reader]]:
    """The patterns of words. Longer ones come first: each is tried on what the earlier ones left."""
    rows: dict[str, list[str]] = {}
    for table in _TABLES.values():
        for said, entries in table[section].items():
            rows.setdefault(said, []).extend(tables.listed(entries))
    return [(tables.later(tables.any_of(entries)), _means(said)) for said, entries in rows.items()]


_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    (_ISO, lambda m, today, past: days.checked(int(m[1]), int(m[2]), int(m[3]))),
    (_DOTTED, lambda m, today, past: days.checked(int(m[3]), int(m[2]), int(m[1]))),
    (_HAN_DATE, _han_date),
    (_HAN_YEAR, lambda m, today, past: days.resolve(m[1], today)),
    (_RU_DATE, _russian_date),
    (_RU_IN_MONTH, _russian_date),
    (
        _HAN_SPAN,
        lambda m, today, past: days.counted(
            _han_days(m[2], m[3]) * (1 if m[1] in _HAN_AHEAD else -1), today, True
        ),
    ),
    (
        _HAN_AGO,
        lambda m, today, past: days.counted(
            _han_days(m[1], m[2]) * (-1 if m[3] == "前" else 1), today, False
        ),
    ),
    (_RU_AGO, lambda m, today, past: days.counted(-_russian_days(m), today, False)),
    (
        _RU_SPAN,
        lambda m, today, past: days.counted(_russian_days(m) * (-1 if m["back"] else 1), today, True),
    ),
    (_RU_AHEAD, lambda m, today, past: days.counted(_russian_days(m), today, False)),
    (_HAN_WEEKDAY, _han_weekday),
    (_RU_WEEKDAY, _russian_weekday),
    *_worded("times"),
    *_worded("weeks"),
)
